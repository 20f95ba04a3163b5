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
  /** `"unknown"`: the failed write may be stored all the same; the same id may be saved again. */
  readonly outcome?: "unknown";
}
