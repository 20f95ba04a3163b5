/** Copies the answers of open questions before the later data of their runs. */

import { pluginOf } from "../contracts/index.js";
import { SPACES } from "../contracts/registry.js";
import { recentRuns } from "../plugin/pages.js";
import type { Key } from "../plugin/wire.js";
import type { Engine } from "../store/engine.js";

/** The statuses of runs that may have an open question. */
const OPEN = ["waiting", "failed"] as const;

/** The number of runs that one call lists. */
const PAGE = 500;

/** `to` must be an earlier state of `from`. Without `keys`, checks all of its runs. */
export async function copyAnswers(from: Engine, to: Engine, keys: readonly Key[] | undefined): Promise<void> {
  if (keys !== undefined) {
    for (const key of keys) await pluginOf(key.space).copyAnswers?.(from, to, key);
    return;
  }
  const spaces = SPACES.filter((space) => pluginOf(space).copyAnswers !== undefined);
  const all = { spaces, matching: "", statuses: [...OPEN], limit: PAGE };
  for await (const found of recentRuns({ engine: to }, all)) {
    for (const { space, run, ns } of found) await pluginOf(space).copyAnswers?.(from, to, { space, run, ns: ns ?? "" });
  }
}
