/**
 * Durable checkpoints and time travel for TypeScript agents.
 *
 * `CheckpointStore` is the AgentOS store, also at `forkpoint/agentos`. Several contracts' stores can share one `Store`.
 */

export * from "./agentos.js";

/** How a store behaves. Every option has a default. */
export interface StoreOptions {
  /**
   * What a resolved save survives. Default: `"full"`.
   *
   * - `"full"`: power loss.
   * - `"normal"`: a killed process. Power loss may take the newest saves, but never corrupts the file.
   * - `"off"`: a killed process. Power loss may corrupt the file.
   */
  durability?: "full" | "normal" | "off";
  /**
   * How values become bytes. Default: `"v8"`.
   *
   * - `"v8"`: structured clone; `toJSON` is called where a value has one.
   * - `"json"`: JSON text.
   * - An object: your own {@link Serializer}.
   *
   * Each record carries the name of its serializer. A store reads what either built-in serializer wrote.
   */
  serializer?: "v8" | "json" | Serializer;
  /** How long a call waits in ms for another process that holds the database, before it rejects with `BUSY`. Default: 30,000. */
  busyTimeoutMs?: number;
  /** The most bytes that a checkpoint may have when it is serialised. A larger one is refused. Default: 64 MiB. At most 900 MiB. */
  maxPayloadBytes?: number;
  /**
   * The size in bytes of the cache of payloads, which holds the newest of each run first. Reading a cached payload needs no
   * decompressing, and saving a difference to it needs no reading. Default: 64 MiB. 0 switches the cache off. `memory:` ignores
   * this option.
   */
  cacheBytes?: number;
  /**
   * How many checkpoints a run keeps: the newest. Each save removes the others in its own transaction, but never the
   * checkpoint that it saves. Default: no limit. Null, 0 and Infinity are no limit either.
   */
  keepLastN?: number | null;
  /**
   * How long a checkpoint is kept after it was saved, in ms. This holds for the newest of a run too. Older checkpoints are
   * removed in the background, after later saves, so they may be visible for a while. `prune()` removes them now. Default: no
   * limit. Null, 0 and Infinity are no limit either.
   */
  ttlMs?: number | null;
  /**
   * How many stored bytes all checkpoints together may take. Above that, the checkpoints saved first are removed in the
   * background, after later saves, but never the newest of a run. Default: no limit. Null, 0 and Infinity are no limit either.
   */
  maxBytes?: number | null;
}

/**
 * What to remove. Each rule applies by itself. A rule that is left out has the value that the store was opened with. Null means
 * no limit. `Progress` is the type that `onProgress` receives.
 */
export interface PruneOptions<Progress = PruneProgress> {
  /**
   * Removes what was saved before this time: a Date, or ms since the epoch. This holds for the newest checkpoint of a run too.
   * The time of a checkpoint is when the store was given it, not its `timestamp`. Default: the store's `ttlMs` ago.
   */
  olderThan?: Date | number | null;
  /** How many checkpoints of each run to keep: the newest. 0 and Infinity are no limit. Default: the store's `keepLastN`. */
  keepLastN?: number | null;
  /**
   * Removes the checkpoints saved first until the others take no more than this many stored bytes, but never the newest of a
   * run. 0 and Infinity are no limit. Default: the store's `maxBytes`.
   */
  maxBytes?: number | null;
  /** Removes nothing and returns what would be removed. Default: false. */
  dryRun?: boolean;
  /** Stops between two batches; the promise then rejects with the signal's reason, and what was removed stays removed. */
  signal?: AbortSignal;
  /** Called after each batch with what was removed so far. If it throws, pruning stops with that error. */
  onProgress?: (progress: Progress) => void;
}

/** What was removed so far. */
export interface PruneProgress {
  /** How many checkpoints were removed. */
  removed: number;
  /**
   * How many bytes `storedBytes` shrank by. A checkpoint that depended on a removed one is now stored whole. This number can
   * therefore be smaller than the size of the removed checkpoints, even below 0. A `dryRun` estimates it.
   */
  bytes: number;
  /** How many lineages became empty. */
  lineages: number;
}

/** What was removed or, with `dryRun`, would be. */
export type PruneResult = PruneProgress;

/** What was removed from a store whose lineages are runs or, with `dryRun`, would be. */
export interface RunPruneResult extends Omit<PruneResult, "lineages"> {
  /** How many runs became empty. */
  runs: number;
}

/** Statistics of a store. */
export interface StoreStats {
  /** How many checkpoints the store holds. */
  checkpoints: number;
  /**
   * How many lineages the store holds. A lineage is a run, a thread's namespace or a session: anything with its own checkpoints
   * or logs.
   */
  lineages: number;
  /** The size of the checkpoints in bytes as they were serialised. */
  logicalBytes: number;
  /** The stored size of the checkpoints in bytes: compressed, and stored as differences to each other. */
  storedBytes: number;
  /** `logicalBytes / storedBytes`; 1 for an empty store. */
  ratio: number;
  /** The size of the database file in bytes, with its indexes and empty pages. Missing for `memory:`. */
  fileBytes?: number;
  /** How many records (messages, events) all logs hold. A record that several checkpoints refer to counts once. */
  records: number;
  /** The bytes that the records take in the store. */
  recordBytes: number;
  /** The lineages that take most, the largest first. {@link StatsOptions.largest} says how many. */
  largest: LineageStats[];
}

/** Options of `stats()`. */
export interface StatsOptions {
  /**
   * How many of the lineages that take most to list. Default: 0. At most 1,000. Listing them reads a little of every
   * checkpoint. Without them `stats()` takes a few milliseconds, however much is stored.
   */
  largest?: number;
}

/** Options of `check()`. */
export interface CheckOptions {
  /** Stops between two pages; the promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Called after each page with the number of rows verified, and about how many there are. If it throws, the check stops with that error. */
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
  /** `"CORRUPT"`: bytes do not match their checksum. `"ORPHAN"`: a row refers to one that is not there. `"INDEX"`: an index does not agree with its table. */
  code: "CORRUPT" | "ORPHAN" | "INDEX" | (string & {});
  /** `"error"`: something that was saved cannot be read, or cannot be found. */
  severity: "error" | "warning" | "note";
  /** The problem and its place. Never contains the content of a state. */
  message: string;
  /** The remedy: what you can do about it. */
  remedy: string;
  /** The place of the damage: contract, run or thread, namespace, checkpoint id. Null for what is not known. */
  ref: { space: string | null; run: string | null; ns: string | null; id: string | null } | null;
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

/** Turns values into bytes and back, synchronously. */
export interface Serializer {
  /** Stored with every record. Must not be `"v8"` or `"json"`. `deserialize` gets only records of this name. */
  readonly name: string;
  /** Returns the bytes of a value. Must not keep or change the value. */
  serialize(value: unknown): Uint8Array;
  /** Returns the value of the bytes. Must return a new value every time. */
  deserialize(bytes: Uint8Array): unknown;
}

/** An open store, to be shared by several contract objects. Get one from {@link openStore}. */
export class Store implements AsyncDisposable {
  private constructor();
  /**
   * Removes checkpoints of all contracts, in transactions of at most 500. Saves go on in between. Without options it applies
   * the limits that the store was opened with.
   *
   * @throws TypeError or RangeError for a wrong option. ForkpointError `CLOSED` if the store is closed meanwhile: what was
   *   removed stays removed.
   */
  prune(options?: PruneOptions): Promise<PruneResult>;
  /** Returns what the store holds and takes, of all contracts. */
  stats(options?: StatsOptions): Promise<StoreStats>;
  /**
   * Verifies everything that is stored, of all contracts: every checksum, every payload through its chain, every index against its
   * table, pending writes and logs. Saves and reads go on meanwhile. It reports damage and changes nothing.
   *
   * @example
   * ```ts
   * const { ok, findings } = await store.check();
   * if (!ok) console.error(findings.map(({ message, remedy }) => `${message}. ${remedy}`).join("\n"));
   * ```
   */
  check(options?: CheckOptions): Promise<VerifyReport>;
  /**
   * Gives the space of removed checkpoints back to the file system. It rewrites the whole database: this needs as much free disk
   * space as the database has, and saves wait meanwhile.
   */
  vacuum(): Promise<void>;
  /** Waits for the calls made before, then closes the store. Later calls reject with `CLOSED`. May be called again. */
  close(): Promise<void>;
  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens a store.
 *
 * @param target a file path, `"sqlite:<path>"`, a `file:` URL, or `"memory:"`.
 * @throws TypeError or RangeError for a wrong target or option. ForkpointError if the file cannot be opened.
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

/** The code of an error. Each code tells the caller what to do. See docs/errors.md. */
export type ErrorCode =
  | "NOT_FOUND"
  | "INVALID_ARGUMENT"
  | "CLOSED"
  | "CORRUPT"
  | "CONFLICT"
  | "BUSY"
  | "FULL"
  | "UNAVAILABLE"
  | "UNSUPPORTED";

/**
 * Every error of this package, except for the TypeErrors and RangeErrors of wrong arguments, which have the code
 * `INVALID_ARGUMENT`. {@link isForkpointError} is true for all of them.
 */
export class ForkpointError extends Error {
  constructor(
    code: ErrorCode,
    message: string,
    options?: { retryable?: boolean; outcome?: "unknown"; cause?: unknown },
  );
  readonly name: "ForkpointError";
  readonly code: ErrorCode;
  /** True if the same call may succeed later, unchanged. */
  readonly retryable: boolean;
  /**
   * The error of the operating system or of SQLite, if there was one: an Error with its `message`, its name as `code`
   * (`"ENOENT"`, `"SQLITE_IOERR_FSYNC"`) and its number as `errno`. Use it for logs; decide by `code`.
   */
  readonly cause?: unknown;
  /** `"unknown"`: the write failed, but may be stored all the same. Saving the same id again is safe. */
  readonly outcome?: "unknown";
}

/** A TypeError or a RangeError that this package throws for a wrong argument. */
export type InvalidArgumentError = (TypeError | RangeError) & {
  readonly code: "INVALID_ARGUMENT";
  readonly retryable: false;
};

/**
 * Whether this package threw the error. It decides by `name` and `code`, so it also knows the errors of another copy of this
 * package (one loaded by `import` and one by `require`), for which `instanceof ForkpointError` is false.
 *
 * False for errors of your own that pass through: the reason of an `AbortSignal`, what a step or an `onProgress` throws. Also
 * false for Agentium's `RunDrainedError`, which reports no failure.
 *
 * @example
 * ```ts
 * import { CheckpointStore, isForkpointError } from "forkpoint";
 *
 * const store = new CheckpointStore("agent.db");
 * try {
 *   await store.fork("no such checkpoint");
 * } catch (error) {
 *   if (!isForkpointError(error)) throw error;
 *   console.error(error.code, error.retryable); // prints NOT_FOUND false
 * }
 * ```
 */
export function isForkpointError(error: unknown): error is ForkpointError | InvalidArgumentError;
