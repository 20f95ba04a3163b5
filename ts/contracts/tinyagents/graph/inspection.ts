/** Reads the states of a thread, and forks a thread. */

import { crypto } from "../../../bridge/crypto.js";
import { ForkpointError, quote } from "../../../bridge/errors.js";
import { type OptionParser, anything, readRecord, whole } from "../../../store/options.js";
import { copyOfFilter, formatOf } from "../../../bridge/serializer.js";
import { handleOf } from "../../../store/handle-of.js";
import { copyEffects } from "../../../store/effect-copies.js";
import { type ThreadRef, type GraphCheckpointer, keyOf } from "./recorder.js";
import { activationsOf, isWaiting, joinWrites, nextNodes, pendingOf, writesWithoutAnswers } from "./tasks.js";
import { matches } from "../threads.js";
import type { GraphInterrupt } from "./node.js";
import type { CheckpointConfig, CheckpointTuple, Namespace } from "../contract.js";

/** A task of a {@link StateSnapshot}. */
export interface TaskSnapshot {
  id: string;
  node: string;
  sendArg?: unknown;
  /** `"done"`: the result is recorded. `"failed"`: the task runs again on resume. */
  status: "pending" | "done" | "interrupted" | "failed";
  /** The recorded update. */
  result?: unknown;
  error?: { name: string; message: string };
  interrupts: GraphInterrupt[];
}

/** The state of a thread at a checkpoint. */
export interface StateSnapshot<S> {
  values: S;
  /** The nodes that run next: those without a recorded result, or all if all have a result. */
  next: string[];
  config: CheckpointTuple<S>["config"];
  parentConfig: CheckpointTuple<S>["parentConfig"];
  /** `source`, `step`, `graph`, `createdAt`, and `shape`, the hash of the graph's shape. */
  metadata: Record<string, unknown>;
  /** The time at which the graph stored the checkpoint, in ms since the epoch. Null if it was put by hand. */
  createdAt: number | null;
  /** The tasks of the next superstep. */
  tasks: TaskSnapshot[];
  /** The unanswered questions. */
  interrupts: GraphInterrupt[];
}

export interface HistoryOptions {
  /** Only the ancestors of this checkpoint. An unknown id lists none. */
  before?: string;
  /** Default: all. */
  limit?: number;
  /** Only the checkpoints whose metadata has these top-level keys with equal values. */
  filter?: Record<string, unknown>;
  /** Default: `[]`. */
  namespace?: Namespace;
}

export async function getSnapshot<S>(
  checkpointer: GraphCheckpointer<S>,
  config: CheckpointConfig,
): Promise<StateSnapshot<S> | null> {
  const tuple = await checkpointer.getTuple(config);
  return tuple === null ? null : snapshotOf(tuple);
}

function snapshotOf<S>({ config, checkpoint, parentConfig, pendingWrites }: CheckpointTuple<S>): StateSnapshot<S> {
  const writes = joinWrites(checkpoint.pendingWrites, pendingWrites);
  const activations = activationsOf(checkpoint, writes, formatOf("v8"));
  const tasks = activations.map(({ node, task: id, sendArg, record }) => {
    const { error, result } = record;
    const waiting = isWaiting(record);
    const status = result !== undefined ? "done" : waiting ? "interrupted" : error !== undefined ? "failed" : "pending";
    return {
      id,
      node,
      status,
      ...(sendArg !== undefined && { sendArg: sendArg.fresh() }),
      ...(result?.update !== undefined && { result: result.update.fresh() }),
      ...(status === "failed" && { error }),
      interrupts: waiting ? record.question!.asked : [],
    } as StateSnapshot<S>["tasks"][number];
  });
  const { createdAt } = checkpoint.metadata as { createdAt?: unknown };
  return {
    values: checkpoint.state,
    next: nextNodes(activations),
    config,
    parentConfig,
    metadata: checkpoint.metadata,
    createdAt: typeof createdAt === "number" ? createdAt : null,
    tasks,
    interrupts: tasks.flatMap(({ interrupts }) => interrupts),
  };
}

const historyOptions: Record<keyof HistoryOptions, OptionParser<unknown>> = {
  before: (value) => (typeof value === "string" ? value : undefined),
  limit: whole(0, Number.MAX_SAFE_INTEGER, "checkpoints"),
  filter: (value) => value && copyOfFilter(value as object, "filter"),
  namespace: anything,
};

export async function getHistory<S>(
  checkpointer: GraphCheckpointer<S>,
  threadId: string,
  options: HistoryOptions | undefined,
): Promise<Array<StateSnapshot<S>>> {
  const read = readRecord(options, "options", historyOptions) as HistoryOptions;
  const { before, limit = Number.POSITIVE_INFINITY, filter, namespace = [] } = read;
  const history: Array<StateSnapshot<S>> = [];
  const seen = new Set<string>();
  let passed = before === undefined;
  let config: CheckpointConfig | null = { threadId, namespace };
  while (config !== null && history.length < limit) {
    const snapshot: StateSnapshot<S> | null = await getSnapshot(checkpointer, config);
    // A manually put checkpoint may be its own ancestor.
    if (snapshot === null || seen.has(snapshot.config.checkpointId)) break;
    seen.add(snapshot.config.checkpointId);
    if (passed && matches(snapshot, filter)) history.push(snapshot);
    passed ||= snapshot.config.checkpointId === before;
    config = snapshot.parentConfig;
  }
  return history;
}

/** Copies a checkpoint with its writes into another thread, as a new root. `edited` replaces its state, if given. */
export async function fork(
  checkpointer: GraphCheckpointer<any>,
  from: ThreadRef,
  checkpointId: string | undefined,
  to: ThreadRef,
  edited?: { value: unknown },
): Promise<CheckpointTuple<any>["config"]> {
  const tuple = await checkpointer.getTuple({ ...from, ...(checkpointId !== undefined && { checkpointId }) });
  if (tuple === null) {
    const what = checkpointId === undefined ? "has no checkpoint" : `has no checkpoint ${quote(checkpointId)}`;
    throw new ForkpointError("NOT_FOUND", `thread ${quote(from.threadId)} ${what}`);
  }
  const { checkpoint, config } = tuple;
  // An answer belongs to the thread that asked.
  const { inside, ledger } = writesWithoutAnswers(checkpoint, tuple.pendingWrites, formatOf("v8"));
  const pendingWrites = joinWrites(inside, ledger);
  const latest = (await checkpointer.get(from.threadId, null, from.namespace))?.checkpointId === config.checkpointId;
  const tasks = activationsOf(checkpoint, pendingWrites, formatOf("v8"));
  if (latest)
    await forkSubgraphs(
      checkpointer,
      from,
      to,
      tasks.filter(({ record }) => record.result === undefined),
    );
  const forked = { ...to, checkpointId: crypto().randomUUID() };
  await checkpointer.put({
    ...checkpoint,
    ...forked,
    ...(edited && { state: edited.value }),
    runId: null,
    parentCheckpointId: null,
    pendingWrites,
    // A fork keeps the ids of its tasks, because the writes contain them, even if the source left them out.
    pendingActivations: pendingOf(tasks),
    metadata: { ...checkpoint.metadata, source: "fork", forkedFrom: config, createdAt: Date.now() },
  });
  if (pendingWrites.length > 0) await checkpointer.putWrites(forked, pendingWrites);
  const copied = { before: config.checkpointId, keepsIds: false };
  await handleOf(checkpointer)?.run(({ native }) => copyEffects(native, keyOf(from), keyOf(to), copied));
  return forked;
}

/** Forks the started subgraphs, before the checkpoint that needs them. */
async function forkSubgraphs(
  checkpointer: GraphCheckpointer<any>,
  from: ThreadRef,
  to: ThreadRef,
  tasks: ReadonlyArray<{ task: string }>,
): Promise<void> {
  for (const { task } of tasks) {
    const inner = { threadId: from.threadId, namespace: [...from.namespace, task] };
    if ((await checkpointer.get(inner.threadId, null, inner.namespace)) === null) continue;
    await fork(checkpointer, inner, undefined, { threadId: to.threadId, namespace: [...to.namespace, task] });
  }
}
