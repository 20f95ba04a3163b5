/**
 * Finds the nodes of the step that made a checkpoint. They are stored in the checkpoint's mark, so that a listing needs
 * to read no state.
 *
 * LangGraph stores, for each node, the versions of the channels that triggered it. A step gives its changed channels a
 * version above all earlier ones: by one, or by two if the step also consumes a channel. The nodes of the last step
 * have therefore seen the largest version. For a node run by a `Send` there is no version: the parent has its name.
 */

import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import type { StepNodes } from "../../store/mark.js";
import { NO_NODES } from "./next.js";

/** The channel of `Send`s. */
const SENDS = "__pregel_tasks";

/**
 * Returns the nodes of a checkpoint's steps. `next` has the node of each task that runs next. Returns undefined if no
 * step made the checkpoint, or if the nodes are unknown.
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
  // A version that is not a number tells nothing about its step.
  if (!isStep || !Number.isFinite(newest) || !Number.isFinite(largest))
    return "next" in waiting ? { ran: [], ...waiting } : undefined;
  const sent = Number(checkpoint.channel_versions[SENDS] ?? -2) >= newest - 1;
  // If only `Send`s have run, the nodes with the largest version belong to the step before.
  const isOfStep = largest >= newest - (sent ? 1 : 2);
  const ran = isOfStep ? seenBy.filter(({ seen }) => seen === largest).map(({ node }) => node) : [];
  return { ran, ...(sent && { sent }), ...waiting };
}
