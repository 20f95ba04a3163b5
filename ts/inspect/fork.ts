/** Forks a checkpoint into a new run or branch with an edited state. Existing checkpoints do not change. */

import { ForkpointError, isArray, quote, readingArgument, typeError } from "../bridge/errors.js";
import { shownForm } from "../bridge/json-form/to-json-form.js";
import { copyOfForm } from "../bridge/json-form/form.js";
import { parsePath } from "../bridge/json-form/path.js";
import { pluginOf } from "../contracts/index.js";
import { traitsOf } from "../contracts/registry.js";
import type { Fork } from "../plugin/fork.js";
import { newestOf } from "../plugin/pages.js";
import { readFound } from "../plugin/values.js";
import type { CheckpointRef } from "../plugin/views.js";
import type { Key } from "../plugin/wire.js";
import { requireId } from "../store/ids.js";
import { anything, flag, readRecord } from "../store/options.js";
import { findCheckpoint } from "./checkpoints.js";
import { type Context, readKey, refOf } from "./context.js";
import { readValues } from "./read-checkpoint.js";
import { edited as editedForm } from "./edit.js";
import { readLineups } from "./rows.js";

/** The changes to the state of a fork. */
export interface ForkEdit {
  /** Replaces the value at each path: see {@link parsePath}. All keys but the last must exist. JSON form of values. */
  set?: Array<[path: string, value: unknown]> | undefined;
  /** A merge patch (RFC 7396), in the JSON form of values. */
  patch?: unknown;
  /** The entire state, in the JSON form of values. */
  state?: unknown;
  /** The id of the new run. Default: a branch in the same run if the framework has branches, else a generated id. */
  as?: string | undefined;
}

const editOptions = { set: pairs, patch: anything, state: anything, as: requireId };

/** Forks a checkpoint. Returns the first checkpoint of the fork. */
export async function fork(context: Context, ref: unknown, edit: unknown, options: unknown): Promise<CheckpointRef> {
  const key = readKey(ref);
  const id = requireId((ref as CheckpointRef).id, "id");
  const { dryRun = false } = readRecord(options, "options", { dryRun: flag });
  const { as, ...changes } = readRecord(edit, "edit", editOptions);
  const edited = editor(changes);
  const found = await findCheckpoint(context, key, { id });
  const parts = found && (await readFound(context, found.row));
  if (found === null || parts === null) {
    throw new ForkpointError("NOT_FOUND", `run ${quote(key.run)} has no checkpoint ${quote(id)}: nothing to fork from`);
  }
  const { fork: write } = pluginOf(key.space);
  const { namespaces, insteadOfFork } = traitsOf(key.space);
  if (write === undefined) {
    const instead = insteadOfFork ?? "only runs can";
    throw new ForkpointError("UNSUPPORTED", `an entry of ${quote(key.space)} cannot be forked: ${instead}`);
  }
  if (as !== undefined) await refuseTaken(context, { ...key, run: as, ns: namespaces === "part" ? key.ns : "" });
  return write({
    context,
    key,
    row: found.row,
    found: parts,
    values: () => readValues(context, found.row, parts),
    edit: edited,
    as,
    dryRun,
    refTo: (run, id) => ({ ...refOf({ ...key, run }), id }),
  });
}

async function refuseTaken(context: Context, key: Key): Promise<void> {
  const [lineup] = await readLineups(context, [newestOf(key)]);
  if (lineup!.total === 0) return;
  throw new ForkpointError("CONFLICT", `run ${quote(key.run)} already exists: use another name for the fork`);
}

function pairs(set: unknown, name: string): Array<[string, unknown]> {
  if (isArray(set) && set.every((one) => isArray(one) && one.length === 2)) return set as Array<[string, unknown]>;
  throw typeError(`${name} must be a list of pairs of a path and a value`);
}

/** Reads the changes. Copies their forms, because the caller may change them before the checkpoint is read. */
function editor(changes: Omit<ForkEdit, "as">): Fork["edit"] {
  const { set = [], patch, state } = readingArgument("edit", () => copyOfForm(changes));
  const places = set.map(([path, value]) => [parsePath(path), value] as const);
  if (state === undefined && places.length === 0 && patch === undefined) return undefined;
  return (before) => editedForm(state === undefined ? shownForm(before) : state, { set: places, patch });
}
