// Tests going back to a checkpoint, in its session and in a new one.
import { describe, expect, it } from "vitest";
import { expectSame, failure, ids, kinds } from "../helpers.js";
import { TestClock, checkpoint, logOf, make, pair, stateOf, texts, withSession } from "./helpers.js";

describe.each(kinds)("rewinding over %s", (kind) => {
  describe("rewindTo", () => {
    it("gives the session the state and the messages of the checkpoint, and returns the checkpoint", async () => {
      const store = await withSession(kind);
      await store.appendMessages("s", texts(2));
      const state = stateOf({ stepCount: 3, status: "running", customState: { at: new Date(3) }, extra: [1] });
      await store.saveCheckpoint(checkpoint(3, { state, streamSequence: 17 }));
      await store.appendMessages("s", texts(3, 2));
      await store.mergeCustomState("s", { later: true });
      await store.updateStatus("s", "failed");
      const back = await store.rewindTo("s/3");
      expect(back).toEqual(await store.getCheckpoint("s/3"));
      expect(back).toMatchObject({ streamSequence: 17, messageCount: 2, state: { messages: texts(2) } });
      expectSame(await store.loadState("s"), state);
      expect(await logOf(store)).toEqual(["m0", "m1"]);
      expect((await store.sessions()).sessions[0]).toMatchObject({ status: "running", stepCount: 3 });
      expect(await store.incrementStepCount("s")).toBe(4);
    });

    it("keeps the later checkpoints whole, so that going forward again is possible", async () => {
      const store = await withSession(kind);
      for (let step = 0; step < 5; step++) {
        await store.appendMessages("s", texts(2, step * 2));
        await store.saveCheckpoint(checkpoint(step, { state: stateOf({ stepCount: step }) }));
      }
      await store.rewindTo("s/1");
      await store.appendMessages("s", texts(3, 0, "other"));
      await store.saveCheckpoint(checkpoint(9));
      for (let step = 0; step < 5; step++) {
        const found = (await store.getCheckpoint(`s/${step}`))!;
        expect([found.messageCount, found.state.messages]).toEqual([step * 2 + 2, texts(step * 2 + 2)]);
      }
      await store.rewindTo("s/4");
      expect(await logOf(store)).toHaveLength(10);
      expect((await store.getMessages("s")).messages).toEqual(texts(10));
      await store.rewindTo("s/9");
      expect((await store.getMessages("s")).messages).toEqual([...texts(4), ...texts(3, 0, "other")]);
      expect((await store.listCheckpoints("s")).total).toBe(6);
    });

    it("cuts the log at messageCount", async () => {
      const store = await withSession(kind);
      await store.appendMessages("s", texts(5));
      await store.saveCheckpoint(checkpoint(1, { messageCount: 3 }));
      await store.saveCheckpoint(checkpoint(2, { messageCount: 2, state: stateOf({ messages: texts(5) }) }));
      await store.rewindTo("s/1");
      expect((await store.getMessages("s")).messages).toEqual(texts(3));
      await store.rewindTo("s/2");
      expect((await store.getMessages("s")).messages).toEqual(texts(2));
      expect((await store.loadState("s"))!.messages).toEqual(texts(5));
    });

    it("drops staged changes, and keeps runs and sub-sessions", async () => {
      const store = await withSession(kind);
      await store.saveCheckpoint(checkpoint(1));
      await store.stageChanges("s", { a: 1 });
      await store.startRun("s", { runId: "r" });
      await store.addSubSession("s", "child");
      await store.rewindTo("s/1");
      expect(await store.getStaging("s")).toEqual([]);
      expect(await store.listRuns("s")).toMatchObject([{ runId: "r" }]);
      expect(await store.listSubSessions("s")).toEqual(["child"]);
      await store.promoteStaging("s");
      expect((await store.loadState("s"))!.customState).toEqual({});
    });

    it("creates the session if only its checkpoints are there", async () => {
      const store = make(kind);
      const state = stateOf({ agentType: "writer", stepCount: 2, status: "paused", messages: texts(3) });
      await store.saveCheckpoint(checkpoint(2, { state, messageCount: 3 }));
      await store.rewindTo("s/2");
      expect(await store.loadState("s")).toEqual(state);
      expect((await store.sessions()).sessions).toMatchObject([
        { agentType: "writer", status: "paused", stepCount: 2 },
      ]);
    });

    it("state and messages always fit, while two stores go to two checkpoints", async () => {
      const stores = await pair(kind);
      await stores[0].createSession("s", { agentType: "a" });
      for (const count of [1, 2]) {
        await stores[0].appendMessages("s", texts(1, count - 1));
        await stores[0].saveCheckpoint(checkpoint(count));
      }
      await Promise.all(Array.from({ length: 20 }, (_, i) => stores[i % 2]!.rewindTo(`s/${1 + (i % 2)}`)));
      const { stepCount } = (await stores[0].loadState("s"))!;
      expect([1, 2]).toContain(stepCount);
      expect((await stores[1].getMessages("s")).messages).toEqual(texts(stepCount));
    });
  });

  describe("branchSession", () => {
    it("begins a session with the state and the messages of the checkpoint, and a copy of it", async () => {
      const clock = new TestClock();
      const store = await withSession(kind, { now: clock.now });
      await store.appendMessages("s", texts(2));
      const state = stateOf({ stepCount: 3, status: "paused", customState: { at: new Date(3) } });
      await store.saveCheckpoint(checkpoint(3, { state, streamSequence: 17, label: "kept" }));
      await store.appendMessages("s", texts(2, 2));
      clock.pass(7);
      const copy = await store.branchSession("s/3", "new");
      expect(copy).toMatchObject({
        sessionId: "new",
        stepCount: 3,
        timestamp: clock.time,
        messageCount: 2,
        streamSequence: 17,
        label: "kept",
      });
      expect(copy.id).toMatch(new RegExp(`^cpv1-new-s3-t${clock.time}-[0-9a-f]{6}$`));
      expect(copy.state).toMatchObject({ sessionId: "new", messages: texts(2) });
      expect(await store.getLatestCheckpoint("new")).toEqual(copy);
      expect(await store.listCheckpoints("new")).toMatchObject({ total: 1, items: [{ status: "paused" }] });
      expect((await store.getCheckpoint("s/3"))!.state.sessionId).toBe("s");
      await store.rewindTo(copy.id);
      expect(await store.loadState("new")).toMatchObject({
        sessionId: "new",
        stepCount: 3,
        status: "paused",
        customState: { at: new Date(3) },
      });
      expect((await store.getMessages("new")).messages).toEqual(texts(2));
      expect(await store.getMessageCount("s")).toBe(4);
    });

    it("neither session sees later writes of the other", async () => {
      const store = await withSession(kind);
      await store.appendMessages("s", texts(2));
      await store.saveCheckpoint(checkpoint(1));
      const { id } = await store.branchSession("s/1", "new");
      await store.truncateMessages("s", 1);
      await store.appendMessages("s", texts(1, 0, "of s "));
      await store.appendMessages("new", texts(1, 0, "of new "));
      await store.mergeCustomState("new", { mine: true });
      expect([await logOf(store, "s"), await logOf(store, "new")]).toEqual([
        ["m0", "of s 0"],
        ["m0", "m1", "of new 0"],
      ]);
      expect((await store.loadState("s"))!.customState).toEqual({});
      await store.deleteSession("s");
      expect((await store.getCheckpoint(id))!.state.messages).toEqual(texts(2));
      await store.rewindTo("new", id);
      expect(await logOf(store, "new")).toEqual(["m0", "m1"]);
    });

    it("a session that exists is not changed", async () => {
      const store = await withSession(kind);
      await store.createSession("t", { agentType: "b", initialState: { kept: 1 } });
      await store.saveCheckpoint(checkpoint(1));
      await failure(store.branchSession("s/1", "t"), "CONFLICT");
      await failure(store.branchSession("s/1", "s"), "CONFLICT");
      expect((await store.loadState("t"))!.customState).toEqual({ kept: 1 });
      expect(ids((await store.listCheckpoints("t")).items)).toEqual([]);
      expect((await store.listCheckpoints("s")).total).toBe(1);
    });

    it("of 10 parallel branches to one id from two stores, one succeeds", async () => {
      const stores = await pair(kind);
      await stores[0].saveCheckpoint(checkpoint(1));
      const calls = Array.from({ length: 10 }, (_, i) => stores[i % 2]!.branchSession("s/1", "new"));
      const results = await Promise.allSettled(calls);
      const lost = results.filter((result) => result.status === "rejected");
      expect(lost).toHaveLength(9);
      for (const { reason } of lost) expect(reason).toMatchObject({ code: "CONFLICT" });
      expect((await stores[1].listCheckpoints("new")).total).toBe(1);
    });
  });
});
