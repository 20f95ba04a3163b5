/** Removes runs and checkpoints. */

import { ForkpointError, isArray, quote, typeError } from "../bridge/errors.js";
import { requireId } from "../store/ids.js";
import { forced, removing } from "../store/removing.js";
import { traitsOf } from "../contracts/registry.js";
import { findCheckpoint } from "./checkpoints.js";
import { type Context, hasSubgraphs, spaceOf } from "./context.js";
import { everyRow, newestOf } from "../plugin/pages.js";
import { readLineups } from "./rows.js";
import { type Key, inspect } from "../plugin/wire.js";

export async function remove(
  context: Context,
  key: Key,
  given: unknown,
  options: unknown,
): Promise<{ removed: number }> {
  // A thread is leased with all of its namespaces.
  const ns = hasSubgraphs(key.space) ? "" : key.ns;
  const owned = removing(context.engine.native, { space: spaceOf(key.space), run: key.run, ns }, forced(options));
  if (given === undefined) {
    // A thread is removed together with its subgraphs' namespaces.
    const keys = await namespacesOf(context, key);
    const lineups = await readLineups(context, keys.map(newestOf));
    const removed = lineups.reduce((sum, { total }) => sum + total, 0);
    await inspect.call(owned, "remove", { of: key, ids: undefined, reopen: [] });
    return { removed };
  }
  if (!isArray(given)) throw typeError("ids must be a list of strings");
  const ids = new Set(given.map((id, at) => requireId(id, `ids[${at}]`)));
  for (const id of ids) {
    const found = await findCheckpoint(context, key, { id });
    if (found?.row.space === key.space) continue;
    if (found === null) throw new ForkpointError("NOT_FOUND", `run ${quote(key.run)} has no checkpoint ${quote(id)}`);
    const message = `${quote(id)} is the current state of session ${quote(key.run)}: remove the session instead`;
    throw new ForkpointError("UNSUPPORTED", message);
  }
  const reopen = traitsOf(key.space).reopens === true ? await childless(context, key, ids) : [];
  await inspect.call(owned, "remove", { of: key, ids: [...ids], reopen });
  return { removed: ids.size };
}

/** Returns the namespaces of a thread, including itself. For a key of effects: those of the effects. */
export async function namespacesOf(context: Pick<Context, "engine">, key: Key): Promise<Key[]> {
  if (key.ns !== "" || !hasSubgraphs(key.space)) return [key];
  const { space, run } = key;
  const found = await inspect.call(context.engine.native, "namespaces", { space, run });
  return found.map((ns) => ({ space, run, ns }));
}

/** Returns the remaining checkpoints that lose all of their children. */
async function childless(context: Context, key: Key, gone: ReadonlySet<string>): Promise<string[]> {
  const lose = new Set<string>();
  const keep = new Set<string>();
  for await (const { id, parent } of everyRow(context, key)) {
    if (parent !== null) (gone.has(id) ? lose : keep).add(parent.id);
  }
  return [...lose].filter((id) => !gone.has(id) && !keep.has(id));
}
