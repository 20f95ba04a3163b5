// Tests putting and reading checkpoints: put, get, list, getTuple and stateHistory.
// @module-tag threads
import { randomBytes } from "node:crypto";
import { type NewThreadCheckpoint, type ThreadCheckpoint } from "forkpoint/tinyagents";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { expectSame, failure, kinds, rejection, wrongType } from "../helpers.js";
import { type Kind, at, chain, idsOf, make, write } from "./helpers.js";

/** A checkpoint with a value in each declared field. */
const whole: ThreadCheckpoint<object> = {
  threadId: "t",
  checkpointId: "whole",
  runId: "run-1",
  parentCheckpointId: "parent",
  namespace: ["sub", "0"],
  state: { deep: { list: [1, null, { x: "y" }] }, empty: {}, text: "" },
  nextNodes: ["b", "c", "b"],
  completedTasks: ["task-1"],
  pendingWrites: [write({ payload: { of: "the record" } })],
  interrupts: [{ node: "b", taskId: "task-2", value: { question: "why" }, extra: 1 }],
  pendingActivations: [{ node: "b" }, { node: "c", sendArg: new Map([["k", 1]]), taskId: "task-3" }],
  barrierArrivals: [{ node: "join", arrived: ["b"] }],
  metadata: { source: "loop", step: 3, nested: { a: [1] } },
};

const states: Array<[name: string, state: unknown]> = [
  ["null", null],
  ["undefined", undefined],
  ["true", true],
  ["false", false],
  ["0", 0],
  ["-0", -0],
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["a large integer", 2 ** 53 - 1],
  ["a BigInt", 10n ** 30n],
  ["an empty string", ""],
  ["a string", "state \u0000 \ud83d 👩‍👩‍👧"],
  ["a list", [1, "a", null, undefined, [[]]]],
  ["an empty list", []],
  ["an empty object", {}],
  ["an object", { a: { b: { c: undefined } } }],
  [
    "a Map",
    new Map<unknown, unknown>([
      ["a", 1],
      [{ k: 1 }, new Set([1, "1"])],
    ]),
  ],
  ["a Set", new Set([1, new Date(5)])],
  ["a Date", new Date(1_700_000_000_000)],
  ["a RegExp", /x+/giu],
  ["bytes", new Uint8Array([0, 1, 255])],
  ["a Buffer", Buffer.from("bytes")],
  ["numbers in an array", new Float64Array([1.5, -0])],
  ["an ArrayBuffer", new Uint8Array([1, 2]).buffer],
  ["5 MB of text", "0123456789abcdef".repeat(5 * 2 ** 16)],
  ["5 MB of bytes", randomBytes(5 * 2 ** 20)],
];

/** Sets the clock to a time in ms since the epoch, until the test ends. */
function setClock(time: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: time });
  onTestFinished(() => void vi.useRealTimers());
}

describe.each(kinds)("on %s", (kind: Kind) => {
  describe("put and get", () => {
    it("return the id and the whole checkpoint, in the order of its fields", async () => {
      const store = make(kind);
      expect(await store.put(whole)).toBe("whole");
      const found = await store.get("t", "whole", ["sub", "0"]);
      expect(found).toStrictEqual(whole);
      expect(Object.keys(found!)).toEqual(Object.keys(whole));
    });

    it("give defaults to everything but the thread and the state", async () => {
      const store = make(kind);
      const first = await store.put({ threadId: "t", state: "s" });
      const second = await store.put({ threadId: "t", state: "s" });
      expect(first).not.toBe(second);
      expect(await store.get("t", first)).toStrictEqual({
        threadId: "t",
        checkpointId: first,
        runId: null,
        parentCheckpointId: null,
        namespace: [],
        state: "s",
        nextNodes: [],
        completedTasks: [],
        pendingWrites: [],
        interrupts: [],
        pendingActivations: null,
        barrierArrivals: [],
        metadata: {},
      });
    });

    it.each([undefined, null])("give defaults to fields that are %s", async (missing) => {
      const store = make(kind);
      const blank = Object.fromEntries(
        Object.keys(whole)
          .filter((field) => !["threadId", "state", "checkpointId"].includes(field))
          .map((field) => [field, missing]),
      );
      await store.put({ threadId: "t", state: 1, checkpointId: "plain" });
      await store.put({ threadId: "t", state: 1, checkpointId: "blank", ...blank });
      expect(await store.get("t", "blank")).toStrictEqual({
        ...(await store.get("t", "plain")),
        checkpointId: "blank",
      });
      expect((await store.getTuple({ threadId: "t", checkpointId: "blank" }))!.pendingWrites).toEqual([]);
    });

    it("keep fields that are not declared", async () => {
      const store = make(kind);
      const more = { graphId: "g", ours: { at: new Date(0) }, key: "k", writes: [1], first: null };
      await store.put({ ...whole, ...more });
      expect(await store.get("t", null, whole.namespace)).toStrictEqual({ ...whole, ...more });
      await store.put(JSON.parse('{"threadId":"p","state":1,"__proto__":{"polluted":1},"constructor":2}'));
      const found = (await store.get("p"))!;
      expect(Object.getPrototypeOf(found)).toBe(Object.prototype);
      expect(Object.getOwnPropertyDescriptor(found, "__proto__")!.value).toEqual({ polluted: 1 });
      expect(found).toMatchObject({ threadId: "p", state: 1, constructor: 2 });
    });

    it.each(states)("keep a state that is %s", async (_, state) => {
      const store = make(kind);
      const checkpointId = await store.put({ threadId: "t", state });
      const config = { threadId: "t", checkpointId, namespace: [] };
      expectSame((await store.get("t"))!.state, state);
      expectSame((await store.get("t", checkpointId))!.state, state);
      expectSame((await store.getTuple(config))!.checkpoint.state, state);
      expectSame((await store.stateHistory("t"))[0]!.state, state);
      // The second of an id is stored and read through different code.
      await store.put({ threadId: "t", checkpointId, state: [state] });
      expectSame((await store.get("t", checkpointId))!.state, [state]);
      await store.putWrites(config, [write({ payload: state })]);
      expectSame(await store.getWrites(config), [write({ payload: state })]);
    });

    it("keep objects that refer to each other", async () => {
      const store = make(kind);
      const state: Record<string, unknown> = { list: [] };
      state["self"] = state;
      await store.put({ threadId: "t", state });
      const found = (await store.get("t"))!.state;
      expect(found.self).toBe(found);
    });

    it("take a snapshot at the call and return fresh objects", async () => {
      const store = make(kind);
      const given = structuredClone(whole) as any;
      const pending = store.put(given);
      for (const field of ["nextNodes", "completedTasks", "namespace"]) given[field].push("late");
      given.state.late = given.metadata.late = true;
      await pending;
      const read = () => store.get("t", "whole", ["sub", "0"]) as Promise<any>;
      expect(await read()).toStrictEqual(whole);
      const found = await read();
      for (const field of ["nextNodes", "completedTasks", "namespace"]) found[field].push("changed");
      found.state.changed = found.metadata.changed = true;
      expect(await read()).toStrictEqual(whole);
    });

    it("read each field of the checkpoint once", async () => {
      const store = make(kind);
      const reads: string[] = [];
      const counted = new Proxy(
        { ...whole },
        {
          get(target, field: keyof typeof whole) {
            reads.push(field);
            return target[field];
          },
        },
      );
      await store.put(counted);
      expect(reads.toSorted()).toEqual(Object.keys(whole).toSorted());
    });

    it("without an id, return what was put last and not the greatest id", async () => {
      const store = make(kind);
      for (const checkpointId of ["3", "1", "5", "2"])
        await store.put({ threadId: "t", checkpointId, state: checkpointId });
      for (const id of [undefined, null]) expect((await store.get("t", id))!.checkpointId).toBe("2");
      expect((await store.getTuple({ threadId: "t" }))!.checkpoint.checkpointId).toBe("2");
    });

    it("of what is unknown there is null", async () => {
      const store = make(kind);
      expect([await store.get("t"), await store.get("t", "c"), await store.getTuple({ threadId: "t" })]).toEqual([
        null,
        null,
        null,
      ]);
      await chain(store, 2);
      expect(await store.get("t", "c2")).toBeNull();
      expect(await store.get("u", "c1")).toBeNull();
      expect(await store.get("t", "c1", ["sub"])).toBeNull();
      expect(await store.get("t", null, ["sub"])).toBeNull();
      expect(await store.get("")).toBeNull();
      expect(await store.get("t", "")).toBeNull();
    });

    it("keep the namespaces of a thread apart", async () => {
      const store = make(kind);
      const namespaces = [[], ["a"], ["a", "b"], ["ab"], ["b", "a"], ["a", ""], [""], ["[]"], ['["a"]'], ['a","b']];
      for (const [n, namespace] of namespaces.entries()) {
        await store.put({ threadId: "t", checkpointId: "same", namespace, state: n });
      }
      for (const [n, namespace] of namespaces.entries()) {
        expect(await store.get("t", "same", namespace)).toMatchObject({ state: n, namespace });
        expect(await store.get("t", null, namespace)).toMatchObject({ state: n, namespace });
        expect(await store.list("t", { namespace })).toMatchObject([{ checkpointId: "same", namespace }]);
        expect(await store.stateHistory("t", namespace)).toMatchObject([{ state: n }]);
      }
      expect((await store.list("t")).map(({ namespace }) => namespace)).toEqual(namespaces);
    });
  });

  describe("without a namespace", () => {
    it("an id is found in any namespace, and no id is the checkpoint of the thread that was put last", async () => {
      const store = make(kind);
      const put = (checkpointId: string, namespace: string[], state: string) =>
        store.put({ threadId: "t", checkpointId, namespace, state });
      await put("a", [], "root a");
      await put("b", ["sub"], "sub b");
      await put("both", [], "root both");
      await put("both", ["sub"], "sub both");
      await put("both", ["sub", "deep"], "deep both");
      await put("both", ["sub"], "sub both again");
      await put("last", ["deep"], "deep last");
      await store.putWrites({ threadId: "t", checkpointId: "last", namespace: ["deep"] }, [write({ payload: 1 })]);
      await store.put({ threadId: "t2", checkpointId: "a", state: "another thread" });
      const found = async (checkpointId?: string | null, namespace?: string[]) =>
        (await store.get("t", checkpointId, namespace))?.state ?? null;
      expect(await found()).toBe("deep last");
      expect(await found(null)).toBe("deep last");
      expect(await found(null, [])).toBe("root both");
      expect(await found("a")).toBe("root a");
      expect(await found("b")).toBe("sub b");
      expect(await found("b", [])).toBeNull();
      expect(await found("both")).toBe("sub both again");
      expect(await found("both", [])).toBe("root both");
      expect(await found("last")).toBe("deep last");
      expect(await found("none")).toBeNull();
      const place = { threadId: "t", checkpointId: "last", namespace: ["deep"] };
      expect(await store.getTuple({ threadId: "t" })).toMatchObject({ config: place, pendingWrites: [{ payload: 1 }] });
      expect(await store.getWrites({ threadId: "t", checkpointId: "last" })).toHaveLength(1);
      expect(await store.getTuple({ threadId: "t", namespace: [] })).toMatchObject({
        config: { ...place, checkpointId: "both", namespace: [] },
      });
    });
  });

  describe("an id that is put again", () => {
    it("gets the checkpoint that was put last, and both are listed", async () => {
      const store = make(kind);
      await store.put({ threadId: "t", checkpointId: "a", state: 1, runId: "one", metadata: { n: 1 } });
      await store.put({ threadId: "t", checkpointId: "b", state: 2, parentCheckpointId: "a" });
      await store.put({ threadId: "t", checkpointId: "a", state: 3, runId: "three", metadata: { n: 3 } });
      expect(await store.get("t", "a")).toMatchObject({ state: 3, runId: "three", metadata: { n: 3 } });
      expect(await store.get("t")).toMatchObject({ checkpointId: "a", state: 3 });
      expect((await store.getTuple({ threadId: "t", checkpointId: "a" }))!.checkpoint).toEqual(await store.get("t"));
      expect((await store.list("t")).map(({ checkpointId, runId }) => [checkpointId, runId])).toEqual([
        ["a", "one"],
        ["b", null],
        ["a", "three"],
      ]);
      await store.put({ threadId: "t", checkpointId: "c", state: 4, parentCheckpointId: "b" });
      expect((await store.stateHistory("t")).map(({ state }) => state)).toEqual([4, 2, 3]);
    });

    it("many times", async () => {
      const store = make(kind);
      for (let n = 0; n < 30; n++) {
        await store.put({ threadId: "t", checkpointId: "a", state: n });
        expect((await store.get("t", "a"))!.state).toBe(n);
        expect((await store.get("t"))!.state).toBe(n);
      }
      expect(idsOf(await store.list("t"))).toEqual(Array.from({ length: 30 }, () => "a"));
    });

    it("although the clock went back", async () => {
      const store = make(kind);
      for (const [n, time] of [9_000, 5_000, 7_000, 1_000].entries()) {
        setClock(time);
        await store.put({ threadId: "t", checkpointId: "a", state: n });
        expect((await store.get("t", "a"))!.state).toBe(n);
      }
    });

    it("in another thread or namespace is another checkpoint", async () => {
      const store = make(kind);
      await store.put({ threadId: "t", checkpointId: "a", state: 1 });
      await store.put({ threadId: "u", checkpointId: "a", state: 2 });
      await store.put({ threadId: "t", checkpointId: "a", state: 3, namespace: ["n"] });
      expect((await store.get("t", "a", []))!.state).toBe(1);
      expect((await store.get("u", "a"))!.state).toBe(2);
      expect((await store.get("t", "a", ["n"]))!.state).toBe(3);
    });
  });

  describe("put refuses, and stores nothing,", () => {
    const lists = [
      "nextNodes",
      "completedTasks",
      "pendingWrites",
      "interrupts",
      "pendingActivations",
      "barrierArrivals",
    ];
    const wrong: Array<[string, unknown]> = [
      ...[undefined, null, 7, "t", true, [], () => ({})].map(
        (one) => [`${typeof one} as a checkpoint`, one] as [string, unknown],
      ),
      ...["threadId", "checkpointId", "runId", "parentCheckpointId"].flatMap((field) =>
        [7, {}, true, ["x"]].map(
          (value) => [`${field} ${JSON.stringify(value)}`, { [field]: value }] as [string, unknown],
        ),
      ),
      ["no threadId", { threadId: undefined }],
      ["the checkpointId null", { checkpointId: null }],
      ...["namespace", ...lists].flatMap((field) =>
        [7, "x", {}, true].map(
          (value) => [`${field} ${JSON.stringify(value)}`, { [field]: value }] as [string, unknown],
        ),
      ),
      ...["namespace", "nextNodes"].map(
        (field) => [`a number in ${field}`, { [field]: ["a", 7] }] as [string, unknown],
      ),
      ["holes in the namespace", { namespace: Array.from({ length: 1 }) }],
      ...[7, "x", [], true].map(
        (value) => [`metadata ${JSON.stringify(value)}`, { metadata: value }] as [string, unknown],
      ),
      ...[7, "x", null].map((value) => [`dependsOnParent ${value}`, { dependsOnParent: value }] as [string, unknown]),
    ];

    it.each(wrong)("%s", async (_, fields) => {
      const store = make(kind);
      const isObject = typeof fields === "object" && fields !== null && !Array.isArray(fields);
      await wrongType(store.put((isObject ? { threadId: "t", state: 1, ...fields } : fields) as never));
      expect(await store.listThreads()).toEqual([]);
      expect((await store.stats()).checkpoints).toBe(0);
    });

    it("values that cannot be stored, naming their path", async () => {
      const store = make(kind);
      const bad = () => Promise.resolve();
      const cases: Array<[Partial<NewThreadCheckpoint<unknown>> & Record<string, unknown>, string]> = [
        [{ state: { x: { y: bad() } } }, "x.y"],
        [{ state: bad() }, "state"],
        [{ metadata: { m: bad() } }, "metadata.m"],
        [{ ours: { z: bad() } }, "ours.z"],
        [{ interrupts: [{ node: "n", value: bad() }] }, "interrupts"],
      ];
      for (const [fields, path] of cases) {
        const error = await failure(store.put({ threadId: "t", state: 1, ...fields } as never), "INVALID_ARGUMENT");
        expect(error.message).toContain(path);
        expect(error.message).toContain("cannot be stored");
      }
      const getter = {
        threadId: "t",
        get state() {
          throw new Error("no");
        },
      };
      await failure(store.put(getter), "INVALID_ARGUMENT");
      expect(await store.list("t")).toEqual([]);
    });

    it("a checkpoint that is larger than maxPayloadBytes, also as the second of its id", async () => {
      const store = make(kind, { maxPayloadBytes: 10_000 });
      const large = { threadId: "t", checkpointId: "a", state: "x".repeat(20_000) };
      await failure(store.put(large), "INVALID_ARGUMENT");
      await store.put({ ...large, state: "small" });
      await failure(store.put(large), "INVALID_ARGUMENT");
      expect((await store.list("t")).length).toBe(1);
      expect((await store.get("t", "a"))!.state).toBe("small");
    });

    it("options that are none", async () => {
      const store = make(kind);
      for (const options of [{ expectedParnt: true }, { expectedParent: 1 }, { expectedParent: null }, null, 7]) {
        await wrongType(store.put({ threadId: "t", state: 1 }, options as never));
      }
      expect(await store.listThreads()).toEqual([]);
    });
  });

  describe("list", () => {
    it("returns the metadata only, in the order of the puts", async () => {
      const store = make(kind);
      const before = Date.now();
      await store.put(whole);
      await store.put({ threadId: "t", checkpointId: "a", state: "x" });
      await store.put({ threadId: "u", state: 1 });
      const listed = await store.list("t");
      expect(listed).toStrictEqual([
        {
          threadId: "t",
          checkpointId: "whole",
          runId: "run-1",
          parentCheckpointId: "parent",
          namespace: ["sub", "0"],
          nextNodes: ["b", "c", "b"],
          interrupted: true,
          createdAt: expect.any(Number),
          metadata: whole.metadata,
        },
        {
          threadId: "t",
          checkpointId: "a",
          runId: null,
          parentCheckpointId: null,
          namespace: [],
          nextNodes: [],
          interrupted: false,
          createdAt: expect.any(Number),
          metadata: {},
        },
      ]);
      for (const { createdAt } of listed) {
        expect(createdAt).toBeGreaterThanOrEqual(before);
        expect(createdAt).toBeLessThanOrEqual(Date.now());
      }
      expect(await store.list("none")).toEqual([]);
    });

    it("has the order of the puts although the clock went back, in all namespaces together", async () => {
      const store = make(kind);
      for (const [n, time] of [9_000, 8_000, 1_000, 5_000, 5_000, 2_000].entries()) {
        setClock(time);
        await store.put({ threadId: "t", checkpointId: `${9 - n}`, namespace: n % 2 === 0 ? [] : ["sub"], state: n });
      }
      expect(idsOf(await store.list("t"))).toEqual(["9", "8", "7", "6", "5", "4"]);
      for (const all of [null, undefined] as const) {
        expect(idsOf(await store.list("t", { namespace: all! }))).toEqual(["9", "8", "7", "6", "5", "4"]);
      }
      expect(idsOf(await store.list("t", { namespace: [] }))).toEqual(["9", "7", "5"]);
      expect(idsOf(await store.list("t", { namespace: ["sub"] }))).toEqual(["8", "6", "4"]);
      expect(idsOf(await store.list("t", { namespace: ["none"] }))).toEqual([]);
    });

    it("before: what was put before a checkpoint", async () => {
      const store = make(kind);
      await chain(store, 5);
      await store.put({ threadId: "t", checkpointId: "c1", state: "again" });
      await store.put({ threadId: "t", checkpointId: "end", state: 0, namespace: ["sub"] });
      expect(idsOf(await store.list("t", { before: "c0" }))).toEqual([]);
      expect(idsOf(await store.list("t", { before: "c3" }))).toEqual(["c0", "c1", "c2"]);
      // The one of this id that was put last.
      expect(idsOf(await store.list("t", { before: "c1" }))).toEqual(["c0", "c1", "c2", "c3", "c4"]);
      expect(await store.list("t", { before: "end" })).toHaveLength(6);
      expect(await store.list("t", { before: null })).toHaveLength(7);
      for (const unknown of ["x", "", "C3"]) expect(await store.list("t", { before: unknown })).toEqual([]);
      // An id of another namespace than the listed one.
      expect(await store.list("t", { before: "end", namespace: [] })).toEqual([]);
    });

    it("limit: the first results", async () => {
      const store = make(kind);
      await chain(store, 4);
      for (const [limit, count] of [
        [0, 0],
        [1, 1],
        [4, 4],
        [5, 4],
        [Number.MAX_SAFE_INTEGER, 4],
      ] as const) {
        expect(idsOf(await store.list("t", { limit }))).toEqual(["c0", "c1", "c2", "c3"].slice(0, count));
      }
    });

    it("filter: metadata with equal values, compared deeply and strictly", async () => {
      const store = make(kind);
      const metadata: Record<string, Record<string, unknown>> = {
        a: { source: "input", step: 0 },
        b: { source: "loop", step: 1, tags: ["x", { y: 1 }] },
        c: { source: "loop", step: "1", none: undefined },
        d: { source: "update", step: 1, none: null, at: new Date(5), map: new Map([["k", 1]]) },
        e: {},
      };
      for (const [id, fields] of Object.entries(metadata)) {
        await store.put({ threadId: "t", checkpointId: id, state: 0, metadata: fields });
      }
      const filtered = async (filter: Record<string, unknown>, options = {}) =>
        idsOf(await store.list("t", { filter, ...options })).join("");
      expect(await filtered({})).toBe("abcde");
      expect(await filtered({ source: "loop" })).toBe("bc");
      expect(await filtered({ source: "loop", step: 1 })).toBe("b");
      expect(await filtered({ step: 1 })).toBe("bd");
      expect(await filtered({ step: "1" })).toBe("c");
      expect(await filtered({ tags: ["x", { y: 1 }] })).toBe("b");
      expect(await filtered({ tags: ["x"] })).toBe("");
      expect(await filtered({ none: undefined })).toBe("c");
      expect(await filtered({ none: null })).toBe("d");
      expect(await filtered({ at: new Date(5) })).toBe("d");
      expect(await filtered({ map: new Map([["k", 1]]) })).toBe("d");
      expect(await filtered({ unknown: undefined })).toBe("");
      // Own keys only.
      expect(await filtered({ constructor: Object })).toBe("");
      expect(await filtered({ toString: Object.prototype.toString })).toBe("");
      expect(await filtered({ step: 1 }, { limit: 1 })).toBe("b");
      expect(await filtered({ step: 1 }, { before: "d" })).toBe("b");
      expect(await filtered({ source: "loop" }, { before: "c", limit: 5, namespace: [] })).toBe("b");
    });

    it.each<[unknown, string]>([
      [{ limit: -1 }, "limit"],
      [{ limit: 1.5 }, "limit"],
      [{ limit: "1" }, "limit"],
      [{ limit: null }, "limit"],
      [{ limit: Number.NaN }, "limit"],
      [{ before: 7 }, "before"],
      [{ filter: null }, "filter"],
      [{ filter: [] }, "filter"],
      [{ filter: "loop" }, "filter"],
      [{ namespace: "sub" }, "namespace"],
      [{ namespace: [7] }, "namespace"],
      [{ befor: "x" }, 'Did you mean "before"?'],
      [null, "options must be an object"],
      [7, "options must be an object"],
    ])("refuses the options %j", async (options, message) => {
      const store = make(kind);
      await chain(store, 1);
      const error = await rejection(store.list("t", options as never));
      expect(error.code).toBe("INVALID_ARGUMENT");
      expect(error.message).toContain(message);
    });
  });

  describe("getTuple", () => {
    it("resolves its own place and its parent's", async () => {
      const store = make(kind);
      await chain(store, 2);
      await chain(store, 2, { namespace: ["sub"], name: "s" });
      const place = (checkpointId: string, namespace: string[] = []) => ({ threadId: "t", checkpointId, namespace });
      expect(await store.getTuple({ threadId: "t", namespace: [] })).toStrictEqual({
        config: place("c1"),
        checkpoint: await store.get("t", "c1"),
        parentConfig: place("c0"),
        pendingWrites: [],
      });
      expect(await store.getTuple({ threadId: "t", checkpointId: null, namespace: ["sub"] })).toMatchObject({
        config: place("s1", ["sub"]),
        parentConfig: place("s0", ["sub"]),
      });
      expect(await store.getTuple(place("c0"))).toMatchObject({ config: place("c0"), parentConfig: null });
      // The parent need not be stored.
      await store.put({ threadId: "t", state: 0, checkpointId: "x", parentCheckpointId: "gone" });
      expect((await store.getTuple(place("x")))!.parentConfig).toEqual(place("gone"));
      expect(await store.getTuple(place("c0", ["sub"]))).toBeNull();
    });

    it("has the writes inside the checkpoint if no other writes were stored", async () => {
      const store = make(kind);
      const inside = [write({ payload: "inside" }), write({ idx: 1, payload: { x: 1 } })];
      await store.put({ threadId: "t", checkpointId: "a", state: 0, pendingWrites: inside });
      const tuple = (await store.getTuple({ threadId: "t" }))!;
      expect(tuple.pendingWrites).toEqual(inside);
      (tuple.pendingWrites[1]!.payload as any).x = 2;
      expect(tuple.checkpoint.pendingWrites).toEqual(inside);
      await store.putWrites({ threadId: "t", checkpointId: "a" }, [write({ payload: "stored" })]);
      const later = (await store.getTuple({ threadId: "t" }))!;
      expect(later.pendingWrites).toEqual([write({ payload: "stored" })]);
      expect(later.checkpoint.pendingWrites).toEqual(inside);
    });

    it("refuses what is no config", async () => {
      const store = make(kind);
      await chain(store, 1);
      for (const config of [undefined, null, 7, "t", {}, { threadId: 7 }, { threadId: "t", checkpointId: 7 }]) {
        await wrongType(store.getTuple(config as never));
      }
      for (const namespace of ["sub", 7, {}, [7], [null]]) {
        await wrongType(store.getTuple({ threadId: "t", namespace } as never));
        await wrongType(store.get("t", "c0", namespace as never));
      }
    });
  });

  describe("stateHistory", () => {
    it("is the latest checkpoint of a namespace and its ancestors, newest first", async () => {
      const store = make(kind);
      await chain(store, 4);
      await store.put({
        threadId: "t",
        checkpointId: "sub",
        state: "sub",
        namespace: ["sub"],
        parentCheckpointId: "c3",
      });
      expect(idsOf(await store.stateHistory("t", []))).toEqual(["c3", "c2", "c1", "c0"]);
      // Without a namespace, the history begins with the checkpoint of the thread that was put last.
      expect(idsOf(await store.stateHistory("t"))).toEqual(["sub"]);
      expect(await store.stateHistory("t", [], 2)).toEqual([await store.get("t", "c3"), await store.get("t", "c2")]);
      // A parent is a checkpoint of the same namespace.
      expect(idsOf(await store.stateHistory("t", ["sub"]))).toEqual(["sub"]);
      expect(await store.stateHistory("t", ["none"])).toEqual([]);
      expect(await store.stateHistory("none")).toEqual([]);
      for (const [limit, count] of [
        [0, 0],
        [1, 1],
        [4, 4],
        [99, 4],
      ] as const) {
        expect(await store.stateHistory("t", [], limit)).toHaveLength(count);
      }
    });

    it("leaves out the other branches", async () => {
      const store = make(kind);
      await chain(store, 4);
      await store.put({ threadId: "t", checkpointId: "branch", state: "b", parentCheckpointId: "c1" });
      expect(idsOf(await store.stateHistory("t"))).toEqual(["branch", "c1", "c0"]);
    });

    it("ends at a parent that is not stored", async () => {
      const store = make(kind);
      await store.put({ threadId: "t", checkpointId: "a", state: 0, parentCheckpointId: "gone" });
      await store.put({ threadId: "t", checkpointId: "b", state: 1, parentCheckpointId: "a" });
      expect(idsOf(await store.stateHistory("t"))).toEqual(["b", "a"]);
    });

    it.each<[string, Array<[id: string, parent: string | null]>, string]>([
      ["its own parent", [["a", "a"]], "a"],
      [
        "a circle of two",
        [
          ["a", "b"],
          ["b", "a"],
        ],
        "ba",
      ],
      [
        "a circle of three, and a way into it",
        [
          ["a", "c"],
          ["b", "a"],
          ["c", "b"],
          ["d", "b"],
        ],
        "dbac",
      ],
      [
        "a circle that a repeated id closes",
        [
          ["a", null],
          ["b", "a"],
          ["c", "b"],
          ["a", "c"],
        ],
        "acb",
      ],
      [
        "a repeated id that opens a circle",
        [
          ["a", "b"],
          ["b", "a"],
          ["a", null],
          ["c", "b"],
        ],
        "cba",
      ],
    ])("survives %s", async (_, puts, expected) => {
      const store = make(kind);
      for (const [checkpointId, parentCheckpointId] of puts) {
        await store.put({ threadId: "t", checkpointId, parentCheckpointId, state: 0 });
      }
      expect(idsOf(await store.stateHistory("t")).join("")).toBe(expected);
      expect(idsOf(await store.stateHistory("t", [], 1))).toHaveLength(1);
    });

    it("refuses a limit that is none", async () => {
      const store = make(kind);
      await chain(store, 1);
      for (const limit of [-1, 1.5, Number.NaN, "1", null]) {
        expect((await rejection(store.stateHistory("t", [], limit as never))).code).toBe("INVALID_ARGUMENT");
      }
    });
  });

  describe("serializers", () => {
    it("json stores what JSON can tell", async () => {
      const store = make(kind, { serializer: "json" });
      await store.put({ threadId: "t", checkpointId: "a", state: undefined, metadata: { step: 1 } });
      expect((await store.get("t"))!.state).toBeNull();
      await store.put({ threadId: "t", checkpointId: "a", state: { at: new Date(0), list: [undefined] } });
      expect((await store.get("t"))!.state).toEqual({ at: "1970-01-01T00:00:00.000Z", list: [null] });
      expect(idsOf(await store.list("t", { filter: { step: 1 } }))).toEqual(["a"]);
      await failure(store.put({ threadId: "t", state: 1n }), "INVALID_ARGUMENT");
      await store.putWrites({ threadId: "t", checkpointId: "a" }, [write({ payload: undefined })]);
      expect((await store.getWrites({ threadId: "t" }))[0]!.payload).toBeNull();
    });

    it("a serializer of the user's own is used for all values", async () => {
      const serializer = {
        name: "backwards",
        serialize: (value: unknown) => Buffer.from(JSON.stringify(value).split("").toReversed().join("")),
        deserialize: (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString().split("").toReversed().join("")),
      };
      const store = make(kind, { serializer });
      await store.put({ threadId: "t", checkpointId: "a", state: "s", metadata: { step: 1 } });
      await store.putWrites({ threadId: "t", checkpointId: "a" }, [write()]);
      expect(await store.getTuple({ threadId: "t" })).toMatchObject({
        checkpoint: { state: "s", metadata: { step: 1 } },
        pendingWrites: [write()],
      });
      await store.copyThread("t", "u");
      expect((await store.get("u"))!.state).toBe("s");
    });
  });
});

it("refuses a target that is none", () => {
  for (const target of [undefined, null, 7, {}, ""]) expect(() => at(target as never)).toThrow(TypeError);
});
