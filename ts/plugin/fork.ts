/** A fork of a checkpoint that is about to be stored. */

import { ForkpointError, quote } from "../bridge/errors.js";
import { fromJsonForm } from "../bridge/json-form/to-json-form.js";
import type { Part } from "../bridge/wire.js";
import type { Context } from "./context.js";
import type { Values } from "./values.js";
import type { CheckpointRef } from "./views.js";
import type { FoundCheckpoint, Key, Row } from "./wire.js";

export interface Fork {
  context: Context;
  key: Key;
  row: Row;
  found: FoundCheckpoint;
  /** Reads the values of the checkpoint. */
  values(): Values;
  /** Returns the form of the edited state. Undefined: the fork keeps the state. */
  edit: ((state: unknown) => unknown) | undefined;
  /** The id of the new run. Undefined: a generated one, or a branch in the same run. */
  as: string | undefined;
  dryRun: boolean;
  /** Returns the reference of a checkpoint of a run of the framework. */
  refTo(run: string, id: string): CheckpointRef;
}

/** Returns the edited state as a value. Returns undefined without an edit. Throws if the state is not readable. */
export function editedState({ edit, values }: Fork): { value: unknown } | undefined {
  if (edit === undefined) return undefined;
  const { state, parts } = values();
  const unreadable = parts.find(({ name, readable }) => !readable && name === "state");
  // In an unreadable state, paths cannot be resolved.
  if (unreadable !== undefined) {
    const message = `the state was written by the serializer ${quote(unreadable.tag)}, which is not registered: pass it in "serializers"`;
    throw new ForkpointError("UNSUPPORTED", message);
  }
  return { value: fromJsonForm(edit(state)) };
}

/** Returns a stored part of the checkpoint. */
export function partOf({ found }: Fork, name: string): Part {
  const stored = found.parts.find((each) => each.name === name);
  if (stored === undefined)
    throw new ForkpointError("CORRUPT", `the checkpoint has no part ${quote(name)}: restore a backup`);
  return stored;
}
