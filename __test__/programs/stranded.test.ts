// Runs that the version of their program that started last cannot continue show up before somebody answers them.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { openStore, type StrandedRuns } from "forkpoint";
import { Workflow, WorkflowCheckpointStore, describe as describeWorkflow } from "forkpoint/agentium";
import { type RunInfo, openInspector } from "forkpoint/inspect";
import { Checkpointer, Graph, type GraphConfig, START, describe as describeGraph } from "forkpoint/tinyagents";
import { describe, expect, it, onTestFinished } from "vitest";
import { answer, cli, json } from "../cli/run.js";
import { opened } from "../contents.js";
import { type Kind, closing, durable, everyKind, place, rejection, wrongType } from "../helpers.js";

interface State {
  trace: string[];
}

type Target = string | Awaited<ReturnType<typeof openStore>>;

/** The name of the node that stops: it throws, or it asks. */
let stopping: string | undefined;

function workflow(target: Target, names: string[], more = {}) {
  const checkpointStore = closing(new WorkflowCheckpointStore<State>(target));
  const run = (name: string) => (state: State) => {
    if (name === stopping) throw new Error(`${name} failed`);
    return { trace: [...state.trace, name] };
  };
  const steps = names.map((name) => ({ name, run: run(name) }));
  const own = { name: "order", steps, initialState: { trace: [] }, checkpointStore, register: false, ...more };
  return new Workflow<State>(own);
}

function graph(target: Target, names: string[], more: Partial<GraphConfig<State, State>> = {}) {
  const checkpointer = closing(new Checkpointer<State>(target));
  const run = (name: string) => (state: State, context: any) => {
    const said = name === stopping ? context.interrupt(`${name}?`) : name;
    return { trace: [...state.trace, said] };
  };
  const nodes = Object.fromEntries(names.map((name) => [name, run(name)]));
  const edges = [START, ...names.slice(0, -1)].map((from, at) => [from, names[at]!] as const);
  const reducer = (_: State, update: State) => update;
  return new Graph<State, State>({ nodes, edges, reducer, checkpointer, name: "order", ...more });
}

const start = async (target: Target, names: string[], more: object, id: string) => {
  await workflow(target, names, more).runWithCheckpoints({ runId: id });
  await graph(target, names, more).invoke({ trace: [] }, { threadId: id });
};

const OLD = ["a", "b", "c"];

/** Fills a store with runs of the first version: one that stopped in each node, and one that is finished. */
async function fill(target: Target) {
  for (const at of OLD) {
    stopping = at;
    await rejection(workflow(target, OLD, { version: "1" }).runWithCheckpoints({ runId: `at ${at}` }));
    await graph(target, OLD, { version: "1" }).invoke({ trace: [] }, { threadId: `at ${at}` });
  }
  stopping = undefined;
  await start(target, OLD, { version: "1" }, "finished");
}

const brief = (runs: readonly RunInfo[]) =>
  runs
    .map(({ space, run, status, stranded }) => [space, run, status, stranded?.to.version, stranded?.differences[0]])
    .toSorted();

const gone = [
  ["agentium", "at b", "unfinished", "2", "`b`, which is next, is gone; `b2` is new"],
  ["agentium", "at c", "unfinished", "2", "`b`, which has run, is gone; `b2` is new"],
  ["tinyagents", "at b", "waiting", "2", "`b`, which is next, is gone; `b2` is new"],
  ["tinyagents", "at c", "waiting", "2", "`b`, which has run, is gone; `b2` is new"],
];

describe.each(everyKind)("%s", (kind: Kind) => {
  async function filled() {
    const store = await opened(place(kind));
    await fill(store);
    return { store, inspector: await openInspector(store) };
  }

  it("lists the runs that a new version cannot continue when it has started, as drainCheck did before", async () => {
    const { store, inspector } = await filled();
    expect((await inspector.runs({ stranded: true })).items).toEqual([]);
    const names = ["a", "b2", "c"];
    const drained = [
      await inspector.drainCheck(describeWorkflow(workflow(store, names, { version: "2" }))),
      await inspector.drainCheck(describeGraph(graph(store, names, { version: "2" }))),
    ];
    expect((await inspector.runs({ stranded: true })).items).toEqual([]);
    await start(store, names, { version: "2" }, "new");
    const { items } = await inspector.runs({ stranded: true });
    expect(brief(items)).toEqual(gone);
    const told = drained.flatMap(({ runs }) => runs.map(({ space, run, differences }) => [space, run, differences]));
    expect(items.map(({ space, run, stranded }) => [space, run, stranded!.differences]).toSorted()).toEqual(
      told.toSorted(),
    );
    expect(items[0]!.stranded).toMatchObject({ program: "order", to: drained[0]!.to.version && { version: "2" } });
    // Other filters and orders, pages, and single runs.
    for (const sort of ["active", "began", "size"] as const)
      expect(brief((await inspector.runs({ stranded: true, sort })).items)).toEqual(gone);
    const waiting = await inspector.runs({ stranded: true, status: "waiting", limit: 1 });
    const rest = await inspector.runs({ stranded: true, status: "waiting", cursor: waiting.cursor });
    expect(brief([...waiting.items, ...rest.items])).toEqual(gone.slice(2));
    expect((await inspector.runs({ stranded: true, status: "finished" })).items).toEqual([]);
    expect((await inspector.runs({ stranded: true, space: "agentos" })).items).toEqual([]);
    const one = { space: "tinyagents", run: "at b" };
    expect((await inspector.run(one))!.stranded).toBeNull();
    expect((await inspector.run(one, { withStranded: true }))!.stranded).toEqual(
      items.find(({ space, run }) => space === one.space && run === one.run)!.stranded,
    );
    const all = (await inspector.runs({ withStranded: true })).items;
    expect(brief(all.filter(({ stranded }) => stranded !== null))).toEqual(gone);
    expect(await wrongType(inspector.runs({ stranded: "yes" as never }))).toBeInstanceOf(TypeError);
  });

  it("a rollback makes them fit again, and strands what only the new version can continue", async () => {
    const { store, inspector } = await filled();
    await start(store, ["a", "b2", "c"], { version: "2" }, "new");
    stopping = "b2";
    await graph(store, ["a", "b2", "c"], { version: "2" }).invoke({ trace: [] }, { threadId: "at b2" });
    stopping = undefined;
    await start(store, OLD, { version: "1" }, "old again");
    expect(brief((await inspector.runs({ stranded: true })).items)).toEqual([
      ["tinyagents", "at b2", "waiting", "1", "`b2`, which is next, is gone; `b` is new"],
    ]);
    await start(store, ["a", "b", "c", "d"], { version: "3" }, "third");
    const { items } = await inspector.runs({ stranded: true });
    expect(brief(items)).toMatchObject([["tinyagents", "at b2", "waiting", "3", expect.any(String)]]);
  });

  it("other programs, programs without a name, runs with a lease and removed runs are not stranded", async () => {
    const { store, inspector } = await filled();
    stopping = "b";
    await graph(store, OLD, { name: "graph" }).invoke({ trace: [] }, { threadId: "nameless" });
    await graph(store, OLD, { name: "other" }).invoke({ trace: [] }, { threadId: "other" });
    stopping = undefined;
    await start(store, ["a", "b2", "c"], { version: "2" }, "new");
    await graph(store, ["x"], { name: "graph" }).invoke({ trace: [] }, { threadId: "nameless 2" });
    const checkpointer = new Checkpointer<State>(store);
    const lease = await checkpointer.lease({ space: "tinyagents", run: "at b" });
    await checkpointer.deleteThread("at c");
    const tinyagents = { space: "tinyagents", stranded: true } as const;
    expect((await inspector.runs(tinyagents)).items).toEqual([]);
    await lease.release();
    expect(brief((await inspector.runs(tinyagents)).items)).toEqual([gone[2]]);
    await graph(store, ["x"], { name: "other" }).invoke({ trace: [] }, { threadId: "other 2" });
    expect((await inspector.runs(tinyagents)).items.map(({ run }) => run)).toEqual(["other", "at b"]);
  });

  it("counts them by program, and publishes the counts", async () => {
    const { store, inspector } = await filled();
    const heard: StrandedRuns[] = [];
    const hear = (message: unknown) => void heard.push(message as StrandedRuns);
    subscribe("forkpoint:stranded", hear);
    onTestFinished(() => void unsubscribe("forkpoint:stranded", hear));
    const none = [
      { space: "agentium", program: "order", runs: 0 },
      { space: "tinyagents", program: "order", runs: 0 },
    ];
    expect(await inspector.stranded()).toEqual(none);
    await start(store, ["a", "b2", "c"], { version: "2" }, "new");
    const counts = none.map((each) => ({ ...each, runs: 2 }));
    expect(await inspector.stranded()).toEqual(counts);
    expect(await inspector.stranded({ space: "tinyagents" })).toEqual([counts[1]]);
    expect(heard.map(({ space, program, runs }) => ({ space, program, runs }))).toEqual([
      ...none,
      ...counts,
      counts[1],
    ]);
    expect(new Set(heard.map(({ target }) => target)).size).toBe(1);
    await rejection(inspector.stranded({ signal: AbortSignal.abort() }));
  });

  it("answer() stores the answer, and says that the last version does not continue the run", async () => {
    const { store } = await filled();
    const inspector = await openInspector(store, { write: true });
    const run = (name: string) => ({ space: "tinyagents", run: name });
    await start(store, ["a", "b2", "c"], { version: "2" }, "new");
    const told = await inspector.answer(run("at b"), { value: "yes" });
    expect(told).toMatchObject({ answered: { value: "yes" }, stranded: { program: "order", to: { version: "2" } } });
    expect(told.stranded!.differences).toEqual(["`b`, which is next, is gone; `b2` is new"]);
    expect((await inspector.answer(run("at a"), { value: "yes" })).stranded).toBeNull();
    // A worker of the run's own version takes the answer.
    const { state } = await graph(store, OLD, { version: "1" }).resume("at b", {});
    expect(state.trace).toEqual(["a", "b", "c"]);
  });
});

it("the command line lists them, counts them in doctor, and says so after an answer", async () => {
  const target = place(durable);
  await using store = await openStore(target);
  await fill(store);
  const db = ["--db", target];
  expect(await answer(["ls", "--stranded", ...db])).toBe("");
  expect(await answer(["doctor", ...db])).not.toContain("STRANDED");
  await start(store, ["a", "b2", "c"], { version: "2" }, "new");

  const listed = await answer(["ls", "--stranded", ...db], { env: { COLUMNS: "200" } });
  expect(listed.split("\n")[0]).toMatch(/^STATUS +RUN .* STRANDED$/);
  expect(listed).toMatch(/waiting +at b .* `b`, which is next, is gone; `b2` is new\n/);
  expect(listed.trimEnd().split("\n")).toHaveLength(5);
  expect((await answer(["ls", ...db])).split("\n")[0]).not.toContain("STRANDED");
  const { runs } = await json(["ls", "--stranded", "--status", "waiting", ...db]);
  expect(brief(runs)).toEqual(gone.slice(2));
  expect(await answer(["ls", "--stranded", "--all", ...db])).toContain("at c");

  const told = "4 open runs (2 waiting) don't fit the version of their program that started last";
  expect(await answer(["doctor", ...db])).toContain(
    `! warning STRANDED  ${told}\n  List them with \`forkpoint ls --stranded\``,
  );
  const report = await json(["doctor", ...db]);
  expect([report.ok, report.findings]).toMatchObject([true, [{ code: "STRANDED", message: told }]]);

  const note =
    "version 2 of order, which started last, can't continue the run: `b`, which is next, is gone; `b2` is new";
  const on = ["--space", "tinyagents"];
  const dry = await cli(["answer", "at b", ...on, "--text", "yes", "--dry-run", ...db]);
  expect(dry.stderr).toContain(note);
  const stored = await cli(["answer", "at b", ...on, "--text", "yes", ...db]);
  expect(stored.stderr).toContain(note);
  expect(stored.stderr).not.toContain("continues the run");
  const fits = await cli(["answer", "at a", ...on, "--text", "yes", ...db]);
  expect(fits.stderr).toContain('graph.resume("at a") in your program continues the run');
  expect((await json(["answer", "at c", ...on, "--text", "yes", ...db])).stranded.differences).toEqual([
    "`b`, which has run, is gone; `b2` is new",
  ]);
});
