// Tests that the store gives the order of a run's checkpoints where a framework has a time of its own.
import { SessionStore } from "forkpoint/helix";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkpoint, kinds, open, place } from "./helpers.js";

/** The clock steps back twice, and comes to itself. */
const TIMES = [10_000, 5_000, 7_000, 4_000, 4_000, 10_000, 11_000];

describe.each(kinds)("on %s", (kind) => {
  it("AgentOS: the latest checkpoint of a run is the one that was saved last", async () => {
    const store = open(place(kind));
    for (const [at, timestamp] of TIMES.entries()) {
      const saved = checkpoint({ id: `${at}`, runId: "run", nodeId: at % 2 === 0 ? "even" : "odd", timestamp });
      await store.save(saved);
      expect((await store.latest("run"))!.id).toBe(`${at}`);
      // The timestamp is stored as it was given.
      expect((await store.get(`${at}`))!.timestamp).toBe(timestamp);
    }
    const listed = await store.listByRun("run");
    expect(listed.map(({ id }) => id)).toEqual(["6", "5", "4", "3", "2", "1", "0"]);
    expect(listed.map(({ timestamp }) => timestamp)).toEqual(TIMES.toReversed());
    expect((await store.load("run", "odd"))!.id).toBe("5");
    // A repeated save stays at its place.
    await store.save(checkpoint({ id: "1", runId: "run", nodeId: "odd", timestamp: 5_000 }));
    expect((await store.latest("run"))!.id).toBe("6");
    expect((await store.load("run", "odd"))!.id).toBe("5");
  });

  it("AgentOS: keepLastN keeps what was saved last", async () => {
    const store = open(place(kind), { keepLastN: 2 });
    for (const [at, timestamp] of TIMES.entries())
      await store.save(checkpoint({ id: `${at}`, runId: "run", timestamp }));
    expect((await store.listByRun("run")).map(({ id }) => id)).toEqual(["6", "5"]);
  });

  it("Helix: the latest checkpoint of a session is the one that was saved last, and pages go on", async () => {
    const store = new SessionStore(place(kind));
    onTestFinished(() => store.close());
    const sessionId = "session";
    await store.createSession(sessionId, { agentType: "agent" });
    const state = { messages: [], stepCount: 0 } as never;
    for (const [at, timestamp] of TIMES.entries()) {
      await store.saveCheckpoint({ id: `${at}`, sessionId, stepCount: at, timestamp, state });
      expect((await store.getLatestCheckpoint(sessionId))!.id).toBe(`${at}`);
    }
    const all = await store.listCheckpoints(sessionId);
    expect(all.items.map(({ id, timestamp }) => [id, timestamp])).toEqual(
      TIMES.map((timestamp, at) => [`${at}`, timestamp]).toReversed(),
    );
    for (const limit of [1, 2, 3]) {
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await store.listCheckpoints(sessionId, { limit, ...(cursor !== undefined && { cursor }) });
        found.push(...page.items.map(({ id }) => id));
        ({ cursor } = page);
      } while (cursor !== undefined);
      expect(found).toEqual(["6", "5", "4", "3", "2", "1", "0"]);
    }
  });
});
