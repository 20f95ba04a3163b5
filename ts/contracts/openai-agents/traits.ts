/** What the sessions and saved states of the OpenAI Agents SDK are, for those who know no framework: see {@link Traits}. */

import type { Traits } from "../../plugin/traits.js";

export const sessions = {
  noun: "session",
  single: true,
  madeKeys: ["items"],
  insteadOfFork: "call fork() of a ForkpointSession",
} satisfies Traits;

export const states = {
  ordered: true,
  effects: true,
  insteadOfFork: "save the state as another run",
} satisfies Traits;
