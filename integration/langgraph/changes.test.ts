// A graph changes while one of its threads is open, and the old program has never called recover(). See deploys.test.ts for the other case.
import { Annotation, Command, START, Send, StateGraph, entrypoint, interrupt, task } from "@langchain/langgraph";
import { openStore } from "forkpoint";
import { ForkpointSaver, type RecoveredThread, recover } from "forkpoint/langgraph";
import { expect, it, onTestFinished } from "vitest";
import { thread } from "./helpers.js";

const run = { ...thread(), durability: "sync" as const };
const yes = new Command({ resume: "yes" });
const onWaiting = () => yes;

/** Savers of successive versions of a program, on one store. */
async function versions(program: string | null = "program") {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  return () => new ForkpointSaver(store, program === null ? {} : { program });
}

const Names = Annotation.Root({ ran: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }) });

/** A chain of nodes that write their names. A node of `others` does something else. */
function chain(saver: ForkpointSaver, names: string[], others: Record<string, () => object> = {}, state: any = Names) {
  const graph = new StateGraph(state) as any;
  for (const name of names) graph.addNode(name, others[name] ?? (() => ({ ran: [name] })));
  for (const [at, name] of names.entries()) graph.addEdge(at === 0 ? START : names[at - 1], name);
  return graph.compile({ checkpointer: saver });
}

/** Recovers the only thread. */
async function recovered(graph: any, saver: ForkpointSaver, options = {}): Promise<RecoveredThread> {
  const { runs } = await recover(graph, saver, { onWaiting, ...options });
  expect(runs).toHaveLength(1);
  return runs[0]!;
}

/** Runs a chain up to one of its nodes, as if the process had crashed there. */
const runUntil = (graph: any, after: string) => graph.invoke({}, { ...run, interruptAfter: [after] });

/** The old program never called `recover`, so the store knows only the names of the nodes that are next or have run. */
const missing = (node: string, place = "is next") => ({
  outcome: "changed",
  decision: "leave",
  from: null,
  differences: [`\`${node}\`, which ${place}, is not in this program`],
});

it("adds fields: a default is used, and a field without one is undefined", async () => {
  const version = await versions();
  await runUntil(chain(version(), ["one", "two"]), "one");
  const saver = version();
  const seen: object[] = [];
  const More = Annotation.Root({
    ...Names.spec,
    plain: Annotation<string>,
    list: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  const two = (state?: object) => (seen.push(state!), { list: ["new"] });
  expect(await recovered(chain(saver, ["one", "two"], { two }, More), saver)).toMatchObject({ outcome: "finished" });
  expect(seen).toEqual([{ ran: ["one"], list: [] }]);
});

it("removes a field: its value is gone after the next checkpoint", async () => {
  const version = await versions();
  const Old = Annotation.Root({ ...Names.spec, old: Annotation<string> });
  const names = ["one", "two", "three"];
  await chain(version(), names, {}, Old).invoke({ old: "value" }, { ...run, interruptAfter: ["one"] });
  await chain(version(), names).invoke(null, { ...run, interruptAfter: ["two"] });
  const { values } = await chain(version(), names, {}, Old).getState(run);
  expect(values).toEqual({ ran: ["one", "two"] });
});

it("changes a reducer: the new one gets the old value", async () => {
  const version = await versions();
  const Text = Annotation.Root({ note: Annotation<string> });
  await runUntil(chain(version(), ["one", "two"], { one: () => ({ note: "ab" }) }, Text), "one");
  const List = Annotation.Root({ note: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }) });
  const graph = chain(version(), ["one", "two"], { two: () => ({ note: ["two"] }) }, List);
  expect(await graph.invoke(null, run)).toEqual({ note: ["a", "b", "two"] });
});

it("adds nodes: the open thread runs its next node, then follows the new edges", async () => {
  const version = await versions();
  await runUntil(chain(version(), ["one", "two", "three"]), "one");
  const saver = version();
  const graph = chain(saver, ["one", "check", "two", "audit", "three"]);
  const output = { ran: ["one", "two", "audit", "three"] };
  expect(await recovered(graph, saver)).toMatchObject({ outcome: "finished", output });
  const longer = version();
  const more = chain(longer, ["one", "check", "two", "audit", "three", "last"]);
  expect((await recover(more, longer)).runs).toEqual([]);
});

it("removes the next node: recover() reports it, and invoke() ends without a word", async () => {
  const version = await versions();
  await runUntil(chain(version(), ["one", "two", "three"]), "one");
  const saver = version();
  const graph = chain(saver, ["one", "three"]);
  expect(await recovered(graph, saver)).toMatchObject(missing("two"));
  expect(await graph.invoke(null, run)).toMatchObject({ ran: ["one"] });
  expect(await saver.status("thread")).toMatchObject({ status: "unfinished", next: ["two"] });
  await graph.updateState(run, {}, "one");
  expect(await recovered(graph, saver)).toMatchObject({ outcome: "finished", output: { ran: ["one", "three"] } });
});

it("keeps the old name as an alias that no edge leads to", async () => {
  const version = await versions();
  await runUntil(chain(version(), ["one", "two", "three"]), "one");
  const saver = version();
  const node = (name: string) => () => ({ ran: [name] });
  const builder = (options: object) =>
    (new StateGraph(Names) as any)
      .addNode("one", node("one"), options)
      .addNode("new", node("new"))
      .addNode("two", node("two"))
      .addNode("three", node("three"))
      .addEdge(START, "one")
      .addEdge("one", "new")
      .addEdge("new", "three")
      .addEdge("two", "three");
  expect(() => builder({}).compile()).toThrow(/not reachable/);
  const graph = builder({ ends: ["two"] }).compile({ checkpointer: saver });
  expect(await recovered(graph, saver)).toMatchObject({
    outcome: "finished",
    output: { ran: ["one", "two", "three"] },
  });
  expect(await graph.invoke({}, thread("other"))).toEqual({ ran: ["one", "new", "three"] });
});

it("removes a node that waits: an answer to invoke() does nothing until the node is back", async () => {
  const version = await versions();
  const asks = { two: () => ({ ran: [interrupt("?") as string] }) };
  await chain(version(), ["one", "two"], asks).invoke({}, run);
  const saver = version();
  const graph = chain(saver, ["one", "three"]);
  expect(await recovered(graph, saver)).toMatchObject(missing("two"));
  expect(await graph.invoke(yes, run)).toMatchObject({ ran: ["one"] });
  const restored = version();
  const back = chain(restored, ["one", "two"], asks);
  expect(await recovered(back, restored)).toMatchObject({ outcome: "finished", output: { ran: ["one", "yes"] } });
});

it("removes a node inside a subgraph: recover() reports it, and invoke() skips the node", async () => {
  const version = await versions();
  const nested = (saver: ForkpointSaver, asks: string) => {
    const inner = new StateGraph(Names).addNode(asks, () => ({ ran: [interrupt("?") as string] })) as any;
    const outer = new StateGraph(Names).addNode("inner", inner.addEdge(START, asks).compile()) as any;
    outer.addNode("last", () => ({ ran: ["last"] }));
    return outer.addEdge(START, "inner").addEdge("inner", "last").compile({ checkpointer: saver });
  };
  await nested(version(), "ask").invoke({}, run);
  const saver = version();
  const graph = nested(saver, "review");
  expect(await recovered(graph, saver)).toMatchObject(missing("inner:ask"));
  expect(await graph.invoke(yes, run)).toMatchObject({ ran: ["last"] });
});

it("changes the order of a join: recover() reports it, and the old order continues", async () => {
  const version = await versions();
  const joined = (saver: ForkpointSaver, join: string[]) => {
    const graph = new StateGraph(Names) as any;
    for (const name of ["a", "b1", "b2", "after"]) graph.addNode(name, () => ({ ran: [name] }));
    graph.addEdge(START, "a").addEdge(START, "b1").addEdge("b1", "b2").addEdge(join, "after");
    return graph.compile({ checkpointer: saver });
  };
  await runUntil(joined(version(), ["a", "b2"]), "b1");
  const saver = version();
  const graph = joined(saver, ["b2", "a"]);
  const differences = ["`after` waits for `a+b2`, which is no join of this program"];
  expect(await recovered(graph, saver)).toMatchObject({ outcome: "changed", differences });
  const restored = version();
  const back = joined(restored, ["a", "b2"]);
  const output = { ran: ["a", "b1", "b2", "after"] };
  expect(await recovered(back, restored)).toMatchObject({ outcome: "finished", output });
});

it("renames a parallel node that has finished: invoke() loses its result", async () => {
  const version = await versions();
  const parallel = (saver: ForkpointSaver, name: string) => {
    const graph = new StateGraph(Names).addNode(name, () => ({ ran: [name] })) as any;
    graph.addNode("ask", () => ({ ran: [interrupt("?") as string] }));
    return graph.addEdge(START, name).addEdge(START, "ask").compile({ checkpointer: saver });
  };
  await parallel(version(), "charge").invoke({}, run);
  const saver = version();
  const graph = parallel(saver, "pay");
  expect(await recovered(graph, saver)).toMatchObject(missing("charge"));
  expect(await graph.invoke(yes, run)).toEqual({ ran: ["yes"] });
});

it("removes the node of a Send", async () => {
  const version = await versions();
  const sending = (saver: ForkpointSaver, name: string) => {
    const graph = new StateGraph(Names).addNode("plan", () => ({ ran: ["plan"] })) as any;
    graph.addNode(name, () => ({ ran: [name] })).addEdge(START, "plan");
    return graph.addConditionalEdges("plan", () => [new Send(name, {})], [name]).compile({ checkpointer: saver });
  };
  await runUntil(sending(version(), "work"), "plan");
  const saver = version();
  expect(await recovered(sending(saver, "task"), saver)).toMatchObject(missing("work"));
});

it("adds a question before another: the answer goes to the new one", async () => {
  const version = await versions();
  await chain(version(), ["one"], { one: () => ({ ran: [interrupt("refund?") as string] }) }).invoke({}, run);
  const saver = version();
  const both = () => ({ ran: [interrupt("language?") as string, interrupt("refund?") as string] });
  await chain(saver, ["one"], { one: both }).invoke(yes, run);
  expect((await saver.status("thread"))!.interrupts).toMatchObject([{ value: "refund?" }]);
});

it("changes tasks of the functional API: appended ones are safe, inserted ones repeat those after them", async () => {
  let ran: string[] = [];
  const named = (name: string) => task(name, async (x: string) => (ran.push(name), `${name}(${x})`));
  const flow = (saver: ForkpointSaver, before: string[], after: string[] = []) =>
    entrypoint({ name: "flow", checkpointer: saver }, async (input: string) => {
      let value = input;
      for (const name of before) value = await named(name)(value);
      value += interrupt("?") as string;
      for (const name of after) value = await named(name)(value);
      return value;
    });
  for (const [before, after, again] of [
    [["search", "book"], ["mail"], ["mail"]],
    [["check", "search", "book"], [], ["check", "search", "book"]],
    [["book", "search"], [], ["book", "search"]],
  ] as const) {
    const version = await versions();
    await flow(version(), ["search", "book"]).invoke("x", run);
    ran = [];
    await flow(version(), [...before], [...after]).invoke(yes, run);
    expect(ran).toEqual(again);
  }
});

it("changes a graph without a name: its threads count as those of another program", async () => {
  const version = await versions(null);
  const [first, saver] = [version(), version()];
  const old = chain(first, ["one", "two"]);
  await recover(old, first);
  await runUntil(old, "one");
  const More = Annotation.Root({ ...Names.spec, more: Annotation<string> });
  const graph = chain(saver, ["one", "two"], {}, More);
  expect(await recovered(graph, saver)).toMatchObject({ outcome: "skipped", why: "other program" });
  expect(await recovered(graph, saver, { threads: ["thread"] })).toMatchObject({ outcome: "finished" });
});
