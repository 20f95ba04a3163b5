/**
 * The only importer of the addon, and all that it knows. A call is given an id; what comes of it is fetched from the
 * addon's completion queue and settles the call's promise. No contract is named here.
 */

import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { ErrorCode } from "../index.js";
import { ForkpointError } from "./errors.js";

interface Failure {
  code: ErrorCode;
  message: string;
  retryable: boolean;
  outcomeUnknown: boolean;
  cause?: { message: string; code?: string | null; errno?: number | null } | null;
}

/** What a call resolves to: null, a text in JSON, or that with the buffers that it speaks of. */
export type Response = string | [text: string, buffers: Uint8Array[]] | null;

type Settled = [callId: number, response: Response, error: Failure | null | undefined];

/** The value of a call's field. One that is an object crosses as its JSON. */
export type Field = string | number | boolean | null | undefined;

/** A store in the addon. */
export interface NativeStore {
  /** The absolute path of its file: two stores with the same one hold the same. Null for memory. */
  readonly databasePath: string | null;
  /** Runs a call. Undefined: the outcome comes through the completion queue. */
  readonly call: (
    callId: number,
    shape: number,
    bufferCount: number,
    ...buffersAndFields: Array<Uint8Array | Field>
  ) => Response | Failure | undefined;
}

/** Options of a store, checked. */
export interface NativeOptions {
  durability: string;
  busyTimeout: number;
  maxPayloadBytes: number;
  cacheBytes: number;
  keepLastN: number | undefined;
  ttl: number | undefined;
  maxBytes: number | undefined;
}

/** What of a contract's works without a store: a state machine, or the reader of another store's file. */
interface NativeTool {
  call(call: string): Response;
  callOnPool(call: string): Promise<[response: Response, error: Failure | null | undefined]>;
}

interface Completions {
  shape(contract: string, call: string, names: string[]): number;
  take(): [done: number[], others: Settled[], again: boolean] | null;
  drain(): void;
}

interface Binding {
  Completions: new (wake: () => void) => Completions;
  NativeStore: new (
    completions: Completions,
    target: string,
    options: NativeOptions,
  ) => { readonly databasePath: string | null; calls(): NativeStore["call"] };
  NativeTool: new (contract: string, which: string) => NativeTool;
  detach(buffer: ArrayBuffer): void;
}

/** What the addon may be called for this platform; a Linux may have either C library. */
function candidates(): string[] {
  const { platform, arch } = process;
  if (platform === "linux") return [`linux-${arch}-gnu`, `linux-${arch}-musl`];
  if (platform === "win32") return [`win32-${arch}-msvc`];
  return [`${platform}-${arch}`];
}

function load(): Binding {
  const require = createRequire(import.meta.url);
  const tried: string[] = [];
  for (const platform of candidates()) {
    // Built here, or installed from the registry.
    for (const place of [fileURLToPath(new URL(`../forkpoint.${platform}.node`, import.meta.url)), `forkpoint-${platform}`]) {
      try {
        return require(place) as Binding;
      } catch (error) {
        tried.push(`  ${place}: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`);
      }
    }
  }
  throw new ForkpointError(
    "UNSUPPORTED",
    `forkpoint has no addon for ${process.platform}-${process.arch} here. Tried:\n${tried.join("\n")}\n` +
      "Install again without --omit=optional and on this platform (not with a node_modules copied from another), " +
      "or build it from the repository with `npm ci && npm run build` (needs Rust).",
  );
}

const binding = load();

/** Who waits for a call's outcome. `store` is held so that it is not collected while it works for somebody. */
interface Pending {
  store: NativeStore;
  open: (response: Response) => unknown;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

const pending = new Map<number, Pending>();
let lastCallId = 0;

/** The id of no call: what comes with it is a warning. */
const WARNING = 0;

/** Holds the process while a promise is pending, and only then; its time never comes. */
const hold = setInterval(() => {}, 0x7fffffff).unref();

const completions = new binding.Completions(look);
// The addon's own hook does not run on process.exit() and after an uncaught throw.
process.on("exit", () => completions.drain());

/** Settles what has come. Where there is much, it looks again in the next turn: timers and I/O come in between. */
function look(): void {
  const batch = completions.take();
  if (batch === null) return;
  const [done, others, again] = batch;
  for (const callId of done) settle(callId, null, null);
  for (const [callId, response, error] of others) settle(callId, response, error);
  if (pending.size === 0) hold.unref();
  if (again) setImmediate(look);
}

function settle(callId: number, response: Response, error: Failure | null | undefined): void {
  if (callId === WARNING && error) return warn(error);
  const waiting = pending.get(callId);
  if (waiting === undefined) return;
  pending.delete(callId);
  if (error) return waiting.reject(failure(error));
  try {
    waiting.resolve(waiting.open(response));
  } catch (thrown) {
    waiting.reject(thrown);
  }
}

function failure({ code, message, retryable, outcomeUnknown, cause }: Failure): ForkpointError {
  return new ForkpointError(code, message, {
    retryable,
    ...(outcomeUnknown && { outcome: "unknown" as const }),
    ...(cause && { cause: causeOf(cause) }),
  });
}

function causeOf({ message, code, errno }: NonNullable<Failure["cause"]>): Error {
  const cause = Object.assign(new Error(message), code != null && { code }, errno != null && { errno });
  // It comes from no place in JavaScript.
  cause.stack = String(cause);
  return cause;
}

/** Tells what failed in the background, where no call can reject. */
function warn({ message, cause }: Failure): void {
  const warning = new Error(message, cause ? { cause: causeOf(cause) } : undefined);
  process.emitWarning(Object.assign(warning, { name: "ForkpointWarning", code: "FORKPOINT_SWEEP_FAILS" }));
}

/** Makes known the names of the fields that calls will have: they cross once, and then the values alone. */
export function shapeOf(contract: string, call: string, names: string[]): number {
  return completions.shape(contract, call, names);
}

/** Runs a call of that shape on the store; the promise resolves to what `open` makes of its response. */
export function submit<T>(
  store: NativeStore,
  shape: number,
  fields: Field[],
  buffers: Uint8Array[],
  open: (response: Response) => T,
): Promise<T> {
  do lastCallId = (lastCallId + 1) >>> 0;
  while (lastCallId === WARNING || pending.has(lastCallId));
  const callId = lastCallId;
  const outcome = store.call(callId, shape, buffers.length, ...buffers, ...fields);
  if (outcome !== undefined) {
    return isFailure(outcome) ? Promise.reject(failure(outcome)) : Promise.resolve(open(outcome));
  }
  return new Promise<T>((resolve, reject) => {
    if (pending.size === 0) hold.ref();
    pending.set(callId, { store, open, resolve: resolve as (value: unknown) => void, reject });
  });
}

function isFailure(outcome: Response | Failure): outcome is Failure {
  return typeof outcome === "object" && outcome !== null && "code" in outcome;
}

/** Opens a store. Throws what is wrong with the target or the options. */
export function open(target: string, options: NativeOptions): NativeStore {
  return throwing(() => {
    const native = new binding.NativeStore(completions, target, options);
    return { databasePath: native.databasePath, call: native.calls() };
  });
}

/** What of a contract's works without a store. */
export class Tool {
  readonly #native: NativeTool;

  /** `which` is a text in JSON, as every call is. */
  constructor(contract: string, which: string) {
    this.#native = throwing(() => new binding.NativeTool(contract, which));
  }

  /** Runs a call at once. */
  call(call: string): Response {
    return throwing(() => this.#native.call(call));
  }

  /** Runs a call on Node's thread pool. */
  async callOnPool(call: string): Promise<Response> {
    const [response, error] = await this.#native.callOnPool(call);
    if (error) throw failure(error);
    return response;
  }
}

/** Smaller ones are left to the collector. */
const WORTH_DETACHING = 4 << 10;

/**
 * Gives the memory of bytes back that nobody uses any more, and that share it with nobody. Until it is collected it counts, so that
 * V8 would collect garbage, and look through all of the program's objects, every few dozen megabytes.
 */
export function detach(buffer: ArrayBufferLike): void {
  // Node goes on with its pool, also where two values fill it.
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength === Buffer.poolSize) return;
  if (buffer.byteLength >= WORTH_DETACHING) binding.detach(buffer);
}

/** Runs what throws an error of the engine's from the call itself. */
function throwing<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    const thrown = error as { code: ErrorCode; message: string; failure?: Failure };
    throw thrown.failure ? failure(thrown.failure) : new ForkpointError(thrown.code, thrown.message);
  }
}
