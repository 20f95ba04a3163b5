// Rollback: a step had a bug and spoiled the state of a finished run. The run goes back to the last good checkpoint. It
// then continues with the repaired workflow, under the same runId.
import assert from "node:assert/strict";
// In your project: from "forkpoint/agentium"
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";

const store = new WorkflowCheckpointStore("workflow.db");
let loads = 0;
const load = {
  name: "load",
  run: async () => {
    loads += 1;
    return { prices: [20, 60], discount: "15%" };
  },
};
const add = { name: "add", run: async ({ prices }) => ({ total: prices[0] + prices[1] }) };
const bill = { name: "bill", run: async ({ total }) => ({ text: `to pay: ${total}` }) };

const config = { name: "invoice", initialState: { total: 0 }, checkpointStore: store };
const broken = new Workflow({
  ...config,
  steps: [
    load,
    add,
    // Number("15%") is NaN.
    { name: "discount", run: async (s) => ({ total: s.total * (1 - Number(s.discount) / 100) }) },
    bill,
    { name: "remind", run: async ({ text }) => ({ reminder: `once more, ${text}` }) },
  ],
});

const runId = "invoice-42";
const bad = await broken.runWithCheckpoints({ runId });
console.log(`spoiled: ${bad.state.reminder}`);
assert.ok(Number.isNaN(bad.state.total));

const cps = await broken.listCheckpoints(runId);
const good = cps.findLast(({ state }) => !Number.isNaN(state.total));
console.log(`last good: ${good.stepName}, total ${good.state.total}`);
assert.equal(good.id, "invoice-42:step-2");

// The steps after the checkpoint may change: here one step is repaired, one has a new name, and one is gone.
const repaired = new Workflow({
  ...config,
  steps: [
    load,
    add,
    { name: "discount", run: async (s) => ({ total: s.total * (1 - Number.parseFloat(s.discount) / 100) }) },
    { ...bill, name: "invoice" },
  ],
});
const out = await repaired.replay(good.id);
console.log(`repaired: ${out.state.text}`);
assert.equal(out.runId, runId);
assert.equal(out.state.text, "to pay: 68");
assert.equal(loads, 1);

const chain = await repaired.listCheckpoints(runId);
for (const { id, stepName, state } of chain) console.log(`${id}: ${stepName}, total ${state.total}`);
assert.deepEqual(
  chain.map(({ id, stepIndex, stepName }) => [id, stepIndex, stepName]),
  [
    ["invoice-42:initial", -1, "initial"],
    ["invoice-42:step-1", 0, "load"],
    ["invoice-42:step-2", 1, "add"],
    ["invoice-42:step-3", 2, "discount"],
    ["invoice-42:step-4", 3, "invoice"],
  ],
);
// The checkpoints up to the good one are still those of the first execution. The later checkpoints of the first
// execution were replaced.
assert.deepEqual(chain.slice(0, 3), cps.slice(0, 3));
assert.ok(chain.every(({ state }) => !Number.isNaN(state.total) && !("reminder" in state)));
assert.equal(await store.load("invoice-42:step-5"), null);
assert.deepEqual(await store.latest(runId), chain.at(-1));
console.log("nothing stale is left");

await store.close();
