// The parts of a time travel UI: live progress of a run, its timeline, the state before a step, and a sandbox fork.
import assert from "node:assert/strict";
// In your project: from "forkpoint/agentium"
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";

/** The state that each step received. It is compared with the timeline below. */
const seen = {};
const step = (name, run) => ({
  name,
  run: async (state) => {
    seen[name] = structuredClone(state);
    return run(state);
  },
});

const store = new WorkflowCheckpointStore("workflow.db");
const wf = new Workflow({
  name: "support",
  initialState: { ticket: "Where is my parcel?", tone: "friendly" },
  checkpointStore: store,
  steps: [
    step("classify", () => ({ topic: "shipping" })),
    step("look-up", () => ({ facts: ["sent on Monday"] })),
    step("answer", ({ tone, facts }) => ({ answer: `${tone === "formal" ? "Dear customer" : "Hi"}: ${facts[0]}` })),
    step("close", () => ({ closed: true })),
  ],
});
const runId = "ticket-7";

const done = [];
const saved = [];
for await (const event of wf.stream({ runId })) {
  switch (event.type) {
    case "run.start":
      console.log(`${event.workflow} ${event.runId}: ${event.kind}`);
      break;
    case "workflow.step":
      console.log(`  ${event.stepName}: ${event.status}`);
      if (event.status === "done") done.push(event.stepName);
      break;
    case "checkpoint.saved":
      console.log(`  saved ${event.checkpointId}`);
      saved.push(event.checkpointId);
      break;
    case "run.complete":
      console.log(`complete: ${event.output.state.answer}`);
      break;
    case "run.error":
      console.log(`failed: ${event.error}`);
      break;
    default:
  }
}

// The timeline lists steps without their states, which may be large.
const timeline = await store.timeline(runId);
for (const { stepIndex, stepName } of timeline) console.log(`#${stepIndex} ${stepName}`);
assert.deepEqual(
  timeline.map(({ stepName }) => stepName),
  ["initial", "classify", "look-up", "answer", "close"],
);
// The live events must have named the same steps and checkpoints as the timeline.
assert.deepEqual(
  timeline.map(({ id }) => id),
  saved,
);
assert.deepEqual(done, ["classify", "look-up", "answer", "close"]);
for (const [at, entry] of timeline.entries()) {
  assert.equal(entry.stepIndex, at - 1);
  assert.ok(entry.stateSize > 0);
  assert.ok(Number.isInteger(entry.createdAt));
}

// A click on a step shows the state right before the next step ran.
const clicked = timeline.find(({ stepName }) => stepName === "look-up");
const { state } = await store.load(clicked.id);
console.log(`before answer: ${JSON.stringify(state)}`);
assert.deepEqual(state, seen.answer);
for (const [at, { id }] of timeline.slice(0, -1).entries()) {
  assert.deepEqual((await store.load(id)).state, seen[timeline[at + 1].stepName]);
}

// "Fork from here" starts a separate run in which the user can try changes.
const sandbox = await wf.fork(clicked.id, (s) => ({ ...s, tone: "formal" }));
console.log(`sandbox: ${sandbox.state.answer}`);
assert.equal(sandbox.state.answer, "Dear customer: sent on Monday");
assert.deepEqual(
  (await store.timeline(sandbox.runId)).map(({ stepIndex }) => stepIndex),
  [1, 2, 3],
);

assert.deepEqual(await store.timeline(runId), timeline);
assert.equal((await store.latest(runId)).state.answer, "Hi: sent on Monday");
const { runs } = await store.runs({ limit: 2 });
assert.deepEqual(
  runs.map((run) => run.runId),
  [sandbox.runId, runId],
);
console.log("the run itself is as it was");

await store.close();
