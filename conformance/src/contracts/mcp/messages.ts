// Messages and tasks for trials, and how they are read.
import assert from "node:assert/strict";
import { NotOffered } from "../../suite/not-offered.js";
import type { Trial } from "../../suite/types.js";
import type { EventStore, Message, Stores, Task, TaskStore } from "./store.js";

export const note = (n: unknown, more: object = {}): Message => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: 1, progress: n, ...more },
});

export const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);

export const eventsOf = async (trial: Trial<Stores>, session = "s"): Promise<EventStore> =>
  (await trial.store()).events(session);

/** Stores numbered messages. Returns the ids of their events. */
export async function fill(events: EventStore, stream: string, from: number, to: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = from; n < to; n++) ids.push(await events.storeEvent(stream, note(n)));
  return ids;
}

/** Replays a stream. Returns the result, and what was sent. */
export async function replay(events: EventStore, id: string) {
  const sent: Array<{ id: string; message: Message }> = [];
  const stream = await events.replayEventsAfter(id, {
    send: async (id, message) => void sent.push({ id, message }),
  });
  return { stream, sent, found: sent.map(({ message }) => message["params"]?.progress) };
}

/** Expects the numbers of the messages that a replay sends. */
export async function sends(events: EventStore, id: string, expected: readonly unknown[], what?: string) {
  assert.deepEqual((await replay(events, id)).found, expected, what);
}

/** Expects that an event is unknown: nothing is sent. */
export async function isUnknown(events: EventStore, id: string, what: string): Promise<void> {
  const { stream, sent } = await replay(events, id);
  assert.deepEqual({ stream, sent }, { stream: "", sent: [] }, what);
}

/** Returns the stream of an event by the method that is optional. */
export async function streamOf(events: EventStore, id: string): Promise<string | undefined> {
  if (events.getStreamIdForEventId === undefined)
    throw new NotOffered("the store has no getStreamIdForEventId, which is optional");
  return await events.getStreamIdForEventId(id);
}

export function tasksOf({ tasks }: Stores): TaskStore {
  if (tasks === undefined) throw new NotOffered("the module has no task store");
  return tasks;
}

export const request = { method: "tools/call", params: { name: "report" } };
export const answer = (by: string) => ({ content: [{ type: "text", text: by }] });

export const create = (tasks: TaskStore, session?: string, ttl: number | null = null): Promise<Task> =>
  tasks.createTask({ ttl }, 1, request, session);

/** Lists all tasks, page by page. */
export async function listed(tasks: TaskStore, session?: string): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await tasks.listTasks(cursor, session);
    ids.push(...page.tasks.map(({ taskId }) => taskId));
    cursor = page.nextCursor;
    assert.ok(ids.length < 1_000, "the pages have no end");
  } while (cursor !== undefined);
  return ids;
}
