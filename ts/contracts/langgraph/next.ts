/** Finds the nodes that run after a checkpoint. */

import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import type * as engine from "../../bridge/calls.generated.js";

/** The status at a checkpoint without stopped tasks: whether a node runs next. */
export type NewStatus = engine.langgraph.NewStatus;

/** Keys of `versions_seen` that are not nodes. */
export const NO_NODES = new Set(["__input__", "__interrupt__"]);

/**
 * Returns the node name of each task that runs next. Returns null if the nodes are unknown: the checkpoint has an old
 * format, or is not from a `StateGraph` or an `entrypoint`.
 */
export function nextNodesOf(checkpoint: Checkpoint): string[] | null {
  const { v, channel_versions: versions, versions_seen: seenBy, channel_values: values } = checkpoint;
  if (typeof versions !== "object" || versions === null || v < 4) return null;
  if (!Object.keys(versions).some((channel) => channel === "__start__" || channel.startsWith("branch:to:")))
    return null;
  const seen = Object.entries(seenBy ?? {}).filter(([node]) => !NO_NODES.has(node));
  const isNew = (channel: string, node?: string) =>
    seen.every(([name, known]) => (node !== undefined && name !== node) || !(known[channel]! >= versions[channel]!));
  /** The nodes that edges lead to. Several edges to a node make one task. Each `Send` makes a task. */
  const next = new Set<string>();
  const sent: string[] = [];
  for (const [channel, value] of Object.entries(values ?? {})) {
    if (value === undefined) continue;
    if (channel === "__start__" && isNew(channel)) next.add(channel);
    // A list of `Send`s.
    if (channel === "__pregel_tasks")
      for (const send of [value].flat() as Array<{ node?: unknown }>)
        if (typeof send?.node === "string") sent.push(send.node);
    const to = steered(channel);
    if (to && isNew(channel, to.node) && isComplete(value, to.joins)) next.add(to.node);
  }
  return [...next, ...sent];
}

/** Returns true if `nextNodesOf` needs the value of a channel. */
export function isSteering(channel: string): boolean {
  return channel === "__start__" || channel === "__pregel_tasks" || steered(channel) !== null;
}

/** Returns the node that a channel leads to, and the names of the nodes that a join waits for. */
function steered(channel: string): { node: string; joins: string | undefined } | null {
  if (!channel.startsWith("branch:to:") && !channel.startsWith("join:")) return null;
  const to = /^(?:branch:to|join:([^:]*)):(.*)$/s.exec(channel);
  return to && { node: to[2]!, joins: to[1] };
}

/** Returns the status at a checkpoint without stopped tasks, from the nodes that run next. */
export function newStatus(next: string[] | null): NewStatus {
  if (next === null) return "unknown";
  return next.length > 0 ? "unfinished" : "finished";
}

/**
 * Returns true if the channel of an edge lets its node run. `names` are the nodes that a join waits for. The channel of
 * a deferred node holds a pair: the value, and whether all other nodes have finished.
 */
function isComplete(value: unknown, names: string | undefined): boolean {
  const pair = Array.isArray(value) && value.length === 2 && typeof value[1] === "boolean";
  if (pair && value[1] === false) return false;
  const done: unknown = pair ? value[0] : value;
  // No name repeats, so equal lengths mean that all names are present.
  return names === undefined || (Array.isArray(done) && done.join("+").length === names.length);
}
