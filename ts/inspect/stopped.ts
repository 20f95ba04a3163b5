/** Finds the runs that somebody has stopped. Their stored status is that of an unfinished or failed run. */

import { mayBeStopped, stopsOf } from "../store/ended-runs.js";
import type { RunStop } from "../store/results.js";
import { type Newest, newestName } from "../store/newest.js";
import { splitLineage } from "../store/ids.js";
import { newestOf } from "../plugin/pages.js";
import { type FoundRun, type Key, inspect } from "../plugin/wire.js";
import type { StoredStatus, Space } from "../plugin/views.js";
import { type Context, isMain } from "./context.js";
import { type Lineup, readLineups } from "./rows.js";

type Standing = Pick<Lineup, "page" | "current" | "status">;

/** Returns the stop of each run: its author, time and reason. Null: the run is not stopped. `keys` have the names of frameworks. */
export async function stopsIn(
  { engine }: Pick<Context, "engine">,
  keys: readonly Key[],
  lineups: readonly Standing[],
): Promise<Array<RunStop | null>> {
  const stops = keys.map((): RunStop | null => null);
  const open = [...keys.keys()].filter((at) => mayBeStopped(lineups[at]!.status));
  const found = [...new Set(open.map((at) => keys[at]!.space))].map(async (space) => {
    const places = open.filter((at) => keys[at]!.space === space);
    const runs = places.map((at) => standingOf(keys[at]!, lineups[at]!));
    for (const [index, stop] of (await stopsOf(engine.native, space, runs)).entries()) stops[places[index]!] = stop;
  });
  await Promise.all(found);
  return stops;
}

/** Returns null for a subgraph, which is stopped with its thread. */
function standingOf({ space, run, ns }: Key, { page, current, status }: Standing): Newest | null {
  const row = current ?? page.rows[0];
  if (row === undefined || !isMain(space, ns)) return null;
  return { run, ns, newest: newestName(row, current !== undefined), status };
}

/** The contract with the entries of stopped and ended runs: see `ts/store/ended-runs.ts`. */
const ENTRIES = "program";

/** The suffixes of a contract's name in the namespaces of entries. The second is for names with a namespace. */
const [ENDED, NAMED] = ["/ended", "/ended/ns"];

/** Lists the runs with an entry, the last stopped first. They may have continued since. */
async function* entriesOf({ engine }: Pick<Context, "engine">, space: Space, limit: number): AsyncGenerator<Key[]> {
  let before: number | undefined;
  for (;;) {
    const fields = { space: ENTRIES, group: `${space}${ENDED}`, before, limit };
    const found: FoundRun[] = await inspect.call(engine.native, "began", fields);
    yield found.map(({ run, ns }): Key => {
      if (ns !== `${space}${NAMED}`) return { space, run, ns: "" };
      const { threadId, namespace } = splitLineage(run);
      return { space, run: threadId, ns: namespace };
    });
    if (found.length < limit) return;
    before = found.at(-1)!.position;
  }
}

/** True if runs of a framework have entries, of stopped or of ended runs. */
export async function hasEntries(context: Pick<Context, "engine">, space: Space): Promise<boolean> {
  for await (const entries of entriesOf(context, space, 1)) return entries.length > 0;
  return false;
}

/** The number of entries that one call lists, and the maximum number of entries that are counted. */
const [PAGE, MOST] = [500, 10_000];

/** Counts the stopped runs of a framework, by their stored status. */
export async function countStopped(
  context: Context,
  space: Space,
): Promise<{ counts: Partial<Record<StoredStatus, number>>; isEstimate: boolean }> {
  const counts: Partial<Record<StoredStatus, number>> = {};
  let seen = 0;
  for await (const keys of entriesOf(context, space, PAGE)) {
    const lineups = await readLineups(context, keys.map(newestOf));
    for (const [at, stop] of (await stopsIn(context, keys, lineups)).entries()) {
      const { status } = lineups[at]!;
      if (stop !== null) counts[status] = (counts[status] ?? 0) + 1;
    }
    seen += keys.length;
    if (seen >= MOST) return { counts, isEstimate: true };
  }
  return { counts, isEstimate: false };
}

/** Lists at most `most` runs with an entry. Undefined: there are more. */
export async function fewEntries(
  context: Context,
  spaces: readonly Space[],
  most: number,
): Promise<FoundRun[] | undefined> {
  const runs: FoundRun[] = [];
  for (const space of spaces) {
    for await (const keys of entriesOf(context, space, most + 1 - runs.length)) {
      for (const key of keys) runs.push({ ...key, position: 0 });
      if (runs.length > most) return undefined;
    }
  }
  return runs;
}
