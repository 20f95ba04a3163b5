/** The traits of Agentium and its storage drivers: see {@link Traits}. */

import type { Traits } from "../../plugin/traits.js";

export const agentium = {
  ordered: true,
  goesBack: true,
  effects: true,
  programs: "shape",
  nodes: "label",
  isLast: ({ stepIndex, steps }) => typeof steps === "number" && Number(stepIndex) + 1 >= steps,
  fork: { resume: (id) => `workflow.runWithCheckpoints({ runId: ${id}, resume: true })` },
} satisfies Traits;

export const storage = {
  namespaces: "part",
  emptyNamespace: true,
  leases: false,
  single: true,
  insteadOfFork: "save the value under another key",
} satisfies Traits;
