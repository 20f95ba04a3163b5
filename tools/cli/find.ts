/** Finds the run and the checkpoint of the arguments, by id or by a prefix of the id. */

import { ForkpointError, quote } from "../../ts/bridge/errors.js";
import type { Context } from "./context.js";
import { isDatabase } from "./database.js";
import { UsageError, describe } from "./errors.js";
import { checkpointsOf, runsOf } from "./pages.js";
import { shellWord } from "../../ts/bridge/json-form/json-text.js";
import { shortened } from "./short-ids.js";
import type { CheckpointDetail, CheckpointInfo, RunInfo, RunRef } from "../../ts/plugin/views.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

/** The minimum length of a prefix, in characters. */
const SHORTEST = 4;

const isLongEnough = (text: string) => [...text].length >= SHORTEST;

/** The maximum number of ids that a message lists. */
const LISTED = 10;

export interface RunOptions {
  space?: string;
  ns?: string;
}

/** Finds a run. Throws `NOT_FOUND` if there is none, and a {@link UsageError} if several match. */
export async function findRun(context: Context, inspector: Inspector, id: string, where: RunOptions): Promise<RunInfo> {
  const exact = await exactRuns(inspector, id, where);
  if (exact.length > 0) return onlyRun(id, exact);
  const found = { same: [] as RunInfo[], begun: [] as RunInfo[] };
  const short = shortened(id);
  const fits = short?.fits ?? ((run: string) => run.startsWith(id));
  for await (const run of runsOf(inspector, { match: short?.prefix ?? id, allNs: true, ...filterOf(where) })) {
    if (run.run === id) found.same.push(run);
    else if (fits(run.run)) found.begun.push(run);
  }
  if (found.same.length > 0) return onlyRun(id, found.same);
  if (isLongEnough(id) && found.begun.length > 0) return onlyRun(id, found.begun);
  throw notFound(context, id, where, found.begun.length);
}

export async function findRuns(
  context: Context,
  inspector: Inspector,
  ids: ReadonlyArray<string | undefined>,
  where: RunOptions,
): Promise<RunRef[]> {
  const runs = [];
  for (const id of ids) if (id !== undefined) runs.push(refOf(await findRun(context, inspector, id, where)));
  return runs;
}

function filterOf({ space, ns }: RunOptions) {
  return { ...(space !== undefined && { space }), ...(ns !== undefined && { ns }) };
}

/** Returns the runs with this id, in all spaces. */
async function exactRuns(inspector: Inspector, id: string, { space, ns }: RunOptions): Promise<RunInfo[]> {
  const spaces = space === undefined ? (await inspector.info()).spaces.map((each) => each.space) : [space];
  const found = await Promise.all(spaces.map((space) => inspector.run({ space, run: id, ns }).catch(noneIfInvalid)));
  return found.filter((run) => run !== null);
}

/** Returns null for an error about an invalid id. No run or checkpoint can have this id. */
function noneIfInvalid(error: unknown): null {
  if (describe(error).code === "INVALID_ARGUMENT") return null;
  throw error;
}

/** Returns the only match. If all matches are namespaces of one run, returns the root namespace. */
function onlyRun(id: string, runs: RunInfo[]): RunInfo {
  const names = new Set(runs.map(({ space, run }) => JSON.stringify([space, run])));
  const roots = runs.filter(({ ns }) => ns === null || ns === "");
  const candidates = names.size === 1 && roots.length === 1 ? roots : runs;
  if (candidates.length === 1) return candidates[0]!;
  const several = (key: "space" | "run") => new Set(candidates.map((run) => run[key])).size > 1;
  const how = several("run")
    ? "type more of the id"
    : several("space")
      ? "choose one with --space"
      : "choose one with --ns";
  const listed = candidates.slice(0, LISTED).map(({ space, run, ns }) => {
    const where = ns === null || ns === "" ? "" : `, namespace ${quote(ns)}`;
    return `\n${JSON.stringify(run)} (${space}${where})`;
  });
  const more = candidates.length > LISTED ? `\nand ${candidates.length - LISTED} more` : "";
  throw new UsageError(`${quote(id)} matches ${candidates.length} runs: ${how}${listed.join("")}${more}`);
}

function notFound(context: Context, id: string, { space, ns }: RunOptions, begun: number): Error {
  const inNamespace = ns === undefined ? "" : ` in namespace ${quote(ns)}`;
  const where = `${space === undefined ? "" : ` in ${space}`}${inNamespace} in ${quote(context.database.shown)}`;
  if (isDatabase(id))
    return new UsageError(`${quote(id)} is a database, not a run: pass it with --db ${shellWord(id)}`);
  const how =
    begun > 0
      ? `it is a prefix of ${begun} ids, but a prefix needs at least ${SHORTEST} characters`
      : "`forkpoint ls` lists the runs";
  return new ForkpointError("NOT_FOUND", `there is no run ${quote(id)}${where}: ${how}`);
}

/** The flags that an error suggests instead of an id: for a position, and for another run. */
export interface Flags {
  step: string;
  run?: string;
}

/** Reads a checkpoint of a run with its values: by id or prefix, by step, or the newest one. */
export async function readCheckpoint(
  inspector: Inspector,
  run: RunInfo,
  which: { id?: string | undefined; step?: number | undefined },
  flags: Flags = { step: "--step" },
): Promise<CheckpointDetail> {
  const ref = refOf(run);
  if (which.id !== undefined && which.step !== undefined) {
    throw new UsageError("pass the id of a checkpoint or --step, not both");
  }
  const found = await inspector.checkpoint({ ...ref, ...which });
  if (found !== null) return found;
  if (which.step !== undefined) {
    const of = run.checkpoints === 1 ? "its only step is 0" : `its steps are 0 to ${run.checkpoints - 1}`;
    throw new ForkpointError("NOT_FOUND", `run ${quote(run.run)} has no step ${which.step}: ${of}`);
  }
  if (which.id === undefined) throw new ForkpointError("NOT_FOUND", `run ${quote(run.run)} has just been removed`);
  const { id } = await findCheckpoint(inspector, run, which.id, flags);
  const begun = await inspector.checkpoint({ ...ref, id });
  if (begun !== null) return begun;
  throw noCheckpoint(run, which.id, SHOW);
}

/** Finds a checkpoint of a run without reading its values, which may be damaged. */
export async function findCheckpoint(
  inspector: Inspector,
  run: RunInfo,
  id: string,
  flags?: Flags,
): Promise<CheckpointInfo> {
  const begun: CheckpointInfo[] = [];
  const labeled: number[] = [];
  const fits = shortened(id)?.fits ?? ((other: string) => other.startsWith(id));
  for await (const checkpoint of checkpointsOf(inspector, refOf(run))) {
    if (checkpoint.id === id) return checkpoint;
    if (isLongEnough(id) && fits(checkpoint.id)) begun.push(checkpoint);
    if (checkpoint.label === id || checkpoint.nodes?.includes(id)) labeled.push(checkpoint.step);
  }
  if (begun.length === 0) throw noCheckpoint(run, id, flags ? await hintOf(inspector, id, flags, labeled) : SHOW);
  if (begun.length === 1) return begun[0]!;
  const listed = begun.slice(0, LISTED).map((each) => `\n${JSON.stringify(each.id)} (step ${each.step})`);
  const more = begun.length > LISTED ? `\nand ${begun.length - LISTED} more` : "";
  throw new UsageError(
    `${quote(id)} matches ${begun.length} checkpoints: type more of the id${listed.join("")}${more}`,
  );
}

const SHOW = "`forkpoint show` lists its checkpoints";

/** Returns a hint about a text that is not the id of a checkpoint. */
async function hintOf(inspector: Inspector, id: string, flags: Flags, labeled: number[]): Promise<string> {
  if (labeled.length === 1) return `it is the label of step ${labeled[0]}: use ${flags.step} ${labeled[0]}`;
  if (labeled.length > 1) return `it is the label of ${labeled.length} steps: ${SHOW}`;
  if (/^\d{1,9}$/.test(id)) return `did you mean ${flags.step} ${Number(id)}?`;
  if ((await exactRuns(inspector, id, {})).length === 0) return SHOW;
  return flags.run === undefined ? "it is a run: pass it alone" : `it is a run: use ${flags.run} ${shellWord(id)}`;
}

function noCheckpoint(run: RunInfo, id: string, how: string): ForkpointError {
  return new ForkpointError("NOT_FOUND", `run ${quote(run.run)} has no checkpoint ${quote(id)}: ${how}`);
}

/** Returns the reference of a run: its space, id and namespace. */
export function refOf({ space, run, ns }: RunInfo | CheckpointInfo): RunRef {
  return { space, run, ns };
}
