/** The server's answer to `usage` for several runs. Uses nothing of Node, because the page uses this type. */

import type { RunUsage } from "../../ts/inspect/conversation/usage-views.js";

/** The tokens of a run in a list, without its steps and models. */
export type RunTokens = Omit<RunUsage, "steps">;

/** The tokens of the first runs of a request. Null: the run is gone or cannot be read. */
export interface UsagesAnswer {
  usages: Array<RunTokens | null>;
}
