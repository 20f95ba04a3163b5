// A new version of a graph meets runs of the old one: the tables of docs/changes.md, with what recover() does.
import { type Store, openStore } from "forkpoint";
import { CheckpointStore, type CheckpointStoreOptions, recover } from "forkpoint/agentos";
import { describe, expect, it, onTestFinished } from "vitest";
import { END, type GraphNode, humanNode } from "./framework.js";
import { type Handler, Tools, backends, chain, crashedAfter, external, graphOf, tool } from "./harness.js";

async function opened(target = "memory:"): Promise<Store> {
  const store = await openStore(target);
  onTestFinished(() => store.close());
  return store;
}

type Nodes = Record<string, GraphNode>;

/** Starts a version of the program. Its nodes run one after the other. */
function start(store: Store, nodes: Nodes, handlers: Record<string, Handler> = {}, more: CheckpointStoreOptions = {}) {
  const checkpoints = new CheckpointStore(store, { program: "program", ...more });
  const called = new Tools(handlers);
  const graph = chain(nodes).compile({ checkpointStore: checkpoints, deps: called.deps });
  return { checkpoints, graph, ran: called.calls };
}

type Started = Pick<ReturnType<typeof start>, "graph">;

const approve = { approve: humanNode({ prompt: "?" }) };
const fails = () => {
  throw new Error("no");
};

/** The places at which a run of the first version stops. */
const places = {
  "b is next": { nodes: external("a b c"), run: (started: Started) => crashedAfter(started.graph, "a") },
  "c is next": { nodes: external("a b c"), run: (started: Started) => crashedAfter(started.graph, "b") },
  "b waits": {
    nodes: { ...external("a"), b: approve.approve, ...external("c") },
    run: ({ graph }: Started) => graph.invoke({}),
  },
  "b has failed": { nodes: external("a b c"), run: ({ graph }: Started) => graph.invoke({}) },
  finished: { nodes: external("a b c"), run: ({ graph }: Started) => graph.invoke({}) },
};

type Place = keyof typeof places;

const yes = { onWaiting: () => ({ approved: true }), onFailed: () => "retry" as const };

/** Runs the first version to a place, and then the `recover` of the second version. Each place is a program of its own. */
async function deploy(store: Store, place: Place, version: (nodes: Nodes) => Nodes): Promise<string> {
  const { nodes, run } = places[place];
  const first = start(store, nodes, place === "b has failed" ? { b: fails } : {}, { program: place });
  await recover(first.graph, first.checkpoints);
  await run(first);
  const second = start(store, version(nodes), {}, { program: place });
  const { runs } = await recover(second.graph, second.checkpoints, yes);
  const own = runs.filter((found) => !(found.outcome === "skipped" && found.why === "other program"));
  const outcomes = own.map((found) => (found.outcome === "changed" ? found.differences[0] : found.outcome));
  return [...outcomes, ...second.ran].join(" ");
}

/** The same nodes in another order, or under other names. A new name is a new tool. */
const named = (names: string) => (nodes: Nodes) =>
  Object.fromEntries(names.split(" ").map((name) => [name, nodes[name] ?? tool(name, "external")]));

const ran = (names: string) => `finished ${names}`;

/** The same result for each run that has not finished. */
const each = (result: string): Record<Place, string> => ({
  "b is next": result,
  "c is next": result,
  "b waits": result,
  "b has failed": result,
  finished: "",
});
/** Each run continues where it was, in a chain of these nodes. The answer is the result of a node that waits. */
const resumed = (names: string): Record<Place, string> => {
  const [behind, last] = [names.slice(names.indexOf("b") + 2), names.slice(names.indexOf("c"))];
  return { ...each(ran(`b ${behind}`)), "c is next": ran(last), "b waits": ran(behind) };
};

const table: Array<[change: string, version: (nodes: Nodes) => Nodes, results: Record<Place, string>]> = [
  ["nothing", named("a b c"), resumed("a b c")],
  [
    "adds a node after b",
    named("a b x c"),
    { ...resumed("a b x c"), "c is next": "`b`, which has run, is no longer followed by `c`" },
  ],
  ["adds a node at the end", named("a b c x"), resumed("a b c x")],
  ["adds a node at the start", named("x a b c"), each("`__START__`, which has run, is no longer followed by `a`")],
  ["removes b", named("a c"), { ...each("`b`, which is next, is gone"), "c is next": "`b`, which has run, is gone" }],
  ["renames a, the first node", named("a2 b c"), each("`a`, which has run, is gone; `a2` is new")],
  [
    "renames b",
    named("a b2 c"),
    { ...each("`b`, which is next, is gone; `b2` is new"), "c is next": "`b`, which has run, is gone; `b2` is new" },
  ],
  ["reorders b and c", named("a c b"), each("`a`, which has run, is no longer followed by `b`")],
  [
    "changes the effect class of a",
    (nodes) => ({ ...nodes, a: tool("a", "read") }),
    each("the effect class of `a`, which has run, changed from external to read"),
  ],
  [
    "changes the effect class of c",
    (nodes) => ({ ...nodes, c: tool("c", "read") }),
    {
      ...resumed("a b c"),
      "c is next": "the effect class of `c`, which is next, changed from external to read",
    },
  ],
  [
    "changes the type of c",
    (nodes) => ({
      ...nodes,
      c: {
        ...nodes["c"]!,
        type: "extension",
        executorConfig: { type: "extension", extensionId: "e", method: "c" },
      } as GraphNode,
    }),
    { ...resumed("a b c"), "c is next": "the kind of `c`, which is next, changed from tool to extension" },
  ],
  [
    "changes a retry policy",
    (nodes) => ({
      ...nodes,
      c: { ...nodes["c"]!, retryPolicy: { maxAttempts: 2, backoff: "fixed", backoffMs: 1 } } as GraphNode,
    }),
    resumed("a b c"),
  ],
  [
    "changes a checkpoint policy",
    (nodes) => ({ ...nodes, c: { ...nodes["c"]!, checkpoint: "both" } as GraphNode }),
    resumed("a b c"),
  ],
];

describe.each(backends)("%s", (_, target) => {
  it.each(table)("%s", async (_, version, results) => {
    const store = await opened(target());
    const found: Array<[string, string]> = [];
    for (const place of Object.keys(places) as Place[]) found.push([place, await deploy(store, place, version)]);
    expect(Object.fromEntries(found)).toEqual(results);
  });
});

/** A graph of parallel branches, `a` and `b`, before `c` and the nodes of `last`. */
function parallel(
  store: Store,
  last: string[],
  branches: string[] = ["a", "b"],
  handlers: Record<string, Handler> = {},
) {
  const checkpoints = new CheckpointStore(store, { program: "program" });
  const called = new Tools(handlers);
  const nodes = external([...branches, "c", ...last].join(" "));
  const graph = graphOf(nodes, [...branches.map((name) => `START ${name} c`), ["c", ...last, "END"].join(" ")]);
  return { checkpoints, graph: graph.compile({ checkpointStore: checkpoints, deps: called.deps }), ran: called.calls };
}

it("adds a last node to a graph with parallel branches: finished runs stay finished", async () => {
  const store = await opened();
  const first = parallel(store, []);
  await recover(first.graph, first.checkpoints);
  await first.graph.invoke({});
  const second = parallel(store, ["mail"]);
  expect((await recover(second.graph, second.checkpoints)).runs).toEqual([]);
  expect(second.ran).toEqual([]);
  await second.graph.invoke({});
  // The version that made a run says whether it has finished, also if this one has no parallel branches.
  const third = start(store, external("a b"));
  expect((await recover(third.graph, third.checkpoints)).runs).toEqual([]);
});

it("a branch beside one that has run", async () => {
  const outcomes = async (branches: string[]) => {
    const store = await opened();
    const first = parallel(store, [], ["a", "b"], { b: () => new Promise(() => {}) });
    await recover(first.graph, first.checkpoints);
    void first.graph.invoke({});
    while ((await first.checkpoints.runs()).runs.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const second = parallel(store, [], branches);
    const { runs } = await recover(second.graph, second.checkpoints);
    return [(runs[0] as { differences?: string[] }).differences?.[0] ?? runs[0]!.outcome, ...second.ran];
  };
  expect(await outcomes(["a", "b"])).toEqual(["finished", "b", "c"]);
  expect(await outcomes(["a", "b", "b2"])).toEqual(["`__START__`, which has run, is now followed by `b2`"]);
  expect(await outcomes(["a"])).toEqual(["`b`, which is next, is gone"]);
});

/** Runs `a b c` until `b` is next, with the versions 1 and then 2, `a b2 c`. */
async function renamed() {
  const store = await opened();
  const first = start(store, external("a b c"), {}, { version: "1" });
  await recover(first.graph, first.checkpoints);
  const runId = await crashedAfter(first.graph, "a");
  return { store, first, runId, second: start(store, external("a b2 c"), {}, { version: "2" }) };
}

it("says which versions they are, and leaves the run to the old one", async () => {
  const { first, second, runId } = await renamed();
  const { runs } = await recover(second.graph, second.checkpoints);
  expect(runs).toMatchObject([
    { runId, outcome: "changed", decision: "leave", program: "program", from: { version: "1" }, to: { version: "2" } },
  ]);
  expect((await recover(first.graph, first.checkpoints)).runs).toMatchObject([{ runId, outcome: "finished" }]);
  expect((await recover(second.graph, second.checkpoints)).runs).toEqual([]);
});

it("resumes a run in spite of the change", async () => {
  const { second, runId } = await renamed();
  const { runs } = await recover(second.graph, second.checkpoints, { onChanged: () => "resume" });
  expect(runs).toMatchObject([{ runId, outcome: "finished" }]);
  expect(second.ran).toEqual(["b2", "c"]);
});

it("ends a run, which stays as it is", async () => {
  const { first, second, runId } = await renamed();
  const before = await second.checkpoints.latest(runId);
  const { runs } = await recover(second.graph, second.checkpoints, { onChanged: () => "end" });
  expect(runs).toMatchObject([{ runId, outcome: "changed", decision: "end", checkpointId: before!.id }]);
  for (const { graph, checkpoints } of [second, first]) expect((await recover(graph, checkpoints)).runs).toEqual([]);
  expect(await second.checkpoints.latest(runId)).toEqual(before);
});

/** Runs `a b c` until `c` is next. `a` fits the second version, `a b2 c`, and `b` does not. */
async function late(store: Store) {
  const first = start(store, external("a b c"));
  await recover(first.graph, first.checkpoints);
  const runId = await crashedAfter(first.graph, "b");
  return { runId, second: start(store, { ...external("a"), b2: tool("b2", "external"), ...external("c") }) };
}

it("forks a run from the newest checkpoint that fits, and ends it", async () => {
  const store = await opened();
  const first = start(store, external("a b c"));
  await recover(first.graph, first.checkpoints);
  const runId = await crashedAfter(first.graph, "b");
  const second = start(store, external("a b x c"));
  const { runs } = await recover(second.graph, second.checkpoints, { onChanged: () => "fork" });
  const { fork } = runs[0] as { fork: string };
  expect(runs).toMatchObject([
    { runId, outcome: "changed", decision: "fork", fork: expect.any(String) },
    { runId: fork, outcome: "finished" },
  ]);
  expect(second.ran).toEqual(["b", "x", "c"]);
  expect((await second.checkpoints.latest(fork))!.visitedNodes).toEqual(["a", "b", "x", "c", END]);
  for (const { graph, checkpoints } of [first, second]) expect((await recover(graph, checkpoints)).runs).toEqual([]);
});

it("a run without a checkpoint that fits cannot be forked", async () => {
  const { runId, second } = await late(await opened());
  const { runs } = await recover(second.graph, second.checkpoints, { onChanged: () => "fork" });
  expect(runs).toMatchObject([{ runId, outcome: "error", error: { code: "INVALID_ARGUMENT" } }]);
});

it("dryRun says what would happen, and changes nothing", async () => {
  const { store, second, runId } = await renamed();
  const before = await store.stats();
  const options = { dryRun: true, onChanged: fails, onWaiting: fails };
  const { runs } = await recover(second.graph, second.checkpoints, options);
  expect(runs).toMatchObject([{ runId, outcome: "changed", decision: "leave" }]);
  const same = start(store, external("a b c"));
  expect((await recover(same.graph, same.checkpoints, { dryRun: true })).runs).toEqual([
    { runId, outcome: "would resume", status: "unfinished" },
  ]);
  expect(await store.stats()).toEqual(before);
  expect([...second.ran, ...same.ran]).toEqual([]);
});
