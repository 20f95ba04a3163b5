/** What the sessions of the Claude Agent SDK are, for those who know no framework: see {@link Traits}. */

import type { Traits } from "../../plugin/traits.js";

export const claudeAgentSdk = {
  noun: "session",
  namespaces: "part",
  single: true,
  madeKeys: ["entries"],
  insteadOfFork: "call the SDK's forkSession()",
} satisfies Traits;
