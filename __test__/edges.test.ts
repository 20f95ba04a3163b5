// Tests cases in which two rules apply at the same time.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Checkpoint, CheckpointStore, Store, openStore, resumePlan } from "forkpoint";
import { expect, onTestFinished, test } from "vitest";
import { checkpoint, failure, folder, holding, ids, kinds, open, place, rejection, thrown } from "./helpers.js";

const graphId = "graph-a-1700000000000";
const scratch = async (value: unknown) => {
  const store = open("memory:");
  const saved = holding(value);
  await store.save(saved);
  return (await store.get(saved.id))!.state.scratch;
};

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

test("what toJSON answers is checked like every value", async () => {
  await failure(open("memory:").save(holding({ toJSON: async () => 1 })), "INVALID_ARGUMENT");
  await failure(open("memory:").save(holding({ toJSON: () => new WeakMap() })), "INVALID_ARGUMENT");
});

const get = () => "value";

test("a getter of an array is stored by its value", async () => {
  expect(await scratch(Object.defineProperty([0], 0, { get, enumerable: true }))).toEqual(["value"]);
  const extra = Object.defineProperty(Object.assign([], { f: () => 1 }), "x", { get, enumerable: true });
  expect(((await scratch(extra)) as unknown as { x: string }).x).toBe("value");
});

test("the stack of a refused save leads to the caller", async () => {
  const { stack } = await rejection((async () => await open("memory:").save(checkpoint({ bad: new WeakMap() })))());
  expect(stack).toContain("edges.test.ts");
});

test("a custom serializer may use one buffer again and again", async () => {
  const buffer = Buffer.alloc(65_536);
  const store = open("memory:", {
    serializer: {
      name: "frugal",
      serialize: (value) => buffer.subarray(0, buffer.write(JSON.stringify(value))),
      deserialize: (bytes) => JSON.parse(Buffer.from(bytes).toString()) as unknown,
    },
  });
  const saved = checkpoint();
  await store.save(saved);
  expect(await store.get(saved.id)).toEqual(saved);
});

test("a file: URL may be a string", async () => {
  const home = folder();
  const store = open(pathToFileURL(join(home, "a b.db")).href);
  await store.save(checkpoint());
  await store.close();
  expect(readdirSync(home)).toEqual(["a b.db"]);
});

test("a file: URL whose path begins with two slashes stays absolute", async () => {
  const home = folder();
  const store = open(new URL(`file:///${join(home, "agent.db")}`));
  await store.save(checkpoint());
  await store.close();
  expect(readdirSync(home)).toEqual(["agent.db"]);
});

test("every TypeError has the code INVALID_ARGUMENT", () => {
  const Constructor = Store as unknown as new () => Store;
  for (const call of [
    () => new CheckpointStore(new URL("file:///a%2Fb.db")),
    () => new CheckpointStore(new URL("file://elsewhere/b.db")),
    () => new Constructor(),
  ]) {
    const error = thrown(call);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.code).toBe("INVALID_ARGUMENT");
  }
});

const plan = (value: unknown) => () => resumePlan(value as Checkpoint);

test("resumePlan refuses what it cannot keep exactly, or keeps it", () => {
  const invalid = expect.objectContaining({ code: "INVALID_ARGUMENT" });
  expect(plan({ nodeResults: { "a\ud800": { effectClass: "write" } }, visitedNodes: [] })).toThrow(invalid);
  expect(plan({ nodeResults: { a: { effectClass: ["write"] } }, visitedNodes: [] })).toThrow(invalid);
  expect(plan({ nodeResults: { a: { effectClass: Object.create(null) } }, visitedNodes: [] })).toThrow(invalid);
});

test("messages stay short, whatever they are about", async () => {
  const store = open("memory:");
  const notFound = await failure(store.fork("x".repeat(1_000_000)), "NOT_FOUND");
  expect(notFound.message.length).toBeLessThan(1_000);
  const value = { toJSON: () => ({ again: value }) };
  const deep = await failure(store.save(holding(value)), "INVALID_ARGUMENT");
  expect(deep.message.length).toBeLessThan(1_000);
});

test("a custom deserializer that gives no object is an error that says so", async () => {
  const store = open("memory:", {
    serializer: { name: "own", serialize: (value) => Buffer.from(JSON.stringify(value)), deserialize: () => null },
  });
  const saved = checkpoint();
  await store.save(saved);
  const error = await rejection(store.get(saved.id));
  expect(error.message).toContain("own");
});

test("a toJSON that is not enumerable is honoured", async () => {
  const value = Object.defineProperty({ a: 1 }, "toJSON", { value: () => "asked" });
  expect(await scratch({ value })).toEqual({ value: "asked" });
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

test("toJSON is asked once, and what it answers is asked where it stands by itself", async () => {
  let calls = 0;
  const state = {
    ...checkpoint().state,
    toJSON() {
      calls += 1;
      return this;
    },
  };
  const store = open("memory:");
  await store.save(checkpoint({ id: "asked", state }));
  expect(calls).toBe(1);
  expect((await store.get("asked"))!.state).toEqual(checkpoint().state);
  const inner = { toJSON: () => "x" };
  expect(await scratch([{ toJSON: () => inner }, inner])).toEqual([{}, "x"]);
});
