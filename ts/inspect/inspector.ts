/** The inspector: what `openInspector` returns. */

import type { BackupOptions, BackupResult, PruneOptions, PruneResult, Store } from "../../index.js";
import type {
  CheckpointDetail,
  CheckpointInfo,
  CheckpointRef,
  ForkEdit,
  ImportReport,
  InspectedStats,
  Inspector as Contract,
  Page,
  RunInfo,
  SavedPerHour,
  Space,
  StoreEvent,
  StoreInfo,
  VerifyReport,
} from "../../inspect.js";
import { ForkpointError, isOwnError } from "../bridge/errors.js";
import { prune, vacuum } from "../store/retention.js";
import { backup } from "../store/backup.js";
import { savedPerHour } from "./activity.js";
import { findCheckpoint, listCheckpoints } from "./checkpoints.js";
import { type Context, readKey, readSpace } from "./context.js";
import { diffCheckpoints } from "./comparison.js";
import { readDetail } from "./detail.js";
import { exportLines } from "./export.js";
import { fork } from "./fork.js";
import { importLines } from "./import.js";
import { remove } from "./remove.js";
import { findRun, listForks, listRuns } from "./runs.js";
import { infoOfStore, statsOf } from "./store-info.js";
import { verify } from "./verify.js";
import { watch } from "./watch.js";
import { idOrNull } from "../store/ids.js";
import { readRecord } from "../store/options.js";

const keep = (value: unknown) => value;

export class Inspector implements Contract {
  readonly #context: Context;
  /** The store, if the inspector has opened it. */
  readonly #own: Store | undefined;
  #closing: Promise<void> | undefined;

  constructor(context: Context, own: Store | undefined) {
    this.#context = context;
    this.#own = own;
  }

  info(): Promise<StoreInfo> {
    return this.#read((context) => infoOfStore(context));
  }

  runs(query?: unknown): Promise<Page<RunInfo>> {
    return this.#read((context) => listRuns(context, query));
  }

  run(ref: unknown, options?: unknown): Promise<RunInfo | null> {
    return this.#read((context) => findRun(context, readKey(ref), options));
  }

  checkpoints(ref: unknown, query?: unknown): Promise<Page<CheckpointInfo>> {
    return this.#read((context) => listCheckpoints(context, readKey(ref), query));
  }

  forks(ref: unknown): Promise<RunInfo[]> {
    return this.#read((context) => listForks(context, readKey(ref)));
  }

  checkpoint(ref: unknown): Promise<CheckpointDetail | null> {
    return this.#read(async (context) => {
      const key = readKey(ref);
      const { id, step } = ref as { id?: unknown; step?: number };
      const known = id === undefined ? undefined : idOrNull(id, "id");
      if (known === null) return null;
      const found = await findCheckpoint(context, key, { id: known, step });
      return found && readDetail(context, found.row, found.info);
    });
  }

  diff(from: unknown, to: unknown, options?: unknown): ReturnType<Contract["diff"]> {
    return this.#read((context) => diffCheckpoints(context, from, to, options));
  }

  watch(options?: unknown): AsyncIterable<StoreEvent> {
    this.#throwIfClosed();
    return watch(this.#context, options, () => this.#closing !== undefined);
  }

  stats(options?: unknown): Promise<InspectedStats> {
    return this.#read((context) => statsOf(context, options));
  }

  activity(options?: unknown): Promise<SavedPerHour[]> {
    return this.#read((context) => savedPerHour(context, options));
  }

  verify(options?: unknown): Promise<VerifyReport> {
    return this.#read((context) => verify(context, options, () => this.#closing !== undefined));
  }

  export(options?: unknown): AsyncIterable<string> {
    this.#throwIfClosed();
    return exportLines(this.#context, options, () => this.#closing !== undefined);
  }

  backup(path: string | URL, options?: BackupOptions): Promise<BackupResult> {
    return this.#read(({ engine }) => backup(engine, path, options, () => this.#closing !== undefined));
  }

  fork(ref: CheckpointRef, edit?: ForkEdit, options?: unknown): Promise<CheckpointRef> {
    return this.#write("fork", (context) => fork(context, ref, edit, options));
  }

  remove(ref: unknown, ids?: unknown): Promise<{ removed: number }> {
    return this.#write("remove", (context) => remove(context, readKey(ref), ids));
  }

  import(lines: AsyncIterable<string>, options?: unknown): Promise<ImportReport> {
    return this.#write("import", (context) => importLines(context, lines, options, () => this.#closing !== undefined));
  }

  prune(options: PruneOptions & { space?: Space | undefined }): Promise<PruneResult> {
    return this.#write("prune", (context) => {
      const { space, ...rules } = readRecord(options, "options", { ...pruneKeys, space: (value) => readSpace(value) });
      return prune(
        context.engine,
        space as string | undefined,
        { ...rules },
        () => this.#closing !== undefined,
        (progress) => progress,
      );
    });
  }

  vacuum(): Promise<void> {
    return this.#write("vacuum", ({ engine }) => vacuum(engine));
  }

  close(): Promise<void> {
    this.#closing ??= Promise.resolve(this.#own?.close());
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #throwIfClosed(): void {
    if (this.#closing !== undefined)
      throw new ForkpointError("CLOSED", "the inspector is closed: open a new one to go on");
  }

  /** Runs an operation. An error's stack shows the caller of the public method. */
  async #read<T>(work: (context: Context) => Promise<T>): Promise<T> {
    try {
      this.#throwIfClosed();
      // `close` of the store waits for operations in progress.
      const { activity } = this.#context.engine;
      activity.begin();
      try {
        return await work(this.#context);
      } finally {
        activity.end();
      }
    } catch (error) {
      if (isOwnError(error)) Error.captureStackTrace(error, this.#read);
      throw error;
    }
  }

  #write<T>(what: string, work: (context: Context) => Promise<T>): Promise<T> {
    return this.#read((context) => {
      if (context.write) return work(context);
      throw new ForkpointError("UNSUPPORTED", `${what}() would change the store: open the inspector with write: true`);
    });
  }
}

/** The options of `prune`, which are checked later. */
const pruneKeys = {
  olderThan: keep,
  keepLastN: keep,
  maxBytes: keep,
  dryRun: keep,
  signal: keep,
  onProgress: keep,
};
