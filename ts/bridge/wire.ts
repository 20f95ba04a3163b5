/**
 * The calls that TypeScript sends to the engine. A contract's calls are a type with one method per call: its
 * parameter holds the call's named fields, and it returns the response's type. Both come from the engine: see
 * `calls.ts`.
 */

import {
  type Cost,
  type Kind,
  type Outcome,
  isWatched,
  traced,
  type CallContext,
  type CallSubject,
} from "./channels.js";
import type { CallsOf } from "./calls.js";
import type * as engine from "./calls.generated.js";
import { endedLease } from "./errors.js";
import { sendHeldBack } from "./held-back.js";
import { type Field, type NativeStore, type Response, shapeOf, submit } from "./native.js";
import type { Bytes } from "./bytes.js";
import { type Subject, fenceOf } from "./scope.js";
import type { Serialized, Stored } from "./serializer.js";

/** The result of a check. */
export interface VerifyReport {
  /** True if no finding has the severity `"error"`. */
  ok: boolean;
  /** How many rows were verified. */
  checked: {
    /** Checkpoints, and effects of runs. */
    checkpoints: number;
    /** Payloads, each rebuilt and compared with its checksum. */
    payloads: number;
    /** Rows of pending writes. */
    writes: number;
    /** Records of logs. */
    records: number;
  };
  findings: Finding[];
  /**
   * Only with `runs`: the part of `checked` that belongs to these runs. Here, `writes` counts pending writes instead of
   * rows. A row may hold several writes.
   */
  runs?: { checkpoints: number; payloads: number; writes: number };
  /** Only with `runs`: the number of findings about other runs. The report omits these findings. */
  others?: number;
  /** The position for {@link CheckOptions.after}. Null at the end. */
  next: string | null;
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
  /** The place of the damage: framework, run or thread, namespace, checkpoint id. An unknown part is null. */
  ref: {
    space: string | null;
    run: string | null;
    ns: string | null;
    id: string | null;
    /** The key of the run's effect, if the damage is in an effect. `id` is then null. */
    effect?: string | null;
  } | null;
}

/** A named part of a stored checkpoint. The bytes may be a view of a buffer that other parts share. */
export interface Part extends Stored {
  name: string;
}

/**
 * A 64-bit integer. If a double cannot hold it exactly, it is a string of digits, in responses and in fields. Code that
 * only passes the integer on must not convert it.
 */
export type Exact = number | string;

export interface NewPart extends Serialized {
  name: string;
}

/** A part in a response: its name, its format, the index of its buffer, and its range in that buffer. */
export type PackedPart = engine.inspect.PackedPart;

/** A response with its parts unpacked. */
export type Unpacked<T> = T extends PackedPart ? Part : T extends object ? { [K in keyof T]: Unpacked<T[K]> } : T;

/** Converts a response with parts to the caller's type. */
export type Unpack<T, R = Unpacked<T>> = (found: T, part: (packed: PackedPart) => Part) => R;

type Calls<C> = { [K in keyof C]: (fields: never) => unknown };
type Fields<C extends Calls<C>, K extends keyof C> = Parameters<C[K]>[0];
type Result<C extends Calls<C>, K extends keyof C> = ReturnType<C[K]>;

/** The fields of all calls. Each call has only some of them. */
type AnyFields<C extends Calls<C>> = Merged<Parameters<C[keyof C]>[0]>;
type Merged<F> = { [N in F extends unknown ? keyof F : never]?: F extends { [K in N]: infer V } ? V : never };

/** What the channels publish about the calls of a contract: see `ts/bridge/channels.ts`. */
interface About<C extends Calls<C>> {
  /**
   * The tracing channel of each call. A call that is missing here is a read. Null: only the call's failures are
   * published.
   */
  kinds?: { [K in keyof C]?: Kind | null };
  /** False: the calls have conditions of their own, and carry no lease of a scope or of the process. Default: true. */
  fences?: boolean;
  /** A prefix for the names of the calls on the channels: `effect` and the call `find` become `effectFind`. */
  prefix?: string;
  /** Returns the subject of a call. Its space defaults to the name of the contract. */
  subject?: (fields: AnyFields<C>) => Subject;
  /**
   * Returns the number of entries that a call found, or of checkpoints that it removed. A call that reads a list needs
   * no function here.
   */
  counts?: { [K in keyof C]?: (result: NonNullable<Result<C, K>>, fields: Fields<C, K>) => number | undefined };
}

const none: never[] = [];

/** A call's field names, and the engine's number for that list of names. */
interface Shape {
  names: string[];
  number: number;
}

/** A contract's calls on a store. `buffers` are the large values, in the order of the call's fields. */
export class Contract<C extends Calls<C>> {
  readonly name: string;
  readonly #about: About<C>;
  /**
   * Shapes by the name of the call. Most calls have one shape, because the code usually writes their fields in the same
   * order.
   */
  readonly #shapes = new Map<string, Shape[]>();

  constructor(name: string, about: About<C> = {}) {
    this.name = name;
    this.#about = about;
  }

  /**
   * Runs a call whose response contains no parts. `learn` gets the incarnation of the run that was saved. Null:
   * unknown.
   */
  call<K extends keyof C & string>(
    store: NativeStore,
    call: K,
    fields: Fields<C, K>,
    buffers: Bytes[] = none,
    learn?: (incarnation: Exact | null) => void,
  ): Promise<Result<C, K>> {
    const kind = this.#kindOf(call);
    const read = parse as (response: Response) => Result<C, K>;
    if (!isWatched(kind)) {
      if (learn === undefined) return this.send(store, call, fields, buffers, read);
      withField(fields, "begun", true);
      return this.send(store, call, fields, buffers, (response) => {
        learn(parse(response) as Exact | null);
        return null as Result<C, K>;
      });
    }
    let cost: Cost | undefined;
    // A measured save responds with its cost, any other save with null.
    const measured = () => {
      withField(fields, "measure", true);
      return this.send(store, call, fields, buffers, (response) => {
        const { incarnation, ...rest } = parse(response) as Cost & { incarnation: Exact | null };
        cost = rest;
        learn?.(incarnation);
        return null as Result<C, K>;
      });
    };
    const sizes = kind === "save" ? buffers.map(({ byteLength }) => byteLength) : [];
    const bytes = sizes.length === 0 ? null : sizes.reduce((sum, each) => sum + each);
    const context = this.#context(store, call, fields, bytes);
    if (kind !== "save") {
      const outcomeOf = (result: Result<C, K>) => ({ result: this.#counted(call, result, fields) });
      return traced(kind, context, () => this.send(store, call, fields, buffers, read), outcomeOf);
    }
    return traced(kind, context, measured, () => ({ ...cost }));
  }

  /** Runs a call whose response contains no parts, and publishes nothing on the channels. */
  send<K extends keyof C & string>(
    store: NativeStore,
    call: K,
    fields: Fields<C, K>,
    buffers: Bytes[],
    unpack: (response: Response) => Result<C, K>,
  ): Promise<Result<C, K>> {
    if (this.#kindOf(call) !== "save") sendHeldBack();
    const send = (all: object) => submit(store, this.#shape(call, all), values(all), buffers, unpack);
    const { fences = true } = this.#about;
    const fence = store.fence ?? (fences ? fenceOf(store, () => this.#subject(fields)) : undefined);
    // The engine ignores the fence of a read.
    if (fence !== undefined) return fence.guard((fence) => send(withField(fields, "fence", fence)));
    const sent = send(fields);
    // No lease refuses a call that only reads.
    if (["read", "open"].includes(this.#kindOf(call) ?? "")) return sent;
    return sent.catch((error: unknown) => {
      const ended = endedLease(error);
      if (ended === undefined) throw error;
      return send(withField(fields, "fence", { ended }));
    });
  }

  #subject(fields: object): Subject {
    return { space: this.name, ...this.#about.subject?.(fields as AnyFields<C>) };
  }

  /** Runs a call whose response contains parts. Resolves to null if nothing was found. */
  find<K extends keyof C & string, R>(
    store: NativeStore,
    call: K,
    fields: Fields<C, K>,
    unpack: Unpack<NonNullable<Result<C, K>>, R>,
  ): Promise<R | Extract<Result<C, K>, null>> {
    const kind = this.#kindOf(call);
    if (!isWatched(kind)) return this.#ask(store, call, fields, unpack);
    const outcome: Outcome & { bytes: number } = { result: "missing", bytes: 0 };
    const measuring: typeof unpack = (found, part) => {
      outcome.result = this.#counted(call, found, fields);
      return unpack(found, (packed) => {
        const unpacked = part(packed);
        outcome.bytes += unpacked.bytes.byteLength;
        return unpacked;
      });
    };
    return traced(
      kind,
      this.#context(store, call, fields, null),
      () => this.#ask(store, call, fields, measuring),
      () => outcome,
    );
  }

  #ask<K extends keyof C & string, R>(
    store: NativeStore,
    call: K,
    fields: Fields<C, K>,
    unpack: Unpack<NonNullable<Result<C, K>>, R>,
  ): Promise<R | Extract<Result<C, K>, null>> {
    sendHeldBack();
    return submit(store, this.#shape(call, fields), values(fields), none, (response) =>
      response === null ? (null as Extract<Result<C, K>, null>) : unpacked(response, unpack),
    );
  }

  #kindOf(call: keyof C): Kind | null {
    const kind = this.#about.kinds?.[call];
    return kind === undefined ? "read" : kind;
  }

  #context<K extends keyof C & string>(
    store: NativeStore,
    operation: K,
    fields: Fields<C, K>,
    bytes: number | null,
  ): CallContext {
    const { prefix } = this.#about;
    const own = prefix === undefined ? operation : `${prefix}${operation[0]!.toUpperCase()}${operation.slice(1)}`;
    const name = this.#kindOf(operation) === "open" ? "open" : own;
    return { ...subjectOf(store, name, this.#subject(fields)), bytes };
  }

  /** Returns the field `result` for the channels: a word or a number, never the result itself. */
  #counted<K extends keyof C>(call: K, result: Result<C, K>, fields: Fields<C, K>): Outcome["result"] {
    const reads = this.#kindOf(call) === "read";
    if (reads && result === null) return "missing";
    const count = this.#about.counts?.[call];
    if (count !== undefined) return count(result as NonNullable<Result<C, K>>, fields);
    if (!reads) return undefined;
    return Array.isArray(result) ? result.length : "found";
  }

  #shape(call: string, fields: object): number {
    const names = Object.keys(fields);
    const shapes = this.#shapes.get(call) ?? [];
    for (const shape of shapes) if (same(shape.names, names)) return shape.number;
    const number = shapeOf(this.name, call, names);
    this.#shapes.set(call, [...shapes, { names, number }]);
    return number;
  }
}

/** Returns the subject that the channels publish for a call on a store. */
export function subjectOf(store: NativeStore, operation: string, subject: Subject): CallSubject {
  const { space = null, run = null, ns = null, id = null } = subject;
  return { operation, space, run, ns, id, target: store.databasePath ?? "memory:", backend: store.backend };
}

/**
 * Adds a field to a call's own fields object. A copy with `...fields` is far slower, and V8 then lists its names slowly
 * too: 20 us for the fields of a save.
 */
function withField(fields: object, name: "measure" | "begun" | "fence", value: unknown): object {
  Reflect.set(fields, name, value);
  return fields;
}

function same(one: string[], other: string[]): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return true;
}

/** Returns the values of the fields, in the order of their names. */
function values(fields: object): Field[] {
  const all: unknown[] = Object.values(fields);
  for (let at = 0; at < all.length; at++) {
    const value = all[at];
    if (typeof value === "object" && value !== null) all[at] = JSON.stringify(value);
  }
  return all as Field[];
}

/** Reads a response without parts. */
export function parse(response: Response): unknown {
  return response === null ? null : JSON.parse(textOf(response));
}

/** Reads a response with parts. */
export function unpacked<T, R>(response: NonNullable<Response>, unpack: Unpack<T, R>): R {
  const buffers = typeof response === "string" ? none : response[1];
  return unpack(JSON.parse(textOf(response)) as T, ([name, tag, buffer, start, length]) => ({
    name,
    tag,
    bytes: buffers[buffer]!.subarray(start, start + length),
  }));
}

function textOf(response: NonNullable<Response>): string {
  return typeof response === "string" ? response : response[0];
}

export type Rule = engine.store.Rule;
export type Cursor = engine.store.Cursor;

export type Pruned = engine.store.Pruned;
export type FoundStats = engine.store.FoundStats;

/** The calls that every store supports. If `contract` is undefined, a call covers all contracts. */
type StoreCalls = CallsOf<engine.store.Call, engine.store.Responses>;

export const storeCalls = new Contract<StoreCalls>("store", {
  kinds: { ready: "open", close: null, prune: "prune", vacuum: "prune", migrate: "prune" },
  subject: ({ contract = null }) => ({ space: contract }),
  counts: {
    prune: ({ checkpoints }) => checkpoints,
    prunable: ({ checkpoints }) => checkpoints,
    quickCheck: ({ findings }) => findings.length,
    check: ({ findings }) => findings.length,
  },
});
