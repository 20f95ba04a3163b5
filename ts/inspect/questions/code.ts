/** The code that answers a question in a program of its framework. */

const text = (value: unknown): string => JSON.stringify(value) ?? "undefined";

export const codes = {
  langgraph: (run: string, id: string, answer: unknown) =>
    // An answer by its id is given to this question alone, and may be false.
    `import { Command } from "@langchain/langgraph";

const answer = ${text(answer)};
await graph.invoke(new Command({ resume: ${/^[0-9a-f]{32}$/.test(id) ? `{ ${text(id)}: answer }` : "answer"} }), {
  configurable: { thread_id: ${text(run)} },
});`,
  agentos: (run: string, node: string, answer: unknown) =>
    `import { recover } from "forkpoint/agentos";

const answer = ${text(answer)};
await recover(graph, store, {
  runs: [${text(run)}],
  onWaiting: ({ nodeId }) => (nodeId === ${text(node)} ? answer : undefined),
});`,
  tinyagents: (run: string, task: string, answer: unknown) =>
    `const answer = ${text(answer)};
await graph.resume(${text(run)}, { answers: { ${text(task)}: answer } });`,
  "openai-agents-states": (run: string, call: string) =>
    `import { RunState, run } from "@openai/agents";

const { text } = await states.take(${text(run)});
const state = await RunState.fromString(agent, text);
for (const approval of state.getInterruptions()) {
  if (approval.rawItem.callId === ${text(call)}) state.approve(approval); // or state.reject(approval)
}
const result = await run(agent, state);
await states.save(${text(run)}, result.state.toString());`,
  ai: (run: string, id: string) =>
    `// In the page of the chat ${text(run)}, which has useChat():
addToolApprovalResponse({ id: ${text(id)}, approved: true }); // or false`,
  mastra: (run: string, workflow: string, step: readonly string[]) =>
    `const run = await mastra.getWorkflow(${text(workflow)}).createRun({ runId: ${text(run)} });
await run.resume({ step: ${step.length === 1 ? text(step[0]) : text(step)}, resumeData: { approved: true } }); // as its resumeSchema says`,
};
