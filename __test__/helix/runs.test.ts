// Tests the runs of a session and the references to its sub-sessions.
import { describe, expect, it } from "vitest";
import { failure, kinds } from "../helpers.js";
import { START, TestClock, pair, withSession } from "./helpers.js";

describe.each(kinds)("runs over %s", (kind) => {
  it("have their number, their times and every other field", async () => {
    const clock = new TestClock();
    const store = await withSession(kind, { now: clock.now });
    const first = await store.startRun("s", { runId: "r1", startSequence: 42, input: { text: "hello" } });
    expect(first).toEqual({
      runId: "r1",
      sessionId: "s",
      turn: 1,
      status: "running",
      startedAt: START,
      startSequence: 42,
      input: { text: "hello" },
    });
    clock.pass(5);
    const ended = await store.endRun("s", "r1", { status: "interrupted", endSequence: 50 });
    expect(ended).toEqual({ ...first, status: "interrupted", endedAt: START + 5, endSequence: 50 });
    const second = await store.startRun("s", { runId: "r2" });
    expect(second).toMatchObject({ turn: 2, status: "running", startedAt: START + 5 });
    expect(second).not.toHaveProperty("endedAt");
    expect(await store.listRuns("s")).toEqual([ended, second]);
    expect((await store.endRun("s", "r2")).status).toBe("completed");
  });

  it("get a random id if none is given", async () => {
    const store = await withSession(kind);
    const [a, b] = [await store.startRun("s"), await store.startRun("s", {})];
    expect(a.runId).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(b.runId).not.toBe(a.runId);
    expect((await store.endRun("s", b.runId)).turn).toBe(2);
  });

  it("cannot be given the fields that the store sets", async () => {
    const clock = new TestClock();
    const store = await withSession(kind, { now: clock.now });
    const given = { runId: "r", sessionId: "other", turn: 9, startedAt: 1, status: "queued" };
    const started = { runId: "r", sessionId: "s", turn: 1, startedAt: START };
    expect(await store.startRun("s", given)).toMatchObject({ ...started, status: "queued" });
    expect(await store.endRun("s", "r", { ...given, runId: "x", endedAt: 1, status: "failed" })).toMatchObject({
      ...started,
      status: "failed",
      endedAt: START,
    });
  });

  it("have ids that are unique in their session", async () => {
    const store = await withSession(kind);
    await store.createSession("t", { agentType: "a" });
    await store.startRun("s", { runId: "r" });
    await failure(store.startRun("s", { runId: "r" }), "CONFLICT");
    expect((await store.startRun("t", { runId: "r" })).turn).toBe(1);
    expect(await store.listRuns("s")).toHaveLength(1);
  });

  it("end once, and only in their session", async () => {
    const store = await withSession(kind);
    await store.createSession("t", { agentType: "a" });
    await store.startRun("s", { runId: "r" });
    await failure(store.endRun("t", "r"), "NOT_FOUND");
    await failure(store.endRun("s", "R"), "NOT_FOUND");
    await store.endRun("s", "r");
    await failure(store.endRun("s", "r", { status: "failed" }), "CONFLICT");
    expect((await store.listRuns("s"))[0]!.status).toBe("completed");
  });

  it("of 20 parallel starts from two stores, each gets a number of its own", async () => {
    const stores = await pair(kind);
    await stores[0].createSession("s", { agentType: "a" });
    const runs = await Promise.all(Array.from({ length: 20 }, (_, i) => stores[i % 2]!.startRun("s")));
    const listed = await stores[0].listRuns("s");
    expect(listed.map(({ turn }) => turn)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    expect(listed).toEqual(runs.toSorted((a, b) => a.turn - b.turn));
  });
});

describe.each(kinds)("sub-sessions over %s", (kind) => {
  it("are listed in the order in which they were added", async () => {
    const store = await withSession(kind);
    const refs = ["b", { subSessionId: "c", agentType: "critic" }, { sessionId: "a", depth: 1 }, { id: "d" }];
    for (const ref of refs) expect(await store.addSubSession("s", ref)).toBeUndefined();
    expect(await store.listSubSessions("s")).toEqual(refs);
  });

  it("a reference to the same session replaces the earlier one, at its place", async () => {
    const store = await withSession(kind);
    await store.addSubSession("s", "a");
    await store.addSubSession("s", { subSessionId: "b", status: "running" });
    await store.addSubSession("s", { subSessionId: "b", status: "completed" });
    await store.addSubSession("s", { id: "a", label: "now an object" });
    await store.addSubSession("s", { subSessionId: "A", id: "a" });
    expect(await store.listSubSessions("s")).toEqual([
      { id: "a", label: "now an object" },
      { subSessionId: "b", status: "completed" },
      { subSessionId: "A", id: "a" },
    ]);
  });

  it("need not exist, and stay when they are deleted", async () => {
    const store = await withSession(kind);
    await store.createSession("child", { agentType: "a" });
    await store.addSubSession("s", "child");
    await store.deleteSession("child");
    expect(await store.listSubSessions("s")).toEqual(["child"]);
    expect(await store.listSubSessions("child")).toEqual([]);
  });
});
