// Each test is named after a bug of another store for Helix sessions, which this store must not have.
import { describe, expect, it } from "vitest";
import { failure, ids, kinds } from "../helpers.js";
import { checkpoint, contents, logOf, make, stateOf, texts, withSession } from "./helpers.js";

describe.each(kinds)("bugs of other stores, over %s", (kind) => {
  it("the count of messages was stale after truncateMessages", async () => {
    const store = await withSession(kind);
    await store.appendMessages("s", texts(10));
    await store.truncateMessages("s", 4);
    expect(await store.getMessageCount("s")).toBe(4);
    expect((await store.getMessages("s")).total).toBe(4);
    await store.saveCheckpoint(checkpoint(1));
    expect((await store.getCheckpoint("s/1"))!.messageCount).toBe(4);
    await store.appendMessages("s", texts(1, 0, "next"));
    expect(await store.getMessageCount("s")).toBe(5);
    expect(await store.getMessages("s", { offset: 4 })).toEqual({
      messages: texts(1, 0, "next"),
      total: 5,
      hasMore: false,
    });
  });

  it("a checkpoint of another session was accepted", async () => {
    const store = await withSession(kind);
    await store.createSession("t", { agentType: "a" });
    await store.appendMessages("t", texts(2));
    await store.saveCheckpoint(checkpoint(1));
    const before = await store.loadState("t");
    expect(await store.getCheckpoint("t", "s/1")).toBeNull();
    await failure(store.rewindTo("t", "s/1"), "NOT_FOUND");
    await failure(store.saveCheckpoint(checkpoint(1, { id: "s/1", sessionId: "t" })), "CONFLICT");
    await failure(store.saveCheckpoint("t", checkpoint(2)), "INVALID_ARGUMENT");
    expect(await store.loadState("t")).toEqual(before);
    expect(await logOf(store, "t")).toEqual(["m0", "m1"]);
    expect((await store.listCheckpoints("t")).total).toBe(0);
    expect((await store.getCheckpoint("s", "s/1"))!.sessionId).toBe("s");
  });

  it("the session of a checkpoint was derived from its id", async () => {
    const store = await withSession(kind);
    const id = "cpv1-other-s1-t1-abcdef";
    await store.saveCheckpoint(checkpoint(1, { id }));
    expect((await store.getCheckpoint(id))!.sessionId).toBe("s");
    expect(await store.getCheckpoint("other", id)).toBeNull();
    expect((await store.listCheckpoints("other")).total).toBe(0);
    await store.deleteSession("other");
    expect((await store.getCheckpoint("s", id))!.id).toBe(id);
    expect((await store.rewindTo(id)).sessionId).toBe("s");
  });

  it("from_checkpoint did not rewind: the agent went on with the newest state and all messages", async () => {
    const store = await withSession(kind);
    for (let step = 1; step <= 3; step++) {
      await store.appendMessages("s", texts(2, step * 2 - 2));
      await store.mergeCustomState("s", { step });
      await store.incrementStepCount("s");
      const state = (await store.loadState("s"))!;
      await store.saveCheckpoint(checkpoint(step, { state }));
    }
    await store.rewindTo("s/1");
    expect(await store.loadState("s")).toMatchObject({ stepCount: 1, customState: { step: 1 } });
    expect((await store.getMessages("s")).messages).toEqual(texts(2));
    expect(await store.incrementStepCount("s")).toBe(2);
  });

  it("messageCount was 0", async () => {
    const store = await withSession(kind);
    await store.appendMessages("s", texts(3));
    await store.saveCheckpoint(checkpoint(1));
    await store.saveCheckpoint(checkpoint(2, { state: stateOf({ messages: texts(3) }) }));
    await store.saveCheckpoint({ ...checkpoint(3), messageCount: undefined } as never);
    for (const id of ["s/1", "s/2", "s/3"]) expect((await store.getCheckpoint(id))!.messageCount, id).toBe(3);
    await store.rewindTo("s/1");
    expect(await store.getMessageCount("s")).toBe(3);
  });

  it("messageCount was capped at 10,000", async () => {
    const store = await withSession(kind);
    await store.appendMessages("s", texts(10_050));
    await store.saveCheckpoint(checkpoint(1));
    const found = (await store.getCheckpoint("s/1"))!;
    expect([found.messageCount, found.state.messages.length]).toEqual([10_050, 10_050]);
    expect(found.state.messages.at(-1)).toEqual({ role: "user", content: "m10049" });
    await store.truncateMessages("s", 10_020);
    expect(await store.getMessageCount("s")).toBe(10_020);
    await store.rewindTo("s/1");
    expect(await store.getMessageCount("s")).toBe(10_050);
  });

  it("a commit that was sent again wrote its rows twice", async () => {
    const store = await withSession(kind);
    await store.appendMessages("s", texts(2));
    const commit = checkpoint(1, { state: stateOf({ messages: texts(2) }) });
    await store.saveCheckpoint(commit);
    const before = [await store.stats(), await store.getCheckpoint("s/1")];
    for (let i = 0; i < 3; i++) await store.saveCheckpoint(commit);
    await Promise.all([store.saveCheckpoint(commit), store.saveCheckpoint(commit)]);
    const [{ checkpoints, records }, found] = [await store.stats(), await store.getCheckpoint("s/1")];
    expect([{ checkpoints, records }, found]).toMatchObject(
      before.map((one, at) => (at === 0 ? { checkpoints: 1, records: 2 } : one)),
    );
    expect((await store.listCheckpoints("s")).total).toBe(1);
    expect(await logOf(store)).toEqual(["m0", "m1"]);
  });

  it("an old checkpoint showed the messages of a newer branch", async () => {
    const store = await withSession(kind);
    await store.appendMessages("s", texts(4));
    await store.saveCheckpoint(checkpoint(1, { state: stateOf({ messages: texts(4) }), messageCount: 4 }));
    await store.truncateMessages("s", 2);
    await store.appendMessages("s", texts(2, 0, "new branch "));
    expect(contents((await store.getCheckpoint("s/1"))!.state.messages)).toEqual(["m0", "m1", "m2", "m3"]);
  });

  it("a listing without options was cut at a default limit, and a large limit wrapped", async () => {
    const store = make(kind);
    for (let step = 0; step < 120; step++) await store.saveCheckpoint(checkpoint(step));
    expect((await store.listCheckpoints("s")).items).toHaveLength(120);
    const { items, hasMore } = await store.listCheckpoints("s", { offset: 118, limit: 2 ** 53 - 1 });
    expect([ids(items), hasMore]).toEqual([["s/1", "s/0"], false]);
  });

  it("createSession overwrote a session that existed", async () => {
    const store = await withSession(kind);
    await store.appendMessages("s", texts(1));
    await store.saveCheckpoint(checkpoint(1));
    await failure(store.createSession("s", { agentType: "other" }), "CONFLICT");
    expect((await store.loadState("s"))!.agentType).toBe("tester");
    expect([await logOf(store), (await store.listCheckpoints("s")).total]).toEqual([["m0"], 1]);
  });

  it("deleteSession matched ids by a pattern", async () => {
    const store = make(kind);
    for (const id of ["a", "ab", "a%", "a:b", "_"]) await store.createSession(id, { agentType: "a" });
    for (const id of ["a%", "_", "a"]) await store.deleteSession(id);
    const left = (await store.sessions()).sessions.map(({ sessionId }) => sessionId);
    expect(left).toEqual(["a:b", "ab"]);
  });
});
