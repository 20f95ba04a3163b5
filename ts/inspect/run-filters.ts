/** Finds the runs of a filter without an index, without converting every run. */

import { storedStatuses } from "../store/ended-runs.js";
import { programsIn } from "../store/stored-programs.js";
import { pluginOf } from "../contracts/index.js";
import { WITH_PROGRAMS, spacesWith } from "../contracts/registry.js";
import { type Context, shownNs, spaceOf } from "./context.js";
import { newestOf } from "../plugin/pages.js";
import { readLineups } from "./rows.js";
import { fewEntries } from "./stopped.js";
import type { Strandings } from "./stranded.js";
import { mapTogether } from "./together.js";
import { type FoundRun, type Row, inspect, openFeed } from "../plugin/wire.js";
import type { Space, Status } from "../plugin/views.js";

/** Selects and orders runs. */
export interface RunQuery {
  space?: Space | undefined;
  /** Only runs whose group begins with this text. */
  group?: string | undefined;
  /** Only runs whose id contains this text. */
  match?: string | undefined;
  /** Only runs with this status. */
  status?: Status | undefined;
  /** Only runs that have all of these labels. */
  label?: Record<string, string> | undefined;
  /**
   * Only runs whose newest checkpoint was made by this version of their program. The hash, or at least its first 4
   * characters, names a version without a name.
   */
  version?: string | undefined;
  /** Only open runs that do not fit the version of their program that started last: see {@link RunInfo.stranded}. */
  stranded?: boolean | undefined;
  /** Only runs that were active at this time or later, in ms since the epoch. */
  since?: number | undefined;
  /** The order: last active first (the default), last begun first, or largest first. */
  sort?: "active" | "began" | "size" | undefined;
  /** Only this namespace. Default: only the graphs themselves. */
  ns?: string | undefined;
  /** All namespaces. Default: false. */
  allNs?: boolean | undefined;
  /** The length of a page. Default: 100. At most 1,000. */
  limit?: number | undefined;
  /**
   * The time limit of the page, in ms. The page may then have fewer runs than `limit`. A non-null cursor means that
   * there may be more. Default: no limit.
   */
  maxMs?: number | undefined;
  cursor?: string | null | undefined;
  /** Whether to read the reason for each run's status. Default: false. */
  withWhy?: boolean | undefined;
  /** Whether to read the question of each waiting run. Default: the value of `withWhy`. */
  withQuestion?: boolean | undefined;
  /** Whether to add up the size of each run. Default: false. */
  withBytes?: boolean | undefined;
  /** Whether to compare each open run with its program: see {@link RunInfo.stranded}. Default: the value of `stranded`. */
  withStranded?: boolean | undefined;
}

/** Leaves out the contracts that cannot have a matching run. */
export const possible = (spaces: readonly string[], { ns }: RunQuery): string[] =>
  spaces.filter((space) => ns === undefined || shownNs(spaceOf(space), "") !== null);

/** Filters runs by the parts of a query that need their newest checkpoints. */
export class NewestFilter {
  readonly #context: Context;
  readonly #query: RunQuery;
  /** The hashes of the programs with the version's name. */
  #shapes: ReadonlySet<string> | undefined;

  readonly #strandings: Strandings;

  constructor(context: Context, query: RunQuery, strandings: Strandings) {
    this.#context = context;
    this.#query = query;
    this.#strandings = strandings;
  }

  /** Returns false if no run can have the version. */
  async begin(): Promise<boolean> {
    const { version, space } = this.#query;
    if (version === undefined) return true;
    const { native } = this.#context.engine;
    const spaces = WITH_PROGRAMS.filter((each) => (space ?? each) === each);
    const programs = (await Promise.all(spaces.map((each) => programsIn(native, each)))).flat();
    const named = programs.filter(({ shape }) => shape.version === version);
    this.#shapes = new Set(named.map(({ id }) => id));
    // The beginning of its hash names a version without a name.
    return this.#shapes.size > 0 || (version.length >= 4 && programs.some(({ id }) => id.startsWith(version)));
  }

  /**
   * Returns the runs that may match. `isPast`: all of these runs, and all later ones, were last active before the
   * query's time.
   */
  async narrow(runs: readonly FoundRun[]): Promise<{ runs: readonly FoundRun[]; isPast: boolean }> {
    const { group = "", since, version, stranded = false } = this.#query;
    if ((group === "" && since === undefined && version === undefined && !stranded) || runs.length === 0) {
      return { runs, isPast: false };
    }
    const keys = runs.map(({ space, run, ns }) => ({ space: spaceOf(space), run, ns: ns ?? "" }));
    const lineups = await readLineups(this.#context, keys.map(newestOf));
    const rows = lineups.map(({ current, page }) => current ?? page.rows[0]);
    const fitting = [...runs.keys()].filter((at) => rows[at] !== undefined && this.#fits(rows[at]));
    const isWanted = async (at: number) =>
      !stranded || (await this.#strandings.why(rows[at]!, lineups[at]!.status)) !== null;
    const wanted = new Set(await mapTogether(fitting, async (at) => ((await isWanted(at)) ? at : undefined)));
    const kept = runs.filter((_, at) => wanted.has(at));
    const isOld = (row: Row | undefined): boolean => row === undefined || row.savedAt < since!;
    const byActivity = (this.#query.sort ?? "active") === "active";
    const isPast =
      byActivity && since !== undefined && rows.every(isOld) && !(await this.#hasNewer(runs.at(-1)!, since));
    return { runs: kept, isPast };
  }

  #fits({ group, savedAt, space, shape }: Row): boolean {
    const { group: prefix = "", since, version } = this.#query;
    if (!(group ?? "").startsWith(prefix) || (since !== undefined && savedAt < since)) return false;
    // A shape that only the metadata has is read later.
    if (version === undefined || pluginOf(space).maker !== undefined) return true;
    return shape !== null && (this.#shapes!.has(shape) || shape.startsWith(version));
  }

  /**
   * Examines some checkpoints before a run's newest one. Usually none is newer. After a copy of runs into the store, or
   * a change of the clock, many consecutive ones are.
   */
  async #hasNewer({ position }: FoundRun, since: number): Promise<boolean> {
    const places = new Set<number>();
    for (let n = 1; n < SAMPLES; n++) places.add(Math.floor((position * n) / SAMPLES));
    for (let back = 1; back < position; back *= 2) places.add(position - back);
    const found = await Promise.all([...places].map((after) => this.#after(after - 1)));
    return found.some((row) => row !== undefined && row.seq < position && row.savedAt >= since);
  }

  async #after(after: number): Promise<Row | undefined> {
    const fields = { after: Math.max(0, after), newestFirst: false, limit: 1, version: undefined, wait: undefined };
    return (await inspect.find(this.#context.engine.native, "feed", fields, openFeed)).rows[0];
  }
}

/** The number of places at which a listing checks for newer checkpoints. */
const SAMPLES = 64;

/** A larger group or status is searched in the list of all runs. */
const FEW = 1_000;

/** Returns the runs of a small group, the last active first. Undefined: the group is large. */
export async function fewOfGroup(context: Context, { group = "", space }: RunQuery): Promise<FoundRun[] | undefined> {
  if (group === "") return undefined;
  const found: FoundRun[] = [];
  for (const each of spacesWith(({ groups }) => groups)) {
    if (space !== undefined && space !== each) continue;
    const fields = { space: each, group, before: undefined, limit: FEW + 1 - found.length };
    for (const run of await inspect.call(context.engine.native, "began", fields)) found.push(run);
    if (found.length > FEW) return undefined;
  }
  return sorted(context, found, "newest");
}

/** Returns the stopped runs, the last active first. Undefined: there are many, or the query asks for others. */
export async function fewStopped(
  context: Context,
  { status, space }: Pick<RunQuery, "status" | "space">,
): Promise<FoundRun[] | undefined> {
  if (status !== "stopped") return undefined;
  const spaces = spacesWith(({ leases = true }) => leases).filter((each) => (space ?? each) === each);
  const found = await fewEntries(context, spaces, FEW);
  return found && sorted(context, found, "newest");
}

/**
 * Returns the runs of a rare status, the last begun first. Undefined: the status is frequent. The positions are
 * negative, to differ from those of a listing of all runs.
 */
export async function fewOfStatus(
  context: Context,
  { status, label, match = "", cursor }: RunQuery,
  spaces: string[],
): Promise<FoundRun[] | undefined> {
  // The pages of a list must have one order, so a list that began with few runs continues with more.
  const few = cursor?.startsWith("-") === true ? 10 * FEW : FEW;
  if (status === undefined || (cursor !== undefined && cursor !== null && !cursor.startsWith("-"))) return undefined;
  const statuses = storedStatuses([status]);
  const fields = { spaces, matching: match, statuses, labels: label, after: undefined, limit: few + 1 };
  const found = await inspect.call(context.engine.native, "recent", fields);
  if (found.length > few) return undefined;
  const runs = await sorted(context, found, "oldest");
  for (const [at, run] of runs.entries()) run.position = -1 - at;
  return runs;
}

/** Sorts runs by the save number of a checkpoint, the greatest first. The number is their position. */
async function sorted(context: Context, found: readonly FoundRun[], by: "newest" | "oldest"): Promise<FoundRun[]> {
  const keys = found.map(({ space, run, ns }) => ({ space: spaceOf(space), run, ns: ns ?? "" }));
  const order = { from: "end" as const, newestFirst: by === "newest", limit: 1, sums: false };
  const lineups = await readLineups(
    context,
    keys.map((key) => Object.assign(key, order)),
  );
  const placed = lineups.flatMap(({ current, page }, at): FoundRun[] => {
    const row = by === "newest" ? (current ?? page.rows[0]) : (page.rows[0] ?? current);
    if (row === undefined) return [];
    const space = current === undefined ? found[at]!.space : current.space;
    return [{ ...found[at]!, space, position: row.seq }];
  });
  return placed.toSorted((a, b) => b.position - a.position);
}
