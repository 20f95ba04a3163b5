// Hostile arguments of workflows and graphs: see arguments.test.ts.
import { isForkpointError } from "forkpoint";
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { Checkpointer, END, Graph } from "forkpoint/tinyagents";
import { describe, expect, test } from "vitest";
import { type Methods, variants, wrongAnswers } from "./hostile-values.js";

const policy = () => ({ maxRetries: 0, backoffMs: 0 });
const workflowConfig = () => ({
  name: "w",
  initialState: { a: 1 },
  retryPolicy: policy(),
  register: false,
  checkpointStore: new WorkflowCheckpointStore<object>("memory:"),
  steps: [
    { name: "s", run: () => ({ a: 2 }), retryPolicy: policy(), timeoutMs: 1000 },
    { name: "c", condition: () => true, steps: [{ name: "i", run: () => ({}) }] },
    { name: "p", parallel: [{ name: "q", run: () => ({}) }] },
  ],
});
const graphConfig = () => ({
  name: "g",
  nodes: { a: { run: () => ({ n: 1 }), effectClass: "pure", retry: policy(), timeoutMs: 1000 }, b: () => ({}) },
  edges: [
    ["a", "b"],
    ["b", END],
  ],
  entry: "a",
  maxSupersteps: 10,
  reducer: (state: object, update: object) => ({ ...state, ...update }),
  checkpointer: new Checkpointer("memory:"),
  durability: "sync",
  checkpoint: "every_node",
  memory: { consistency: "live" },
});

const signal = () => new AbortController().signal;

describe.each<[string, () => object, new (config: never) => object]>([
  ["Workflow", workflowConfig, Workflow as never],
  ["Graph", graphConfig, Graph as never],
])("%s", (_, config, Class) => {
  test("the constructor throws an error of this package for hostile definitions", () => {
    let [calls, refusals] = [0, 0];
    const wrong: string[] = [];
    for (const [what, value] of variants(config())) {
      calls += 1;
      try {
        void new Class(value as never);
      } catch (error) {
        refusals += 1;
        if (isForkpointError(error) && error.code === "INVALID_ARGUMENT") continue;
        wrong.push(`${what}: ${(error as Error)?.stack?.slice?.(0, 500)}`);
      }
    }
    expect(wrong, `${calls} calls`).toEqual([]);
    expect(refusals).toBeGreaterThan(50);
  });
});

const workflowCalls: Record<string, () => unknown[]> = {
  run: () => [{ runId: `r-${Math.random()}`, initialState: { a: 1 }, signal: signal() }],
  runWithCheckpoints: () => [{ runId: `r-${Math.random()}`, initialState: { a: 1 }, signal: signal() }],
  listCheckpoints: () => ["run"],
  replay: () => ["id", { signal: signal() }],
  fork: () => ["id", (state: object) => state, { runId: "other", signal: signal() }],
  stream: () => [{ runId: `r-${Math.random()}`, signal: signal() }],
};
const options = () => ({ threadId: `t-${Math.random()}`, signal: signal(), durability: "sync", runId: "r" });
const graphCalls: Record<string, () => unknown[]> = {
  invoke: () => [{ n: 0 }, options()],
  stream: () => [{ n: 0 }, options()],
  resume: () => ["t", { resume: 1 }, { signal: signal() }],
  resumeFrom: () => ["t", "latest", { resume: 1 }, { signal: signal() }],
  getState: () => ["t", "id", ["sub"]],
  getStateHistory: () => ["t", { limit: 1, namespace: ["sub"] }],
  updateState: () => ["t", { n: 1 }, "a"],
  bulkUpdateState: () => ["t", [{ update: { n: 1 }, asNode: "a" }]],
  forkState: () => ["t", "id", { n: 1 }],
};

test.each(Object.keys(workflowCalls))(
  "Workflow.%s() rejects hostile arguments with an error of this package",
  async (method) => {
    const workflow = new Workflow(workflowConfig() as never) as unknown as Methods;
    const { calls, wrong } = await wrongAnswers(workflow, method, workflowCalls[method]!, isForkpointError);
    expect(wrong, `${calls} calls`).toEqual([]);
  },
);

test.each(Object.keys(graphCalls))(
  "Graph.%s() rejects hostile arguments with an error of this package",
  async (method) => {
    const graph = new Graph(graphConfig() as never) as unknown as Methods;
    const { calls, wrong } = await wrongAnswers(graph, method, graphCalls[method]!, isForkpointError);
    expect(wrong, `${calls} calls`).toEqual([]);
  },
);
