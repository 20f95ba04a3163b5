/** Reads and writes the entries of a cache. */

import type { CacheFullKey, CacheNamespace, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { isArray, quote, readingArgument, show, typeError } from "../../../bridge/errors.js";
import type { Engine } from "../../../store/engine.js";
import type { StoreHandle } from "../../../store/handle.js";
import { requireId, text } from "../../../store/ids.js";
import { batches } from "../../../store/page.js";
import { Expiry } from "../../shared/expiry.js";
import { dump, load } from "../serde.js";
import { millisecondsOf } from "./seconds.js";
import { type Address, cacheCalls } from "./wire.js";

const PAGE = 1_000;

/** How a cache keeps its entries. */
export interface EntryRules {
  /** The first labels of each namespace. */
  prefix: readonly string[];
  /** How long an entry without its own time to live is kept, in ms. Undefined: until it is cleared. */
  ttlMs: number | undefined;
}

export class Entries {
  readonly #handle: StoreHandle;
  readonly #serde: SerializerProtocol;
  readonly #rules: EntryRules;
  readonly #expiry = new Expiry();
  /** The shortest time to live of an entry that this cache has saved, in ms. */
  #shortest: number | null = null;

  constructor(handle: StoreHandle, serde: SerializerProtocol, rules: EntryRules) {
    this.#handle = handle;
    this.#serde = serde;
    this.#rules = rules;
  }

  get(given: unknown): Promise<Array<{ key: CacheFullKey; value: any }>> {
    return this.#handle.run(async (engine) => {
      const keys = listOf(given, "keys", (key, what) => ({
        key: key as CacheFullKey,
        address: this.#keyOf(key, what, text),
      }));
      // Nothing can be stored under such a key.
      const known = keys.filter(({ address: { namespace, key } }) =>
        [...namespace, key].every((one) => one.isWellFormed()),
      );
      if (known.length === 0) return [];
      const fields = { of: known.map(({ address }) => address), now: Date.now() };
      const found = await cacheCalls.find(engine.native, "find", fields, (all, part) =>
        all.map((one) => one?.map(part)),
      );
      const values = [];
      for (const [at, parts] of found!.entries()) {
        const { key, address } = known[at]!;
        if (parts?.[0] === undefined) continue;
        values.push({ key, value: await load(this.#serde, parts[0], `cache entry ${quote(address.key)}`) });
      }
      return values;
    });
  }

  set(given: unknown): Promise<void> {
    return this.#handle.save(async (engine, held) => {
      const now = Date.now();
      const pairs = listOf(given, "pairs", (pair, what) => {
        if (typeof pair !== "object" || pair === null)
          throw typeError(`${what} must be an object, but is ${show(pair)}`);
        const { key, value, ttl } = pair as { key: unknown; value: unknown; ttl: unknown };
        const ttlMs = ttl === undefined || ttl === null ? this.#rules.ttlMs : millisecondsOf(ttl, `${what}.ttl`);
        return { address: this.#keyOf(key, `${what}.key`, requireId), value, ttlMs };
      });
      // The last value of each key wins.
      const last = new Map(pairs.map((pair) => [JSON.stringify(pair.address), pair]));
      if (last.size === 0) return;
      const dumped = await Promise.all(
        [...last.values()].map(async ({ address, value, ttlMs }) => ({
          address,
          expiresAt: ttlMs === undefined ? undefined : now + ttlMs,
          part: await dump(this.#serde, value, `cache entry ${quote(address.key)}`, held),
        })),
      );
      const entries = dumped.map(({ address, expiresAt, part: { tag } }) => {
        return { ...address, expiresAt, part: { name: "value", tag } };
      });
      const buffers = dumped.map(({ part }) => part.bytes);
      await cacheCalls.call(engine.native, "save", { entries, savedAt: now }, buffers);
      for (const { ttlMs } of last.values())
        if (ttlMs !== undefined) this.#shortest = Math.min(this.#shortest ?? ttlMs, ttlMs);
      this.#sweep();
    });
  }

  clear(given: unknown): Promise<void> {
    return this.#handle.run(async (engine) => {
      const namespaces: CacheNamespace[] = listOf(given, "namespaces", (one, what) => namesOf(one, what, text));
      const { prefix } = this.#rules;
      const of = namespaces
        .filter((labels) => labels.every((label) => label.isWellFormed()))
        .map((labels) => prefix.concat(labels));
      if (of.length > 0) await cacheCalls.call(engine.native, "clear", { of });
      if (namespaces.length > 0) return;
      const read = (before: number | undefined, limit: number) =>
        cacheCalls.call(engine.native, "namespaces", { before, limit });
      for await (const all of batches(read)) {
        const mine = all.filter(({ namespace }) => prefix.every((label, at) => namespace[at] === label));
        if (mine.length > 0) {
          await cacheCalls.call(engine.native, "clear", { of: mine.map(({ namespace }) => namespace) });
        }
      }
    });
  }

  #keyOf(given: unknown, what: string, label: Label): Address {
    if (!isArray(given) || given.length !== 2)
      throw typeError(`${what} must be an array of a namespace and a key, but is ${show(given)}`);
    const [namespace, key] = given as unknown[];
    const labels = namesOf(namespace, `${what}[0]`, label);
    return { namespace: [...this.#rules.prefix, ...labels], key: label(key, `${what}[1]`) };
  }

  #sweep(): void {
    this.#expiry.sweepIfDue(this.#handle, { what: "expired cache entries", ttlMs: this.#shortest, sweep: expire });
  }
}

async function expire(engine: Engine): Promise<void> {
  for (;;) {
    const of = await cacheCalls.call(engine.native, "expired", { limit: PAGE, now: Date.now() });
    if (of.length > 0) await cacheCalls.call(engine.native, "remove", { of });
    if (of.length < PAGE) return;
  }
}

type Label = (value: unknown, what: string) => string;

function listOf<T>(given: unknown, what: string, read: (one: unknown, what: string) => T): T[] {
  if (!isArray(given)) throw typeError(`${what} must be an array, but is ${show(given)}`);
  return readingArgument(what, () => [...given]).map((one, at) => read(one, `${what}[${at}]`));
}

const namesOf = (given: unknown, what: string, label: Label): string[] => listOf(given, what, label);
