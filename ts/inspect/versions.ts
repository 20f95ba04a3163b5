/** Counts the open runs of each version of the programs. */

import { readRecord } from "../store/options.js";
import { stopsOf } from "../store/ended-runs.js";
import type { Newest } from "../store/newest.js";
import { programsIn } from "../store/stored-programs.js";
import { pluginOf } from "../contracts/index.js";
import { WITH_PROGRAMS } from "../contracts/registry.js";
import { type Context, isMain, readSpace } from "./context.js";
import { readValue } from "../plugin/values.js";
import { type OpenRun, type OpenRuns, inspect, openOpenRuns } from "../plugin/wire.js";
import type { Space, Status, VersionCount } from "../plugin/views.js";

/** The maximum number of a framework's runs whose newest checkpoints are read. More runs are extrapolated. */
const MOST = 500;

const versionsOptions = { space: readSpace };

export async function countVersions(context: Context, given: unknown): Promise<VersionCount[]> {
  const { space } = readRecord(given, "options", versionsOptions);
  const spaces = WITH_PROGRAMS.filter((each) => (space ?? each) === each);
  const found = await inspect.find(context.engine.native, "open", { spaces, most: MOST }, openOpenRuns);
  const counts = spaces.map((each, at) => countIn(context, each, found[at]!));
  return (await Promise.all(counts)).flat().toSorted((a, b) => b.runs - a.runs);
}

async function countIn(context: Context, space: Space, { count, isEstimate, runs }: OpenRuns): Promise<VersionCount[]> {
  const groups = new Map<string, { program: string | null; shape: string | null; runs: Status[] }>();
  const main = runs.filter(({ ns }) => isMain(space, ns));
  const newest = main.map(({ run, id, status }): Newest => ({ run, ns: "", newest: id, status }));
  const stops = await stopsOf(context.engine.native, space, newest);
  for (const [at, run] of main.entries()) {
    const { program, shape } = makerOf(context, space, run);
    const key = JSON.stringify([program, shape]);
    const group = groups.get(key) ?? { program, shape, runs: [] };
    groups.set(key, group);
    group.runs.push(stops[at] === null ? run.status : "stopped");
  }
  if (groups.size === 0) return [];
  const programs = new Map((await programsIn(context.engine.native, space)).map(({ id, shape }) => [id, shape]));
  // The number of runs that each read run represents.
  const scale = Math.max(1, count / runs.length);
  return [...groups.values()].map((group) => {
    const { shape } = group;
    const known = shape === null ? undefined : programs.get(shape);
    const of = (status: Status) => Math.round(scale * group.runs.filter((each) => each === status).length);
    const statuses = {
      waiting: of("waiting"),
      failed: of("failed"),
      unfinished: of("unfinished"),
      stopped: of("stopped"),
      unknown: of("unknown"),
    };
    return {
      space,
      program: group.program ?? known?.program ?? null,
      version: shape === null ? null : { version: known?.version ?? null, shape },
      runs: Object.values(statuses).reduce((sum, number) => sum + number),
      statuses,
      isEstimate: isEstimate || scale > 1,
    };
  });
}

/** Returns the program that made the newest checkpoint of a run. */
function makerOf(
  context: Context,
  space: Space,
  { program, shape, metadata }: OpenRun,
): Pick<OpenRun, "program" | "shape"> {
  if (metadata === null) return { program, shape };
  const { value } = readValue(context, metadata);
  const made = pluginOf(space).maker?.((value ?? {}) as Record<string, unknown>);
  return { program: textOrNull(made?.program), shape: textOrNull(made?.shape) };
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);
