/** Stores for tests, on each kind of target. */
import { type Store, openStore } from "forkpoint";
import {
  ForkpointEventStore,
  type ForkpointEventStoreOptions,
  ForkpointTaskMessageQueue,
  ForkpointTaskStore,
  type ForkpointTaskStoreOptions,
} from "forkpoint/mcp";
import { onTestFinished } from "vitest";
import { type Kind, checkedAfter, place } from "../helpers.js";

type Target = string | Store;

/** A target that several stores can be opened on: for memory, an open store. */
export async function shared(kind: Kind): Promise<Target> {
  const target = place(kind);
  if (kind !== "memory") return target;
  const store = await openStore(target);
  onTestFinished(() => store.close());
  return store;
}

export const eventsAt = (
  target: Target,
  sessionId = "s",
  more: Omit<ForkpointEventStoreOptions, "sessionId"> = {},
): ForkpointEventStore => checkedAfter(new ForkpointEventStore(target, { sessionId, ...more }));

export const tasksAt = (target: Target, options?: ForkpointTaskStoreOptions): ForkpointTaskStore =>
  checkedAfter(new ForkpointTaskStore(target, options));

export const queueAt = (target: Target): ForkpointTaskMessageQueue =>
  checkedAfter(new ForkpointTaskMessageQueue(target));

/** A notification of the progress of a call. */
export const progress = (n: number, more: object = {}) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: 1, progress: n, ...more },
});

/** Stores notifications with numbers. Returns their ids. */
export async function fill(store: ForkpointEventStore, stream: string, from: number, to: number, more?: object) {
  const ids: string[] = [];
  for (let n = from; n < to; n++) ids.push(await store.storeEvent(stream, progress(n, more)));
  return ids;
}

/** Replays a stream. Returns the id of the stream, and what was sent. */
export async function replay(store: ForkpointEventStore, after: string) {
  const sent: Array<[id: string, message: any]> = [];
  const stream = await store.replayEventsAfter(after, {
    send: async (id, message) => void sent.push([id, message]),
  });
  return { stream, sent, numbers: sent.map(([, { params }]) => params?.progress as number) };
}

export const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);
