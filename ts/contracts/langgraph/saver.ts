/** Makes the class `ForkpointSaver` from LangGraph's package. */

import type {
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointTuple,
  Config,
  DeltaChannelHistory,
  Metadata,
  PendingWrite,
} from "@langchain/langgraph-checkpoint";
import type { Held } from "../../store/backlog.js";
import type { Engine } from "../../store/engine.js";
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
import { StoreHandle } from "../../store/handle.js";
import type { Undo } from "../../store/host.js";
import { setHandle } from "../../store/handle-of.js";
import { ownLeaseOption, type Lease } from "../../store/lease.js";
import { flag, programOption, splitOptions } from "../../store/options.js";
import { type OwnProgram, isOtherProgram, ownProgramOption } from "../../store/owner.js";
import { processStamp } from "../../bridge/holder.js";
import { type DeleteOptions, forced } from "../../store/removing.js";
import { listOf, requireId, text } from "../../store/ids.js";
import { dependsOnParent } from "./dependence.js";
import { newStatus, nextNodesOf } from "./next.js";
import { stepNodes } from "./nodes.js";
import { deltaHistory } from "./history.js";
import type { ExportOptions, ExportResult } from "./export.js";
import type { ImportOptions, ImportResult, Target } from "./import.js";
import type { ListThreadsOptions, ThreadsPage } from "./list-threads.js";
import { Order } from "./order.js";
import { Owner } from "./owner.js";
import {
  type CheckpointRef,
  nameInConfig,
  idInConfig,
  configOf,
  lineageOf,
  onlyChild,
  requireThread,
  rootIn,
} from "./config.js";
import {
  afterAnswers,
  answersIn,
  continues,
  followsLatest,
  incarnationOf,
  needsOf,
  noteAnswers,
  noteBeginning,
  noteFailed,
  noteLatest,
  noteEmpty,
  noteSeen,
  noteStoring,
  noteStored,
  takeAnswer,
  throwIfFailed,
} from "./following.js";
import { encodeMark } from "../../store/mark.js";
import { identityIn } from "./mark.js";
import { retrying } from "./retry.js";
import type { ThreadStatus } from "./status.js";
import { ThreadLeases } from "./thread-leases.js";
import { beginsRun, isRun } from "./run-config.js";
import { tasksBehind, throwIfNothingRan, watchTasks } from "./running-nothing.js";
import { answersNothing, isEarly, letGo, noteHanded, storeBehind } from "./early-writes.js";
import { list } from "./list-checkpoints.js";
import { type Peer, type SaverContext, find, tupleOf } from "./tuples.js";
import { dump, serdeOption, trust } from "./serde.js";
import { atOneMoment } from "../../bridge/incremental/lists.js";
import { type MaybePromise, all, both, when } from "../../bridge/maybe-promise.js";
import { completeCheckpoint, encodeCheckpoint } from "./values.js";
import { type Needs, langgraph } from "./wire.js";
import { type IndexedWrite, putCheckpoint, putWrites } from "./writing.js";
import { withStoreMethods } from "../../store/contract-store.js";
import type { StatsOptions } from "../../store/retention.js";
import type { PruneStrategy, SaverPruneOptions, SaverPruneResult } from "./threads.js";
import type { ForkpointSaver, SaverOptions, SaverStats } from "./forkpoint-saver.js";

const later = (): typeof import("./later.js") => require("./later.js");
const undo: Undo = { goBack: (...to) => later().undo(...to) };

const saverOptions = {
  serde: serdeOption,
  expectedParent: flag,
  lease: ownLeaseOption,
  program: ownProgramOption,
  version: programOption,
  metadataIndexes: (keys: unknown, name: string) => listOf(metadataKey, keys, name),
};

function metadataKey(value: unknown, name: string): string {
  const key = requireId(value, name);
  if (/["\\\p{Cc}]/u.test(key)) {
    throw typeError(
      `${name} must contain no quotation mark, no backslash and no control character, but is ${show(key)}`,
    );
  }
  return key;
}

/**
 * Makes the saver class for one copy of LangGraph's package. LangGraph has one copy for `import` and one for `require`.
 * Objects of one copy are not instances of the classes of the other copy.
 */
export function saverOf(peer: Peer): typeof ForkpointSaver {
  /** The fixed index of a write to one of LangGraph's own channels. Returns undefined for other channels. */
  const special = (channel: string) =>
    Object.hasOwn(peer.WRITES_IDX_MAP, channel) ? peer.WRITES_IDX_MAP[channel] : undefined;

  const made = class ForkpointSaver extends peer.BaseCheckpointSaver {
    readonly #handle: StoreHandle;
    readonly #order = new Order();
    readonly #onlyChild: boolean | undefined;
    readonly #leases: ThreadLeases;
    readonly #program: OwnProgram | undefined;
    readonly #owner: Owner;
    readonly #version: string | undefined;
    readonly #indexes: readonly string[];

    constructor(target: string | URL | object, options?: SaverOptions) {
      const { own, others } = splitOptions(options, saverOptions);
      const { serde, expectedParent, lease, program, version, metadataIndexes = [] } = own;
      if (others?.serializer !== undefined)
        throw typeError('Unknown option "serializer". A ForkpointSaver takes the option "serde" instead');
      super(serde);
      if (serde === undefined) trust(this.serde);
      this.#onlyChild = expectedParent;
      this.#program = program;
      this.#owner = new Owner(program);
      this.#version = version;
      this.#indexes = metadataIndexes;
      this.#handle = StoreHandle.of(target, others, { name: langgraph.name, undo });
      this.#leases = new ThreadLeases(this.#handle, lease, (...of) => later().hasStopped(...of));
      setHandle(this, this.#handle);
    }

    get program(): string | undefined {
      return this.#program?.name;
    }

    get version(): string | undefined {
      return this.#version;
    }

    getTuple(config: Config): Promise<CheckpointTuple | undefined> {
      return this.#read(async (context) => {
        const threadId = nameInConfig(config, "thread_id");
        if (threadId === undefined) return undefined;
        this.#owner.check(config);
        const begun = this.#leases.begin(config);
        if (this.#leases.takes) await begun;
        const [namespace, id] = [nameInConfig(config, "checkpoint_ns") ?? "", idInConfig(config)];
        const [found, release] = await Promise.all([find(context, threadId, namespace, id, isRun(config)), begun]);
        noteBeginning(config, id === undefined || found?.isLatest === true, found);
        if (found === null) {
          if (id === undefined && namespace === "") noteEmpty(config, this.#handle.seen, threadId);
          return undefined;
        }
        noteSeen(this.#handle.seen, found.header);
        const recovers = this.#leases.isRecovered(threadId);
        await noteAnswers(config, found, () => later().Resuming.at(context, found, recovers));
        const tuple = await tupleOf(context, found);
        await this.#owner.begin(context, config, found, tuple, release);
        if (beginsRun(config) !== undefined) watchTasks(config, nextNodesOf(tuple.checkpoint));
        if (id === undefined) noteLatest(found.header.id, tuple.metadata);
        return answersIn(config)?.amend(tuple, found) ?? tuple;
      });
    }

    async *list(config: Config, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
      yield* list((work) => this.#read(work), this.#indexes, config, options);
    }

    put(config: Config, checkpoint: Checkpoint, metadata: Metadata, newVersions: ChannelVersions): Promise<Config> {
      return this.#inRun(config, true, async (context, held) => {
        const { threadId, namespace } = requireThread(config, "put()");
        throwIfNothingRan(config);
        if (typeof checkpoint !== "object" || checkpoint === null) {
          throw typeError(`checkpoint must be an object, but is ${show(checkpoint)}`);
        }
        const id = readingArgument("checkpoint", () => requireId(checkpoint.id, "checkpoint.id"));
        const checkpointRef = { threadId, namespace, id };
        const given = idInConfig(config);
        const parent = given === undefined ? undefined : requireId(given, "checkpoint_id");
        const only = onlyChild(config) ?? this.#onlyChild ?? followsLatest(config, this.#handle.seen, parent, metadata);
        const root = namespace === "" ? undefined : rootIn(config);
        const before = parent === undefined ? undefined : { threadId, namespace, id: parent };
        const known = continues(config, this.#handle.seen, before, metadata);
        const place = { root, onlyChild: only, known, ...incarnationOf(config, namespace, only) };
        // A checkpoint of the graph itself may be the last one if no node runs next.
        const mayBeLast = namespace === "" && !readingArgument("checkpoint", () => hasNext(checkpoint));
        const write = { threadId, id, config, stops: false, mayBeLast };
        const identity = { ...identityIn(config), ...(this.#program !== undefined && { program: this.#program.name }) };
        // If the thread has a lease, the lease identifies the process.
        const by = () => (isRun(config) && !this.#leases.guards(threadId) ? { by: processStamp() } : {});
        const depends = readingArgument("checkpoint", () => dependsOnParent(checkpoint, metadata, before));
        const next = readingArgument("checkpoint", () => nextNodesOf(checkpoint));
        const nodes = readingArgument("checkpoint", () => stepNodes(checkpoint, metadata, next));
        const encoded = encodeCheckpoint(this.serde, checkpoint, newVersions ?? {}, held);
        const dumped = both(encoded, dump(this.serde, metadata, "the metadata", held));
        // A checkpoint claims its parent's writes and inherits its parts, so all earlier calls must have ended.
        const stored = this.#order.after("done", threadId, dumped, ([pieces, metadata]) =>
          this.#leases.write(context, write, (native) => {
            // The writes that the checkpoint was made from may have been refused.
            throwIfFailed(config);
            const store = () =>
              retrying(() => {
                const mark = encodeMark({ ...(namespace === "" && { ...identity, ...by() }), nodes });
                const store = (dependsOnParent: boolean) => {
                  const rest = { metadata, mark, dependsOnParent, status: newStatus(next) };
                  const put = (pieces: Awaited<typeof encoded>) =>
                    putCheckpoint(native, checkpointRef, parent, { ...pieces, ...rest }, place);
                  return put(pieces).catch(async (error) => {
                    if (!isOwnError(error) || error.code !== "NOT_FOUND") throw error;
                    // The parent no longer exists: it was deleted, or the database was restored. Store all values in
                    // the checkpoint itself.
                    return put(await completeCheckpoint(this.serde, checkpoint, newVersions ?? {}, pieces, held));
                  });
                };
                const depending = depends(context);
                return depending instanceof Promise ? depending.then(store) : store(depending);
              });
            return this.#owner.write(context, config, threadId, () => afterAnswers(config, store));
          }),
        );
        const put = stored.catch((error) => {
          const says = isOtherProgram(error) || error === answersIn(config)?.refused;
          throw isOvertaken(error) && !says ? overtaken(checkpointRef, parent, error) : error;
        });
        if (isRun(config)) {
          noteHanded(config, checkpointRef, put);
          noteStoring(config, checkpointRef, put);
        }
        await put;
        noteStored(config, this.#handle.seen, checkpointRef);
        return configOf(checkpointRef);
      });
    }

    putWrites(config: Config, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
      throwIfFailed(config);
      // Throws before LangGraph runs a node.
      const { answers, taken } = takeAnswer(config, writes, taskId);
      const tasks = tasksBehind(config, writes, taskId);
      // If this fails, the results of other tasks of the step are still stored, unless this is an answer.
      return this.#inRun(config, taken !== undefined || tasks !== undefined, async (context, held) => {
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
            const index = special(channel) ?? regular++;
            const typed = dump(this.serde, value, `the write to channel ${quote(channel)}`, held);
            return when(typed, ({ tag, bytes }) => ({ index, part: { name: channel, tag, bytes } }));
          }),
        );
        const replace = given.every(({ channel }) => special(channel) !== undefined);
        const stops =
          namespace === "" && given.some(({ channel }) => channel === "__interrupt__" || channel === "__error__");
        const write = { threadId, id: checkpointRef.id, config, stops, mayBeLast: false };
        const ready = all(dumped);
        const store = (needs: Needs) =>
          this.#order.after("handed", threadId, ready, (indexed) =>
            this.#leases.write(context, write, (native) => {
              const to = { task, path };
              if (taken !== undefined) return answers!.store(native, to, indexed, replace, needs, taken, tasks);
              const put = () => retrying(() => putWrites(native, checkpointRef, to, indexed, replace, needs));
              const stored = this.#owner.write(context, config, threadId, () =>
                afterAnswers(config, () => (tasks === undefined ? put() : tasks.then(put))),
              );
              return answers !== undefined && stops ? stored.then(() => answers.asked(native)) : stored;
            }),
          );
        const needs = needsOf(this.#handle.seen, checkpointRef);
        if (isEarly(config, needs === "checkpoint")) {
          // An unserializable value is reported when the checkpoint has come.
          if (ready instanceof Promise) ready.catch(() => {});
          if (!answersNothing(config, task)) await storeBehind(config, checkpointRef, store);
        } else await store(needs);
      });
    }

    deleteThread(threadId: string, options?: DeleteOptions): Promise<void> {
      return this.#handle.run((engine) => {
        const force = forced(options);
        return this.#order.after("done", threadId, undefined, () => later().remove(engine, threadId, force));
      });
    }

    getDeltaChannelHistory(of: { config: Config; channels: string[] }): Promise<Record<string, DeltaChannelHistory>> {
      return this.#read(async (context) => {
        const { config, channels } = readingArgument("the argument", () => ({
          config: of.config,
          channels: of.channels,
        }));
        return deltaHistory(context, config, listOf(text, channels, "channels"));
      });
    }

    prune(
      threadIds: string[],
      strategy: PruneStrategy = "keep_latest",
      options?: SaverPruneOptions,
    ): Promise<SaverPruneResult> {
      return this.#read((context) => later().prune(context, threadIds, strategy, options, () => this.#handle.closing));
    }

    deleteForRuns(runIds: string[], options?: SaverPruneOptions): Promise<SaverPruneResult> {
      return this.#read((context) => later().removeRuns(context, runIds, options, () => this.#handle.closing));
    }

    copyThread(sourceThreadId: string, targetThreadId: string): Promise<void> {
      return this.#read((context) =>
        this.#order.after("done", targetThreadId, undefined, () =>
          later().copy(context, sourceThreadId, targetThreadId),
        ),
      );
    }

    listThreads(options?: ListThreadsOptions): Promise<ThreadsPage> {
      return this.#read((context) => later().listThreads(context, options));
    }

    status(threadId: string): Promise<ThreadStatus | null> {
      return this.#read((context) => later().status(context, threadId));
    }

    importSqliteSaver(from: string | URL, options?: ImportOptions): Promise<ImportResult> {
      return this.#read((context) => later().importSqliteSaver(this.#target(context), from, options));
    }

    importPostgresSaver(from: unknown, options?: ImportOptions): Promise<ImportResult> {
      return this.#read((context) => later().importPostgresSaver(this.#target(context), from, options));
    }

    importFrom(from: unknown, options?: ImportOptions): Promise<ImportResult> {
      return this.#read((context) => later().importFrom(this.#target(context), this, from, options));
    }

    exportTo(to: unknown, options?: ExportOptions): Promise<ExportResult> {
      return this.#read((context) => later().exportTo(context, this, to, options, () => this.#handle.closing));
    }

    withLease(lease: Lease): ForkpointSaver {
      const [program, version] = [this.#program, this.#version];
      const own = { ...(program !== undefined && { program }), ...(version !== undefined && { version }) };
      const only = this.#onlyChild;
      const options = { serde: this.serde, ...(only !== undefined && { expectedParent: only }), ...own };
      return new ForkpointSaver(this.#handle.withLease(lease), options);
    }

    async stats(options?: StatsOptions): Promise<SaverStats> {
      const { runs: namespaces, largest, ...rest } = await this.#handle.stats(options);
      const line = ({ runId, ...sizes }: (typeof largest)[number]) => ({ ...lineageOf(runId), ...sizes });
      return { ...rest, namespaces, largest: largest.map(line) };
    }

    #read<T>(work: (context: SaverContext) => Promise<T>): Promise<T> {
      return this.#handle.run((engine) => work(this.#context(engine)));
    }

    /** Like `#save`. If a save of a run fails, the run is notified: see `noteFailed`. */
    #inRun<T>(config: Config, ends: boolean, work: (context: SaverContext, held: Held) => Promise<T>): Promise<T> {
      const saved = this.#save(work);
      saved.catch((error) => {
        noteFailed(config, error, ends);
        if (ends) letGo(config);
      });
      return saved;
    }

    #save<T>(work: (context: SaverContext, held: Held) => Promise<T>): Promise<T> {
      return this.#handle.save((engine, held) => work(this.#context(engine), held));
    }

    /** The parts of this saver that an import uses. */
    #target(context: SaverContext): Target {
      const prunes = Object.values(this.#handle.retention).some((limit) => limit !== null);
      return { context, leaseOf: (threadId) => this.#leases.leaseOf(threadId), prunes };
    }

    #context({ native }: Engine): SaverContext {
      return { native, peer, serde: this.serde, getNextVersion: (current) => this.getNextVersion(current) };
    }
  };
  return withStoreMethods(made, "lease", "exclusive", "stop", "check", "vacuum", "close", Symbol.asyncDispose);
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
