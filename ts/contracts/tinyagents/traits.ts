/** What TinyAgents is, for those who know no framework: see {@link Traits}. */

import type { Traits } from "../../plugin/traits.js";

export const tinyagents = {
  noun: "thread",
  namespaces: "subgraph",
  namespaceForm: "list",
  effects: true,
  programs: "shape",
  nodes: "next",
  // A checkpoint whose id was put several times is put together from several.
  isJoined: (id) => id.includes("\0"),
  answers: true,
  answered: (id) => `graph.resume(${id}) in your program`,
  fork: { resume: (id) => `graph.resume(${id})` },
} satisfies Traits;
