// A graph changes while one of its runs is open, and the old program has never called recover(). See deploys.test.ts for the other case.
import { openStore } from "forkpoint";
import { CheckpointStore, type RecoveredRun, recover } from "forkpoint/agentos";
import { expect, it, onTestFinished } from "vitest";
import { Tools, chain, crashedAfter, external, graphOf } from "./harness.js";

/** The stores of successive versions of a program, on the same data. */
async function versions() {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  return (program: string | null = "program") => new CheckpointStore(store, program === null ? {} : { program });
}

/** A chain of nodes with effects. */
const compiled = (checkpointStore: CheckpointStore, names: string[], { deps }: Tools) =>
  chain(external(names.join(" "))).compile({ checkpointStore, deps });

async function recovered(graph: Parameters<typeof recover>[0], store: CheckpointStore): Promise<RecoveredRun[]> {
  return (await recover(graph, store, { onWaiting: () => ({ approved: true }) })).runs;
}

it.each([
  ["renames the next node", ["search", "reserve", "mail"], ["reserve", "mail"]],
  ["removes the next node", ["search", "mail"], ["mail"]],
  ["adds a node before the next one", ["search", "check", "book", "mail"], ["check", "book", "mail"]],
  ["adds a node before a completed one, which runs", ["plan", "search", "book", "mail"], ["plan", "book", "mail"]],
])("%s", async (_, names, ran) => {
  const version = await versions();
  await crashedAfter(compiled(version(), ["search", "book", "mail"], new Tools()));
  const [store, tools] = [version(), new Tools()];
  expect(await recovered(compiled(store, names, tools), store)).toMatchObject([{ outcome: "finished" }]);
  expect(tools.calls).toEqual(ran);
});

it("renames a completed node: recover() reports it, and graph.resume() runs it again", async () => {
  const version = await versions();
  await crashedAfter(compiled(version(), ["search", "book"], new Tools()));
  const [store, tools] = [version(), new Tools()];
  const graph = compiled(store, ["find", "book"], tools);
  const differences = ["`search`, which has run, is not in this program"];
  expect(await recovered(graph, store)).toMatchObject([
    { outcome: "changed", decision: "leave", from: null, differences },
  ]);
  expect(tools.calls).toEqual([]);
  const [run] = (await store.runs()).runs;
  await graph.resume(run!.runId);
  expect(tools.calls).toEqual(["find", "book"]);
});

it("changes a graph without a name", async () => {
  const version = await versions();
  const first = version(null);
  const old = compiled(first, ["search", "book"], new Tools());
  await recover(old, first);
  await crashedAfter(old);
  const store = version(null);
  const graph = compiled(store, ["search", "book", "mail"], new Tools());
  expect(await recovered(graph, store)).toMatchObject([{ outcome: "skipped", why: "other program" }]);
});

it("adds a last node to a parallel graph that the store does not know: recover() runs it, unless the program has another name", async () => {
  const version = await versions();
  const parallel = (checkpointStore: CheckpointStore, { deps }: Tools, last: string[]) => {
    const names = ["a", "b", "c", ...last];
    const graph = graphOf(external(names.join(" ")), [["START", ...names.slice(1), "END"].join(" "), "START a c"]);
    return graph.compile({ checkpointStore, deps });
  };
  await parallel(version(), new Tools(), []).invoke({});
  const [renamed, tools] = [version("program@2"), new Tools()];
  await recovered(parallel(renamed, tools, ["mail"]), renamed);
  expect(tools.calls).toEqual([]);
  const store = version();
  expect(await recovered(parallel(store, tools, ["mail"]), store)).toMatchObject([{ outcome: "finished" }]);
  expect(tools.calls).toEqual(["mail"]);
});
