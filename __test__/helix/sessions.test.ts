// Tests sessions and their states.
// @module-tag threads
import type { SessionStore } from "forkpoint/helix";
import { describe, expect, it } from "vitest";
import { expectSame, failure, kinds } from "../helpers.js";
import { besides, checkpoint, logOf, make, pair, stateOf, TestClock, texts, withSession, writes } from "./helpers.js";

describe.each(kinds)("sessions over %s", (kind) => {
  describe("createSession", () => {
    it("makes an active session with the initial state, no steps and no messages", async () => {
      const store = make(kind);
      const created = await store.createSession("s", { agentType: "writer", initialState: { topic: "rust" } });
      expect(created).toBeUndefined();
      expect(await store.loadState("s")).toEqual({
        sessionId: "s",
        agentType: "writer",
        status: "active",
        stepCount: 0,
        customState: { topic: "rust" },
      });
      expect(await store.getMessages("s")).toEqual({ messages: [], total: 0, hasMore: false });
      expect(await store.listCheckpoints("s")).toEqual({ items: [], total: 0, hasMore: false });
    });

    it("keeps every other field in the state, and sets its own", async () => {
      const store = make(kind);
      const started = new Date(START_OF_2024);
      const own = { sessionId: "other", status: "failed", stepCount: 9, customState: { x: 1 } };
      const others = { parentSessionId: "p", userId: 7, started, deep: { x: [1] } };
      await store.createSession("s", { agentType: "a", ...own, ...others });
      expect(await store.loadState("s")).toStrictEqual({
        sessionId: "s",
        agentType: "a",
        customState: {},
        status: "active",
        stepCount: 0,
        parentSessionId: "p",
        userId: 7,
        started,
        deep: { x: [1] },
      });
    });

    it("of 20 parallel calls from two stores, one succeeds", async () => {
      const stores = await pair(kind);
      const calls = Array.from({ length: 20 }, (_, i) =>
        stores[i % 2]!.createSession("s", { agentType: "a", initialState: { i } }),
      );
      const results = await Promise.allSettled(calls);
      const winner = results.findIndex(({ status }) => status === "fulfilled");
      const lost = results.filter((result) => result.status === "rejected");
      expect(lost).toHaveLength(19);
      for (const { reason } of lost) expect(reason).toMatchObject({ code: "CONFLICT" });
      for (const store of stores) expect((await store.loadState("s"))!.customState).toEqual({ i: winner });
    });
  });

  describe("deleteSession", () => {
    it("removes the state, the messages, the checkpoints and everything else of the session", async () => {
      const store = await full(kind);
      expect(await store.deleteSession("s")).toBeUndefined();
      expect(await store.loadState("s")).toBeNull();
      expect(await store.getCheckpoint("s/1")).toBeNull();
      await expectNothingBesides(store);
      expect(await store.stats()).toMatchObject({ sessions: 0, checkpoints: 0, records: 0 });
    });
  });

  describe("loadState and saveState", () => {
    it("keeps every field, also unknown ones, and the order of the keys", async () => {
      const store = make(kind);
      const state = {
        zebra: 1,
        ...stateOf({ customState: { b: [1, { c: null }], a: "" } }),
        output: { text: "done" },
        error: null,
        streamId: "x",
      };
      await store.saveState("s", state);
      const loaded = await store.loadState("s");
      expect(loaded).toStrictEqual(state);
      expect(Object.keys(loaded!)).toEqual(Object.keys(state));
    });

    it("creates an unknown session", async () => {
      const store = make(kind);
      expect(await store.saveState("s", stateOf({ stepCount: 3, status: "paused" }))).toBeUndefined();
      expect(await store.sessionExists("s")).toBe(true);
      const { sessions } = await store.sessions();
      expect(sessions).toMatchObject([{ sessionId: "s", agentType: "tester", status: "paused", stepCount: 3 }]);
      await store.appendMessages("s", texts(1));
      expect(await store.incrementStepCount("s")).toBe(4);
    });

    it("replaces the whole document and not the log of messages", async () => {
      const store = make(kind);
      await store.createSession("s", { agentType: "a", initialState: { old: 1 }, oldField: true });
      await store.appendMessages("s", texts(3));
      const next = stateOf({ customState: { fresh: 2 }, stepCount: 9, status: "completed" });
      await store.saveState("s", next);
      expect(await store.loadState("s")).toStrictEqual(next);
      expect(await logOf(store)).toEqual(["m0", "m1", "m2"]);
    });

    const log = texts(4);
    it.each(besides(log))("messages are kept as given: %s", async (_, messages) => {
      const store = await withSession(kind);
      await store.appendMessages("s", log);
      await store.saveState("s", stateOf({ messages }));
      expect((await store.loadState("s"))!.messages).toStrictEqual(messages);
      expect((await store.getMessages("s")).messages).toEqual(log);
      await store.truncateMessages("s", 1);
      await store.appendMessages("s", texts(5, 0, "other"));
      expect((await store.loadState("s"))!.messages).toStrictEqual(messages);
      expect(await logOf(store)).toEqual(["m0", "other0", "other1", "other2", "other3", "other4"]);
    });

    it.each([
      ["null", null],
      ["a text", "none"],
      ["a list that holds a text", ["text"]],
      ["undefined", undefined],
    ])("a field messages that is no list of messages is kept: %s", async (_, messages) => {
      const store = await withSession(kind);
      await store.saveState("s", stateOf({ messages }));
      expectSame((await store.loadState("s"))!.messages, messages);
    });

    it("a state without anything is active, at step 0, and has no customState until changes are merged", async () => {
      const store = make(kind);
      await store.saveState("s", {} as never);
      expect(await store.loadState("s")).toEqual({ status: "active", stepCount: 0 });
      await store.mergeCustomState("s", { a: 1 });
      expect(await store.loadState("s")).toEqual({ status: "active", stepCount: 0, customState: { a: 1 } });
    });
  });

  describe("the status", () => {
    it("updateStatus sets it in the state and in listings", async () => {
      const store = make(kind);
      await store.createSession("s", { agentType: "a", initialState: { kept: 1 }, field: 2 });
      expect(await store.updateStatus("s", "completed")).toBeUndefined();
      expect(await store.loadState("s")).toMatchObject({ status: "completed", customState: { kept: 1 }, field: 2 });
      expect((await store.sessions()).sessions[0]!.status).toBe("completed");
      await store.updateStatus("s", "the user's own, née 🜁");
      expect((await store.loadState("s"))!.status).toBe("the user's own, née 🜁");
    });

    it("compareAndSetStatus sets it only if it is one of the expected ones", async () => {
      const store = await withSession(kind);
      expect(await store.compareAndSetStatus("s", ["paused", "failed"], "running")).toBe(false);
      expect((await store.loadState("s"))!.status).toBe("active");
      expect(await store.compareAndSetStatus("s", ["paused", "active"], "running")).toBe(true);
      expect((await store.loadState("s"))!.status).toBe("running");
      expect(await store.compareAndSetStatus("s", "active", "failed")).toBe(false);
      expect(await store.compareAndSetStatus("s", "running", "failed")).toBe(true);
      expect(await store.compareAndSetStatus("s", [], "active")).toBe(false);
      expect(await store.compareAndSetStatus("s", "Failed", "active")).toBe(false);
      expect((await store.loadState("s"))!.status).toBe("failed");
    });

    it("of 20 parallel compareAndSetStatus from two stores, one succeeds", async () => {
      const stores = await pair(kind);
      await stores[0].createSession("s", { agentType: "a" });
      const calls = Array.from({ length: 20 }, (_, i) =>
        stores[i % 2]!.compareAndSetStatus("s", ["active"], `running ${i}`),
      );
      const results = await Promise.all(calls);
      expect(results.filter(Boolean)).toHaveLength(1);
      for (const store of stores) expect((await store.loadState("s"))!.status).toBe(`running ${results.indexOf(true)}`);
    });
  });

  describe("incrementStepCount", () => {
    it("adds 1 and returns the new number", async () => {
      const store = await withSession(kind);
      expect([await store.incrementStepCount("s"), await store.incrementStepCount("s")]).toEqual([1, 2]);
      expect((await store.loadState("s"))!.stepCount).toBe(2);
      await store.saveState("s", stateOf({ stepCount: 41 }));
      expect(await store.incrementStepCount("s")).toBe(42);
      expect((await store.sessions()).sessions[0]!.stepCount).toBe(42);
    });

    it("loses none of 50 parallel calls from two stores", async () => {
      const stores = await pair(kind);
      await stores[0].createSession("s", { agentType: "a" });
      const calls = Array.from({ length: 50 }, (_, i) => stores[i % 2]!.incrementStepCount("s"));
      const numbers = (await Promise.all(calls)).toSorted((a, b) => a - b);
      expect(numbers).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
      expect((await stores[1].loadState("s"))!.stepCount).toBe(50);
    });
  });

  it("a write to a session that does not exist is refused with NOT_FOUND, and creates nothing", async () => {
    const store = make(kind);
    for (const write of writes(store)) {
      await failure(write(), "NOT_FOUND");
    }
    expect(await store.sessions()).toEqual({ sessions: [], cursor: null });
    expect(await store.getMessageCount("s")).toBe(0);
  });

  describe("sessions()", () => {
    it("lists the session that was created last first, also after a change of an earlier one", async () => {
      const clock = new TestClock();
      const store = make(kind, { now: clock.now });
      for (const id of ["a", "b", "c"]) {
        await store.createSession(id, { agentType: `type ${id}` });
        clock.pass(10);
      }
      await store.updateStatus("a", "running");
      await store.incrementStepCount("a");
      const info = (sessionId: string, createdAt: number) => {
        const agentType = `type ${sessionId}`;
        const begun = { status: "active", stepCount: 0, createdAt, updatedAt: createdAt };
        return { sessionId, agentType, ...begun, lease: null };
      };
      expect(await store.sessions()).toEqual({
        sessions: [
          info("c", clock.time - 10),
          info("b", clock.time - 20),
          { ...info("a", clock.time - 30), status: "running", stepCount: 1, updatedAt: clock.time },
        ],
        cursor: null,
      });
    });

    it("filters by status and by kind of agent", async () => {
      const store = make(kind);
      for (let i = 0; i < 12; i++) {
        await store.createSession(`s${i}`, { agentType: i % 2 === 0 ? "even" : "odd" });
        if (i % 3 === 0) await store.updateStatus(`s${i}`, "failed");
      }
      const found = async (options: Parameters<SessionStore["sessions"]>[0]) =>
        (await store.sessions(options)).sessions.map(({ sessionId }) => sessionId);
      expect(await found({ status: "failed" })).toEqual(["s9", "s6", "s3", "s0"]);
      expect(await found({ status: ["failed", "unknown"], agentType: "even" })).toEqual(["s6", "s0"]);
      expect(await found({ agentType: ["even", "odd"], limit: 2 })).toEqual(["s11", "s10"]);
      expect(await found({ status: [] })).toEqual([]);
      expect(await found({ agentType: "Even" })).toEqual([]);
      const first = await store.sessions({ status: "failed", limit: 3 });
      const second = await store.sessions({ status: "failed", limit: 3, cursor: first.cursor });
      expect([first.sessions.length, second.sessions.map(({ sessionId }) => sessionId)]).toEqual([3, ["s0"]]);
      expect(second.cursor).toBeNull();
    });

    it("the pages hold each session once, also if a session is created between them", async () => {
      const store = make(kind);
      for (let i = 0; i < 25; i++) await store.createSession(`s${i}`, { agentType: "a" });
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page = await store.sessions({ limit: 10, cursor });
        seen.push(...page.sessions.map(({ sessionId }) => sessionId));
        cursor = page.cursor;
        await store.createSession(`later ${seen.length}`, { agentType: "a" });
      } while (cursor !== null);
      expect(seen).toEqual(Array.from({ length: 25 }, (_, i) => `s${24 - i}`));
    });
  });
});

const START_OF_2024 = 1_704_067_200_000;

/** Opens a store with a session that has one of everything. */
async function full(kind: (typeof kinds)[number]): Promise<SessionStore> {
  const store = await withSession(kind);
  await store.mergeCustomState("s", { a: 1 });
  await store.stageChanges("s", { b: 2 });
  await store.appendMessages("s", texts(2));
  await store.startRun("s", { runId: "run" });
  await store.addSubSession("s", "child");
  await store.saveCheckpoint(checkpoint(1));
  return store;
}

/** Expects that the session "s" has nothing but its state. */
async function expectNothingBesides(store: SessionStore): Promise<void> {
  expect(await store.getMessages("s")).toEqual({ messages: [], total: 0, hasMore: false });
  expect(await store.getMessageCount("s")).toBe(0);
  expect(await store.listCheckpoints("s")).toEqual({ items: [], total: 0, hasMore: false });
  expect(await store.getLatestCheckpoint("s")).toBeNull();
  expect(await store.getStaging("s")).toEqual([]);
  expect(await store.listRuns("s")).toEqual([]);
  expect(await store.listSubSessions("s")).toEqual([]);
}
