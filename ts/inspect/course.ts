/** Reads the course of a run: its steps with subgraphs, effects and pauses, for the waterfall and the graph. */

import { isOwnError } from "../bridge/errors.js";
import { readRecord, whole } from "../store/options.js";
import { programsIn } from "../store/stored-programs.js";
import { pluginOf } from "../contracts/index.js";
import { findCheckpoint, listCheckpoints } from "./checkpoints.js";
import { type Context, shownNs } from "./context.js";
import { readDetail } from "./read-checkpoint.js";
import { listEffects } from "./effects.js";
import { namespacesOf } from "./remove.js";
import { findRun } from "./runs.js";
import { type CourseProgram, type ReadCourse, bySeq, outsideSource, ownParent } from "./steps.js";
import { isBelow } from "./waterfall.js";
import { type Key, inspect, openCheckpoint } from "../plugin/wire.js";
import type { CheckpointInfo } from "../plugin/views.js";

/** The default for the maximum number of steps of a run, and of its subgraphs together. */
const STEPS = 20_000;
const NESTED = 5_000;

/** Pauses are searched in this many of the longest steps, and in this many bytes of their checkpoints. */
const [LONGEST, MOST_READ] = [200, 32_000_000];

/** The most steps of a page of checkpoints. */
const PAGE = 1_000;

const courseOptions = { limit: whole(1, 1_000_000, "steps") };

export async function readCourse(context: Context, key: Key, given: unknown): Promise<ReadCourse | null> {
  const { limit = STEPS } = readRecord(given, "options", courseOptions);
  const run = await findRun(context, key, {});
  if (run === null) return null;
  const steps = await newest(context, key, limit);
  const [pauses, next] = [await pausesOf(context, steps), await nextOf(context, key, run.latest)];
  return {
    steps,
    effects: await listEffects(context, key),
    subgraphs: await nestedSteps(context, key),
    pauses,
    program: await programOf(context, key, run.version?.shape),
    status: run.status,
    next,
  };
}

/** Lists the newest checkpoints of a run, the oldest first. */
async function newest(context: Context, key: Key, most: number): Promise<CheckpointInfo[]> {
  const steps: CheckpointInfo[] = [];
  let cursor: string | null = null;
  do {
    const query = { limit: Math.min(PAGE, most - steps.length), cursor, order: "desc" };
    const page = await listCheckpoints(context, key, query);
    for (const each of page.items) steps.push(each);
    cursor = page.cursor;
  } while (cursor !== null && steps.length < most);
  return bySeq(steps);
}

/** Lists the checkpoints of the subgraphs of a graph. */
async function nestedSteps(context: Context, key: Key): Promise<CheckpointInfo[]> {
  const steps: CheckpointInfo[] = [];
  for (const each of await namespacesOf(context, { ...key, ns: "" })) {
    const [ns, above] = [shownNs(each.space, each.ns), shownNs(key.space, key.ns)];
    if (ns === null || above === null || !isBelow(ns, above)) continue;
    if (steps.length >= NESTED) break;
    for (const step of await newest(context, each, NESTED - steps.length)) steps.push(step);
  }
  return steps;
}

/** Returns null for a checkpoint that cannot be read. */
const nullIfDamaged = (error: unknown): null => {
  if (isOwnError(error) && ["CORRUPT", "UNSUPPORTED"].includes(error.code)) return null;
  throw error;
};

/**
 * Returns the ids of the checkpoints with a question that only their writes show. Examines the longest steps, in which
 * a pause matters.
 */
async function pausesOf(context: Context, steps: readonly CheckpointInfo[]): Promise<string[]> {
  const { isPause } = pluginOf(steps[0]?.space ?? "");
  if (isPause === undefined) return [];
  const known = new Map(steps.map((each) => [each.id, each]));
  const children = steps.flatMap((child) => {
    const parent = known.get(ownParent(child) ?? "");
    return parent === undefined || outsideSource(child) !== null
      ? []
      : [{ parent, took: child.savedAt - parent.savedAt }];
  });
  const longest = children.toSorted((a, b) => b.took - a.took).slice(0, LONGEST);
  const pauses = new Set<string>();
  let room = MOST_READ;
  for (const { parent } of longest) {
    room -= parent.bytes.logical;
    if (room < 0) break;
    const { space, run, ns, id } = parent;
    const fields = { space, run, ns: ns ?? "", id };
    const found = await inspect.find(context.engine.native, "read", fields, openCheckpoint).catch(nullIfDamaged);
    if (found?.writes.some(isPause)) pauses.add(id);
  }
  return [...pauses];
}

async function nextOf(context: Context, key: Key, latest: CheckpointInfo): Promise<string[] | null> {
  if (pluginOf(key.space).next === undefined) return null;
  const found = await findCheckpoint(context, key, { id: latest.id });
  const detail = found && (await readDetail(context, found.row, found.info).catch(nullIfDamaged));
  return detail?.next ?? null;
}

/** Returns the program that made the newest checkpoint, if it is stored. */
async function programOf({ engine }: Context, { space }: Key, hash: string | undefined): Promise<CourseProgram | null> {
  if (hash === undefined) return null;
  const found = (await programsIn(engine.native, space)).find(({ id }) => id === hash);
  if (found === undefined) return null;
  const { nodes, edges } = found.shape;
  return {
    nodes: nodes.map(({ name }) => name),
    edges: edges.map(({ from, to, conditional = false }) => ({ from, to, conditional })),
  };
}
