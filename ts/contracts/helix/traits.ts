/** The traits of Helix: see {@link Traits}. */

import type { Traits } from "../../plugin/traits.js";

/** The contract with a row for each session. */
export const SESSIONS = "helix-sessions";

export const helix = {
  noun: "session",
  ordered: true,
  current: SESSIONS,
  effects: true,
  // The messages are records of a log.
  isJoined: () => true,
  // Most checkpoints have the same status.
  stepName({ stepCount, lastRole }, label) {
    if (typeof stepCount !== "number") return undefined;
    return `step ${stepCount}: ${typeof lastRole === "string" ? lastRole : (label ?? "-")}`;
  },
  fork: { resume: (id) => `run your agent with the session id ${id}` },
} satisfies Traits;
