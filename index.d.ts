/**
 * Durable checkpoints and time travel for TypeScript agents.
 *
 * `CheckpointStore` is the AgentOS store, also at `forkpoint/agentos`. Several contracts' stores can share one `Store`.
 */

export * from "./agentos.js";

/** How a store behaves. Every option has a default. */
export interface StoreOptions {
  /**
   * What a resolved save must survive. `"full"` (the default): power loss. `"normal"`: a killed process; power loss may
   * take the newest saves but never corrupts. `"off"`: a killed process, and nothing is said about power loss.
   */
  durability?: "full" | "normal" | "off";
  /**
   * How values become bytes. `"v8"` (the default): structured clone, with `toJSON` honoured. `"json"`: text. Or your own.
   * Every record knows its serializer, so a store reads what either built-in one wrote.
   */
  serializer?: "v8" | "json" | Serializer;
  /** How long another process may hold the database before a call rejects with `BUSY`, in ms. 30,000 unless said. */
  busyTimeout?: number;
  /** A checkpoint of more serialised bytes is refused. 64 MiB unless said; 900 MiB at most. */
  maxPayloadBytes?: number;
  /**
   * Payloads of this many bytes are kept in memory, the newest of each run first: a read of one needs no decompressing, a
   * save against one no reading. 64 MiB unless said; 0 keeps none. `memory:` has no use for it.
   */
  cacheBytes?: number;
  /**
   * A run keeps so many checkpoints, the newest: each save removes the others in its own transaction, but never the one just
   * saved. Unless said, and with null, 0 or Infinity: all of them.
   */
  keepLastN?: number | null;
  /**
   * A checkpoint is kept so long after it was saved, in ms, the newest of a run too. What is older is removed in the
   * background after later saves, so it may be seen for a while; `prune()` removes it now. No limit unless said, and with
   * null, 0 or Infinity.
   */
  ttl?: number | null;
  /**
   * The checkpoints together take so many bytes as they are stored. Beyond that those saved first are removed in the
   * background after later saves, but never the newest of a run. No limit unless said, and with null, 0 or Infinity.
   */
  maxBytes?: number | null;
}

/** What to remove: each rule holds by itself. What is left out is as the store was opened; null is no limit. */
export interface PruneOptions {
  /**
   * Removes what was saved before then (a Date, or ms since the epoch), the newest checkpoint of a run too. It goes by when
   * the store was given a checkpoint, not by its `timestamp`. Left out: by the store's `ttl`.
   */
  olderThan?: Date | number | null;
  /** Keeps the newest so many of each run. 0 and Infinity are no limit. */
  keepLastN?: number | null;
  /**
   * Removes those saved first until the others take no more than so many stored bytes, but never the newest of a run. 0 and
   * Infinity are no limit.
   */
  maxBytes?: number | null;
  /** Removes nothing, and resolves to what would be removed. */
  dryRun?: boolean;
  /** Stops between two batches; the promise then rejects with the signal's reason, and what was removed stays removed. */
  signal?: AbortSignal;
  /** Called after each batch with what was removed so far. If it throws, pruning stops with that error. */
  onProgress?: (progress: PruneProgress) => void;
}

/** What was removed so far. */
export interface PruneProgress {
  /** Checkpoints. */
  removed: number;
  /**
   * By how many bytes `storedBytes` has shrunk. What was stored as the difference to a removed checkpoint is stored whole,
   * so this can be less than the removed ones took, even below 0; a `dryRun` estimates that.
   */
  bytes: number;
  /** Runs of which nothing is left. */
  lineages: number;
}

/** What was removed or, with `dryRun`, would be. */
export type PruneResult = PruneProgress;

/** What a store holds and takes. */
export interface StoreStats {
  checkpoints: number;
  /** Runs, threads, sessions: whatever has checkpoints or logs of its own. */
  lineages: number;
  /** The size of the checkpoints as they were serialised. */
  logicalBytes: number;
  /** What they take in the store: compressed, and as differences to each other. */
  storedBytes: number;
  /** `logicalBytes / storedBytes`; 1 for an empty store. */
  ratio: number;
  /** The size of the whole database, indexes and empty pages included, where there is one. */
  fileBytes?: number;
  /** How many records all logs hold: messages, events. One that several checkpoints name counts once. */
  records: number;
  /** What the records take in the store, in bytes. */
  recordBytes: number;
  /** The lineages that take most, the largest first: as many as {@link StatsOptions.largest} asks for. */
  largest: LineageStats[];
}

/** What `stats()` looks at. */
export interface StatsOptions {
  /**
   * So many of the lineages that take most are named, at most 1,000. Default: 0. Naming them reads a little of every checkpoint;
   * without them `stats()` takes a few milliseconds, however much is stored.
   */
  largest?: number;
}

/** How a check goes on. */
export interface CheckOptions {
  /** Stops between two pages; the promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Called after each page: how many rows were verified, of about how many. If it throws, the check stops with that error. */
  onProgress?: (done: number, of: number) => void;
}

/** What a check has come to. */
export interface VerifyReport {
  /** Whether there is no finding of severity `"error"`. */
  ok: boolean;
  /** How much was verified. */
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

/** Something that is wrong with what is stored. */
export interface Finding {
  /** `"CORRUPT"`: bytes do not match their checksum. `"ORPHAN"`: a row refers to one that is not there. `"INDEX"`: an index does not agree with its table. */
  code: "CORRUPT" | "ORPHAN" | "INDEX" | (string & {});
  /** `"error"`: something that was saved cannot be read or found. */
  severity: "error" | "warning" | "note";
  /** What is wrong and where. Never the content of a state. */
  message: string;
  /** What can be done. */
  remedy: string;
  /** What it concerns, as far as that can be told: the contract, the run or thread, its namespace, the checkpoint's id. */
  ref: { space: string | null; run: string | null; ns: string | null; id: string | null } | null;
}

/** What a lineage holds and takes. */
export interface LineageStats {
  /** Its name: for AgentOS, the run id. */
  lineage: string;
  checkpoints: number;
  logicalBytes: number;
  storedBytes: number;
}

/** Turns values into bytes and back, synchronously. */
export interface Serializer {
  /** Stored with every record; not `"v8"` or `"json"`. A record of another name is not given to it. */
  readonly name: string;
  /** Must not keep or change the value. */
  serialize(value: unknown): Uint8Array;
  /** Must return a new value every time. */
  deserialize(bytes: Uint8Array): unknown;
}

/** An open store, to be shared by several contract objects. Get one from {@link openStore}. */
export class Store implements AsyncDisposable {
  private constructor();
  /**
   * Removes checkpoints, of all contracts, in transactions of at most 500, so that saves go on in between. Without options
   * it applies what the store was opened with. Closing the store stops it, with `CLOSED`.
   */
  prune(options?: PruneOptions): Promise<PruneResult>;
  /** What the store holds and takes. */
  stats(options?: StatsOptions): Promise<StoreStats>;
  /**
   * Verifies everything that is stored, of all contracts: every checksum, every payload through its chain, every index against its
   * table, pending writes, logs. Saves and reads go on meanwhile. Finds damage, and changes nothing.
   *
   * @example
   * ```ts
   * const { ok, findings } = await store.check();
   * if (!ok) console.error(findings.map(({ message, remedy }) => `${message}. ${remedy}`).join("\n"));
   * ```
   */
  check(options?: CheckOptions): Promise<VerifyReport>;
  /**
   * Gives back to the file system what removed checkpoints took: writes the whole database anew, for which its size must be
   * free on the disk, while saves wait.
   */
  vacuum(): Promise<void>;
  /** Waits for what was called before, then closes. May be called again. */
  close(): Promise<void>;
  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens a store.
 *
 * @param target a file path, `"sqlite:<path>"`, a `file:` URL, or `"memory:"`.
 * @throws TypeError for a target or an option that is not one; ForkpointError for what is wrong with the place.
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

/** What the caller of a failed operation should do. See docs/errors.md. */
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

/** Every error of this package but TypeError and RangeError, which carry the code `INVALID_ARGUMENT`. */
export class ForkpointError extends Error {
  constructor(
    code: ErrorCode,
    message: string,
    options?: { retryable?: boolean; outcome?: "unknown"; cause?: unknown },
  );
  readonly name: "ForkpointError";
  readonly code: ErrorCode;
  /** Whether the same call may succeed later, unchanged. */
  readonly retryable: boolean;
  /**
   * What the operating system or SQLite said, where one of them did: an Error with its `message`, its name as `code`
   * (`"ENOENT"`, `"SQLITE_IOERR_FSYNC"`) and its number as `errno`. For logs; decide by `code`.
   */
  readonly cause?: unknown;
  /** `"unknown"`: the failed write may be stored all the same; the same id may be saved again. */
  readonly outcome?: "unknown";
}
