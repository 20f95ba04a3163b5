/** Lists the open runs that do not fit a new version of their program. */

import { copyOf } from "../bridge/serializer.js";
import { type ProgramDescription, readDescription } from "../store/description.js";
import { readRecord, signalOption } from "../store/options.js";
import { type ProgramShape, type ProgramVersion, hasSameParts, shapeHash } from "../store/compare-programs.js";
import { stopsOf } from "../store/ended-runs.js";
import type { Newest } from "../store/newest.js";
import { programsIn } from "../store/stored-programs.js";
import { traitsOf } from "../contracts/registry.js";
import { type Context, isMain } from "./context.js";
import { newestOf, readPages, recentRuns } from "../plugin/pages.js";
import { differencesOf, readStanding } from "./standing.js";
import { mapTogether } from "./together.js";
import type { Key, Row } from "../plugin/wire.js";
import type { RunRef, Status, StoredStatus } from "../plugin/views.js";

/** An open run that does not fit the new version of its program. */
export interface DrainedRun extends RunRef {
  /** The id of its newest checkpoint. */
  checkpointId: string;
  /** When its newest checkpoint was saved, in ms since the epoch. */
  active: number;
  status: Exclude<Status, "finished">;
  /** The version that made the newest checkpoint, and the hash of its shape. Null: the store does not know it. */
  from: ProgramVersion | null;
  /** What differs, in words: ``"`b`, which is next, is gone; `b2` is new"``. */
  differences: string[];
}

/** The open runs of a program that do not fit a new version. */
export interface DrainReport {
  program: string | null;
  /** The new version, and the hash of its shape. */
  to: ProgramVersion;
  /** True if all open runs of the program fit. */
  ok: boolean;
  /** How many open runs of the program fit. */
  fits: number;
  /** The open runs of the program that do not fit, the last active first. */
  runs: DrainedRun[];
  /** The number of the framework's open runs from other programs. */
  other: number;
  /** The number of unchecked open runs, whose program is unknown or which cannot be read. */
  unknown: number;
}

const SKIPPED = "the program has no name and its nodes changed, so `recover` skips the run unless you name the run";

const PAGE = 500;

const OPEN: StoredStatus[] = ["waiting", "failed", "unfinished", "unknown"];

export async function drainCheck(context: Context, given: unknown, options: unknown): Promise<DrainReport> {
  const { signal } = readRecord(options, "options", { signal: signalOption });
  const description = copyOf(readDescription(given, "description"), "description");
  const check = new DrainCheck(context, description, await shapesOf(context, description));
  const spaces = [description.space];
  const statuses = traitsOf(description.space).mayGoOn === true ? undefined : OPEN;
  for await (const found of recentRuns(context, { spaces, matching: "", statuses, limit: PAGE })) {
    signal?.throwIfAborted();
    const keys = found
      .filter(({ space, ns }) => isMain(space, ns))
      .map(({ space, run, ns }): Key => ({ space, run, ns: ns ?? "" }));
    const pages = await readPages(context, keys.map(newestOf));
    const rows = pages.flatMap(({ rows, status }) => rows.map((row) => ({ row, status })));
    const runs = rows.map(({ row: { run, id }, status }): Newest => ({ run, ns: "", newest: id, status }));
    const stops = await stopsOf(context.engine.native, description.space, runs);
    const entries = rows.map(({ row, status }, at) => ({ row, status, isStopped: stops[at] !== null }));
    await mapTogether(entries, ({ row, status, isStopped }) => check.look(row, status, isStopped), signal);
  }
  return check.report();
}

/** Returns the programs that the store knows, by hash. */
async function shapesOf({ engine }: Context, { space }: ProgramDescription): Promise<Map<string, ProgramShape>> {
  const found = await programsIn(engine.native, space);
  return new Map(found.map(({ id, shape }) => [id, shape]));
}

class DrainCheck {
  readonly #context: Context;
  readonly #space: ProgramDescription["space"];
  readonly #program: string | undefined;
  readonly #to: ProgramShape;
  readonly #shapes: Map<string, ProgramShape>;
  readonly #runs: DrainedRun[] = [];
  #fits = 0;
  #other = 0;
  #unknown = 0;

  constructor(context: Context, { space, ...shape }: ProgramDescription, shapes: Map<string, ProgramShape>) {
    this.#context = context;
    this.#space = space;
    this.#program = shape.program;
    const { program, ...unnamed } = shape;
    this.#to = traitsOf(space).programs === "mark" ? unnamed : { program, ...unnamed };
    this.#shapes = shapes.set(shapeHash(this.#to), this.#to);
  }

  async look(row: Row, given: StoredStatus, isStopped: boolean): Promise<void> {
    const known = (hash: string | undefined) => this.#shapes.get(hash ?? "") ?? this.#to;
    const standing = await readStanding(this.#context, row, given, known);
    if (standing === undefined) this.#unknown += 1;
    if (!standing || standing.status === "finished") return;
    const { mark } = standing;
    const status = isStopped ? "stopped" : standing.status;
    const from = mark.shape === undefined ? undefined : this.#shapes.get(mark.shape);
    const whose = this.#whose(mark.program, from);
    if (status === "unknown" || whose === "unknown") this.#unknown += 1;
    else if (whose === "other") this.#other += 1;
    else {
      const differences = await differencesOf(standing, from, this.#to);
      if (this.#isSkipped(from)) differences.push(SKIPPED);
      if (differences.length === 0) this.#fits += 1;
      else {
        const { run, ns, id: checkpointId, savedAt: active } = row;
        const version = from && { version: from.version ?? null, shape: mark.shape! };
        this.#runs.push({
          space: this.#space,
          run,
          ns,
          checkpointId,
          active,
          status,
          from: version ?? null,
          differences,
        });
      }
    }
  }

  /** Returns the owner of a run. A program without a name is recognized by a node that both versions have. */
  #whose(program: string | undefined, from: ProgramShape | undefined): "own" | "other" | "unknown" {
    if (program !== undefined) return program === this.#program ? "own" : "other";
    if (this.#program !== undefined || from === undefined) return "unknown";
    const names = new Set(from.nodes.map(({ name }) => name));
    return this.#to.nodes.some(({ name }) => names.has(name)) ? "own" : "other";
  }

  /** True if `recover` assigns a run to another program, because neither has a name and their nodes differ. */
  #isSkipped(from: ProgramShape | undefined): boolean {
    const recovers = traitsOf(this.#space).programs === "mark";
    return recovers && this.#program === undefined && from !== undefined && !hasSameParts(from, this.#to);
  }

  report(): DrainReport {
    const runs = this.#runs.toSorted((a, b) => b.active - a.active);
    const to = { version: this.#to.version ?? null, shape: shapeHash(this.#to) };
    const counts = { other: this.#other, unknown: this.#unknown };
    return { program: this.#program ?? null, to, ok: runs.length === 0, fits: this.#fits, runs, ...counts };
  }
}
