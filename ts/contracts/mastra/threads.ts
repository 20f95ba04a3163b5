/** Copies threads, and moves them to another resource. */

import type { StorageThread } from "@mastra/core/storage";
import { crypto } from "../../bridge/crypto.js";
import { ForkpointError, quote } from "../../bridge/errors.js";
import { copyOf } from "../../bridge/serializer.js";
import type { Engine } from "../../store/engine.js";
import { nonEmpty, requireIds } from "../../store/ids.js";
import { dateOf, fieldsOf, filterOf } from "./arguments.js";
import { threadDraft, threadOf } from "./memory-values.js";
import type { Draft, Row, Rows } from "./rows.js";
import type { Source } from "./wire.js";

const COPY = ["sourceThreadId", "newThreadId", "resourceId", "title", "metadata", "options"];

/** The result of `copyThread` and `cloneThread`. */
export interface CopiedThread {
  thread: StorageThread;
  /** The new id of each message. */
  messageIdMap: Record<string, string>;
}

/** Reads the choice of a thread's messages to copy. */
function chosenOf(given: unknown) {
  const { messageLimit, messageFilter } = fieldsOf(given ?? {}, ["messageLimit", "messageFilter"], "options");
  const name = "options.messageFilter";
  const { startDate, endDate, messageIds } = fieldsOf(
    messageFilter ?? {},
    ["startDate", "endDate", "messageIds"],
    name,
  );
  const end = dateOf(endDate, `${name}.endDate`);
  const ids = new Set(requireIds(messageIds ?? [], `${name}.messageIds`));
  return {
    range: { from: dateOf(startDate, `${name}.startDate`), before: end === undefined ? undefined : end + 1 },
    ids,
    limit: typeof messageLimit === "number" && messageLimit > 0 ? messageLimit : Infinity,
  };
}

/** Copies a thread with its messages. Decodes no message. */
export async function copyThread(rows: Rows, engine: Engine, args: unknown): Promise<CopiedThread> {
  const given = copyOf(fieldsOf(args, COPY), "the argument");
  const sourceThreadId = nonEmpty(given["sourceThreadId"], "sourceThreadId");
  const [newId, resource, title] = ["newThreadId", "resourceId", "title"].map((name) => filterOf(given, name));
  const { range, ids, limit } = chosenOf(given["options"]);
  const source = await threadNamed(rows, engine, sourceThreadId);
  const isWhole = ids.size === 0;
  const selection = { direction: "DESC" as const, ...range, limit: isWhole ? limit : Infinity };
  const found = (await rows.list(engine, messagesOf(sourceThreadId), selection)).rows;
  const chosen = isWhole ? found : found.filter((row) => ids.has(row.id)).slice(0, limit);
  const messages = chosen.toReversed();

  const before = threadOf(engine, source);
  const [id, now, last] = [newId ?? crypto().randomUUID(), new Date(), messages.at(-1)?.id];
  const shownTitle = title ?? (before.title && `Clone of ${before.title}`);
  const clone = { sourceThreadId, clonedAt: now, ...(last !== undefined && { lastMessageId: last }) };
  const thread: StorageThread = {
    id,
    resourceId: resource ?? source.group,
    ...(shownTitle && { title: shownTitle }),
    metadata: { ...(given["metadata"] as object | undefined), clone },
    createdAt: now,
    updatedAt: now,
  };
  const copies = messages.map((row) => {
    const own = { id: crypto().randomUUID(), lineage: id, group: resource ?? row.group, savedAt: now.getTime() };
    return { ...again(row), ...own };
  });
  if (!(await rows.add(engine, [threadDraft(engine, thread), ...copies])))
    throw new ForkpointError("CONFLICT", `thread ${quote(id)} already exists: use another newThreadId`);
  return { thread, messageIdMap: Object.fromEntries(messages.map((row, at) => [row.id, copies[at]!.id])) };
}

/** Moves a thread and its messages to another resource. */
export async function moveThread(rows: Rows, engine: Engine, args: unknown): Promise<StorageThread> {
  const given = fieldsOf(args, ["threadId", "resourceId"]);
  const id = nonEmpty(given["threadId"], "threadId");
  const resourceId = nonEmpty(given["resourceId"], "resourceId");
  for (;;) {
    const found = await threadNamed(rows, engine, id);
    const before = threadOf(engine, found);
    if (before.resourceId === resourceId) return before;
    const thread = { ...before, resourceId, updatedAt: new Date() };
    const messages = await rows.list(engine, messagesOf(id), { direction: "ASC" });
    const moved = messages.rows.map((row): [Row, Draft] => [row, { ...again(row), group: resourceId }]);
    if (await rows.replace(engine, [[found, threadDraft(engine, thread)], ...moved], [])) return thread;
  }
}

async function threadNamed(rows: Rows, engine: Engine, id: string): Promise<Row> {
  const [found] = await rows.find(engine, "threads", [id]);
  if (found === undefined) throw unknownThread(id);
  return found;
}

export const unknownThread = (id: string) =>
  new ForkpointError("NOT_FOUND", `thread ${quote(id)} not found: save it with saveThread first`);

const messagesOf = (thread: string): Source => ({ table: "messages", thread });

/** Makes a draft that saves a row unchanged. */
const again = (row: Row): Draft => ({
  ...row,
  meta: JSON.parse(row.meta) as object,
  createdAt: row.position.createdAt,
});
