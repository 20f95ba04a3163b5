// A new version of a graph meets threads of the old one: the tables of docs/changes.md, with what recover() does.
import { Annotation, Command, START, Send, StateGraph, entrypoint, interrupt, task } from "@langchain/langgraph";
import { type Store, openStore } from "forkpoint";
import { ForkpointSaver, type RecoveredThread, type SaverOptions, recover } from "forkpoint/langgraph";
import { expect, it, onTestFinished } from "vitest";
import { thread } from "./helpers.js";

const run = { ...thread(), durability: "sync" as const };

const State = Annotation.Root({
  ran: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  note: Annotation<string>,
});

/** A version of a program: a chain of nodes, each of which writes its name. */
interface Version {
  nodes: string[];
  state?: any;
  /** What a node does in place of writing its name. */
  does?: Record<string, () => object>;
  options?: Record<string, object>;
}

async function opened(): Promise<Store> {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  return store;
}

/** Starts a version of the program: `recover` is its first call. */
async function start(
  store: Store,
  { nodes, state = State, does = {}, options = {} }: Version,
  more: SaverOptions = {},
) {
  const saver = new ForkpointSaver(store, { program: "program", ...more });
  const ran: string[] = [];
  const graph = new StateGraph(state) as any;
  for (const name of nodes) {
    const node = () => (ran.push(name), does[name]?.() ?? { ran: [name] });
    graph.addNode(name, node, options[name]);
  }
  for (const [at, name] of nodes.entries()) graph.addEdge(at === 0 ? START : nodes[at - 1], name);
  return { saver, graph: graph.compile({ checkpointer: saver }), ran };
}

const yes = { onWaiting: () => new Command({ resume: "yes" }), onFailed: () => "retry" as const };

/** The places at which a thread of the first version, `a b c`, stops. */
const places = {
  "a is next": (graph: any) => graph.invoke({ note: "x" }, { ...run, interruptBefore: ["a"] }),
  "b is next": (graph: any) => graph.invoke({ note: "x" }, { ...run, interruptBefore: ["b"] }),
  "c is next": (graph: any) => graph.invoke({ note: "x" }, { ...run, interruptBefore: ["c"] }),
  "b waits": (graph: any) => graph.invoke({ note: "x" }, run),
  "b has failed": (graph: any) => graph.invoke({ note: "x" }, run).catch(() => {}),
  finished: (graph: any) => graph.invoke({ note: "x" }, run),
};

type Place = keyof typeof places;

const before = (place: Place): Version["does"] => {
  if (place === "b waits") return { b: () => ({ ran: [interrupt("?")] }) };
  const fail = () => {
    throw new Error("no");
  };
  return place === "b has failed" ? { b: fail } : {};
};

/** Runs a thread of the first version to a place, and then the `recover` of the second version. */
async function deploy(place: Place, second: Version) {
  const store = await opened();
  const first = await start(store, { nodes: ["a", "b", "c"], does: before(place)! });
  await recover(first.graph, first.saver);
  await places[place](first.graph);
  const next = await start(store, { ...second, does: place === "b waits" ? before(place)! : {} });
  const { runs, checked } = await recover(next.graph, next.saver, yes);
  const [thread] = runs as Array<RecoveredThread | undefined>;
  const { differences } = (thread ?? {}) as { differences?: string[] };
  return { outcome: differences?.[0] ?? thread?.outcome ?? "nothing", ran: next.ran.join(" "), checked };
}

const gone = (name: string, place: string, added?: string) =>
  `\`${name}\`, which ${place}, is gone${added === undefined ? "" : `; \`${added}\` is new`}`;
const no = (name: string, next: string) => `\`${name}\`, which has run, is no longer followed by \`${next}\``;
const ran = (names: string) => ({ outcome: "finished", ran: names });
const changed = (outcome: string) => ({ outcome, ran: "" });
const nothing = { outcome: "nothing", ran: "" };

const small = Annotation.Root({ ran: State.spec.ran });
const large = Annotation.Root({ ...State.spec, more: Annotation<string> });
const lost = changed("the field `note` is gone, and its value would be lost");

const table: Array<[change: string, version: Version, results: Record<Place, object>]> = [
  [
    "nothing",
    { nodes: ["a", "b", "c"] },
    {
      "a is next": ran("a b c"),
      "b is next": ran("b c"),
      "c is next": ran("c"),
      "b waits": ran("b c"),
      "b has failed": ran("b c"),
      finished: nothing,
    },
  ],
  [
    "adds a node after b",
    { nodes: ["a", "b", "x", "c"] },
    {
      "a is next": ran("a b x c"),
      "b is next": ran("b x c"),
      "c is next": changed(no("b", "c")),
      "b waits": ran("b x c"),
      "b has failed": ran("b x c"),
      finished: nothing,
    },
  ],
  [
    "adds a node at the end",
    { nodes: ["a", "b", "c", "x"] },
    {
      "a is next": ran("a b c x"),
      "b is next": ran("b c x"),
      "c is next": ran("c x"),
      "b waits": ran("b c x"),
      "b has failed": ran("b c x"),
      finished: nothing,
    },
  ],
  [
    "removes b",
    { nodes: ["a", "c"] },
    {
      "a is next": ran("a c"),
      "b is next": changed(gone("b", "is next")),
      "c is next": changed(gone("b", "has run")),
      "b waits": changed(gone("b", "is next")),
      "b has failed": changed(gone("b", "is next")),
      finished: nothing,
    },
  ],
  [
    "renames a, the first node",
    { nodes: ["a2", "b", "c"] },
    {
      "a is next": changed(gone("a", "is next", "a2")),
      "b is next": changed(gone("a", "has run", "a2")),
      "c is next": changed(gone("a", "has run", "a2")),
      "b waits": changed(gone("a", "has run", "a2")),
      "b has failed": changed(gone("a", "has run", "a2")),
      finished: nothing,
    },
  ],
  [
    "renames b",
    { nodes: ["a", "b2", "c"] },
    {
      "a is next": ran("a b2 c"),
      "b is next": changed(gone("b", "is next", "b2")),
      "c is next": changed(gone("b", "has run", "b2")),
      "b waits": changed(gone("b", "is next", "b2")),
      "b has failed": changed(gone("b", "is next", "b2")),
      finished: nothing,
    },
  ],
  [
    "reorders b and c",
    { nodes: ["a", "c", "b"] },
    {
      "a is next": ran("a c b"),
      "b is next": changed(no("a", "b")),
      "c is next": changed(no("a", "b")),
      "b waits": changed(no("a", "b")),
      "b has failed": changed(no("a", "b")),
      finished: nothing,
    },
  ],
  [
    "changes a retry policy",
    { nodes: ["a", "b", "c"], options: { b: { retryPolicy: { maxAttempts: 3 } } } },
    {
      "a is next": ran("a b c"),
      "b is next": ran("b c"),
      "c is next": ran("c"),
      "b waits": ran("b c"),
      "b has failed": ran("b c"),
      finished: nothing,
    },
  ],
  [
    "adds a field",
    { nodes: ["a", "b", "c"], state: large },
    {
      "a is next": ran("a b c"),
      "b is next": ran("b c"),
      "c is next": ran("c"),
      "b waits": ran("b c"),
      "b has failed": ran("b c"),
      finished: nothing,
    },
  ],
  [
    "removes a field",
    { nodes: ["a", "b", "c"], state: small },
    {
      "a is next": lost,
      "b is next": lost,
      "c is next": lost,
      "b waits": lost,
      "b has failed": lost,
      finished: nothing,
    },
  ],
];

it.each(
  table.flatMap(([change, version, results]) =>
    Object.entries(results).map(([place, result]) => [change, place as Place, version, result] as const),
  ),
)("%s, %s", async (_, place, version, result) => {
  expect(await deploy(place, version)).toMatchObject({ ...result, checked: 1 });
});

/** Runs a thread of `a b c` until `b` is next, on a store of its own. */
async function atB(more: SaverOptions = {}) {
  const store = await opened();
  const first = await start(store, { nodes: ["a", "b", "c"] }, more);
  await recover(first.graph, first.saver);
  await places["b is next"](first.graph);
  return { store, first };
}

const renamed: Version = { nodes: ["a", "b2", "c"] };

it("says who made the thread, what differs, and what to do", async () => {
  const { store } = await atB({ version: "1" });
  const { graph, saver } = await start(store, renamed, { version: "2" });
  const [run] = (await recover(graph, saver)).runs;
  expect(run).toEqual({
    threadId: "thread",
    outcome: "changed",
    decision: "leave",
    program: "program",
    checkpointId: (await saver.status("thread"))!.checkpointId,
    from: { version: "1", shape: expect.stringMatching(/^[\w-]{12}$/) },
    to: { version: "2", shape: expect.stringMatching(/^[\w-]{12}$/) },
    differences: ["`b`, which is next, is gone; `b2` is new"],
    message:
      'thread "thread" was made by version "1" of this program and does not fit this one: `b`, which is next, is gone; ' +
      "`b2` is new. Recover it with its own version, or decide with onChanged what becomes of it",
  });
});

it("another version of the same graph is compatible", async () => {
  const { store } = await atB({ version: "1" });
  const { graph, saver, ran } = await start(store, { nodes: ["a", "b", "c"] }, { version: "2" });
  expect((await recover(graph, saver)).runs).toMatchObject([{ outcome: "finished" }]);
  expect(ran).toEqual(["b", "c"]);
});

it("onChanged: leaves a thread to the old version, which recovers it", async () => {
  const { store, first } = await atB();
  const second = await start(store, renamed);
  for (const onChanged of [undefined, () => undefined, () => "leave" as const, async () => "leave" as const]) {
    const options = onChanged === undefined ? {} : { onChanged };
    expect((await recover(second.graph, second.saver, options)).runs).toMatchObject([
      { outcome: "changed", decision: "leave" },
    ]);
  }
  expect(second.ran).toEqual([]);
  expect((await recover(first.graph, first.saver)).runs).toMatchObject([{ outcome: "finished" }]);
  expect((await recover(second.graph, second.saver)).runs).toEqual([]);
});

it("onChanged: resumes a thread that waits at a node with another effect on its state", async () => {
  const { store } = await atB();
  const second = await start(store, { nodes: ["x", "a", "b", "c"] });
  const asked: unknown[] = [];
  const onChanged = (thread: unknown) => (asked.push(thread), "resume" as const);
  expect((await recover(second.graph, second.saver, { onChanged })).runs).toMatchObject([{ outcome: "finished" }]);
  expect(second.ran).toEqual(["b", "c"]);
  expect(asked).toMatchObject([{ threadId: "thread", differences: [no("__start__", "a"), expect.anything()] }]);
});

it.each([false, true])("onChanged: forks from the newest checkpoint that fits, lease: %s", async (lease) => {
  const { store } = await atB();
  const second = await start(store, renamed, { lease });
  const { runs } = await recover(second.graph, second.saver, { onChanged: () => "fork" });
  expect(runs).toMatchObject([
    { threadId: "thread", outcome: "changed", decision: "fork", fork: "thread" },
    { threadId: "thread", outcome: "finished", output: { ran: ["a", "b2", "c"], note: "x" } },
  ]);
  // `a` was next at the newest checkpoint that fits. Its old result is another branch.
  expect(second.ran).toEqual(["a", "b2", "c"]);
  const { saver } = await start(store, renamed);
  expect((await recover(second.graph, second.saver)).runs).toEqual([]);
  const history = [];
  for await (const { config } of saver.list(run)) history.push(config.configurable!["checkpoint_id"]);
  expect(history).toHaveLength(3 + 4);
});

it("onChanged: a thread without a checkpoint that fits cannot be forked", async () => {
  const store = await opened();
  const first = await start(store, { nodes: ["a", "b"], state: State });
  await recover(first.graph, first.saver);
  await places["b is next"](first.graph);
  const second = await start(store, { nodes: ["a", "b"], state: small });
  const { runs } = await recover(second.graph, second.saver, { onChanged: () => "fork" });
  const message = expect.stringContaining("none of its checkpoints fits this version");
  expect(runs).toMatchObject([{ outcome: "error", error: { code: "INVALID_ARGUMENT", message } }]);
  expect(second.ran).toEqual([]);
});

it("onChanged: ends a thread for good, until it is named or continues", async () => {
  const { store, first } = await atB();
  const second = await start(store, renamed);
  const { checkpointId } = (await second.saver.status("thread"))!;
  const { runs } = await recover(second.graph, second.saver, { onChanged: () => "end" });
  expect(runs).toMatchObject([{ outcome: "changed", decision: "end", checkpointId }]);
  // No version recovers it, in no process. What is stored stays.
  for (const { graph, saver } of [second, first, await start(store, renamed)]) {
    expect((await recover(graph, saver, { onChanged: () => "resume" })).runs).toEqual([]);
    expect(await saver.status("thread")).toMatchObject({ checkpointId, status: "unfinished" });
  }
  expect((await recover(first.graph, first.saver, { threads: ["thread"] })).runs).toMatchObject([
    { outcome: "finished", output: { ran: ["a", "b", "c"] } },
  ]);
});

it("onChanged: a thread that continues after it was ended is open again", async () => {
  const { store, first } = await atB();
  const second = await start(store, renamed);
  await recover(second.graph, second.saver, { onChanged: () => "end" });
  await first.graph.invoke(null, { ...run, interruptBefore: ["c"] });
  expect((await recover(second.graph, second.saver)).runs).toMatchObject([{ outcome: "changed", decision: "leave" }]);
});

it("onChanged: another answer is an error, and nothing happens", async () => {
  const { store } = await atB();
  const second = await start(store, renamed);
  const onChanged = (() => "restart") as never;
  const message = expect.stringContaining('must return "leave", "resume", "fork", "end" or nothing');
  expect((await recover(second.graph, second.saver, { onChanged })).runs).toMatchObject([
    { outcome: "error", error: { name: "TypeError", message } },
  ]);
  expect((await recover(second.graph, second.saver)).runs).toMatchObject([{ outcome: "changed" }]);
});

it("dryRun: says what would happen, and writes, leases and runs nothing", async () => {
  const { store, first } = await atB();
  await first.graph.invoke({}, { configurable: { thread_id: "new" }, durability: "sync", interruptBefore: ["a"] });
  const second = await start(store, renamed);
  const before = await store.stats();
  const fail = () => {
    throw new Error("a dry run calls nothing");
  };
  const options = { dryRun: true, onChanged: fail, onWaiting: fail, onRecovered: fail };
  const { runs, checked } = await recover(second.graph, second.saver, options);
  expect(checked).toBe(2);
  expect(runs.toSorted((a, b) => a.threadId.localeCompare(b.threadId))).toMatchObject([
    { threadId: "new", outcome: "would resume", status: "unfinished" },
    { threadId: "thread", outcome: "changed", decision: "leave" },
  ]);
  expect(await store.stats()).toEqual(before);
  expect(second.ran).toEqual([]);
  // A thread that another process works on is named with its holder.
  const lease = await store.lease({ space: "langgraph", run: "new" });
  const report = await recover(second.graph, second.saver, { dryRun: true, threads: ["new"] });
  expect(report.runs).toEqual([{ threadId: "new", outcome: "elsewhere", holder: lease.holder }]);
  await lease.release();
});

it("nodes of earlier inputs of a thread do not count", async () => {
  const store = await opened();
  const first = await start(store, { nodes: ["a", "b", "c"] });
  await recover(first.graph, first.saver);
  await first.graph.invoke({ note: "x" }, run);
  await first.graph.invoke({ note: "y" }, { ...run, interruptBefore: ["b"] });
  // `c` has run for the first input only.
  const second = await start(store, { nodes: ["a", "b", "d"] });
  expect((await recover(second.graph, second.saver)).runs).toMatchObject([{ outcome: "finished" }]);
  expect(second.ran).toEqual(["b", "d"]);
});

it("an input that no node has read fits each graph", async () => {
  const store = await opened();
  const first = await start(store, { nodes: ["a"] });
  await recover(first.graph, first.saver);
  await first.graph.invoke({}, run);
  await first.graph.invoke({}, { ...run, interruptBefore: ["__start__"] });
  const second = await start(store, { nodes: ["a2"] });
  expect((await recover(second.graph, second.saver)).runs).toMatchObject([{ outcome: "finished" }]);
  expect(second.ran).toEqual(["a2"]);
});

/** Graphs of which a change inside matters. `build` gets the names of the parts that change. */
const shapes: Record<string, (graph: any, part: string) => void> = {
  "a join": (graph, part) => {
    for (const name of ["a", "b1", "b2", "after"]) graph.addNode(name, () => ({ ran: [name] }));
    const joins = part === "old" ? ["a", "b2"] : ["b2", "a"];
    graph.addEdge(START, "a").addEdge(START, "b1").addEdge("b1", "b2").addEdge(joins, "after");
  },
  "a subgraph": (graph, part) => {
    const inner = new StateGraph(State) as any;
    inner.addNode("b1", () => ({ ran: ["b1"] })).addNode(part, () => ({ ran: [interrupt("?")] }));
    graph.addNode("inner", inner.addEdge(START, "b1").addEdge("b1", part).compile());
    graph.addEdge(START, "inner");
  },
  "a subgraph of a subgraph": (graph, part) => {
    const [outer, inner] = [new StateGraph(State), new StateGraph(State)] as any[];
    inner.addNode("b1", () => ({ ran: ["b1"] })).addNode(part, () => ({ ran: [interrupt("?")] }));
    outer.addNode("deep", inner.addEdge(START, "b1").addEdge("b1", part).compile());
    graph.addNode("inner", outer.addEdge(START, "deep").compile());
    graph.addEdge(START, "inner");
  },
};

it.each<[keyof typeof shapes, string[]]>([
  ["a join", ["`after` no longer waits for `a` and `b2`", "`after` now waits for `b2` and `a`"]],
  ["a subgraph", ["`inner:old`, which is next, is gone; `inner:new` is new"]],
  ["a subgraph of a subgraph", ["`inner:deep:old`, which is next, is gone; `inner:deep:new` is new"]],
])("changes %s", async (which, differences) => {
  const store = await opened();
  const made = (part: string) => {
    const saver = new ForkpointSaver(store, { program: "program" });
    const graph = new StateGraph(State) as any;
    shapes[which]!(graph, part);
    return { saver, graph: graph.compile({ checkpointer: saver }) };
  };
  const first = made("old");
  await recover(first.graph, first.saver);
  await first.graph.invoke({}, { ...run, interruptAfter: ["b1"] });
  const second = made("new");
  expect((await recover(second.graph, second.saver)).runs).toMatchObject([{ outcome: "changed", differences }]);
  // The same graph fits.
  const same = made("old");
  const { runs } = await recover(same.graph, same.saver, yes);
  expect(runs).toMatchObject([{ outcome: "finished" }]);
});

it("a task() that a node has called is no node", async () => {
  const store = await opened();
  const made = (names: string[]) => {
    const saver = new ForkpointSaver(store, { program: "program" });
    const helper = task("helper", async (text: string) => text);
    const graph = new StateGraph(State) as any;
    for (const name of names) graph.addNode(name, async () => ({ ran: [await helper(name)] }));
    for (const [at, name] of names.entries()) graph.addEdge(at === 0 ? START : names[at - 1], name);
    return { saver, graph: graph.compile({ checkpointer: saver }) };
  };
  const first = made(["a", "b", "c"]);
  await recover(first.graph, first.saver);
  await first.graph.invoke({}, { ...run, interruptBefore: ["b"] });
  const second = made(["a", "b", "x"]);
  const output = { ran: ["a", "b", "x"] };
  expect((await recover(second.graph, second.saver)).runs).toMatchObject([{ outcome: "finished", output }]);
});

it("a node that a Send has run counts", async () => {
  const store = await opened();
  const made = (name: string) => {
    const saver = new ForkpointSaver(store, { program: "program" });
    const graph = (new StateGraph(State) as any).addNode("plan", () => ({ ran: ["plan"] }));
    graph.addNode(name, () => ({ ran: [name] })).addNode("last", () => ({ ran: ["last"] }));
    graph.addEdge(START, "plan").addEdge(name, "last");
    graph.addConditionalEdges("plan", () => [new Send(name, {})], [name]);
    return { saver, graph: graph.compile({ checkpointer: saver }) };
  };
  const first = made("work");
  await recover(first.graph, first.saver);
  await first.graph.invoke({}, { ...run, interruptBefore: ["last"] });
  const second = made("task");
  const differences = ["`work`, which has run, is gone; `task` is new"];
  expect((await recover(second.graph, second.saver)).runs).toMatchObject([{ outcome: "changed", differences }]);
});

it("a graph that a node calls by itself does not count", async () => {
  const store = await opened();
  const made = (asks: string) => {
    const saver = new ForkpointSaver(store, { program: "program" });
    const inner = (new StateGraph(State) as any).addNode(asks, () => ({ ran: [interrupt("?")] })).addEdge(START, asks);
    const called = inner.compile();
    const graph = (new StateGraph(State) as any)
      .addNode("calls", async (state: object) => ({ ran: (await called.invoke(state)).ran }))
      .addEdge(START, "calls");
    return { saver, graph: graph.compile({ checkpointer: saver }) };
  };
  const first = made("ask");
  await recover(first.graph, first.saver);
  await first.graph.invoke({}, run);
  const second = made("ask");
  expect((await recover(second.graph, second.saver, yes)).runs).toMatchObject([
    { outcome: "finished", output: { ran: ["yes"] } },
  ]);
});

it("the result of a node that has finished beside another one keeps its edges", async () => {
  const store = await opened();
  const made = (next: string) => {
    const saver = new ForkpointSaver(store, { program: "program" });
    const graph = new StateGraph(State) as any;
    graph.addNode("a", () => ({ ran: ["a"] })).addNode("ask", () => ({ ran: [interrupt("?")] }));
    for (const name of ["x", "y"]) graph.addNode(name, () => ({ ran: [name] }));
    graph
      .addEdge(START, "a")
      .addEdge(START, "ask")
      .addEdge("a", next)
      .addEdge("ask", next === "x" ? "y" : "x");
    return { saver, graph: graph.compile({ checkpointer: saver }) };
  };
  const first = made("x");
  await recover(first.graph, first.saver);
  await first.graph.invoke({}, run);
  const second = made("y");
  const [thread] = (await recover(second.graph, second.saver, yes)).runs;
  expect(thread).toMatchObject({ outcome: "changed" });
  expect((thread as { differences: string[] }).differences[0]).toBe(
    "`a`, which may have run, is no longer followed by `x`",
  );
});

it("a version tells workflows of the functional API apart", async () => {
  const store = await opened();
  const made = (version?: string) => {
    const saver = new ForkpointSaver(store, { program: "program", ...(version !== undefined && { version }) });
    const flow = entrypoint({ name: "flow", checkpointer: saver }, async () => interrupt("?") as string);
    return { saver, flow: flow as any };
  };
  const first = made("1");
  await recover(first.flow, first.saver);
  await first.flow.invoke("x", run);
  for (const version of ["2", undefined]) {
    const { flow, saver } = made(version);
    const [thread] = (await recover(flow, saver, yes)).runs;
    expect(thread).toMatchObject({ outcome: "changed", from: { version: "1" }, to: { version: version ?? null } });
  }
  const { flow, saver } = made("1");
  expect((await recover(flow, saver, yes)).runs).toMatchObject([{ outcome: "finished" }]);
});

it("onChanged is called while no other process works on the thread, and may change it", async () => {
  const store = await opened();
  const first = await start(store, { nodes: ["a", "b", "c"] });
  await recover(first.graph, first.saver);
  await places["b is next"](first.graph);
  const second = await start(store, { nodes: ["a", "b2", "c"], state: large }, { lease: true });
  const lease = await store.lease({ space: "langgraph", run: "thread" });
  const asked: string[] = [];
  const recovering = recover(second.graph, second.saver, {
    async onChanged({ checkpointId }) {
      asked.push(checkpointId);
      await second.graph.updateState(thread(), { more: "new" }, "a");
      return "resume" as const;
    },
  });
  // The holder of the lease goes on. The thread that is asked about is the one that it leaves behind.
  await first.graph.updateState(thread(), { ran: ["more"] }, "a");
  const { checkpointId } = (await first.saver.status("thread"))!;
  expect(asked).toEqual([]);
  await lease.release();
  const { runs } = await recovering;
  expect(asked).toEqual([checkpointId]);
  expect(runs).toMatchObject([{ outcome: "finished", output: { ran: ["a", "more", "b2", "c"], more: "new" } }]);
  expect(second.ran).toEqual(["b2", "c"]);
});
