// A process is killed in the middle of a step. The next process finds the session, goes back to the latest checkpoint,
// and comes to the same result as a run without a kill.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
// In your project: from "forkpoint/helix"
import { SessionStore } from "forkpoint/helix";
import { Stream, ask, lookUp, recover, work } from "./agent.mjs";

const question = "tea, cups, kettle";
const stream = new Stream("stream.jsonl");
const [role] = process.argv.slice(2);

/** In the first process the last price takes a long time, because its server does not answer. */
async function slowLookUp(call) {
  console.log(`looks up ${call.item}`);
  if (role === "first" && call.item === "kettle") for (let part = 0; part < 2000; part++) await sleep(5);
  return lookUp(call);
}

async function first(store) {
  await ask(store, stream, "order-1", question);
  await work(store, stream, "order-1", slowLookUp);
}

async function second(store) {
  const { sessions } = await store.sessions({ status: "running" });
  const [{ sessionId }] = sessions;
  const { total } = await store.getMessages(sessionId);
  console.log(`found ${sessionId} with ${total} messages and ${stream.sequence} chunks`);

  const latest = await store.getLatestCheckpoint(sessionId);
  const { stepCount, messageCount, streamSequence } = latest;
  console.log(`goes back to step ${stepCount} with ${messageCount} messages and ${streamSequence} chunks`);
  assert.equal(total - messageCount, 1);

  const answer = await recover(store, stream, sessionId, slowLookUp);
  console.log(`answers: ${answer}`);
}

/** Starts this program in a role and prints its lines. Kills the first process while it looks up the last price. */
async function start(role) {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), role], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  for await (const line of createInterface(child.stdout)) {
    console.log(`${role} process: ${line}`);
    if (role === "first" && line === "looks up kettle") child.kill("SIGKILL");
  }
  return closed;
}

/** Everything that a user can see of a session. Ids and times are left out. */
async function seen(store, chunks, sessionId) {
  const { status, stepCount, customState } = await store.loadState(sessionId);
  const { messages } = await store.getMessages(sessionId);
  const { items } = await store.listCheckpoints(sessionId);
  const steps = items.map((item) => [item.stepCount, item.status]);
  return { status, stepCount, customState, messages, steps, chunks: chunks.read() };
}

async function main(store) {
  for (const sessionId of ["order-1", "order-2"]) await store.deleteSession(sessionId);
  for (const file of ["stream.jsonl", "unharmed.jsonl"]) rmSync(file, { force: true });

  assert.deepEqual(await start("first"), [null, "SIGKILL"]);
  assert.deepEqual(await start("second"), [0, null]);
  const runs = (await store.listRuns("order-1")).map(({ turn, status }) => `${turn} ${status}`);
  console.log(`runs: ${runs.join(", ")}`);
  assert.deepEqual(runs, ["1 interrupted", "2 completed"]);

  const unharmed = new Stream("unharmed.jsonl");
  await ask(store, unharmed, "order-2", question);
  await work(store, unharmed, "order-2");
  assert.deepEqual(await seen(store, stream, "order-1"), await seen(store, unharmed, "order-2"));
  console.log("the same as without a kill");
}

const store = new SessionStore("sessions.db");
await ({ first, second }[role] ?? main)(store);
await store.close();
