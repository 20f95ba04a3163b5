import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { checkpoint, ids, kinds, open, place } from "./helpers.js";

const graphId = "graph-a-1700000000000";

test("of 5,000 saves in flight no turn of the loop settles more than a part", async () => {
  const store = open(place("sqlite"), { durability: "off" });
  let settled = 0;
  const saves = Array.from({ length: 5_000 }, () => store.save(checkpoint()).then(() => void settled++));
  // The number of settled saves at each turn of the event loop, seen by immediates and by timers.
  const seen = { immediates: [0], timers: [0] };
  const look = (turns: number[], again: (callback: () => void) => void) => {
    turns.push(settled);
    if (settled < 5_000) again(() => look(turns, again));
  };
  look(seen.immediates, setImmediate);
  look(seen.timers, (callback) => void setTimeout(callback, 0));
  await Promise.all(saves);
  const steps = seen.immediates.slice(1).map((count, i) => count - seen.immediates[i]!);
  expect(Math.max(...steps)).toBeLessThanOrEqual(1_024);
  expect(seen.immediates.length).toBeGreaterThanOrEqual(5);
  expect(seen.timers.length).toBeGreaterThanOrEqual(2);
  expect(await store.list(graphId)).toHaveLength(5_000);
});

test("timers, immediates and I/O get turns for as long as saves never cease", async () => {
  const store = open(place("sqlite"), { durability: "off" });
  const turns = { timers: 0, immediates: 0, reads: 0, saves: 0 };
  const goal = { timers: 20, immediates: 100, reads: 20 };
  const reached = async (kind: keyof typeof goal, turn: () => Promise<unknown>) => {
    for (; turns[kind] < goal[kind]; turns[kind]++) await turn();
  };
  // If the event loop never ran timers, immediates or I/O, this promise would never resolve.
  const enough = Promise.all([
    reached("timers", () => new Promise((resolve) => setTimeout(resolve, 1))),
    reached("immediates", () => new Promise((resolve) => setImmediate(resolve))),
    reached("reads", () => readFile(new URL(import.meta.url))),
  ]);
  // A hundred savers. Each saves again as soon as its last save resolves.
  const stop = new AbortController();
  const savers = Array.from({ length: 100 }, async (_, i) => {
    for (; !stop.signal.aborted; turns.saves++) await store.save(checkpoint({ id: `saver-${i}` }));
  });
  await enough;
  // On a slow machine, the others may be done before the savers.
  while (turns.saves <= 100) await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  await Promise.all(savers);
  expect(turns).toMatchObject(goal);
  expect(turns.saves).toBeGreaterThan(100);
  expect(await store.list(graphId)).toHaveLength(100);
});

describe.each(kinds)("%s", (kind) => {
  test("thousands of concurrent calls of every kind all settle", async () => {
    const store = open(place(kind), { durability: "off" });
    const source = checkpoint({ id: "source", runId: "source" });
    await store.save(source);
    const calls: Array<Promise<unknown>> = [];
    for (let i = 0; i < 500; i++) {
      const id = `c-${i}`;
      calls.push(
        store.save(checkpoint({ id, runId: `run-${i % 10}` })),
        store.get(id),
        store.latest(`run-${i % 10}`),
        store.load(`run-${i % 10}`, "node-1"),
        store.list(graphId, { limit: 3 }),
        store.runs({ limit: 2 }),
        store.fork("source", { scratch: { i } }),
        store.delete(`c-${i - 100}`),
        store.save(checkpoint({ bad: new WeakMap() })),
      );
    }
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(500);
    for (const [i, outcome] of outcomes.entries()) {
      expect(outcome.status === "rejected", `call ${i}`).toBe(i % 9 === 8);
      // A read sees the save that was called before it. The last hundred checkpoints are never deleted.
      if (i % 9 === 1 && i >= 400 * 9) expect(outcome).toMatchObject({ value: { id: `c-${(i - 1) / 9}` } });
      if (i % 9 === 2) expect(outcome).toMatchObject({ value: { runId: `run-${((i - 2) / 9) % 10}` } });
      if (i % 9 === 4) expect((outcome as PromiseFulfilledResult<unknown[]>).value).not.toHaveLength(0);
    }
    // The store holds 100 checkpoints after 500 saves and 400 deletes, 1 source of the forks, and 500 forks.
    expect(await store.list(graphId)).toHaveLength(100 + 1 + 500);
    expect(await store.listByRun("source")).toHaveLength(1);
  });

  test("saves that are called from the outcomes of others keep the order too", async () => {
    const store = open(place(kind), { durability: "off" });
    const called: string[] = [];
    const resolved: string[] = [];
    const save = async (id: string) => {
      called.push(id);
      await store.save(checkpoint({ id }));
      resolved.push(id);
    };
    const chains = Array.from({ length: 50 }, async (_, i) => {
      for (let step = 0; step < 20; step++) await save(`chain-${i}-${step}`);
    });
    await Promise.all(chains);
    expect(resolved).toEqual(called);
    expect(ids(await store.list(graphId)).toReversed()).toEqual(called);
  });
});
