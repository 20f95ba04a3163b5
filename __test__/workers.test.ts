import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { checkpoint, durable, fixture, ids, open, place } from "./helpers.js";

const home = () => place(durable);

interface Ended {
  code: number;
  messages: string[];
  error: Error | undefined;
}

/** Runs fixtures/worker.mjs in a worker until it ends. */
function work(
  task: string,
  target: string,
  name: string,
  onFirst: (worker: Worker) => void = () => {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const worker = new Worker(fixture("worker.mjs"), { workerData: { task, target, name } });
    onTestFinished(async () => void (await worker.terminate()));
    const messages: string[] = [];
    let error: Error | undefined;
    worker.on("message", (message: string) => {
      messages.push(message);
      // Call `onFirst` only once, because more messages may arrive.
      if (messages.length === 1) onFirst(worker);
    });
    worker.on("error", (reason: Error) => (error = reason));
    worker.on("exit", (code) => resolve({ code, messages, error }));
  });
}

const named = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}-${i}`);

test("several workers and the main thread save into one file, in one order", async () => {
  const target = home();
  const store = open(target);
  const names = ["a", "b", "c"];
  const [ended] = await Promise.all([
    Promise.all(names.map((name) => work("work", target, name))),
    Promise.all(named("main", 25).map((id) => store.save(checkpoint({ id, graphId: "graph", timestamp: 1 })))),
  ]);
  for (const [i, name] of names.entries()) {
    expect(ended[i]).toEqual({ code: 0, messages: [`${name}-24`], error: undefined });
  }
  const saved = ids(await store.list("graph")).toReversed();
  expect(saved).toHaveLength(100);
  // The saves of each thread keep the order of its calls, even with saves of other threads in between.
  for (const name of [...names, "main"]) {
    expect(saved.filter((id) => id.startsWith(`${name}-`))).toEqual(named(name, 25));
  }
  // A list through another handle has the same order.
  expect(ids(await open(target).list("graph")).toReversed()).toEqual(saved);
});

test("workers that are terminated at once leave each other alone", async () => {
  const target = home();
  const ended = await Promise.all(
    ["a", "b", "c", "d"].map((name) => work("saveForEver", target, name, (worker) => void worker.terminate())),
  );
  const store = open(target);
  const listed = new Set(ids(await store.list("graph")));
  for (const { messages, error } of ended) {
    expect(error).toBeUndefined();
    expect(messages.length).toBeGreaterThan(0);
    expect(messages.filter((id) => !listed.has(id))).toEqual([]);
  }
  for (const id of listed) expect((await store.get(id))!.id).toBe(id);
});

test("a worker that throws ends with its saves stored", async () => {
  const target = home();
  const { code, error } = await work("throw", target, "w");
  expect(code).toBe(1);
  expect(error?.message).toBe("as the test wants");
  expect(ids(await open(target).list("graph")).toReversed()).toEqual(named("w", 20));
});

test("a worker may end with an open store, whose saves are stored", async () => {
  const target = home();
  expect(await work("leave", target, "w")).toEqual({ code: 0, messages: [], error: undefined });
  expect(ids(await open(target).list("graph")).toReversed()).toEqual(["w-first", ...named("w", 20)]);
});

test("eight workers in turn load the addon, over a file and in memory", async () => {
  const target = home();
  for (const name of named("turn", 8)) {
    for (const place of [target, "memory:"]) {
      expect(await work("work", place, name)).toEqual({ code: 0, messages: [`${name}-24`], error: undefined });
    }
  }
  expect(await open(target).list("graph")).toHaveLength(200);
});
