// Runs the calls of the framework's page on checkpoints as they are written there. Only the import and the store are
// other ones. `handle.resume({ mode: "from_checkpoint" })` is `rewindTo` here.
import { generateCheckpointId, parseCheckpointId } from "forkpoint/helix";
import type { Checkpoint, CheckpointMeta, SessionStore } from "forkpoint/helix";
import { describe, expect, expectTypeOf, it } from "vitest";
import { kinds } from "../helpers.js";
import { TestClock, make } from "./helpers.js";

const sessionId = "session-abc123";

/** Runs an agent for some steps. Each step has two messages, and stores a checkpoint, as the framework does. */
async function run(stateStore: SessionStore, steps: number, clock = new TestClock()): Promise<void> {
  if (!(await stateStore.sessionExists(sessionId))) {
    await stateStore.createSession(sessionId, { agentType: "researcher", initialState: { notes: [] } });
  }
  for (let i = 0; i < steps; i++) {
    const stepCount = await stateStore.incrementStepCount(sessionId);
    await stateStore.appendMessages(sessionId, [
      { role: "user", content: `question ${stepCount}` },
      { role: "assistant", content: `answer ${stepCount}` },
    ]);
    await stateStore.mergeCustomState(sessionId, { values: { notes: [stepCount] }, arrayReplacements: new Set() });
    const state = (await stateStore.loadState(sessionId))!;
    clock.pass(1_000);
    const id = generateCheckpointId(sessionId, stepCount, clock.now());
    const checkpoint = { id, sessionId, stepCount, timestamp: clock.now(), state, streamSequence: stepCount * 10 };
    await stateStore.saveCheckpoint(checkpoint);
  }
}

/** Collects the lines that the document's code prints. */
class Lines {
  readonly lines: string[] = [];

  log(...parts: unknown[]): void {
    this.lines.push(parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" "));
  }
}

describe.each(kinds)("the framework's page on checkpoints, over %s", (kind) => {
  it("Listing Checkpoints", async () => {
    const [stateStore, console] = [make(kind), new Lines()];
    await run(stateStore, 2);

    const checkpoints = await stateStore.listCheckpoints(sessionId);

    for (const meta of checkpoints.items) {
      console.log(`Step ${meta.stepCount}: ${meta.id}`);
      console.log(`  Status: ${meta.status}`);
      console.log(`  Created: ${new Date(meta.timestamp).toISOString()}`);
    }

    expect(console.lines).toEqual([
      expect.stringMatching(/^Step 2: cpv1-session-abc123-s2-t1700000002000-[0-9a-f]{6}$/),
      "  Status: active",
      "  Created: 2023-11-14T22:13:22.000Z",
      expect.stringMatching(/^Step 1: cpv1-session-abc123-s1-t1700000001000-[0-9a-f]{6}$/),
      "  Status: active",
      "  Created: 2023-11-14T22:13:21.000Z",
    ]);
  });

  it("Pagination", async () => {
    const [stateStore, console] = [make(kind), new Lines()];
    await run(stateStore, 15);

    const page1 = await stateStore.listCheckpoints(sessionId, {
      limit: 10,
      offset: 0,
    });

    console.log(`Showing ${page1.items.length} of ${page1.total}`);

    if (page1.hasMore) {
      const page2 = await stateStore.listCheckpoints(sessionId, {
        limit: 10,
        offset: 10,
      });
      console.log(page2.items.map(({ stepCount }) => stepCount));
      console.log(page2.hasMore);
    }

    expect(console.lines).toEqual(["Showing 10 of 15", "[5,4,3,2,1]", "false"]);
  });

  it("Retrieving a Checkpoint", async () => {
    const [stateStore, console] = [make(kind), new Lines()];
    await run(stateStore, 3);
    const checkpointId = (await stateStore.listCheckpoints(sessionId)).items[2]!.id;

    const latest = await stateStore.getLatestCheckpoint(sessionId);
    if (latest) {
      console.log(`Latest at step ${latest.stepCount}`);
      console.log("Messages:", latest.state.messages.length);
      console.log("Custom state:", latest.state.customState);
    }

    const checkpoint = await stateStore.getCheckpoint(checkpointId);
    if (checkpoint) {
      console.log("State:", checkpoint.state);
    }

    expect(console.lines.slice(0, 3)).toEqual(["Latest at step 3", "Messages: 6", 'Custom state: {"notes":[1,2,3]}']);
    expect(checkpoint!.state).toEqual({
      sessionId,
      agentType: "researcher",
      status: "active",
      stepCount: 1,
      customState: { notes: [1] },
      messages: [
        { role: "user", content: "question 1" },
        { role: "assistant", content: "answer 1" },
      ],
    });
  });

  it("Retrieving a Checkpoint: of a session without messages", async () => {
    const [stateStore, console] = [make(kind), new Lines()];
    await stateStore.createSession(sessionId, { agentType: "researcher" });
    const state = (await stateStore.loadState(sessionId))!;
    await stateStore.saveCheckpoint({ id: "first", sessionId, stepCount: 0, timestamp: 0, state });

    const latest = await stateStore.getLatestCheckpoint(sessionId);
    if (latest) {
      console.log("Messages:", latest.state.messages.length);
    }

    expect(console.lines).toEqual(["Messages: 0"]);
  });

  it("Time-Travel and Rollback", async () => {
    const stateStore = make(kind);
    const clock = new TestClock();
    await run(stateStore, 5, clock);

    async function rollbackToStep(sessionId: string, targetStep: number) {
      const checkpoints = await stateStore.listCheckpoints(sessionId);
      const target = checkpoints.items.find((c) => c.stepCount === targetStep);

      if (!target) {
        throw new Error(`No checkpoint at step ${targetStep}`);
      }

      return stateStore.rewindTo(sessionId, target.id);
    }

    const checkpoint = await rollbackToStep(sessionId, 3);

    expect([checkpoint.streamSequence, checkpoint.messageCount]).toEqual([30, 6]);
    expect(await stateStore.loadState(sessionId)).toMatchObject({ stepCount: 3, customState: { notes: [1, 2, 3] } });
    expect(await stateStore.getMessageCount(sessionId)).toBe(6);
    await expect(rollbackToStep(sessionId, 9)).rejects.toThrow("No checkpoint at step 9");

    // The agent continues from step 3.
    await run(stateStore, 1, clock);
    expect((await stateStore.getLatestCheckpoint(sessionId))!.stepCount).toBe(4);
    expect((await stateStore.listCheckpoints(sessionId)).items.map(({ stepCount }) => stepCount)).toEqual([
      4, 5, 4, 3, 2, 1,
    ]);
  });

  it("Checkpoint Metadata and Recovery Coordination Fields", async () => {
    const stateStore = make(kind);
    await run(stateStore, 2);
    // These messages were appended, and the process ended before their checkpoint.
    await stateStore.appendMessages(sessionId, [{ role: "user", content: "orphan" }]);
    const [meta] = (await stateStore.listCheckpoints(sessionId)).items;
    const checkpoint = (await stateStore.getCheckpoint(meta!.id))!;

    expect(Object.keys(meta!)).toEqual(["id", "sessionId", "stepCount", "timestamp", "status"]);
    expect(Object.keys(checkpoint).toSorted()).toEqual(
      ["id", "sessionId", "stepCount", "timestamp", "state", "messageCount", "streamSequence"].toSorted(),
    );
    expectTypeOf(meta!).toEqualTypeOf<CheckpointMeta>();
    expectTypeOf(checkpoint).toEqualTypeOf<Checkpoint>();

    await stateStore.truncateMessages(sessionId, checkpoint.messageCount);

    expect((await stateStore.getMessages(sessionId)).messages).toEqual(checkpoint.state.messages);
  });

  it("Retention", async () => {
    const clock = new TestClock();
    const stateStore = make(kind, {
      ttl: 86400 * 7, // 7 days in seconds
      now: clock.now,
    });
    await run(stateStore, 1, clock);
    clock.pass(7 * 86_400_000 - 1);
    expect((await stateStore.listCheckpoints(sessionId)).total).toBe(1);
    clock.pass(1);
    expect((await stateStore.listCheckpoints(sessionId)).total).toBe(0);
  });

  it("Cleanup", async () => {
    const stateStore = make(kind);
    await run(stateStore, 3);

    await stateStore.deleteSession(sessionId);

    expect(await stateStore.loadState(sessionId)).toBeNull();
    expect((await stateStore.listCheckpoints(sessionId)).total).toBe(0);
    expect(await stateStore.stats()).toMatchObject({ sessions: 0, checkpoints: 0, records: 0 });
  });

  it("Stream Events", async () => {
    const [stateStore, console] = [make(kind), new Lines()];
    const stream = stateStore.events(sessionId);
    await run(stateStore, 2);
    await stateStore.close();

    for await (const chunk of stream) {
      if (chunk.type === "checkpoint_created") {
        console.log(`Checkpoint saved: ${chunk.checkpointId}`);
        console.log(`At step: ${chunk.stepCount}`);
      }
    }

    expect(console.lines).toEqual([
      expect.stringMatching(/^Checkpoint saved: cpv1-session-abc123-s1-t\d+-[0-9a-f]{6}$/),
      "At step: 1",
      expect.stringMatching(/^Checkpoint saved: cpv1-session-abc123-s2-t\d+-[0-9a-f]{6}$/),
      "At step: 2",
    ]);
  });

  it("Use Checkpoints for Debugging", async () => {
    const [stateStore, console] = [make(kind), new Lines()];
    await run(stateStore, 4);

    const checkpoints = await stateStore.listCheckpoints(sessionId);

    for (const cp of checkpoints.items) {
      const full = await stateStore.getCheckpoint(cp.id);
      console.log(`Step ${cp.stepCount}: ${full?.state.messages.length} messages`);
    }

    expect(console.lines).toEqual([4, 3, 2, 1].map((step) => `Step ${step}: ${step * 2} messages`));
  });

  it("Monitor Storage Growth", async () => {
    const [stateStore, console] = [make(kind), new Lines()];
    await run(stateStore, 30);

    const checkpoints = await stateStore.listCheckpoints(sessionId);
    console.log(`Session has ${checkpoints.total} checkpoints`);

    expect(console.lines).toEqual(["Session has 30 checkpoints"]);
    const { records, largest } = await stateStore.stats({ largest: 1 });
    expect([records, largest]).toMatchObject([60, [{ sessionId, checkpoints: 30 }]]);
  });
});

it("Checkpoint Parsing", () => {
  const console = new Lines();

  const parsed = parseCheckpointId("cpv1-session-123-s5-t1703123456789-a1b2c3");
  if (parsed) {
    console.log(parsed.version); // 1
    console.log(parsed.sessionId); // 'session-123'
    console.log(parsed.stepCount); // 5
    console.log(parsed.timestamp); // 1703123456789
    console.log(parsed.random); // 'a1b2c3'
  }
  const newId = generateCheckpointId("session-456", 10);

  expect(console.lines).toEqual(["1", "session-123", "5", "1703123456789", "a1b2c3"]);
  expect(newId).toMatch(/^cpv1-session-456-s10-t\d+-[0-9a-f]{6}$/);
});
