/** The traits of the OpenAI Agents SDK's sessions and saved states: see {@link Traits}. */

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
