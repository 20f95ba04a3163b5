/** Makes a page of a conversation from the states of a checkpoint and its parent. Uses nothing of Node. */

import { safeJson } from "../../bridge/json-form/json-text.js";
import { type MessageList, listsIn } from "./lists.js";
import { messagesOf } from "./messages.js";
import { Reader } from "./reader.js";
import type { CheckpointInfo } from "../../plugin/views.js";
import type { Conversation } from "./message.js";

/** Selects the messages of a page. */
export interface PageQuery {
  list?: string | undefined;
  from?: number | undefined;
  limit?: number | undefined;
}

/** A state with its lists of messages. */
export class Conversations {
  readonly #reader: Reader;
  readonly #lists: MessageList[];

  /** `form` is the state in the JSON form. */
  constructor(form: unknown) {
    this.#reader = new Reader(form);
    this.#lists = listsIn(this.#reader, form);
  }

  /** Returns the entries of a list. Empty if the state has no such list. */
  entries(path: string): readonly unknown[] {
    return this.#lists.find((list) => list.path === path)?.entries ?? [];
  }

  /** The paths of the lists. The best one comes first. */
  get paths(): string[] {
    return this.#lists.map(({ path }) => path);
  }

  /** Returns a page. `before` has the entries of the list in the parent. Null: the parent is unknown. */
  page(
    checkpoint: CheckpointInfo,
    path: string | undefined,
    before: readonly unknown[] | null,
    query: PageQuery,
  ): Conversation {
    const lists = this.#lists.map((list) => ({ path: list.path, entries: list.entries.length }));
    const list = this.#lists.find((each) => each.path === path);
    if (list === undefined) return { checkpoint, lists, list: null, total: 0, from: 0, messages: [] };
    const all = messagesOf(this.#reader, list, addedSince(before, list.entries));
    const limit = query.limit ?? 100;
    const from = query.from ?? -limit;
    const first = Math.min(from < 0 ? Math.max(0, all.length + from) : from, all.length);
    const messages = all.slice(first, first + limit);
    return { checkpoint, lists, list: list.path, total: all.length, from: first, messages };
  }
}

/** Returns a test for new entries of a list. Null: the parent is unknown, so no entry counts as new. */
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

/** Returns the JSON of an entry. Handles entries that are too deep for JSON.stringify. */
function contentOf(entry: unknown): string {
  try {
    return JSON.stringify(entry) ?? "";
  } catch {
    return safeJson(entry);
  }
}
