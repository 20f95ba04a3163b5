/** Lists chats and versions. */

import { ForkpointError, quote, show, typeError } from "../../bridge/errors.js";
import type { Engine } from "../../store/engine.js";
import { type OptionParser } from "../../store/options.js";
import { PAGE } from "../../store/page.js";
import type { ChatInfo, ChatVersion } from "./contract.js";
import type { MetadataFilter } from "./metadata.js";
import { type Row, closeRow, openRow } from "./state.js";
import { type Listed, chatCalls } from "./wire.js";

const cursorLike =
  (pattern: RegExp): OptionParser<string | undefined> =>
  (value, name) => {
    if (value === null) return undefined;
    if (typeof value === "string" && pattern.test(value)) return value;
    throw typeError(`${name} must be the cursor of an earlier page, but is ${show(value)}`);
  };

/** The cursor of a row in the list. */
export const chatCursor = cursorLike(/^\d{1,16}\.(?:[0-9a-f]{2}){16}$/);
/** The number of a version. */
export const versionCursor = cursorLike(/^[1-9]\d{0,15}$/);

/** A page of rows. Without a filter, `passes` is not called. */
async function pageOf(
  engine: Engine,
  after: string | undefined,
  limit: number,
  filter: MetadataFilter | undefined,
): Promise<{ rows: Row[]; next: string | null }> {
  const fields = { after, texts: filter?.texts, key: filter?.key, limit };
  const { rows, next } = await chatCalls.find(engine.native, "rows", fields, ({ rows, next }, part) => ({
    rows: rows.map((row) => openRow(row, part)),
    next,
  }));
  const closed = rows.map((row) => closeRow(row, engine));
  return { rows: closed.filter(({ metadata }) => filter?.passes(metadata.value) ?? true), next };
}

export async function listChats(
  engine: Engine,
  { limit = PAGE, cursor, metadata }: { limit?: number; cursor?: string | undefined; metadata?: MetadataFilter },
): Promise<{ chats: ChatInfo[]; cursor: string | null }> {
  const chats: ChatInfo[] = [];
  for (let after = cursor; ;) {
    const { rows, next } = await pageOf(engine, after, limit - chats.length, metadata);
    for (const row of rows) chats.push(infoOf(row));
    if (next === null || chats.length >= limit) return { chats, cursor: next };
    after = next;
  }
}

export function infoOf({ chat: id, stream, metadata, version, revision }: Row): ChatInfo {
  return { id, activeStreamId: stream, metadata: metadata.value, version, updatedAt: revision.updatedAt };
}

export async function versionsOf(
  { native }: Engine,
  chat: string,
  { limit = PAGE, cursor }: { limit?: number; cursor?: string | undefined },
): Promise<{ versions: ChatVersion[]; cursor: string | null }> {
  const before = cursor === undefined ? undefined : Number(cursor);
  // Read one more than the page has. Its existence shows that there is a next page.
  const found = await chatCalls.call(native, "versions", { chat, before, limit: limit + 1 });
  const versions = found.slice(0, limit);
  return { versions, cursor: found.length > limit ? String(versions.at(-1)!.version) : null };
}

/** Lists all chats, page by page. */
export async function* allChats(engine: Engine): AsyncGenerator<Listed> {
  for (let after: string | undefined; ;) {
    const { rows, next } = await pageOf(engine, after, 1_000, undefined);
    yield* rows;
    if (next === null) return;
    after = next;
  }
}

/** The error for a version that a chat does not have. */
export function noVersion(chat: string, number: number): ForkpointError {
  const message = `chat ${quote(chat)} has no version ${number}: list its versions with versions()`;
  return new ForkpointError("NOT_FOUND", message);
}
