/**
 * Finds the nodes that have run in the step that made a checkpoint. They are stored in the checkpoint's mark, so that a listing
 * has them without reading a state.
 *
 * LangGraph stores for each node the versions of the channels that made it run. What a step changes gets a version above all
 * earlier ones: one more, or two more if the step also consumes a channel. So the nodes of a step have seen the largest version
 * that any node has seen. LangGraph stores no version for a node that a `Send` has run: the parent has its name.
 */

import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import type { StepNodes } from "../../store/mark.js";
import { NO_NODES } from "./next.js";

/** The channel of `Send`s. */
const SENDS = "__pregel_tasks";

/**
 * Returns what a checkpoint tells about the nodes of its steps. `next` is the node of each task that runs next. Returns
 * undefined if no step made the checkpoint, or if it does not tell the nodes.
 */
export function stepNodes(checkpoint: Checkpoint, metadata: unknown, next: string[] | null): StepNodes | undefined {
  if (next === null) return undefined;
  const values: Record<string, unknown> = checkpoint.channel_values ?? {};
  const waiting = [values[SENDS]].flat().some((send) => send !== undefined && send !== null) ? { next } : {};
  const isStep = (metadata as { source?: unknown } | null)?.source === "loop";
  const newest = Math.max(0, ...Object.values(checkpoint.channel_versions).map(Number));
  const nodes = Object.entries(checkpoint.versions_seen ?? {}).filter(([node]) => !NO_NODES.has(node));
  const seenBy = nodes.map(([node, versions]) => ({
    node,
    seen: Math.max(-1, ...Object.values(versions).map(Number)),
  }));
  const largest = Math.max(-1, ...seenBy.map(({ seen }) => seen));
  // A version that is no number says nothing about its step.
  if (!isStep || !Number.isFinite(newest) || !Number.isFinite(largest))
    return "next" in waiting ? { ran: [], ...waiting } : undefined;
  const sent = Number(checkpoint.channel_versions[SENDS] ?? -2) >= newest - 1;
  // If only `Send`s have run, the nodes with the largest version belong to the step before.
  const isOfStep = largest >= newest - (sent ? 1 : 2);
  const ran = isOfStep ? seenBy.filter(({ seen }) => seen === largest).map(({ node }) => node) : [];
  return { ran, ...(sent && { sent }), ...waiting };
}
