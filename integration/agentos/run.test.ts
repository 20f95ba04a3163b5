// Tests the three ways to build a graph, with this package's store as `checkpointStore`.
import type { CheckpointStore } from "forkpoint";
import { describe, expect, it } from "vitest";
import { mission, toolNode, workflow } from "./framework.js";
import { Tools, backends, chain, open, savedAt, tool, watch } from "./harness.js";

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
      const visited: string[][] = [];
      const run = await watch(
        (async function* reading() {
          for await (const event of graph.stream({ customer: 7 })) {
            // The id is found even while the run goes on.
            if (event.type === "checkpoint_saved") visited.push((await store.get(event.checkpointId))!.visitedNodes);
            yield event;
          }
        })(),
      );
      expect(visited).toEqual([["gather"], ["gather", "charge"], ["gather", "charge", "answer"]]);
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
