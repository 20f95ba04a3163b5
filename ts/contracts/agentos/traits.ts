/** The traits of AgentOS: see {@link Traits}. */

import type { Traits } from "../../plugin/traits.js";

export const agentos = {
  ordered: true,
  goesBack: true,
  effects: true,
  programs: "mark",
  mayGoOn: true,
  nodes: "label",
  groups: true,
  answers: true,
  fork: { resume: (id) => `recover(graph, store, { runs: [${id}] })` },
} satisfies Traits;
