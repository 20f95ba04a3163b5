// Large cases: a thousand steps, hundreds of branches in one step.
// @module-tag slow
import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { basename } from "node:path";
import { Annotation, END, START, Send, StateGraph } from "@langchain/langgraph";
import { type CheckpointTuple, MemorySaver, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { ForkpointSaver } from "forkpoint/langgraph";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { all, mainKinds, open, placeIn, saver, temporary, thread } from "./helpers.js";

/** The timeout in ms of a test with a thousand steps. It allows for slow and busy machines. */
const PATIENCE = 600_000;

/** Returns about a kilobyte of text that is different for every number. */
function page(number: number): string {
  const hash = (part: number) => createHash("sha256").update(`${number}.${part}`).digest("base64");
  return Array.from({ length: 23 }, (_, part) => hash(part)).join("");
}

/** LangGraph's own serializer, extended to count its reads. */
function counting() {
  const plus = new MemorySaver().serde;
  const read = { calls: 0, bytes: 0 };
  const serde: SerializerProtocol = {
    dumpsTyped: (value) => plus.dumpsTyped(value),
    loadsTyped: (type, data) => {
      read.calls += 1;
      read.bytes += data.length;
      return plus.loadsTyped(type, data);
    },
  };
  return { serde, read };
}

const append = <T>(before: T[], more: T[]): T[] => [...before, ...more];

describe.each(mainKinds)("a graph of a thousand steps on %s", (kind) => {
  const STEPS = 1_000;
  const State = Annotation.Root({
    pages: Annotation<string[]>({ reducer: append, default: () => [] }),
    count: Annotation<number>({ reducer: (before, more) => before + more, default: () => 0 }),
    status: Annotation<string>,
    recent: Annotation<number[]>({ reducer: (before, more) => [...before, ...more].slice(-3), default: () => [] }),
    flags: Annotation<Record<string, boolean>>,
    topic: Annotation<string>,
  });

  /** Returns the update of a turn. Turns count from 1. */
  const turn = (number: number) => ({
    pages: [page(number)],
    count: 1,
    status: `step ${number}`,
    recent: [number],
    ...(number % 100 === 0 && { flags: { [`at ${number}`]: true } }),
  });

  /** Returns the state after this many turns. */
  const after = (turns: number) => ({
    pages: Array.from({ length: turns }, (_, i) => page(i + 1)),
    count: turns,
    ...(turns > 0 && { status: `step ${turns}` }),
    recent: Array.from({ length: Math.min(turns, 3) }, (_, i) => turns - Math.min(turns, 3) + i + 1),
    ...(turns >= 100 && { flags: { [`at ${turns - (turns % 100)}`]: true } }),
    topic: "everything",
  });

  const compile = (checkpointer: ForkpointSaver) =>
    new StateGraph(State)
      .addNode("work", ({ count }) => turn(count + 1))
      .addEdge(START, "work")
      .addConditionalEdges("work", ({ count }) => (count < STEPS ? "work" : END))
      .compile({ checkpointer });

  const { path, remove } = temporary();
  const { serde, read } = counting();
  const target = placeIn(path, kind);
  let checkpointer: ForkpointSaver;
  let result: typeof State.State;

  beforeAll(async () => {
    checkpointer = new ForkpointSaver(target, { serde });
    result = await compile(checkpointer).invoke({ topic: "everything" }, { ...thread(), recursionLimit: STEPS + 100 });
  }, PATIENCE);

  afterAll(async () => {
    await checkpointer.close();
    remove();
  });

  it("ends in the right state, which is there", async () => {
    expect(result).toEqual(after(STEPS));
    const state = await compile(checkpointer).getState(thread());
    expect(state.values).toEqual(result);
    expect(state.next).toEqual([]);
    expect(state.metadata).toMatchObject({ source: "loop", step: STEPS });
  });

  it("has every checkpoint, and each is the state that it was", { timeout: PATIENCE }, async () => {
    const ids: string[] = [];
    let step = STEPS;
    for await (const { values, next, config, parentConfig, metadata: made } of compile(checkpointer).getStateHistory(
      thread(),
    )) {
      expect(made!.step).toBe(step);
      expect((values as typeof result).pages).toHaveLength(Math.max(step, 0));
      expect((values as typeof result).count).toBe(Math.max(step, 0));
      expect(next).toEqual(step === STEPS ? [] : [step === -1 ? START : "work"]);
      if (step >= 0 && step % 97 === 0) expect(values).toEqual(after(step));
      ids.push(config.configurable!["checkpoint_id"] as string);
      if (step > -1) expect(parentConfig).toBeDefined();
      else expect(parentConfig).toBeUndefined();
      step -= 1;
    }
    expect(step).toBe(-2);
    expect(ids).toEqual(ids.toSorted().toReversed());
    expect(new Set(ids).size).toBe(STEPS + 2);
  });

  describe("list is lazy:", () => {
    /**
     * A limit on the number of reads. One checkpoint needs fewer reads for its parts, writes and metadata. A hundred
     * checkpoints need far more.
     */
    const FEW = 30;

    /** Returns the serializer's reads during the work. */
    async function reading(work: () => Promise<unknown>) {
      Object.assign(read, { calls: 0, bytes: 0 });
      await work();
      return { ...read };
    }

    it("with limit 1 it reads one checkpoint", async () => {
      const one = await reading(() => checkpointer.getTuple(thread()));
      expect(one.calls).toBeGreaterThan(0);
      expect(one.calls).toBeLessThanOrEqual(FEW);
      expect(await reading(() => all(checkpointer.list(thread(), { limit: 1 })))).toEqual(one);
      expect(await reading(() => all(checkpointer.list({}, { limit: 1 })))).toEqual(one);
    });

    it("with before and limit 1 it reads one checkpoint", async () => {
      const [, second] = await all(checkpointer.list(thread("thread", { checkpoint_ns: "" }), { limit: 2 }));
      const [newest] = await all(checkpointer.list(thread("thread", { checkpoint_ns: "" }), { limit: 1 }));
      const one = await reading(() => checkpointer.getTuple(second!.config));
      const options = { limit: 1, before: newest!.config };
      expect(await reading(() => all(checkpointer.list(thread("thread", { checkpoint_ns: "" }), options)))).toEqual(
        one,
      );
    });

    it("a loop that is left early has read what it saw", async () => {
      const seen: CheckpointTuple[] = [];
      const three = await reading(async () => {
        for await (const tuple of checkpointer.list(thread())) {
          seen.push(tuple);
          if (seen.length === 3) break;
        }
      });
      const each = await reading(async () => {
        for (const { config } of seen) await checkpointer.getTuple(config);
      });
      expect(three).toEqual(each);
      expect(three.calls).toBeLessThanOrEqual(3 * FEW);
    });

    it("one that nobody iterates reads nothing", async () => {
      const nothing = await reading(async () => {
        const list = checkpointer.list(thread());
        await list.return(undefined);
      });
      expect(nothing).toEqual({ calls: 0, bytes: 0 });
      expect(await reading(() => all(checkpointer.list(thread(), { limit: 0 })))).toEqual({ calls: 0, bytes: 0 });
    });

    it("a filter reads metadata, and of what it finds the rest", async () => {
      const found: number[] = [];
      const { calls, bytes } = await reading(async () => {
        for await (const { metadata: made } of checkpointer.list(thread(), { filter: { step: 10 }, limit: 1 }))
          found.push(made!.step);
      });
      expect(found).toEqual([10]);
      expect(calls).toBeLessThanOrEqual(STEPS + 100 + FEW);
      expect(bytes).toBeLessThan(STEPS * 300);
    });

    it("the threads are listed without a state being read if no status is asked for", async () => {
      const nothing = await reading(async () => {
        const { threads } = await checkpointer.listThreads({ withNext: false });
        expect(threads).toMatchObject([{ threadId: "thread" }]);
        expect(threads[0]!.checkpoints).toBeGreaterThanOrEqual(STEPS + 2);
      });
      expect(nothing).toEqual({ calls: 0, bytes: 0 });
    });
  });

  it.runIf(kind === "sqlite")(
    "in a file takes room for what is new in each, and is whole when it is opened again",
    async () => {
      // The number of characters that the steps add. A saver that stores every state whole needs five hundred times as much.
      const information = STEPS * page(0).length;
      const stats = await checkpointer.stats();
      expect(stats).toMatchObject({ checkpoints: STEPS + 2, namespaces: 1 });
      expect(stats.logicalBytes).toBeGreaterThan(400 * information);
      await checkpointer.close();
      // The database file is the only file left.
      expect(readdirSync(path)).toEqual([basename(target)]);
      expect(statSync(target).size).toBeLessThan(12 * information);

      const again = open(target);
      expect((await compile(again).getState(thread())).values).toEqual(result);
      const [middle] = await all(again.list(thread(), { filter: { step: 500 } }));
      expect(middle!.checkpoint.channel_values["pages"]).toEqual(after(500).pages);
      await again.prune(["thread"]);
      await again.vacuum();
      await again.close();
      expect(statSync(target).size).toBeLessThan(2 * information);
      expect((await compile(open(target)).getState(thread())).values).toEqual(result);
    },
    PATIENCE,
  );
});

describe.each(mainKinds)("on %s", (kind) => {
  describe("two hundred branches in one step", () => {
    const BRANCHES = 200;
    const State = Annotation.Root({
      jobs: Annotation<number[]>,
      done: Annotation<string[]>({ reducer: append, default: () => [] }),
      joined: Annotation<number>,
    });
    const jobs = Array.from({ length: BRANCHES }, (_, i) => i);
    const expected = jobs.map((job) => `${job}: ${page(job)}`);

    function fan(checkpointer: ForkpointSaver, broken: () => boolean = () => false) {
      const ran: number[] = [];
      const app = new StateGraph(State)
        .addNode("work", async ({ job }: { job: number }) => {
          ran.push(job);
          for (let turns = job % 7; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
          if (job === 123 && broken()) {
            // Wait until all other branches have run.
            while (ran.length < BRANCHES) await new Promise((resolve) => setImmediate(resolve));
            for (let turns = 0; turns < 100; turns++) await new Promise((resolve) => setImmediate(resolve));
            throw new Error("job 123");
          }
          return { done: [`${job}: ${page(job)}`] };
        })
        .addNode("join", ({ done }) => ({ joined: done.length }))
        .addConditionalEdges(START, ({ jobs: wanted }) => wanted.map((job) => new Send("work", { job })))
        .addEdge("work", "join")
        .compile({ checkpointer });
      return { app, ran };
    }

    it.each(["sync", "async", "exit"] as const)(
      "durability %s: all their results arrive, in their order",
      async (durability) => {
        const checkpointer = saver(kind);
        const { app, ran } = fan(checkpointer);
        const result = await app.invoke({ jobs }, { ...thread(), durability });
        expect(result).toEqual({ jobs, done: expected, joined: BRANCHES });
        expect(ran).toHaveLength(BRANCHES);
        expect((await app.getState(thread())).values).toEqual(result);
      },
    );

    it("are copied and pruned with all their writes", async () => {
      const checkpointer = saver(kind);
      let broken = true;
      const { app, ran } = fan(checkpointer, () => broken);
      await expect(app.invoke({ jobs }, thread())).rejects.toThrow("job 123");
      await checkpointer.copyThread("thread", "copy");
      await checkpointer.prune(["thread", "copy"]);
      broken = false;
      for (const id of ["thread", "copy"]) {
        ran.length = 0;
        expect(await app.invoke(null, thread(id))).toEqual({ jobs, done: expected, joined: BRANCHES });
        expect(ran).toEqual([123]);
      }
    });
  });
});
