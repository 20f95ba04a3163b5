// Tests for restarts. After a restart the old ids are unknown, because every compile gives a graph a new id and the run
// ids were only in memory.
import type { CheckpointStore, RunsPage } from "forkpoint";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { workflow, mission } from "./framework.js";
import { Tools, chain, failing, folder, open, tool, watch } from "./harness.js";

afterEach(() => {
  vi.restoreAllMocks();
});

const invoice = (checkpointStore: CheckpointStore, { deps }: Tools, name = "invoice") =>
  workflow(name)
    .input({})
    .returns({})
    .step("draft", { tool: "draft", effectClass: "external" })
    .then("check", { tool: "check", effectClass: "read" })
    .then("send", { tool: "send", effectClass: "external" })
    .compile({ checkpointStore, deps });

const research = (checkpointStore: CheckpointStore, { deps }: Tools) =>
  mission("research")
    .input({})
    .returns({})
    .goal("find out")
    .planner({
      strategy: "linear",
      maxSteps: 1,
      plan: { steps: [{ id: "search", action: "tool_call", toolName: "search", description: "", phase: "gather" }] },
    })
    .anchor("answer", tool("answer", "read"), { required: true, phase: "deliver" })
    .compile({ checkpointStore, deps });

/**
 * Replaces the clock with one that advances by a minute at each reading. Graph ids contain the time, so they differ as
 * after a restart.
 */
function clock(): void {
  let time = 1_700_000_000_000;
  vi.spyOn(Date, "now").mockImplementation(() => (time += 60_000));
}

it("`runs` finds the interrupted run by its graph's name, and a newly compiled graph resumes it", async () => {
  clock();
  const path = join(folder(), "agent.db");
  const first = open(path);
  const old = invoice(first, new Tools({ check: failing(1, "") }));
  await watch(invoice(first, new Tools(), "reminder").stream({}));
  const { runId } = await watch(old.stream({ customer: 7 }));
  await watch(invoice(first, new Tools(), "reminder").stream({}));
  await first.close();

  const store = open(path);
  const tools = new Tools();
  const graph = invoice(store, tools);
  expect(graph.toIR().id).not.toBe(old.toIR().id);
  expect(await store.list(graph.toIR().id)).toEqual([]);

  const { runs, cursor } = await store.runs({ graphIdPrefix: "graph-invoice-" });
  expect(cursor).toBeNull();
  expect(runs).toEqual([
    {
      runId,
      graphId: old.toIR().id,
      checkpoints: 2,
      latest: expect.objectContaining({ runId, graphId: old.toIR().id, nodeId: "check" }),
      status: "failed",
      forkedFrom: null,
      version: null,
      lease: null,
    },
  ]);
  expect(await graph.resume(runs[0]!.runId)).toEqual({ draft: "draft!", check: "check!", send: "send!" });
  expect(tools.calls).toEqual(["check", "send"]);
});

it("tells finished runs from interrupted ones by what their newest checkpoint has visited", async () => {
  clock();
  const store = open("memory:");
  await watch(invoice(store, new Tools()).stream({}));
  const interrupted = await watch(invoice(store, new Tools({ check: failing(1, "") })).stream({}));
  await watch(invoice(store, new Tools()).stream({}));
  const { runs } = await store.runs({ graphIdPrefix: "graph-invoice-" });
  const unfinished: string[] = [];
  for (const { runId, latest } of runs) {
    if (!(await store.get(latest.id))!.visitedNodes.includes("send")) unfinished.push(runId);
  }
  expect(runs).toHaveLength(3);
  expect(unfinished).toEqual([interrupted.runId]);
});

it("a mission, which is compiled anew at every call, is found and resumed as well", async () => {
  clock();
  const path = join(folder(), "agent.db");
  const first = open(path);
  const { runId } = await watch(research(first, new Tools({ answer: failing(1, "") })).stream({}));
  await first.close();

  const store = open(path);
  const tools = new Tools();
  const { runs } = await store.runs({ graphIdPrefix: "graph-research-" });
  expect(runs).toMatchObject([{ runId, checkpoints: 2 }]);
  expect(await research(store, tools).resume(runId)).toEqual({ search: "search!", answer: "answer!" });
  expect(tools.calls).toEqual(["answer"]);
});

it("an AgentGraph has no name of its own: its runs are those of `graph-agent-graph-`", async () => {
  clock();
  const store = open("memory:");
  const graph = chain({ a: tool("a", "pure") });
  const runIds: string[] = [];
  for (let i = 0; i < 5; i++) {
    runIds.push((await watch(graph.compile({ checkpointStore: store, deps: new Tools().deps }).stream({}))).runId);
  }
  await watch(invoice(store, new Tools()).stream({}));
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const options = { graphIdPrefix: "graph-agent-graph-", limit: 2, cursor };
    const page: RunsPage = await store.runs(options);
    found.push(...page.runs.map(({ runId }) => runId));
    cursor = page.cursor;
  } while (cursor !== null);
  expect(found).toEqual(runIds.toReversed());
});

it("a forked run is found by its graph, too", async () => {
  clock();
  const store = open("memory:");
  const tools = new Tools();
  const run = await watch(invoice(store, tools).stream({}));
  const forked = await store.fork(run.saved[0]!.checkpointId, { artifacts: { draft: "another" } });
  const { runs } = await store.runs({ graphIdPrefix: "graph-invoice-" });
  expect(runs.map(({ runId }) => runId)).toEqual([forked, run.runId]);
  expect(await invoice(store, tools).resume(forked)).toMatchObject({ draft: "another", send: "send!" });
});

it("a run that was resumed to its end looks interrupted still; a save of one's own settles it", async () => {
  clock();
  const store = open("memory:");
  const { runId } = await watch(invoice(store, new Tools({ check: failing(1, "") })).stream({}));
  const tools = new Tools();
  const graph = invoice(store, tools);
  await graph.resume(runId);
  await graph.resume(runId);
  // `send` runs twice. AgentOS saves nothing in a resumed run, so the store does not know that the run ended.
  expect(tools.calls).toEqual(["check", "send", "check", "send"]);

  const artifacts = await graph.resume(runId);
  const last = (await store.latest(runId))!;
  const visitedNodes = graph.toIR().nodes.map(({ id }) => id);
  await store.save({ ...last, id: "the end", nodeId: "send", state: { ...last.state, artifacts }, visitedNodes });
  tools.calls.length = 0;
  expect(await graph.resume(runId)).toEqual(artifacts);
  expect(tools.calls).toEqual([]);
});
