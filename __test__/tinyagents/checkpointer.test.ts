// Tests putting and reading checkpoints: put, get, list and stateHistory. model.test.ts states which checkpoint a read finds.
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

/** __test__/hostile.test.ts has all values. These are those that a state, unlike other values, may be as a whole. */
const states: Array<[name: string, state: unknown]> = [
  ["null", null],
  ["undefined", undefined],
  ["-0", -0],
  ["a string", "state \u0000 \ud83d 👩‍👩‍👧"],
  ["a list", [1, "a", null, undefined, [[]]]],
  ["a Map", new Map<unknown, unknown>([[{ k: 1 }, new Set([1n, new Date(5)])]])],
  ["bytes", new Uint8Array([0, 1, 255])],
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

    it("give defaults to everything but the thread and the state, also if it is undefined or null", async () => {
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
      const plain = await store.get("t", first);
      for (const missing of [undefined, null]) {
        const { threadId, state: _, checkpointId: __, ...rest } = whole;
        const blank = Object.fromEntries(Object.keys(rest).map((field) => [field, missing]));
        const id = await store.put({ threadId, state: "s", ...blank });
        expect(await store.get("t", id)).toStrictEqual({ ...plain, checkpointId: id });
        expect((await store.getTuple({ threadId, checkpointId: id }))!.pendingWrites).toEqual([]);
      }
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
    const each = (fields: string[], values: unknown[]) =>
      fields.flatMap((field) => values.map((value) => ({ [field]: value })));
    const wrong: unknown[] = [
      undefined,
      null,
      7,
      "t",
      true,
      [],
      () => ({}),
      ...each(["threadId", "checkpointId", "runId", "parentCheckpointId"], [7, {}, true, ["x"]]),
      ...each(["namespace", ...lists], [7, "x", {}, true]),
      ...each(["namespace", "nextNodes"], [["a", 7]]),
      ...each(["metadata"], [7, "x", [], true]),
      ...each(["dependsOnParent"], [7, "x", null]),
      { threadId: undefined },
      { checkpointId: null },
      { namespace: Array.from({ length: 1 }) },
    ];

    it("a checkpoint or a field of the wrong type", async () => {
      const store = make(kind);
      for (const fields of wrong) {
        const isObject = typeof fields === "object" && fields !== null && !Array.isArray(fields);
        await wrongType(store.put((isObject ? { threadId: "t", state: 1, ...fields } : fields) as never));
      }
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
      for (const limit of [0, 1, 4, 5, Number.MAX_SAFE_INTEGER])
        expect(idsOf(await store.list("t", { limit }))).toEqual(["c0", "c1", "c2", "c3"].slice(0, limit));
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

    it("refuses options that are none", async () => {
      const store = make(kind);
      await chain(store, 1);
      const wrong: Array<[unknown, string]> = [
        ...[-1, 1.5, "1", null, Number.NaN].map((limit): [unknown, string] => [{ limit }, "limit"]),
        ...[null, [], "loop"].map((filter): [unknown, string] => [{ filter }, "filter"]),
        ...["sub", [7]].map((namespace): [unknown, string] => [{ namespace }, "namespace"]),
        [{ before: 7 }, "before"],
        [{ befor: "x" }, 'Did you mean "before"?'],
        [null, "options must be an object"],
      ];
      for (const [options, message] of wrong) {
        const error = await rejection(store.list("t", options as never));
        expect(error.code).toBe("INVALID_ARGUMENT");
        expect(error.message).toContain(message);
      }
    });
  });

  describe("stateHistory", () => {
    it("is as long as its limit, which must be one", async () => {
      const store = make(kind);
      await chain(store, 4);
      expect(await store.stateHistory("t", [], 2)).toEqual([await store.get("t", "c3"), await store.get("t", "c2")]);
      for (const limit of [0, 4, 99]) expect(await store.stateHistory("t", [], limit)).toHaveLength(Math.min(limit, 4));
      for (const limit of [-1, 1.5, Number.NaN, "1", null]) {
        expect((await rejection(store.stateHistory("t", [], limit as never))).code).toBe("INVALID_ARGUMENT");
      }
    });
  });

  describe("serializers", () => {
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
