// Time travel: the history of a thread, a run from an older checkpoint, a fork, and an update by hand.
import assert from "node:assert/strict";
// In your project: from "forkpoint/tinyagents"
import { Checkpointer, Graph } from "forkpoint/tinyagents";

const checkpointer = new Checkpointer("threads.db");
for (const threadId of ["invoice-1", "invoice-2"]) await checkpointer.deleteThread(threadId);
const runs = { add: 0, discount: 0, total: 0 };

const graph = new Graph({
  name: "invoice",
  checkpointer,
  nodes: {
    add: ({ items }) => {
      runs.add++;
      return { sum: items.reduce((sum, { price }) => sum + price, 0) };
    },
    discount: ({ sum, rate }) => {
      runs.discount++;
      return { sum: sum * (1 - rate) };
    },
    total: ({ sum }) => {
      runs.total++;
      return { text: `to pay: ${sum}` };
    },
  },
  entry: "add",
  edges: [
    ["add", "discount"],
    ["discount", "total"],
  ],
  reducer: (state, update) => ({ ...state, ...update }),
});

const items = [{ price: 60 }, { price: 20 }];
const first = await graph.invoke({ items, rate: 0.5 }, { threadId: "invoice-1" });
console.log(`run: ${first.state.text}`);

const history = await graph.getStateHistory("invoice-1");
for (const { metadata, values, next } of history) {
  console.log(`#${metadata.step} ${metadata.source}: sum ${values.sum ?? "-"}, next ${next.join() || "-"}`);
}
const [, , afterAdd] = history;
assert.deepEqual(afterAdd.next, ["discount"]);

// The nodes after the checkpoint run again, and nothing before it.
const again = await graph.resumeFrom("invoice-1", afterAdd.config.checkpointId, { update: { rate: 0.25 } });
console.log(`from step ${afterAdd.metadata.step} with another rate: ${again.state.text}`);
assert.deepEqual(runs, { add: 1, discount: 2, total: 2 });

// A fork is a thread of its own.
await graph.forkState("invoice-1", afterAdd.config.checkpointId, "invoice-2");
// The update counts as a run of the node "discount", so "total" comes next.
await graph.updateState("invoice-2", { sum: 1 }, "discount");
assert.deepEqual((await graph.getState("invoice-2")).next, ["total"]);
const forked = await graph.resume("invoice-2");
console.log(`fork with a sum by hand: ${forked.state.text}`);
assert.deepEqual(runs, { add: 1, discount: 2, total: 3 });
const sources = (await graph.getStateHistory("invoice-2")).map(({ metadata }) => metadata.source);
console.log(`checkpoints of the fork: ${sources.join(", ")}`);
assert.deepEqual(sources, ["loop", "update", "fork"]);

// No checkpoint has changed: the first run is still there.
for (const before of history) {
  assert.deepEqual(await graph.getState("invoice-1", before.config.checkpointId), before);
}
console.log("the first run is as it was");
await checkpointer.close();
