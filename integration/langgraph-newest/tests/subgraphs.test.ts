// Subgraphs: each keeps its checkpoints in its own namespace.
import { Annotation, Command, END, INTERRUPT, START, StateGraph, interrupt } from "@langchain/langgraph";
import { type CheckpointListOptions, uuid6 } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import { Log, all, checkpoint, kinds, metadata, saver, says, thread } from "./helpers.js";

/** A graph with a subgraph between two nodes. The subgraph interrupts in its second node. */
function nested() {
  const ran: string[] = [];
  const node = (name: string) => () => {
    ran.push(name);
    return { log: [name] };
  };
  const inner = new StateGraph(Log)
    .addNode("first", node("first"))
    .addNode("ask", () => {
      ran.push("ask");
      return { log: [`answer: ${interrupt<string, string>("inside?")}`] };
    })
    .addNode("last", node("last"))
    .addEdge(START, "first")
    .addEdge("first", "ask")
    .addEdge("ask", "last")
    .compile();
  const graph = new StateGraph(Log)
    .addNode("before", node("before"))
    .addNode("inner", inner)
    .addNode("after", node("after"))
    .addEdge(START, "before")
    .addEdge("before", "inner")
    .addEdge("inner", "after")
    .addEdge("after", END);
  return { ran, graph };
}

describe.each(kinds)("on %s", (kind) => {
  it("an interrupt inside is answered from outside, and nothing that was done is repeated", async () => {
    const { ran, graph } = nested();
    const app = graph.compile({ checkpointer: saver(kind) });
    const stopped = (await app.invoke({ log: ["in"] }, thread())) as { [INTERRUPT]?: Array<{ value?: unknown }> };
    expect(stopped[INTERRUPT]!.map(({ value }) => value)).toEqual(["inside?"]);
    expect(ran).toEqual(["before", "first", "ask"]);
    const result = await app.invoke(new Command({ resume: "yes" }), thread());
    expect(ran).toEqual(["before", "first", "ask", "ask", "last", "after"]);
    expect(result.log.slice(-4)).toEqual(["first", "answer: yes", "last", "after"]);
  });

  it("keeps the namespaces apart, and lists each by itself or all together", async () => {
    const { graph } = nested();
    const checkpointer = saver(kind);
    const app = graph.compile({ checkpointer });
    await app.invoke({ log: ["in"] }, thread());
    const every = await all(checkpointer.list(thread()));
    const namespaces = [...new Set(every.map(({ config }) => config.configurable!["checkpoint_ns"] as string))];
    expect(namespaces.toSorted()).toEqual(["", expect.stringMatching(/^inner:[0-9a-f-]{36}$/)]);
    let counted = 0;
    for (const checkpoint_ns of namespaces) {
      const own = await all(checkpointer.list(thread("thread", { checkpoint_ns })));
      expect(own.length).toBeGreaterThan(1);
      for (const { config } of own) expect(config.configurable!["checkpoint_ns"]).toBe(checkpoint_ns);
      const latest = await checkpointer.getTuple(thread("thread", { checkpoint_ns }));
      expect(latest!.checkpoint.id).toBe(own[0]!.checkpoint.id);
      counted += own.length;
    }
    expect(counted).toBe(every.length);
  });

  it("a subgraph's state is read and edited while it waits", async () => {
    const { ran, graph } = nested();
    const app = graph.compile({ checkpointer: saver(kind) });
    await app.invoke({ log: ["in"] }, thread());
    const outer = await app.getState(thread(), { subgraphs: true });
    expect(outer.next).toEqual(["inner"]);
    const inner = outer.tasks[0]!.state as typeof outer;
    expect(inner.values).toEqual({ log: ["in", "before", "first"] });
    expect(inner.next).toEqual(["ask"]);
    expect(inner.metadata?.parents).toEqual({ "": outer.config.configurable?.["checkpoint_id"] });

    await app.updateState(inner.config, { log: ["edited"] }, "ask");
    const edited = (await app.getState(thread(), { subgraphs: true })).tasks[0]!.state as typeof outer;
    expect(edited.values).toEqual({ log: ["in", "before", "first", "edited"] });
    expect(edited.next).toEqual(["last"]);
    const { log } = await app.invoke(null, thread());
    expect(log.slice(-4)).toEqual(["first", "edited", "last", "after"]);
    expect(ran.filter((name) => name === "ask")).toHaveLength(1);
  });

  it("its history is its own, down to its input", async () => {
    const { graph } = nested();
    const app = graph.compile({ checkpointer: saver(kind) });
    await app.invoke({ log: ["in"] }, thread());
    const [waiting] = (await app.getState(thread(), { subgraphs: true })).tasks;
    const { checkpoint_ns } = (waiting!.state as { config: { configurable: { checkpoint_ns: string } } }).config
      .configurable;
    const history = await all(app.getStateHistory(thread("thread", { checkpoint_ns })));
    expect(history.map(({ next }) => next)).toEqual([["ask"], ["first"], ["__start__"]]);
    const root = await all(app.getStateHistory(thread()));
    expect(root.map(({ next }) => next)).toEqual([["inner"], ["before"], ["__start__"]]);
  });

  it("graphs in graphs in graphs: the innermost is resumed", async () => {
    const innermost = new StateGraph(Log)
      .addNode("ask", () => ({ log: [interrupt<string, string>("deep?")] }))
      .addEdge(START, "ask")
      .compile();
    const middle = new StateGraph(Log).addNode("innermost", innermost).addEdge(START, "innermost").compile();
    const checkpointer = saver(kind);
    const app = new StateGraph(Log).addNode("middle", middle).addEdge(START, "middle").compile({ checkpointer });
    await app.invoke({ log: [] }, thread());
    const depths = (await all(checkpointer.list(thread()))).map(
      ({ config }) => (config.configurable!["checkpoint_ns"] as string).split("|").filter(Boolean).length,
    );
    expect([...new Set(depths)].toSorted()).toEqual([0, 1, 2]);
    expect(await app.invoke(new Command({ resume: "yes" }), thread())).toEqual({ log: ["yes"] });
  });

  describe("a subgraph that remembers from one run to the next", () => {
    /** A subgraph that counts its runs in a state that the parent graph does not see. */
    function remembering() {
      const Memory = Annotation.Root({
        log: Annotation<string[]>,
        seen: Annotation<number>({ reducer: (before, more) => before + more, default: () => 0 }),
      });
      const inner = new StateGraph(Memory)
        .addNode("count", () => ({ seen: 1 }))
        .addNode("say", ({ seen }) => ({ log: [`seen ${seen}`] }))
        .addEdge(START, "count")
        .addEdge("count", "say")
        .compile({ checkpointer: true });
      return new StateGraph(Log)
        .addNode("before", says("before"))
        .addNode("inner", async (state: typeof Log.State) => ({ log: (await inner.invoke({ log: state.log })).log }))
        .addEdge(START, "before")
        .addEdge("before", "inner");
    }

    it("does so", async () => {
      const app = remembering().compile({ checkpointer: saver(kind) });
      for (const count of [1, 2, 3]) {
        const { log } = await app.invoke({ log: ["in"] }, thread());
        expect(log.at(-1)).toBe(`seen ${count}`);
      }
      expect((await app.invoke({ log: ["in"] }, thread("other"))).log.at(-1)).toBe("seen 1");
    });

    it("time travel takes it back to what it knew then, by list with before and limit 1", async () => {
      const checkpointer = saver(kind);
      const asked: CheckpointListOptions[] = [];
      const list = checkpointer.list.bind(checkpointer);
      checkpointer.list = (config: Parameters<typeof list>[0], options?: CheckpointListOptions) => {
        if (options) asked.push(options);
        return list(config, options);
      };
      const app = remembering().compile({ checkpointer });
      for (let run = 0; run < 3; run++) await app.invoke({ log: ["in"] }, thread());
      const history = await all(app.getStateHistory(thread()));
      // The state of the second run before its subgraph started.
      const old = history.filter(({ next }) => next[0] === "inner")[1]!;
      asked.length = 0;
      expect((await app.invoke(null, old.config)).log.at(-1)).toBe("seen 2");
      expect(asked).toContainEqual({ limit: 1, before: { configurable: { checkpoint_id: expect.any(String) } } });
    });
  });

  it("list with before and limit 1 finds the newest older one in that namespace, wherever before is from", async () => {
    const checkpointer = saver(kind);
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) {
      const made = checkpoint({ id: uuid6(i), channel_values: { n: i }, channel_versions: { n: i } });
      ids.push(made.id);
      // Alternate between the root and another namespace.
      const at = thread("thread", { checkpoint_ns: i % 2 === 0 ? "" : "inner:1" });
      await checkpointer.put(at, made, metadata({ step: i }), { n: i });
    }
    const newest = async (checkpoint_ns: string, before: string) => {
      const options = { before: { configurable: { checkpoint_id: before } }, limit: 1 };
      return (await all(checkpointer.list(thread("thread", { checkpoint_ns }), options))).map((t) => t.checkpoint.id);
    };
    expect(await newest("inner:1", ids[4]!)).toEqual([ids[3]]);
    expect(await newest("inner:1", ids[3]!)).toEqual([ids[1]]);
    expect(await newest("inner:1", ids[1]!)).toEqual([]);
    expect(await newest("", ids[3]!)).toEqual([ids[2]]);
    expect(await newest("inner:2", ids[5]!)).toEqual([]);
    // A subgraph's config has further keys. `list` must not use them as conditions.
    const config = { configurable: { ...thread("thread", { checkpoint_ns: "inner:1" }).configurable, other: 1 } };
    const before = { configurable: { checkpoint_id: ids[5]! } };
    expect((await all(checkpointer.list(config, { before, limit: 1 }))).map((t) => t.checkpoint.id)).toEqual([ids[3]]);
  });

  it("two subgraphs in one step, and one that is called several times by a node, do not meet", async () => {
    const inner = (name: string) =>
      new StateGraph(Log)
        .addNode("ask", () => ({ log: [`${name}: ${interrupt<string, string>(`${name}?`)}`] }))
        .addEdge(START, "ask")
        .compile();
    const app = new StateGraph(Log)
      .addNode("left", inner("left"))
      .addNode("right", inner("right"))
      .addEdge(START, "left")
      .addEdge(START, "right")
      .compile({ checkpointer: saver(kind) });
    const stopped = (await app.invoke({ log: [] }, thread())) as {
      [INTERRUPT]?: Array<{ id?: string; value: string }>;
    };
    const answers = Object.fromEntries(stopped[INTERRUPT]!.map(({ id, value }) => [id!, `${value} yes`]));
    expect(Object.keys(answers)).toHaveLength(2);
    const { log } = await app.invoke(new Command({ resume: answers }), thread());
    expect(log.toSorted()).toEqual(["left: left? yes", "right: right? yes"]);
  });
});
