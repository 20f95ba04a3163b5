// A small read is answered at once, without a turn of the event loop. These tests show what a program may rely on nevertheless.

import { setImmediate as turn } from "node:timers/promises";
import { openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { expect, it, onTestFinished } from "vitest";
import { place } from "./helpers.js";

const step = (runId: string, n: number) => ({
  id: `${runId}:step-${n + 1}`,
  runId,
  stepIndex: n,
  stepName: "step",
  state: { n },
  createdAt: n,
});

async function opened() {
  const store = await openStore(place("sqlite"), { durability: "off" });
  onTestFinished(() => store.close());
  return new WorkflowCheckpointStore<{}>(store);
}

it("reads in a loop leave the event loop its turns", async () => {
  const runs = await opened();
  await runs.save(step("run", 0));
  let turns = 0;
  let timers = 0;
  const again = () => {
    turns += 1;
    if (turns < 10) setImmediate(again);
  };
  setImmediate(again);
  const timer = setInterval(() => timers++, 1);
  const isDone = () => turns >= 10 && timers >= 10;
  // Without turns, this loop has no end.
  while (!isDone()) expect((await runs.latest("run"))?.state).toEqual({ n: 0 });
  clearInterval(timer);
});

it("some reads of one turn are answered in it", async () => {
  const runs = await opened();
  await runs.save(step("run", 0));
  let inOneTurn = 0;
  // The first reads warm the caches, and the writer may rest.
  for (let attempt = 0; attempt < 1_000 && inOneTurn === 0; attempt += 1) {
    await turn();
    let turned = false;
    setImmediate(() => (turned = true));
    await runs.latest("run");
    if (!turned) inOneTurn += 1;
  }
  expect(inOneTurn).toBe(1);
});

it("a read sees the saves that were called before it, and no later one", async () => {
  const runs = await opened();
  for (let n = 0; n < 200; n += 1) {
    const saved = runs.save(step("run", n));
    const read = runs.latest("run");
    const later = runs.save(step("other", n));
    expect((await read)?.state).toEqual({ n });
    await Promise.all([saved, later]);
    expect((await runs.latest("other"))?.state).toEqual({ n });
  }
});

it("a closed store refuses a read that it could answer at once", async () => {
  const store = await openStore(place("sqlite"), { durability: "off" });
  const runs = new WorkflowCheckpointStore<{}>(store);
  await runs.save(step("run", 0));
  for (let n = 0; n < 10; n += 1) await runs.latest("run");
  const closed = store.close();
  await expect(runs.latest("run")).rejects.toMatchObject({ code: "CLOSED" });
  await closed;
});
