// The queues of tasks: first in, first out, each message at most once.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { failure, fixture, folder, kinds, pairOf, place, sharedKinds, together, wrongType } from "../helpers.js";
import { numbers, queueAt } from "./helpers.js";

const message = (n: number) => ({ type: "notification", n, timestamp: 1 });

describe.each(kinds)("a queue on %s", (kind) => {
  it("gives the messages of each task in order, once", async () => {
    const [queue, other] = await pairOf(kind, (target) => queueAt(target as string));
    for (let n = 0; n < 10; n++) await queue.enqueue("a", message(n), "s");
    await other.enqueue("b", message(100));
    expect(await other.dequeue("a")).toEqual(message(0));
    expect(await queue.dequeue("a", "another session")).toEqual(message(1));
    await queue.enqueue("a", message(10));
    expect((await other.dequeueAll("a")).map(({ n }) => n)).toEqual(numbers(2, 11));
    expect(await queue.dequeue("a")).toBeUndefined();
    expect(await queue.dequeueAll("a")).toEqual([]);
    await queue.enqueue("a", message(11));
    expect(await other.dequeue("a")).toEqual(message(11));
    expect(await queue.dequeueAll("b")).toEqual([message(100)]);
  });

  it("takes hundreds of messages, and large ones", async () => {
    const queue = queueAt(place(kind));
    await Promise.all(numbers(0, 300).map((n) => queue.enqueue("a", { n, text: "x".repeat(3_000) })));
    expect((await queue.dequeueAll("a")).map(({ n }) => n)).toEqual(numbers(0, 300));
    expect(await queue.dequeueAll("a")).toEqual([]);
  });

  it("has at most `maxSize` messages, also if calls overlap", async () => {
    const [queue, other] = await pairOf(kind, (target) => queueAt(target as string));
    for (let round = 0; round < 3; round++) {
      const puts = numbers(0, 12).map((n) => (n % 2 ? queue : other).enqueue("a", message(n), undefined, 5));
      const settled = await Promise.allSettled(puts);
      expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
      const refused = await failure(queue.enqueue("a", message(9), undefined, 5), "BUSY");
      expect(refused.message).toContain("full");
      expect(await other.dequeue("a")).toBeDefined();
      await queue.enqueue("a", message(20), undefined, 5);
      expect(await queue.dequeueAll("a")).toHaveLength(5);
    }
    await failure(queue.enqueue("a", message(1), undefined, 0), "BUSY");
  });

  it("gives each message to one of several callers", async () => {
    const [queue, other] = await pairOf(kind, (target) => queueAt(target as string));
    for (let n = 0; n < 20; n++) await queue.enqueue("a", message(n));
    const taken = await Promise.all(numbers(0, 24).map((n) => (n % 2 ? queue : other).dequeue("a")));
    const found = taken.filter((one) => one !== undefined).map(({ n }) => n);
    expect(found.toSorted((a, b) => a - b)).toEqual(numbers(0, 20));
  });

  it("rejects what is no message", async () => {
    const queue = queueAt(place(kind));
    await wrongType(queue.enqueue("a", { at: new Date(0) }));
    await wrongType(queue.enqueue("a", undefined as never));
    await wrongType(queue.enqueue("", message(1)));
    await wrongType(queue.dequeue(7 as never));
    expect(await queue.dequeueAll("a")).toEqual([]);
  });
});

describe.each(sharedKinds)("processes on %s", (kind) => {
  it("never get the same message, and lose none", async () => {
    const target = place(kind);
    const queue = queueAt(target);
    const puts = ["a", "b"].map((name) => ["put", target, "t", name, "30"]);
    await together("mcp.mjs", puts);
    const [a, b]: [number[], number[]] = [[], []];
    const queued = (await queue.dequeueAll("t")) as Array<{ by: string; n: number }>;
    for (const { by, n } of queued) (by === "a" ? a : b).push(n);
    expect([a, b]).toEqual([numbers(0, 30), numbers(0, 30)]);

    for (let n = 0; n < 60; n++) await queue.enqueue("t", message(n));
    const ends = await together(
      "mcp.mjs",
      [1, 2, 3].map(() => ["take", target, "t"]),
    );
    const taken = ends.map(({ lines }) => lines.slice(1).map(Number));
    for (const mine of taken) expect(mine).toEqual(mine.toSorted((one, other) => one - other));
    expect(taken.flat().toSorted((one, other) => one - other)).toEqual(numbers(0, 60));
  });

  it("lose at most the message that a killed process was taking", async () => {
    const target = place(kind);
    const queue = queueAt(target);
    for (let n = 0; n < 60; n++) await queue.enqueue("t", message(n));
    const signal = join(folder(), "go");
    writeFileSync(signal, "");
    const child = spawn(process.execPath, [fixture("mcp.mjs"), "take", target, "t", signal], {
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    const given: number[] = [];
    const ended = new Promise((resolve) => child.on("close", resolve));
    for await (const line of createInterface(child.stdout)) {
      if (line === "ready") continue;
      given.push(Number(line));
      if (given.length === 10) child.kill("SIGKILL");
    }
    await ended;
    const rest = ((await queue.dequeueAll("t")) as Array<{ n: number }>).map(({ n }) => n);
    const both = [...given, ...rest];
    expect(new Set(both).size).toBe(both.length);
    expect(rest).toEqual(numbers(60 - rest.length, 60));
    expect(both.length).toBeGreaterThanOrEqual(59);
  });
});

it("reads an empty queue without a write", async () => {
  const target = place("sqlite");
  const queue = queueAt(target);
  await queue.enqueue("t", message(0));
  await queue.dequeue("t");
  const files = () => ["", "-wal"].map((end) => readFileSync(target + end));
  const before = files();
  for (let n = 0; n < 10; n++) {
    expect(await queue.dequeue("t")).toBeUndefined();
    expect(await queue.dequeueAll("t")).toEqual([]);
  }
  expect(files()).toEqual(before);
});
