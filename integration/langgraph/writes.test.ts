// Tests pending writes: the writes that tasks of a step have made before the step ends.
import { Annotation, END, START, Send, StateGraph } from "@langchain/langgraph";
import { ERROR } from "@langchain/langgraph-checkpoint";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Log, all, checkpoint, kinds, metadata, rejection, saver, says, sideBySide, thread, until } from "./helpers.js";

/** Sorts writes in an order that does not depend on the store. */
const sorted = <T>(writes: T[] | undefined) => writes?.toSorted((a, b) => (String(a) < String(b) ? -1 : 1));

describe.each(kinds)("on %s", (kind) => {
  it("no write waits for a checkpoint that has come, when a node has blocked the event loop", async () => {
    // No time passes but in the node. So a write that waits for its timer would wait for ever.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const checkpointer = saver(kind);
    const app = sideBySide(Log, {
      fast: says("fast"),
      slow: async () => {
        // The write of the other node comes first. The event loop doesn't turn.
        for (let turn = 0; turn < 200; turn++) await Promise.resolve();
        vi.advanceTimersByTime(60_000);
        return { log: ["slow"] };
      },
      slower: async () => {
        for (let turn = 0; turn < 400; turn++) await Promise.resolve();
        return { log: ["slower"] };
      },
    }).compile({ checkpointer });
    const config = { ...thread(), durability: "async" as const };
    expect((await app.invoke({ log: [] }, config)).log).toEqual(["fast", "slow", "slower"]);
    const { pendingWrites } = (await all(checkpointer.list(thread())))[1]!;
    expect(pendingWrites!.filter(([, channel]) => channel === "log")).toHaveLength(3);
  });

  describe("a step with several nodes", () => {
    it("that fails in one of them: the others' writes survive, and only that one runs again", async () => {
      const ran: string[] = [];
      let broken = true;
      const checkpointer = saver(kind);
      const node = (name: string) => async () => {
        ran.push(name);
        // Wait for the other tasks, because a failure aborts those that still run.
        if (name === "c") await until(async () => (await done()) === 2);
        if (name === "c" && broken) throw new Error("out of order");
        return { log: [name] };
      };
      const done = async () => {
        const { pendingWrites } = (await checkpointer.getTuple(thread()))!;
        return pendingWrites!.filter(([, channel]) => channel.startsWith("join:")).length;
      };
      const app = new StateGraph(Log)
        .addNode("a", node("a"))
        .addNode("b", node("b"))
        .addNode("c", node("c"))
        .addNode("join", node("join"))
        .addEdge(START, "a")
        .addEdge(START, "b")
        .addEdge(START, "c")
        .addEdge(["a", "b", "c"], "join")
        .addEdge("join", END)
        .compile({ checkpointer });

      expect((await rejection(app.invoke({ log: ["in"] }, thread()))).message).toBe("out of order");
      expect(ran.toSorted()).toEqual(["a", "b", "c"]);
      const { pendingWrites } = (await checkpointer.getTuple(thread()))!;
      expect(sorted(pendingWrites!.filter(([, channel]) => channel === "log").map(([, , value]) => value))).toEqual([
        ["a"],
        ["b"],
      ]);
      const failed = (await app.getState(thread())).tasks.find(({ name }) => name === "c")!;
      expect(failed.error).toMatchObject({ message: "out of order" });
      expect(pendingWrites).toContainEqual([failed.id, ERROR, { name: "Error", message: "out of order" }]);

      // Resume and fail again: the writes survive any number of failures.
      ran.length = 0;
      await rejection(app.invoke(null, thread()));
      expect(ran).toEqual(["c"]);
      broken = false;
      ran.length = 0;
      expect(await app.invoke(null, thread())).toEqual({ log: ["in", "a", "b", "c", "join"] });
      expect(ran).toEqual(["c", "join"]);
    });

    it("made by Send: those that are done are not sent again", async () => {
      const State = Annotation.Root({
        jobs: Annotation<number[]>,
        done: Annotation<number[]>({ reducer: (before, more) => [...before, ...more], default: () => [] }),
      });
      const ran: number[] = [];
      let broken = true;
      const app = new StateGraph(State)
        .addNode("work", ({ job }: { job: number }) => {
          ran.push(job);
          if (job === 3 && broken) throw new Error("job 3");
          return { done: [job * 10] };
        })
        .addConditionalEdges(START, ({ jobs }) => jobs.map((job) => new Send("work", { job })))
        .compile({ checkpointer: saver(kind) });
      await rejection(app.invoke({ jobs: [1, 2, 3, 4] }, thread()));
      broken = false;
      ran.length = 0;
      expect((await app.invoke(null, thread())).done).toEqual([10, 20, 30, 40]);
      expect(ran).toEqual([3]);
    });
  });

  it("writes of nothing are none", async () => {
    const checkpointer = saver(kind);
    const at = await checkpointer.put(thread(), checkpoint(), metadata(), {});
    await checkpointer.putWrites(at, [], "task");
    expect((await checkpointer.getTuple(at))!.pendingWrites).toEqual([]);
  });
});
