/** The plug-in of TinyAgents: see {@link Plugin}. */

import { randomUUID } from "node:crypto";
import { formatOf } from "../../bridge/serializer.js";
import type { Context } from "../../plugin/context.js";
import { type Fork, editedState } from "../../plugin/fork.js";
import type { Plugin } from "../../plugin/plugin.js";
import { type Parts, keyOf, readFound, readValue, shownWrite, withState } from "../../plugin/values.js";
import type { CheckpointRef, StoredStatus } from "../../plugin/views.js";
import { type FoundCheckpoint, type FoundWrite, type Row, inspect, openCheckpoint } from "../../plugin/wire.js";
import { handleOf } from "../../store/handle-of.js";
import { Checkpointer } from "./checkpointer.js";
import { ERROR, INTERRUPT, RESUME } from "./contract.js";
import { fork } from "./graph/inspection.js";
import { loadCheckpoint, shapeIn } from "./graph/recorder.js";
import { positionOf } from "./graph/shape.js";
import { questions } from "./questions.js";
import { blanks, readNamespace } from "./values.js";

/** The fields of a checkpoint's metadata that this file uses. */
interface Metadata {
  source?: unknown;
  graph?: unknown;
  shape?: unknown;
  nodes?: unknown;
}

const metadataIn = (meta: Record<string, unknown>): Metadata => (meta["metadata"] as Metadata | null | undefined) ?? {};

export const plugin: Plugin = {
  values: readState,
  async writes(context, row, found) {
    // If an id was put several times, only its first checkpoint has the writes.
    const id = firstId(row);
    const first = id === row.id ? found : await readFound(context, { ...row, id });
    return (first?.writes ?? []).map((write) => shownWrite(context, write, channelOf(write.part.name), 0));
  },
  next: nextOf,
  async why(context, row, status) {
    if (status === "unfinished")
      return `next: ${nextOf(context, row)
        ?.map((node) => JSON.stringify(node))
        .join(", ")}`;
    // If an id was put several times, only its first checkpoint has the writes.
    const first = { ...keyOf(row), id: firstId(row) };
    const found = await inspect.find(context.engine.native, "read", first, openCheckpoint);
    const [waiting, failed] = openTasks(found?.writes ?? []);
    if (status === "waiting") return waiting === 1 ? "a task asks a question" : `${waiting} tasks ask`;
    if (status === "failed") return failed === 1 ? "a task has failed" : `${failed} tasks have failed`;
    return null;
  },
  label: (metadata) => metadataIn(metadata).source,
  maker(metadata) {
    const { graph, shape } = metadataIn(metadata);
    return { program: graph, shape };
  },
  made: {
    // The graph stores the nodes if a node ran several times.
    nodes(context, _, metadata, parent) {
      const { nodes } = metadataIn(metadata);
      return isNames(nodes) ? nodes : ((parent && nextOf(context, parent)) ?? []);
    },
    needsParent: () => true,
  },
  async stand({ store }, row) {
    const checkpointer = new Checkpointer(store);
    const format = handleOf(checkpointer)?.format ?? formatOf("v8");
    const thread = { threadId: row.run, namespace: [] };
    const loaded = await loadCheckpoint(checkpointer, thread, undefined, format);
    if (loaded === null) return null;
    const { activations, checkpoint } = loaded;
    const { graph } = checkpoint.metadata as { graph?: string };
    return {
      status: statusOfTasks(activations),
      mark: { program: graph, shape: shapeIn(checkpoint) },
      position: (from) => positionOf(checkpointer, thread, loaded, from, format),
    };
  },
  questions,
  fork: forkThread,
};

/** Removes the number that follows the id of a repeatedly put checkpoint. */
const firstId = ({ id }: Row): string => id.split("\0")[0]!;

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((name) => typeof name === "string");

/** Returns null if the checkpoint does not contain the next nodes. */
function nextOf(context: Pick<Context, "formats">, { metadata }: Row): string[] | null {
  const { value, readable } = metadata === null ? { value: null, readable: false } : readValue(context, metadata);
  const next: unknown = readable ? (value as { nextNodes?: unknown } | null)?.nextNodes : undefined;
  return isNames(next) ? next : null;
}

/** Reads the state from its list. It was wrapped, because a state may be any value. */
function readState(parts: Parts, _: Row, found: FoundCheckpoint): [unknown, unknown] {
  const [state, rest] = withState(parts, found, blanks);
  return [Array.isArray(state) ? state[0] : state, rest];
}

/** Returns the channel of a write. Its name is the node and the channel, as JSON. */
function channelOf(name: string): string {
  try {
    const [, channel] = JSON.parse(name) as unknown[];
    if (typeof channel === "string") return channel;
  } catch {
    // Another program may name a write in another form.
  }
  return name;
}

/** Counts the tasks with an unanswered question, and the failed tasks. */
function openTasks(writes: readonly FoundWrite[]): [waiting: number, failed: number] {
  const slots = new Map<string, Set<number>>();
  for (const { task, index } of writes) slots.set(task, (slots.get(task) ?? new Set()).add(index));
  const open = [...slots.values()].filter((of) => ![...of].some((index) => index >= 0));
  const asks = open.filter((of) => of.has(INTERRUPT) && !of.has(RESUME));
  return [asks.length, open.filter((of) => of.has(ERROR) && !of.has(INTERRUPT)).length];
}

function statusOfTasks(
  tasks: ReadonlyArray<{ record: { result: unknown; question: unknown; error: unknown } }>,
): StoredStatus {
  const open = tasks.filter(({ record }) => record.result === undefined);
  if (open.some(({ record }) => record.question !== undefined)) return "waiting";
  if (open.some(({ record }) => record.error !== undefined)) return "failed";
  return tasks.length > 0 ? "unfinished" : "finished";
}

async function forkThread(plan: Fork): Promise<CheckpointRef> {
  const { context, key, row, as = randomUUID(), dryRun } = plan;
  const change = editedState(plan);
  if (change !== undefined) context.engine.format.serialize([change.value], "state");
  if (dryRun) return plan.refTo(as, randomUUID());
  const checkpointer = new Checkpointer<unknown>(context.store);
  const namespace = readNamespace(key.ns);
  const [from, to] = [
    { threadId: key.run, namespace },
    { threadId: as, namespace },
  ];
  const { checkpointId } = await fork(checkpointer, from, firstId(row), to, change);
  return plan.refTo(as, checkpointId);
}
