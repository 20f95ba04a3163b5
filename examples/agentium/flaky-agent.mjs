// A pipeline of four agents fails at the third. The replay runs only the missing steps, so you pay for no agent twice.
import assert from "node:assert/strict";
// In your project: from "forkpoint/agentium"
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";

const calls = { research: 0, draft: 0, review: 0, publish: 0 };
/** The number of the reviewer's next calls that will fail. */
let outage = Number.POSITIVE_INFINITY;

/** A stand-in for an agent that asks a model: an object with `run(input)` that answers with a text. */
function agent(name) {
  return {
    async run(input) {
      calls[name] += 1;
      if (name === "review" && outage-- > 0) throw new Error("503 from the model");
      return { text: `${name}(${input})` };
    },
  };
}

const store = new WorkflowCheckpointStore("workflow.db");
const wf = new Workflow({
  name: "article",
  initialState: { topic: "tides" },
  checkpointStore: store,
  // An agent's answer is stored in the state as <step>_output.
  steps: [
    { name: "research", agent: agent("research"), inputFrom: (state) => state.topic },
    { name: "draft", agent: agent("draft"), inputFrom: (state) => state.research_output },
    { name: "review", agent: agent("review"), inputFrom: (state) => state.draft_output },
    { name: "publish", agent: agent("publish"), inputFrom: (state) => state.review_output },
  ],
  // The workflow waits 5 ms before the first retry and 10 ms before the second.
  retryPolicy: { maxRetries: 2, backoffMs: 5 },
});

wf.events.on("workflow.step", ({ stepName, status, attempt, delayMs, error }) => {
  if (status !== "retry") return;
  console.log(`${stepName}: attempt ${attempt + 1} failed (${error.message}), again in ${delayMs} ms`);
});

const failed = await wf.runWithCheckpoints().catch((error) => error);
const { runId: badRunId, stepIndex, stepName } = failed;
console.log(`failed at step ${stepIndex + 1}, ${stepName}: ${failed.message}`);
assert.equal(failed.message, "503 from the model");
assert.deepEqual({ stepIndex, stepName }, { stepIndex: 2, stepName: "review" });
assert.deepEqual(calls, { research: 1, draft: 1, review: 3, publish: 0 });

const cps = await wf.listCheckpoints(badRunId);
console.log(`stored: ${cps.map((c) => c.stepName).join(", ")}`);
assert.deepEqual(
  cps.map((c) => c.stepName),
  ["initial", "research", "draft"],
);

// The model is back but fails once more. The retry policy handles that.
outage = 1;
const replayed = await wf.replay(cps[2].id);
console.log(`replayed: ${replayed.state.publish_output}`);
assert.equal(replayed.runId, badRunId);
assert.equal(replayed.state.publish_output, "publish(review(draft(research(tides))))");

console.log(`calls: ${JSON.stringify(calls)}`);
assert.deepEqual(calls, { research: 1, draft: 1, review: 3 + 2, publish: 1 });

await store.close();
