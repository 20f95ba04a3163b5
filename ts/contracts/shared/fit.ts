/** Says whether a run fits a program, for the frameworks whose runs a program continues by itself. */

import { ForkpointError, quote } from "../../bridge/errors.js";
import type { StoreHandle } from "../../store/handle.js";
import { type ProgramPosition, type ProgramShape, compareShapes, shapeHash } from "../../store/compare-programs.js";
import { programOf } from "../../store/stored-programs.js";

/** Separates the name of a node from the names of the nodes in it. */
const INSIDE = ":";

/** Names a node in other nodes. A backslash stands before each separator that is a part of a name. */
export function pathOf(names: readonly string[]): string {
  return names.map((name) => name.replaceAll(/[\\:]/g, "\\$&")).join(INSIDE);
}

/** Returns true for a node in another node. */
export function isInside(path: string): boolean {
  return path.replaceAll(/\\./gs, "").includes(INSIDE);
}

/** A run that a program wants to continue. */
export interface Continued {
  handle: StoreHandle;
  space: string;
  /** Names the run in a message. */
  run: string;
  /** Names the program in a message. */
  program: string;
  /** The hash of the shape that made the checkpoint. Undefined: it is not known. */
  from: string | undefined;
  to: ProgramShape;
  /** Reads where the run stands in its program. */
  position(from: ProgramShape): ProgramPosition | Promise<ProgramPosition>;
}

/**
 * Returns the error for a run that another version of the program made, if it does not fit this one. Returns undefined for a
 * run that fits, and for a run of an unknown version.
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

/** Names two versions in a message. A version without a name has the hash of its shape. */
function versionNames(from: ProgramShape, to: ProgramShape): [string, string] {
  const isSame = from.version !== undefined && from.version === to.version;
  const nameOf = (shape: ProgramShape) => {
    if (shape.version === undefined) return `version ${shapeHash(shape)}`;
    return `version ${quote(shape.version)}${isSame ? ` (${shapeHash(shape)})` : ""}`;
  };
  return [nameOf(from), nameOf(to)];
}
