/**
 * Declares the engine's calls for LangGraph's store and cache. See `engine/src/contract/langgraph/store/` and `cache.rs`. Times are in
 * ms since the epoch.
 */

import type { CallsOf } from "../../../bridge/calls.js";
import type * as engine from "../../../bridge/calls.generated.js";
import { Contract, type Unpacked } from "../../../bridge/wire.js";

export type Address = engine.langgraph_store.Address;

export type Position = engine.langgraph_store.Position;

export type FoundItem = Unpacked<engine.langgraph_store.FoundItem>;

export type NewItem = engine.langgraph_store.NewItem;

export type Operand = engine.langgraph_store.Operand;
export type Condition = engine.langgraph_store.Condition;

export type Match = engine.langgraph_store.Match;

export type Expired = engine.langgraph_store.Listed;

type StoreCalls = CallsOf<engine.langgraph_store.Call, engine.langgraph_store.Responses>;

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

type CacheCalls = CallsOf<engine.langgraph_cache.Call, engine.langgraph_cache.Responses>;

export const cacheCalls = new Contract<CacheCalls>("langgraph-cache", {
  kinds: { save: "save", clear: "prune", remove: "prune" },
  counts: {
    find: (found) => found.filter((entry) => entry !== null).length,
    remove: (_, { of }) => of.length,
  },
});
