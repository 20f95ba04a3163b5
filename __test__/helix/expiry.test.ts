// Tests sessions and checkpoints that live for a limited time, and what removes them.
import { type CheckpointPage, SessionStore, type SessionStoreOptions } from "forkpoint/helix";
import { describe, expect, it } from "vitest";
import { failure, ids, kinds, place, thrown } from "../helpers.js";
import { type Kind, at, checkpoint, logOf, make, stateOf, TestClock, texts, writes } from "./helpers.js";
import { opened } from "../contents.js";

const TTL = 60_000;

/** Opens a store whose sessions live for a minute, and its clock. */
function limited(kind: Kind, options: SessionStoreOptions = { ttlMs: TTL }) {
  const clock = new TestClock();
  return { clock, store: make(kind, { now: clock.now, ...options }) };
}

describe.each(kinds)("expiry over %s", (kind) => {
  it.each<[SessionStoreOptions, number]>([
    [{ ttlMs: TTL }, TTL],
    [{ ttl: 60 }, TTL],
    [{ ttl: 0.25 }, 250],
  ])("%j: a session lives that long after its last write, and not longer", async (options, ttlMs) => {
    const { clock, store } = limited(kind, options);
    await store.createSession("s", { agentType: "a" });
    clock.pass(ttlMs - 1);
    expect(await store.sessionExists("s")).toBe(true);
    clock.pass(1);
    expect(await store.sessionExists("s")).toBe(false);
  });

  const never = [{}, { ttlMs: null }, { ttl: null }, { ttl: 0 }, { ttlMs: Number.POSITIVE_INFINITY }];
  it.each<SessionStoreOptions>(never)("nothing expires with %j", async (options) => {
    const { clock, store } = limited(kind, options);
    await store.createSession("s", { agentType: "a" });
    await store.saveCheckpoint(checkpoint(1));
    clock.pass(100 * 365 * 86_400_000);
    expect(await store.sessionExists("s")).toBe(true);
    expect((await store.listCheckpoints("s")).total).toBe(1);
    expect(await store.prune()).toEqual({ removed: 0, bytes: 0, sessions: 0 });
  });

  it("what has expired counts nowhere", async () => {
    const { clock, store } = limited(kind);
    await store.createSession("s", { agentType: "a" });
    await store.appendMessages("s", texts(2));
    await store.stageChanges("s", { a: 1 });
    await store.startRun("s", { runId: "r" });
    await store.addSubSession("s", "child");
    await store.saveCheckpoint(checkpoint(1));
    clock.pass(TTL);
    expect([await store.sessionExists("s"), await store.exists("s")]).toEqual([false, false]);
    expect(await store.loadState("s")).toBeNull();
    expect(await store.getMessages("s")).toEqual({ messages: [], total: 0, hasMore: false });
    expect(await store.getMessageCount("s")).toBe(0);
    expect(await store.getCheckpoint("s/1")).toBeNull();
    expect(await store.getCheckpoint("s", "s/1")).toBeNull();
    expect(await store.getLatestCheckpoint("s")).toBeNull();
    expect(await store.listCheckpoints("s")).toEqual({ items: [], total: 0, hasMore: false });
    const lists = [await store.getStaging("s"), await store.listRuns("s"), await store.listSubSessions("s")];
    expect(lists).toEqual([[], [], []]);
    expect(await store.sessions()).toEqual({ sessions: [], cursor: null });
    for (const write of writes(store)) {
      await failure(write(), "NOT_FOUND");
    }
  });

  it("an expired session can be created again, and has nothing of the old one", async () => {
    const { clock, store } = limited(kind);
    const fill = async () => {
      await store.appendMessages("s", texts(2));
      await store.startRun("s", { runId: "r" });
      await store.stageChanges("s", { a: 1 });
      await store.saveCheckpoint(checkpoint(1));
    };
    await store.createSession("s", { agentType: "first" });
    await fill();
    const rest = async () => [
      await store.getMessageCount("s"),
      await store.listRuns("s"),
      await store.getStaging("s"),
      (await store.listCheckpoints("s")).total,
    ];
    clock.pass(TTL);
    await store.createSession("s", { agentType: "second" });
    expect(await store.loadState("s")).toMatchObject({ agentType: "second", stepCount: 0 });
    expect(await rest()).toEqual([0, [], [], 0]);
    await fill();
    clock.pass(TTL);
    await store.saveState("s", stateOf({ stepCount: 7 }));
    expect(await store.loadState("s")).toEqual(stateOf({ stepCount: 7 }));
    expect(await rest()).toEqual([0, [], [], 0]);
    expect((await store.sessions()).sessions[0]!.createdAt).toBe(clock.time);
  });

  it("each write refreshes the session, and no read does", async () => {
    const { clock, store } = limited(kind);
    await store.createSession("s", { agentType: "a" });
    await store.saveCheckpoint(checkpoint(0));
    const writes: Array<() => Promise<unknown>> = [
      () => store.saveState("s", stateOf()),
      () => store.updateStatus("s", "active"),
      () => store.compareAndSetStatus("s", "active", "running"),
      () => store.incrementStepCount("s"),
      () => store.mergeCustomState("s", { a: 1 }),
      () => store.stageChanges("s", { b: 1 }),
      () => store.promoteStaging("s"),
      () => store.appendMessages("s", texts(3)),
      () => store.truncateMessages("s", 1),
      () => store.startRun("s", { runId: "r" }),
      () => store.endRun("s", "r"),
      () => store.addSubSession("s", "child"),
      () => store.saveCheckpoint(checkpoint(1)),
      () => store.rewindTo("s/1"),
    ];
    for (const write of writes) {
      clock.pass(TTL - 1);
      await write();
      expect((await store.sessions()).sessions[0]!.updatedAt, String(write)).toBe(clock.time);
    }
    clock.pass(TTL - 1);
    await Promise.all([store.loadState("s"), store.getMessages("s"), store.sessionExists("s"), store.sessions()]);
    await Promise.all([store.listCheckpoints("s"), store.getLatestCheckpoint("s")]);
    expect(await store.sessionExists("s")).toBe(true);
    clock.pass(1);
    expect(await store.sessionExists("s")).toBe(false);
  });

  it("each checkpoint lives from its own save on", async () => {
    const { clock, store } = limited(kind);
    await store.createSession("s", { agentType: "a" });
    await store.appendMessages("s", texts(2));
    for (let step = 0; step < 4; step++) {
      await store.saveCheckpoint(checkpoint(step));
      clock.pass(TTL / 4);
    }
    const listed = async () => ids((await store.listCheckpoints("s")).items);
    expect(await listed()).toEqual(["s/3", "s/2", "s/1"]);
    expect([await store.getCheckpoint("s/0"), await store.getCheckpoint("s", "s/0")]).toEqual([null, null]);
    expect((await store.listCheckpoints("s", { limit: 1, offset: 2 })).hasMore).toBe(false);
    expect((await store.listCheckpoints("s", { limit: 1, offset: 1 })).hasMore).toBe(true);
    clock.pass(TTL / 4);
    expect([await listed(), (await store.listCheckpoints("s")).total]).toEqual([["s/3", "s/2"], 2]);
    await store.saveCheckpoint(checkpoint(2));
    clock.pass(TTL / 4);
    await failure(store.rewindTo("s/1"), "NOT_FOUND");
    clock.pass(TTL / 4);
    expect(await listed()).toEqual(["s/2"]);
    expect((await store.getLatestCheckpoint("s"))!.state.messages).toEqual(texts(2));
  });

  it("checkpoints that expire in the middle of a listing do not shift its cursor", async () => {
    const { clock, store } = limited(kind);
    for (let step = 0; step < 12; step++) {
      await store.saveCheckpoint(checkpoint(step));
      clock.pass(1_000);
    }
    const seen: string[] = [];
    let page: CheckpointPage | undefined;
    do {
      page = await store.listCheckpoints("s", { limit: 3, cursor: page?.cursor ?? null });
      seen.push(...ids(page.items));
      // The first three checkpoints expire after the first page, and one more after each other page.
      clock.pass(page.items[0]!.id === "s/11" ? TTL - 10_000 : 1_000);
    } while (page.cursor !== undefined);
    expect(seen).toEqual(["s/11", "s/10", "s/9", "s/8", "s/7", "s/6", "s/5", "s/4"]);
    expect(page).toMatchObject({ total: 8, hasMore: false });
  });

  it("after many writes nothing that has expired is stored any more", async () => {
    const { clock, store } = limited(kind);
    for (let i = 0; i < 10; i++) {
      await store.createSession(`old ${i}`, { agentType: "a" });
      await store.appendMessages(`old ${i}`, texts(5));
      await store.saveCheckpoint(checkpoint(1, { sessionId: `old ${i}` }));
    }
    await store.saveCheckpoint(checkpoint(1, { sessionId: "never created" }));
    clock.pass(TTL);
    await store.saveState("new", stateOf());
    await store.appendMessages("new", texts(1));
    await expect
      .poll(() => store.stats(), { timeout: 30_000 })
      .toMatchObject({ sessions: 1, checkpoints: 0, records: 1 });
    expect(await logOf(store, "new")).toEqual(["m0"]);
  });

  it("sweeping keeps an alive session whose oldest checkpoints have expired, with all of its messages", async () => {
    const { clock, store } = limited(kind);
    await store.createSession("s", { agentType: "a" });
    await store.appendMessages("s", texts(3));
    await store.saveCheckpoint(checkpoint(1));
    clock.pass(TTL - 1);
    await store.appendMessages("s", texts(1, 3));
    clock.pass(1);
    await store.prune();
    await store.updateStatus("s", "running");
    expect((await store.listCheckpoints("s")).total).toBe(0);
    expect((await store.getMessages("s")).messages).toEqual(texts(4));
    await store.saveCheckpoint(checkpoint(2));
    expect((await store.getLatestCheckpoint("s"))!.state.messages).toEqual(texts(4));
  });

  describe("prune", () => {
    it("olderThan leaves a living session that waits for a person, and ttl takes it", async () => {
      const { clock, store } = limited(kind);
      for (const id of ["active", "paused", "interrupted"]) await store.createSession(id, { agentType: "a" });
      await store.updateStatus("paused", "paused");
      await store.updateStatus("interrupted", "interrupted");
      const olderThan = clock.now() + 1;
      expect(await store.prune({ olderThan, dryRun: true })).toMatchObject({ sessions: 1 });
      expect(await store.prune({ olderThan })).toMatchObject({ sessions: 1 });
      expect(await store.sessionExists("paused")).toBe(true);
      expect(await store.prune({ olderThan, waiting: true, dryRun: true })).toMatchObject({ sessions: 2 });
      clock.pass(TTL);
      expect(await store.prune()).toMatchObject({ sessions: 2 });
    });

    it("removes what has expired, and says how much that was", async () => {
      const { clock, store } = limited(kind);
      await store.createSession("old", { agentType: "a" });
      await store.appendMessages("old", texts(3));
      for (const step of [1, 2]) await store.saveCheckpoint(checkpoint(step, { sessionId: "old" }));
      clock.pass(TTL);
      const plan = await store.prune({ dryRun: true });
      expect(plan).toMatchObject({ removed: 2, sessions: 1 });
      expect((await store.stats()).sessions).toBe(1);
      const progress: unknown[] = [];
      const pruned = await store.prune({ onProgress: (done) => progress.push(done) });
      expect(pruned).toMatchObject({ removed: 2, sessions: 1 });
      expect(progress.at(-1)).toEqual(pruned);
      expect(await store.stats()).toMatchObject({ sessions: 0, checkpoints: 0, records: 0 });
      expect(await store.prune()).toMatchObject({ removed: 0, sessions: 0 });
    });

    it("with olderThan removes the sessions whose last write was before, without any ttl", async () => {
      const { clock, store } = limited(kind, {});
      for (const id of ["a", "b"]) {
        await store.createSession(id, { agentType: "a" });
        await store.saveCheckpoint(checkpoint(1, { sessionId: id }));
        clock.pass(1_000);
      }
      await store.updateStatus("a", "running");
      const before = clock.time;
      expect(await store.prune({ olderThan: new Date(before) })).toMatchObject({ removed: 2, sessions: 1 });
      expect((await store.sessions()).sessions.map(({ sessionId }) => sessionId)).toEqual(["a"]);
      expect(await store.prune({ olderThan: before + 1 })).toMatchObject({ removed: 0, sessions: 1 });
    });

    it("with olderThan null or keepLastN alone removes no session", async () => {
      const { clock, store } = limited(kind);
      await store.createSession("s", { agentType: "a" });
      for (let step = 0; step < 5; step++) await store.saveCheckpoint(checkpoint(step));
      expect(await store.prune({ keepLastN: 2 })).toMatchObject({ removed: 3, sessions: 0 });
      clock.pass(TTL);
      expect(await store.prune({ olderThan: null })).toMatchObject({ removed: 0, sessions: 0 });
      expect(await store.stats()).toMatchObject({ sessions: 1, checkpoints: 2 });
    });

    it("stops at its signal, and refuses wrong options", async () => {
      const { store } = limited(kind);
      const reason = new Error("enough");
      await expect(store.prune({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      for (const options of [{ olderThan: "now" }, { dryRun: 1 }, { sessions: 1 }, null, 7]) {
        await expect(store.prune(options as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      }
      await expect(store.prune({ olderThan: Number.NaN })).rejects.toBeInstanceOf(RangeError);
    });
  });

  it("an open store's ttlMs is that of its sessions", async () => {
    const shared = await opened(place(kind), { ttlMs: TTL });
    // The open store expires checkpoints by the clock of the machine, so this clock starts there.
    const clock = new TestClock();
    clock.time = Date.now();
    const [store, other] = [at(shared, { now: clock.now }), at(shared, { now: clock.now })];
    await store.createSession("s", { agentType: "a" });
    await store.saveCheckpoint(checkpoint(1));
    clock.pass(TTL - 1);
    expect([await other.sessionExists("s"), (await other.listCheckpoints("s")).total]).toEqual([true, 1]);
    clock.pass(1);
    expect([await other.sessionExists("s"), (await other.listCheckpoints("s")).total]).toEqual([false, 0]);
    expect(await store.prune()).toMatchObject({ removed: 1, sessions: 1 });
    for (const options of [{ ttlMs: 1 }, { ttl: 1 }, { ttlMs: null }, { keepLastN: 1 }]) {
      expect(thrown(() => new SessionStore(shared, options)).code).toBe("INVALID_ARGUMENT");
    }
  });
});

describe("the options of expiry", () => {
  it.each<[object, typeof TypeError | typeof RangeError]>([
    [{ ttl: 1, ttlMs: 1_000 }, TypeError],
    [{ ttl: null, ttlMs: 1_000 }, TypeError],
    [{ ttl: -1 }, RangeError],
    [{ ttl: "1" }, TypeError],
    [{ ttl: Number.NaN }, RangeError],
    [{ ttl: 0.000_1 }, RangeError],
    [{ ttl: 2 ** 53 }, RangeError],
    [{ now: 7 }, TypeError],
    [{ now: null }, TypeError],
    [{ durabilty: "full" }, TypeError],
    [{ host: "localhost", ttl: 1 }, TypeError],
  ])("refuse %j", (options, type) => {
    const error = thrown(() => new SessionStore("memory:", options));
    expect(error).toBeInstanceOf(type);
    expect(error.code).toBe("INVALID_ARGUMENT");
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, "1", null, undefined, 2 ** 60])(
    "a clock that returns %s fails the call, and stores nothing",
    async (time) => {
      let now: unknown = time;
      const store = at("memory:", { now: () => now as number, ttlMs: 1_000 });
      await expect(store.createSession("s", { agentType: "a" })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      await expect(store.saveCheckpoint(checkpoint(1))).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      now = 1_000.9;
      expect(await store.stats()).toMatchObject({ sessions: 0, checkpoints: 0 });
      await store.createSession("s", { agentType: "a" });
      expect((await store.sessions()).sessions[0]!.createdAt).toBe(1_000);
    },
  );

  it("a clock that throws fails the call with a code, and the error is its cause", async () => {
    const broken = new Error("of the clock");
    const now = () => {
      throw broken;
    };
    const store = at("memory:", { now });
    const error = await failure(store.createSession("s", { agentType: "a" }), "INVALID_ARGUMENT");
    expect(error.message).toContain("of the clock");
    expect(error.cause).toBe(broken);
  });
});
