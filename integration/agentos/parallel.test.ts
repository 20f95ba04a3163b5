// Tests saves at the same time by several branches, graphs, handles and processes, and the order of these saves.
import type { CheckpointStore } from "forkpoint";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Child } from "./children.js";
import { AgentGraph, END, START, workflow } from "./framework.js";
import {
  type Handler,
  Tools,
  backends,
  chain,
  everyNode,
  extension,
  failing,
  folder,
  open,
  schema,
  tool,
  watch,
} from "./harness.js";

afterEach(() => {
  vi.restoreAllMocks();
});

/** Makes a barrier. Each call returns a promise. All promises resolve after `count` calls. */
function barrier(count: number): () => Promise<void> {
  const waiting: Array<() => void> = [];
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === count) for (const go of waiting) go();
    });
}

const names = (count: number) => Array.from({ length: count }, (_, i) => `branch-${i}`);

/** Builds a graph that runs all branches at the same time and `join` after them. */
function fan(branches: string[], checkpoint: "after" | "both" = "after") {
  const graph = new AgentGraph(schema, { ...everyNode, reducers: { "scratch.total": "sum" } });
  for (const name of branches) {
    graph
      .addNode(name, { ...extension(name, "external"), checkpoint })
      .addEdge(START, name)
      .addEdge(name, "join");
  }
  return graph.addNode("join", extension("join", "pure")).addEdge("join", END);
}

describe.each(backends)("on %s", (_backend, target) => {
  it("branches of a fan-out that save in the same moment lose nothing", async () => {
    const store = open(target());
    const branches = names(24);
    const together = barrier(branches.length);
    const handlers: Record<string, Handler> = { join: ({ scratch }) => ({ keys: Object.keys(scratch!).length }) };
    for (const name of branches) handlers[name] = () => together().then(() => ({ [name]: `by ${name}` }));
    const tools = new Tools(handlers);
    const run = await watch(fan(branches).compile({ checkpointStore: store, deps: tools.deps }).stream({}));
    expect(run.output).toMatchObject({ join: { keys: branches.length } });

    expect(run.saved.map(({ nodeId }) => nodeId).toSorted()).toEqual([...branches, "join"].toSorted());
    for (const { checkpointId, nodeId } of run.saved) {
      const checkpoint = (await store.get(checkpointId))!;
      expect(checkpoint).toMatchObject({ id: checkpointId, nodeId, runId: run.runId });
      expect(checkpoint.nodeResults[nodeId]).toMatchObject({ effectClass: nodeId === "join" ? "pure" : "external" });
      // Each branch saves the state with its own scratch only, not with that of the other branches.
      if (nodeId !== "join") expect(checkpoint.state.scratch).toEqual({ [nodeId]: `by ${nodeId}` });
      expect(await store.load(run.runId, nodeId)).toEqual(checkpoint);
    }
    const latest = await store.latest(run.runId);
    expect(latest).toMatchObject({ nodeId: "join", visitedNodes: expect.arrayContaining(branches) });
  });

  it("branches that save before and after they run keep both checkpoints", async () => {
    const store = open(target());
    const branches = names(8);
    const graph = fan(branches, "both").compile({ checkpointStore: store, deps: new Tools().deps });
    const run = await watch(graph.stream({}));
    expect(await store.listByRun(run.runId)).toHaveLength(2 * branches.length + 1);
    for (const name of branches) {
      const [before, after] = run.saved.filter(({ nodeId }) => nodeId === name);
      expect((await store.get(before!.checkpointId))!.visitedNodes).not.toContain(name);
      expect((await store.load(run.runId, name))!.id).toBe(after!.checkpointId);
    }
  });

  it("when a branch fails, a resume runs it again and not the external ones that had completed", async () => {
    const store = open(target());
    const tools = new Tools({ broken: failing(1, "mended") });
    const graph = new AgentGraph(schema, everyNode);
    for (const name of ["paid", "mailed"]) graph.addNode(name, tool(name, "external"));
    graph.addNode("broken", tool("broken", "read")).addNode("join", tool("join", "pure"));
    for (const name of ["paid", "mailed", "broken"]) graph.addEdge(START, name).addEdge(name, "join");
    const compiled = graph.addEdge("join", END).compile({ checkpointStore: store, deps: tools.deps });
    const run = await watch(compiled.stream({}));
    expect(run.interrupted).toBe("broken");
    expect(await compiled.resume(run.runId)).toMatchObject({ broken: "mended", join: "join!" });
    expect(Object.fromEntries(["paid", "mailed", "broken", "join"].map((name) => [name, tools.count(name)]))).toEqual({
      paid: 1,
      mailed: 1,
      broken: 2,
      join: 1,
    });
  });

  it("a workflow's parallel() steps save too", async () => {
    const store = open(target());
    const graph = workflow("side-by-side")
      .input({})
      .returns({})
      .parallel([{ tool: "a" }, { tool: "b" }, { tool: "c" }], { strategy: "all", merge: {} })
      .then("join", { tool: "join", effectClass: "pure" })
      .compile({ checkpointStore: store, deps: new Tools().deps });
    const run = await watch(graph.stream({}));
    expect(run.saved).toHaveLength(4);
    expect((await store.listByRun(run.runId)).map(({ id }) => id).toSorted()).toEqual(
      run.saved.map(({ checkpointId }) => checkpointId).toSorted(),
    );
    expect((await store.latest(run.runId))!.visitedNodes).toHaveLength(4);
  });

  it("sixty graphs at once on one store keep their runs apart", async () => {
    const store = open(target());
    const runs = await Promise.all(
      Array.from({ length: 60 }, (_, customer) => {
        const classes = { a: "read", b: "external", c: "write", d: "pure" } as const;
        const nodes = Object.entries(classes).map(([name, effect]) => [name, tool(name, effect)]);
        const graph = chain(Object.fromEntries(nodes));
        const tools = new Tools({ b: () => `customer ${customer}` });
        return watch(graph.compile({ checkpointStore: store, deps: tools.deps }).stream({ customer }));
      }),
    );
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(60);
    for (const [customer, run] of runs.entries()) {
      const listed = await store.listByRun(run.runId);
      expect(listed.map(({ nodeId }) => nodeId)).toEqual(["d", "c", "b", "a"]);
      expect((await store.latest(run.runId))!.state).toMatchObject({
        input: { customer },
        artifacts: { b: `customer ${customer}` },
      });
    }
    const { runs: known, cursor } = await store.runs({ limit: 100 });
    expect(known.map(({ checkpoints }) => checkpoints)).toEqual(Array.from({ length: 60 }, () => 4));
    expect(cursor).toBeNull();
  });

  it("a run within one millisecond: `latest` is the last saved, and the list is in the order of saving", async () => {
    vi.spyOn(Date, "now").mockReturnValue(1_700_000_000_000);
    const store = open(target());
    const steps = Array.from({ length: 40 }, (_, i) => `step-${i}`);
    const graph = chain(Object.fromEntries(steps.map((name) => [name, tool(name, "read")])));
    const run = await watch(graph.compile({ checkpointStore: store, deps: new Tools().deps }).stream({}));
    const listed = await store.listByRun(run.runId);
    expect(new Set(listed.map(({ timestamp }) => timestamp))).toEqual(new Set([1_700_000_000_000]));
    expect(listed.map(({ nodeId }) => nodeId)).toEqual(steps.toReversed());
    expect((await store.latest(run.runId))!.nodeId).toBe("step-39");
    const newest = await store.list(listed[0]!.graphId, { limit: 3 });
    expect(newest.map(({ nodeId }) => nodeId)).toEqual(["step-39", "step-38", "step-37"]);
  });

  it("of hundreds of direct saves with one timestamp, the last called is the latest", async () => {
    const store = open(target());
    const ids = await saveTies(store, "tied", 400);
    expect((await store.latest("tied"))!.id).toBe(ids.at(-1));
    expect((await store.listByRun("tied")).map(({ id }) => id)).toEqual(ids.toReversed());
  });
});

describe("one file, several handles and processes", () => {
  it("ties keep their order over handles and reopening", async () => {
    const path = join(folder(), "agent.db");
    const [one, two] = [open(path), open(path)];
    const ids: string[] = [];
    for (let round = 0; round < 20; round++) {
      ids.push(...(await saveTies(round % 2 === 0 ? one : two, "shared", 3, `round-${round}`)));
    }
    await one.close();
    const three = open(path);
    ids.push(...(await saveTies(three, "shared", 3, "last")));
    for (const store of [two, three]) {
      expect((await store.latest("shared"))!.id).toBe("last-2");
      expect((await store.listByRun("shared")).map(({ id }) => id)).toEqual(ids.toReversed());
    }
  });

  it("two processes run graphs over the file at once, watched by a third, and all finish", async () => {
    const place = folder();
    const path = join(place, "agent.db");
    const store = open(path);
    const children = [1, 2].map((i) => new Child("run.mjs", [path, join(place, `journal-${i}`), "long", "30"]));
    const outputs = await Promise.all(children.map((child) => child.end()));
    for (const [index, child] of children.entries()) {
      const run = child.lines.find(({ event }) => event === "run")!["runId"] as string;
      const saved = child.lines.filter(({ event }) => event === "checkpoint").map(({ id }) => id);
      expect(saved).toHaveLength(30);
      expect((await store.listByRun(run)).map(({ id }) => id)).toEqual(saved.toReversed());
      expect((await store.latest(run))!.state.artifacts).toEqual(outputs[index]);
    }
    expect((await store.runs()).runs).toHaveLength(2);
  });
});

/** Saves checkpoints at the same time and with the same timestamp. Resolves to their ids in the order of the calls. */
async function saveTies(store: CheckpointStore, runId: string, count: number, prefix = "tie"): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
  await Promise.all(
    ids.map((id) =>
      store.save({
        id,
        runId,
        graphId: "graph-ties-1",
        nodeId: "only",
        timestamp: 5,
        state: {
          input: {},
          scratch: { id },
          artifacts: {},
          diagnostics: {
            totalTokensUsed: 0,
            totalDurationMs: 0,
            nodeTimings: {},
            discoveryResults: {},
            guardrailResults: {},
            checkpointsSaved: 0,
            memoryReads: 0,
            memoryWrites: 0,
          },
        },
        nodeResults: {},
        visitedNodes: [],
        pendingEdges: [],
      }),
    ),
  );
  return ids;
}
