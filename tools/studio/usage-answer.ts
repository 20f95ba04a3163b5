/** What the server answers to `usage` for several runs. The page uses this type, so the module uses nothing of Node. */

import type { RunUsage } from "../../ts/inspect/conversation/usage-views.js";

/** The tokens of a run in a list, without its steps and models. */
export type RunTokens = Omit<RunUsage, "steps">;

/** The tokens of the first of the runs that a request names. Null: the run is gone or cannot be read. */
export interface UsagesAnswer {
  usages: Array<RunTokens | null>;
}
