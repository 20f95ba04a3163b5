// Tests the types that etc/api does not show: what is inferred, and what is refused. The compiler checks them.
import * as helix from "forkpoint/helix";
import type { CheckpointCreatedEvent, Run, SessionStateStore, SessionStore } from "forkpoint/helix";
import { openStore } from "forkpoint";
import { expect, expectTypeOf, it } from "vitest";

interface Research {
  topic: string;
  notes: string[];
}

/** Code that must compile, and code that must not. It never runs. */
async function uses(store: SessionStore<Research>, plain: SessionStore): Promise<void> {
  // Without a type argument, the custom state may hold anything.
  expectTypeOf(new helix.SessionStore("a.db")).toEqualTypeOf<SessionStore<Record<string, any>>>();
  expectTypeOf(new helix.SessionStore<Research>("a.db", { ttl: 60 })).toEqualTypeOf<SessionStore<Research>>();
  void new helix.SessionStore(await openStore("a.db"), { now: Date.now });
  void new helix.SessionStore(new URL("file:///a.db"), { ttlMs: null, keepLastN: 3 });
  expectTypeOf<SessionStore>().toExtend<SessionStateStore>();
  expectTypeOf<SessionStore<Research>>().toExtend<SessionStateStore<Research>>();
  expectTypeOf<SessionStore>().toExtend<AsyncDisposable>();
  const framework: SessionStateStore<Research> = store;
  void framework;

  expectTypeOf((await store.loadState("s"))!.customState.notes).toEqualTypeOf<string[]>();
  expectTypeOf((await plain.loadState("s"))!.customState.anything).toBeAny();
  expectTypeOf((await store.rewindTo("c")).state.customState).toEqualTypeOf<Research>();
  expectTypeOf(await store.compareAndSetStatus("s", ["active", "my own"], "running")).toEqualTypeOf<boolean>();
  expectTypeOf(await store.startRun("s", { runId: "r", extra: 1 })).toEqualTypeOf<Run>();
  store.on("checkpoint_created", (event, sessionId) => {
    expectTypeOf(event).toEqualTypeOf<CheckpointCreatedEvent>();
    expectTypeOf(sessionId).toEqualTypeOf<string>();
  });
  for await (const chunk of store.events()) expectTypeOf(chunk.checkpointId).toEqualTypeOf<string>();

  // What was read can be saved again.
  const state = (await store.loadState("s"))!;
  await store.saveState("s", state);
  const checkpoint = (await store.getCheckpoint("c"))!;
  await store.saveCheckpoint(checkpoint);
  await store.saveCheckpoint("s", { ...checkpoint, extra: 1 } as typeof checkpoint);
  await store.saveCheckpoint({ id: "c", sessionId: "s", stepCount: 1, timestamp: 1, state });
  await store.appendMessages("s", [{ role: "user", content: [{ type: "text" }], thinking: "x", own: true }]);
  await store.mergeCustomState("s", { values: { topic: "x" }, arrayReplacements: new Set<string>() });

  // @ts-expect-error -- the initial state must be of the store's type
  await store.createSession("s", { agentType: "a", initialState: { topic: 7 } });
  // @ts-expect-error -- an agent's type is needed
  await store.createSession("s", {});
  // @ts-expect-error -- the custom state lacks a field
  await store.saveState("s", { status: "active", stepCount: 0, customState: { topic: "x" } });
  // @ts-expect-error -- a message must have a role
  await store.appendMessages("s", [{ content: "x" }]);
  // @ts-expect-error -- the checkpoint lacks its state
  await store.saveCheckpoint({ id: "c", sessionId: "s", stepCount: 1, timestamp: 1 });
  // @ts-expect-error -- the result can be null
  void (await store.getCheckpoint("c")).id;
  // @ts-expect-error -- an id must be a string
  await store.loadState(7);
  // @ts-expect-error -- an unknown option
  await store.listCheckpoints("s", { order: "asc" });
  // @ts-expect-error -- an unknown event
  store.on("checkpoint.created", () => {});
  // @ts-expect-error -- a custom state must be an object
  void new helix.SessionStore<number>("memory:");
  // @ts-expect-error -- an unknown option
  void new helix.SessionStore("memory:", { host: "localhost" });
  // @ts-expect-error -- the store has another state type
  const other: SessionStateStore<{ topic: number }> = store;
  void other;
}

it("types are checked by the compiler, and nothing of a store is reachable from outside", async () => {
  expect(typeof uses).toBe("function");
  await using store = new helix.SessionStore("memory:");
  expect([Reflect.ownKeys(store), JSON.stringify(store)]).toEqual([[], "{}"]);
});
