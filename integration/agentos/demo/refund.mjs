// The graph of the demo: a request for a refund. Its tools do what real ones would, but to a file.
//
//   load ─ score ─ file ─ policy ─ draft ─ route ─┬─ review ─┬─ report
//   read  external  write   read    pure          └─ pay ────┘  pure
import { appendFileSync } from "node:fs";
import { AgentGraph, END, START, routerNode, toolNode } from "@framers/agentos/orchestration";

const outputs = {
  load: { order: "A-1047", customer: "Ann", total: 480, items: ["lamp", "desk", "chair"] },
  score: { risk: 0.92, reason: "new account, high total" },
  file: { case: "C-7" },
  policy: { reviewAbove: 0.5 },
  draft: "Dear Ann, about your order A-1047 ...",
  review: "a person looks at it",
  pay: "480 paid back",
  report: "done",
};

const tool = (name, effectClass) => toolNode(name, {}, { effectClass });

/**
 * Compiles the graph.
 *
 * @param checkpointStore where AgentOS saves after every node: this one line makes the run durable.
 * @param effects a file that gets a line for every call of a tool, so that repeated calls can be counted.
 * @param hangIn a node that never ends; `onHang` says that it has begun.
 */
export function compile(checkpointStore, { effects, hangIn, onHang }) {
  function note(node) {
    appendFileSync(effects, `${JSON.stringify({ node, process: process.pid, time: Date.now() })}\n`);
  }

  async function processToolCall({ toolCallRequest: { toolName } }) {
    if (toolName === hangIn) {
      onHang();
      await new Promise(() => setInterval(() => {}, 1_000_000));
    }
    note(toolName);
    return { success: true, output: outputs[toolName] };
  }

  const route = routerNode(({ artifacts }) => {
    note("route");
    return artifacts.score.risk > artifacts.policy.reviewAbove ? "review" : "pay";
  });

  return new AgentGraph({ input: {}, scratch: {}, artifacts: {} }, { checkpointPolicy: "every_node" })
    .addNode("load", tool("load", "read"))
    .addNode("score", tool("score", "external"))
    .addNode("file", tool("file", "write"))
    .addNode("policy", tool("policy", "read"))
    .addNode("draft", tool("draft", "pure"))
    .addNode("route", route)
    .addNode("review", tool("review", "external"))
    .addNode("pay", tool("pay", "external"))
    .addNode("report", tool("report", "pure"))
    .addEdge(START, "load")
    .addEdge("load", "score")
    .addEdge("score", "file")
    .addEdge("file", "policy")
    .addEdge("policy", "draft")
    .addEdge("draft", "route")
    .addEdge("route", "review")
    .addEdge("route", "pay")
    .addEdge("review", "report")
    .addEdge("pay", "report")
    .addEdge("report", END)
    .compile({ checkpointStore, deps: { toolOrchestrator: { processToolCall } } });
}
