/** The traits of TinyAgents: see {@link Traits}. */

import type { Traits } from "../../plugin/traits.js";

export const tinyagents = {
  noun: "thread",
  namespaces: "subgraph",
  namespaceForm: "list",
  effects: true,
  programs: "shape",
  nodes: "next",
  // A repeatedly put checkpoint is joined from several.
  isJoined: (id) => id.includes("\0"),
  answers: true,
  answered: (id) => `graph.resume(${id}) in your program`,
  fork: { resume: (id) => `graph.resume(${id})` },
} satisfies Traits;
