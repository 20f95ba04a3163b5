/** Stores the checkpoints of a saver, and the pending writes of tasks. */

import type { ChannelVersions, Checkpoint, Config, Metadata, PendingWrite } from "@langchain/langgraph-checkpoint";
import {
  ForkpointError,
  isArray,
  isOvertaken,
  isOwnError,
  quote,
  readingArgument,
  show,
  typeError,
} from "../../bridge/errors.js";
import { processStamp } from "../../bridge/holder.js";
import { atOneMoment } from "../../bridge/incremental/lists.js";
import { type MaybePromise, all, both, when } from "../../bridge/maybe-promise.js";
import type { Exact } from "../../bridge/wire.js";
import type { Held } from "../../store/backlog.js";
import type { StoreHandle } from "../../store/handle.js";
import { requireId } from "../../store/ids.js";
import { encodeMark } from "../../store/mark.js";
import { type OwnProgram, isOtherProgram } from "../../store/owner.js";
import { type CheckpointRef, configOf, idInConfig, onlyChild, requireThread, rootIn } from "./config.js";
import { dependsOnParent } from "./dependence.js";
import { Handed, answersNothing, handedOver, isEarly, noteHanded, storeBehind } from "./early-writes.js";
import {
  afterAnswers,
  answersIn,
  continues,
  followsLatest,
  incarnationOf,
  isSeen,
  noteStored,
  noteStoring,
  type takeAnswer,
  throwIfFailed,
  unlessDeleted,
} from "./following.js";
import { type GatheredWrites, TaskWrites } from "./gathered-writes.js";
import { identityIn } from "./mark.js";
import { newStatus, nextNodesOf } from "./next.js";
import { stepNodes } from "./nodes.js";
import type { Order } from "./order.js";
import type { Owner } from "./owner.js";
import { retrying } from "./retry.js";
import { isRun } from "./run-config.js";
import { throwIfNothingRan } from "./running-nothing.js";
import { dump } from "./serde.js";
import type { ThreadLeases } from "./thread-leases.js";
import type { Peer, SaverContext } from "./tuples.js";
import { completeCheckpoint, encodeCheckpoint } from "./values.js";
import type { Needs } from "./wire.js";
import { type IndexedWrite, type WriteCall, putCheckpoint, storeWrites, writeCall } from "./writing.js";

/** The parts of a saver that its saves use. */
export interface Saving {
  readonly handle: StoreHandle;
  readonly order: Order;
  readonly gathered: GatheredWrites;
  readonly leases: ThreadLeases;
  readonly owner: Owner;
  readonly program: OwnProgram | undefined;
  /** The option `expectedParent` of the saver. */
  readonly onlyChild: boolean | undefined;
}

/** What a run was resumed with, as far as its writes show it: see `takeAnswer` and `tasksBehind`. */
export type Answering = ReturnType<typeof takeAnswer> & { tasks: Promise<void> | undefined };

/** Stores a checkpoint: `put` of a saver. */
export async function savePut(
  saving: Saving,
  context: SaverContext,
  held: Held,
  config: Config,
  checkpoint: Checkpoint,
  metadata: Metadata,
  newVersions: ChannelVersions,
): Promise<Config> {
  const { handle, order, gathered, leases, owner, program } = saving;
  const { threadId, namespace } = requireThread(config, "put()");
  throwIfNothingRan(config);
  if (typeof checkpoint !== "object" || checkpoint === null) {
    throw typeError(`checkpoint must be an object, but is ${show(checkpoint)}`);
  }
  const id = readingArgument("checkpoint", () => requireId(checkpoint.id, "checkpoint.id"));
  const checkpointRef = { threadId, namespace, id };
  const given = idInConfig(config);
  const parent = given === undefined ? undefined : requireId(given, "checkpoint_id");
  const only = onlyChild(config) ?? saving.onlyChild ?? followsLatest(config, handle.seen, parent, metadata);
  const root = namespace === "" ? undefined : rootIn(config);
  const before = parent === undefined ? undefined : { threadId, namespace, id: parent };
  const known = continues(config, handle.seen, before, metadata);
  // With the durability "exit", a run that stops in its first step saves its checkpoint again. Its questions stay open.
  const claims = parent !== id;
  const place = { root, onlyChild: only, known, claims, ...incarnationOf(config, namespace, only) };
  // A checkpoint of the graph itself may be the last one if no node runs next.
  const mayBeLast = namespace === "" && !readingArgument("checkpoint", () => hasNext(checkpoint));
  const write = { threadId, id, config, stops: false, mayBeLast };
  const identity = { ...identityIn(config), ...(program !== undefined && { program: program.name }) };
  // If the thread has a lease, the lease identifies the process.
  const by = () => (isRun(config) && !leases.guards(threadId) ? { by: processStamp() } : {});
  const depends = readingArgument("checkpoint", () => dependsOnParent(checkpoint, metadata, before));
  const next = readingArgument("checkpoint", () => nextNodesOf(checkpoint));
  const nodes = readingArgument("checkpoint", () => stepNodes(checkpoint, metadata, next));
  const encoded = encodeCheckpoint(context.serde, checkpoint, newVersions ?? {}, held);
  const dumped = both(encoded, dump(context.serde, metadata, "the metadata", held));
  const handed = new Handed(checkpointRef);
  const behind = handedOver(config)?.stored;
  // A checkpoint claims its parent's writes and inherits its parts, so all earlier calls must have ended.
  const state = behind === undefined ? "done" : "handed";
  const stored = order.after(state, threadId, dumped, ([pieces, metadata]) =>
    leases.write(context, write, (native) => {
      // The writes that the checkpoint was made from may have been refused.
      throwIfFailed(config);
      const storeWith = (effects: Exact | undefined) => (writes: readonly WriteCall[]) =>
        retrying(() => {
          const mark = encodeMark({ ...(namespace === "" && { ...identity, ...by() }), nodes });
          const store = (dependsOnParent: boolean) => {
            const rest = { metadata, mark, dependsOnParent, status: newStatus(next) };
            const at = effects === undefined ? place : { ...place, effects };
            const put = (pieces: Awaited<typeof encoded>) =>
              putCheckpoint(native, checkpointRef, parent, { ...pieces, ...rest }, at, "put", writes);
            // If this fails, the checkpoint before may have failed, or may be stored by now.
            const again = (behind: Promise<unknown>) => behind.then(() => put(pieces));
            const first = behind === undefined ? put(pieces) : put(pieces).catch(() => again(behind));
            handed.noteSent();
            return first.catch(async (error) => {
              if (!isOwnError(error) || error.code !== "NOT_FOUND") throw error;
              // The parent no longer exists: it was deleted, or the database was restored. Store all values in
              // the checkpoint itself.
              return put(await completeCheckpoint(context.serde, checkpoint, newVersions ?? {}, pieces, held));
            });
          };
          const depending = depends(context);
          return depending instanceof Promise ? depending.then(store) : store(depending);
        });
      const storeBoth = (effects?: Exact) => gathered.storeWith(before, native, storeWith(effects));
      const store = () => unlessDeleted(config, native, storeBoth);
      return owner.write(context, config, threadId, () => afterAnswers(config, store));
    }),
  );
  const put = stored.catch((error) => {
    const says = isOtherProgram(error) || error === answersIn(config)?.refused;
    throw isOvertaken(error) && !says ? overtaken(checkpointRef, parent, error) : error;
  });
  if (isRun(config)) {
    noteHanded(config, handed, put);
    noteStoring(config, checkpointRef, put);
  }
  await put;
  noteStored(config, handle.seen, checkpointRef);
  return configOf(checkpointRef);
}

/** The fixed index of a write to one of LangGraph's own channels. Returns undefined for other channels. */
const special = ({ WRITES_IDX_MAP: indexes }: Peer, channel: string): number | undefined =>
  Object.hasOwn(indexes, channel) ? indexes[channel] : undefined;

/** Stores the writes of a task: `putWrites` of a saver. */
export async function saveWrites(
  saving: Saving,
  context: SaverContext,
  held: Held,
  config: Config,
  writes: PendingWrite[],
  taskId: string,
  taskPath: string,
  { answers, taken, tasks }: Answering,
): Promise<void> {
  const { handle, order, gathered, leases, owner } = saving;
  const { threadId, namespace } = requireThread(config, "putWrites()");
  const id = idInConfig(config);
  if (id === undefined) {
    throw new ForkpointError("INVALID_ARGUMENT", "putWrites() needs a checkpoint_id in config.configurable");
  }
  const checkpointRef = { threadId, namespace, id: requireId(id, "checkpoint_id") };
  const task = requireId(taskId, "taskId");
  const path = taskPath === "" ? "" : requireId(taskPath, "taskPath");
  if (!isArray(writes)) throw typeError(`writes must be an array, but is ${show(writes)}`);
  const given = readingArgument("writes", () =>
    Array.from(writes, ([channel, value]) => ({ channel: requireId(channel, "the channel of a write"), value })),
  );
  // Writes to LangGraph's own channels do not count. With the durability "exit", LangGraph hands over a task's
  // error again before the task's result, and the result must keep its index.
  let regular = 0;
  const dumped = atOneMoment(() =>
    given.map(({ channel, value }): MaybePromise<IndexedWrite> => {
      const index = special(context.peer, channel) ?? regular++;
      const typed = dump(context.serde, value, `the write to channel ${quote(channel)}`, held);
      return when(typed, ({ tag, bytes }) => ({ index, part: { name: channel, tag, bytes } }));
    }),
  );
  const replace = given.every(({ channel }) => special(context.peer, channel) !== undefined);
  const stops = namespace === "" && given.some(({ channel }) => channel === "__interrupt__" || channel === "__error__");
  const write = { threadId, id: checkpointRef.id, config, stops, mayBeLast: false };
  const ready = all(dumped);
  const store = (needs: Needs, behind?: Handed) => {
    const gathers = isRun(config) && taken === undefined && tasks === undefined;
    const own = gathers ? new TaskWrites() : undefined;
    const storeIndexed = (indexed: IndexedWrite[]) =>
      leases.write(context, write, (native) => {
        const to = { task, path };
        if (taken !== undefined) return answers!.store(native, to, indexed, replace, needs, taken, tasks);
        const call = writeCall(native, checkpointRef, to, indexed, replace, needs);
        const send = () => retrying(() => storeWrites(call));
        const put = () => (own === undefined ? send() : gathered.gather(own, checkpointRef, call, send, behind));
        const stored = owner.write(context, config, threadId, () =>
          afterAnswers(config, () => (tasks === undefined ? put() : tasks.then(put))),
        );
        return answers !== undefined && stops ? stored.then(() => answers.asked(native)) : stored;
      });
    return order.after("handed", threadId, ready, storeIndexed, own);
  };
  const seen = isSeen(handle.seen, checkpointRef);
  if (isEarly(config, seen)) {
    // An unserializable value is reported when the checkpoint has come.
    if (ready instanceof Promise) ready.catch(() => {});
    if (!answersNothing(config, task)) await storeBehind(config, checkpointRef, store);
    // Without a run, writes may come before their checkpoint, but not before the first one of the thread.
  } else await store(seen ? "checkpoint" : "thread");
}

/** Returns true if an edge or a `Send` has chosen a node to run next. */
function hasNext({ channel_values: values }: Checkpoint): boolean {
  const sends: unknown = values?.["__pregel_tasks"];
  if (isArray(sends) && sends.length > 0) return true;
  return Object.keys(values ?? {}).some((channel) => channel === "__start__" || channel.startsWith("branch:to:"));
}

/** Makes the error for a run that another run has overtaken. */
function overtaken(
  { threadId, namespace }: CheckpointRef,
  parent: string | undefined,
  cause: ForkpointError,
): ForkpointError {
  const where = `thread ${quote(threadId)}${namespace === "" ? "" : `, namespace ${quote(namespace)}`}`;
  const from =
    parent === undefined ? "this run expected a new thread" : `checkpoint ${quote(parent)} is no longer its latest`;
  return new ForkpointError(
    "CONFLICT",
    `another run has continued ${where}, or it was deleted: ${from}. Nothing was stored. Read the state again and continue from ` +
      "there. To branch on purpose, set expected_parent: false in config.configurable",
    { cause },
  );
}
