// A/B exploration: two runs fork after step 2 of an analysis. Each run uses its own model.
import assert from "node:assert/strict";
// In your project: from "forkpoint/agentium"
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";

const reviews = ["great", " late ", "", "broken", "great", "fine"];

/** Stand-ins for models. Each rates a review from 0 to 10. */
const models = {
  "gpt-4o-mini": () => 5,
  "gpt-4o": (review) => (review === "great" ? 9 : 4),
  "claude-sonnet-4": (review) => ({ great: 10, fine: 7, late: 3, broken: 5 })[review],
};

let loads = 0;
const store = new WorkflowCheckpointStore("workflow.db");
const wf = new Workflow({
  name: "analysis",
  initialState: { model: "gpt-4o-mini" },
  checkpointStore: store,
  steps: [
    {
      name: "load",
      run: async () => {
        loads += 1;
        return { reviews };
      },
    },
    { name: "clean", run: async (state) => ({ reviews: state.reviews.map((text) => text.trim()).filter(Boolean) }) },
    { name: "rate", run: async (state) => ({ ratings: state.reviews.map((text) => models[state.model](text)) }) },
    {
      name: "conclude",
      run: async ({ ratings }) => ({ average: ratings.reduce((sum, rating) => sum + rating, 0) / ratings.length }),
    },
  ],
});

const parent = await wf.runWithCheckpoints();
const cps = await wf.listCheckpoints(parent.runId);
assert.equal(cps[2].stepName, "clean");

const forkA = await wf.fork(cps[2].id, (s) => ({ ...s, model: "gpt-4o" }));
const forkB = await wf.fork(cps[2].id, (s) => ({ ...s, model: "claude-sonnet-4" }));

for (const { state } of [parent, forkA, forkB]) console.log(`${state.model}: ${state.average}`);
assert.equal(parent.state.average, 5);
assert.equal(forkA.state.average, 6);
assert.equal(forkB.state.average, 7);

// The three runs share the first steps, and each of these steps ran only once.
console.log(`loaded ${loads} time`);
assert.equal(loads, 1);

for (const { runId } of [forkA, forkB]) {
  const names = (await wf.listCheckpoints(runId)).map((c) => c.stepName);
  console.log(`fork: ${names.join(" -> ")}`);
  assert.deepEqual(names, ["clean", "rate", "conclude"]);
}
assert.equal(new Set([parent.runId, forkA.runId, forkB.runId]).size, 3);

assert.deepEqual(await wf.listCheckpoints(parent.runId), cps);
console.log("the parent is as it was");

await store.close();
