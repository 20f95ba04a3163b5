/** The lines of a search, for server and page. */

import type { SearchHit, SearchProgress } from "../../ts/inspect/search-views.js";

/** A line of the answer. The last one is `done` or `error`. */
export type GrepLine =
  | ({ type: "hit" } & SearchHit)
  | ({ type: "progress" } & SearchProgress)
  | ({ type: "done" } & SearchProgress)
  | { type: "error"; error: { code: string; message: string; retryable: boolean } };
