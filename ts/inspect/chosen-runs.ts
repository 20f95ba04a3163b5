/** Chooses the runs that a copy copies. */

import { ForkpointError, isArray, quote, typeError } from "../bridge/errors.js";
import { whole } from "../store/options.js";
import { endedKey, programIds, programKeys } from "../store/stored-programs.js";
import { traitsOf } from "../contracts/registry.js";
import {
  type Context,
  contractsOf,
  effectsOf,
  hasSubgraphs,
  isMain,
  isOfEffects,
  readKey,
  readSpace,
  spaceOf,
} from "./context.js";
import { namespacesOf } from "./remove.js";
import { hasEntries } from "./stopped.js";
import { newestOf, readPages } from "../plugin/pages.js";
import { type FoundRun, type Key, inspect } from "../plugin/wire.js";
import type { Space } from "../plugin/views.js";

/** The options that choose the runs to copy. */
export interface Choice {
  runs?: Key[] | undefined;
  space?: Space | undefined;
  since?: number | undefined;
}

export const choiceOptions = {
  runs: (value: unknown, name: string): Key[] => {
    if (!isArray(value)) throw typeError(`${name} must be a list of runs`);
    return value.map(readKey);
  },
  space: (value: unknown): Space => readSpace(value),
  since: whole(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, "milliseconds"),
};

/** A run with all of its lineages: the namespaces of a thread, the messages and the state of a session, the effects. */
export interface ChosenRun {
  /** The keys of its effects come last. */
  keys: Key[];
  checkpoints: number;
  /** The number of its checkpoints and effects. */
  rows: number;
  /** The save number of its first checkpoint. */
  first: number;
  /** The time of its last activity, in ms since the epoch. */
  active: number;
}

/** The number of runs that one call lists. */
const PAGE = 500;

/** Returns the runs to copy. A fork comes after its source. */
export async function chosenRuns(context: Pick<Context, "engine">, choice: Choice): Promise<ChosenRun[]> {
  const { runs, space, since = -Infinity } = choice;
  const keys = runs === undefined ? await allKeys(context, space) : await keysOf(context, runs);
  const groups = new Map<string, ChosenRun>();
  for (let at = 0; at < keys.length; at += PAGE) {
    const page = keys.slice(at, at + PAGE);
    const newest = await readPages(context, page.map(newestOf));
    const oldest = await readPages(
      context,
      page.map((key) => ({ ...newestOf(key), newestFirst: false })),
    );
    for (const [number, key] of page.entries()) {
      const space = spaceOf(key.space);
      const name = JSON.stringify(isMain(space, null) ? [space, key.run, key.ns] : [space, key.run]);
      const group = groups.get(name) ?? { keys: [], checkpoints: 0, rows: 0, first: Infinity, active: -Infinity };
      groups.set(name, group);
      group.keys.push(key);
      group.rows += newest[number]!.checkpoints;
      if (!isOfEffects(key.space)) {
        group.checkpoints += newest[number]!.checkpoints;
        group.first = Math.min(group.first, oldest[number]!.rows[0]?.seq ?? Infinity);
      }
      group.active = Math.max(group.active, newest[number]!.rows[0]?.savedAt ?? -Infinity);
    }
  }
  const found = [...groups.values()];
  for (const { keys } of found) keys.sort((a, b) => Number(isOfEffects(a.space)) - Number(isOfEffects(b.space)));
  const missing = found.find(({ rows }) => rows === 0)?.keys[0];
  if (runs !== undefined && missing !== undefined) {
    throw new ForkpointError("NOT_FOUND", `there is no run ${quote(missing.run)} in ${missing.space}: list the runs`);
  }
  const wanted = found.filter(
    ({ active, keys: [key] }) =>
      active >= since && (space === undefined || contractsOf(space).includes(spaceOf(key!.space))),
  );
  return withPrograms(context, runs === undefined ? wanted : wanted.toSorted((a, b) => a.first - b.first));
}

/** Adds the frameworks' programs before their runs, and the notes of programs about the runs. */
async function withPrograms({ engine }: Pick<Context, "engine">, chosen: ChosenRun[]): Promise<ChosenRun[]> {
  const programs: ChosenRun[] = [];
  const withEntries = new Set<string>();
  for (const space of new Set(chosen.map(({ keys: [key] }) => spaceOf(key!.space)))) {
    const keys = programKeys(space, await programIds(engine.native, space));
    // Only programs end runs. Stopped runs need no program.
    if (keys.length > 0 || (await hasEntries({ engine }, space))) withEntries.add(space);
    if (keys.length > 0)
      programs.push({ keys, checkpoints: keys.length, rows: keys.length, first: -Infinity, active: -Infinity });
  }
  const noted = chosen.map((run) => {
    const { space, run: name, ns } = run.keys[0]!;
    const of = { space: spaceOf(space), run: name, ns: hasSubgraphs(space) ? "" : ns };
    return withEntries.has(of.space) ? { ...run, keys: [...run.keys, endedKey(of)] } : run;
  });
  return [...programs, ...noted];
}

/** Returns the keys of these runs, of their namespaces, sessions and effects, without repetitions. */
export async function keysOf(context: Pick<Context, "engine">, runs: readonly Key[]): Promise<Key[]> {
  const keys = new Map<string, Key>();
  for (const run of runs) {
    const { current, beside = [] } = traitsOf(run.space);
    const own = [current ?? [], beside].flat().map((space): Key => ({ space, run: run.run, ns: run.ns }));
    const parts = own.length === 0 ? await namespacesOf(context, run) : [run, ...own];
    // If the thread does not exist, use the given key.
    const effects = effectsOf(run.space);
    const more = effects === undefined ? [] : await namespacesOf(context, { ...run, space: effects });
    for (const key of [...(parts.length === 0 ? [run] : parts), ...more]) {
      keys.set(JSON.stringify([key.space, key.run, key.ns]), key);
    }
  }
  return [...keys.values()];
}

/** Returns the keys of all runs in the order in which the runs began. A fork therefore comes after its source. */
async function allKeys({ engine }: Pick<Context, "engine">, space: Space | undefined): Promise<Key[]> {
  const found: FoundRun[] = [];
  const runs = contractsOf(space);
  const contracts = new Set([
    ...runs,
    ...runs.flatMap((each) => [traitsOf(each).beside ?? [], traitsOf(each).shared ?? []].flat()),
  ]);
  for (const contract of [...contracts, ...[...contracts].map(effectsOf).filter((effects) => effects !== undefined)]) {
    let before: number | undefined;
    for (;;) {
      const page = await inspect.call(engine.native, "began", { space: contract, group: "", before, limit: PAGE });
      found.push(...page);
      if (page.length < PAGE) break;
      before = page.at(-1)!.position;
    }
  }
  const sorted = found.toSorted((a, b) => a.position - b.position);
  const keys = sorted.map((run): Key => ({ space: run.space, run: run.run, ns: run.ns ?? "" }));
  // A run with a current state may be in two lists. Return its two keys once, that of the checkpoints and messages
  // first.
  const seen = new Set<string>();
  return keys.flatMap((key) => {
    const space = spaceOf(key.space);
    const { current } = traitsOf(space);
    if (current === undefined || (key.space !== space && key.space !== current)) return [key];
    const name = JSON.stringify([space, key.run]);
    if (seen.has(name)) return [];
    seen.add(name);
    return [
      { ...key, space },
      { ...key, space: current },
    ];
  });
}
