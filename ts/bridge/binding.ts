/** The types of the addon's exports. */

import type { CallSubject } from "./channels.js";
import type { Failure } from "./errors.js";

/** A call's response: null, JSON text, or JSON text with the buffers that it refers to. */
export type Response = string | [text: string, buffers: Uint8Array[]] | null;

export type Settled = [callId: number, response: Response, error: Failure | null | undefined];

/** The outcome of a call that runs on Node's thread pool. */
export type PoolOutcome = [response: Response, error: Failure | null | undefined];

/**
 * Pieces as the engine takes them: for each piece its chunk, offset and length. Chunk 0 is `others`, a buffer with all
 * pieces outside the chunks that the engine keeps. No reference to a kept chunk is passed.
 */
export type PackedPieces = [others: Uint8Array, pieces: Uint32Array];

/** The value of a call's field. An object is sent as JSON text. */
export type Field = string | number | boolean | null | undefined;

/** A lease that the calls on a store carry. */
export interface Fence {
  /** Runs a call. `work` gets the value of the call's field `fence`. */
  guard<T>(work: (fence: object) => Promise<T>): Promise<T>;
}

/** What a listener has heard about the leases of a store. */
export interface Heard {
  listener: number;
  /** True if it hears every change from now on. False: it hears nothing until it says otherwise. */
  works?: boolean;
  /** The run whose lease has ended, or about whose lease the requests have changed. Null: any run. */
  of?: RunKey | null;
}

export interface NativeStore {
  /**
   * The absolute path of the database file or folder. Two stores with the same path hold the same checkpoints. Null for
   * memory.
   */
  readonly databasePath: string | null;
  readonly backend: CallSubject["backend"];
  readonly handle: object;
  /** The lease that writing calls carry. Undefined: none. */
  readonly fence?: Fence | undefined;
  /** Counts the bytes of a call that the engine copies. They are in memory twice until the call ends. */
  readonly counter?: { add(bytes: number): void };
  /** Runs a call. If `call` returns undefined, the outcome arrives through the completion queue. */
  readonly call: (
    callId: number,
    atOnce: boolean,
    shape: number,
    bufferCount: number,
    ...buffersAndFields: Array<Uint8Array | PackedPieces | Field>
  ) => Response | Failure | undefined;
  /**
   * Calls `tell` with changes of leases by other processes, until the returned function is called. A store has one
   * listener. It never tells anything if the storage has no means for that.
   */
  readonly listen: (tell: (heard: Heard) => void) => () => void;
}

export interface NativeOptions {
  durability: string;
  busyTimeout: number;
  maxPayloadBytes: number;
  cacheBytes: number;
  secureDelete: boolean;
  readOnly: boolean;
  keepLastN: number | undefined;
  ttl: number | undefined;
  waitingTtl: number | undefined;
  maxBytes: number | undefined;
  prunePercent: number;
  /** The labels for runs that the call begins. */
  labels?: Record<string, string>;
}

export interface ServerOptions {
  schema?: string;
  prefix?: string;
  migrate?: "create" | "auto" | "never";
  password?: () => string | Promise<string>;
}

export type Convert = (values: Array<{ tag: string; bytes: Uint8Array }>) => Array<{ tag: string; bytes: Uint8Array }>;

/** A run of the contract `space`. `ns` is empty for the thread itself and for contracts without namespaces. */
export interface RunKey {
  space: string;
  run: string;
  ns: string;
}

export interface Completions {
  keepChunk(bytes: Uint8Array): number;
  dropChunk(number: number): void;
  shape(contract: string, call: string, names: string[]): number;
  take(most: number): [ended: number[], others: Settled[], again: boolean] | null;
  drain(): void;
}

export interface NativeBackup {
  run(): Promise<PoolOutcome>;
  progress(): string | null;
  cancel(): void;
}

export interface Binding {
  Completions: new (wake: () => void) => Completions;
  NativeStore: new (
    completions: Completions,
    target: string,
    options: NativeOptions,
    password: ((request: number) => void) | undefined,
  ) => {
    readonly databasePath: string | null;
    calls(): NativeStore["call"];
    givePassword(request: number, password: string | null, failure: string | null): void;
    listen(number: number): void;
    stopListening(): void;
  };
  /** The part of a contract that needs no store: a state machine, or a reader of another store's file. */
  NativeTool: new (
    contract: string,
    which: string,
  ) => {
    call(call: string): Response;
    callOnPool(call: string): Promise<PoolOutcome>;
  };
  NativeCopy: new (
    from: object,
    to: object,
    convert: Convert | undefined,
    tags: readonly string[],
    runs: readonly RunKey[] | undefined,
  ) => { step(): Promise<PoolOutcome> };
  NativeBackup: {
    new (store: object, to: string, overwrite: boolean): NativeBackup;
    restore(store: object, from: string): NativeBackup;
  };
  NativeClockWatch: new () => { compare(): [] | [code: string, message: string] | null };
  pathOfTarget(target: string): string | null;
  postgresSchema(schema: string | undefined, prefix: string | undefined): string;
  detach(buffer: ArrayBuffer): void;
}
