// Tests recover() with threads that kill every process that resumes them: their neighbours are recovered all the same.
import { describe, expect, it } from "vitest";
import { Child } from "./children.js";
import { open, place, sharedKinds } from "./helpers.js";

type Outcome = [thread: string, outcome: string, crashes: number];

const run = (target: string, ...args: string[]) => new Child([target, ...args], {}, "poison.mjs");

async function start(target: string, ...threads: string[]): Promise<void> {
  expect(await run(target, "start", ...threads).ended()).toMatchObject({ code: 0 });
}

/** Recovers until a process ends by itself. Returns what it reports, and how many processes were killed before it. */
async function recovered(target: string, processes = 1): Promise<{ log: Outcome[]; kills: number }> {
  for (let kills = 0; ; kills += processes) {
    const children = Array.from({ length: processes }, () => run(target, "recover"));
    const ended = await Promise.all(children.map((child) => child.ended()));
    const log = ended.flatMap(({ lines }) => (lines.find(({ event }) => event === "end")?.["log"] ?? []) as Outcome[]);
    if (ended.every(({ code }) => code === 0)) return { log, kills };
    expect(kills).toBeLessThan(20);
  }
}

async function finished(target: string): Promise<string[]> {
  const saver = open(target);
  const { threads } = await saver.listThreads({ status: "finished" });
  await saver.close();
  return threads.map(({ threadId }) => threadId).toSorted();
}

describe.each(sharedKinds)("%s", (kind) => {
  it("a thread that kills its process is given up, and its neighbours are finished", { timeout: 120_000 }, async () => {
    const target = place(kind);
    await start(target, "good-1", "good-2", "poison", "good-3");
    const { log, kills } = await recovered(target);
    expect(log).toEqual([["poison", "gave up", 3]]);
    expect(await finished(target)).toEqual(["good-1", "good-2", "good-3"]);
    // One process that tried all four, and three that tried the thread alone.
    expect(kills).toBe(4);
  });

  it("two such threads are given up, each for its own crashes", { timeout: 120_000 }, async () => {
    const target = place(kind);
    await start(target, "good-1", "poison-1", "poison-2", "good-2");
    const { log, kills } = await recovered(target);
    expect(log.toSorted()).toEqual([
      ["poison-1", "gave up", 3],
      ["poison-2", "gave up", 3],
    ]);
    expect(await finished(target)).toEqual(["good-1", "good-2"]);
    expect(kills).toBe(7);
  });

  it("a thread that is alone from the start is given up after three crashes", { timeout: 120_000 }, async () => {
    const target = place(kind);
    await start(target, "poison");
    expect(await recovered(target)).toEqual({ log: [["poison", "gave up", 3]], kills: 3 });
  });

  it("two processes that recover at once give up no other thread", { timeout: 120_000 }, async () => {
    const target = place(kind);
    const good = ["good-1", "good-2", "good-3"];
    await start(target, "good-1", "good-2", "poison", "good-3");
    const { log } = await recovered(target, 2);
    expect(log.filter(([thread]) => thread !== "poison").filter(([, outcome]) => outcome === "gave up")).toEqual([]);
    expect(log.some(([thread, outcome]) => thread === "poison" && outcome === "gave up")).toBe(true);
    expect(await finished(target)).toEqual(good);
  });
});
