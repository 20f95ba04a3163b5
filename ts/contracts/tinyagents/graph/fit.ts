/** Refuses a thread of another graph or of an incompatible version, and stores the description of a graph. */

import { quote } from "../../../bridge/errors.js";
import type { Format } from "../../../bridge/serializer.js";
import { handleOf } from "../../../store/handle-of.js";
import { shapeHash } from "../../../store/compare-programs.js";
import { describeProgram } from "../../../store/stored-programs.js";
import { isOther, otherProgram } from "../../../store/owner.js";
import { WITH_FORCE, misfit } from "../../shared/fit.js";
import { tinyagents } from "../wire.js";
import { NAMELESS } from "./definition.js";
import type { GraphPlan } from "./plan.js";
import { type Loaded, type PutMore, shapeIn } from "./recorder.js";
import { positionOf } from "./shape.js";

const named = (name: string | undefined): string | undefined => (name === NAMELESS ? undefined : name);

/** Throws if a graph with another name made the latest checkpoint of the thread. */
export function requireOwn({ thread, program, force }: GraphPlan, name: string, { owner }: Loaded): void {
  if (program === undefined || force === true || typeof owner !== "string") return;
  const [made, own] = [named(owner), named(name)];
  if (isOther(made, own)) throw otherProgram(`thread ${quote(thread.threadId)}`, made, own!, WITH_FORCE);
}

/** Throws if another version of the graph made the thread and the thread does not fit this version. */
export async function requireFit(plan: GraphPlan, name: string, loaded: Loaded, format: Format): Promise<void> {
  const { thread, program, checkpointer, force } = plan;
  // A finished thread runs nothing, so it fits every graph.
  if (program === undefined || force === true || loaded.activations.length === 0) return;
  const error = await misfit({
    handle: program.handle,
    space: tinyagents.name,
    run: `thread ${quote(thread.threadId)}`,
    program: `graph ${quote(name)}`,
    from: shapeIn(loaded.checkpoint),
    to: program.shape,
    position: (from) => positionOf(checkpointer!, thread, loaded, from, format),
  });
  if (error !== undefined) throw error;
}

/** Stores the description of the graph. Returns the fields for a new checkpoint. */
export async function describe(
  { program, mode, checkpointer }: GraphPlan,
  loaded: Loaded | undefined,
): Promise<Pick<PutMore, "shape" | "keepsRan">> {
  const keepsRan = handleOf(checkpointer) !== undefined;
  if (program === undefined) return { shape: undefined, keepsRan };
  await describeProgram(program.handle, tinyagents.name, program.shape, named(program.shape.program));
  // An update runs no node, so the thread keeps the position of its own version.
  const isUpdate = mode.kind === "update" && loaded !== undefined;
  return { shape: isUpdate ? shapeIn(loaded.checkpoint) : shapeHash(program.shape), keepsRan };
}
