// What-if: a new session begins at a checkpoint of another session, with another discount.
import assert from "node:assert/strict";
import { copyFileSync, rmSync } from "node:fs";
// In your project: from "forkpoint/helix"
import { SessionStore } from "forkpoint/helix";
import { Stream, ask, work } from "./agent.mjs";

const store = new SessionStore("sessions.db");
for (const sessionId of ["order-4", "order-4, cheaper"]) await store.deleteSession(sessionId);
rmSync("stream.jsonl", { force: true });

const stream = new Stream("stream.jsonl");
await ask(store, stream, "order-4", "tea, cups");
console.log(`as it was: ${await work(store, stream, "order-4")}`);
const before = await store.getMessages("order-4");
const { records } = await store.stats();

const { items } = await store.listCheckpoints("order-4");
const step = items.find(({ stepCount }) => stepCount === 1);
const { messageCount, streamSequence } = await store.branchSession(step.id, "order-4, cheaper");
// The new session shares the messages of the old one: none is stored again.
assert.equal((await store.stats()).records, records);

copyFileSync("stream.jsonl", "cheaper.jsonl");
const other = new Stream("cheaper.jsonl");
other.cut(streamSequence);
await store.mergeCustomState("order-4, cheaper", { discount: 0.25 });
const answer = await work(store, other, "order-4, cheaper");
console.log(`what if: ${answer}`);
assert.equal(answer, "Together 12.");

const after = await store.getMessages("order-4, cheaper");
assert.deepEqual(after.messages.slice(0, messageCount), before.messages.slice(0, messageCount));
assert.deepEqual(other.read().slice(0, streamSequence), stream.read().slice(0, streamSequence));
assert.deepEqual(await store.getMessages("order-4"), before);
assert.equal((await store.loadState("order-4")).customState.discount, 0);
console.log("the old session is as it was");

await store.close();
