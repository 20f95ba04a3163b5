/** Decides whether a run fits a program, for frameworks in which a program continues its own runs. */

import { ForkpointError, quote } from "../../bridge/errors.js";
import type { StoreHandle } from "../../store/handle.js";
import { type ProgramPosition, type ProgramShape, compareShapes, shapeHash } from "../../store/compare-programs.js";
import { isOther, otherProgram } from "../../store/owner.js";
import { programOf } from "../../store/stored-programs.js";

/** Separates the name of a node from the names of its inner nodes. */
const INSIDE = ":";

/** Returns the path of a node inside other nodes. A backslash escapes a separator in a name. */
export function pathOf(names: readonly string[]): string {
  return names.map((name) => name.replaceAll(/[\\:]/g, "\\$&")).join(INSIDE);
}

/** Returns true for a node in another node. */
export function isInside(path: string): boolean {
  return path.replaceAll(/\\./gs, "").includes(INSIDE);
}

/** A run that a program wants to write to. */
export interface Written {
  handle: StoreHandle;
  space: string;
  /** Names the run in a message. */
  run: string;
  /** The hash of the shape that made the checkpoint. Undefined: unknown. */
  from: string | undefined;
  to: ProgramShape;
}

/** Says in a message how to take over a run. */
export const WITH_FORCE = "pass { force: true }";

/** Returns an error if a workflow with another name made the run. */
export async function otherMaker({ handle, space, run, from: hash, to }: Written): Promise<ForkpointError | undefined> {
  if (hash === undefined || hash === shapeHash(to)) return undefined;
  const made = (await programOf(handle, space, hash))?.program;
  return isOther(made, to.program) ? otherProgram(run, made, to.program!, WITH_FORCE) : undefined;
}

/** A run that a program wants to continue. */
export interface Continued extends Written {
  /** Names the program in a message. */
  program: string;
  /** Reads the position of the run in its program. */
  position(from: ProgramShape): ProgramPosition | Promise<ProgramPosition>;
}

/**
 * Returns an error if another version of the program made the run and the run does not fit this version. Returns
 * undefined if the run fits, or if its version is unknown.
 */
export async function misfit(run: Continued): Promise<ForkpointError | undefined> {
  const { handle, space, from: hash, to } = run;
  if (hash === undefined || hash === shapeHash(to)) return undefined;
  const from = await programOf(handle, space, hash);
  if (from === null) return undefined;
  const differences = compareShapes(from, to, await run.position(from));
  if (differences.length === 0) return undefined;
  const [one, other] = versionNames(from, to);
  return new ForkpointError(
    "CONFLICT",
    `${run.run} was made by ${one} of ${run.program} and does not fit ${other}: ${differences.join("; ")}. Continue it with its ` +
      "own version, or pass { force: true } to continue it on this one",
  );
}

/** Names two versions in a message. The hash of its shape names a version without a name. */
function versionNames(from: ProgramShape, to: ProgramShape): [string, string] {
  const isSame = from.version !== undefined && from.version === to.version;
  const nameOf = (shape: ProgramShape) => {
    if (shape.version === undefined) return `version ${shapeHash(shape)}`;
    return `version ${quote(shape.version)}${isSame ? ` (${shapeHash(shape)})` : ""}`;
  };
  return [nameOf(from), nameOf(to)];
}
