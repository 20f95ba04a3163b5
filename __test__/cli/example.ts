/** The database of the examples in docs/cli-reference.md. */
import { type Checkpoint, CheckpointStore, openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";

const nodes = ["classify", "research", "draft", "review", "send"];

const facts = [
  "The question is about a delivery.",
  "The order left the warehouse.",
  "The reply is polite.",
  "A person agreed.",
];

/** Makes the runs of a support agent: a finished run, an interrupted one, and one whose node has failed. */
export async function makeExample(path: string): Promise<void> {
  const store = await openStore(path);
  const graphs = new CheckpointStore(store);
  for (const [runId, graphId, steps] of [
    ["support-1183", "support", 5],
    ["support-1184", "support", 3],
    ["billing-7", "billing", 2],
  ] as const) {
    for (let n = 0; n < steps; n++) await graphs.save(step(runId, graphId, n));
  }
  const workflows = new WorkflowCheckpointStore<object>(store);
  for (const [n, stepName] of ["load", "parse", "check"].entries()) {
    await workflows.save({ id: `import-${n}`, runId: "import", stepIndex: n, stepName, state: { n }, createdAt: n });
  }
  await store.close();
}

function step(runId: string, graphId: string, n: number): Checkpoint {
  const scratch = {
    confidence: Number((0.4 + n / 10).toFixed(1)),
    reply: n < 2 ? null : `Your order arrives in ${n} days.`,
    facts: facts.slice(0, n),
  };
  const failed = graphId === "billing" && n === 1;
  const result = () => ({ effectClass: "read" as const, output: { ok: !failed }, durationMs: 12 });
  return {
    id: `${runId}-${n}`,
    runId,
    graphId,
    nodeId: nodes[n]!,
    timestamp: n,
    state: { input: { question: "Where is my order?" }, scratch, artifacts: {}, diagnostics: {} } as never,
    nodeResults: Object.fromEntries(nodes.slice(0, n + 1).map((node) => [node, result()])),
    visitedNodes: nodes.slice(0, failed ? n : n + 1),
    pendingEdges: n < 4 ? [`${nodes[n]}->${nodes[n + 1]}`] : [],
  };
}
