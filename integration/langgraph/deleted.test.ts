// Tests a thread that is deleted while a run works on it: it stays deleted, and nothing of the run is left.
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { effects } from "forkpoint/effects";
import { describe, expect, it } from "vitest";
import { all, kinds, rejection, saver, thread } from "./helpers.js";

const State = Annotation.Root({ receipt: Annotation<string>, tries: Annotation<number> });
const run = { space: "langgraph", run: "thread" };

describe.each(kinds)("on %s", (kind) => {
  it.each(["sync", "async", "exit"] as const)(
    "durability %s: a run whose thread was deleted is refused, and the thread stays deleted",
    async (durability) => {
      const checkpointer = saver(kind);
      let deletes = false;
      const graph = new StateGraph(State)
        .addNode("first", () => ({ tries: 1 }))
        .addNode("work", async () => {
          if (deletes) await checkpointer.deleteThread("thread");
          return { receipt: "r" };
        })
        .addNode("after", () => ({ tries: 2 }))
        .addEdge(START, "first")
        .addEdge("first", "work")
        .addEdge("work", "after")
        .compile({ checkpointer });
      await graph.invoke({}, thread());
      deletes = true;
      const error = await rejection(graph.invoke({}, { ...thread(), durability }));
      expect(error).toMatchObject({ code: "CONFLICT" });
      expect(await all(checkpointer.list(thread()))).toEqual([]);
      expect((await checkpointer.listThreads()).threads).toEqual([]);
      // A new run of the same name begins with nothing.
      deletes = false;
      expect(await graph.invoke({}, thread())).toEqual({ receipt: "r", tries: 2 });
    },
  );

  it("an effect that begins after the delete does not run, and a new run has its own", async () => {
    const checkpointer = saver(kind);
    const once = effects(checkpointer);
    const paid: string[] = [];
    let deletes = true;
    const graph = new StateGraph(State)
      .addNode("first", () => ({ tries: 1 }))
      .addNode("pay", async (_, config) => {
        if (deletes) await checkpointer.deleteThread("thread");
        return { receipt: await once(config, "charge", async ({ idempotencyKey }) => `${paid.push(idempotencyKey)}`) };
      })
      .addEdge(START, "first")
      .addEdge("first", "pay")
      .compile({ checkpointer });
    const error = await rejection(graph.invoke({}, { ...thread(), durability: "sync" }));
    expect(error).toMatchObject({ code: "CONFLICT" });
    expect(error.message).toContain('run "thread" was deleted while it ran, so its effect "charge" did not run');
    expect(await once.list(run)).toEqual([]);
    deletes = false;
    expect((await graph.invoke({}, thread())).receipt).toBe("1");
    expect(paid).toHaveLength(1);
  });

  it("an effect whose run is deleted while it runs is not stored", async () => {
    const checkpointer = saver(kind);
    const once = effects(checkpointer);
    let paid = 0;
    const graph = new StateGraph(State)
      .addNode("pay", async (_, config) => {
        const receipt = await once(config, "charge", async () => {
          paid += 1;
          if (paid === 1) await checkpointer.deleteThread("thread");
          return `${paid}`;
        });
        return { receipt };
      })
      .addEdge(START, "pay")
      .compile({ checkpointer });
    expect(await rejection(graph.invoke({}, thread()))).toMatchObject({ code: "CONFLICT" });
    expect(await once.list(run)).toEqual([]);
    expect(await all(checkpointer.list(thread()))).toEqual([]);
    expect((await graph.invoke({}, thread())).receipt).toBe("2");
  });

  it("an effect that runs is not forgotten", async () => {
    const checkpointer = saver(kind);
    const once = effects(checkpointer);
    let paid = 0;
    const receipt = await once(run, "charge", async () => {
      paid += 1;
      for (const key of ["charge", undefined]) {
        const error = await rejection(once.forget(run, key));
        expect(error).toMatchObject({ code: "CONFLICT" });
        expect(error.message).toContain('the effect "charge" of run "thread" runs in');
      }
      expect(await once.forget(run, "other")).toBe(0);
      return "1";
    });
    expect(await once(run, "charge", async () => `${++paid}`)).toBe(receipt);
    expect(await once.forget(run, "charge")).toBe(1);
    expect(await once(run, "charge", async () => `${++paid}`)).toBe("2");
  });
});
