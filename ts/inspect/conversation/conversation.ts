/** Reads the conversation of a checkpoint. */

import { ForkpointError, quote } from "../../bridge/errors.js";
import { safeJson } from "../../bridge/json-form/json-text.js";
import { shownForm } from "../../bridge/json-form/to-json-form.js";
import { readRecord, text, whole } from "../../store/options.js";
import { idOrNull } from "../../store/ids.js";
import { findCheckpoint, limitOption } from "../checkpoints.js";
import { type Context, readKey } from "../context.js";
import { readFound, readValues } from "../detail.js";
import { listsIn } from "./lists.js";
import { messagesOf } from "./messages.js";
import { Reader } from "./reader.js";
import type { Row } from "../wire.js";
import type { CheckpointInfo, CheckpointRef } from "../views.js";
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
  const reader = new Reader(state.form);
  const lists = listsIn(reader, state.form);
  const shown = {
    checkpoint: found.info,
    lists: lists.map(({ path, entries }) => ({ path, entries: entries.length })),
  };
  const list = query.list === undefined ? lists[0] : lists.find(({ path }) => path === query.list);
  if (list === undefined) {
    if (query.list === undefined) return { ...shown, list: null, total: 0, from: 0, messages: [] };
    const has = lists.length === 0 ? "it has no messages" : `it has ${lists.map(({ path }) => quote(path)).join(", ")}`;
    throw new ForkpointError("NOT_FOUND", `there is no list of messages at ${quote(query.list)} in the state: ${has}`);
  }
  const before = await entriesBefore(context, found.info, list.path);
  const all = messagesOf(reader, list, addedSince(before, list.entries));
  const limit = query.limit ?? 100;
  const from = query.from ?? -limit;
  const first = Math.min(from < 0 ? Math.max(0, all.length + from) : from, all.length);
  return { ...shown, list: list.path, total: all.length, from: first, messages: all.slice(first, first + limit) };
}

/** Reads the state of a checkpoint. Null: it does not exist any more. */
export async function readState(context: Context, row: Row): Promise<{ form: unknown } | null> {
  const found = await readFound(context, row);
  return found && { form: shownForm(readValues(context, row, found).state) };
}

/** Reads the state of a checkpoint that may have been removed, or may be damaged. */
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
  return listsIn(new Reader(state.form), state.form).find((list) => list.path === path)?.entries ?? [];
}

/** Returns a function that says whether an entry of a list is new. Null: nothing is known, so nothing is new. */
function addedSince(before: readonly unknown[] | null, entries: readonly unknown[]): (index: number) => boolean {
  if (before === null) return () => false;
  if (before.length === 0) return () => true;
  const counts = new Map<string, number>();
  for (const entry of before) {
    const content = contentOf(entry);
    counts.set(content, (counts.get(content) ?? 0) + 1);
  }
  const added = entries.map((entry) => {
    const content = contentOf(entry);
    const count = counts.get(content) ?? 0;
    counts.set(content, count - 1);
    return count <= 0;
  });
  return (index) => added[index] === true;
}

/** Returns the JSON of an entry. A deep one is more than JSON.stringify can write. */
function contentOf(entry: unknown): string {
  try {
    return JSON.stringify(entry) ?? "";
  } catch {
    return safeJson(entry);
  }
}
