/** Reads the status of a run from its newest checkpoint. */

import type { RunStatus } from "../shared/recover-options.js";
import type { Checkpoint } from "./contract.js";

export type Status = Exclude<RunStatus, "unknown" | "stopped">;

/** The fields of a checkpoint that determine the status. */
type Progress = Pick<Checkpoint, "runId" | "nodeId" | "nodeResults" | "visitedNodes" | "skippedNodes" | "pendingEdges">;

type Answerable = Pick<Progress, "nodeResults" | "runId">;

/**
 * Returns the nodes that have a result but did not complete. AgentOS records results of waiting human nodes and of
 * failed nodes.
 */
export function openNodes({ nodeResults, visitedNodes, skippedNodes = [] }: Omit<Progress, "runId">): string[] {
  const open: string[] = [];
  let done: Set<string> | undefined;
  let at = 0;
  for (const node of Object.keys(nodeResults)) {
    // Without parallel branches, results and visited nodes have the same order. No set is needed then.
    if (visitedNodes[at++] === node) continue;
    done ??= new Set([...visitedNodes, ...skippedNodes]);
    if (!done.has(node)) open.push(node);
  }
  return open;
}

/** True if an open node with this effect class waits for a human. Any other open node has failed. */
export function isHuman({ nodeResults }: Pick<Progress, "nodeResults">, node: string): boolean {
  return nodeResults[node]?.effectClass === "human";
}

/** An answer to a human node, kept in the node's result. `recover` makes it the node's output. */
export interface NodeAnswer {
  value: unknown;
  /** Null: no name was given, or the program has answered. */
  by: string | null;
  /** In ms since the epoch. */
  at: number;
  /** Set if the program has answered: `onWaiting` of `recover`. */
  program?: true;
  /** The run that asked. A fork of the run asks again. */
  run: string;
}

export function answerOf({ nodeResults, runId }: Answerable, node: string): NodeAnswer | null {
  const { answered } = (nodeResults[node] ?? {}) as { answered?: Partial<NodeAnswer> };
  if (typeof answered !== "object" || answered === null || typeof answered.at !== "number") return null;
  const { value, by, at, program, run } = answered;
  if (run !== runId) return null;
  return { value, by: typeof by === "string" ? by : null, at, ...(program === true && { program }), run };
}

/**
 * Returns the status at a checkpoint. Undefined: unknown, because a program other than AgentOS wrote the checkpoint.
 */
export function statusOf(fields: Record<string, unknown>): Status | undefined {
  const { nodeId, nodeResults, visitedNodes, skippedNodes, pendingEdges } = fields;
  if (typeof nodeResults !== "object" || nodeResults === null) return undefined;
  if (!Array.isArray(visitedNodes) || !Array.isArray(pendingEdges)) return undefined;
  if (skippedNodes !== undefined && !Array.isArray(skippedNodes)) return undefined;
  const progress = fields as unknown as Progress;
  const stopped = openNodes(progress);
  const open = stopped.filter((node) => !isHuman(progress, node) || answerOf(progress, node) === null);
  // `recover` takes the stored answers.
  if (stopped.length > 0 && open.length === 0) return "unfinished";
  if (open.length > 0) return open.some((node) => isHuman(progress, node)) ? "waiting" : "failed";
  const isVisited = visitedNodes.at(-1) === nodeId || visitedNodes.includes(nodeId);
  return isVisited && pendingEdges.length === 0 ? "finished" : "unfinished";
}
