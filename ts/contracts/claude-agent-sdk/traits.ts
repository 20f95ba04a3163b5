/** The traits of the Claude Agent SDK's sessions: see {@link Traits}. */

import type { Traits } from "../../plugin/traits.js";

export const claudeAgentSdk = {
  noun: "session",
  namespaces: "part",
  single: true,
  madeKeys: ["entries"],
  insteadOfFork: "call the SDK's forkSession()",
} satisfies Traits;
