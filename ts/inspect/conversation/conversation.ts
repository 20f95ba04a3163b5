/** Reads the conversation of a checkpoint. */

import { ForkpointError, quote } from "../../bridge/errors.js";
import { shownForm } from "../../bridge/json-form/to-json-form.js";
import { readRecord, text, whole } from "../../store/options.js";
import { idOrNull } from "../../store/ids.js";
import { findCheckpoint, limitOption } from "../checkpoints.js";
import { type Context, readKey } from "../context.js";
import { readFound } from "../../plugin/values.js";
import { readValues } from "../read-checkpoint.js";
import { Conversations } from "./page.js";
import type { Row } from "../../plugin/wire.js";
import type { CheckpointInfo, CheckpointRef } from "../../plugin/views.js";
import type { Conversation } from "./message.js";

const queryOptions = {
  list: text,
  from: whole(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, "messages"),
  limit: limitOption,
};

export async function readConversation(context: Context, ref: unknown, given: unknown): Promise<Conversation | null> {
  const query = readRecord(given, "query", queryOptions);
  const key = readKey(ref);
  const { id, step } = ref as { id?: unknown; step?: number };
  const wanted = id === undefined ? undefined : idOrNull(id, "id");
  if (wanted === null) return null;
  const found = await findCheckpoint(context, key, { id: wanted, step });
  const state = found && (await readState(context, found.row));
  if (found === null || state === null) return null;
  const conversations = new Conversations(state.form);
  const { paths } = conversations;
  const path = query.list ?? paths[0];
  if (query.list !== undefined && !paths.includes(query.list)) {
    const has = paths.length === 0 ? "it has no messages" : `it has ${paths.map((each) => quote(each)).join(", ")}`;
    throw new ForkpointError("NOT_FOUND", `there is no list of messages at ${quote(query.list)} in the state: ${has}`);
  }
  const before = path === undefined ? null : await entriesBefore(context, found.info, path);
  return conversations.page(found.info, path, before, query);
}

/** Reads the state of a checkpoint. Returns null if the checkpoint no longer exists. */
export async function readState(context: Context, row: Row): Promise<{ form: unknown } | null> {
  const found = await readFound(context, row);
  return found && { form: shownForm(readValues(context, row, found).state) };
}

/** Reads the state of a checkpoint that may be removed or damaged. */
export async function readStateOf(
  context: Context,
  { space, run, ns, id }: CheckpointRef,
): Promise<{ form: unknown } | null> {
  try {
    const found = await findCheckpoint(context, readKey({ space, run, ns }), { id });
    return found && (await readState(context, found.row));
  } catch (error) {
    if (error instanceof ForkpointError && ["CORRUPT", "UNSUPPORTED"].includes(error.code)) return null;
    throw error;
  }
}

/** Returns the entries of a list in the parent of a checkpoint. Null: the parent is not known. */
async function entriesBefore(context: Context, info: CheckpointInfo, path: string): Promise<readonly unknown[] | null> {
  if (info.parent === null) return [];
  const state = await readStateOf(context, info.parent);
  if (state === null) return null;
  return new Conversations(state.form).entries(path);
}
