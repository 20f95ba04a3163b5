/** The traits of LangGraph's threads, stores and caches: see {@link Traits}. */

import type { Traits } from "../../plugin/traits.js";
import { isOwn } from "./own.js";

export const langgraph = {
  noun: "thread",
  namespaces: "subgraph",
  effects: true,
  programs: "mark",
  nodes: "next",
  reopens: true,
  isOwn,
  owner: "LangGraph's",
  answers: true,
  fork: { inPlace: true, resume: (id) => `recover(graph, saver, { threads: [${id}] })` },
} satisfies Traits;

export const store = {
  ordered: true,
  records: true,
  insteadOfFork: "put the items into another namespace",
} satisfies Traits;

export const cache = {
  leases: false,
  ordered: true,
  records: true,
  insteadOfFork: "entries are computed again where they are needed",
} satisfies Traits;
