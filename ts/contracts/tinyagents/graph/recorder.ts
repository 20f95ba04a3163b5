/** Loads and stores the checkpoints of a run. */

import type { StoreHandle } from "../../../store/handle.js";
import type { HeldLease, Lease } from "../../../store/lease.js";
import type { RunKey } from "../../../bridge/native.js";
import type { Format } from "../../../bridge/serializer.js";
import { isOvertaken } from "../../../bridge/errors.js";
import type { Exact } from "../../../bridge/wire.js";
import { type AnswerRecord, isRecordOf, recordsIn, refuseOther } from "./answers.js";
import { runExpectsParent } from "../expectation.js";
import { checkpointName, tinyagents } from "../wire.js";
import {
  type Activation,
  type TaskRecord,
  activationsOf,
  isWaiting,
  joinWrites,
  nextNodes,
  pendingOf,
  writesOf,
} from "./tasks.js";
import type { Snapshot } from "./values.js";
import type { Boundary } from "./wire.js";
import type {
  CheckpointConfig,
  CheckpointTuple,
  Namespace,
  NewThreadCheckpoint,
  PendingWrite,
  ThreadCheckpoint,
} from "../contract.js";
import type { MemorySnapshot } from "./node.js";

/** The methods of a checkpointer that a graph uses. It must keep all fields and values. */
export interface GraphCheckpointer<S> {
  /** `expectedParent: false`: the checkpoint begins a branch, so its parent is not the latest. */
  put(checkpoint: NewThreadCheckpoint<S>, options?: { expectedParent?: boolean; lease?: Lease }): Promise<unknown>;
  get(threadId: string, checkpointId?: string | null, namespace?: Namespace): Promise<ThreadCheckpoint<S> | null>;
  getTuple(config: CheckpointConfig): Promise<CheckpointTuple<S> | null>;
  putWrites(config: CheckpointConfig, writes: readonly PendingWrite[], options?: { lease?: Lease }): Promise<void>;
}

export interface BoundaryTask {
  node: number;
  name: string;
  id: string;
  /** The id of this task in the loaded checkpoint. A task of an older checkpoint gets a new id. */
  storedId: string;
  arg: Snapshot | undefined;
  record: TaskRecord;
}

export interface ReachedBoundary {
  boundary: Boundary;
  state: Snapshot;
  tasks: BoundaryTask[];
  /** The record of each task at the boundary. */
  atBoundary: TaskRecord[];
  /** The memory at this boundary. Undefined if it is not saved. */
  memory: Promise<Snapshot> | undefined;
  /** The nodes whose tasks led to the boundary, one for each task. */
  made: readonly string[];
  /** The names of the nodes that have run since the latest input. */
  ran: readonly string[];
}

export interface Loaded {
  checkpoint: ThreadCheckpoint<any> & { memorySnapshot?: MemorySnapshot; ranNodes?: unknown };
  activations: Activation[];
  latest: boolean;
  /** The name of the graph that made the latest checkpoint. */
  owner: unknown;
  /** The stored answers for the tasks of the checkpoint. */
  answers: AnswerRecord[];
}

export interface ThreadRef {
  threadId: string;
  namespace: Namespace;
}

/** Returns the key of a thread or its namespace, for leases and effects. */
export function keyOf({ threadId: run, namespace }: ThreadRef): RunKey {
  return { space: tinyagents.name, run, ns: namespace.length === 0 ? "" : JSON.stringify(namespace) };
}

/** The thread's incarnation at the time of a saved or read checkpoint. */
export function incarnationOf(
  handle: StoreHandle | null | undefined,
  thread: ThreadRef,
  id: string | undefined,
): { incarnation?: Exact | undefined } {
  const { run: threadId, ns: namespace } = keyOf(thread);
  if (id === undefined) return {};
  return { incarnation: handle?.seen.incarnation(checkpointName({ threadId, namespace, id })) };
}

export async function loadCheckpoint(
  checkpointer: GraphCheckpointer<any>,
  thread: ThreadRef,
  checkpointId: string | undefined,
  format: Format,
): Promise<Loaded | null> {
  const tuple = await checkpointer.getTuple({ ...thread, ...(checkpointId !== undefined && { checkpointId }) });
  if (tuple === null) return null;
  const { checkpoint } = tuple;
  const latest =
    checkpointId === undefined ? checkpoint : await checkpointer.get(thread.threadId, null, thread.namespace);
  const writes = joinWrites(checkpoint.pendingWrites, tuple.pendingWrites);
  const activations = activationsOf(checkpoint, writes, format);
  const answers = recordsIn(writes);
  const { graph: owner } = (latest ?? checkpoint).metadata as { graph?: unknown };
  return { checkpoint, activations, latest: latest?.checkpointId === checkpoint.checkpointId, owner, answers };
}

/** Returns the number of supersteps before a checkpoint. A manually put checkpoint may have none. */
export function stepOf({ metadata }: Pick<ThreadCheckpoint<unknown>, "metadata">): number {
  const { step } = metadata as { step?: unknown };
  return Number.isSafeInteger(step) ? (step as number) : 0;
}

/** Returns the names of the nodes that ran since the latest input. A manually put checkpoint has none. */
export function ranIn({ ranNodes }: Loaded["checkpoint"]): string[] {
  return Array.isArray(ranNodes) ? ranNodes.filter((name) => typeof name === "string") : [];
}

/** Returns the hash of the program that made a checkpoint. Undefined: unknown. */
export function shapeIn({ metadata }: Pick<ThreadCheckpoint<unknown>, "metadata">): string | undefined {
  const { shape } = metadata as { shape?: unknown };
  return typeof shape === "string" ? shape : undefined;
}

/** The fields of a checkpoint besides its boundary. */
export interface PutMore {
  runId: string;
  graph: string;
  createdAt: number;
  branches: boolean;
  lease: HeldLease | undefined;
  /** The hash of the program's shape. Undefined in a subgraph, and in a store of another package. */
  shape: string | undefined;
  /** True if the checkpoint has the nodes that have run. */
  keepsRan: boolean;
}

/** Stores the checkpoint of a boundary, with the records of its tasks. */
export async function putBoundary(
  checkpointer: GraphCheckpointer<any>,
  thread: ThreadRef,
  reached: ReachedBoundary,
  parent: string | null,
  more: PutMore,
): Promise<void> {
  const { boundary, state, tasks, made, ran } = reached;
  const { runId, graph, createdAt, shape } = more;
  const waiting = tasks.filter(({ record }) => isWaiting(record));
  const memorySnapshot: MemorySnapshot | undefined = (await reached.memory)?.fresh();
  const checkpoint: NewThreadCheckpoint<unknown> = {
    ...thread,
    checkpointId: boundary.id,
    runId,
    parentCheckpointId: parent,
    state: state.fresh(),
    nextNodes: nextNodes(tasks.map(({ name, record }) => ({ node: name, record }))),
    completedTasks: boundary.completed,
    pendingWrites: tasks.flatMap(({ name, id, record }) => writesOf(name, id, record)),
    interrupts: waiting.flatMap(({ record }) =>
      record.question!.asked.map(({ node, taskId, namespace, value }) => ({ node, taskId, namespace, value })),
    ),
    pendingActivations: pendingOf(tasks.map(({ name: node, id: task, arg: sendArg }) => ({ node, task, sendArg }))),
    barrierArrivals: boundary.arrivals,
    metadata: {
      source: boundary.origin ?? "loop",
      step: boundary.step,
      graph,
      createdAt,
      ...(shape !== undefined && { shape }),
      // The parent contains each next node once.
      ...(new Set(made).size < made.length && { nodes: made }),
    },
    ...(more.keepsRan && ran.length > 0 && { ranNodes: ran }),
    ...(memorySnapshot !== undefined && { memorySnapshot }),
  };
  // Pass options only if necessary, because a checkpointer of another package may refuse them.
  const expectedParent = more.branches ? false : runExpectsParent(checkpointer);
  const options = { ...(expectedParent !== undefined && { expectedParent }), ...(more.lease && { lease: more.lease }) };
  await (Object.keys(options).length > 0 ? checkpointer.put(checkpoint, options) : checkpointer.put(checkpoint));
}

/**
 * Stores the records of tasks as pending writes of their checkpoint.
 *
 * @throws ForkpointError `CONFLICT` if a task has got a different answer. Nothing is stored then.
 */
export async function recordTasks(
  checkpointer: GraphCheckpointer<any>,
  thread: ThreadRef,
  checkpointId: string,
  tasks: readonly BoundaryTask[],
  lease: HeldLease | undefined,
): Promise<void> {
  const config = { ...thread, checkpointId };
  let writes = tasks.flatMap(({ name, id, record }) => writesOf(name, id, record));
  if (writes.length === 0) return;
  const store = () =>
    lease === undefined ? checkpointer.putWrites(config, writes) : checkpointer.putWrites(config, writes, { lease });
  const given = recordsIn(writes);
  if (given.length === 0) return store();
  try {
    await store();
  } catch (error) {
    if (!isOvertaken(error)) throw error;
    const stored = recordsIn((await checkpointer.getTuple(config))?.pendingWrites ?? []);
    const same = given.filter(({ id, nth, value }) => {
      const first = stored.find((one) => one.id === id && one.nth === nth);
      refuseOther(thread.threadId, first, value);
      return first !== undefined;
    });
    if (same.length === 0) throw error;
    writes = writes.filter((write) => !isRecordOf(write) || !same.includes(write.payload as AnswerRecord));
    await store();
  }
}
