// The rows of a waterfall and the graph of a run, without a browser: what is drawn of the checkpoints of a run.
import { CheckpointStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import {
  type CheckpointInfo,
  type EffectInfo,
  graphMermaid,
  graphOf,
  graphText,
  openInspector,
  timeOf,
  waterfallOf,
} from "forkpoint/inspect";
import { describe, expect, test } from "vitest";
import { opened } from "../contents.js";
import { checkpoint } from "../helpers.js";

let seq = 0;

/** A step of a thread of LangGraph that was saved at a time in ms. */
function step(id: string, savedAt: number, nodes: string[] | null, more: Partial<CheckpointInfo> = {}): CheckpointInfo {
  const { ns = "", parent = null, meta = {} } = more;
  const of = { space: "langgraph", run: "t", ns };
  return {
    ...of,
    id,
    seq: ++seq,
    step: seq,
    label: "loop",
    nodes,
    group: null,
    at: null,
    savedAt,
    bytes: { logical: 1, stored: 1 },
    chain: 0,
    ...more,
    parent: parent && { ...of, ...parent, kind: "recorded" },
    meta: { source: "loop", ...meta },
  };
}

const after = (id: string, ns = "") => ({
  parent: { space: "langgraph", run: "t", ns, id, kind: "recorded" as const },
});
const input = { source: "input" };

const shown = (rows: ReturnType<typeof waterfallOf>) =>
  rows.map(
    ({ kind, name, depth, from, to, waited }) =>
      `${"  ".repeat(depth)}${kind} ${name} ${from}-${to}${waited ? " waited" : ""}`,
  );

describe("the waterfall", () => {
  test("steps last from the save of their parent; parallel nodes are inside", () => {
    const steps = [
      step("i", 0, null, { meta: input, label: "input" }),
      step("a", 100, ["plan"], after("i")),
      step("b", 400, ["read", "read", "write"], after("a")),
    ];
    const rows = waterfallOf({ steps: steps.toReversed(), status: "finished" });
    expect(shown(rows)).toEqual([
      "step input 0-0",
      "step plan 0-100",
      "step read x2, write 100-400",
      "  task read 100-400",
      "  task read 100-400",
      "  task write 100-400",
    ]);
    expect(timeOf(rows)).toEqual({ work: 400, waited: 0 });
  });

  test("the time before the next input, and of a question, is no work", () => {
    const steps = [
      step("i", 0, null, { meta: input, label: "input" }),
      step("a", 100, ["agent"], after("i")),
      step("j", 60_100, null, { ...after("a"), meta: input, label: "input" }),
      step("b", 60_200, ["agent"], after("j")),
      step("c", 99_200, ["refund"], after("b")),
    ];
    const rows = waterfallOf({ steps, pauses: ["b"], status: "waiting" });
    expect(shown(rows)).toEqual([
      "step input 0-0",
      "step agent 0-100",
      "wait null 100-60100 waited",
      "step input 60100-60100",
      "step agent 60100-60200",
      "step refund 60200-99200 waited",
      "wait null 99200-null waited",
    ]);
    expect(timeOf(rows)).toEqual({ work: 200, waited: 99_000 });
  });

  test("a later branch has no time of its own, and a clock that went back makes no negative time", () => {
    const steps = [
      step("a", 100, ["a"]),
      step("b", 200, ["b"], after("a")),
      step("c", 300, ["c"], after("b")),
      step("d", 9_000, ["b"], after("a")),
      step("e", 8_000, ["c"], after("d")),
    ];
    expect(shown(waterfallOf({ steps }))).toEqual([
      "step a 100-100",
      "step b 100-200",
      "step c 200-300",
      "step b 300-9000 waited",
      "step c 8000-8000",
    ]);
  });

  test("subgraphs are in the step, and in the task, in which they ran; effects are marks", () => {
    const root = { "": "i" };
    const inner = { ...root, "research:1": "s2" };
    const subgraphs = [
      step("s1", 110, null, { ns: "research:1", meta: { source: "input", parents: root } }),
      step("s2", 150, ["find"], { ns: "research:1", meta: { parents: root }, ...after("s1", "research:1") }),
      step("t1", 160, ["x"], { ns: "research:1|deep:2", meta: { parents: inner } }),
      step("s3", 190, ["sum"], { ns: "research:1", meta: { parents: root }, ...after("s2", "research:1") }),
    ];
    const steps = [
      step("i", 100, null, { meta: input, label: "input", seq: 0 }),
      step("a", 200, ["research", "other"], after("i")),
    ];
    const late = step("u1", 250, ["find"], { ns: "research:9", meta: { parents: { "": "a" } } });
    const effect = (
      key: string,
      checkpointId: string | null,
      startedAt: number,
      endedAt: number | null,
    ): EffectInfo => ({
      space: "langgraph",
      run: "t",
      ns: "",
      key,
      branch: 0,
      state: endedAt === null ? "running" : "done",
      idempotencyKey: "",
      attempts: 1,
      holder: "",
      startedAt,
      endedAt,
      error: null,
      checkpointId,
    });
    const effects = [effect("pay", "i", 120, 130), effect("mail", "a", 230, null), effect("early", null, 50, 60)];
    expect(shown(waterfallOf({ steps, subgraphs: [...subgraphs, late], effects }))).toEqual([
      "step input 100-100",
      "  effect early 50-60",
      "step research, other 100-200",
      "  task research 100-200",
      "    subgraph research 110-190",
      "      step loop 110-110",
      "      step find 110-150",
      "      step sum 150-190",
      "        subgraph deep 160-160",
      "          step x 160-160",
      "  task other 100-200",
      "  effect pay 120-130",
      "subgraph research 250-250",
      "  step find 250-250",
      "effect mail 230-null",
    ]);
  });

  test("nothing, unknown nodes, and 10,000 steps", () => {
    expect(waterfallOf({ steps: [] })).toEqual([]);
    expect(shown(waterfallOf({ steps: [step("a", 5, null, { label: null })] }))).toEqual(["step null 5-5"]);
    const steps = Array.from({ length: 10_000 }, (_, n) =>
      step(`s${n}`, n * 10, ["node"], n === 0 ? {} : after(`s${n - 1}`)),
    );
    const began = performance.now();
    const rows = waterfallOf({ steps });
    console.log(`10,000 rows of a waterfall: ${(performance.now() - began).toFixed(0)} ms`);
    expect(rows).toHaveLength(10_000);
    expect(timeOf(rows)).toEqual({ work: 99_990, waited: 0 });
  });
});

describe("the graph", () => {
  const steps = () => [
    step("i", 0, null, { meta: input, label: "input" }),
    step("z", 1, ["__start__"], after("i")),
    step("a", 2, ["plan"], after("z")),
    step("b", 3, ["read", "read", "read"], after("a")),
    step("c", 4, ["join"], after("b")),
    step("d", 5, ["plan"], after("c")),
  ];

  test("counts the transitions, each parallel node once", () => {
    const graph = graphOf({ steps: steps(), status: "failed", next: ["read"] });
    expect(graphText(graph)).toEqual([
      "start -> plan",
      "plan -> read x3",
      "read -> join",
      "join -> plan",
      "failed: read",
    ]);
    expect(graph.source).toBe("run");
    expect(graph.nodes.map(({ name, kind, runs, state }) => [name, kind, runs, state])).toEqual([
      ["__start__", "start", 0, "done"],
      ["plan", "node", 2, "done"],
      ["read", "node", 3, "failed"],
      ["join", "node", 1, "done"],
    ]);
  });

  test("a second input begins again, and a finished run leads to the end", () => {
    const chat = [
      ...steps(),
      step("j", 6, null, { ...after("d"), meta: input, label: "input" }),
      step("k", 7, ["plan"], after("j")),
    ];
    expect(graphText(graphOf({ steps: chat, status: "finished" }))).toEqual([
      "start -> plan x2",
      "plan -> read x3",
      "read -> join",
      "join -> plan",
      "plan -> end x2",
    ]);
  });

  test("the program's own nodes and edges are there, and parallel branches follow only its edges", () => {
    const program = {
      nodes: ["plan", "left", "right", "never"],
      edges: [
        { from: "__START__", to: "plan", conditional: false },
        { from: "plan", to: "left", conditional: false },
        { from: "plan", to: "right", conditional: false },
        { from: "plan", to: "never", conditional: true },
        { from: "left", to: "end-of-all", conditional: false },
      ],
    };
    const parallel = [step("a", 1, ["plan"]), step("b", 2, ["left"], after("a")), step("c", 3, ["right"], after("b"))];
    const graph = graphOf({ steps: parallel, status: "waiting", next: null, program });
    expect(graphText(graph)).toEqual([
      "start -> plan",
      "plan -> left",
      "plan -> right",
      "plan -> never (not taken)",
      "left -> end (not taken)",
      "waiting: right",
    ]);
    expect(graph.source).toBe("program");
    expect(graph.nodes.find(({ name }) => name === "never")?.state).toBe("idle");
    // Without steps, the program alone is shown.
    expect(graphOf({ steps: [], program }).nodes).toHaveLength(6);
    expect(graphOf({ steps: [] })).toEqual({ nodes: [], edges: [], source: "run" });
  });

  test("as Mermaid, with names that could end a text", () => {
    const hostile = 'a"] --> b\n<script>';
    const graph = graphOf({
      steps: [step("a", 1, [hostile]), step("b", 2, ["b"], after("a"))],
      status: "waiting",
      next: ["b"],
    });
    const lines = graphMermaid(graph);
    expect(lines).toEqual([
      "flowchart TD",
      '  n0(["start"])',
      '  n1["a#34;#93; --#62; b#10;#60;script#62;"]',
      '  n2["b"]',
      "  n0 --> n1",
      "  n1 --> n2",
      "  classDef waiting stroke-width:3px",
      "  class n2 waiting",
    ]);
  });
});

describe("Inspector.course", () => {
  test("reads steps, program and status of a run; null for none", async () => {
    const store = await opened("memory:");
    const workflows = new WorkflowCheckpointStore<{ n: number }>(store);
    for (const [n, stepName] of ["book", "pay"].entries()) {
      await workflows.save({ id: `t-${n}`, runId: "t", stepIndex: n, stepName, state: { n }, createdAt: n });
    }
    await new CheckpointStore(store).save(checkpoint({ id: "o", runId: "other" }));
    await using inspector = await openInspector(store);
    const course = await inspector.course({ space: "agentium", run: "t" });
    expect(course?.steps.map(({ nodes }) => nodes)).toEqual([["book"], ["pay"]]);
    expect(graphText(graphOf(course!)).slice(0, 2)).toEqual(["start -> book", "book -> pay"]);
    expect((await inspector.course({ space: "agentium", run: "t" }, { limit: 1 }))?.steps.map(({ id }) => id)).toEqual([
      "t-1",
    ]);
    expect(await inspector.course({ space: "agentium", run: "none" })).toBeNull();
    await expect(inspector.course({ space: "agentium", run: "t" }, { limit: 0 })).rejects.toThrow("limit");
  });
});
