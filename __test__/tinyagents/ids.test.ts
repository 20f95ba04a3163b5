// Tests ids and namespaces: a store must treat each as an opaque text, and no text may mean anything to it.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failure, folder, kinds, wrongType } from "../helpers.js";
import { type Kind, at, chain, everything, idsOf, make, write } from "./helpers.js";

/** Ids of which some are the beginning of others, or look like what a store may add to an id. */
const hostile = [
  "a",
  "1",
  "1:a",
  "1:a0:",
  "3:1:a",
  "1:",
  ":",
  "0:",
  "A",
  "a ",
  " a",
  "ab",
  "../../x",
  "..",
  ".",
  "/",
  "\\",
  "C:\\x",
  "CON",
  "con.jsonl",
  "NUL",
  "a.jsonl",
  "%",
  "%2F",
  "a%",
  "_",
  "*",
  "?",
  '"',
  "'",
  "'; DROP TABLE checkpoint; --",
  "`",
  "a\nb",
  "a\r\nb",
  "\t",
  "\u0000",
  "a\u0000",
  "a\u0000b",
  "[]",
  '["a"]',
  'a["n"]',
  "{}",
  "null",
  "undefined",
  "0",
  "-1",
  "__proto__",
  "constructor",
  "toString",
  "👩‍👩‍👧",
  "🜁 née",
  "ne\u0301e",
  "\u202Eabc",
  "\uFEFFa",
  "\uFFFD",
  "x".repeat(300),
  "é".repeat(300),
  `${"x".repeat(299)}y`,
];

const notIds: unknown[] = [undefined, null, 7, 0, true, {}, [], ["a"], Symbol("a"), 1n, () => "a", Object("a")];

const halves = ["\ud83d", "\ude00", "a\ud83d", "\ude00a"];

describe.each(kinds)("on %s", (kind: Kind) => {
  it("hostile thread ids are ids like others", async () => {
    const store = make(kind, { durability: "off" });
    for (const threadId of hostile) {
      for (const namespace of [[], ["n"]]) {
        await store.put({ threadId, checkpointId: "c", namespace, state: [threadId, namespace], runId: threadId });
        await store.putWrites({ threadId, checkpointId: "c", namespace }, [write({ payload: threadId })]);
      }
    }
    expect(await store.listThreads()).toEqual(hostile);
    const before = new Map<string, object[]>();
    for (const threadId of hostile) {
      before.set(threadId, await everything(store, threadId));
      expect(before.get(threadId)).toHaveLength(2);
      expect((await store.get(threadId, null, []))!.state).toEqual([threadId, []]);
      expect((await store.get(threadId))!.state).toEqual([threadId, ["n"]]);
      expect(await store.stateHistory(threadId, ["n"])).toMatchObject([{ threadId, state: [threadId, ["n"]] }]);
      expect(await store.getWrites({ threadId, namespace: ["n"] })).toEqual([write({ payload: threadId })]);
    }
    // Removing one removes nothing of another.
    for (const [n, threadId] of hostile.entries()) {
      if (n % 4 === 0) await store.deleteThread(threadId);
      if (n % 4 === 1) expect(await store.deleteCheckpoints(threadId, ["c"])).toBe(2);
      if (n % 4 === 2) expect(await store.deleteByRun(threadId, threadId)).toBe(2);
      if (n % 4 === 3) {
        await store.copyThread(threadId, `copy of ${threadId}`);
        expect(await store.list(`copy of ${threadId}`)).toHaveLength(2);
        await store.deleteThread(`copy of ${threadId}`);
        await store.deleteThread(threadId);
      }
      for (const other of hostile.slice(0, n + 1)) expect(await store.list(other)).toEqual([]);
      const next = hostile[n + 1];
      if (next !== undefined) expect(await everything(store, next)).toEqual(before.get(next));
      expect(await store.listThreads()).toEqual(hostile.slice(n + 1));
    }
  });

  it("hostile checkpoint ids, run ids and names are kept as they are", async () => {
    const store = make(kind, { durability: "off" });
    for (const [n, id] of hostile.entries()) {
      await store.put({
        threadId: "t",
        checkpointId: id,
        parentCheckpointId: hostile[n - 1] ?? null,
        runId: id,
        nextNodes: [id],
        state: id,
        metadata: { [id]: id },
      });
      const fields = { node: id, taskId: id, channel: id, payload: id };
      await store.putWrites({ threadId: "t", checkpointId: id }, [write(fields)]);
    }
    expect(idsOf(await store.list("t"))).toEqual(hostile);
    expect(idsOf(await store.stateHistory("t"))).toEqual(hostile.toReversed());
    for (const [n, id] of hostile.entries()) {
      expect(await store.getTuple({ threadId: "t", checkpointId: id })).toMatchObject({
        config: { checkpointId: id },
        checkpoint: { checkpointId: id, runId: id, nextNodes: [id], state: id },
        pendingWrites: [{ node: id, taskId: id, channel: id, payload: id }],
      });
      const listed = await store.list("t", { filter: { [id]: id } });
      expect(idsOf(listed)).toEqual([id]);
      expect(await store.list("t", { before: id })).toHaveLength(n);
    }
    for (const [n, id] of hostile.entries()) {
      if (n % 2 === 0) expect(await store.deleteCheckpoints("t", [id])).toBe(1);
      else expect(await store.deleteByRun("t", id)).toBe(1);
      expect(idsOf(await store.list("t"))).toEqual(hostile.slice(n + 1));
    }
  });

  it("hostile ids can be put again", async () => {
    const store = make(kind, { durability: "off" });
    for (const round of [1, 2]) {
      for (const id of hostile) await store.put({ threadId: "t", checkpointId: id, state: [id, round] });
    }
    for (const id of hostile) expect((await store.get("t", id))!.state).toEqual([id, 2]);
    expect(await store.list("t")).toHaveLength(2 * hostile.length);
  });

  it("hostile namespaces are apart", async () => {
    const store = make(kind, { durability: "off" });
    const namespaces = [[], [""], ["", ""], ...hostile.map((id) => [id]), ...hostile.map((id) => ["a", id])];
    for (const [n, namespace] of namespaces.entries()) {
      await store.put({ threadId: "t", checkpointId: "c", namespace, state: n });
      await store.putWrites({ threadId: "t", checkpointId: "c", namespace }, [write({ payload: n })]);
    }
    for (const [n, namespace] of namespaces.entries()) {
      expect(await store.getTuple({ threadId: "t", namespace })).toMatchObject({
        config: { namespace },
        checkpoint: { state: n, namespace },
        pendingWrites: [write({ payload: n })],
      });
      expect(await store.list("t", { namespace })).toMatchObject([{ namespace }]);
    }
    expect((await store.stats({ largest: 1_000 })).namespaces).toBe(namespaces.length);
    expect(await store.listThreads()).toEqual(["t"]);
  });

  it("a thread and a namespace that look like another thread are apart from it", async () => {
    const store = make(kind);
    const places = [
      { threadId: "a", namespace: ["b"] },
      { threadId: 'a["b"]', namespace: [] },
      { threadId: 'a["b"', namespace: ["]"] },
      { threadId: "a", namespace: ['["b"]'] },
    ];
    for (const [n, place] of places.entries()) await store.put({ ...place, checkpointId: "c", state: n });
    for (const [n, { threadId, namespace }] of places.entries()) {
      expect((await store.get(threadId, "c", namespace))!.state).toBe(n);
    }
    await store.deleteThread("a");
    expect(await store.listThreads()).toEqual(['a["b"]', 'a["b"']);
  });

  it.each(notIds.map((value) => [value]))("%s is no id", async (value) => {
    const store = make(kind);
    await chain(store, 1);
    const id = value as string;
    const none = value === undefined || value === null;
    for (const field of ["threadId", "nextNodes", ...(none ? [] : ["checkpointId", "runId", "parentCheckpointId"])]) {
      await wrongType(store.put({ threadId: "t", state: 0, [field]: field === "nextNodes" ? [id] : id }));
    }
    await wrongType(store.put({ threadId: "t", state: 0, namespace: [id] }));
    await wrongType(store.get(id));
    await wrongType(store.get("t", null, [id]));
    await wrongType(store.list(id));
    await wrongType(store.list("t", { namespace: [id] }));
    await wrongType(store.getTuple({ threadId: id }));
    await wrongType(store.getWrites({ threadId: id }));
    await wrongType(store.putWrites({ threadId: id, checkpointId: "c0" }, [write()]));
    await wrongType(store.stateHistory(id));
    await wrongType(store.stateHistory("t", [id]));
    await wrongType(store.deleteThread(id));
    await wrongType(store.deleteCheckpoints(id, ["c0"]));
    await wrongType(store.deleteCheckpoints("t", [id]));
    await wrongType(store.deleteByRun(id, "run"));
    await wrongType(store.copyThread(id, "copy"));
    await wrongType(store.copyThread("t", id));
    await wrongType(store.prune(id, 1));
    if (!none) {
      await wrongType(store.get("t", id));
      await wrongType(store.getTuple({ threadId: "t", checkpointId: id }));
      await wrongType(store.putWrites({ threadId: "t", checkpointId: id }, [write()]));
      await wrongType(store.deleteByRun("t", id));
      await wrongType(store.list("t", { before: id }));
    }
    expect(idsOf(await store.list("t"))).toEqual(["c0"]);
  });

  it("empty thread ids and checkpoint ids cannot be put", async () => {
    const store = make(kind);
    for (const fields of [{ threadId: "" }, { checkpointId: "" }]) {
      const error = await failure(store.put({ threadId: "t", state: 0, ...fields }), "INVALID_ARGUMENT");
      expect(error.message).toContain(Object.keys(fields)[0]!);
    }
    for (const config of [
      { threadId: "", checkpointId: "c" },
      { threadId: "t", checkpointId: "" },
    ]) {
      await failure(store.putWrites(config, [write()]), "INVALID_ARGUMENT");
    }
    expect(await store.listThreads()).toEqual([]);
  });

  it("half of a surrogate pair cannot be put, and finds nothing", async () => {
    const store = make(kind);
    // A careless conversion would turn each half into this id.
    const other = "\uFFFD";
    const place = { threadId: other, checkpointId: other, namespace: [other] };
    await store.put({ ...place, state: 0, runId: other });
    const before = await everything(store, other);
    for (const half of halves) {
      for (const fields of [
        { threadId: half },
        { checkpointId: half },
        { parentCheckpointId: half },
        { runId: half },
        { namespace: [half] },
        { nextNodes: [half] },
      ]) {
        const error = await failure(store.put({ ...place, state: 1, ...fields }), "INVALID_ARGUMENT");
        expect(error.message).toContain(`checkpoint.${Object.keys(fields)[0]}`);
      }
      for (const fields of [{ threadId: half }, { checkpointId: half }, { namespace: [half] }]) {
        await failure(store.putWrites({ ...place, ...fields }, [write()]), "INVALID_ARGUMENT");
        expect(await store.getTuple({ ...place, ...fields })).toBeNull();
        expect(await store.getWrites({ ...place, ...fields })).toEqual([]);
      }
      expect(await store.get(half)).toBeNull();
      expect(await store.get(other, half, [other])).toBeNull();
      expect(await store.get(other, other, [half])).toBeNull();
      expect(await store.list(half)).toEqual([]);
      expect(await store.list(other, { namespace: [half] })).toEqual([]);
      expect(await store.list(other, { before: half })).toEqual([]);
      expect(await store.stateHistory(half)).toEqual([]);
      expect(await store.stateHistory(other, [half])).toEqual([]);
      expect(await store.deleteThread(half)).toBeUndefined();
      expect(await store.deleteCheckpoints(half, [other])).toBe(0);
      expect(await store.deleteCheckpoints(other, [half])).toBe(0);
      expect(await store.deleteByRun(half, other)).toBe(0);
      expect(await store.deleteByRun(other, half)).toBe(0);
      expect(await store.prune(half, 1)).toBe(0);
      expect(await store.copyThread(half, "copy")).toBeUndefined();
      await failure(store.copyThread(other, half), "INVALID_ARGUMENT");
    }
    expect(await everything(store, other)).toEqual(before);
    expect(await store.listThreads()).toEqual([other]);
  });

  it("ids of up to 4,000 bytes together are stored, and longer ones are refused and find nothing", async () => {
    const store = make(kind);
    const fit = [
      { threadId: "t".repeat(3_900), checkpointId: "c".repeat(100) },
      { threadId: "t", checkpointId: "é".repeat(2_000) },
      { threadId: "t", checkpointId: "c", namespace: ["n".repeat(3_900)] },
    ];
    for (const place of fit) {
      for (const state of [1, 2]) await store.put({ ...place, state });
      await store.putWrites(place, [write()]);
      expect(await store.getTuple(place)).toMatchObject({ checkpoint: { state: 2 }, pendingWrites: [write()] });
    }
    const long = [
      { threadId: "t".repeat(3_900), checkpointId: "c".repeat(200) },
      { threadId: "t".repeat(4_097), checkpointId: "c" },
      { threadId: "t", checkpointId: "é".repeat(2_049) },
      { threadId: "t", checkpointId: "c", namespace: ["n".repeat(4_097)] },
      { threadId: "t".repeat(10_000_000), checkpointId: "c" },
    ];
    for (const place of long) {
      for (const refused of [store.put({ ...place, state: 0 }), store.putWrites(place, [write()])]) {
        const error = await failure(refused, "INVALID_ARGUMENT");
        expect(error.message).toContain("bytes");
        expect(error.message.length).toBeLessThan(500);
      }
      expect(await store.getTuple(place)).toBeNull();
      expect(await store.getWrites(place)).toEqual([]);
      expect(await store.deleteCheckpoints(place.threadId, [place.checkpointId, "x".repeat(10_000)])).toBe(
        place.namespace === undefined ? 0 : 2,
      );
    }
  });
});

it("hostile ids make no files outside of the database", async () => {
  const home = folder();
  const store = at(join(home, "threads.db"));
  for (const id of hostile) {
    await store.put({ threadId: id, checkpointId: id, namespace: [id], state: id });
    await store.putWrites({ threadId: id, checkpointId: id, namespace: [id] }, [write()]);
  }
  await store.close();
  expect(readdirSync(home)).toEqual(["threads.db"]);
});
