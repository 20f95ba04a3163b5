// The counter of Agentium's "Workflow Time Travel": run it, list its checkpoints, replay it, fork it.
import assert from "node:assert/strict";
// In your project: from "forkpoint/agentium"
import { ForkpointStorage, StorageBackedCheckpointStore, Workflow } from "forkpoint/agentium";

// This example uses the store from Agentium's document, over a driver that stores its values on disk. The other
// examples use WorkflowCheckpointStore instead of this store and its driver. WorkflowCheckpointStore does in one
// transaction what this store does in several calls of its driver.
const storage = new ForkpointStorage("workflow.db");
const store = new StorageBackedCheckpointStore(storage, { keepLastN: 50 });

const wf = new Workflow({
  name: "counter",
  initialState: { count: 0, log: [] },
  checkpointStore: store,
  steps: [
    {
      name: "increment-once",
      run: async (state) => ({ ...state, count: state.count + 1, log: [...state.log, "+1"] }),
    },
    {
      name: "increment-twice",
      run: async (state) => ({ ...state, count: state.count + 2, log: [...state.log, "+2"] }),
    },
    {
      name: "finalize",
      run: async (state) => ({ ...state, log: [...state.log, `total=${state.count}`] }),
    },
  ],
});

const initial = await wf.runWithCheckpoints();
console.log(`run: count ${initial.state.count}`);
assert.equal(initial.state.count, 3);

const checkpoints = await wf.listCheckpoints(initial.runId);
for (const c of checkpoints) {
  console.log(`#${c.stepIndex}: ${c.stepName}  state=${JSON.stringify(c.state)}`);
}
assert.deepEqual(
  checkpoints.map(({ id }) => id),
  ["initial", "step-1", "step-2", "step-3"].map((place) => `${initial.runId}:${place}`),
);
assert.equal(checkpoints[0].stepIndex, -1);
assert.deepEqual(checkpoints[0].state, { count: 0, log: [] });

const replayed = await wf.replay(checkpoints[0].id);
console.log(`replay: count ${replayed.state.count}`);
assert.equal(replayed.runId, initial.runId);
assert.deepEqual(replayed.state, initial.state);

const beforeFork = await wf.listCheckpoints(initial.runId);
const forked = await wf.fork(checkpoints[0].id, (state) => ({ ...state, count: 100 }));
console.log(`fork: count ${forked.state.count}`);
assert.notEqual(forked.runId, initial.runId);
assert.equal(forked.state.count, 103);

const ours = await wf.listCheckpoints(initial.runId);
const theirs = await wf.listCheckpoints(forked.runId);
assert.deepEqual(ours, beforeFork);
assert.equal(new Set([...ours, ...theirs].map(({ id }) => id)).size, 8);
console.log(`parent: ${ours.map(({ state }) => state.count).join(" ")}`);
console.log(`forked: ${theirs.map(({ state }) => state.count).join(" ")}`);
assert.deepEqual(
  theirs.map(({ state }) => state.count),
  [100, 101, 103, 103],
);

await store.close();
await storage.close();
