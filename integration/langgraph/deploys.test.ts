// A new version of a graph meets threads of the old one: the tables of docs/changes.md, with what recover() does.
import { Annotation, Command, START, Send, StateGraph, entrypoint, interrupt, task } from "@langchain/langgraph";
import { type Store } from "forkpoint";
import { ForkpointSaver, type SaverOptions, recover } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { type Kind, mainKinds, place as target, thread, openShared } from "./helpers.js";

const run = { ...thread(), durability: "sync" as const };

const State = Annotation.Root({
  ran: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  note: Annotation<string>,
});

/** A version of a program: a chain of nodes, each of which writes its name. */
interface Version {
  nodes: string[];
  state?: any;
  /** What a node does in a thread. Without an update, the node writes its name. */
  does?: (name: string, thread: string) => object | void;
  options?: Record<string, object>;
}

const opened = (path = "memory:") => openShared(path);

/** Starts a version of the program: `recover` is its first call. */
async function start(
  store: Store,
  { nodes, state = State, does = () => {}, options = {} }: Version,
  more: SaverOptions = {},
) {
  const saver = new ForkpointSaver(store, { program: "program", ...more });
  const ran: string[] = [];
  const graph = new StateGraph(state) as any;
  for (const name of nodes) {
    const node = (_: object, { configurable }: any) => (
      ran.push(name),
      does(name, configurable.thread_id) ?? { ran: [name] }
    );
    graph.addNode(name, node, options[name]);
  }
  for (const [at, name] of nodes.entries()) graph.addEdge(at === 0 ? START : nodes[at - 1], name);
  return { saver, graph: graph.compile({ checkpointer: saver }), ran };
}

const yes = { onWaiting: () => new Command({ resume: "yes" }), onFailed: () => "retry" as const };

/** The places at which a thread of the first version, `a b c`, stops. */
const places = ["a is next", "b is next", "c is next", "b waits", "b has failed", "finished"] as const;

type Place = (typeof places)[number];

/** Runs a thread to a place. It has the name of the place. */
async function stop(graph: any, place: Place): Promise<void> {
  const [next] = /^.(?= is next)/.exec(place) ?? [];
  const config = { ...thread(place), durability: "sync", ...(next !== undefined && { interruptBefore: [next] }) };
  const running = graph.invoke({ note: "x" }, config);
  if (place === "b has failed") await expect(running).rejects.toThrow("no");
  else await running;
}

/** Runs a thread of the first version to each place, and then the `recover` of the second version. */
async function deploy(kind: Kind, second: Version): Promise<Record<Place, string>> {
  const store = await opened(target(kind));
  const waits = (name: string, thread: string) =>
    name === "b" && thread === "b waits" ? { ran: [interrupt("?")] } : undefined;
  const fails = (name: string, thread: string) => {
    if (name === "b" && thread === "b has failed") throw new Error("no");
    return waits(name, thread);
  };
  const first = await start(store, { nodes: ["a", "b", "c"], does: fails });
  await recover(first.graph, first.saver);
  for (const place of places) await stop(first.graph, place);
  const ran = new Map<string, string[]>(places.map((place) => [place, []]));
  const does = (name: string, thread: string) => (ran.get(thread)!.push(name), waits(name, thread));
  const next = await start(store, { ...second, does });
  const { runs, checked } = await recover(next.graph, next.saver, yes);
  // The index of statuses leaves out the thread that has finished.
  expect(checked).toBe(places.length - 1);
  const results = places.map((place) => {
    const found = runs.filter(({ threadId }) => threadId === place);
    expect(found.length).toBeLessThan(2);
    const outcomes = found.map((run) => (run.outcome === "changed" ? run.differences[0] : run.outcome));
    return [place, [...outcomes, ...ran.get(place)!].join(" ")];
  });
  return Object.fromEntries(results);
}

const gone = (name: string, place: string, added?: string) =>
  `\`${name}\`, which ${place}, is gone${added === undefined ? "" : `; \`${added}\` is new`}`;
const no = (name: string, next: string) => `\`${name}\`, which has run, is no longer followed by \`${next}\``;
const ran = (names: string) => `finished ${names}`;

/** The same result for each thread that has not finished. */
const each = (result: string): Record<Place, string> => ({
  "a is next": result,
  "b is next": result,
  "c is next": result,
  "b waits": result,
  "b has failed": result,
  finished: "",
});
/** Each thread continues where it was, in a chain of these nodes. */
const resumed = (names: string): Record<Place, string> => ({
  ...each(ran(names.slice(names.indexOf("b")))),
  "a is next": ran(names),
  "c is next": ran(names.slice(names.indexOf("c"))),
});

const small = Annotation.Root({ ran: State.spec.ran });
const large = Annotation.Root({ ...State.spec, more: Annotation<string> });
const retried = { b: { retryPolicy: { maxAttempts: 3 } } };

const table: Array<[change: string, version: Version, results: Record<Place, string>]> = [
  ["nothing", { nodes: ["a", "b", "c"] }, resumed("a b c")],
  ["adds a node after b", { nodes: ["a", "b", "x", "c"] }, { ...resumed("a b x c"), "c is next": no("b", "c") }],
  ["adds a node at the end", { nodes: ["a", "b", "c", "x"] }, resumed("a b c x")],
  [
    "removes b",
    { nodes: ["a", "c"] },
    { ...each(gone("b", "is next")), "a is next": ran("a c"), "c is next": gone("b", "has run") },
  ],
  [
    "renames a, the first node",
    { nodes: ["a2", "b", "c"] },
    { ...each(gone("a", "has run", "a2")), "a is next": gone("a", "is next", "a2") },
  ],
  [
    "renames b",
    { nodes: ["a", "b2", "c"] },
    { ...each(gone("b", "is next", "b2")), "a is next": ran("a b2 c"), "c is next": gone("b", "has run", "b2") },
  ],
  ["reorders b and c", { nodes: ["a", "c", "b"] }, { ...each(no("a", "b")), "a is next": ran("a c b") }],
  ["changes a retry policy", { nodes: ["a", "b", "c"], options: retried }, resumed("a b c")],
  ["adds a field", { nodes: ["a", "b", "c"], state: large }, resumed("a b c")],
  [
    "removes a field",
    { nodes: ["a", "b", "c"], state: small },
    each("the field `note` is gone, and its value would be lost"),
  ],
];

describe.each(mainKinds.filter((kind) => kind !== "jsonl"))("%s", (kind) => {
  it.each(table)("%s", async (_, version, results) => {
    expect(await deploy(kind, version)).toEqual(results);
  });
});

/** Runs a thread of `a b c` until `b` is next, on a store of its own. */
async function atB(more: SaverOptions = {}) {
  const store = await opened();
  const first = await start(store, { nodes: ["a", "b", "c"] }, more);
  await recover(first.graph, first.saver);
  await first.graph.invoke({ note: "x" }, { ...run, interruptBefore: ["b"] });
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

it("onChanged: resumes a thread that waits at a node with another effect on its state", async () => {
  const { store } = await atB();
  const second = await start(store, { nodes: ["x", "a", "b", "c"] });
  const asked: unknown[] = [];
  const onChanged = (thread: unknown) => (asked.push(thread), "resume" as const);
  expect((await recover(second.graph, second.saver, { onChanged })).runs).toMatchObject([{ outcome: "finished" }]);
  expect(second.ran).toEqual(["b", "c"]);
  expect(asked).toMatchObject([{ threadId: "thread", differences: [no("__start__", "a"), expect.anything()] }]);
});

it.each(["is next", "waits"])("onChanged: a thread whose node %s and is gone cannot be resumed", async (where) => {
  // In memory, a recovery without an end would leave no time for the test's own.
  const store = await opened(target("sqlite"));
  const does = (name: string) => (where === "waits" && name === "b" ? { ran: [interrupt("?")] } : undefined);
  const first = await start(store, { nodes: ["a", "b", "c"], does });
  await recover(first.graph, first.saver);
  await first.graph.invoke({}, { ...run, ...(where === "is next" && { interruptBefore: ["b"] }) });
  const second = await start(store, { nodes: ["a", "c"] });
  const { runs } = await recover(second.graph, second.saver, { ...yes, onChanged: () => "resume" });
  const message = expect.stringContaining("has run none of the nodes that are next (`b`)");
  expect(runs).toMatchObject([{ outcome: "error", error: { code: "CONFLICT", message } }]);
  expect(second.ran).toEqual([]);
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

it("onChanged: ends a thread for good, until it continues or is named", async () => {
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
  await first.graph.invoke(null, { ...run, interruptBefore: ["c"] });
  expect((await recover(second.graph, second.saver)).runs).toMatchObject([{ outcome: "changed", decision: "leave" }]);
  await recover(second.graph, second.saver, { onChanged: () => "end" });
  expect((await recover(first.graph, first.saver, { threads: ["thread"] })).runs).toMatchObject([
    { outcome: "finished", output: { ran: ["a", "b", "c"] } },
  ]);
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

/** Makes a node that writes its name. */
const writes = (name: string) => () => ({ ran: [name] });

/** Makes a graph of `b1`, and then a node with the name of the part, which asks. */
function nested(part: string): any {
  const inner = new StateGraph(State) as any;
  inner.addNode("b1", writes("b1")).addNode(part, () => ({ ran: [interrupt("?")] }));
  return inner.addEdge(START, "b1").addEdge("b1", part);
}

const absent = (name: string) => [`\`${name}\`, which is next, is not in this program`];

/**
 * Graphs in which one part, `old`, changes to `new`: how a graph is built, where its thread stops, and what differs for
 * `recover`. If nothing does, the state at the end. Then the same for a thread whose program has never called `recover`: the
 * store knows only the names of the nodes that are next or have run.
 */
const graphs: Array<
  [
    what: string,
    build: (graph: any, part: string) => void,
    stop: object,
    known: string[] | object,
    unknown: string[] | object,
  ]
> = [
  [
    "a join",
    (graph, part) => {
      for (const name of ["a", "b1", "b2", "after"]) graph.addNode(name, writes(name));
      const joins = part === "old" ? ["a", "b2"] : ["b2", "a"];
      graph.addEdge(START, "a").addEdge(START, "b1").addEdge("b1", "b2").addEdge(joins, "after");
    },
    { interruptAfter: ["b1"] },
    ["`after` no longer waits for `a` and `b2`", "`after` now waits for `b2` and `a`"],
    ["`after` waits for `a+b2`, which is no join of this program"],
  ],
  [
    "a subgraph",
    (graph, part) => graph.addNode("inner", nested(part).compile()).addEdge(START, "inner"),
    {},
    ["`inner:old`, which is next, is gone; `inner:new` is new"],
    absent("inner:old"),
  ],
  [
    "a subgraph of a subgraph",
    (graph, part) => {
      const outer = (new StateGraph(State) as any).addNode("deep", nested(part).compile()).addEdge(START, "deep");
      graph.addNode("inner", outer.compile()).addEdge(START, "inner");
    },
    {},
    ["`inner:deep:old`, which is next, is gone; `inner:deep:new` is new"],
    absent("inner:deep:old"),
  ],
  [
    "a graph that a node calls by itself",
    (graph) => {
      const called = nested("ask").compile();
      graph
        .addNode("calls", async (state: object) => ({ ran: (await called.invoke(state)).ran }))
        .addEdge(START, "calls");
    },
    {},
    { ran: ["b1", "yes"] },
    { ran: ["b1", "yes"] },
  ],
  [
    "a node after one that has called a task()",
    (graph, part) => {
      const helper = task("helper", async (text: string) => text);
      for (const name of ["a", "b", part]) graph.addNode(name, async () => ({ ran: [await helper(name)] }));
      graph.addEdge(START, "a").addEdge("a", "b").addEdge("b", part);
    },
    { interruptBefore: ["b"] },
    { ran: ["a", "b", "new"] },
    { ran: ["a", "b", "new"] },
  ],
  [
    "a node that a Send has run",
    (graph, part) => {
      for (const name of ["plan", part, "last"]) graph.addNode(name, writes(name));
      graph.addEdge(START, "plan").addEdge(part, "last");
      graph.addConditionalEdges("plan", () => [new Send(part, {})], [part]);
    },
    { interruptBefore: ["last"] },
    ["`old`, which has run, is gone; `new` is new"],
    // LangGraph stores nothing of it.
    { ran: ["plan", "old", "last"] },
  ],
  [
    "a node that a Send has chosen",
    (graph, part) => {
      for (const name of ["plan", part]) graph.addNode(name, writes(name));
      graph.addEdge(START, "plan").addConditionalEdges("plan", () => [new Send(part, {})], [part]);
    },
    { interruptAfter: ["plan"] },
    ["`old`, which is next, is gone; `new` is new"],
    absent("old"),
  ],
  [
    "a node that has finished beside another one",
    (graph, part) => {
      graph.addNode(part, writes(part)).addNode("ask", () => ({ ran: [interrupt("?")] }));
      graph.addEdge(START, part).addEdge(START, "ask");
    },
    {},
    ["`old`, which is next, is gone; `new` is new"],
    absent("old"),
  ],
  [
    "the edges of a node that has finished beside another one",
    (graph, part) => {
      for (const name of ["a", "x", "y"]) graph.addNode(name, writes(name));
      graph.addNode("ask", () => ({ ran: [interrupt("?")] }));
      const [next, other] = part === "old" ? ["x", "y"] : ["y", "x"];
      graph.addEdge(START, "a").addEdge(START, "ask").addEdge("a", next).addEdge("ask", other);
    },
    {},
    [
      "`a`, which may have run, is no longer followed by `x`",
      "`a`, which may have run, is now followed by `y`",
      "`ask`, which may have run, is no longer followed by `y`",
      "`ask`, which may have run, is now followed by `x`",
    ],
    { ran: ["a", "yes", "x"] },
  ],
];

const cases = graphs.flatMap(([what, build, stops, ...results]) =>
  results.map(
    (result, at) => [at === 0 ? what : `${what} of an unknown program`, build, stops, result, at === 0] as const,
  ),
);

it.each(cases)("changes %s", async (_, build, stops, result, isKnown) => {
  const store = await opened();
  const made = (part: string) => {
    const saver = new ForkpointSaver(store, { program: "program" });
    const graph = new StateGraph(State) as any;
    build(graph, part);
    return { saver, graph: graph.compile({ checkpointer: saver }) };
  };
  const first = made("old");
  if (isKnown) await recover(first.graph, first.saver);
  await first.graph.invoke({}, { ...run, ...stops });
  const second = made("new");
  const isChanged = Array.isArray(result);
  expect((await recover(second.graph, second.saver, yes)).runs).toMatchObject([
    isChanged ? { outcome: "changed", differences: result } : { outcome: "finished", output: result },
  ]);
  if (!isChanged) return;
  // The same graph fits.
  const same = made("old");
  expect((await recover(same.graph, same.saver, yes)).runs).toMatchObject([{ outcome: "finished" }]);
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
  await first.graph.invoke({ note: "x" }, { ...run, interruptBefore: ["b"] });
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
