// Tests `forkpoint tail`, with databases that other processes write to.
import { join } from "node:path";
import { CheckpointStore, openStore } from "forkpoint";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkpoint, folder, windows } from "../helpers.js";
import { answer, filled, start, withRun } from "./run.js";

interface Event {
  type: "saved" | "changed";
  seq: number;
  checkpoint: { id: string; run: string; space: string; seq: number };
}

const events = (lines: string[]): Event[] => lines.map((line) => JSON.parse(line) as Event);

/** The events of a command that ends by itself. */
async function tailed(path: string, ...args: string[]): Promise<Event[]> {
  const text = await answer(["tail", "--no-follow", "--json", "--db", path, ...args]);
  return events(text.split("\n").slice(0, -1));
}

/** Opens a store in this process. The command line runs in another one. */
async function opened(path: string): Promise<CheckpointStore> {
  const store = new CheckpointStore(path);
  onTestFinished(() => store.close());
  return store;
}

describe("tail", () => {
  test("prints the last saves, then what is saved, by whatever process", async () => {
    const path = await withRun("old", 15);
    const tail = start(["tail", "--json", "--db", path]);
    expect(events(await tail.lines(10)).map((each) => each.checkpoint.id)).toEqual(
      Array.from({ length: 10 }, (_, n) => `old ${n + 5}`),
    );
    const store = await opened(path);
    for (let n = 0; n < 30; n++) await store.save(checkpoint({ id: `new ${n}`, runId: `new-${n % 2}`, timestamp: n }));
    const all = events(await tail.lines(40));
    expect(all.slice(10).map((each) => each.checkpoint.id)).toEqual(Array.from({ length: 30 }, (_, n) => `new ${n}`));
    for (const { type, seq, checkpoint } of all) expect([type, seq]).toEqual(["saved", checkpoint.seq]);
    expect(all.map(({ seq }) => seq)).toEqual(all.map(({ seq }) => seq).toSorted((a, b) => a - b));
    tail.child.kill("SIGINT");
    expect(await tail.ended).toMatchObject({ code: windows ? null : 0, stderr: "" });
  });

  test("tells of a removal", async () => {
    const path = await withRun("old", 3);
    const tail = start(["tail", "--json", "--lines", "1", "--db", path]);
    await tail.lines(1);
    const store = await opened(path);
    await store.delete("old 0");
    expect(events(await tail.lines(2))[1]).toEqual({ type: "changed" });
  });

  test("begins with nothing, and follows an empty database", async () => {
    const path = join(folder(), "agent.db");
    await (await openStore(path)).close();
    const tail = start(["tail", "--json", "--db", path]);
    const store = await opened(path);
    await store.save(checkpoint({ id: "first" }));
    expect(events(await tail.lines(1))[0]!.checkpoint.id).toBe("first");
    expect(await tailed(path, "--lines", "0")).toEqual([]);
  });

  test("--no-follow ends with what is there", async () => {
    const path = await withRun("old", 15);
    const ids = async (...args: string[]) => (await tailed(path, ...args)).map((each) => each.checkpoint.id);
    expect(await ids()).toEqual(Array.from({ length: 10 }, (_, n) => `old ${n + 5}`));
    expect(await ids("-n", "2")).toEqual(["old 13", "old 14"]);
    expect(await ids("--lines", "1000")).toHaveLength(15);
    expect(await ids("--since", "1h")).toHaveLength(15);
    expect(await ids("--since", "0s")).toEqual([]);
    const [first, second] = await tailed(path, "--since", "0");
    expect(first!.checkpoint.id).toBe("old 0");
    expect((await tailed(path, "--since", String(first!.seq)))[0]).toEqual(second);
    expect(await tailed(path, "--since", "999999999")).toEqual([]);
    const empty = join(folder(), "agent.db");
    await (await openStore(empty)).close();
    expect(await tailed(empty)).toEqual([]);
  });

  test("watches one run or one space", async () => {
    const path = await filled();
    const of = await tailed(path, "--lines", "1000", "run-1");
    expect(of.map(({ checkpoint }) => checkpoint.run)).toEqual(Array.from({ length: 10 }, () => "run-1"));
    const space = await tailed(path, "--lines", "1000", "--space", "agentium");
    expect(space.map(({ checkpoint }) => checkpoint.id)).toEqual(["w0", "w1", "w2", "w3", "w4"]);
    expect(await tailed(path, "--space", "langgraph")).toEqual([]);
    const tail = start(["tail", "--json", "--lines", "0", "run-1", "--db", path]);
    const store = await opened(path);
    // The command may start after a save. So saves go on until one is seen.
    let saved = 0;
    const line = tail.lines(1);
    const state = { seen: false };
    void line.then(() => (state.seen = true));
    while (!state.seen) {
      await store.save(checkpoint({ id: `other ${saved}`, runId: "run-2", timestamp: 100 + saved }));
      await store.save(checkpoint({ id: `this ${saved++}`, runId: "run-1", timestamp: 100 + saved }));
    }
    expect(events(await line)[0]!.checkpoint.run).toBe("run-1");
  });
});
