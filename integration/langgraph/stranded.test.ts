// Threads that the version of their program that started last cannot continue show up before somebody answers them.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Annotation, interrupt } from "@langchain/langgraph";
import type { StrandedRuns } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { ForkpointSaver, type SaverOptions, recover } from "forkpoint/langgraph";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { Child } from "./children.js";
import { attempt, cli } from "./command.js";
import { durable, folder, open, openShared, place, sequence } from "./helpers.js";

const State = Annotation.Root({ ran: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }) });

type Opened = Awaited<ReturnType<typeof openShared>>;

function make(store: Opened | string, names: string[], options: SaverOptions, does: Record<string, () => void> = {}) {
  const saver = typeof store === "string" ? open(store, options) : new ForkpointSaver(store, options);
  const nodes = Object.fromEntries(names.map((name) => [name, () => (does[name]?.(), { ran: [name] })]));
  return { saver, graph: sequence(State, nodes).compile({ checkpointer: saver }) as any };
}

const ask = () => void interrupt("go on?");

/** Fills a store with threads of the first version, a b c. */
async function fill(store: Opened, options: SaverOptions): Promise<void> {
  const { saver, graph } = make(store, ["a", "b", "c"], options, { b: ask });
  await recover(graph, saver);
  const invoke = (id: string, more = {}) =>
    graph.invoke({ ran: [] }, { configurable: { thread_id: id }, durability: "sync", ...more });
  for (const next of ["a", "b"]) await invoke(`${next} is next`, { interruptBefore: [next] });
  await invoke("b waits");
}

it.each([
  ["a", "b", "c"],
  ["a", "b2", "c"],
  ["a", "b", "z", "c"],
  ["z", "a", "b", "c"],
])("lists what recover() leaves, for %s %s %s", async (...given) => {
  const names = given.filter((name): name is string => typeof name === "string");
  const store = await openShared("memory:");
  await fill(store, { program: "trip", version: "1" });
  const inspector = await openInspector(store);
  const heard: StrandedRuns[] = [];
  const hear = (message: unknown) => void heard.push(message as StrandedRuns);
  subscribe("forkpoint:stranded", hear);
  onTestFinished(() => void unsubscribe("forkpoint:stranded", hear));
  const { saver, graph } = make(store, names, { program: "trip", version: "2" });
  // A dry run is no start.
  await recover(graph, saver, { dryRun: true });
  expect((await inspector.runs({ stranded: true })).items).toEqual([]);
  const { runs } = await recover(graph, saver);
  const left = runs.flatMap((run) => (run.outcome === "changed" ? [[run.threadId, run.differences]] : []));
  const { items } = await inspector.runs({ stranded: true });
  expect(items.map(({ run, stranded }) => [run, stranded!.differences]).toSorted()).toEqual(left.toSorted());
  expect(heard).toEqual([{ target: "memory:", space: "langgraph", program: "trip", runs: left.length }]);
  expect(await inspector.stranded()).toEqual([{ space: "langgraph", program: "trip", runs: left.length }]);
  if (names.includes("b2")) expect(left.length).toBe(2);
});

it("an answered thread is stranded until its own version continues it", async () => {
  const store = await openShared("memory:");
  await fill(store, { program: "trip", version: "1" });
  const next = make(store, ["a", "b2", "c"], { program: "trip", version: "2" });
  await recover(next.graph, next.saver);
  const inspector = await openInspector(store, { write: true });
  const thread = { space: "langgraph", run: "b waits" };
  const { stranded } = await inspector.answer(thread, { value: "yes" });
  expect(stranded).toMatchObject({ program: "trip", to: { version: "2" } });
  expect((await inspector.runs({ stranded: true, match: "waits" })).items).toHaveLength(1);
  const old = make(store, ["a", "b", "c"], { program: "trip", version: "1" }, { b: ask });
  await recover(old.graph, old.saver, { threads: ["b waits"] });
  expect((await inspector.run(thread))!.status).toBe("finished");
  expect((await inspector.runs({ stranded: true })).items).toEqual([]);
});

it("a thread that its program has ended is not stranded", async () => {
  const store = await openShared("memory:");
  await fill(store, { program: "trip", version: "1" });
  const { saver, graph } = make(store, ["a", "b2", "c"], { program: "trip", version: "2" });
  await recover(graph, saver, { onChanged: ({ threadId }) => (threadId === "b waits" ? "end" : "leave") });
  const inspector = await openInspector(store);
  expect((await inspector.runs({ stranded: true })).items.map(({ run }) => run)).toEqual(["b is next"]);
});

it("threads of an unknown program, of a version that was not stored, and of subgraphs", async () => {
  const store = await openShared("memory:");
  const inspector = await openInspector(store);
  const list = async () => (await inspector.runs({ stranded: true })).items.map(({ run }) => run).toSorted();
  const run = (graph: any, id: string) =>
    graph.invoke({ ran: [] }, { configurable: { thread_id: id }, durability: "sync" });
  // Neither of these graphs has called recover(), so the store knows their nodes only from their threads.
  await run(make(store, ["a", "b"], {}, { b: ask }).graph, "nameless");
  await run(make(store, ["a", "b"], { program: "trip" }, { b: ask }).graph, "named");
  const inner = sequence(State, { x: () => (ask(), {}) }).compile();
  const outer = new ForkpointSaver(store, { program: "outer" });
  const subgraph = sequence(State, { sub: inner }).compile({ checkpointer: outer });
  await recover(subgraph, outer);
  await run(subgraph, "inside");
  expect(await list()).toEqual([]);
  for (const [program, graph] of [
    ["trip", sequence(State, { a: () => ({}), b2: () => ({}) })],
    ["outer", sequence(State, { sub: sequence(State, { y: () => ({}) }).compile() })],
  ] as const) {
    const saver = new ForkpointSaver(store, { program });
    await recover(graph.compile({ checkpointer: saver }) as any, saver);
  }
  expect(await list()).toEqual(["inside", "named"]);
  const found = await inspector.run({ space: "langgraph", run: "named" }, { withStranded: true });
  expect(found!.stranded!.differences).toEqual(["`b`, which is next, is not in this program"]);
});

it(`${durable}: two versions in processes of their own, and the command line`, { timeout: 120_000 }, async () => {
  const [database, journal] = [place(durable), join(folder(), "effects.log")];
  const worker = (version: string, ...rest: string[]) =>
    new Child([database, journal, version, ...rest], {}, "deploy.mjs");
  const child = worker("1", "start", "half", "b");
  await child.until("stopped");
  await child.kill();
  expect(cli("ls", "--stranded", "--db", database)).toBe("");
  await worker("2", "recover").end();
  expect(cli("ls", "--stranded", "--db", database)).toContain("`b`, which is next, is gone; `b2` is new");
  expect(cli("doctor", "--db", database)).toContain("1 open run (0 waiting) doesn't fit the version of its program");
  // A worker of the old version continues the thread, and is now the one that started last.
  await worker("1", "recover").end();
  expect(cli("ls", "--stranded", "--db", database)).toBe("");
  expect(attempt(["doctor", "--db", database]).stdout).not.toContain("STRANDED");
});
