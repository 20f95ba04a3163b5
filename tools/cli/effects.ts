/** Finds the run of effects. */

import { ForkpointError, quote } from "../../ts/bridge/errors.js";
import { safeText } from "../../ts/bridge/json-form/json-text.js";
import type { Context } from "./context.js";
import { describe } from "./errors.js";
import { type RunOptions, findRun, refOf } from "./find.js";
import type { EffectInfo, RunRef } from "../../ts/plugin/views.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

/** Finds the run of effects, like {@link findRun}. A run without checkpoints needs its exact id. */
export async function findRunOfEffects(
  context: Context,
  inspector: Inspector,
  id: string,
  where: RunOptions,
): Promise<RunRef> {
  try {
    return refOf(await findRun(context, inspector, id, where));
  } catch (error) {
    if (describe(error).code !== "NOT_FOUND") throw error;
    const { space, ns } = where;
    const spaces = (await inspector.info()).spaces.filter((each) => each.effects > 0).map((each) => each.space);
    for (const each of space === undefined ? spaces : [space]) {
      const run = { space: each, run: id, ns };
      if ((await inspector.effects(run)).length > 0) return run;
    }
    throw error;
  }
}

/** Finds an effect of a run by its key: the last begun one, or that of a branch. */
export async function findEffect(
  inspector: Inspector,
  run: RunRef,
  key: string,
  branch: number | undefined,
): Promise<EffectInfo> {
  const all = await inspector.effects(run);
  const found = all.findLast((each) => each.key === key && (branch === undefined || each.branch === branch));
  if (found !== undefined) return found;
  const keys = [...new Set(all.map((each) => each.key))];
  const how = keys.length === 0 ? "it has no effects" : `it has ${keys.slice(0, LISTED).map(quote).join(", ")}`;
  throw new ForkpointError("NOT_FOUND", `run ${quote(run.run)} has no effect ${quote(key)}: ${how}`);
}

/** The maximum number of keys that a message lists. */
const LISTED = 10;

/** Names an effect in the output. */
export const effectText = ({ key, run }: EffectInfo): string =>
  `the effect ${safeText(JSON.stringify(key))} of run ${safeText(JSON.stringify(run))}`;
