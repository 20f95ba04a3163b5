/** Lists runs, and finds one of them. */

import { typeError } from "../bridge/errors.js";
import { holdersOf } from "../store/lease.js";
import { labelsOption } from "../store/labels.js";
import { flag, oneOf, readRecord, text, whole } from "../store/options.js";
import { storedStatuses } from "../store/ended-runs.js";
import { versionsOf } from "../store/stored-programs.js";
import { storeCalls } from "../bridge/wire.js";
import { cursorOption, limitOption } from "./checkpoints.js";
import { pluginOf } from "../contracts/index.js";
import { type Context, contractsOf, isCurrent, isMain, readSpace, refOf, shownNs, spaceOf } from "./context.js";
import { recentRuns } from "../plugin/pages.js";
import { type Lineup, type Parents, infoOf, readLineups, readParents } from "./rows.js";
import { NewestFilter, fewOfGroup, fewOfStatus, fewStopped, possible, type RunQuery } from "./run-filters.js";
import { readWhy } from "./status.js";
import { stopsIn } from "./stopped.js";
import { OPEN, Strandings } from "./stranded.js";
import { firstQuestion } from "./questions/questions.js";
import { mapTogether } from "./together.js";
import { type FoundRun, type Key, inspect } from "../plugin/wire.js";
import type { CheckpointInfo, Page, RunInfo, Status } from "../plugin/views.js";

export const statuses = [
  "waiting",
  "failed",
  "unfinished",
  "stopped",
  "finished",
  "unknown",
] as const satisfies Status[];

const runOptions = {
  space: readSpace,
  group: text,
  match: text,
  status: oneOf(...statuses),
  label: labelsOption,
  version: text,
  since: whole(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, "milliseconds"),
  sort: oneOf("active", "began", "size"),
  ns: (value: unknown, name: string) => (value === null ? undefined : text(value, name)),
  allNs: flag,
  limit: limitOption,
  maxMs: whole(1, Number.MAX_SAFE_INTEGER, "milliseconds"),
  cursor: (value: unknown, name: string) => {
    const cursor = cursorOption(value, name);
    if (cursor !== undefined && !/^-?\d{1,16}$/.test(cursor))
      throw typeError(`${name} is not the cursor of a page of runs`);
    return cursor;
  },
  withWhy: flag,
  withQuestion: flag,
  withBytes: flag,
  stranded: flag,
  withStranded: flag,
};

export async function listRuns(context: Context, given: unknown): Promise<Page<RunInfo>> {
  const query: RunQuery = readRecord(given, "query", runOptions);
  const limit = query.limit ?? 100;
  const strandings = new Strandings(context);
  const candidates = sources[query.sort ?? "active"](context, query, limit, strandings);
  const items: RunInfo[] = [];
  let last: number | undefined;
  const filter = new NewestFilter(context, query, strandings);
  if (!(await filter.begin())) return { items, cursor: null };
  const end = performance.now() + (query.maxMs ?? Number.POSITIVE_INFINITY);
  for await (const batch of candidates) {
    const { runs: wanted, isPast } = await filter.narrow(batch.filter((run) => isWanted(run, query)));
    // A batch may have many more runs than a page.
    for (let from = 0; from < wanted.length; from += limit + 1) {
      const part = wanted.slice(from, from + limit + 1);
      for (const [at, info] of (await showAll(context, part, query, strandings)).entries()) {
        if (info === null || !fits(info, query)) continue;
        if (items.length === limit) return { items, cursor: String(last) };
        items.push(info);
        last = part[at]!.position;
      }
    }
    if (isPast) break;
    const reached = batch.at(-1)?.position;
    if (reached !== undefined && performance.now() > end) return { items, cursor: String(reached) };
  }
  return { items, cursor: null };
}

function isWanted({ space, run, ns, status }: FoundRun, query: RunQuery): boolean {
  const { status: wanted } = query;
  if (wanted !== undefined && status !== undefined && !storedStatuses([wanted]).includes(status)) return false;
  if (query.match !== undefined && !run.includes(query.match)) return false;
  if (query.ns !== undefined) return shownNs(space, ns) === query.ns;
  return query.allNs === true || isMain(space, ns);
}

function fits(info: RunInfo, { group, status, label, since, version, stranded }: RunQuery): boolean {
  if (stranded === true && info.stranded === null) return false;
  if (version !== undefined && !isVersion(info.version, version)) return false;
  if (group !== undefined && !(info.group ?? "").startsWith(group)) return false;
  if (status !== undefined && info.status !== status) return false;
  if (label !== undefined && !hasLabels(info.labels, label)) return false;
  return since === undefined || info.active >= since;
}

/** Returns true if all of the wanted labels are among the labels of a run. */
function hasLabels(labels: Record<string, string>, wanted: Record<string, string>): boolean {
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

/** Returns true if a name or hash belongs to a version. */
export function isVersion(version: RunInfo["version"], name: string): boolean {
  if (version === null || version.version === name) return version !== null;
  return version.version === null && name.length >= 4 && version.shape.startsWith(name);
}

/** The number of runs in one call. A filter needs many runs for a page. */
function batchSize({ match, status, label, group, since, ns, allNs, stranded }: RunQuery, limit: number): number {
  const filters = [match, status, label, group, since, ns, allNs, stranded].some((filter) => filter !== undefined);
  return filters ? 500 : limit + 1;
}

const sources = { active: byActivity, began: byBeginning, size: bySize };

async function* byActivity(
  context: Context,
  query: RunQuery,
  limit: number,
  strandings: Strandings,
): AsyncGenerator<FoundRun[]> {
  const after = query.cursor === undefined ? undefined : Number(query.cursor);
  const few = (await fewOfGroup(context, query)) ?? (await fewStopped(context, query));
  if (few !== undefined) {
    yield few.filter(({ position }) => after === undefined || position < after);
    return;
  }
  const only = query.stranded === true;
  const statuses = query.status ? storedStatuses([query.status]) : only ? OPEN : undefined;
  const spaces = only ? await strandings.spaces(query.space) : contractsOf(query.space);
  if (spaces.length === 0) return;
  const fields = {
    spaces: possible(spaces, query),
    matching: query.match ?? "",
    statuses,
    labels: query.label,
    after,
  };
  // The engine itself compares the name, the stored status and the labels.
  const { match: _, status, label: __, ...others } = query;
  const left = status === "stopped" ? { ...others, status } : others;
  yield* recentRuns(context, { ...fields, limit: batchSize(left, limit) });
}

/** Merges the lists of all contracts. Positions count over all contracts. */
async function* byBeginning(context: Context, query: RunQuery, limit: number): AsyncGenerator<FoundRun[]> {
  const { native } = context.engine;
  const size = batchSize(query, limit);
  const group = query.group ?? "";
  const before = query.cursor === undefined ? undefined : Number(query.cursor);
  const few = await fewOfStatus(context, query, contractsOf(query.space));
  if (few !== undefined) {
    yield few.filter(({ position }) => before === undefined || position < before);
    return;
  }
  const lists = (await heldBy(context, possible(contractsOf(query.space), query))).map((space) => ({
    space,
    runs: [] as FoundRun[],
    before,
    done: false,
  }));
  for (;;) {
    for (const list of lists) {
      if (list.done || list.runs.length > 0) continue;
      list.runs = await inspect.call(native, "began", { space: list.space, group, before: list.before, limit: size });
      list.done = list.runs.length < size;
      list.before = list.runs.at(-1)?.position;
    }
    // Yield the runs down to this position. Below it, an unfinished list may still return a run that comes first.
    const reached = Math.max(...lists.filter(({ done }) => !done).map(({ runs }) => runs.at(-1)!.position), -Infinity);
    const batch = lists.flatMap(({ runs }) => runs.filter(({ position }) => position >= reached));
    for (const list of lists) list.runs = list.runs.filter(({ position }) => position < reached);
    if (batch.length === 0) return;
    yield batch.toSorted((a, b) => b.position - a.position);
  }
}

/** Returns the contracts that have runs. */
async function heldBy({ engine }: Context, contracts: readonly string[]): Promise<string[]> {
  const spaces = await inspect.call(engine.native, "spaces", {});
  return contracts.filter((contract) => spaces.some(({ space, runs }) => space === contract && runs > 0));
}

/** The maximum number of runs that are sorted by size. */
const LARGEST = 1000;

/** Yields runs, the largest first. The position of a run is its index in this order. */
async function* bySize(context: Context, query: RunQuery): AsyncGenerator<FoundRun[]> {
  const { native } = context.engine;
  const found = [];
  for (const contract of await heldBy(context, possible(contractsOf(query.space), query))) {
    found.push(...(await storeCalls.call(native, "stats", { contract, largest: LARGEST })).largest);
  }
  const sorted = found.toSorted((a, b) => b.storedBytes - a.storedBytes);
  // The list can contain a run twice: for its checkpoints, and for its current state.
  const seen = new Set<string>();
  const once = sorted.filter(({ space, run, ns }) => {
    if (run === null) return false;
    const name = JSON.stringify([spaceOf(space ?? ""), run, ns]);
    return !seen.has(name) && seen.add(name);
  });
  const runs = once.map(({ space, run, ns }, position) => ({ position, space: space!, run: run!, ns }));
  yield runs.filter(({ position }) => query.cursor === undefined || position > Number(query.cursor));
}

/**
 * Converts runs to their public type. Returns null for a run that no longer exists, and for the second entry of a run.
 */
async function showAll(
  context: Context,
  runs: readonly FoundRun[],
  options: RunQuery,
  strandings = new Strandings(context),
): Promise<Array<RunInfo | null>> {
  const keys = runs.map(({ space, run, ns }): Key => ({ space: spaceOf(space), run, ns: ns ?? "" }));
  const sums = options.withBytes === true;
  const lineups = await readLineups(
    context,
    keys.map((key) => ({ ...key, from: { step: -1 }, newestFirst: true, limit: 2, sums })),
  );
  const [leases, stops] = await Promise.all([holders(context, keys), stopsIn(context, keys, lineups)]);
  const seen = new Set<string>();
  const byActivity = options.sort === undefined || options.sort === "active";
  const isFound = byActivity && (options.status !== undefined || options.label !== undefined);
  const isShown = keys.map((key, at) => {
    const { current, page } = lineups[at]!;
    const { position, space } = runs[at]!;
    const name = JSON.stringify(key);
    // A run with a current state is in two lists: one for this state, and one for its checkpoints.
    const others = [current, page.rows[0]].filter((row) => row !== undefined && row.space !== space);
    const isFirst = isFound
      ? // The current state decides the status and the labels, and an index may have found only this one.
        current === undefined || isCurrent(space)
      : options.sort === "size" ||
        others.every((row) => (options.sort === "began" ? !isCurrent(row!.space) : row!.seq < position));
    if ((current ?? page.rows[0]) === undefined || !isFirst || seen.has(name)) return false;
    seen.add(name);
    return true;
  });
  const newest = lineups.flatMap(({ page }, at) => (isShown[at] ? page.rows.slice(0, 1) : []));
  const parents = await readParents(
    context,
    newest,
    lineups.flatMap(({ page }) => page.rows),
  );
  const shown = await mapTogether([...keys.keys()], async (at) =>
    isShown[at]
      ? runInfo(context, lineups[at]!, { lease: leases[at]!, stopped: stops[at]! }, parents, options, strandings)
      : null,
  );
  await nameVersions(context, shown);
  return shown;
}

/** Fills in the names of the versions of runs. */
async function nameVersions({ engine }: Context, runs: ReadonlyArray<RunInfo | null>): Promise<void> {
  const shaped = runs.filter((info): info is RunInfo => info !== null && info.version !== null);
  for (const space of new Set(shaped.map((info) => info.space))) {
    const own = shaped.filter((info) => info.space === space);
    const versions = await versionsOf(
      engine.native,
      space,
      own.map((info) => info.version!.shape),
    );
    for (const [at, info] of own.entries()) info.version = versions[at]!;
  }
}

async function holders({ engine }: Context, keys: readonly Key[]): Promise<Array<RunInfo["lease"]>> {
  const leases = new Map<string, RunInfo["lease"]>();
  for (const space of new Set(keys.map((key) => key.space))) {
    const runs = keys.filter((key) => key.space === space && key.ns === "").map(({ run }) => run);
    const found = await holdersOf(engine.native, space, runs);
    for (const [at, holder] of found.entries()) leases.set(JSON.stringify([space, runs[at]]), holder);
  }
  return keys.map(({ space, run, ns }) => (ns === "" ? (leases.get(JSON.stringify([space, run])) ?? null) : null));
}

type ReadOptions = Pick<RunQuery, "withWhy" | "withQuestion" | "withBytes" | "stranded" | "withStranded">;

/** Shows a run that has at least one checkpoint. */
async function runInfo(
  context: Context,
  { page, current, total, status, labels }: Lineup,
  { lease, stopped }: Pick<RunInfo, "lease" | "stopped">,
  parents: Parents,
  {
    withWhy = false,
    withQuestion = withWhy,
    withBytes = false,
    stranded = false,
    withStranded = stranded,
  }: ReadOptions,
  strandings: Strandings,
): Promise<RunInfo> {
  const rows = current === undefined ? page.rows : [current, ...page.rows];
  const [newest, before] = rows as [Lineup["page"]["rows"][0], Lineup["page"]["rows"][0] | undefined];
  const latest = infoOf(context, newest, before, parents(newest));
  const ref = refOf(newest);
  const { origin, sums } = page;
  return {
    ...ref,
    group: newest.group,
    checkpoints: total,
    began: sums === null ? null : page.rows.length > 0 ? sums.began : newest.savedAt,
    active: newest.savedAt,
    latest,
    forkedFrom: origin && { ...ref, run: origin.run ?? ref.run, ns: shownNs(ref.space, origin.ns), id: origin.id },
    status: stopped === null ? status : "stopped",
    stopped,
    labels,
    question:
      withQuestion && status === "waiting"
        ? await firstQuestion(context, { ...ref, ns: newest.ns ?? "" }, newest)
        : null,
    statusWhy: withWhy ? await readWhy(context, newest, status, stopped) : null,
    bytes: withBytes && sums !== null ? { logical: sums.logical, stored: sums.stored } : null,
    version: versionIn(newest, latest),
    lease,
    stranded: withStranded && lease === null ? await strandings.why(newest, status) : null,
  };
}

/** Returns the version of a checkpoint, still without its name. */
function versionIn({ shape, space }: Lineup["page"]["rows"][0], { meta }: CheckpointInfo): RunInfo["version"] {
  const given = shape ?? pluginOf(space).maker?.(meta).shape;
  return typeof given === "string" ? { version: null, shape: given } : null;
}

const oneOptions = { withWhy: flag, withQuestion: flag, withBytes: flag, withStranded: flag };

export async function findRun(context: Context, key: Key, given: unknown): Promise<RunInfo | null> {
  const options = readRecord(given, "options", oneOptions);
  const wanted = { ...key, from: { step: -1 }, newestFirst: true, limit: 2, sums: true };
  const [lineup] = await readLineups(context, [wanted]);
  if (lineup!.total === 0) return null;
  const [[lease = null], [stopped = null]] = await Promise.all([
    holders(context, [key]),
    stopsIn(context, [key], [lineup!]),
  ]);
  const { rows } = lineup!.page;
  const parents = await readParents(context, rows.slice(0, 1), rows);
  const info = await runInfo(context, lineup!, { lease, stopped }, parents, options, new Strandings(context));
  await nameVersions(context, [info]);
  return info;
}

/** Lists the runs that began from a checkpoint of this run. */
export async function listForks(context: Context, key: Key): Promise<RunInfo[]> {
  const found = await inspect.call(context.engine.native, "forks", key);
  const shown = await showAll(context, found, { sort: "size" });
  return shown.filter((info) => info !== null);
}
