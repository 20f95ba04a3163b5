// What the newest checkpoint of a thread says about the thread, compared with what LangGraph itself does next.
import {
  Annotation,
  Command,
  END,
  INTERRUPT,
  START,
  Send,
  StateGraph,
  entrypoint,
  interrupt,
} from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  Log,
  checkpoint,
  kinds,
  metadata,
  rejection,
  saver,
  says,
  sequence,
  sideBySide,
  thread,
  until,
} from "./helpers.js";

const failing = () => {
  throw new Error("no network");
};

describe.each(kinds)("on %s", (kind) => {
  it("a thread finishes, and one that does not exist has no status", async () => {
    const checkpointer = saver(kind);
    const app = sequence(Log, { a: says("a") }).compile({ checkpointer });
    expect(await checkpointer.status("thread")).toBe(null);
    await app.invoke({ log: [] }, thread());
    expect(await checkpointer.status("thread")).toMatchObject({ status: "finished", next: [], interrupts: [] });
    expect(await checkpointer.status("\ud800")).toBe(null);
    expect((await rejection(checkpointer.status(7 as never))).message).toMatch(/threadId must be a string/);
  });

  it("a question waits, also after other questions were answered; an answer that is being used is none", async () => {
    const checkpointer = saver(kind);
    const while_: unknown[] = [];
    const app = sequence(Log, {
      form: async () => {
        const name = interrupt<string, string>("name?");
        while_.push((await checkpointer.status("thread"))!.status);
        const town = interrupt<string, string>("town?");
        while_.push((await checkpointer.status("thread"))!.status);
        return { log: [name, town] };
      },
    }).compile({ checkpointer });
    const config = { ...thread(), durability: "sync" as const };
    const result = (await app.invoke({ log: [] }, config)) as { [INTERRUPT]?: object[] };
    const interrupts = result[INTERRUPT];
    expect(await checkpointer.status("thread")).toMatchObject({ status: "waiting", next: ["form"], interrupts });
    await app.invoke(new Command({ resume: "Ada" }), config);
    expect(await checkpointer.status("thread")).toMatchObject({ status: "waiting", interrupts: [{ value: "town?" }] });
    await app.invoke(new Command({ resume: "London" }), config);
    expect(await checkpointer.status("thread")).toMatchObject({ status: "finished", next: [], interrupts: [] });
    expect(while_).toEqual(["unfinished", "unfinished", "unfinished"]);
  });

  it("a second question of a subgraph waits, although the answer of the first is still stored", async () => {
    const checkpointer = saver(kind);
    const inside: unknown[] = [];
    const asks = (question: string) => async () => {
      const answer = interrupt<string, string>(question);
      inside.push((await checkpointer.status("thread"))!.status);
      return { log: [answer] };
    };
    const sub = sequence(Log, { one: asks("one?"), two: asks("two?") }).compile();
    const app = sequence(Log, { sub }).compile({ checkpointer });
    const config = { ...thread(), durability: "sync" as const };
    await app.invoke({ log: [] }, config);
    for (const value of ["one?", "two?"]) {
      expect(await checkpointer.status("thread")).toMatchObject({
        status: "waiting",
        next: ["sub"],
        interrupts: [{ value }],
      });
      await app.invoke(new Command({ resume: "yes" }), config);
    }
    expect((await checkpointer.status("thread"))!.status).toBe("finished");
    expect(inside).toEqual(["unfinished", "unfinished"]);
  });

  it("of parallel questions, those without an answer wait", async () => {
    const checkpointer = saver(kind);
    const asks = (name: string) => () => ({ log: [`${name}: ${interrupt<string, string>(`${name}?`)}`] });
    const app = sideBySide(Log, { a: asks("a"), b: asks("b") }).compile({ checkpointer });
    const result = (await app.invoke({ log: [] }, thread())) as {
      [INTERRUPT]?: Array<{ id?: string; value?: unknown }>;
    };
    const asked = (await checkpointer.status("thread"))!;
    expect(asked.status).toBe("waiting");
    expect(new Set(asked.next)).toEqual(new Set(["a", "b"]));
    expect(new Set(asked.interrupts)).toEqual(new Set(result[INTERRUPT]));
    const first = result[INTERRUPT]!.find(({ value }) => value === "a?")!;
    await app.invoke(new Command({ resume: { [first.id!]: "yes" } }), thread());
    expect(await checkpointer.status("thread")).toMatchObject({ status: "waiting", interrupts: [{ value: "b?" }] });
    await app.invoke(new Command({ resume: "yes" }), thread());
    expect((await checkpointer.status("thread"))!.status).toBe("finished");
  });

  it("a failed node fails the thread until the node is repeated", async () => {
    const checkpointer = saver(kind);
    let fails = true;
    let during: unknown;
    const app = new StateGraph(Log)
      .addNode("a", () => (fails ? failing() : { log: ["a"] }))
      .addNode("b", says("b"))
      .addNode("c", async () => {
        during = await checkpointer.status("thread");
        return { log: ["c"] };
      })
      .addEdge(START, "a")
      .addEdge(START, "b")
      .addEdge("a", "c")
      .compile({ checkpointer });
    await rejection(app.invoke({ log: [] }, { ...thread(), durability: "sync" }));
    const failed = (await checkpointer.status("thread"))!;
    expect(failed).toMatchObject({ status: "failed", error: { name: "Error", message: "no network" } });
    expect(new Set(failed.next)).toEqual(new Set(["a", "b"]));
    fails = false;
    await app.invoke(null, { ...thread(), durability: "sync" });
    expect(during).toMatchObject({ status: "unfinished", next: ["c"], interrupts: [] });
    const finished = (await checkpointer.status("thread"))!;
    expect(finished.status).toBe("finished");
    expect(finished).not.toHaveProperty("error");
  });

  it("`next` names the nodes that LangGraph runs next: branches, sends, joins, deferred nodes, an edited state", async () => {
    const checkpointer = saver(kind);
    const State = Annotation.Root({ ...Log.spec, n: Annotation<number> });
    const app = new StateGraph(State)
      .addNode("split", says("split"))
      .addNode("work", says("work"))
      .addNode("left", says("left"))
      .addNode("right", says("right"))
      .addNode("later", says("later"))
      .addNode("both", says("both"))
      .addNode("last", says("last"), { defer: true })
      .addEdge(START, "split")
      .addConditionalEdges("split", () => [new Send("work", { n: 1 }), new Send("work", { n: 2 }), "left", "right"])
      .addEdge("right", "later")
      .addEdge(["left", "later"], "both")
      .addEdge("left", "last")
      .addEdge("both", END)
      .compile({ checkpointer, interruptBefore: "*" });
    const check = async () => {
      const { next } = await app.getState(thread());
      const found = (await checkpointer.status("thread"))!;
      expect([found.status, new Set(found.next)]).toEqual([next.length > 0 ? "unfinished" : "finished", new Set(next)]);
      return next;
    };
    await app.invoke({ log: [] }, thread());
    const steps: string[][] = [];
    for (let next = await check(); next.length > 0; next = await check()) {
      steps.push([...new Set(next)].toSorted());
      await app.invoke(null, thread());
    }
    expect(steps).toEqual([["split"], ["left", "right", "work"], ["later"], ["both"], ["last"]]);
    await app.updateState(thread(), { log: ["edited"] }, "right");
    await check();
    await app.updateState(thread(), { log: ["again"] }, START);
    expect(await check()).toEqual(["split"]);
  });

  it("an `entrypoint` waits, fails and finishes too", async () => {
    const checkpointer = saver(kind);
    const flow = entrypoint({ name: "flow", checkpointer }, async (fails: boolean) => {
      // LangGraph does not wait for its first checkpoint.
      await until(async () => (await checkpointer.status("thread"))?.status === "unfinished");
      expect(await checkpointer.status("thread")).toMatchObject({ next: ["__start__"] });
      if (fails) failing();
      return interrupt<string, string>("sure?");
    });
    const config = { ...thread(), durability: "sync" as const };
    await rejection(flow.invoke(true, config));
    expect((await checkpointer.status("thread"))!.status).toBe("failed");
    await flow.invoke(false, config);
    expect(await checkpointer.status("thread")).toMatchObject({ status: "waiting", interrupts: [{ value: "sure?" }] });
  });

  it("a checkpoint that does not say it is unknown", async () => {
    const checkpointer = saver(kind);
    await checkpointer.put(thread("bare"), checkpoint(), metadata(), {});
    expect(await checkpointer.status("bare")).toMatchObject({ status: "unknown", next: [], interrupts: [] });
    const old = checkpoint({ channel_versions: { __start__: 1 }, channel_values: { __start__: "x" } });
    await checkpointer.put(thread("old"), { ...old, v: 3 }, metadata(), { __start__: 1 });
    expect((await checkpointer.status("old"))!.status).toBe("unknown");
    await checkpointer.put(thread("new"), old, metadata(), { __start__: 1 });
    expect(await checkpointer.status("new")).toMatchObject({
      status: "unfinished",
      next: ["__start__"],
      interrupts: [],
    });
    await checkpointer.putWrites(thread("old", { checkpoint_id: old.id }), [["__error__", { message: "no" }]], "task");
    expect(await checkpointer.status("old")).toMatchObject({
      status: "failed",
      error: { name: "Error", message: "no" },
    });
    await checkpointer.putWrites(thread("old", { checkpoint_id: old.id }), [["__error__", "odd"]], "task");
    expect(await checkpointer.status("old")).toMatchObject({
      status: "failed",
      error: { name: "Error", message: "odd" },
    });
  });
});
