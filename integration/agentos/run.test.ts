// Tests the three ways to build a graph, with this package's store as `checkpointStore`.
import type { CheckpointStore } from "forkpoint";
import { describe, expect, it } from "vitest";
import { AgentGraph, END, START, gmiNode, humanNode, mission, toolNode, workflow } from "./framework.js";
import {
  Tools,
  backends,
  chain,
  extension,
  open,
  savedAt,
  schema,
  ticket,
  ticketTools,
  tool,
  watch,
} from "./harness.js";

/** Each builder makes the same three steps: `gather` (read), `charge` (external), `answer` (pure). */
const builders = {
  AgentGraph: (checkpointStore: CheckpointStore, { deps }: Tools) =>
    chain({
      gather: tool("gather", "read"),
      charge: tool("charge", "external"),
      answer: tool("answer", "pure"),
    }).compile({ checkpointStore, deps }),
  "workflow()": (checkpointStore: CheckpointStore, { deps }: Tools) =>
    workflow("steps")
      .input({})
      .returns({})
      .step("gather", { tool: "gather", effectClass: "read" })
      .then("charge", { tool: "charge", effectClass: "external" })
      .then("answer", { tool: "answer", effectClass: "pure" })
      .compile({ checkpointStore, deps }),
  "mission()": (checkpointStore: CheckpointStore, { deps }: Tools) =>
    mission("steps")
      .input({})
      .returns({})
      .goal("charge the customer")
      .planner({
        strategy: "linear",
        maxSteps: 3,
        plan: { steps: [{ id: "charge", action: "tool_call", toolName: "charge", description: "", phase: "process" }] },
      })
      .anchor("gather", tool("gather", "read"), { required: true, phase: "gather" })
      .anchor("answer", tool("answer", "pure"), { required: true, phase: "deliver" })
      .compile({ checkpointStore, deps }),
};

const output = { gather: "gather!", charge: "charge!", answer: "answer!" };

describe.each(backends)("on %s", (_backend, target) => {
  describe.each(Object.entries(builders))("%s", (_name, compile) => {
    it("runs with this store and saves a checkpoint after every node", async () => {
      const store = open(target());
      const graph = compile(store, new Tools());
      const run = await watch(graph.stream({ customer: 7 }));
      expect(run.output).toEqual(output);
      expect(run.saved.map(({ nodeId }) => nodeId)).toEqual(["gather", "charge", "answer"]);
      const listed = await store.listByRun(run.runId);
      expect(listed.map(({ id }) => id)).toEqual(run.saved.map(({ checkpointId }) => checkpointId).toReversed());
      expect(await store.latest(run.runId)).toMatchObject({
        nodeId: "answer",
        visitedNodes: ["gather", "charge", "answer"],
        state: { input: { customer: 7 }, artifacts: output },
      });
    });

    it("gives events checkpoint_saved whose ids `get` finds, even while the run goes on", async () => {
      const store = open(target());
      const visited: string[][] = [];
      for await (const event of compile(store, new Tools()).stream({})) {
        if (event.type !== "checkpoint_saved") continue;
        const checkpoint = await store.get(event.checkpointId);
        expect(checkpoint).toMatchObject({ id: event.checkpointId, nodeId: event.nodeId });
        visited.push(checkpoint!.visitedNodes);
      }
      expect(visited).toEqual([["gather"], ["gather", "charge"], ["gather", "charge", "answer"]]);
    });

    it("resumes by run id and by checkpoint id, on a newly compiled graph, without a second charge", async () => {
      const store = open(target());
      const tools = new Tools();
      const run = await watch(compile(store, tools).stream({ customer: 7 }));
      const again = new Tools();
      expect(await compile(store, again).resume(savedAt(run, "charge"))).toEqual(output);
      expect(again.calls).toEqual(["answer"]);
      expect(await compile(store, again).resume(run.runId)).toEqual(output);
      expect(again.calls).toEqual(["answer"]);
      expect(tools.calls).toEqual(["gather", "charge", "answer"]);
    });
  });

  it("a checkpoint holds what was known when it was saved, though the run's own record goes on growing", async () => {
    const store = open(target());
    const run = await watch(ticket().compile({ checkpointStore: store, deps: ticketTools().deps }).stream({}));
    const nodes = ["load", "score", "file", "route", "review", "report"];
    expect(run.saved.map(({ nodeId }) => nodeId)).toEqual(nodes);
    for (const [index, { checkpointId }] of run.saved.entries()) {
      const checkpoint = await store.get(checkpointId);
      expect(checkpoint?.visitedNodes).toEqual(nodes.slice(0, index + 1));
      expect(Object.keys(checkpoint!.nodeResults)).toEqual(nodes.slice(0, index + 1));
    }
  });
});

const asking = (checkpoint: "before" | "after" | "both" | "none") => toolNode("t", {}, { checkpoint });

describe("which nodes save a checkpoint", () => {
  it("none of an AgentGraph without a policy", async () => {
    const store = open("memory:");
    const graph = chain({ a: tool("a", "pure"), b: tool("b", "write") }, {}).compile({
      checkpointStore: store,
      deps: new Tools().deps,
    });
    expect(await graph.invoke({})).toEqual({ a: "a!", b: "b!" });
    expect((await store.runs()).runs).toEqual([]);
  });

  it("those that ask for it, before they run, after, or both", async () => {
    const store = open("memory:");
    const graph = chain({ w: asking("before"), x: asking("after"), y: asking("both"), z: asking("none") }, {});
    const run = await watch(graph.compile({ checkpointStore: store, deps: new Tools().deps }).stream({}));
    expect(run.saved.map(({ nodeId }) => nodeId)).toEqual(["w", "x", "y", "y"]);
    const [w, x, before, after] = await Promise.all(run.saved.map(({ checkpointId }) => store.get(checkpointId)));
    expect(w!.visitedNodes).toEqual([]);
    expect(x!.visitedNodes).toEqual(["w", "x"]);
    expect(before!.visitedNodes).toEqual(["w", "x"]);
    expect(after!.visitedNodes).toEqual(["w", "x", "y"]);
    expect((await store.load(run.runId, "y"))!.id).toBe(after!.id);
  });
});

describe("what a run puts into its state comes back", () => {
  it("values that JSON would lose", async () => {
    const store = open("memory:");
    const findings = {
      when: new Date(0),
      ids: new Set([1, 2]),
      prices: new Map([["a", 10n]]),
      vector: new Float32Array([0.5, -0]),
      nothing: undefined,
      missing: Number.NaN,
    };
    const tools = new Tools({ search: () => findings });
    const graph = chain({ search: extension("search", "external"), answer: tool("answer", "pure") });
    const run = await watch(graph.compile({ checkpointStore: store, deps: tools.deps }).stream({ asked: new Date(1) }));
    const checkpoint = await store.latest(run.runId);
    expect(checkpoint!.state.scratch).toStrictEqual(findings);
    expect(checkpoint!.state.input).toStrictEqual({ asked: new Date(1) });
    expect(checkpoint!.nodeResults["search"]!.output).toStrictEqual(findings);
  });

  it("a model's node and a gate's answer, as AgentOS gives them offline", async () => {
    const store = open("memory:");
    const graph = new AgentGraph(schema)
      .addNode("think", gmiNode({ instructions: "think" }, { checkpoint: "after" }))
      .addNode("gate", humanNode({ prompt: "fine?", autoAccept: true }))
      .addEdge(START, "think")
      .addEdge("think", "gate")
      .addEdge("gate", END)
      .compile({ checkpointStore: store });
    const run = await watch(graph.stream({}));
    expect((await store.latest(run.runId))!.state.artifacts).toEqual({
      think: "gmi-placeholder",
      gate: { approved: true, decidedBy: "auto-accept" },
    });
  });
});
