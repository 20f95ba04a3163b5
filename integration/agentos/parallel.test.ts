// Saves at the same time by several branches and graphs.
import { describe, expect, it } from "vitest";
import { AgentGraph, END, START, workflow } from "./framework.js";
import { type Handler, Tools, backends, everyNode, extension, failing, open, schema, tool, watch } from "./harness.js";

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
function fan(branches: string[]) {
  const graph = new AgentGraph(schema, { ...everyNode, reducers: { "scratch.total": "sum" } });
  for (const name of branches) {
    graph.addNode(name, extension(name, "external")).addEdge(START, name).addEdge(name, "join");
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
});
