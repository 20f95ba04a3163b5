/**
 * The only module that uses the addon. It wraps everything that the addon exports. Each call is sent with an id. The
 * call's outcome arrives in the addon's completion queue and settles the call's promise. No code in this module is
 * specific to one contract.
 */

import { loadAddon } from "./addon.js";
import { type Bytes, Pieces } from "./bytes.js";
import { chunkOf, freeChunksWith } from "./chunk.js";
import { sendHeldBack } from "./held-back.js";
import { type Failure, causeOf, errorOf, messageOf, throwing } from "./errors.js";
import { type Sweep, publishSweep } from "./sweeps.js";
import { type StoreWarning, warn } from "./warnings.js";
import type {
  Binding,
  Convert,
  Field,
  Heard,
  NativeBackup,
  NativeOptions,
  NativeStore,
  PackedPieces,
  PoolOutcome,
  Response,
  RunKey,
  ServerOptions,
} from "./binding.js";

export type {
  Convert,
  Fence,
  Field,
  Heard,
  NativeOptions,
  NativeStore,
  Response,
  RunKey,
  ServerOptions,
} from "./binding.js";

const binding = loadAddon() as Binding;

/** A call that waits for its outcome. `store` keeps the store from being garbage collected before the call ends. */
interface Pending {
  store: NativeStore;
  pieces: readonly Pieces[];
  open: (response: Response) => unknown;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

const pending = new Map<number, Pending>();
let lastCallId = 0;

/** The id that marks an event in the completion queue. No call has this id. */
const EVENT = 0;

/** Keeps the process alive while a promise is pending. Its callback does nothing. */
const hold = setInterval(() => {}, 0x7fffffff).unref();

const completions = new binding.Completions(look);
// The addon's exit hook does not run on process.exit() or after an uncaught exception.
process.on("exit", () => {
  sendHeldBack();
  completions.drain();
});

/** The target time for settling calls in one turn of the event loop, in ms. */
const TURN_MS = 5;
/** The maximum number of calls that are settled in one turn. */
const MOST_SETTLED = 1_024;

/** The number of calls to settle per turn. It adapts to the time of the last turn: callers' code runs in it. */
let settled = 64;
/** The start of the last turn, in ms, if the turn settled its full number and more were left. Otherwise undefined. */
let turnBegan: number | undefined;

/** True if the completed calls have already waited for one turn of the event loop. */
let hasWaited = false;

/**
 * Settles the completed calls. A long queue takes several turns of the event loop, so that timers and I/O run in
 * between.
 */
function look(): void {
  const now = performance.now();
  // Node may call this function twice in a turn. After immediate answers, other work gets its turn first.
  if (!hasWaited && answeredSince !== undefined && now - answeredSince >= TURN_MS) {
    hasWaited = true;
    setImmediate(look);
    return;
  }
  hasWaited = false;
  if (turnBegan !== undefined) {
    const took = now - turnBegan;
    if (took > TURN_MS) settled = Math.max(1, Math.floor(settled / 2));
    else if (took < TURN_MS / 2) settled = Math.min(MOST_SETTLED, settled * 2);
  }
  turnBegan = undefined;
  const batch = completions.take(settled);
  if (batch === null) return;
  const [ended, others, again] = batch;
  if (again && ended.length === settled) turnBegan = now;
  let at = 0;
  for (const callId of ended) {
    const other = others[at]?.[0] === callId ? others[at++]! : undefined;
    settle(callId, other === undefined ? null : other[1], other === undefined ? null : other[2]);
  }
  if (pending.size === 0) hold.unref();
  if (again) setImmediate(look);
}

function settle(callId: number, response: Response, error: Failure | null | undefined): void {
  if (callId === EVENT) {
    if (!error) return publish(JSON.parse(response as string) as Sweep | Heard);
    // A background failure belongs to no call, so no promise can reject with it. The response is the target.
    return warn(
      error.code as StoreWarning["code"],
      error.message,
      response as string,
      error.cause ? causeOf(error.cause) : undefined,
    );
  }
  const waiting = pending.get(callId);
  if (waiting === undefined) return;
  pending.delete(callId);
  for (const each of waiting.pieces) each.letGo();
  if (error) return waiting.reject(errorOf(error));
  try {
    waiting.resolve(waiting.open(response));
  } catch (thrown) {
    waiting.reject(thrown);
  }
}

/** The functions that get what the listeners of stores hear, by the listener's number. */
const listeners = new Map<number, (heard: Heard) => void>();
let lastListener = 0;

function publish(event: Sweep | Heard): void {
  if ("listener" in event) listeners.get(event.listener)?.(event);
  else publishSweep(event);
}

/**
 * The maximum number of concurrent calls that are answered immediately. A thread answers many calls with less work of
 * the event loop.
 */
const MOST_TOGETHER = 4;

/** The number of concurrent calls that were answered immediately. */
let together = 0;
/** The time of the first immediate answer in this turn of the event loop, in ms. Undefined if there was none. */
let answeredSince: number | undefined;

/**
 * Returns true if a call may be answered before it returns. Its answer must not overtake an earlier call. Awaiting
 * immediate answers in a row starves the event loop, so after a while this function returns false for a turn.
 */
function mayAnswerAtOnce(): boolean {
  if (pending.size > 0 || together >= MOST_TOGETHER) return false;
  return answeredSince === undefined || performance.now() - answeredSince < TURN_MS;
}

function noteAnswer(): void {
  together += 1;
  if (together === 1) queueMicrotask(() => (together = 0));
  if (answeredSince !== undefined) return;
  answeredSince = performance.now();
  setImmediate(() => (answeredSince = undefined));
}

/**
 * Registers the field names of a call with the engine and returns their number. Later calls send only the number and
 * the values.
 */
export function shapeOf(contract: string, call: string, names: string[]): number {
  return completions.shape(contract, call, names);
}

/**
 * Runs a call on the store. `shapeOf` returns the number of the call's shape. The promise resolves to `open(response)`.
 */
export function submit<T>(
  store: NativeStore,
  shape: number,
  fields: Field[],
  buffers: Bytes[],
  open: (response: Response) => T,
): Promise<T> {
  do lastCallId = (lastCallId + 1) >>> 0;
  while (lastCallId === EVENT || pending.has(lastCallId));
  const callId = lastCallId;
  const given = buffers.map((bytes) => handedOver(bytes, store));
  // The engine reads the pieces until the call has its outcome.
  const pieces = buffers.some(isPieces) ? buffers.filter(isPieces) : NO_PIECES;
  for (const each of pieces) each.hold();
  const outcome = store.call(callId, mayAnswerAtOnce(), shape, buffers.length, ...given, ...fields);
  if (outcome !== undefined) {
    noteAnswer();
    for (const each of pieces) each.letGo();
    if (isFailure(outcome)) return Promise.reject(errorOf(outcome));
    try {
      return Promise.resolve(open(outcome));
    } catch (thrown) {
      // Reject later, as for a slower call: the caller may await something else first.
      return new Promise((_, reject) => setImmediate(reject, thrown));
    }
  }
  return new Promise<T>((resolve, reject) => {
    if (pending.size === 0) hold.ref();
    pending.set(callId, { store, pieces, open, resolve: resolve as (value: unknown) => void, reject });
  });
}

/** Keeps chunks in the engine of this thread. */
const keeper = {
  keep: (bytes: Uint8Array) => completions.keepChunk(bytes),
  drop: (number: number) => completions.dropChunk(number),
};

freeChunksWith(detach);

const NO_PIECES: readonly Pieces[] = [];

const isPieces = (bytes: Bytes): bytes is Pieces => bytes instanceof Pieces;

/** Below this size in bytes, the engine copies a buffer: see `src/store.rs`. */
const COPIED = 64 << 10;

function handedOver(bytes: Bytes, store: NativeStore): Uint8Array | PackedPieces {
  if (!(bytes instanceof Pieces)) {
    if (bytes.byteLength < COPIED) store.counter?.add(bytes.byteLength);
    return bytes;
  }
  const others: Uint8Array[] = [];
  const packed = new Uint32Array(bytes.pieces.length * 3);
  let [at, length] = [0, 0];
  for (const piece of bytes.inMemory()) {
    const chunk = chunkOf(piece)?.keptBy(keeper);
    packed[at++] = chunk ?? 0;
    packed[at++] = chunk === undefined ? length : piece.byteOffset;
    packed[at++] = piece.length;
    if (chunk !== undefined) continue;
    others.push(piece);
    length += piece.length;
  }
  return [Buffer.concat(others, length), packed];
}

function isFailure(outcome: Response | Failure): outcome is Failure {
  return typeof outcome === "object" && outcome !== null && "code" in outcome;
}

/** Opens a store. Throws for a wrong target or option. */
export function open(target: string, options: NativeOptions, { password, ...server }: ServerOptions = {}): NativeStore {
  return throwing(() => {
    const native = new binding.NativeStore(completions, target, { ...options, ...server }, password && give);
    // The addon calls this function only after the constructor has returned.
    function give(request: number): void {
      passwordFrom(password!).then(
        (text) => native.givePassword(request, text, null),
        (error: unknown) => native.givePassword(request, null, messageOf(error)),
      );
    }
    const listen: NativeStore["listen"] = (tell) => {
      const number = (lastListener = (lastListener + 1) >>> 0);
      listeners.set(number, tell);
      native.listen(number);
      return () => listeners.delete(number) && native.stopListening();
    };
    return {
      databasePath: native.databasePath,
      backend: backendOf(target),
      handle: native,
      call: native.calls(),
      listen,
    };
  });
}

/** Returns the backend of a target that the engine has accepted. */
function backendOf(target: string): NativeStore["backend"] {
  const scheme = /^(memory|jsonl|postgres)(ql)?:/.exec(target)?.[1];
  return (scheme as NativeStore["backend"] | undefined) ?? "sqlite";
}

async function passwordFrom(password: () => unknown): Promise<string> {
  const text = await password();
  if (typeof text === "string") return text;
  throw new TypeError("it did not return a string");
}

export function postgresSql(schema: string | undefined, prefix: string | undefined): string {
  return throwing(() => binding.postgresSchema(schema, prefix));
}

/** Detects changes of the machine's clock. */
export class ClockWatch {
  readonly #native = new binding.NativeClockWatch();

  /** Returns true if the clock is reliable for ages. Warns once if the clock was set. */
  isSteady(target: string): boolean {
    const doubt = this.#native.compare();
    const [code, message] = doubt ?? [];
    if (message !== undefined) warn(code as StoreWarning["code"], `store "${target}": ${message}`, target);
    return doubt === null;
  }
}

/** Returns the path of the target's file or folder. Null: the target has no path. Throws for a wrong target. */
export function pathOfTarget(target: string): string | null {
  return throwing(() => binding.pathOfTarget(target));
}

function responseOf([response, error]: PoolOutcome): Response {
  if (error) throw errorOf(error);
  return response;
}

export class Copy {
  readonly #native: InstanceType<Binding["NativeCopy"]>;

  /**
   * `convert` gets the values with these tags. It returns equal values in another format, in the same order. Without
   * `runs`, everything is copied.
   */
  constructor(
    from: NativeStore,
    to: NativeStore,
    convert: Convert | undefined,
    tags: readonly string[],
    runs: readonly RunKey[] | undefined,
  ) {
    this.#native = throwing(() => new binding.NativeCopy(from.handle, to.handle, convert, tags, runs));
  }

  /** Copies or compares about one page, on Node's thread pool. Resolves to the progress. */
  async step(): Promise<Response> {
    return responseOf(await this.#native.step());
  }
}

export class Backup {
  readonly #native: NativeBackup;

  private constructor(make: () => NativeBackup) {
    this.#native = throwing(make);
  }

  static to(path: string, of: NativeStore, overwrite: boolean): Backup {
    return new Backup(() => new binding.NativeBackup(of.handle, path, overwrite));
  }

  static restore(path: string, into: NativeStore): Backup {
    return new Backup(() => binding.NativeBackup.restore(into.handle, path));
  }

  /** Does the work on Node's thread pool. Resolves to a description of the result. */
  async run(): Promise<Response> {
    return responseOf(await this.#native.run());
  }

  /** The progress as JSON text. Null before the first page. */
  progress(): string | null {
    return throwing(() => this.#native.progress());
  }

  /** Stops the work soon. `run` then rejects. */
  cancel(): void {
    this.#native.cancel();
  }
}

/** A tool of a contract. The engine declares its calls and the value that selects it. */
export class Tool<Which, Call> {
  readonly #native: InstanceType<Binding["NativeTool"]>;

  constructor(contract: string, which: Which) {
    this.#native = throwing(() => new binding.NativeTool(contract, JSON.stringify(which)));
  }

  call(call: Call): Response {
    return throwing(() => this.#native.call(JSON.stringify(call)));
  }

  async callOnPool(call: Call): Promise<Response> {
    return responseOf(await this.#native.callOnPool(JSON.stringify(call)));
  }
}

/** The minimum size in bytes for detaching a buffer. The garbage collector frees smaller buffers. */
const WORTH_DETACHING = 4 << 10;

/**
 * Frees the memory of a buffer that is no longer used or shared. Otherwise V8 counts the buffer's bytes as used until
 * it collects the buffer, and runs a full garbage collection every few dozen megabytes.
 */
export function detach(buffer: ArrayBufferLike): void {
  // Skip Node's shared buffer pool, even if one caller's values fill it, because Node reuses it.
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength === Buffer.poolSize) return;
  if (buffer.byteLength >= WORTH_DETACHING) binding.detach(buffer);
}
