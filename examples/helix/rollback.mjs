// Rollback: a tool returned a wrong price. The session goes back to the step before, and continues with a repaired tool.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
// In your project: from "forkpoint/helix"
import { SessionStore } from "forkpoint/helix";
import { Stream, ask, rewind, saveCheckpoint, work } from "./agent.mjs";

const store = new SessionStore("sessions.db");
const stream = new Stream("stream.jsonl");
const sessionId = "order-3";
await store.deleteSession(sessionId);
rmSync("stream.jsonl", { force: true });

/** The function of the framework's guide, with `rewindTo` in place of the executor. */
async function rollbackToStep(targetStep) {
  const checkpoints = await store.listCheckpoints(sessionId);
  const target = checkpoints.items.find((c) => c.stepCount === targetStep);
  if (!target) throw new Error(`No checkpoint at step ${targetStep}`);
  const checkpoint = await rewind(store, stream, target.id);
  // The checkpoints of the undone steps stay. A new checkpoint is now the latest one, so that a process that recovers
  // the session does not go back to an undone step.
  await saveCheckpoint(store, stream, sessionId);
  return checkpoint;
}

await ask(store, stream, sessionId, "tea, cups");
const wrong = await work(store, stream, sessionId, ({ item }) => (item === "cups" ? 1200 : 4));
console.log(`before: ${wrong}`);
assert.equal(wrong, "Together 1204.");

await assert.rejects(rollbackToStep(99), /No checkpoint at step 99/);
const { messageCount, streamSequence } = await rollbackToStep(1);
const { status, stepCount, customState } = await store.loadState(sessionId);
console.log(`rolled back to step ${stepCount}: ${JSON.stringify(customState.cart)}`);
assert.deepEqual(
  { status, stepCount, customState },
  { status: "running", stepCount: 1, customState: { cart: { tea: 4 }, discount: 0 } },
);
assert.equal(await store.getMessageCount(sessionId), messageCount);
assert.equal(stream.sequence, streamSequence);

const right = await work(store, stream, sessionId);
console.log(`after: ${right}`);
assert.equal(right, "Together 16.");

// Nothing of the undone steps is in the session. Their checkpoints are still complete.
const { messages } = await store.getMessages(sessionId);
console.log(`messages: ${messages.map(({ content }) => content).join(" | ")}`);
assert.ok(!JSON.stringify([messages, stream.read()]).includes("1204"));
const { items } = await store.listCheckpoints(sessionId);
console.log(`checkpoints of steps: ${items.map((item) => item.stepCount).join(", ")}`);
const undone = await Promise.all(items.filter((item) => item.stepCount === 3).map(({ id }) => store.getCheckpoint(id)));
const answers = undone.map(({ state }) => state.messages.at(-1).content);
console.log(`answers of step 3: ${answers.join(" ")}`);
assert.deepEqual(answers, [right, wrong]);

await store.close();
