/** Turns the messages, threads and resources of Mastra into rows, and back. */

import type { StorageMessage, StorageResourceType, StorageThread } from "@mastra/core/storage";
import { typeError, show } from "../../bridge/errors.js";
import type { Engine } from "../../store/engine.js";
import { nonEmpty, optionalId, requireId } from "../../store/ids.js";
import { dateOf, fieldsOf, isObject } from "./arguments.js";
import { type Draft, type Row, valueOf } from "./rows.js";

const MESSAGE = ["id", "threadId", "resourceId", "role", "type", "content", "createdAt"];

/** Checks a message. Returns the result of a save, with the given content, and the row. */
export function messageDraft(engine: Engine, given: unknown, what: string): { message: StorageMessage; draft: Draft } {
  const fields = fieldsOf(given, MESSAGE, what);
  const [id, threadId, role] = ["id", "threadId", "role"].map((name) => nonEmpty(fields[name], `${what}.${name}`));
  const [resourceId, type] = ["resourceId", "type"].map((name) => optionalId(fields[name], `${what}.${name}`));
  const createdAt = dateOf(fields["createdAt"], `${what}.createdAt`) ?? Date.now();
  const { content: text } = fields;
  if (typeof text !== "string" && !isObject(text))
    throw typeError(`${what}.content must be an object, but is ${show(text)}`);
  // Mastra's stores turn a text into a content with one part.
  const content = typeof text === "string" ? { format: 2, content: text, parts: [{ type: "text", text }] } : text;
  const message = { id: id!, threadId: threadId!, role: role!, content, createdAt: new Date(createdAt) };
  const part = engine.format.serialize(content, `${what}.content`);
  const meta = { role, ...(type && { type }) };
  const group = resourceId ?? "";
  return {
    message: { ...message, ...(resourceId && { resourceId }), ...(type && { type }) },
    draft: { table: "messages", id: id!, lineage: threadId!, group, meta, part, createdAt, savedAt: Date.now() },
  };
}

export function messageOf(engine: Engine, row: Row): StorageMessage {
  const { id, lineage, group, position } = row;
  const { role, type } = JSON.parse(row.meta) as { role: string; type?: string };
  return {
    id,
    threadId: lineage,
    ...(group !== "" && { resourceId: group }),
    role,
    ...(type !== undefined && { type }),
    content: valueOf(engine, row),
    createdAt: new Date(position.createdAt),
  };
}

/** Makes the row of a thread. Additional fields are stored beside the ids and the times. */
export function threadDraft(engine: Engine, given: unknown): Draft {
  if (!isObject(given)) throw typeError(`thread must be an object, but is ${show(given)}`);
  const { id, resourceId, createdAt, updatedAt, ...rest } = given;
  const name = nonEmpty(id, "thread.id");
  const times = timesOf({ createdAt, updatedAt }, "thread");
  const part = engine.format.serialize(rest, "thread");
  const group = requireId(resourceId, "thread.resourceId");
  return { table: "threads", id: name, lineage: name, group, meta: {}, part, ...times };
}

export function threadOf(engine: Engine, row: Row): StorageThread {
  const { id, group, position, savedAt } = row;
  const rest = valueOf(engine, row) as object;
  return { id, resourceId: group, ...rest, createdAt: new Date(position.createdAt), updatedAt: new Date(savedAt) };
}

export function resourceDraft(engine: Engine, given: unknown): Draft {
  if (!isObject(given)) throw typeError(`resource must be an object, but is ${show(given)}`);
  const { id, createdAt, updatedAt, ...rest } = given;
  const name = nonEmpty(id, "resource.id");
  const times = timesOf({ createdAt, updatedAt }, "resource");
  const part = engine.format.serialize(rest, "resource");
  return { table: "resources", id: name, lineage: name, group: "", meta: {}, part, ...times };
}

export function resourceOf(engine: Engine, row: Row): StorageResourceType {
  const { id, position, savedAt } = row;
  const rest = valueOf(engine, row) as object;
  return { id, ...rest, createdAt: new Date(position.createdAt), updatedAt: new Date(savedAt) };
}

function timesOf(given: Record<string, unknown>, what: string): { createdAt: number; savedAt: number } {
  const now = Date.now();
  const [createdAt = now, savedAt = now] = ["createdAt", "updatedAt"].map((name) =>
    dateOf(given[name], `${what}.${name}`),
  );
  return { createdAt, savedAt };
}
