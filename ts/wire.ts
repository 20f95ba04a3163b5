/**
 * The calls that TypeScript sends to the engine. A contract's calls are an interface with one method per call: its
 * parameter holds the call's named fields, and it returns the response's type. The engine declares the same calls in
 * the `enum Call` of each contract.
 */

import type { StoreWarning, VerifyReport } from "../index.js";
import { type Field, type NativeStore, type Response, shapeOf, submit } from "./native.js";
import type { Serialized } from "./serializer.js";

/** A named part of a checkpoint in serialised form. The bytes may be a view of a buffer that other parts share. */
export interface Part extends Serialized {
  name: string;
}

/** A part in a response: its name, its format, the index of its buffer, and its range in that buffer. */
export type PackedPart = [name: string, tag: string, buffer: number, start: number, length: number];

/** Converts a response with parts to the caller's type. */
export type Open<T, R> = (found: T, part: (packed: PackedPart) => Part) => R;

type Calls<C> = { [K in keyof C]: (fields: never) => unknown };
type Fields<C extends Calls<C>, K extends keyof C> = Parameters<C[K]>[0];
type Result<C extends Calls<C>, K extends keyof C> = ReturnType<C[K]>;

const none: Uint8Array[] = [];

/** A call's field names, and the engine's number for that list of names. */
interface Shape {
  names: string[];
  number: number;
}

/** A contract's calls on a store. `buffers` are the large values, in the order of the call's fields. */
export class Contract<C extends Calls<C>> {
  readonly name: string;
  /**
   * Shapes by the name of the call. Most calls have only one shape, because the code mostly writes the fields of a call
   * in the same order.
   */
  readonly #shapes = new Map<string, Shape[]>();

  constructor(name: string) {
    this.name = name;
  }

  /** Runs a call whose response contains no parts. */
  call<K extends keyof C & string>(
    store: NativeStore,
    call: K,
    fields: Fields<C, K>,
    buffers: Uint8Array[] = none,
  ): Promise<Result<C, K>> {
    const send = (all: object) =>
      submit(store, this.#shape(call, all), values(all), buffers, parse as (response: Response) => Result<C, K>);
    // The engine ignores the fence of a call that only reads.
    return store.fence === undefined
      ? send(fields)
      : store.fence.guard((fence) => send({ ...(fields as object), fence }));
  }

  /** Runs a call whose response contains parts. Resolves to null if nothing was found. */
  find<K extends keyof C & string, R>(
    store: NativeStore,
    call: K,
    fields: Fields<C, K>,
    open: Open<NonNullable<Result<C, K>>, R>,
  ): Promise<R | Extract<Result<C, K>, null>> {
    return submit(store, this.#shape(call, fields), values(fields), none, (response) =>
      response === null ? (null as Extract<Result<C, K>, null>) : opened(response, open),
    );
  }

  #shape(call: string, fields: object): number {
    const names = Object.keys(fields);
    const known = this.#shapes.get(call) ?? [];
    for (const shape of known) if (same(shape.names, names)) return shape.number;
    const number = shapeOf(this.name, call, names);
    this.#shapes.set(call, [...known, { names, number }]);
    return number;
  }
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
export function opened<T, R>(response: NonNullable<Response>, open: Open<T, R>): R {
  const buffers = typeof response === "string" ? none : response[1];
  return open(JSON.parse(textOf(response)) as T, ([name, tag, buffer, start, length]) => ({
    name,
    tag,
    bytes: buffers[buffer]!.subarray(start, start + length),
  }));
}

function textOf(response: NonNullable<Response>): string {
  return typeof response === "string" ? response : response[0];
}

/** A retention rule with exactly one of these fields. Times are in ms since the epoch. */
export type Rule = { savedBefore: number } | { keepLast: number } | { maxBytes: number };

/** The engine's position in a prune. The next batch continues from it. */
export interface Cursor {
  after: number;
  total: number | null;
}

/** The removals of one batch. If `next` is missing, the rule is fulfilled. */
export interface Pruned {
  checkpoints: number;
  bytes: number;
  lineages: number;
  next: Cursor | null;
}

/** The engine's statistics of a store. */
export interface FoundStats {
  checkpoints: number;
  lineages: number;
  logicalBytes: number;
  storedBytes: number;
  records: number;
  recordBytes: number;
  fileBytes: number | null;
  /** The size of the log of a SQLite database. */
  logBytes: number | null;
  /** The room in the file that nothing uses. */
  freeBytes: number | null;
  /** `space`, `run` and `ns` are the names that people know. */
  largest: Array<{
    space: string | null;
    run: string | null;
    ns: string | null;
    lineage: string;
    checkpoints: number;
    logicalBytes: number;
    storedBytes: number;
  }>;
}

/** A page of a check. The last page has no `next`. */
export interface CheckPage extends Omit<VerifyReport, "ok"> {
  done: number;
  of: number;
  next: string | null;
}

/** The calls that every store supports. If `contract` is undefined, a call covers the checkpoints of all contracts. */
interface StoreCalls {
  /** Returns a warning about the open target, or null. */
  ready(fields: {}): Pick<StoreWarning, "code" | "message"> | null;
  close(fields: {}): null;
  vacuum(fields: {}): null;
  prune(fields: { contract: string | undefined; rule: Rule; cursor: Cursor | undefined; most: number }): Pruned;
  prunable(fields: { contract: string | undefined; rules: Rule[] }): Pruned;
  stats(fields: { contract: string | undefined; largest: number }): FoundStats;
  /** Looks at the pages and the place of the store, in a second at most. */
  quickCheck(fields: {}): Pick<CheckPage, "checked" | "findings">;
  check(fields: { cursor: string | undefined; limit: number }): CheckPage;
}

export const storeCalls = new Contract<StoreCalls>("store");
