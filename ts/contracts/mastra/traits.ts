/** The traits of Mastra's workflows and memory: see {@link Traits}. */

import type { Traits } from "../../plugin/traits.js";

export const mastra = {
  namespaces: "part",
  ordered: true,
  goesBack: true,
  effects: true,
  fork: {},
} satisfies Traits;

export const threads = {
  noun: "thread",
  ordered: true,
  records: true,
  beside: ["mastra-threads/rows"],
  // A resource belongs to several threads.
  shared: ["mastra-resources"],
  insteadOfFork: "call copyThread() of the memory, with messageFilter",
} satisfies Traits;

export const resources = {
  single: true,
  insteadOfFork: "save the working memory as another resource",
} satisfies Traits;
