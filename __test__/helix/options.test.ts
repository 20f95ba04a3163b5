// Tests the options of a session store: serializers and limits, and the methods that tell or save storage.
import { type Serializer } from "forkpoint";
import { type SessionStoreOptions } from "forkpoint/helix";
import { describe, expect, it } from "vitest";
import { failure, ids, kinds, wrongType } from "../helpers.js";
import { checkpoint, logOf, make, stateOf, texts, withSession } from "./helpers.js";

/** A serializer whose bytes no built-in serializer can read. */
const hex: Serializer = {
  name: "hex",
  serialize: (value) => Buffer.from(Buffer.from(JSON.stringify(value)).toString("hex")),
  deserialize: (bytes) => JSON.parse(Buffer.from(Buffer.from(bytes).toString(), "hex").toString()),
};

describe.each(kinds)("serializers over %s", (kind) => {
  it.each<[string, SessionStoreOptions["serializer"]]>([
    ["json", "json"],
    ["v8", "v8"],
    ["the user's own", hex],
  ])("%s stores every value of a session", async (_, serializer) => {
    const store = make(kind, { serializer: serializer! });
    await store.createSession("s", { agentType: "a", initialState: { a: [1] }, extra: { b: null } });
    await store.appendMessages("s", texts(3));
    await store.mergeCustomState("s", { values: { a: [2] }, arrayReplacements: new Set() });
    await store.stageChanges("s", { c: "née 🜁" });
    expect(await store.getStaging("s")).toEqual([{ c: "née 🜁" }]);
    await store.promoteStaging("s");
    await store.startRun("s", { runId: "r", input: "x" });
    await store.addSubSession("s", { id: "child" });
    const state = (await store.loadState("s"))!;
    expect(state).toMatchObject({ customState: { a: [1, 2], c: "née 🜁" }, extra: { b: null } });
    await store.saveCheckpoint(checkpoint(1, { state: { ...state, messages: texts(3) }, label: "l" }));
    await store.saveCheckpoint(checkpoint(2, { state: { ...state, messages: texts(1, 9) } }));
    await store.truncateMessages("s", 1);
    expect(await store.getCheckpoint("s/1")).toMatchObject({
      label: "l",
      state: { messages: texts(3), extra: { b: null } },
    });
    expect((await store.getCheckpoint("s/2"))!.state.messages).toEqual(texts(1, 9));
    await store.rewindTo("s/1");
    expect(await logOf(store)).toHaveLength(3);
    await store.branchSession("s/2", "t");
    expect((await store.loadState("t"))!.messages).toEqual(texts(1, 9));
    expect([await store.listRuns("s"), await store.listSubSessions("s")]).toMatchObject([
      [{ input: "x" }],
      [{ id: "child" }],
    ]);
  });
});

describe.each(kinds)("limits over %s", (kind) => {
  it("keepLastN keeps the newest checkpoints of each session, whole, and the session itself", async () => {
    const store = await withSession(kind, { keepLastN: 2 });
    for (let step = 0; step < 6; step++) {
      await store.appendMessages("s", texts(1, step));
      await store.saveCheckpoint(checkpoint(step));
      await store.saveCheckpoint(checkpoint(step, { sessionId: "t" }));
    }
    for (const id of ["s", "t"]) {
      expect(ids((await store.listCheckpoints(id)).items)).toEqual([`${id}/5`, `${id}/4`]);
      expect((await store.listCheckpoints(id)).total).toBe(2);
    }
    expect((await store.getCheckpoint("s/4"))!.state.messages).toEqual(texts(5));
    await store.rewindTo("s/4");
    expect(await logOf(store)).toHaveLength(5);
    expect((await store.stats()).sessions).toBe(1);
  });

  it("maxBytes removes the oldest checkpoints, and no session, message or newest checkpoint", async () => {
    const store = await withSession(kind);
    await store.appendMessages("s", texts(3));
    const noise = () => Array.from({ length: 2_000 }, () => Math.random());
    for (let step = 0; step < 10; step++) {
      await store.saveCheckpoint(checkpoint(step, { state: stateOf({ customState: { noise: noise() } }) }));
    }
    const { removed, sessions } = await store.prune({ maxBytes: 40_000 });
    expect([removed > 0, sessions]).toEqual([true, 0]);
    const { items, total } = await store.listCheckpoints("s");
    expect([ids(items)[0], total]).toEqual(["s/9", 10 - removed]);
    await store.prune({ maxBytes: 1 });
    expect(ids((await store.listCheckpoints("s")).items)).toEqual(["s/9"]);
    expect([await store.sessionExists("s"), await logOf(store)]).toEqual([true, ["m0", "m1", "m2"]]);
  });

  it("maxPayloadBytes refuses larger checkpoints, states and messages, and nothing is stored", async () => {
    const store = await withSession(kind, { maxPayloadBytes: 10_000 });
    const large = { text: "x".repeat(20_000) };
    await failure(store.saveCheckpoint(checkpoint(1, { state: stateOf({ customState: large }) })), "INVALID_ARGUMENT");
    await failure(store.appendMessages("s", [...texts(1), { role: "user", content: large }]), "INVALID_ARGUMENT");
    await failure(store.saveState("s", stateOf({ customState: large })), "INVALID_ARGUMENT");
    await failure(store.mergeCustomState("s", large), "INVALID_ARGUMENT");
    await failure(store.stageChanges("s", large), "INVALID_ARGUMENT");
    expect((await store.loadState("s"))!.customState).toEqual({});
    expect(await store.stats()).toMatchObject({ sessions: 1, checkpoints: 0, records: 0 });
    // A checkpoint that shares the messages of its session does not hold them.
    await store.appendMessages("s", texts(20, 0, "x".repeat(1_000)));
    await store.saveCheckpoint(checkpoint(1));
    expect((await store.getCheckpoint("s/1"))!.state.messages).toHaveLength(20);
  });
});

describe.each(kinds)("storage over %s", (kind) => {
  it("stats counts sessions, checkpoints and messages, and lists the largest sessions", async () => {
    const store = make(kind);
    expect(await store.stats()).toMatchObject({ sessions: 0, checkpoints: 0, records: 0, ratio: 1, largest: [] });
    for (const [id, count] of Object.entries({ small: 1, large: 5 })) {
      await store.createSession(id, { agentType: "a" });
      await store.appendMessages(id, texts(count));
      for (let step = 0; step < count; step++) await store.saveCheckpoint(checkpoint(step, { sessionId: id }));
    }
    const stats = await store.stats({ largest: 1 });
    expect(stats).toMatchObject({ sessions: 2, checkpoints: 6, records: 6 });
    expect(stats.largest).toMatchObject([{ sessionId: "large", checkpoints: 5 }]);
    expect(Object.keys(stats.largest[0]!).toSorted()).toEqual([
      "checkpoints",
      "logicalBytes",
      "sessionId",
      "storedBytes",
    ]);
    expect(stats).not.toHaveProperty("lineages");
    for (const options of [{ largest: "1" }, { most: 1 }, null]) await wrongType(store.stats(options as never));
  });

  it("messages that nothing names any more are removed", async () => {
    const store = await withSession(kind);
    await store.appendMessages("s", texts(10));
    await store.saveCheckpoint(checkpoint(1));
    await store.truncateMessages("s", 0);
    expect((await store.stats()).records).toBe(10);
    await store.saveCheckpoint(checkpoint(1));
    expect((await store.stats()).records).toBe(0);
    await store.appendMessages("s", texts(3));
    await store.truncateMessages("s", 1);
    expect((await store.stats()).records).toBe(1);
  });
});
