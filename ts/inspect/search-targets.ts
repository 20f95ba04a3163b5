/** Lists the checkpoints to search. */

import { traitsOf } from "../contracts/registry.js";
import { type Context, contractsOf, isCurrent, shownNs, spaceOf } from "./context.js";
import { everyRow, newestOf, recentRuns } from "../plugin/pages.js";
import { readLineups } from "./rows.js";
import { storedStatuses } from "../store/ended-runs.js";
import { stopsIn } from "./stopped.js";
import { type Match, nameOf } from "./search-values.js";
import type { SearchHit, SearchOptions } from "./search-views.js";
import type { At, FoundRun, Key, Row } from "../plugin/wire.js";

/** Selects the checkpoints to search. */
export type Wanted = Omit<SearchOptions, "regex" | "ignoreCase" | "signal" | "onProgress">;

/** A checkpoint to search. */
export interface Target {
  /** An empty id: the newest checkpoint of its run, with an unknown id. */
  at: At;
  /** Undefined: the newest checkpoint of its run, with an unread row. */
  row: Row | undefined;
  /** The id of the previous checkpoint, if data of both is searched once. */
  before: string | undefined;
  /** Whether all of its writes are searched. Other writes are in later states. */
  isNewest: boolean;
  isLastOfRun: boolean;
  /** The matches in earlier checkpoints of its run, if all checkpoints are searched. */
  history: History | undefined;
}

/** A checkpoint to search, with its row. */
export interface Candidate {
  target: Target;
  row: Row;
}

/** A match, and its part of the checkpoint. */
export type Placed = Match & Pick<SearchHit, "part">;

/** Returns true if all checkpoints of a run are searched, because each is a value of its own. */
const isRecords = ({ space }: Key): boolean => traitsOf(space).records === true;

/** The number of runs in one call. The first call lists few, so that the first hit comes soon. */
const [FIRST, LATER] = [16, 250];

/** The matches in the checkpoints of a run so far. */
class History {
  /** The maximum number of occurrences of each place in a checkpoint. */
  readonly #counts = new Map<string, number>();

  /** Returns the matches at new places. */
  newOf(matches: readonly Placed[]): Placed[] {
    const counts = new Map<string, number>();
    return matches.filter((match) => {
      const name = nameOf(match.part, match);
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      if (count <= (this.#counts.get(name) ?? 0)) return false;
      this.#counts.set(name, count);
      return true;
    });
  }
}

/** Lists the checkpoints to search, those of the last active run first. */
export async function* targetsOf(context: Context, wanted: Wanted): AsyncGenerator<Target> {
  const isWhole = (key: Key) => wanted.allSteps === true || isRecords(key);
  for await (const runs of runsOf(context, wanted)) {
    const newest = await newestStates(context, wanted, runs.filter(isWhole));
    for (const at of runs) {
      if (!isWhole(at)) {
        yield { at, row: undefined, before: undefined, isNewest: true, isLastOfRun: true, history: undefined };
        continue;
      }
      const row = newest.shift();
      if (row !== undefined) yield* isRecords(at) ? recordsOf(context, at, row) : historyOf(context, at, row);
    }
  }
}

/** Adds the rows of checkpoints. Leaves out removed and unwanted ones. */
export async function rowsOf(context: Context, wanted: Wanted, targets: readonly Target[]): Promise<Candidate[]> {
  const unknown = targets.filter(({ row }) => row === undefined).map(({ at }) => at);
  const newest = await newestStates(context, wanted, unknown);
  return targets.flatMap((target) => {
    const row = target.row ?? newest.shift();
    return row === undefined ? [] : [{ target, row }];
  });
}

/** Returns the newest state of each run, if the run is wanted. */
async function newestStates(
  context: Context,
  { status, label = {} }: Wanted,
  keys: readonly Key[],
): Promise<Array<Row | undefined>> {
  const lineups = await readLineups(context, keys.map(newestOf));
  const stops = status === undefined ? [] : await stopsIn(context, keys, lineups);
  return lineups.map((lineup, at) => {
    const isWanted =
      (status === undefined || status === (stops[at] === null ? lineup.status : "stopped")) &&
      Object.entries(label).every(([key, value]) => lineup.labels[key] === value);
    return isWanted ? (lineup.current ?? lineup.page.rows[0]) : undefined;
  });
}

/** Lists the records of a run, the newest first. */
async function* recordsOf(context: Context, key: Key, newest: Row): AsyncGenerator<Target> {
  for await (const row of everyRow(context, key, true)) {
    const isLastOfRun = row.seq === newest.seq;
    yield { at: atOf(key, row), row, before: undefined, isNewest: true, isLastOfRun, history: undefined };
  }
}

/** Lists the checkpoints of a run, the oldest first, because a place is reported at its first save. */
async function* historyOf(context: Context, key: Key, newest: Row): AsyncGenerator<Target> {
  const history = new History();
  let before: string | undefined;
  for await (const row of everyRow(context, key)) {
    const isNewest = row.seq === newest.seq;
    yield { at: atOf(key, row), row, before, isNewest, isLastOfRun: isNewest, history };
    before = row.id;
  }
  // The current state of a session is not a checkpoint.
  if (!isCurrent(newest.space)) return;
  yield { at: atOf(key, newest), row: newest, before, isNewest: true, isLastOfRun: true, history };
}

const atOf = ({ space, run, ns }: Key, { id }: Row): At => ({ space, run, ns, id });

/** Lists runs with the ids of their newest checkpoints. */
async function* runsOf(context: Context, { space, run, ns, status, label }: Wanted): AsyncGenerator<At[]> {
  const spaces = contractsOf(space);
  // A run with a current state is in two lists. Only such runs are remembered.
  const seen = new Set<string>();
  const isFirst = (key: Key): boolean => {
    if (run === undefined && traitsOf(key.space).current === undefined) return true;
    const name = JSON.stringify([key.space, key.run, key.ns]);
    return !seen.has(name) && seen.add(name) !== undefined;
  };
  const isWanted = (found: FoundRun): boolean =>
    (run === undefined || found.run === run) && (ns === undefined || (shownNs(found.space, found.ns) ?? "") === ns);
  const statuses = status && storedStatuses([status]);
  const fields = { spaces, matching: run ?? "", statuses, labels: label };
  if (run !== undefined) {
    // Found by its name. The list below contains its namespaces.
    const contracts = spaces.filter((each) => !isCurrent(each));
    yield contracts.map((each): At => ({ space: each, run, ns: ns ?? "", id: "" })).filter(isFirst);
  }
  let after: number | undefined;
  for (const limit of [FIRST, LATER]) {
    for await (const found of recentRuns(context, { ...fields, after, limit })) {
      const runs = found.filter(isWanted).map((each): At => {
        return { space: spaceOf(each.space), run: each.run, ns: each.ns ?? "", id: each.id ?? "" };
      });
      yield runs.filter(isFirst);
      after = found.at(-1)!.position;
      if (limit === FIRST) break;
    }
    if (after === undefined) return;
  }
}
