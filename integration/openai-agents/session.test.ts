// Tests sessions beyond their contract: what is refused, rewinds, forks, trims, leases, retention, the inspector.
// forkpoint-conformance.test.ts states the contract.
// @module-tag threads
import {
  type AgentInputItem,
  type Session,
  type SessionHistoryRewriteAwareSession,
  type SessionHistoryTransaction,
  type SessionHistoryTransactionAwareSession,
  UserError,
  isOpenAIResponsesCompactionAwareSession,
  isRunContextAwareSession,
  isSessionHistoryRewriteAwareSession,
  isSessionHistoryTransactionAwareSession,
} from "@openai/agents";
import { copyStore, openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { ForkpointSession } from "forkpoint/openai-agents";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { everyKind, kinds, place, rejection, sharedKinds } from "../../__test__/helpers.js";
import { expectSizes } from "../../__test__/sizes.js";
import { call, make, result, sessionAt, shared, sides, texts, user } from "./helpers.js";

const append = (operationId: string, items: unknown[]) => ({
  operationId,
  transaction: { type: "append_items", items } as SessionHistoryTransaction,
});
const replace = (operationId: string, expectedSuffix: unknown[], replacement: unknown[]) => ({
  operationId,
  transaction: { type: "replace_suffix", expectedSuffix, replacement } as SessionHistoryTransaction,
});

/** Expects the SDK's class of errors. Ours has a code, too. */
async function refused(promise: Promise<unknown>, code?: string): Promise<Error> {
  const error = await rejection(promise);
  expect(error).toBeInstanceOf(UserError);
  if (code !== undefined && error.code !== undefined) expect(error.code).toBe(code);
  return error;
}

function thrown(): never {
  throw new Error("secret");
}

describe.each(sides)("a session of the OpenAI Agents SDK: %s", (side) => {
  it("keeps values exactly", async () => {
    const bytes = new Uint8Array([0, 255]);
    const odd = { none: undefined, bytes, nan: Number.NaN, zero: -0, text: "\ud800\u0000é", list: [undefined, null] };
    const item = user("0", { providerData: { ...odd, nested: [[odd]] } });
    const session = await make(side, [item]);
    const [read] = await session.getItems();
    expect(read).toStrictEqual(item);
    await session.applyHistoryTransaction(replace("o", [item], [user("1")]));
    expect(await texts(session)).toEqual(["1"]);
  });

  it("refuses what is no transaction before anything is changed", async () => {
    const session = await make(side, [user("start")]);
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    const withData = (providerData: unknown) => [user("0", { providerData })];
    const hidden = Object.defineProperty(user("0"), "providerData", { value: {}, enumerable: false });
    const getter = Object.defineProperty(user("0"), "providerData", { get: () => ({}), enumerable: true });
    const wrong: Array<readonly [string, unknown]> = [
      ...[42, null, "text", {}, [], user(1 as unknown as string)].map((item) => ["append_items", [item]] as const),
      ...[new Date(0), cycle, 42n, new Map(), new Uint16Array(1), () => 0, Symbol("secret")].map(
        (value) => ["append_items", withData({ value })] as const,
      ),
      ["append_items", Array.from({ length: 1 })],
      ["append_items", [hidden]],
      ["append_items", [getter]],
      ["append_items", new Proxy([user("0")], {})],
      ["append_items", [Object.assign(user("0"), { [Symbol("secret")]: 1 })]],
      ["append_items", Object.assign([user("0")], { more: 1 })],
      ["append_items", "items"],
      ["append_items", undefined],
      ["unknown", []],
    ];
    for (const [type, items] of wrong) {
      const error = await refused(
        session.applyHistoryTransaction({ operationId: "o", transaction: { type, items } as never }),
        "INVALID_ARGUMENT",
      );
      expect(error.message).not.toContain("secret");
    }
    for (const args of [
      null,
      undefined,
      {},
      append(" ", []),
      append(7 as never, []),
      { operationId: "o", transaction: null },
      { operationId: "o", transaction: { type: "append_items", items: [], more: 1 } },
      { operationId: "o", transaction: { type: "replace_suffix", expectedSuffix: [], replacement: [], more: 1 } },
      { operationId: "o", transaction: { type: "replace_suffix", replacement: [] } },
      {
        get operationId(): string {
          return thrown();
        },
      },
    ]) {
      const error = await refused(session.applyHistoryTransaction(args as never), "INVALID_ARGUMENT");
      expect(error.message).not.toContain("secret");
    }
    expect(await texts(session)).toEqual(["start"]);
    await session.applyHistoryTransaction(append("o", [user("retry")]));
    expect(await texts(session)).toEqual(["start", "retry"]);
  });

  it("copies shared bytes, and takes plain objects without a prototype for equal", async () => {
    const session = await make(side);
    const bytes = new Uint8Array(new SharedArrayBuffer(2));
    bytes.set([3, 7]);
    const bare = Object.assign(Object.create(null), { bytes, source: "provider" }) as object;
    const applied = session.applyHistoryTransaction(append("o", [user("0", { providerData: bare })]));
    bytes[0] = 9;
    await applied;
    const plain = user("0", { providerData: { source: "provider", bytes: new Uint8Array([3, 7]) } });
    await session.applyHistoryTransaction(append("o", [plain]));
    expect(await session.getItems()).toEqual([plain]);
    await session.applyHistoryTransaction(replace("p", [plain], [user("1")]));
    expect(await texts(session)).toEqual(["1"]);
  });

  it("reads the id of the operation once", async () => {
    const session = await make(side);
    let reads = 0;
    const args = { ...append("", [user("once")]) };
    Object.defineProperty(args, "operationId", { get: () => (++reads === 1 ? "first" : "second") });
    await session.applyHistoryTransaction(args);
    expect(reads).toBe(1);
    await refused(session.applyHistoryTransaction(append("first", [])), "CONFLICT");
  });
});

describe.each(kinds)("a session over %s", (kind) => {
  it("has the methods that the runner looks for, and no others", () => {
    const session: Session & SessionHistoryTransactionAwareSession & SessionHistoryRewriteAwareSession = sessionAt(
      place(kind),
    );
    expect(isSessionHistoryTransactionAwareSession(session)).toBe(true);
    expect(isSessionHistoryRewriteAwareSession(session)).toBe(true);
    expect(isOpenAIResponsesCompactionAwareSession(session)).toBe(false);
    expect(isRunContextAwareSession(session)).toBe(false);
    for (const name of [
      "prepareHistoryItemForModelInput",
      "prepareHistoryItemsForPersistenceComparison",
      "preserveReasoningItemIdsForPersistence",
      "runCompaction",
    ]) {
      expect(name in session).toBe(false);
    }
  });

  it("makes up an id, and stores nothing for it", async () => {
    const target = await shared(kind);
    const [one, other] = [new ForkpointSession(target), new ForkpointSession(target)];
    const ids = [await one.getSessionId(), await other.getSessionId(), await one.getSessionId()];
    expect(ids[0]).toMatch(/^[\da-f-]{36}$/);
    expect(ids[0]).toBe(ids[2]);
    expect(ids[0]).not.toBe(ids[1]);
    await Promise.all([one.close(), other.close()]);
    expect(await ForkpointSession.list(target)).toEqual([]);
  });

  it("differs from MemorySession: a limit that is no whole number", async () => {
    const session = sessionAt(place(kind));
    for (const limit of [1.5, Number.NaN]) {
      expect(await rejection(session.getItems(limit))).toBeInstanceOf(RangeError);
    }
    expect(await session.getItems(-1.5)).toEqual([]);
    for (const limit of ["1", null, {}]) {
      expect(await rejection(session.getItems(limit as never))).toBeInstanceOf(TypeError);
    }
  });

  it("refuses wrong arguments before anything is stored", async () => {
    const session = sessionAt(place(kind));
    for (const items of [undefined, null, "items", { length: 1 }, [null], [1], [[]], Array.from({ length: 1 })]) {
      expect(await rejection(session.addItems(items as never))).toMatchObject({ code: "INVALID_ARGUMENT" });
      expect(await rejection(session.replaceHistoryWithCompaction(items as never))).toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    }
    const getter = Object.defineProperty(user("1"), "content", { get: () => thrown(), enumerable: true });
    expect(await rejection(session.addItems([user("0"), getter]))).toMatchObject({ code: "INVALID_ARGUMENT" });
    for (const mutations of [undefined, "a", [null], [{}], [{ type: "replace_function_call", callId: 1 }]]) {
      expect(await rejection(session.applyHistoryMutations({ mutations } as never))).toBeInstanceOf(TypeError);
    }
    expect(await rejection(session.applyHistoryMutations(undefined as never))).toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect(await session.getItems()).toEqual([]);
    for (const sessionId of ["", 7, null, {}, "\ud800"]) {
      expect(() => new ForkpointSession("memory:", { sessionId } as never)).toThrow(/sessionId/);
    }
    expect(() => new ForkpointSession("memory:", { agents: {} } as never)).toThrow(TypeError);
    expect(() => new ForkpointSession("memory:", { unknown: 1 } as never)).toThrow(TypeError);
  });

  it("keeps the order of calls that are not awaited", async () => {
    const session = sessionAt(place(kind));
    const calls = Array.from({ length: 30 }, (_, n) => session.addItems([user(`${n}`), user(`${n}b`)]));
    const popped = session.popItem();
    const after = session.addItems([user("end")]);
    const read = session.getItems(2);
    await Promise.all([...calls, after]);
    expect([await popped, await read]).toEqual([user("29b"), [user("29"), user("end")]]);
    expect(await texts(session)).toHaveLength(60);
  });

  it("rewinds", async () => {
    const session = sessionAt(place(kind));
    await session.rewind(0);
    expect(await rejection(session.rewind(1))).toBeInstanceOf(RangeError);
    await session.addItems([user("0"), user("1"), user("2")]);
    await session.applyHistoryTransaction(append("o", []));
    await session.rewind(3);
    await refused(session.applyHistoryTransaction(append("o", [user("x")])), "CONFLICT");
    await session.rewind(1);
    expect(await texts(session)).toEqual(["0"]);
    await session.applyHistoryTransaction(append("o", [user("x")]));
    expect(await texts(session)).toEqual(["0", "x"]);
    for (const wrong of [3, -1, 1.5, Number.NaN])
      expect(await rejection(session.rewind(wrong))).toBeInstanceOf(RangeError);
    expect(await rejection(session.rewind("1" as never))).toBeInstanceOf(TypeError);
    await session.rewind(0);
    expect(await session.getItems()).toEqual([]);
  });

  it("keeps a call whose result is still to come, unless it is forced to", async () => {
    const session = sessionAt(place(kind));
    const waiting = [user("0"), call("a"), result("a"), user("1"), call("b"), call("c"), result("c")];
    await session.addItems(waiting);
    for (const keep of [0, 4]) {
      const error = await rejection(session.rewind(keep));
      expect(error).toMatchObject({ name: "ForkpointError", code: "CONFLICT" });
      expect(error.message).toContain('the call "b" of "send" has no result');
    }
    expect(await session.trim(0)).toBe(4);
    expect(await session.getItems()).toEqual(waiting.slice(4));
    await session.rewind(1);
    await session.addItems([result("b")]);
    await session.rewind(0);
    await session.addItems(waiting);
    await session.rewind(1, { force: true });
    // A message after the call has given it up.
    await session.addItems([call("b"), user("never mind")]);
    await session.rewind(0);
    expect(await session.getItems()).toEqual([]);
    expect(await rejection(session.rewind(0, { force: 1 } as never))).toBeInstanceOf(TypeError);
  });

  it("forks: both sessions go on by themselves", async () => {
    const target = await shared(kind);
    const session = sessionAt(target);
    expect(await (await session.fork("of nothing")).getItems()).toEqual([]);
    await session.addItems([user("0"), user("1"), user("2")]);
    await session.applyHistoryTransaction(append("o", []));
    const whole = await session.fork("whole");
    const part = await session.fork("part", 1);
    const none = await session.fork("none", 0);
    expect(await part.getSessionId()).toBe("part");
    await session.rewind(2);
    await session.addItems([user("3")]);
    await whole.addItems([user("w")]);
    await part.addItems([user("p")]);
    await none.addItems([user("n")]);
    const all = await Promise.all([session, whole, part, none].map(texts));
    expect(all).toEqual([["0", "1", "3"], ["0", "1", "2", "w"], ["0", "p"], ["n"]]);
    // A fork has no operations.
    await whole.applyHistoryTransaction(append("o", [user("again")]));
    for (const name of ["whole", "s"]) {
      expect(await rejection(session.fork(name))).toMatchObject({ name: "ForkpointError", code: "CONFLICT" });
    }
    await part.clearSession();
    expect(await texts(await session.fork("part"))).toEqual(["0", "1", "3"]);
    await none.popItem();
    expect(await texts(await session.fork("none", 2))).toEqual(["0", "1"]);
    expect(await rejection(session.fork("more", 4))).toBeInstanceOf(RangeError);
    expect(await rejection(session.fork(""))).toBeInstanceOf(TypeError);
    await session.clearSession();
    expect(await texts(whole)).toEqual(["0", "1", "2", "w", "again"]);
    const listed = (await ForkpointSession.list(target instanceof URL ? target : target)).map(
      ({ sessionId }) => sessionId,
    );
    expect(listed.toSorted()).toEqual(["none", "part", "whole"]);
  });

  it("removes the oldest items, and never a call without its result", async () => {
    const items = [
      user("0"),
      { type: "reasoning", content: [] } as unknown as AgentInputItem,
      call("a"),
      user("1"),
      result("a"),
      user("2"),
      user("3"),
    ];
    const session = sessionAt(place(kind));
    await session.addItems(items);
    expect([await session.trim(99), await session.trim(7)]).toEqual([0, 0]);
    expect(await session.trim(3)).toBe(1);
    expect(await session.getItems()).toEqual(items.slice(1));
    expect(await session.trim(2)).toBe(4);
    expect(await session.getItems()).toEqual(items.slice(5));
    expect(await session.trim(0)).toBe(2);
    expect(await session.getItems()).toEqual([]);
    expect(await rejection(session.trim(-1))).toBeInstanceOf(RangeError);
  });

  it("the session that was saved last comes first and stays, although the clock steps back", async () => {
    const target = await shared(kind);
    const now = Date.now();
    const clock = vi.spyOn(Date, "now");
    onTestFinished(() => clock.mockRestore());
    const HOUR = 3_600_000;
    const session = sessionAt(target, "a");
    for (const [name, at] of [
      ["a", now],
      ["b", now - HOUR],
      ["c", now - 2 * HOUR],
      ["b", now - 3 * HOUR],
    ] as const) {
      clock.mockReturnValue(at);
      await sessionAt(target, name).addItems([user("0")]);
      expect((await ForkpointSession.list(target, { limit: 1 }))[0]!.sessionId).toBe(name);
    }
    // The time is shown as it was.
    const listed = await ForkpointSession.list(target);
    expect(listed).toEqual([
      { sessionId: "b", updatedAt: now - 3 * HOUR },
      { sessionId: "c", updatedAt: now - 2 * HOUR },
      { sessionId: "a", updatedAt: now },
    ]);
    clock.mockReturnValue(now);
    expect(await session.prune({ keepSessions: 2 })).toEqual({ sessions: 1 });
    expect((await ForkpointSession.list(target)).map(({ sessionId }) => sessionId)).toEqual(["b", "c"]);
    // Rules about age go by the time.
    expect(await session.prune({ olderThan: now - 2.5 * HOUR })).toEqual({ sessions: 1 });
    expect((await ForkpointSession.list(target)).map(({ sessionId }) => sessionId)).toEqual(["c"]);
  });

  it("retention leaves a session whose last call has no result", async () => {
    const store = await openStore(place(kind));
    onTestFinished(() => store.close());
    const call = {
      type: "function_call",
      callId: "call-1",
      name: "pay",
      arguments: "{}",
      status: "completed",
    } as const;
    const output = { type: "text", text: "paid" } as const;
    const result = {
      type: "function_call_result",
      callId: "call-1",
      name: "pay",
      status: "completed",
      output,
    } as const;
    const waits = sessionAt(store, "waits");
    await waits.addItems([user("pay"), call]);
    await sessionAt(store, "done").addItems([user("pay"), call, result]);
    const names = async () => (await ForkpointSession.list(store)).map(({ sessionId }) => sessionId);
    const olderThan = Date.now() + 3_600_000;
    expect(await waits.prune({ olderThan, dryRun: true })).toEqual({ sessions: 1 });
    expect(await waits.prune({ olderThan })).toEqual({ sessions: 1 });
    await sessionAt(store, "later").addItems([user("0")]);
    expect(await waits.prune({ keepSessions: 1 })).toEqual({ sessions: 0 });
    expect(await names()).toEqual(["later", "waits"]);
    expect(await waits.prune({ keepSessions: 1, waiting: true, dryRun: true })).toEqual({ sessions: 1 });
    await waits.addItems([result]);
    expect(await waits.prune({ olderThan })).toEqual({ sessions: 2 });
    await waits.addItems([user("pay"), call]);
    expect(await waits.prune({ olderThan, waiting: true })).toEqual({ sessions: 1 });
  });

  it("the size of a session is that of its items", async () => {
    const store = await openStore(place(kind));
    onTestFinished(() => store.close());
    await sessionAt(store, "large").addItems(
      Array.from({ length: 20 }, (_, n) => user(Array.from({ length: 99 }, (_, at) => n * 1_000 + at).join(" "))),
    );
    await sessionAt(store, "small").addItems([user("0")]);
    await expectSizes(store, { space: "openai-agents" });
  });

  it("lists and removes sessions by age and number", async () => {
    const target = await shared(kind);
    const sessions = ["a", "b", "c"].map((name) => sessionAt(target, name));
    for (const session of sessions) {
      await session.addItems([user("0")]);
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    await sessions[0]!.addItems([user("1")]);
    const names = async (limit?: number) =>
      (await ForkpointSession.list(target, limit === undefined ? undefined : { limit })).map(
        ({ sessionId }) => sessionId,
      );
    expect([await names(), await names(1), await names(0)]).toEqual([["a", "c", "b"], ["a"], []]);
    const { updatedAt } = (await ForkpointSession.list(target))[0]!;
    expect(Math.abs(Date.now() - updatedAt)).toBeLessThan(60_000);
    expect(await sessions[0]!.prune({ keepSessions: 1, dryRun: true })).toEqual({ sessions: 2 });
    expect(await sessions[0]!.prune({ keepSessions: 2 })).toEqual({ sessions: 1 });
    expect(await names()).toEqual(["a", "c"]);
    expect(await sessions[0]!.prune({ olderThan: updatedAt })).toEqual({ sessions: 1 });
    expect(await sessions[0]!.prune()).toEqual({ sessions: 0 });
    expect(await names()).toEqual(["a"]);
    expect(await rejection(sessions[0]!.prune({ keepSessions: -1 }))).toBeInstanceOf(RangeError);
  });

  it("says that it is closed", async () => {
    const session = sessionAt(place(kind));
    const forked = await session.fork("t");
    await session.close();
    await session.close();
    for (const work of [
      session.getItems(),
      session.getItems(0),
      session.addItems([user("0")]),
      session.popItem(),
      session.clearSession(),
      session.applyHistoryTransaction(append("o", [])),
      session.replaceHistoryWithCompaction([]),
      session.applyHistoryMutations({ mutations: [] }),
      session.rewind(0),
      session.fork("u"),
      session.trim(0),
      forked.addItems([user("0")]),
    ]) {
      expect(await rejection(work)).toMatchObject({ name: "ForkpointError", code: "CLOSED" });
    }
    expect(await session.getSessionId()).toBe("s");
  });

  it("writes with a lease only while it is held", async () => {
    const session = sessionAt(place(kind));
    const lease = await session.lease({ space: "openai-agents", run: "s" });
    const mine = session.withLease(lease);
    await mine.addItems([user("0")]);
    expect(await texts(session)).toEqual(["0"]);
    await lease.release();
    for (const work of [mine.addItems([user("1")]), mine.popItem(), mine.clearSession(), mine.rewind(0)]) {
      expect(await rejection(work)).toMatchObject({ code: "CONFLICT" });
    }
    expect(await texts(mine)).toEqual(["0"]);
    await expect(session.lease({ space: "openai-agents", run: "s", ns: "x" })).rejects.toThrow(TypeError);
  });
});

describe.each(kinds)("the inspector over %s", (kind) => {
  it("shows a session as a run with its items, and removes it", async () => {
    const target = await shared(kind);
    const store = typeof target === "object" && "check" in target ? target : await openStore(target);
    onTestFinished(() => store.close());
    const session = sessionAt(store);
    await session.addItems([user("0"), user("1")]);
    const forked = await session.fork("t", 1);
    await using inspector = await openInspector(store, { write: true });
    const run = { space: "openai-agents", run: "s" };
    const { items } = await inspector.runs({ space: "openai-agents" });
    expect(items.map((one) => [one.run, one.forkedFrom?.run])).toEqual([
      ["t", "s"],
      ["s", undefined],
    ]);
    const detail = await inspector.checkpoint({ ...run, id: "s" });
    expect(detail!.state).toEqual({ items: [user("0"), user("1")] });
    expect(await rejection(inspector.fork({ ...run, id: "s" }, {}))).toMatchObject({ code: "UNSUPPORTED" });
    const copy = await openStore("memory:");
    onTestFinished(() => copy.close());
    await copyStore(store, copy);
    expect(await texts(sessionAt(copy))).toEqual(["0", "1"]);
    expect(await texts(sessionAt(copy, "t"))).toEqual(["0"]);
    await inspector.remove(run);
    expect([await session.getItems(), await texts(forked)]).toEqual([[], ["0"]]);
  });
});

describe.each(sharedKinds)("a session that was closed, over %s", (kind) => {
  it("goes on, and is removed when its time is over", async () => {
    const target = place(kind);
    const before = sessionAt(target);
    await before.addItems([user("0")]);
    await before.applyHistoryTransaction(append("o", []));
    await before.close();
    const after = sessionAt(target, "s", { ttlMs: 1_000 });
    await refused(after.applyHistoryTransaction(append("o", [user("1")])), "CONFLICT");
    expect(await texts(after)).toEqual(["0"]);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await after.prune()).toEqual({ sessions: 1 });
    expect(await after.getItems()).toEqual([]);
  });
});

describe.each(everyKind)("the items of a session over %s", (kind) => {
  it("are serialized as the option says", async () => {
    const target = place(kind);
    const json = new ForkpointSession(target, { sessionId: "s", serializer: "json" });
    await json.addItems([user("0", { none: undefined })]);
    expect(await json.getItems()).toStrictEqual([user("0")]);
    await json.close();
  });
});
