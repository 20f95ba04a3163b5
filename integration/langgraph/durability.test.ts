// Tests the three durability modes of a graph. `sync` awaits the checkpoint of every step. `async` awaits the
// checkpoints at the end of the run. `exit` stores only the last checkpoint.
import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import { CheckpointStore } from "forkpoint";
import { describe, expect, it, onTestFinished } from "vitest";
import { holding } from "../../__test__/helpers.js";
import { Log, all, mainKinds, open, place, rejection, saver, says, sequence, thread, openShared } from "./helpers.js";

const modes = ["sync", "async", "exit"] as const;

const chain = () => sequence(Log, { a: says("a"), b: says("b"), c: says("c") });

describe.each(mainKinds)("on %s", (kind) => {
  describe.each(modes)("durability %s", (durability) => {
    it("a run that is over is stored whole", async () => {
      const checkpointer = saver(kind);
      const app = chain().compile({ checkpointer });
      const result = await app.invoke({ log: ["in"] }, { ...thread(), durability });
      expect(result).toEqual({ log: ["in", "a", "b", "c"] });
      expect((await app.getState(thread())).values).toEqual(result);
      const steps = (await all(checkpointer.list(thread()))).map(({ metadata }) => metadata!.step);
      expect(steps).toEqual(durability === "exit" ? [3] : [3, 2, 1, 0, -1]);
    });

    it("a failed run goes on where it failed", async () => {
      const ran: string[] = [];
      let broken = true;
      const node = (name: string) => () => {
        ran.push(name);
        if (name === "b" && broken) throw new Error("broken");
        return { log: [name] };
      };
      const app = new StateGraph(Log)
        .addNode("a", node("a"))
        .addNode("b", node("b"))
        .addNode("beside", node("beside"))
        .addEdge(START, "a")
        .addEdge("a", "b")
        .addEdge("a", "beside")
        .compile({ checkpointer: saver(kind) });
      await rejection(app.invoke({ log: [] }, { ...thread(), durability }));
      // The writes of the others survive any number of failures.
      await rejection(app.invoke(null, { ...thread(), durability }));
      broken = false;
      const { log } = await app.invoke(null, { ...thread(), durability });
      expect(log.toSorted()).toEqual(["a", "b", "beside"]);
      expect(ran.toSorted()).toEqual(["a", "b", "b", "b", "beside"]);
    });

    it("a subgraph too", async () => {
      const inner = sequence(Log, {
        first: says("first"),
        ask: () => ({ log: [interrupt<string, string>("?")] }),
      }).compile();
      const Outer = Annotation.Root({ log: Annotation<string[]> });
      const app = sequence(Outer, { inner }).compile({ checkpointer: saver(kind) });
      await app.invoke({ log: ["in"] }, { ...thread(), durability });
      const result = await app.invoke(new Command({ resume: "!" }), { ...thread(), durability });
      expect(result).toEqual({ log: ["in", "first", "!"] });
    });
  });

  it("sync: what a step has stored is there before the next one runs", async () => {
    const checkpointer = saver(kind);
    const seen: Array<[string, number | undefined]> = [];
    const node = (name: string) => async () => {
      seen.push([name, (await checkpointer.getTuple(thread()))?.metadata?.step]);
      return { log: [name] };
    };
    const app = sequence(Log, { a: node("a"), b: node("b"), c: node("c") }).compile({ checkpointer });
    await app.invoke({ log: [] }, { ...thread(), durability: "sync" });
    expect(seen).toEqual([
      ["a", 0],
      ["b", 1],
      ["c", 2],
    ]);
  });

  it("exit: nothing is there until the end", async () => {
    const checkpointer = saver(kind);
    const seen: number[] = [];
    const app = sequence(Log, {
      a: async () => {
        seen.push((await all(checkpointer.list({}))).length);
        return { log: ["a"] };
      },
      b: async () => {
        seen.push((await all(checkpointer.list({}))).length);
        return { log: ["b"] };
      },
    }).compile({ checkpointer });
    await app.invoke({ log: [] }, { ...thread(), durability: "exit" });
    expect(seen).toEqual([0, 0]);
    expect(await all(checkpointer.list({}))).toHaveLength(1);
  });
});

// With `busyTimeoutMs: 0` no call waits for the lock, so every first write fails while another process holds the lock.
it("langgraphjs#2838, SqliteSaver: what another process locks for a moment is tried again, and the event loop goes on", async () => {
  const target = place("sqlite");
  const other = await openShared(target);
  const filling = new CheckpointStore(other);
  const noise = () => Uint8Array.from({ length: 1_000_000 }, () => Math.random() * 256);
  for (let i = 0; i < 4; i++) await filling.save({ ...holding(noise()), runId: `filling ${i}` });
  const impatient = new CheckpointStore(target, { busyTimeoutMs: 0 });
  onTestFinished(() => impatient.close());
  const app = chain().compile({ checkpointer: open(target, { busyTimeoutMs: 0 }) });

  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  const seen = { busy: 0, runs: 0, locked: false };
  try {
    while (seen.busy < 3 && seen.runs < 200) {
      seen.locked = true;
      const vacuuming = other.vacuum().finally(() => (seen.locked = false));
      const run = app.invoke({ log: ["in"] }, { ...thread(`${seen.runs++}`), durability: "async" });
      while (seen.locked) {
        await impatient.save(holding("small")).catch((error: { code: string; retryable: boolean }) => {
          expect(error).toMatchObject({ code: "BUSY", retryable: true });
          seen.busy += 1;
        });
        await new Promise((resolve) => setImmediate(resolve));
      }
      await vacuuming;
      expect((await run).log).toEqual(["in", "a", "b", "c"]);
    }
  } finally {
    process.off("unhandledRejection", note);
  }
  // `busy` counts the turns of the event loop while a run waited for the lock. The event loop was therefore not
  // blocked.
  expect(seen.busy).toBeGreaterThanOrEqual(3);
  expect(unhandled).toEqual([]);
});
