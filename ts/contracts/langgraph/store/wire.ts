/**
 * Declares the engine's calls for LangGraph's store and cache. See `engine/src/contract/langgraph/store/` and `cache.rs`. Times are in
 * ms since the epoch.
 */

import { Contract, type PackedPart } from "../../../bridge/wire.js";

/** Names an item or an entry. */
export interface Address {
  namespace: string[];
  key: string;
}

/** The place of an item in listings: the time of its first save, and a number that orders items of the same time. */
export interface Place {
  createdAt: number;
  number: number;
}

export interface FoundItem<P = PackedPart> extends Address {
  place: Place;
  updatedAt: number;
  /** True if it expires, unless it is read before. */
  expires: boolean;
  hasExpired: boolean;
  /** The value, if it is not in the part. */
  value: Record<string, unknown> | null;
  parts: P[];
}

export interface NewItem extends Address {
  place: Place;
  /** What the item replaces. */
  seen: "none" | { at: Place };
  expiry: { updatedAt: number; ttlMs: number } | undefined;
  tag: string;
  inMeta: boolean;
}

export type Operand =
  "undefined" | "null" | "composite" | "other" | "unsure" | { bool: boolean } | { number: string } | { text: string };

/** A condition on a literal key of a value. */
export interface Condition {
  key: string;
  op: "in" | "nin" | "gt" | "gte" | "lt" | "lte";
  operands: Operand[];
}

/** A condition on the labels of a namespace. Null: any label. */
export interface Match {
  suffix: boolean;
  labels: Array<string | null>;
}

/** An item that has expired. */
export interface Expired extends Address {
  savedAt: number;
}

interface StoreCalls {
  /** Returns null for an item that does not exist. */
  find(fields: { of: Address[]; now: number }): Array<FoundItem | null>;
  /** Takes a buffer for each of `puts`. Fails with `CONFLICT` if one of them is not as it was seen. */
  save(fields: { puts: NewItem[]; removed: Address[]; touched: Address[]; savedAt: number }): null;
  search(fields: {
    prefix: string[];
    texts: string[];
    conditions: Condition[];
    after: string | undefined;
    skip: number;
    limit: number;
    now: number;
  }): { items: Array<FoundItem & { unsure: boolean }>; skipped: number; next: string | null };
  namespaces(fields: {
    matching: Match[];
    maxDepth: number | undefined;
    before: number | undefined;
    limit: number;
    now: number;
  }): { found: string[][]; unsure: string[][]; next: string | null };
  alive(fields: { of: string[][]; now: number }): boolean[];
  expired(fields: { before: number; after: string | undefined; limit: number; now: number }): {
    items: Expired[];
    next: string | null;
  };
  /** Fails with `CONFLICT` if one of them was saved again. */
  expire(fields: { of: Expired[] }): null;
}

export const storeCalls = new Contract<StoreCalls>("langgraph-store", {
  kinds: { save: "save", expire: "prune" },
  counts: {
    find: (found) => found.filter((item) => item !== null).length,
    search: ({ items }) => items.length,
    namespaces: ({ found }) => found.length,
    expired: ({ items }) => items.length,
    expire: (_, { of }) => of.length,
  },
});

interface CacheCalls {
  /** Returns null for an entry that does not exist or has expired. */
  find(fields: { of: Address[]; now: number }): Array<PackedPart[] | null>;
  /** Takes a buffer for each of `entries`. */
  save(fields: {
    entries: Array<Address & { expiresAt: number | undefined; part: { name: string; tag: string } }>;
    savedAt: number;
  }): null;
  clear(fields: { of: string[][] }): null;
  namespaces(fields: { before: number | undefined; limit: number }): Array<{ namespace: string[]; cursor: string }>;
  expired(fields: { limit: number; now: number }): Address[];
  remove(fields: { of: Address[] }): null;
}

export const cacheCalls = new Contract<CacheCalls>("langgraph-cache", {
  kinds: { save: "save", clear: "prune", remove: "prune" },
  counts: {
    find: (found) => found.filter((entry) => entry !== null).length,
    remove: (_, { of }) => of.length,
  },
});
