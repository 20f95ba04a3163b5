/**
 * Durable checkpoints and time travel for TypeScript agents.
 *
 * `CheckpointStore` is the store for AgentOS. It is also exported from `forkpoint/agentos`. The stores of several
 * contracts can share one `Store`.
 */

export * from "./agentos.js";
export * from "./backup.js";
export * from "./channels.js";
export * from "./copy.js";
export * from "./errors.js";
export * from "./leases.js";
export * from "./postgres.js";
export * from "./recovery.js";

import type { BackupOptions, BackupResult } from "./backup.js";
import type { Lease, LeaseOptions, RunRef } from "./leases.js";

/** How a store behaves. Every option has a default. */
export interface StoreOptions {
  /**
   * The failures that a resolved save survives. Default: `"full"`.
   *
   * - `"full"`: survives power loss.
   * - `"normal"`: survives the kill of the process. Power loss may lose the newest saves, but never corrupts the file.
   * - `"off"`: survives the kill of the process. Power loss may corrupt the file.
   */
  durability?: "full" | "normal" | "off";
  /**
   * The serializer that turns values into bytes. Default: `"v8"`.
   *
   * - `"v8"`: structured clone. If a value has a `toJSON` method, the method is called.
   * - `"json"`: JSON text.
   * - An object: your own {@link Serializer}.
   *
   * Each record carries the name of its serializer. A store reads the records of both built-in serializers.
   */
  serializer?: "v8" | "json" | Serializer;
  /**
   * How long a call waits, in ms, while another process holds the database. After this time the call rejects with
   * `BUSY`. Default: 30,000.
   */
  busyTimeoutMs?: number;
  /**
   * The maximum size of a serialised checkpoint in bytes, and of a single message, pending write or part of a session's
   * state. A larger one is refused. Default: 64 MiB. At most 900 MiB.
   */
  maxPayloadBytes?: number;
  /**
   * The maximum number of bytes that wait to be written: the snapshots of saves that have not settled. Above this number,
   * a save rejects with `BUSY` before it takes a snapshot. A save of a store without waiting saves is always accepted.
   * Default: 256 MiB.
   */
  maxQueueBytes?: number;
  /**
   * The size of the payload cache in bytes. The cache prefers the newest payload of each run. A cached payload is read
   * without decompression. A save that stores the difference from a cached payload need not read that payload from the
   * database. Default: 64 MiB. 0 switches the cache off. `memory:` ignores this option.
   */
  cacheBytes?: number;
  /**
   * Whether the store is only looked at. No file is created or changed, no table is made or upgraded, and each call that
   * writes rejects with `UNSUPPORTED`. A database in a read-only folder or with mode 0444 can be read. What other
   * processes save is seen. A database that does not exist is `NOT_FOUND`. Default: false.
   */
  readOnly?: boolean;
  /**
   * The maximum number of checkpoints to keep for each run. The newest checkpoints are kept. Each save removes the
   * run's other checkpoints in the save's own transaction, but never removes the checkpoint that it stores. Default: no
   * limit. Null, 0 and Infinity also mean no limit.
   */
  keepLastN?: number | null;
  /**
   * How long a checkpoint is kept after its save, in ms. An expired checkpoint is removed even if it is the newest of
   * its run. Expired checkpoints are removed in the background, after later saves, so they may stay visible for a
   * while. `prune()` removes expired checkpoints immediately. Default: no limit. Null, 0 and Infinity also mean no
   * limit.
   */
  ttlMs?: number | null;
  /**
   * The maximum number of stored bytes of all checkpoints together. Above this limit, the checkpoints that were saved
   * first are removed in the background, after later saves. The newest checkpoint of a run is never removed. Default:
   * no limit. Null, 0 and Infinity also mean no limit.
   */
  maxBytes?: number | null;
  /**
   * The schema of the tables on a Postgres server: a lower-case letter or an underscore, and at most 30 more of these and
   * digits. Other targets refuse this option. Default: `"forkpoint"`.
   */
  schema?: string;
  /**
   * The beginning of the names of the tables and indexes on a Postgres server. Use it if the schema also has tables of
   * another program. Other targets refuse this option. Default: empty.
   */
  prefix?: string;
  /**
   * Whether the store makes its tables on a Postgres server if they are missing. `"never"` is for a role that may not make
   * tables: see {@link postgresSchema}. Other targets refuse this option. Default: `"auto"`.
   */
  migrate?: "auto" | "never";
  /**
   * Returns the password of the role on a Postgres server. It is called at each connect, so a password may change while
   * the store is open. It is used instead of the password in the URL. Other targets refuse this option.
   */
  password?: () => string | Promise<string>;
}

/**
 * The checkpoints to remove. Each rule applies independently of the others. A rule that is left out uses the value that
 * the store was opened with. Null means no limit. `Progress` is the type that `onProgress` receives.
 */
export interface PruneOptions<Progress = PruneProgress> {
  /**
   * Removes the checkpoints that were saved before this time: a Date, or ms since the epoch. The newest checkpoint of a
   * run is removed too. The rule compares the time of the save, not the checkpoint's `timestamp`. Default: the current
   * time minus the store's `ttlMs`.
   */
  olderThan?: Date | number | null;
  /**
   * The maximum number of checkpoints of each run to keep. The newest are kept. 0 and Infinity mean no limit. Default:
   * the store's `keepLastN`.
   */
  keepLastN?: number | null;
  /**
   * Removes the checkpoints that were saved first until the remaining checkpoints use at most this many stored bytes.
   * The newest checkpoint of a run is never removed. 0 and Infinity mean no limit. Default: the store's `maxBytes`.
   */
  maxBytes?: number | null;
  /** If true, removes nothing and returns what would be removed. Default: false. */
  dryRun?: boolean;
  /**
   * Stops the prune between two batches. The promise then rejects with the signal's reason. Checkpoints that were
   * already removed stay removed.
   */
  signal?: AbortSignal;
  /** Called after each batch with what was removed so far. If this function throws, pruning stops with that error. */
  onProgress?: (progress: Progress) => void;
}

/** What was removed so far. */
export interface PruneProgress {
  /** How many checkpoints were removed. */
  removed: number;
  /**
   * The number of bytes by which `storedBytes` became smaller. A checkpoint that depended on a removed checkpoint is
   * now stored whole. This number can therefore be smaller than the size of the removed checkpoints, and even below 0.
   * With `dryRun`: the stored bytes of the checkpoints that would be removed. The removal frees less if it must store
   * other checkpoints whole.
   */
  bytes: number;
  /** How many lineages became empty. */
  lineages: number;
}

/** What was removed. With `dryRun`: what would be removed. */
export type PruneResult = PruneProgress;

/** What was removed from a store whose lineages are runs. With `dryRun`: what would be removed. */
export interface RunPruneResult extends Omit<PruneResult, "lineages"> {
  /** How many runs became empty. */
  runs: number;
}

/** Statistics of a store. */
export interface StoreStats {
  /** How many checkpoints the store holds. */
  checkpoints: number;
  /**
   * How many lineages the store holds. A lineage is a run, a thread's namespace or a session: anything with its own
   * checkpoints or logs.
   */
  lineages: number;
  /** The size of the checkpoints in bytes as they were serialised. */
  logicalBytes: number;
  /** The stored size of the checkpoints in bytes: compressed, and stored as differences to each other. */
  storedBytes: number;
  /** `logicalBytes / storedBytes`; 1 for an empty store. */
  ratio: number;
  /** The size of the database file in bytes, with its indexes and empty pages. Not set for a `memory:` store. */
  fileBytes?: number;
  /** How many records (messages, events) all logs hold. A record that several checkpoints refer to is counted once. */
  records: number;
  /** The bytes that the records take in the store. */
  recordBytes: number;
  /**
   * About how much memory this thread uses to remember what it has saved, in bytes: all its stores together, and at most
   * 64 MiB. So a later save serialises only what is new.
   */
  keptBytes: number;
  /**
   * The lineages that use the most storage, the largest first. {@link StatsOptions.largest} limits the number of
   * lineages in the list.
   */
  largest: LineageStats[];
}

/** Options of `stats()`. */
export interface StatsOptions {
  /**
   * The maximum number of lineages to list: those that use the most storage. Default: 0. At most 1,000. The first
   * list reads a little of every checkpoint. In a SQLite database, a later one reads what was saved since, unless
   * checkpoints were removed, and other reads do not wait for it. Without the list, `stats()` takes a few milliseconds,
   * however much is stored.
   */
  largest?: number;
}

/** Options of `check()`. */
export interface CheckOptions {
  /** Stops the check between two pages. The promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  /**
   * Called after each page with the number of verified rows and the approximate number of all rows. If this function
   * throws, the check stops with that error.
   */
  onProgress?: (done: number, of: number) => void;
}

/** The result of a check. */
export interface VerifyReport {
  /** True if no finding has the severity `"error"`. */
  ok: boolean;
  /** How many rows were verified. */
  checked: {
    checkpoints: number;
    /** Payloads, each rebuilt and compared with its checksum. */
    payloads: number;
    /** Rows of pending writes. */
    writes: number;
    /** Records of logs. */
    records: number;
  };
  findings: Finding[];
}

/** A problem that a check found. */
export interface Finding {
  /**
   * `"CORRUPT"`: bytes do not match their checksum. `"ORPHAN"`: a row refers to another row that does not exist.
   * `"INDEX"`: an index does not agree with its table.
   */
  code: "CORRUPT" | "ORPHAN" | "INDEX" | (string & {});
  /** `"error"`: saved data cannot be read or cannot be found. */
  severity: "error" | "warning" | "note";
  /** The problem and its place. Never contains the content of a state. */
  message: string;
  /** The remedy: what you can do about it. */
  remedy: string;
  /** The place of the damage: contract, run or thread, namespace, checkpoint id. A part that is not known is null. */
  ref: { space: string | null; run: string | null; ns: string | null; id: string | null } | null;
}

/**
 * What the diagnostics channel `forkpoint:warning` publishes: a problem that no call can reject with. The process emits a
 * warning with the same message and code.
 */
export interface StoreWarning {
  /**
   * - `FORKPOINT_SWEEP_FAILS`: background sweeps fail, so data that retention should remove is still stored.
   * - `FORKPOINT_NETWORK_FILE`: the file is on a network file system.
   * - `FORKPOINT_COMMITS_LOST`: a power failure took the newest commits of a folder of text files.
   * - `FORKPOINT_LOG_MISSING`: a database file has no tables, and says that they are in a log that is missing.
   * - `FORKPOINT_LEFT_OUT`: a function or a symbol was not stored. Once for each path, for up to 100 paths.
   */
  code:
    | "FORKPOINT_SWEEP_FAILS"
    | "FORKPOINT_NETWORK_FILE"
    | "FORKPOINT_COMMITS_LOST"
    | "FORKPOINT_LOG_MISSING"
    | "FORKPOINT_LEFT_OUT";
  /** The problem and the remedy. Never contains the content of a state. */
  message: string;
  /** The path of the database file or folder, or `"memory:"`. Null for `FORKPOINT_LEFT_OUT`. */
  target: string | null;
  /** The error behind the problem, if there is one. */
  cause?: unknown;
}

/** Statistics of a lineage. */
export interface LineageStats {
  /** The lineage's name. For AgentOS this is the run id. */
  lineage: string;
  /** How many checkpoints the lineage has. */
  checkpoints: number;
  /** The size of the checkpoints in bytes as they were serialised. */
  logicalBytes: number;
  /** The stored size of the checkpoints in bytes: compressed, and stored as differences to each other. */
  storedBytes: number;
}

/**
 * Turns values into bytes and back, synchronously.
 *
 * @example
 * ```ts
 * const json: Serializer = {
 *   name: "my-json",
 *   serialize: (value) => Buffer.from(JSON.stringify(value)),
 *   deserialize: (bytes) => JSON.parse(Buffer.from(bytes).toString()),
 * };
 * ```
 */
export interface Serializer {
  /**
   * The serializer's name, which is stored with every record. Must not be `"v8"` or `"json"`. `deserialize` gets only
   * records with this name.
   */
  readonly name: string;
  /** Returns the bytes of a value. Must not keep or change the value. */
  serialize(value: unknown): Uint8Array;
  /** Turns the bytes back into their value. Must return a new value every time. */
  deserialize(bytes: Uint8Array): unknown;
}

/**
 * An open store, to be shared by several contract objects. Get one from {@link openStore}.
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
  private constructor();
  /**
   * Removes checkpoints of all contracts, at most 500 in each transaction. Saves can run between the transactions.
   * Without options, `prune` applies the limits that the store was opened with.
   *
   * @throws TypeError or RangeError for a wrong option. ForkpointError `CLOSED` if the store is closed before `prune`
   *   ends. Checkpoints that were already removed stay removed.
   * @example const { removed, bytes } = await store.prune({ keepLastN: 10, dryRun: true });
   */
  prune(options?: PruneOptions): Promise<PruneResult>;
  /**
   * Returns how much the store holds and how much storage that uses, in bytes. The numbers cover all contracts.
   * @throws TypeError or RangeError for a wrong option.
   * @example const { checkpoints, storedBytes, ratio } = await store.stats();
   */
  stats(options?: StatsOptions): Promise<StoreStats>;
  /**
   * Verifies the stored data of all contracts: every checksum, every payload together with the payloads from which it
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
  check(options?: CheckOptions): Promise<VerifyReport>;
  /**
   * Gives the space of removed checkpoints back to the file system. `vacuum` rewrites the whole database. This needs as
   * much free disk space as the size of the database. Saves wait until `vacuum` ends.
   * @example await store.vacuum();
   */
  vacuum(): Promise<void>;
  /**
   * Copies the database into a new file and verifies the copy, while saves go on. The backup has every save that was
   * resolved before the call. It is one file, without a log. A backup that fails or is killed leaves no file at `path`.
   *
   * @param path the path or file: URL of the backup. Its directory must exist.
   * @throws TypeError for a wrong argument or option. ForkpointError `CONFLICT` if `path` exists and `overwrite` is not
   *   true. `CORRUPT` if the database is damaged. `UNSUPPORTED` if the store is not a SQLite database: the message names
   *   another way. `CLOSED` if the store is closed before `backup` ends.
   * @example const { checkpoints } = await store.backup("agent-backup.db");
   */
  backup(path: string | URL, options?: BackupOptions): Promise<BackupResult>;
  /**
   * Takes the lease of a run, so that no other process works on it. It is renewed until it is
   * released, or this object is closed. The lease of a process that has ended on this machine is taken at once.
   * @throws TypeError or RangeError for a wrong run or option. ForkpointError `CONFLICT` if somebody else holds the lease:
   *   `error.lease` says who, and until when.
   * @example await using lease = await store.lease({ space: "langgraph", run: "thread-1" });
   */
  lease(run: RunRef, options?: LeaseOptions): Promise<Lease>;
  /**
   * Waits for earlier calls to end, then closes the store. Later calls reject with `CLOSED`. A second call is allowed.
   * @example await store.close();
   */
  close(): Promise<void>;
  /**
   * Calls `close()` at the end of an `await using` block.
   * @example await using store = await openStore("agent.db"); // closed at the end of the block
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens a store.
 *
 * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"jsonl:<folder>"`, or `"memory:"`.
 * @throws TypeError or RangeError for a wrong target or option. ForkpointError if the file cannot be opened:
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
export function openStore(target: string | URL, options?: StoreOptions): Promise<Store>;
