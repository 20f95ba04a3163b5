/** Finds open runs that do not fit the version of their program that started last. */

import { type ProgramShape, shapeHash } from "../store/compare-programs.js";
import { publishStranded } from "../bridge/strandings.js";
import { holdersOf } from "../store/lease.js";
import { endOf } from "../store/ended-runs.js";
import { decodeMark } from "../store/mark.js";
import { readRecord, signalOption } from "../store/options.js";
import { programsIn, startedIn } from "../store/stored-programs.js";
import { pluginOf } from "../contracts/index.js";
import { WITH_PROGRAMS } from "../contracts/registry.js";
import { type Context, isMain, readSpace, spaceOf } from "./context.js";
import { differencesOf, readStanding } from "./standing.js";
import { mapTogether } from "./together.js";
import { newestOf, readPages, recentRuns } from "../plugin/pages.js";
import { readValue } from "../plugin/values.js";
import type { Space, StoredStatus, Stranded, StrandedCount } from "../plugin/views.js";
import type { FoundRun, Row } from "../plugin/wire.js";

/** The programs of a framework in a store. */
interface Programs {
  /** All stored versions, by hash. */
  shapes: Map<string, ProgramShape>;
  /** The version that started last, by the name of its program. */
  started: Map<string, string>;
}

const NONE: ProgramShape = { nodes: [], edges: [] };

export class Strandings {
  readonly #context: Context;
  readonly #programs = new Map<string, Promise<Programs>>();
  /** What was found about a checkpoint. */
  readonly #found = new Map<string, Promise<Stranded | null>>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Returns the frameworks that have runs of known programs. */
  async spaces(space: Space | undefined): Promise<Space[]> {
    const spaces = WITH_PROGRAMS.filter((each) => (space ?? each) === each);
    const known = await Promise.all(spaces.map((each) => this.#of(each)));
    return spaces.filter((_, at) => known[at]!.started.size > 0);
  }

  /** Returns the names of the programs of a framework whose versions are known. */
  async programs(space: Space): Promise<string[]> {
    return [...(await this.#of(space)).started.keys()];
  }

  /**
   * Compares a run with the version of its program that started last. `row` is its newest checkpoint. Null: it fits, has
   * ended, or its program is unknown.
   */
  why(row: Row, status: StoredStatus): Promise<Stranded | null> {
    const key = JSON.stringify([row.space, row.run, row.ns, row.id, row.seq]);
    const found = this.#found.get(key) ?? this.#why(row, status);
    this.#found.set(key, found);
    return found;
  }

  async #why(row: Row, status: StoredStatus): Promise<Stranded | null> {
    const space = spaceOf(row.space);
    if (status === "finished" || !(WITH_PROGRAMS as string[]).includes(space) || !isMain(space, row.ns)) return null;
    const programs = await this.#of(space);
    const { shapes, started } = programs;
    if (started.size === 0 || this.#isOfLast(space, row, programs)) return null;
    // A version that the store does not know has the nodes of the only program, if there is only one.
    const only = started.size === 1 ? shapes.get([...started.values()][0]!) : undefined;
    const standing = await readStanding(this.#context, row, status, (hash) => shapes.get(hash ?? "") ?? only ?? NONE);
    if (!standing || standing.status === "finished" || standing.status === "unknown") return null;
    const { program, shape: hash } = standing.mark;
    const to = shapes.get(started.get(program ?? "") ?? "");
    if (to === undefined || hash === shapeHash(to)) return null;
    const differences = await differencesOf(standing, shapes.get(hash ?? ""), to);
    if (differences.length === 0 || (await this.#isEnded(space, row, status))) return null;
    return { program: program!, to: { version: to.version ?? null, shape: shapeHash(to) }, differences };
  }

  /** Returns true for a run that its program has ended, or that somebody has stopped. Nobody waits for it. */
  async #isEnded(space: Space, { run, id: newest }: Row, status: StoredStatus): Promise<boolean> {
    const { ended } = await endOf(this.#context.engine.native, { space, run }, { newest, status });
    return ended !== null && ended.fork === undefined;
  }

  /** Returns true if the version that started last has made the checkpoint. False: only its position decides. */
  #isOfLast(space: Space, { shape, mark, metadata }: Row, { shapes, started }: Programs): boolean {
    const read = metadata === null ? undefined : readValue(this.#context, metadata).value;
    const made = pluginOf(space).maker?.((read ?? {}) as Record<string, unknown>);
    const hash = made === undefined ? shape : made.shape;
    if (typeof hash !== "string") return false;
    const program = made?.program ?? decodeMark(mark).program ?? shapes.get(hash)?.program;
    return typeof program === "string" && started.get(program) === hash;
  }

  #of(space: string): Promise<Programs> {
    const known = this.#programs.get(space) ?? this.#read(space);
    this.#programs.set(space, known);
    return known;
  }

  async #read(space: string): Promise<Programs> {
    const { native } = this.#context.engine;
    const started = await startedIn(native, space);
    if (started.size === 0) return { shapes: new Map(), started };
    return { shapes: new Map((await programsIn(native, space)).map(({ id, shape }) => [id, shape])), started };
  }
}

/** The statuses of open runs. */
export const OPEN: StoredStatus[] = ["waiting", "failed", "unfinished"];

/** The number of runs that one call lists. */
const PAGE = 500;

const countOptions = { space: readSpace, signal: signalOption };

/** Counts the stranded runs of each program, and publishes the counts. */
export async function countStranded(context: Context, given: unknown): Promise<StrandedCount[]> {
  const { space, signal } = readRecord(given, "options", countOptions);
  const strandings = new Strandings(context);
  const counts: StrandedCount[] = [];
  for (const each of await strandings.spaces(space)) {
    const runs = new Map((await strandings.programs(each)).map((program) => [program, 0]));
    for await (const found of recentRuns(context, { spaces: [each], matching: "", statuses: OPEN, limit: PAGE })) {
      const main = found.filter(({ ns }) => isMain(each, ns));
      for (const { program } of await strandedOf(context, each, main, strandings, signal)) {
        runs.set(program, (runs.get(program) ?? 0) + 1);
      }
    }
    for (const [program, stranded] of runs) {
      counts.push({ space: each, program, runs: stranded });
      publishStranded(context.engine.native, { space: each, program, runs: stranded });
    }
  }
  return counts;
}

async function strandedOf(
  context: Context,
  space: Space,
  runs: readonly FoundRun[],
  strandings: Strandings,
  signal: AbortSignal | undefined,
): Promise<Stranded[]> {
  const pages = await readPages(
    context,
    runs.map(({ run, ns }) => newestOf({ space, run, ns: ns ?? "" })),
  );
  const { native } = context.engine;
  const names = runs.map(({ run }) => run);
  const leases = await holdersOf(native, space, names);
  const look = async (at: number) => {
    const { rows, status } = pages[at]!;
    return rows[0] === undefined || leases[at] !== null ? null : strandings.why(rows[0], status);
  };
  return (await mapTogether([...runs.keys()], look, signal)).filter((found) => found !== null);
}
