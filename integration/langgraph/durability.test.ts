// Tests the three durability modes of a graph. `sync` awaits the checkpoint of every step. `async` awaits the
// checkpoints at the end of the run. `exit` stores only the last checkpoint.
import { Annotation, Command, END, START, StateGraph, interrupt } from "@langchain/langgraph";
import { CheckpointStore, openStore } from "forkpoint";
import { describe, expect, it, onTestFinished } from "vitest";
import { Log, all, mainKinds, open, place, rejection, saver, says, thread } from "./helpers.js";

const modes = ["sync", "async", "exit"] as const;

const chain = () =>
  new StateGraph(Log)
    .addNode("a", says("a"))
    .addNode("b", says("b"))
    .addNode("c", says("c"))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .addEdge("c", END);

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

    it("a second run goes on from the first", async () => {
      const app = chain().compile({ checkpointer: saver(kind) });
      await app.invoke({ log: ["one"] }, { ...thread(), durability });
      const { log } = await app.invoke({ log: ["two"] }, { ...thread(), durability });
      expect(log).toEqual(["one", "a", "b", "c", "two", "a", "b", "c"]);
      expect((await app.getState(thread())).values).toEqual({ log });
    });

    it("an interrupt is answered", async () => {
      const ran: string[] = [];
      const app = new StateGraph(Log)
        .addNode("a", () => {
          ran.push("a");
          return { log: ["a"] };
        })
        .addNode("ask", () => ({ log: [interrupt<string, string>("?")] }))
        .addNode("beside", () => {
          ran.push("beside");
          return { log: ["beside"] };
        })
        .addEdge(START, "a")
        .addEdge("a", "ask")
        .addEdge("a", "beside")
        .compile({ checkpointer: saver(kind) });
      await app.invoke({ log: [] }, { ...thread(), durability });
      expect((await app.getState(thread())).tasks.flatMap((task) => task.interrupts.map(({ value }) => value))).toEqual(
        ["?"],
      );
      const { log } = await app.invoke(new Command({ resume: "!" }), { ...thread(), durability });
      expect(log.toSorted()).toEqual(["!", "a", "beside"]);
      expect(ran).toEqual(["a", "beside"]);
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
      broken = false;
      const { log } = await app.invoke(null, { ...thread(), durability });
      expect(log.toSorted()).toEqual(["a", "b", "beside"]);
      expect(ran.toSorted()).toEqual(["a", "b", "b", "beside"]);
    });

    it("a subgraph too", async () => {
      const inner = new StateGraph(Log)
        .addNode("first", says("first"))
        .addNode("ask", () => ({ log: [interrupt<string, string>("?")] }))
        .addEdge(START, "first")
        .addEdge("first", "ask")
        .compile();
      const Outer = Annotation.Root({ log: Annotation<string[]> });
      const app = new StateGraph(Outer)
        .addNode("inner", inner)
        .addEdge(START, "inner")
        .compile({ checkpointer: saver(kind) });
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
    const app = new StateGraph(Log)
      .addNode("a", node("a"))
      .addNode("b", node("b"))
      .addNode("c", node("c"))
      .addEdge(START, "a")
      .addEdge("a", "b")
      .addEdge("b", "c")
      .compile({ checkpointer });
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
    const app = new StateGraph(Log)
      .addNode("a", async () => {
        seen.push((await all(checkpointer.list({}))).length);
        return { log: ["a"] };
      })
      .addNode("b", async () => {
        seen.push((await all(checkpointer.list({}))).length);
        return { log: ["b"] };
      })
      .addEdge(START, "a")
      .addEdge("a", "b")
      .compile({ checkpointer });
    await app.invoke({ log: [] }, { ...thread(), durability: "exit" });
    expect(seen).toEqual([0, 0]);
    expect(await all(checkpointer.list({}))).toHaveLength(1);
  });

  it("async: many threads at once, none gets another's", async () => {
    const app = chain().compile({ checkpointer: saver(kind) });
    const ids = Array.from({ length: 20 }, (_, i) => `thread ${i}`);
    const results = await Promise.all(ids.map((id) => app.invoke({ log: [id] }, thread(id))));
    for (const [i, id] of ids.entries()) {
      expect(results[i]).toEqual({ log: [id, "a", "b", "c"] });
      expect((await app.getState(thread(id))).values).toEqual(results[i]);
    }
  });
});

it.each(modes)(
  "durability %s: another saver reads from the file what this one has stored, while both are open",
  async (durability) => {
    const target = place("sqlite");
    const writing = chain().compile({ checkpointer: open(target) });
    const reading = chain().compile({ checkpointer: open(target) });
    const { log } = await writing.invoke({ log: ["in"] }, { ...thread(), durability });
    expect((await reading.getState(thread())).values).toEqual({ log });
    const further = await reading.invoke({ log: ["more"] }, { ...thread(), durability });
    expect(further.log).toEqual([...log, "more", "a", "b", "c"]);
    expect((await writing.getState(thread())).values).toEqual(further);
  },
);

// Two savers on one file lock each other out again and again. Neither the process nor a run may fail because of this.
it("langgraphjs#2838: savers that lock each other out under async durability reject nothing", async () => {
  const target = place("sqlite");
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    const apps = Array.from({ length: 4 }, () => chain().compile({ checkpointer: open(target) }));
    const runs = apps.flatMap((app, i) =>
      Array.from({ length: 5 }, (_, j) =>
        app.invoke({ log: [`${i}-${j}`] }, { ...thread(`${i}-${j}`), durability: "async" }),
      ),
    );
    for (const { log } of await Promise.all(runs)) expect(log.slice(1)).toEqual(["a", "b", "c"]);
  } finally {
    process.off("unhandledRejection", note);
  }
  expect(unhandled).toEqual([]);
});

// With `busyTimeoutMs: 0` no call waits for the lock, so every first write fails while another process holds the lock.
it("langgraphjs#2838, SqliteSaver: what another process locks for a moment is tried again, and the event loop goes on", async () => {
  const target = place("sqlite");
  const other = await openStore(target);
  onTestFinished(() => other.close());
  const filling = new CheckpointStore(other);
  const checkpoint = (id: string, bytes: number) => ({
    id,
    graphId: "graph",
    runId: id,
    nodeId: "node",
    timestamp: 1,
    state: {
      input: Uint8Array.from({ length: bytes }, () => Math.random() * 256),
      scratch: {},
      artifacts: {},
      diagnostics: {},
    },
    nodeResults: {},
    visitedNodes: [],
    pendingEdges: [],
  });
  for (let i = 0; i < 4; i++) await filling.save(checkpoint(`filling ${i}`, 1_000_000) as never);
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
        await impatient.save(checkpoint("small", 10) as never).catch((error: { code: string; retryable: boolean }) => {
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

it("PostgresSaver: several savers may set up one database at once", async () => {
  const target = place("sqlite");
  const savers = Array.from({ length: 8 }, () => open(target));
  const apps = savers.map((checkpointer) => chain().compile({ checkpointer }));
  const results = await Promise.all(apps.map((app, i) => app.invoke({ log: ["in"] }, thread(`${i}`))));
  for (const { log } of results) expect(log).toEqual(["in", "a", "b", "c"]);
  expect((await savers[0]!.listThreads()).threads).toHaveLength(8);
});
