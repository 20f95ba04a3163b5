/** `openStore` and `Store`, which several contracts can use together. */

import { Activity, Backlog } from "./backlog.js";
import type { BackupOptions, BackupResult, RestoreOptions, RestoreResult } from "./backup.js";
import type { CheckOptions } from "./check.js";
import type { Engine } from "./engine.js";
import { ForkpointError, isOwnError, typeError } from "../bridge/errors.js";
import { currentScope } from "../bridge/scope.js";
import { asText } from "../bridge/serializer.js";
import { releaseAll, takeLease, type LeaseOptions, type Lease } from "./lease.js";
import { open } from "../bridge/native.js";
import { readOptions, readTarget, type StoreOptions } from "./options.js";
import type { MigrateOptions, MigrateResult } from "./migrate.js";
import type { PruneOptions, StatsOptions } from "./retention.js";
import type { PruneResult, StoreStats } from "./results.js";
import { readRun, type RunRef } from "./run-ref.js";
import { warn } from "../bridge/warnings.js";
import { storeCalls, type VerifyReport } from "../bridge/wire.js";

const later = (): typeof import("./later.js") => require("./later.js");

const PRIVATE = Symbol("openStore");

/** Returns the engine of an open store. Throws `CLOSED` if the store is closed. */
export let engineOf: (store: Store) => Engine;
/** Makes a store that opens in the background. */
export let openInBackground: (target: string | URL, options?: StoreOptions) => Store;

/**
 * An open store, which the stores of several frameworks can share. Get one from {@link openStore}.
 *
 * Any call can reject with `BUSY`, `CLOSED`, `UNAVAILABLE` or `UNSUPPORTED`. {@link ErrorCode} explains the codes.
 *
 * @example
 * ```ts
 * const store = await openStore("agent.db");
 * const graphs = new CheckpointStore(store); // from forkpoint/agentos
 * const workflows = new WorkflowCheckpointStore(store); // from forkpoint/agentium
 * ```
 */
export class Store implements AsyncDisposable {
  readonly #engine: Engine;
  #closing: Promise<void> | undefined;

  private constructor(key: symbol, target: string | URL, options: StoreOptions | undefined) {
    if (key !== PRIVATE) throw typeError("Store has no public constructor: use openStore()");
    const { format: given, maxQueueBytes, server, ...settings } = readOptions(options);
    const path = readTarget(target);
    const keepsText = path.startsWith("jsonl:");
    const format = keepsText ? asText(given) : given;
    const { busyTimeoutMs: busyTimeout, keepLastN, ttlMs, waitingTtlMs, maxBytes, pruneShare, ...others } = settings;
    // The addon expects undefined for a missing value.
    const limits = {
      keepLastN: keepLastN ?? undefined,
      ttl: ttlMs ?? undefined,
      waitingTtl: waitingTtlMs ?? undefined,
      maxBytes: maxBytes ?? undefined,
    };
    const prunePercent = Math.round(pruneShare * 100);
    const native = open(path, { ...others, busyTimeout, ...limits, prunePercent }, server);
    const ready = storeCalls.call(native, "ready", {}).then((notice) => {
      if (notice !== null) warn(notice.code, notice.message, native.databasePath ?? "memory:");
    });
    // Prevents an unhandled rejection. A caller that does not await `ready` gets the error from its first call.
    ready.catch(() => {});
    const backlog = new Backlog(maxQueueBytes);
    this.#engine = {
      native,
      keepsText,
      format,
      retention: settings,
      ready,
      activity: new Activity(),
      backlog,
      leases: new Set(),
    };
  }

  static {
    openInBackground = (target, options) => new Store(PRIVATE, target, options);
    engineOf = (store) => {
      // A function that works on a run alone may end its work.
      if (store.#closing !== undefined && currentScope() === undefined)
        throw new ForkpointError("CLOSED", "the store is closed: open a new one to continue");
      return store.#engine;
    };
  }

  /**
   * Removes checkpoints of all frameworks, at most 500 in each transaction. Saves can run between the transactions.
   * Without options, `prune` applies the limits that the store was opened with.
   *
   * @throws TypeError or RangeError for a wrong option. ForkpointError `CLOSED` if the store is closed before `prune`
   *   ends. Checkpoints that were already removed stay removed.
   * @example const { removed, bytes } = await store.prune({ keepLastN: 10, dryRun: true });
   */
  prune(options?: PruneOptions): Promise<PruneResult> {
    return this.#run((engine) => later().prune(engine, undefined, options, () => this.#closing !== undefined));
  }

  /**
   * Returns how much the store holds and how much storage that uses, in bytes. The numbers cover all frameworks.
   * @throws TypeError or RangeError for a wrong option.
   * @example const { checkpoints, storedBytes, ratio } = await store.stats();
   */
  stats(options?: StatsOptions): Promise<StoreStats> {
    return this.#run((engine) => later().stats(engine, undefined, options));
  }

  /**
   * Verifies the stored data of all frameworks: every checksum, every payload together with the payloads from which it
   * is rebuilt, every index against its table, pending writes and logs. Saves and reads can run during the check.
   * `check` reports damage and changes nothing.
   *
   * @throws TypeError for a wrong option. ForkpointError `CLOSED` if the store is closed before `check` ends.
   * @example
   * ```ts
   * const { ok, findings } = await store.check();
   * if (!ok) console.error(findings.map(({ message, remedy }) => `${message}. ${remedy}`).join("\n"));
   * ```
   */
  check(options?: CheckOptions): Promise<VerifyReport> {
    return this.#run((engine) => later().check(engine, options, () => this.#closing !== undefined));
  }

  /**
   * Returns the space of removed checkpoints to the file system. `vacuum` rewrites the entire database. This needs
   * as much free disk space as the size of the database. Saves wait until `vacuum` ends.
   * @example await store.vacuum();
   */
  vacuum(): Promise<void> {
    return this.#run((engine) => later().vacuum(engine));
  }

  /**
   * Upgrades a database of an older format to the newest format of this release, in one transaction. Otherwise only the
   * option `migrate: "auto"` upgrades a database. Older releases without the new format can then read the database at
   * most, so upgrade when you no longer want to go back to them. Make a backup first.
   *
   * @throws TypeError for a wrong option.
   * @example const { from, to } = await store.migrate();
   */
  migrate(options?: MigrateOptions): Promise<MigrateResult> {
    return this.#run((engine) => later().migrate(engine, options));
  }

  /**
   * Copies the database into a new file and verifies the copy, while saves continue. The backup has every save that was
   * resolved before the call. It is one file, without a log. A backup that fails or is killed leaves no file at `path`.
   *
   * @param path the path or file: URL of the backup. Its directory must exist.
   * @throws TypeError for a wrong argument or option. ForkpointError `CONFLICT` if `path` exists and `overwrite` is not
   *   true. `CORRUPT` if the database is damaged. `UNSUPPORTED` if the store is not a SQLite database: the message
   *   names another way. `CLOSED` if the store is closed before `backup` ends.
   * @example const { checkpoints } = await store.backup("agent-backup.db");
   */
  backup(path: string | URL, options?: BackupOptions): Promise<BackupResult> {
    return this.#run((engine) => later().backup(engine, path, options, () => this.#closing !== undefined));
  }

  /**
   * Verifies a backup, and replaces the content of the database with it, in one transaction. Other stores and processes
   * with the open database continue with the restored content. A restore that fails or is killed changes nothing.
   *
   * @param path the path or file: URL of the backup, which is not changed.
   * @throws ForkpointError `NOT_FOUND` if there is no backup. `CORRUPT` if it is damaged. `BUSY` if another process
   *   uses the database for too long. `UNSUPPORTED` if the store is not a database file. `CLOSED` if the store is
   *   closed before `restore` ends.
   * @example const { checkpoints } = await store.restore("agent-backup.db");
   */
  restore(path: string | URL, options?: RestoreOptions): Promise<RestoreResult> {
    return this.#run((engine) => later().restore(engine, path, options, () => this.#closing !== undefined));
  }

  /**
   * Takes the lease of a run, so that no other process works on it. The lease is renewed until you release it or close
   * this object. If its holder was a process on this machine that has ended, the lease is taken immediately.
   * @throws TypeError or RangeError for a wrong run or option. ForkpointError `CONFLICT` if another holder has the
   *   lease: `error.lease` names the holder and the expiry time.
   * @example await using lease = await store.lease({ space: "langgraph", run: "thread-1" });
   */
  lease(run: RunRef, options?: LeaseOptions): Promise<Lease> {
    return this.#run(async () => {
      const engine = engineOf(this);
      return engine.activity.during(() => takeLease(engine, readRun(run), options, engine.leases));
    });
  }

  /**
   * Waits for earlier calls to end, then closes the store. Later calls reject with `CLOSED`. A second call is allowed.
   * @example await store.close();
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { native, activity, leases } = this.#engine;
    await activity.idle();
    await releaseAll(leases);
    await storeCalls.call(native, "close", {});
  }

  /**
   * Calls `close()` at the end of an `await using` block.
   * @example await using store = await openStore("agent.db"); // closed at the end of the block
   */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Runs an operation of the store. An error's stack shows the caller of the public method. */
  async #run<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    try {
      return await work(this.#engine);
    } catch (error) {
      if (isOwnError(error)) Error.captureStackTrace(error, this.#run);
      throw error;
    }
  }
}

/**
 * Opens a store.
 *
 * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"postgres://<user>@<host>/<database>"`,
 *   `"jsonl:<folder>"`, or `"memory:"`.
 * @throws TypeError or RangeError for a wrong target or option. ForkpointError if the target cannot be opened:
 *   `UNAVAILABLE`, `BUSY`, `CORRUPT` or `UNSUPPORTED`.
 *
 * @example
 * ```ts
 * import { openStore, CheckpointStore } from "forkpoint";
 *
 * const store = await openStore("agent.db", { durability: "normal" });
 * const checkpoints = new CheckpointStore(store);
 * ```
 */
export async function openStore(target: string | URL, options?: StoreOptions): Promise<Store> {
  const store = openInBackground(target, options);
  try {
    await engineOf(store).ready;
  } catch (error) {
    await store.close();
    if (isOwnError(error)) Error.captureStackTrace(error, openStore);
    throw error;
  }
  return store;
}
