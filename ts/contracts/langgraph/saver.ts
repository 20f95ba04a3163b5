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
import { readingArgument, show, typeError } from "../../bridge/errors.js";
import { StoreHandle } from "../../store/handle.js";
import type { Undo } from "../../store/host.js";
import { setHandle } from "../../store/handle-of.js";
import { ownLeaseOption, type Lease } from "../../store/lease.js";
import { flag, programOption, splitOptions } from "../../store/options.js";
import { ownProgramOption } from "../../store/owner.js";
import { type DeleteOptions, forced } from "../../store/removing.js";
import { listOf, requireId, text } from "../../store/ids.js";
import { hearAnswers } from "./heard-answers.js";
import { GatheredWrites } from "./gathered-writes.js";
import { nextNodesOf } from "./next.js";
import { deltaHistory } from "./history.js";
import type { ExportOptions, ExportResult } from "./export.js";
import type { ImportOptions, ImportResult, Target } from "./import.js";
import type { ListThreadsOptions, ThreadsPage } from "./list-threads.js";
import { Order } from "./order.js";
import { Owner } from "./owner.js";
import { nameInConfig, idInConfig, lineageOf } from "./config.js";
import {
  answersIn,
  noteAnswers,
  noteBeginning,
  noteFailed,
  noteLatest,
  noteEmpty,
  noteSeen,
  takeAnswer,
  throwIfFailed,
} from "./following.js";
import type { ThreadStatus } from "./status.js";
import { ThreadLeases } from "./thread-leases.js";
import { beginsRun, isRun } from "./run-config.js";
import { tasksBehind, watchTasks } from "./running-nothing.js";
import { handedOver, letGo, untilNext } from "./early-writes.js";
import { list } from "./list-checkpoints.js";
import { type Peer, type SaverContext, find, tupleOf } from "./tuples.js";
import { serdeOption, trust } from "./serde.js";
import { langgraph } from "./wire.js";
import { type Answering, type Saving, savePut, saveWrites } from "./saving.js";
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
  const made = class ForkpointSaver extends peer.BaseCheckpointSaver {
    readonly #handle: StoreHandle;
    readonly #saving: Saving;
    readonly #version: string | undefined;
    readonly #indexes: readonly string[];

    constructor(target: string | URL | object, options?: SaverOptions) {
      const { own, others } = splitOptions(options, saverOptions);
      const { serde, expectedParent, lease, program, version, metadataIndexes = [] } = own;
      if (others?.serializer !== undefined)
        throw typeError('Unknown option "serializer". A ForkpointSaver takes the option "serde" instead');
      super(serde);
      if (serde === undefined) trust(this.serde);
      this.#version = version;
      this.#indexes = metadataIndexes;
      this.#handle = StoreHandle.of(target, others, { name: langgraph.name, undo });
      this.#saving = {
        handle: this.#handle,
        order: new Order(),
        gathered: new GatheredWrites(),
        leases: new ThreadLeases(this.#handle, lease, (...of) => later().hasStopped(...of)),
        owner: new Owner(program),
        program,
        onlyChild: expectedParent,
      };
      setHandle(this, this.#handle);
    }

    get program(): string | undefined {
      return this.#saving.program?.name;
    }

    get version(): string | undefined {
      return this.#version;
    }

    getTuple(config: Config): Promise<CheckpointTuple | undefined> {
      return this.#read(async (context) => {
        const threadId = nameInConfig(config, "thread_id");
        if (threadId === undefined) return undefined;
        this.#saving.owner.check(config);
        const begun = this.#saving.leases.begin(config);
        if (this.#saving.leases.takes) await begun;
        const [namespace, id] = [nameInConfig(config, "checkpoint_ns") ?? "", idInConfig(config)];
        const [found, release] = await Promise.all([find(context, threadId, namespace, id, isRun(config)), begun]);
        noteBeginning(config, id === undefined || found?.isLatest === true, found);
        if (found === null) {
          if (id === undefined && namespace === "") noteEmpty(config, this.#handle.seen, threadId);
          return undefined;
        }
        noteSeen(this.#handle.seen, found.header);
        const recovers = this.#saving.leases.isRecovered(threadId);
        await noteAnswers(config, found, () => later().Resuming.at(context, found, recovers));
        const tuple = await tupleOf(context, found);
        await this.#saving.owner.begin(context, config, found, tuple, release);
        if (beginsRun(config) !== undefined) watchTasks(config, nextNodesOf(tuple.checkpoint));
        if (id === undefined) noteLatest(found.header.id, tuple.metadata);
        const shown = answersIn(config)?.amend(tuple, found) ?? tuple;
        if (beginsRun(config) === undefined) return shown;
        return hearAnswers(config, shown, (at, writes, task, answering) =>
          this.#storeWrites(at, writes, task, "", answering, true),
        );
      });
    }

    // `withFaults` must know that this is a generator. It reads its arguments at the first `next()`.
    async *list(config: Config, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
      yield* list((work) => this.#read(work), this.#indexes, config, options);
    }

    put(config: Config, checkpoint: Checkpoint, metadata: Metadata, newVersions: ChannelVersions): Promise<Config> {
      const before = handedOver(config);
      const stored = this.#inRun(config, true, (context, held) =>
        savePut(this.#saving, context, held, config, checkpoint, metadata, newVersions),
      );
      const handed = handedOver(config);
      // Otherwise, the checkpoint was refused, or is still being read.
      if (handed === undefined || handed === before) return stored;
      return untilNext(config, handed, stored, () => this.#handle.hasRoom);
    }

    putWrites(config: Config, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
      throwIfFailed(config);
      // Throws before LangGraph runs a node.
      const answering = { ...takeAnswer(config, writes, taskId), tasks: tasksBehind(config, writes, taskId) };
      // If this fails, the results of other tasks of the step are still stored, unless this is an answer.
      const ends = answering.taken !== undefined || answering.tasks !== undefined;
      return this.#storeWrites(config, writes, taskId, taskPath, answering, ends);
    }

    deleteThread(threadId: string, options?: DeleteOptions): Promise<void> {
      return this.#handle.run((engine) => {
        const force = forced(options);
        return this.#saving.order.after("done", threadId, undefined, () => later().remove(engine, threadId, force));
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
        this.#saving.order.after("done", targetThreadId, undefined, () =>
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
      const [program, version] = [this.#saving.program, this.#version];
      const own = { ...(program !== undefined && { program }), ...(version !== undefined && { version }) };
      const only = this.#saving.onlyChild;
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

    #storeWrites(
      config: Config,
      writes: PendingWrite[],
      task: string,
      path: string,
      answering: Answering,
      ends: boolean,
    ): Promise<void> {
      return this.#inRun(config, ends, (context, held) =>
        saveWrites(this.#saving, context, held, config, writes, task, path, answering),
      );
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
      return { context, leaseOf: (threadId) => this.#saving.leases.leaseOf(threadId), prunes };
    }

    #context({ native }: Engine): SaverContext {
      return { native, peer, serde: this.serde, getNextVersion: (current) => this.getNextVersion(current) };
    }
  };
  return withStoreMethods(made, "lease", "exclusive", "stop", "check", "vacuum", "close", Symbol.asyncDispose);
}
