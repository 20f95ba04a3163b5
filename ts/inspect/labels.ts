/** Changes the labels of runs. */

import { ForkpointError, quote, typeError } from "../bridge/errors.js";
import { labelChanges } from "../store/labels.js";
import { type Context, isMain, spaceOf } from "./context.js";
import { newestOf } from "../plugin/pages.js";
import { readLineups } from "./rows.js";
import { type Key, inspect } from "../plugin/wire.js";

export async function setLabels(context: Context, key: Key, given: unknown): Promise<void> {
  if (!isMain(key.space, key.ns)) throw typeError("ns: a namespace has no labels of its own: leave ns out");
  const changes = labelChanges(given, "labels");
  const [lineup] = await readLineups(context, [newestOf(key)]);
  const { page, current, total } = lineup!;
  if (total === 0) throw new ForkpointError("NOT_FOUND", `run ${quote(key.run)} of ${spaceOf(key.space)} not found`);
  // A run with a current state has one or two lineages, with the same labels.
  const spaces = [...(page.checkpoints > 0 ? [key.space] : []), ...(current === undefined ? [] : [current.space])];
  await inspect.call(context.engine.native, "setLabels", { spaces, run: key.run, ns: key.ns, changes });
}
