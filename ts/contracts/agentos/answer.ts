/** Stores the answer of a human node for `recover`. The framework cannot store answers. */

import { crypto } from "../../bridge/crypto.js";
import { detachBuffers } from "../../bridge/detach.js";
import { ForkpointError, quote } from "../../bridge/errors.js";
import type { Engine } from "../../store/engine.js";
import { decodeMark, encodeMark } from "../../store/mark.js";
import { put, restore, snapshot } from "./stored.js";
import type { Checkpoint } from "./contract.js";
import { type NodeAnswer, answerOf, isHuman, openNodes } from "./status.js";
import { agentos, openFound } from "./wire.js";

/** Returns the newest checkpoint of a run, and its mark. */
export async function newestOf(
  engine: Engine,
  runId: string,
): Promise<{ checkpoint: Checkpoint; mark: string | undefined } | null> {
  const stored = await agentos.find(engine.native, "load", { runId, nodeId: undefined }, openFound);
  return stored && { mark: stored.mark, checkpoint: restore(engine, stored) };
}

/** Returns the uncompleted human nodes of a checkpoint. An answered node completes when `recover` takes its answer. */
export const humanNodes = (checkpoint: Checkpoint): string[] =>
  openNodes(checkpoint).filter((node) => isHuman(checkpoint, node));

/** Returns the human nodes whose program answered with this checkpoint. */
export function answeredHere(checkpoint: Checkpoint): string[] {
  const { visitedNodes } = checkpoint;
  const before = visitedNodes.findLastIndex((node) => answerOf(checkpoint, node)?.program !== true);
  return visitedNodes.slice(before + 1);
}

/**
 * Stores an answer in a copy of the newest checkpoint, which becomes the newest. The call carries the run's lease.
 *
 * @throws ForkpointError `NOT_FOUND` if the node does not wait. `CONFLICT` if a program has continued the run.
 */
export async function answerNode(
  engine: Engine,
  runId: string,
  nodeId: string,
  answer: Pick<NodeAnswer, "value" | "by" | "at">,
): Promise<void> {
  const newest = await newestOf(engine, runId);
  if (newest === null || !humanNodes(newest.checkpoint).includes(nodeId)) {
    throw new ForkpointError("NOT_FOUND", `node ${quote(nodeId)} of run ${quote(runId)} does not wait any more`);
  }
  const { checkpoint, mark } = newest;
  const result = { ...checkpoint.nodeResults[nodeId]!, answered: { ...answer, run: runId } };
  const nodeResults = { ...checkpoint.nodeResults, [nodeId]: result };
  const timestamp = Math.max(Date.now(), checkpoint.timestamp);
  const answered: Checkpoint = { ...checkpoint, nodeResults, id: crypto().randomUUID(), timestamp };
  const { fields, state, rest } = snapshot(answered, engine);
  // The checkpoint keeps its program, but no process works on the run.
  const own = encodeMark({ ...decodeMark(mark), by: undefined, imported: undefined });
  await put(engine, { ...fields, expectedNewest: checkpoint.id, mark: own }, state, rest);
  detachBuffers(state, rest);
}
