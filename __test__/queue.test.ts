// Saves that wait to be written: `maxQueueBytes` limits them, and the event loop never waits for them.
// @module-tag threads
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { SessionStore } from "forkpoint/helix";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { Checkpointer } from "forkpoint/tinyagents";
import { afterEach, describe, expect, test } from "vitest";
import { checkpoint, failure, folder, holding, kinds, open, place, rejection, windows } from "./helpers.js";
import { type Holder, holdFile } from "./lock.js";

const MIB = 1 << 20;
const text = (bytes: number) => "x".repeat(bytes);

test.each([0, -1, 1.5, "1", null])("maxQueueBytes %s is refused", async (maxQueueBytes) => {
  const message = (await rejection((async () => open("memory:", { maxQueueBytes } as never))())).message;
  expect(message).toContain('"maxQueueBytes"');
});

describe.each(kinds)("%s", (kind) => {
  test("a save is refused before its snapshot is taken while too many bytes wait", async () => {
    const store = open(place(kind), { maxQueueBytes: MIB });
    let snapshots = 0;
    const counted = (id: string, bytes: number) =>
      ({ ...holding({ toJSON: () => (snapshots++, text(bytes)) }), id, runId: id }) as never;
    // An empty queue takes any save, and one that is not full yet takes another one.
    const first = store.save(counted("a", MIB / 2));
    const second = store.save(counted("b", 4 * MIB));
    const refused = await failure(store.save(counted("c", 1)), "BUSY");
    expect(snapshots).toBe(2);
    expect(refused.retryable).toBe(true);
    expect(refused.message).toMatch(/has \d{7} bytes waiting to be written, and maxQueueBytes is 1048576/);
    // Reads, lists and removals are not refused.
    expect(await store.get("nothing")).toBeNull();
    await store.delete("nothing");
    await Promise.all([first, second]);
    await store.save(counted("c", 1));
    expect(snapshots).toBe(3);
    expect((await store.stats()).checkpoints).toBe(3);
  });

  test("a save that fails leaves the queue", async () => {
    const store = open(place(kind), { maxQueueBytes: MIB, maxPayloadBytes: MIB });
    for (let i = 0; i < 5; i++) {
      await failure(store.save(holding(text(2 * MIB))), "INVALID_ARGUMENT");
      await failure(store.save(holding(Promise.resolve())), "INVALID_ARGUMENT");
    }
    await store.save(checkpoint());
  });

  test("every contract's saves count", async () => {
    const state = text(2 * MIB);
    const ways: Array<(target: string) => [save: (n: number) => Promise<unknown>, close: () => Promise<void>]> = [
      (target) => {
        const store = new WorkflowCheckpointStore(target, { maxQueueBytes: MIB });
        const fields = { stepIndex: 0, stepName: "s", state: { state }, createdAt: 1 };
        return [(n) => store.save({ ...fields, id: `c-${n}`, runId: `r-${n}` }), () => store.close()];
      },
      (target) => {
        const store = new Checkpointer(target, { maxQueueBytes: MIB });
        return [(n) => store.put({ threadId: `t-${n}`, state: { state } } as never), () => store.close()];
      },
      (target) => {
        const store = new SessionStore(target, { maxQueueBytes: MIB });
        const options = { agentType: "a", initialState: { state } } as never;
        return [(n) => store.createSession(`s-${n}`, options), () => store.close()];
      },
    ];
    for (const way of ways) {
      const [save, close] = way(place(kind));
      const outcomes = await Promise.allSettled([save(1), save(2), save(3)]);
      expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
      for (const outcome of outcomes.slice(1)) expect(outcome).toMatchObject({ reason: { code: "BUSY" } });
      await save(4);
      await close();
    }
  });
});

describe.skipIf(windows)("while another process holds the file", () => {
  let holder: Holder;
  afterEach(() => holder.end());

  test("saves of 8 MiB are called without waiting, and memory stays near the limit", async () => {
    const file = join(folder(), "agent.db");
    holder = await holdFile(file);
    const store = open(file, { maxQueueBytes: 64 * MIB, busyTimeoutMs: 60_000 });
    const before = process.memoryUsage().arrayBuffers;
    let turns = 0;
    const ticking = setInterval(() => turns++, 1);
    const saves: Array<Promise<unknown>> = [];
    for (let i = 0; i < 90; i++) {
      saves.push(store.save({ ...holding(text(8 * MIB)), id: `c-${i}`, runId: `r-${i}` }).catch((error) => error));
      await setTimeout(1);
    }
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(0);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(3 * 64 * MIB);
    holder.release();
    const outcomes = await Promise.all(saves);
    const stored = outcomes.map((outcome) => outcome === undefined);
    expect(stored.filter(Boolean).length).toBeGreaterThanOrEqual(8);
    for (const [i, outcome] of outcomes.entries()) {
      if (!stored[i]) expect(outcome).toMatchObject({ code: "BUSY" });
      expect((await store.get(`c-${i}`)) !== null).toBe(stored[i]);
    }
  });
});
