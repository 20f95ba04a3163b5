/** Reads and writes the items of a store. */

import { isOvertaken } from "../../../bridge/errors.js";
import type { Engine } from "../../../store/engine.js";
import type { StoreHandle } from "../../../store/handle.js";
import { Expiry } from "../../shared/expiry.js";
import { nextNumber } from "../../shared/version.js";
import { Lanes } from "./lanes.js";
import { type CheckNamespace, type Fields, type Operation, isPut, readOperation } from "./operations.js";
import { type EncodedValue, type Item, itemOf } from "./values.js";
import { type Address, type FoundItem as Found, type NewItem, storeCalls } from "./wire.js";

/** How long items are kept, and whether a read restarts this time. */
export interface Ttl {
  ms: number;
  refreshOnRead: boolean;
}

type Put = Extract<Operation, { kind: "put" }>;
type Search = Extract<Operation, { kind: "search" }>;
type List = Extract<Operation, { kind: "list" }>;
type SearchItem = Item & { score: undefined };

/** The number of items or namespaces in a page. */
const PAGE = 1_000;

export const nameOf = ({ namespace, key }: Address): string => JSON.stringify([namespace, key]);

export class Items {
  readonly #handle: StoreHandle;
  readonly #ttl: Ttl | undefined;
  readonly #check: CheckNamespace;
  readonly #lanes = new Lanes();
  readonly #expiry = new Expiry();

  constructor(handle: StoreHandle, ttl: Ttl | undefined, check: CheckNamespace) {
    this.#handle = handle;
    this.#ttl = ttl;
    this.#check = check;
  }

  /** Runs the operations of a batch. All reads see the state before the batch. */
  batch(given: Fields[]): Promise<unknown[]> {
    const puts = given.filter(isPut);
    const work = async (engine: Engine) => {
      for (const { namespace } of puts) {
        const refused = this.#check(namespace);
        if (refused !== undefined) await refused;
      }
      const results = await this.#run(
        engine,
        given.map((fields) => readOperation(engine, fields)),
      );
      if (puts.length > 0) this.#sweep();
      return results;
    };
    return puts.length > 0 ? this.#handle.save(work) : this.#handle.run(work);
  }

  #run(engine: Engine, operations: Operation[]): Promise<unknown[]> {
    const writes = new Map<string, Put | Extract<Operation, { kind: "delete" }>>();
    const reads = new Map<string, Address>();
    for (const operation of operations) {
      if (operation.kind === "search" || operation.kind === "list" || operation.address === null) continue;
      const name = nameOf(operation.address);
      if (operation.kind !== "delete") reads.set(name, operation.address);
      if (operation.kind !== "get") writes.set(name, operation);
    }
    const readsRanges = operations.some(({ kind }) => kind === "search" || kind === "list");
    return this.#lanes.run([...writes.keys()], readsRanges ? "all" : [...reads.keys()], async () => {
      const found = await this.#find(engine, reads);
      const touched = new Map<string, Address>();
      const results: unknown[] = [];
      for (const operation of operations) results.push(await this.#read(engine, operation, found, touched));
      await this.#write(engine, writes, found, touched);
      return results;
    });
  }

  async #read(
    engine: Engine,
    operation: Operation,
    found: Map<string, Found>,
    touched: Map<string, Address>,
  ): Promise<unknown> {
    const shown = (item: Found): Item => {
      const { namespace, key, expires } = item;
      if (expires && this.#ttl?.refreshOnRead !== false) touched.set(nameOf(item), { namespace, key });
      return itemOf(engine, item);
    };
    switch (operation.kind) {
      case "get": {
        const item = operation.address === null ? undefined : found.get(nameOf(operation.address));
        return item === undefined || item.hasExpired ? null : shown(item);
      }
      case "search":
        return (await this.#search(engine, operation)).map((item): SearchItem =>
          Object.assign(shown(item), { score: undefined }),
        );
      case "list":
        return this.#list(engine, operation);
      default:
        return undefined;
    }
  }

  async #find(engine: Engine, reads: Map<string, Address>): Promise<Map<string, Found>> {
    const found = new Map<string, Found>();
    const all = [...reads];
    for (let at = 0; at < all.length; at += PAGE) {
      const names = all.slice(at, at + PAGE);
      const of = names.map(([, address]) => address);
      const items = await storeCalls.find(engine.native, "find", { of, now: Date.now() }, (rows, part) =>
        rows.map((row) => row && { ...row, parts: row.parts.map(part) }),
      );
      items!.forEach((item, place) => item && found.set(names[place]![0], item));
    }
    return found;
  }

  async #search(engine: Engine, { prefix, filter, limit, offset }: Search): Promise<Found[]> {
    if (prefix === null || limit === 0) return [];
    const found: Found[] = [];
    const { conditions, texts } = filter;
    const now = Date.now();
    let skip = offset;
    for (let after: string | undefined; ;) {
      const left = skip + limit - found.length;
      const fields = { prefix, texts, conditions, after, skip, limit: Math.min(PAGE, left), now };
      const page = await storeCalls.find(engine.native, "search", fields, ({ items, ...rest }, part) => ({
        ...rest,
        items: items.map((item) => ({ ...item, parts: item.parts.map(part) })),
      }));
      skip -= page!.skipped;
      for (const { unsure, ...item } of page!.items) {
        if (unsure && !filter.accepts(itemOf(engine, item).value)) continue;
        if (skip > 0) skip -= 1;
        else if (found.push(item) === limit) return found;
      }
      if (page!.next === null) return found;
      after = page!.next;
    }
  }

  async #list(engine: Engine, { matching, maxDepth, limit, offset }: List): Promise<string[][]> {
    if (matching === null || limit === 0) return [];
    const found = new Map<string, string[]>();
    const add = (namespace: string[]) => found.set(JSON.stringify(namespace), namespace);
    const now = Date.now();
    for (let before: number | undefined; ;) {
      const page = await storeCalls.call(engine.native, "namespaces", { matching, maxDepth, before, limit: PAGE, now });
      page.found.forEach(add);
      if (page.unsure.length > 0) {
        const alive = await storeCalls.call(engine.native, "alive", { of: page.unsure, now });
        page.unsure.forEach((namespace, at) => alive[at] && add(namespace.slice(0, maxDepth)));
      }
      if (page.next === null) break;
      before = Number(page.next);
    }
    return [...found.values()].toSorted(byLabels).slice(offset, offset + limit);
  }

  /** Writes all or nothing. Replaces the writes of a faster writer. */
  async #write(
    engine: Engine,
    writes: Map<string, Put | { kind: "delete"; address: Address | null }>,
    found: Map<string, Found>,
    touched: Map<string, Address>,
  ): Promise<void> {
    for (const name of writes.keys()) touched.delete(name);
    if (writes.size === 0 && touched.size === 0) return;
    const puts = [...writes].flatMap(([name, write]) => (write.kind === "put" ? [{ name, ...write }] : []));
    const removed = [...writes.values()].flatMap(({ kind, address }) => (kind === "delete" ? [address!] : []));
    const buffers = puts.map(({ value }) => value.bytes);
    for (let known = found; ;) {
      const savedAt = Date.now();
      const items = puts.map(({ name, address, value }) => this.#newItem(address, value, known.get(name), savedAt));
      try {
        const fields = { puts: items, removed, touched: [...touched.values()], savedAt };
        await storeCalls.call(engine.native, "save", fields, buffers);
        return;
      } catch (error) {
        if (!isOvertaken(error)) throw error;
      }
      known = await this.#find(engine, new Map(puts.map(({ name, address }) => [name, address])));
    }
  }

  #newItem(address: Address, { tag, inMeta }: EncodedValue, before: Found | undefined, now: number): NewItem {
    const isNew = before === undefined || before.hasExpired;
    const position = isNew ? { createdAt: now, number: nextNumber() } : before.position;
    const expiry = this.#ttl && { updatedAt: now, ttlMs: this.#ttl.ms };
    return { ...address, position, seen: before === undefined ? "none" : { at: before.position }, expiry, tag, inMeta };
  }

  /** Removes expired items in the background, if a sweep is due. */
  #sweep(): void {
    const ttlMs = this.#ttl?.ms;
    if (ttlMs === undefined) return;
    const sweep = (engine: Engine) => expire(engine, ttlMs);
    this.#expiry.sweepIfDue(this.#handle, { what: "expired items", ttlMs, sweep });
  }
}

async function expire(engine: Engine, ttlMs: number): Promise<void> {
  for (let after: string | undefined; ;) {
    const now = Date.now();
    const { items, next } = await storeCalls.call(engine.native, "expired", {
      before: now - ttlMs,
      after,
      limit: PAGE,
      now,
    });
    if (items.length > 0)
      await storeCalls.call(engine.native, "expire", { of: items }).catch((error) => {
        // An item was saved or read again. The next sweep removes the others.
        if (!isOvertaken(error)) throw error;
      });
    if (next === null) return;
    after = next;
  }
}

/** Compares label by label, by code units. */
function byLabels(one: string[], other: string[]): number {
  for (let at = 0; at < one.length && at < other.length; at++) {
    if (one[at] !== other[at]) return one[at]! < other[at]! ? -1 : 1;
  }
  return one.length - other.length;
}
