// A graph changes while one of its threads is open, and the old program has never called recover(). See deploys.test.ts for the other case, and for
// graphs with joins, subgraphs and sends.
import { Annotation, Command, entrypoint, interrupt, task } from "@langchain/langgraph";
import { ForkpointSaver, type RecoveredThread, recover } from "forkpoint/langgraph";
import { expect, it } from "vitest";
import { openShared, sequence, thread } from "./helpers.js";

const run = { ...thread(), durability: "sync" as const };
const yes = new Command({ resume: "yes" });
const onWaiting = () => yes;

/** Savers of successive versions of a program, on one store. */
async function versions() {
  const store = await openShared("memory:");
  return () => new ForkpointSaver(store, { program: "program" });
}

const Names = Annotation.Root({ ran: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }) });

/** A chain of nodes that write their names. A node of `others` does something else. */
function chain(saver: ForkpointSaver, names: string[], others: Record<string, () => object> = {}, state: any = Names) {
  const nodes = names.map((name) => [name, others[name] ?? (() => ({ ran: [name] }))]);
  return sequence(state, Object.fromEntries(nodes)).compile({ checkpointer: saver }) as any;
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
const missing = (node: string) => ({
  outcome: "changed",
  decision: "leave",
  from: null,
  differences: [`\`${node}\`, which is next, is not in this program`],
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

it("changes a reducer: the new one gets the old value", async () => {
  const version = await versions();
  const Text = Annotation.Root({ note: Annotation<string> });
  await runUntil(chain(version(), ["one", "two"], { one: () => ({ note: "ab" }) }, Text), "one");
  const List = Annotation.Root({ note: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }) });
  const graph = chain(version(), ["one", "two"], { two: () => ({ note: ["two"] }) }, List);
  expect(await graph.invoke(null, run)).toEqual({ note: ["a", "b", "two"] });
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
