/** Reads the position of a run in its program, and compares it with a version of the program. */

import { isOwnError } from "../bridge/errors.js";
import { type ProgramShape, compareShapes, missingNodes } from "../store/compare-programs.js";
import { pluginOf } from "../contracts/index.js";
import type { Context } from "../plugin/context.js";
import type { Standing } from "../plugin/plugin.js";
import type { StoredStatus } from "../plugin/views.js";
import type { Row } from "../plugin/wire.js";
import { spaceOf } from "./context.js";

/** Reads the position of a run. Null: the run was removed. Undefined: its newest checkpoint cannot be read. */
export async function readStanding(
  context: Context,
  row: Row,
  status: StoredStatus,
  known: (hash: string | undefined) => ProgramShape,
): Promise<Standing | null | undefined> {
  try {
    return await pluginOf(spaceOf(row.space)).stand!(context, row, status, known);
  } catch (error) {
    // The checkpoint is damaged or lacks its serializer. Any other error is the store's.
    if (!isOwnError(error) || !["CORRUPT", "UNSUPPORTED"].includes(error.code)) throw error;
    return undefined;
  }
}

/** Returns what keeps a run from continuing on a version. `from` is the version that made it, if it is known. */
export async function differencesOf(
  standing: Standing,
  from: ProgramShape | undefined,
  to: ProgramShape,
): Promise<string[]> {
  const position = await standing.position(from ?? to);
  return from === undefined ? missingNodes(to, position) : compareShapes(from, to, position);
}
