// Graphs that change while threads are open: what happens to a thread, by the change and by the place where it stopped.
import { Checkpointer, Graph, type GraphConfig, START, Send } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { closing, kinds, place } from "../helpers.js";
import { path } from "../tinyagents/helpers.js";

interface State {
  trace: string[];
}
type Config = GraphConfig<State, string>;

/** The node that fails. */
let failing: string | undefined;

const node = (name: string) => () => {
  if (name === failing) throw new Error(`${name} failed`);
  return name;
};

const reducer = ({ trace }: State, name: string): State => ({ trace: [...trace, name] });

const inner = (...names: string[]) =>
  new Graph<State, string>({
    nodes: Object.fromEntries(names.map((name) => [name, node(name)])),
    edges: [START, ...names.slice(0, -1)].map((from, at) => [from, names[at]!] as const),
    reducer,
    name: "inner",
  });

const subgraph = (...names: string[]) => ({ subgraph: inner(...names), output: ({ trace }: State) => trace.at(-1)! });

/** a, then b and c at the same time, then d, which asks, then e, which d chooses, then a subgraph. */
const first = (): Pick<Config, "nodes" | "edges"> & { edges: NonNullable<Config["edges"]> } => ({
  nodes: {
    a: node("a"),
    b: { run: node("b"), effectClass: "write" },
    c: node("c"),
    d: (_state, { interrupt }) => `d ${interrupt<string>("go on?")}`,
    e: node("e"),
    sub: subgraph("s1", "s2"),
  },
  edges: [...path(START, "a"), ["a", ["b", "c"]], [["b", "c"], "d"], ["d", () => "e"], ...path("e", "sub")],
});

type Shape = ReturnType<typeof first>;

/** Returns the graph with other nodes and edges. A node without a function is removed, with its edges. */
function changed(
  nodes: Record<string, Config["nodes"][string] | undefined>,
  edges: (edges: Shape["edges"]) => readonly unknown[],
) {
  const old = first();
  const all = Object.entries({ ...old.nodes, ...nodes }).filter(([, one]) => one !== undefined);
  return { nodes: Object.fromEntries(all) as Config["nodes"], edges: edges([...old.edges]) as Shape["edges"] };
}

const replace =
  (from: number, ...by: unknown[]) =>
  (edges: Shape["edges"]) => [...edges.slice(0, from), ...by, ...edges.slice(from + 1)];

/** Returns the graph with another name for a node, in its edges too. */
function renamed(from: string, to: string): Shape {
  const rename = (edge: unknown): unknown => (Array.isArray(edge) ? edge.map(rename) : edge === from ? to : edge);
  return changed({ [from]: undefined, [to]: node(to) }, (edges) => edges.map(rename));
}

/** Where a thread stopped: in a (failed), in b while c has ended (failed), in d (waiting), in e, in the subgraph, at its end. */
const places = ["a", "b", "d", "e", "s2", "end"] as const;
type Place = (typeof places)[number];

const fits = "";
const all = (says: string) =>
  Object.fromEntries(places.map((at) => [at, at === "end" ? fits : says])) as Record<Place, string>;
const from = (first: Place, says: string): Record<Place, string> => {
  const after = new Set(places.slice(places.indexOf(first)));
  return Object.fromEntries(places.map((at) => [at, after.has(at) && at !== "end" ? says : fits])) as Record<
    Place,
    string
  >;
};

/** What a resume says. An empty text: the thread fits, and runs to its end. */
const table: Array<[change: string, shape: () => Shape, says: Record<Place, string>]> = [
  ["nothing", first, all(fits)],
  ["a node added at the end", () => changed({ z: node("z") }, (edges) => [...edges, ["sub", "z"]]), all(fits)],
  [
    "a node added between a and b",
    () => changed({ z: node("z") }, replace(1, ["a", ["z", "c"]], ["z", "b"])),
    from("b", "`a`, which has run, is no longer followed by `b`; `a`, which has run, is now followed by `z`"),
  ],
  [
    "b renamed",
    () => renamed("b", "b2"),
    {
      ...from("d", "`b`, which has run, is gone; `b2` is new"),
      b: "`b`, which is next, is gone; `b2` is new",
    },
  ],
  [
    "c, which the barrier waits for, renamed",
    () => renamed("c", "c2"),
    from("b", "`c`, which has run, is gone; `c2` is new"),
  ],
  [
    "the barrier waits for one more node",
    () =>
      changed({ z: node("z") }, (edges) => [
        edges[0],
        ["a", ["b", "c", "z"]],
        [["b", "c", "z"], "d"],
        ...edges.slice(3),
      ]),
    from(
      "b",
      "`a`, which has run, is now followed by `z`; `d` no longer waits for `b` and `c`; `d` now waits for `b`, `c` and `z`",
    ),
  ],
  ["the order of the barrier's list", () => changed({}, replace(2, [["c", "b"], "d"])), all(fits)],
  [
    "edges in place of the barrier",
    () => changed({}, replace(2, ["b", "d"], ["c", "d"])),
    from("b", "`c`, which has run, is now followed by `d`; `d` no longer waits for `b` and `c`"),
  ],
  [
    "the effect class of b",
    () => changed({ b: { run: node("b"), effectClass: "external" } }, (edges) => edges),
    {
      ...from("d", "the effect class of `b`, which has run, changed from write to external"),
      b: "the effect class of `b`, which is next, changed from write to external",
    },
  ],
  [
    "the policies of b",
    () =>
      changed(
        { b: { run: node("b"), effectClass: "write", retry: { maxRetries: 1, backoffMs: 0 }, checkpoint: "both" } },
        (edges) => edges,
      ),
    all(fits),
  ],
  [
    "d removed",
    () => changed({ d: undefined }, (edges) => [...edges.slice(0, 2), [["b", "c"], "e"], edges[4]]),
    {
      ...from("e", "`d`, which has run, is gone"),
      b: "`d` no longer waits for `b` and `c`; `e` now waits for `b` and `c`",
      d: "`d`, which is next, is gone",
    },
  ],
  [
    "d may also choose another node",
    () => changed({ z: node("z") }, replace(3, ["d", () => ["e", "z"].slice(0, 1)])),
    all(fits),
  ],
  [
    "d is always followed by e",
    () => changed({}, replace(3, ["d", "e"])),
    from("e", "`d`, which has run, is now always followed by `e`"),
  ],
  [
    "b and e reordered",
    () =>
      changed({}, () => [
        [START, "a"],
        ["a", ["e", "c"]],
        [["e", "c"], "d"],
        ["d", () => "b"],
        ["b", "sub"],
      ]),
    from("b", "`a`, which has run, is no longer followed by `b`"),
  ],
  [
    "s1, in the subgraph, renamed",
    () => changed({ sub: subgraph("t1", "s2") }, (edges) => edges),
    from("s2", "`sub:s1`, which has run, is gone; `sub:t1` is new"),
  ],
  [
    "s2, in the subgraph, renamed",
    () => changed({ sub: subgraph("s1", "t2") }, (edges) => edges),
    from("s2", "`sub:s2`, which is next, is gone; `sub:t2` is new"),
  ],
  [
    "a node in place of the subgraph",
    () => changed({ sub: node("sub") }, (edges) => edges),
    from("s2", "the kind of `sub`, which is next, changed from subgraph to none"),
  ],
];

describe.each(kinds.filter((kind) => kind !== "jsonl"))("%s", (kind) => {
  function open(target = place(kind)) {
    return closing(new Checkpointer<State>(target));
  }

  function make(checkpointer: Checkpointer<State>, shape: Shape, more: Partial<Config> = {}) {
    return new Graph<State, string>({ ...shape, reducer, checkpointer, name: "order", ...more });
  }

  /** Runs the first version until a node fails or asks. */
  async function stopped(checkpointer: Checkpointer<State>, at: Place, more: Partial<Config> = {}): Promise<string> {
    const threadId = `stopped at ${at}`;
    const graph = make(checkpointer, first(), { version: "1", ...more });
    failing = at;
    const run = graph.invoke({ trace: [] }, { threadId });
    if (at === "a" || at === "b") await expect(run).rejects.toThrow(`${at} failed`);
    else expect((await run).status).toBe("interrupted");
    if (at === "e" || at === "s2")
      await expect(graph.resume(threadId, { resume: "yes" })).rejects.toThrow(`${at} failed`);
    if (at === "end") await graph.resume(threadId, { resume: "yes" });
    failing = undefined;
    return threadId;
  }

  it.each(table)("%s", async (_, shape, says) => {
    const checkpointer = open();
    for (const at of places) {
      const threadId = await stopped(checkpointer, at);
      const next = make(checkpointer, shape(), { version: "2" });
      const before = await checkpointer.list(threadId);
      const resumed = async (graph: Graph<State, string>) => {
        const result = await graph.resume(threadId, at === "d" ? { resume: "yes" } : {});
        return result.status === "interrupted" ? graph.resume(threadId, { resume: "yes" }) : result;
      };
      if (says[at] === fits) {
        expect((await resumed(next)).status, threadId).toBe("done");
        const { threads } = await checkpointer.threads();
        expect(threads.find((thread) => thread.threadId === threadId)!.status, threadId).toBe("finished");
        continue;
      }
      for (const attempt of [
        () => next.resume(threadId, { resume: "yes" }),
        () => next.resumeFrom(threadId, before.findLast(({ namespace }) => namespace.length === 0)!.checkpointId),
        () => next.invoke(null, { threadId }),
      ]) {
        const error = await attempt().catch((thrown: unknown) => thrown);
        expect(error, threadId).toMatchObject({ code: "CONFLICT" });
        const { message } = error as Error;
        expect(message).toContain(`thread "${threadId}" was made by version "1" of graph "order"`);
        expect(message).toContain('does not fit version "2": ');
        expect(message).toContain(says[at]);
        expect(message).toContain("force: true");
      }
      expect(await checkpointer.list(threadId), threadId).toEqual(before);
      // The version that made the thread still continues it.
      const { state } = await resumed(make(checkpointer, first(), { version: "1" }));
      expect(state.trace, threadId).toEqual(["a", "b", "c", "d yes", "e", "s2"]);
    }
  });

  it("force continues on this version", async () => {
    const checkpointer = open();
    const threadId = await stopped(checkpointer, "e");
    const shape = changed({ d: undefined }, (edges) => [...edges.slice(0, 2), [["b", "c"], "e"], edges[4]]);
    const next = make(checkpointer, shape);
    await expect(next.resume(threadId)).rejects.toMatchObject({ code: "CONFLICT" });
    const { state } = await next.resume(threadId, {}, { force: true });
    expect(state.trace).toEqual(["a", "b", "c", "d yes", "e", "s2"]);
  });

  it("a thread that was forced fits the version that continued it", async () => {
    const checkpointer = open();
    const threadId = await stopped(checkpointer, "d");
    const shape = renamed("b", "b2");
    failing = "e";
    const next = make(checkpointer, shape, { version: "2" });
    await expect(next.resume(threadId, { resume: "yes" }, { force: true })).rejects.toThrow("e failed");
    failing = undefined;
    // The third version differs behind the place where the thread is.
    const third = make(checkpointer, { ...shape, nodes: { ...shape.nodes, z: node("z") } }, { version: "3" });
    expect((await third.resume(threadId)).status).toBe("done");
  });

  it("an older checkpoint, an update and a fork keep the version", async () => {
    const checkpointer = open();
    const threadId = await stopped(checkpointer, "e");
    const next = make(
      checkpointer,
      changed({ d: undefined, d2: node("d2") }, (edges) => [
        ...edges.slice(0, 2),
        [["b", "c"], "d2"],
        ["d2", "e"],
        edges[4],
      ]),
    );
    const own = (await checkpointer.list(threadId)).filter(({ namespace }) => namespace.length === 0);
    const ids = Object.fromEntries(own.map(({ nextNodes, checkpointId }) => [nextNodes.join(), checkpointId]));
    await expect(next.resumeFrom(threadId, ids["d"]!)).rejects.toThrow("`d`, which is next, is gone; `d2` is new");
    await expect(next.resumeFrom(threadId, ids["b,c"]!)).rejects.toThrow("`d` no longer waits for `b` and `c`");
    await next.updateState(threadId, "updated");
    await expect(next.resume(threadId)).rejects.toThrow("`d`, which has run, is gone");
    await next.forkState(threadId, null, "fork");
    await expect(next.resume("fork")).rejects.toThrow("`d`, which has run, is gone");
    // A checkpoint before the change fits.
    await next.forkState(threadId, ids["a"]!, "early");
    expect((await next.resume("early")).state.trace).toEqual(["a", "b", "c", "d2", "e", "s2"]);
    // A new input begins the thread again.
    expect((await next.invoke({ trace: [] }, { threadId })).status).toBe("done");
  });

  it("a barrier of which no node has run may wait for others", async () => {
    const checkpointer = open();
    const threadId = await stopped(checkpointer, "a");
    const next = make(checkpointer, renamed("c", "c2"));
    await next.resume(threadId);
    expect((await next.resume(threadId, { resume: "yes" })).state.trace).toEqual(["a", "b", "c2", "d yes", "e", "s2"]);
  });

  it("knows the nodes that ran before the only checkpoint of a run, and the targets of a Send", async () => {
    const checkpointer = open();
    const threadId = await stopped(checkpointer, "d", { durability: "exit" });
    const without = changed({ a: undefined }, (edges) => [[START, ["b", "c"]], ...edges.slice(2)]);
    await expect(make(checkpointer, without).resume(threadId, { resume: "yes" })).rejects.toThrow(
      "`a`, which has run, is gone",
    );

    const fan = (target: string) =>
      new Graph<State, string>({
        nodes: { a: () => "a", [target]: node(target) },
        edges: [...path(START, "a"), ["a", () => [new Send(target, 1), new Send(target, 2)]]],
        reducer,
        checkpointer,
      });
    failing = "t";
    await expect(fan("t").invoke({ trace: [] }, { threadId: "fan" })).rejects.toThrow("t failed");
    failing = undefined;
    await expect(fan("u").resume("fan")).rejects.toThrow("`t`, which is next, is gone; `u` is new");
  });

  it("a graph of another store's checkpointer keeps today's check", async () => {
    const own = open();
    const foreign = {
      put: own.put.bind(own),
      get: own.get.bind(own),
      getTuple: own.getTuple.bind(own),
      putWrites: own.putWrites.bind(own),
    };
    const make = (name: string) =>
      new Graph<State, string>({
        nodes: { a: node("a"), [name]: node(name) },
        edges: path(START, "a", name),
        reducer,
        checkpointer: foreign,
      });
    failing = "b";
    await expect(make("b").invoke({ trace: [] }, { threadId: "t" })).rejects.toThrow("b failed");
    failing = undefined;
    await expect(make("b2").resume("t")).rejects.toThrow(/continues with node "b", which the graph no longer has/);
    expect(Object.keys((await own.list("t"))[0]!.metadata)).toEqual(["source", "step", "graph", "createdAt"]);
  });
});
