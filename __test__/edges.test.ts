// Tests cases in which two rules apply at the same time.
import { type Checkpoint, CheckpointStore, openStore, resumePlan } from "forkpoint";
import { expect, onTestFinished, test } from "vitest";
import { checkpoint, failure, ids, kinds, open, place } from "./helpers.js";

const graphId = "graph-a-1700000000000";

test.each(kinds)("%s: close() waits for a fork that was called before it", async (kind) => {
  const store = new CheckpointStore(place(kind));
  const source = checkpoint();
  await store.save(source);
  const fork = store.fork(source.id);
  fork.catch(() => {});
  await store.close();
  expect(await fork).toEqual(expect.any(String));
});

test("close() of a view waits for what was called before it", async () => {
  const target = place("sqlite");
  const shared = await openStore(target);
  onTestFinished(() => shared.close());
  const other = open(target);
  await other.runs();
  const view = new CheckpointStore(shared);
  const names = Array.from({ length: 200 }, (_, i) => `c-${i}`);
  for (const id of names) void view.save(checkpoint({ id }));
  await view.close();
  expect(ids(await other.list(graphId))).toHaveLength(200);
});

const plan = (value: unknown) => () => resumePlan(value as Checkpoint);

test("resumePlan refuses what it cannot keep exactly, or keeps it", () => {
  const invalid = expect.objectContaining({ code: "INVALID_ARGUMENT" });
  expect(plan({ nodeResults: { "a\ud800": { effectClass: "write" } }, visitedNodes: [] })).toThrow(invalid);
  expect(plan({ nodeResults: { a: { effectClass: ["write"] } }, visitedNodes: [] })).toThrow(invalid);
  expect(plan({ nodeResults: { a: { effectClass: Object.create(null) } }, visitedNodes: [] })).toThrow(invalid);
});

test("a shared store's close() waits for a fork that a view has begun", async () => {
  const shared = await openStore(place("sqlite"));
  const view = new CheckpointStore(shared);
  const source = checkpoint();
  await view.save(source);
  const fork = view.fork(source.id, { scratch: { patched: true } });
  const closed = shared.close();
  await failure(view.get(source.id), "CLOSED");
  await closed;
  expect(await fork).toEqual(expect.any(String));
});
