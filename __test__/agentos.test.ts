// The AgentOS contract: what a checkpoint store does with every call, on every backend.
// @module-tag threads
import { readdirSync } from "node:fs";
import { type Checkpoint, CheckpointStore, type StatePartitions, openStore, resumePlan } from "forkpoint";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkpoint, failure, folder, holding, ids, kinds, open, place, rejection, wrongType } from "./helpers.js";

const graphId = "graph-a-1700000000000";

/** Builds a patch without type checks, as JavaScript code could. */
function patch(fields: Record<string, unknown>): Partial<StatePartitions> {
  return fields as Partial<StatePartitions>;
}

describe.each(kinds)("%s", (kind) => {
  const opened = () => open(place(kind));

  describe("save and get", () => {
    test("a checkpoint comes back as it was", async () => {
      const store = opened();
      const saved = checkpoint({
        skippedNodes: ["node-9"],
        memorySnapshot: {
          reads: [{ traceId: "t", content: "c", strength: 0.5 }],
          pendingWrites: [{ type: "fact", content: "c", scope: "s" }],
        },
      });
      expect(await store.save(saved)).toBeUndefined();
      expect(await store.get(saved.id)).toStrictEqual(saved);
    });

    test("unknown fields are kept, at every level", async () => {
      const store = opened();
      const whole = checkpoint();
      const saved = {
        ...whole,
        version: 3,
        extra: { nested: [new Map([["k", 1n]])] },
        state: { ...whole.state, memory: { kept: true } },
      };
      await store.save(saved);
      expect(await store.get(saved.id)).toStrictEqual(saved);
    });

    test("keys keep their order", async () => {
      const store = opened();
      const { id, runId, timestamp, state, ...others } = checkpoint();
      const saved = { zebra: 1, state, ...others, b: { z: 1, a: 2, 10: 3, 9: 4 }, timestamp, runId, id } as Checkpoint;
      await store.save(saved);
      const read = (await store.get(id))!;
      expect(Object.keys(read)).toEqual(Object.keys(saved));
      expect(JSON.stringify(read)).toBe(JSON.stringify(saved));
    });

    test("a missing checkpoint is null", async () => {
      const store = opened();
      await store.save(checkpoint());
      expect(await store.get("nobody")).toBeNull();
      expect(await store.get("run-1")).toBeNull();
      expect(await store.get("")).toBeNull();
      expect(await store.latest("nobody")).toBeNull();
      expect(await store.latest("")).toBeNull();
      expect(await store.load("run-1", "nobody")).toBeNull();
      expect(await store.load("run-1", "")).toBeNull();
      expect(await store.load("nobody", "node-1")).toBeNull();
      expect(await store.list("nobody")).toEqual([]);
      expect(await store.list("")).toEqual([]);
      expect(await store.listByRun("")).toEqual([]);
    });

    test("latest() finds nothing by a checkpoint id: AgentOS passes any id to latest() first", async () => {
      const store = opened();
      const saved = checkpoint();
      await store.save(saved);
      expect(await store.latest(saved.id)).toBeNull();
      expect(await store.latest("not a uuid, nor anything else")).toBeNull();
    });

    test("saving an id again replaces everything, the indexed fields too", async () => {
      const store = opened();
      const old = checkpoint({ graphId: "g-old", runId: "r-old", nodeId: "n-old", timestamp: 10, oldField: 1 });
      await store.save(old);
      const replacement = checkpoint({
        id: old.id,
        graphId: "g-new",
        runId: "r-new",
        nodeId: "n-new",
        timestamp: 20,
        memorySnapshot: { reads: [], pendingWrites: [] },
        newField: 2,
      });
      await store.save(replacement);

      expect(await store.get(old.id)).toStrictEqual(replacement);
      expect(await store.latest("r-old")).toBeNull();
      expect(await store.load("r-old", "n-old")).toBeNull();
      expect(await store.list("g-old")).toEqual([]);
      expect(await store.list("g-new", { runId: "r-old" })).toEqual([]);
      expect(await store.listByRun("r-old")).toEqual([]);
      expect((await store.runs()).runs.map(({ runId }) => runId)).toEqual(["r-new"]);
      expect(await store.load("r-new", "n-new")).toStrictEqual(replacement);
      const [listed, ...more] = await store.list("g-new", { runId: "r-new" });
      expect(more).toEqual([]);
      expect(listed).toMatchObject({ id: old.id, nodeId: "n-new", timestamp: 20, hasMemorySnapshot: true });
    });

    test("the argument may be frozen, and is neither changed nor frozen", async () => {
      const store = opened();
      const frozen = deepFreeze(checkpoint());
      await store.save(frozen);
      expect(await store.get(frozen.id)).toStrictEqual(frozen);

      const free = checkpoint();
      const before = structuredClone(free);
      await store.save(free);
      expect(free).toStrictEqual(before);
      expect(JSON.stringify(free)).toBe(JSON.stringify(before));
      for (const part of [free, free.state, free.state.input, free.nodeResults, free.visitedNodes]) {
        expect(Object.isFrozen(part)).toBe(false);
        expect(Object.isExtensible(part)).toBe(true);
      }
    });

    test("every read gives a fresh object", async () => {
      const store = opened();
      const saved = checkpoint({ shared: { list: [1], bytes: new Uint8Array([1, 2]) } });
      await store.save(saved);
      const reads = [
        () => store.get(saved.id),
        () => store.latest(saved.runId),
        () => store.load(saved.runId, saved.nodeId),
      ];
      for (const read of reads) {
        const first = (await read())! as Checkpoint & { shared: { list: number[]; bytes: Uint8Array } };
        first.id = "changed";
        (first.state.input as Record<string, unknown>)["question"] = "changed";
        first.visitedNodes.push("changed");
        first.shared.list.push(2);
        first.shared.bytes.fill(9);
        deepFreeze(first.state);
        const second = (await read())!;
        expect(second).not.toBe(first);
        expect(second).toStrictEqual(saved);
        expect(Object.isFrozen(second.state.input)).toBe(false);
      }
      const [listed] = await store.list(graphId);
      listed!.id = "changed";
      expect(ids(await store.list(graphId))).toEqual([saved.id]);
    });

    test("save() stores the checkpoint as it was when save() was called", async () => {
      const store = opened();
      const saved = checkpoint();
      const before = structuredClone(saved);
      const promise = store.save(saved);
      saved.id = "later";
      saved.timestamp = 0;
      saved.state.scratch = "later";
      saved.nodeResults["later"] = { effectClass: "pure", output: null, durationMs: 0 };
      saved.visitedNodes.push("later");
      await promise;
      expect(await store.get(before.id)).toStrictEqual(before);
      expect(await store.get("later")).toBeNull();
      expect(ids(await store.list(graphId))).toEqual([before.id]);
    });

    test("a live nodeResults object is a different snapshot in each save", async () => {
      const store = opened();
      const nodeResults: Checkpoint["nodeResults"] = {};
      const saves = Array.from({ length: 5 }, (_, i) => {
        nodeResults[`node-${i}`] = { effectClass: "pure", output: i, durationMs: 0 };
        return store.save(checkpoint({ id: `live-${i}`, nodeResults }));
      });
      await Promise.all(saves);
      for (let i = 0; i < 5; i++) {
        expect(Object.keys((await store.get(`live-${i}`))!.nodeResults)).toHaveLength(i + 1);
      }
    });

    test("a read sees the saves and deletes that were called before it and not awaited", async () => {
      const store = opened();
      const [first, second] = [checkpoint(), checkpoint()];
      const saves = [store.save(first), store.save(second)];
      const reads = Promise.all([store.get(first.id), store.latest("run-1"), store.list(graphId), store.runs()]);
      const [got, latest, listed, { runs }] = await reads;
      expect(got).toStrictEqual(first);
      expect(latest).toStrictEqual(second);
      expect(ids(listed)).toEqual([second.id, first.id]);
      expect(runs[0]!.checkpoints).toBe(2);
      await Promise.all(saves);
      const gone = store.delete(second.id);
      expect(await store.latest("run-1")).toStrictEqual(first);
      await gone;
    });

    test.each([
      ["undefined", undefined],
      ["null", null],
      ["a string", "checkpoint"],
      ["a number", 1],
    ])("%s is no checkpoint", async (_, value) => {
      const store = opened();
      await wrongType(store.save(value as unknown as Checkpoint));
      expect((await store.runs()).runs).toEqual([]);
    });

    test.each([
      ["state", undefined, TypeError],
      ["state", null, TypeError],
      ["state", "text", TypeError],
      ["timestamp", undefined, TypeError],
      ["timestamp", "1700000000000", TypeError],
      ["timestamp", 1n, TypeError],
      ["timestamp", new Date(0), TypeError],
      ["timestamp", Number.NaN, RangeError],
      ["timestamp", Number.POSITIVE_INFINITY, RangeError],
      ["timestamp", Number.NEGATIVE_INFINITY, RangeError],
    ])("a checkpoint whose %s is %s is refused", async (field, value, kindOfError) => {
      const store = opened();
      const error = await rejection(store.save(checkpoint({ [field]: value })));
      expect(error).toBeInstanceOf(kindOfError);
      expect(error.code).toBe("INVALID_ARGUMENT");
      expect(error.message).toContain(`checkpoint.${field}`);
      expect((await store.runs()).runs).toEqual([]);
    });
  });

  describe("order", () => {
    test("the newest of a run was saved last, also if its timestamp is smaller", async () => {
      const store = opened();
      for (const [id, timestamp] of [
        ["c", 3],
        ["a", 1],
        ["b", 2],
      ] as const) {
        await store.save(checkpoint({ id, timestamp }));
      }
      expect((await store.latest("run-1"))!.id).toBe("b");
      expect(ids(await store.list(graphId))).toEqual(["b", "a", "c"]);
      expect(ids(await store.listByRun("run-1"))).toEqual(["b", "a", "c"]);
    });

    test("runs are ordered by their timestamps", async () => {
      const store = opened();
      for (const [id, timestamp] of [
        ["c", 3],
        ["a", 1],
        ["b", 2],
      ] as const) {
        await store.save(checkpoint({ id, timestamp, runId: `run ${id}` }));
      }
      expect(ids(await store.list(graphId))).toEqual(["c", "b", "a"]);
    });

    test("among equal timestamps the last saved is the newest, across runs", async () => {
      const store = opened();
      for (let i = 0; i < 6; i++) {
        await store.save(checkpoint({ id: `tie-${i}`, runId: `run-${i % 2}`, nodeId: `node-${i % 3}` }));
      }
      expect(ids(await store.list(graphId))).toEqual(["tie-5", "tie-4", "tie-3", "tie-2", "tie-1", "tie-0"]);
      expect((await store.latest("run-0"))!.id).toBe("tie-4");
      expect((await store.load("run-0", "node-0"))!.id).toBe("tie-0");
      expect(ids(await store.listByRun("run-1"))).toEqual(["tie-5", "tie-3", "tie-1"]);
    });

    test("concurrent saves are ordered as they were called", async () => {
      const store = opened();
      const names = Array.from({ length: 100 }, (_, i) => `tie-${i}`);
      await Promise.all(names.map((id) => store.save(checkpoint({ id }))));
      expect(ids(await store.list(graphId))).toEqual(names.toReversed());
    });

    test("a replaced checkpoint counts as saved last", async () => {
      const store = opened();
      for (const id of ["a", "b", "c", "a"]) await store.save(checkpoint({ id }));
      expect(ids(await store.list(graphId))).toEqual(["a", "c", "b"]);
      expect((await store.latest("run-1"))!.id).toBe("a");
    });

    test("a place in the order is not given out again after a delete", async () => {
      const store = opened();
      for (const id of ["a", "b", "c"]) await store.save(checkpoint({ id }));
      await store.delete("c");
      await store.save(checkpoint({ id: "d" }));
      await store.delete("a");
      await store.save(checkpoint({ id: "e" }));
      expect(ids(await store.list(graphId))).toEqual(["e", "d", "b"]);
    });

    test("any finite timestamp is kept exactly and ordered as a number", async () => {
      const store = opened();
      const timestamps = [
        -Number.MAX_VALUE,
        -1e21,
        -1_000.5,
        -1,
        -Number.MIN_VALUE,
        0,
        Number.MIN_VALUE,
        0.1,
        0.2,
        0.1 + 0.2,
        1,
        1_700_000_000_000.25,
        Number.MAX_SAFE_INTEGER,
        2 ** 53 + 2,
        Number.MAX_VALUE,
      ];
      // Save in an order that differs from that of the timestamps. In a run, the store gives the order.
      for (const timestamp of [...timestamps.slice(7), ...timestamps.slice(0, 7)]) {
        await store.save(checkpoint({ id: `at ${timestamp}`, runId: `run ${timestamp}`, timestamp }));
      }
      const listed = await store.list(graphId);
      expect(listed.map(({ timestamp }) => timestamp)).toStrictEqual(timestamps.toReversed());
      for (const timestamp of timestamps) {
        expect((await store.get(`at ${timestamp}`))!.timestamp).toBe(timestamp);
      }
    });

    test("-0 ties with 0 and comes back as -0", async () => {
      const store = opened();
      await store.save(checkpoint({ id: "first", timestamp: 0 }));
      await store.save(checkpoint({ id: "second", timestamp: -0 }));
      await store.save(checkpoint({ id: "third", timestamp: 0 }));
      expect(ids(await store.list(graphId))).toEqual(["third", "second", "first"]);
      expect((await store.get("second"))!.timestamp).toBe(-0);
    });
  });

  describe("load and latest", () => {
    test("load finds the newest of the run, or of that node in the run", async () => {
      const store = opened();
      await store.save(checkpoint({ id: "a", nodeId: "x", timestamp: 1 }));
      await store.save(checkpoint({ id: "b", nodeId: "x", timestamp: 3 }));
      await store.save(checkpoint({ id: "c", nodeId: "y", timestamp: 4 }));
      await store.save(checkpoint({ id: "d", nodeId: "y", timestamp: 2 }));
      await store.save(checkpoint({ id: "other", runId: "run-2", nodeId: "x", timestamp: 9 }));
      expect((await store.load("run-1"))!.id).toBe("d");
      expect((await store.latest("run-1"))!.id).toBe("d");
      expect((await store.load("run-1", "x"))!.id).toBe("b");
      expect((await store.load("run-1", "y"))!.id).toBe("d");
      expect((await store.load("run-2", "x"))!.id).toBe("other");
      expect(await store.load("run-2", "y")).toBeNull();
    });

    test("load() ignores a nodeId that is undefined or null", async () => {
      const store = opened();
      await store.save(checkpoint({ id: "a", nodeId: "null" }));
      await store.save(checkpoint({ id: "b", nodeId: "undefined" }));
      expect((await store.load("run-1", undefined))!.id).toBe("b");
      expect((await store.load("run-1", null as unknown as string))!.id).toBe("b");
    });

    test("a run's checkpoints may be of several graphs", async () => {
      const store = opened();
      await store.save(checkpoint({ id: "a", graphId: "g1", timestamp: 1 }));
      await store.save(checkpoint({ id: "b", graphId: "g2", timestamp: 2 }));
      expect(ids(await store.listByRun("run-1"))).toEqual(["b", "a"]);
      expect(ids(await store.list("g1"))).toEqual(["a"]);
      expect(ids(await store.list("g2", { runId: "run-1" }))).toEqual(["b"]);
      expect((await store.latest("run-1"))!.id).toBe("b");
    });
  });

  describe("list", () => {
    test("a listing shows exactly the contract's keys", async () => {
      const store = opened();
      const saved = checkpoint();
      await store.save(saved);
      const { runs } = await store.runs();
      for (const [metadata] of [
        await store.list(graphId),
        await store.listByRun("run-1"),
        runs.map(({ latest }) => latest),
      ]) {
        const keys = ["id", "runId", "graphId", "nodeId", "timestamp", "stateSize", "hasMemorySnapshot"];
        expect(Object.keys(metadata!).toSorted()).toEqual(keys.toSorted());
        expect(metadata).toMatchObject({ id: saved.id, runId: "run-1", graphId, nodeId: "node-1" });
        expect(metadata!.timestamp).toBe(saved.timestamp);
        expect(Object.getPrototypeOf(metadata)).toBe(Object.prototype);
      }
    });

    test("stateSize is the serialised size of the state alone", async () => {
      const store = opened();
      await store.save(checkpoint({ id: "a" }));
      await store.save(checkpoint({ id: "b", more: "x".repeat(10_000), visitedNodes: Array(500).fill("n") }));
      const small = holding({ text: "x".repeat(10_000) });
      const large = holding({ text: "x".repeat(20_000) });
      await store.save({ ...small, id: "c" });
      await store.save({ ...large, id: "d" });
      const sizes = Object.fromEntries((await store.list(graphId)).map(({ id, stateSize }) => [id, stateSize]));
      expect(sizes["a"]).toBeGreaterThan(0);
      expect(sizes["b"]).toBe(sizes["a"]);
      // The state of d contains 10,000 more characters than the state of c. In V8's format, the greater length itself takes
      // one more byte.
      expect(sizes["d"]! - sizes["c"]!).toBe(kind === "jsonl" ? 10_000 : 10_001);

      const text = open(place(kind), { serializer: "json" });
      await text.save({ ...small, id: "c", more: "x".repeat(100) } as Checkpoint);
      const [listed] = await text.list(graphId);
      expect(listed!.stateSize).toBe(Buffer.byteLength(JSON.stringify(small.state)));
    });

    test.each([
      ["left out", {}, false],
      ["undefined", { memorySnapshot: undefined }, false],
      ["null", { memorySnapshot: null }, true],
      ["empty", { memorySnapshot: { reads: [], pendingWrites: [] } }, true],
      ["false", { memorySnapshot: false }, true],
    ])("hasMemorySnapshot of one that is %s", async (_, fields, expected) => {
      const store = opened();
      const saved = checkpoint(fields as Record<string, unknown>);
      await store.save(saved);
      expect((await store.list(graphId))[0]!.hasMemorySnapshot).toBe(expected);
      expect(await store.get(saved.id)).toStrictEqual(saved);
    });

    test("limits", async () => {
      const store = opened();
      const all = Array.from({ length: 7 }, (_, i) => `c-${6 - i}`);
      for (const id of all.toReversed()) await store.save(checkpoint({ id }));
      const limited = async (limit: unknown) => {
        const options = { limit: limit as number };
        const listed = ids(await store.list(graphId, options));
        expect(ids(await store.listByRun("run-1", options)), String(limit)).toEqual(listed);
        expect(ids(await store.list(graphId, { ...options, runId: "run-1" })), String(limit)).toEqual(listed);
        return listed;
      };
      const infinite = Number.POSITIVE_INFINITY;
      for (const limit of [undefined, null, 0, -0, -1, -2.5, Number.NaN, infinite, -infinite]) {
        expect(await limited(limit), String(limit)).toEqual(all);
      }
      for (const limit of [7, 8, 100, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53, Number.MAX_VALUE]) {
        expect(await limited(limit), String(limit)).toEqual(all);
      }
      for (const limit of [1, 1.5, 2, 2.999, 6]) {
        expect(await limited(limit), String(limit)).toEqual(all.slice(0, limit));
      }
      // AgentOS' own store uses Array.prototype.slice, so the results must be equal.
      expect(await limited(0.5)).toEqual(all.slice(0, 0.5));
      for (const limit of ["1", true, 1n, {}, [1], Symbol("1"), () => 1]) {
        await wrongType(store.list(graphId, { limit: limit as number }));
        await wrongType(store.listByRun("run-1", { limit: limit as number }));
      }
    });

    test("there is no default limit", async () => {
      const store = open(place(kind), { durability: "off" });
      const saves = Array.from({ length: 1_234 }, (_, i) => store.save(checkpoint({ runId: `run-${i % 3}` })));
      await Promise.all(saves);
      expect(await store.list(graphId)).toHaveLength(1_234);
      expect(await store.listByRun("run-0")).toHaveLength(412);
    });

    test("runId narrows a listing", async () => {
      const store = opened();
      for (let i = 0; i < 6; i++) await store.save(checkpoint({ id: `c-${i}`, runId: `run-${i % 2}` }));
      await store.save(checkpoint({ id: "elsewhere", runId: "run-0", graphId: "g2" }));
      expect(ids(await store.list(graphId, { runId: "run-0" }))).toEqual(["c-4", "c-2", "c-0"]);
      expect(ids(await store.list(graphId, { runId: "run-0", limit: 2 }))).toEqual(["c-4", "c-2"]);
      expect(await store.list(graphId, { runId: "run-9" })).toEqual([]);
      expect(await store.list(graphId, { runId: "" })).toEqual([]);
      const none = { runId: undefined } as unknown as { runId: string };
      expect(await store.list(graphId, none)).toHaveLength(6);
    });

    test("options that are no object are refused, missing ones are none", async () => {
      const store = opened();
      await store.save(checkpoint());
      expect(await store.list(graphId, null as unknown as {})).toHaveLength(1);
      await wrongType(store.list(graphId, 1 as unknown as {}));
      await wrongType(store.list(graphId, "limit" as unknown as {}));
      await wrongType(store.listByRun("run-1", true as unknown as {}));
    });
  });

  describe("delete", () => {
    test("a deleted checkpoint is gone from everything", async () => {
      const store = opened();
      const [kept, gone] = [checkpoint(), checkpoint()];
      await store.save(kept);
      await store.save(gone);
      expect(await store.delete(gone.id)).toBeUndefined();
      expect(await store.get(gone.id)).toBeNull();
      expect(await store.latest("run-1")).toStrictEqual(kept);
      expect(ids(await store.list(graphId))).toEqual([kept.id]);
      expect((await store.runs()).runs[0]!.checkpoints).toBe(1);
    });

    test("an unknown id is fine", async () => {
      const store = opened();
      const saved = checkpoint();
      await store.save(saved);
      expect(await store.delete("nobody")).toBeUndefined();
      expect(await store.delete("")).toBeUndefined();
      expect(await store.delete("run-1")).toBeUndefined();
      expect(await store.delete(graphId)).toBeUndefined();
      expect(ids(await store.list(graphId))).toEqual([saved.id]);
      await store.delete(saved.id);
      expect(await store.delete(saved.id)).toBeUndefined();
    });

    test("an id may be saved again after its delete", async () => {
      const store = opened();
      const saved = checkpoint({ runId: "old" });
      await store.save(saved);
      await store.delete(saved.id);
      await store.save({ ...saved, runId: "new" });
      expect((await store.get(saved.id))!.runId).toBe("new");
      expect(await store.latest("old")).toBeNull();
    });
  });

  describe("fork", () => {
    test("starts a run of its own from the source, which stays as it is", async () => {
      const store = opened();
      const source = checkpoint({
        timestamp: 5,
        skippedNodes: ["s"],
        unknown: { kept: [1] },
        memorySnapshot: { reads: [], pendingWrites: [] },
      });
      await store.save(source);
      const before = Date.now();
      const runId = await store.fork(source.id);
      const after = Date.now();

      expect(typeof runId).toBe("string");
      expect([source.id, source.runId]).not.toContain(runId);
      const forked = (await store.latest(runId))!;
      expect(forked).toStrictEqual({ ...source, id: forked.id, runId, timestamp: forked.timestamp });
      expect(Object.keys(forked)).toEqual(Object.keys(source));
      expect([source.id, runId]).not.toContain(forked.id);
      expect(forked.timestamp).toBeGreaterThanOrEqual(before);
      expect(forked.timestamp).toBeLessThanOrEqual(after);
      expect(await store.get(source.id)).toStrictEqual(source);
      expect(await store.latest(source.runId)).toStrictEqual(source);
      expect(ids(await store.listByRun(source.runId))).toEqual([source.id]);
      expect(await store.listByRun(runId)).toMatchObject([{ graphId, nodeId: "node-1", hasMemorySnapshot: true }]);
      expect((await store.runs()).runs.map((run) => run.runId)).toEqual([runId, "run-1"]);
    });

    test("merges objects over the source's partitions, shallowly", async () => {
      const store = opened();
      const source = checkpoint();
      source.state.input = { a: 1, deep: { x: 1, y: 1 } };
      await store.save(source);
      const runId = await store.fork(
        source.id,
        patch({ input: { deep: { x: 2 }, b: 2 }, diagnostics: { memoryReads: 9 } }),
      );
      const forked = (await store.latest(runId))!;
      expect(forked.state).toStrictEqual({
        ...source.state,
        input: { a: 1, deep: { x: 2 }, b: 2 },
        diagnostics: { ...source.state.diagnostics, memoryReads: 9 },
      });
      expect(await store.get(source.id)).toStrictEqual(source);
    });

    test.each([
      ["an array", [1, 2]],
      ["a Date", new Date(5)],
      ["a Map", new Map([["k", "v"]])],
    ])("%s in a patch replaces the input", async (_, value) => {
      const store = opened();
      const source = checkpoint();
      await store.save(source);
      const forked = (await store.latest(await store.fork(source.id, patch({ input: value }))))!;
      expect(forked.state).toStrictEqual({ ...source.state, input: value });
    });

    test.each([
      ["a string", "text"],
      ["a number", 7],
      ["a function", () => ({})],
    ])("a partition of a patch that is %s is refused and nothing is stored", async (_, value) => {
      const store = opened();
      const source = checkpoint();
      await store.save(source);
      for (const partition of ["input", "scratch", "artifacts", "diagnostics"]) {
        await expect(store.fork(source.id, patch({ [partition]: value }))).rejects.toThrow(
          `patchState.${partition} must be`,
        );
        await wrongType(store.fork(source.id, patch({ [partition]: value })));
      }
      expect((await store.runs()).runs).toHaveLength(1);
    });

    test.each([
      ["an array", [1, 2]],
      ["a Map", new Map([["k", "v"]])],
    ])("a scratch that is %s is refused", async (_, value) => {
      const store = opened();
      const source = checkpoint();
      await store.save(source);
      await wrongType(store.fork(source.id, patch({ scratch: value })));
    });

    test("the misspelt name of a partition is refused, and the right one named", async () => {
      const store = opened();
      const source = checkpoint();
      await store.save(source);
      for (const wrong of ["scrach", "Scratch", "inputs", "artefacts", "diagnostic"]) {
        const forking = store.fork(source.id, patch({ [wrong]: { a: 1 } }));
        await expect(forking).rejects.toThrow(/Did you mean "(scratch|input|artifacts|diagnostics)"\?/);
      }
      expect((await store.runs()).runs).toHaveLength(1);
    });

    test.each([
      ["null", null],
      ["a string", "text"],
      ["an array", [1, 2]],
      ["a Map", new Map()],
      ["undefined", undefined],
    ])("an object in a patch replaces a partition that is %s", async (_, old) => {
      const store = opened();
      const source = holding(old);
      await store.save(source);
      const forked = (await store.latest(await store.fork(source.id, { scratch: { a: 1 } })))!;
      expect(forked.state).toStrictEqual({ ...source.state, scratch: { a: 1 } });
    });

    test("a partition that the source lacks is added, and an undefined one of the patch changes nothing", async () => {
      const store = opened();
      const source = checkpoint({ state: { input: { a: 1 } } as Checkpoint["state"] });
      await store.save(source);
      const runId = await store.fork(source.id, patch({ input: undefined, artifacts: { b: 2 } }));
      expect((await store.latest(runId))!.state).toStrictEqual({ input: { a: 1 }, artifacts: { b: 2 } });
    });

    test.each(["id", "runId", "state", "nodeResults", "__proto__"])(
      "the key %s of a patch is refused, because it would be lost",
      async (key) => {
        const store = opened();
        const source = checkpoint();
        await store.save(source);
        const wrong = JSON.parse(`{"scratch":{"a":1},${JSON.stringify(key)}:{"scratch":{"a":2}}}`) as Record<
          string,
          unknown
        >;
        const error = await wrongType(store.fork(source.id, patch(wrong)));
        expect(error.message).toContain(`Unknown partition "${key}" in patchState`);
        expect(error.message).toContain("{ input, scratch, artifacts, diagnostics }");
        expect((await store.runs()).runs).toHaveLength(1);
        // What is undefined says nothing.
        const runId = await store.fork(source.id, patch({ memory: undefined, scratch: { a: 1 } }));
        expect((await store.latest(runId))!.state.scratch).toMatchObject({ a: 1 });
      },
    );

    test("a partition of a patch that is null changes nothing", async () => {
      const store = opened();
      const source = checkpoint();
      await store.save(source);
      for (const partition of ["input", "scratch", "artifacts", "diagnostics"]) {
        const runId = await store.fork(source.id, patch({ [partition]: null }));
        expect((await store.latest(runId))!.state).toStrictEqual(source.state);
      }
    });

    test("__proto__ in a patch is a key like any other", async () => {
      const store = opened();
      const source = checkpoint();
      await store.save(source);
      const hostile = '{"scratch":{"__proto__":{"polluted":1},"constructor":2}}';
      const runId = await store.fork(source.id, JSON.parse(hostile) as Partial<StatePartitions>);
      const forked = (await store.latest(runId))!;
      const scratch = forked.state.scratch as Record<string, unknown>;
      expect(Object.keys(scratch)).toEqual(["notes", "__proto__", "constructor"]);
      expect(Object.getPrototypeOf(scratch)).toBe(Object.prototype);
      expect(Object.getOwnPropertyDescriptor(scratch, "__proto__")?.value).toEqual({ polluted: 1 });
      expect(forked.state.input).toEqual(source.state.input);
      expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    });

    test("the patch is of the moment of the call", async () => {
      const store = opened();
      const source = checkpoint();
      await store.save(source);
      const change = { scratch: { answer: ["yes"] }, input: { when: "now" } };
      const promise = store.fork(source.id, change);
      change.scratch.answer.push("later");
      change.scratch = { answer: ["later"] };
      change.input.when = "later";
      const forked = (await store.latest(await promise))!;
      expect(forked.state).toStrictEqual({
        ...source.state,
        input: { ...(source.state.input as object), when: "now" },
        scratch: { notes: ["a", "b"], answer: ["yes"] },
      });
    });

    test("the patch is neither changed nor frozen, and may be frozen", async () => {
      const store = opened();
      const source = checkpoint();
      await store.save(source);
      const change = { scratch: { a: [1] } };
      await store.fork(source.id, change);
      expect(change).toStrictEqual({ scratch: { a: [1] } });
      expect(Object.isFrozen(change.scratch)).toBe(false);
      const runId = await store.fork(source.id, deepFreeze({ scratch: { a: [1] } }));
      expect((await store.latest(runId))!.state.scratch).toEqual({ notes: ["a", "b"], a: [1] });
    });

    test("no patch, null and an empty one fork the same state", async () => {
      const store = opened();
      const source = checkpoint();
      await store.save(source);
      for (const change of [undefined, null, {}]) {
        const runId = await store.fork(source.id, change as Partial<StatePartitions>);
        expect((await store.latest(runId))!.state).toStrictEqual(source.state);
      }
    });

    test("an unknown id is refused and nothing is stored", async () => {
      const store = opened();
      await store.save(checkpoint());
      for (const id of ["nobody", "run-1", "", graphId]) {
        const error = await failure(store.fork(id, { input: { a: 1 } }), "NOT_FOUND");
        expect(error.message).toContain("not found");
        expect(error.message).toContain(JSON.stringify(id));
        expect(error.retryable).toBe(false);
      }
      expect((await store.runs()).runs).toHaveLength(1);
    });

    test("a patch that is none or cannot be stored is refused and nothing is stored", async () => {
      const store = opened();
      const source = checkpoint();
      await store.save(source);
      for (const wrong of ["text", 1, true, 1n, Symbol("x"), () => ({})]) {
        await wrongType(store.fork(source.id, wrong as unknown as Partial<StatePartitions>));
      }
      const error = await failure(store.fork(source.id, { scratch: { bad: new WeakMap() } }), "INVALID_ARGUMENT");
      expect(error.message).toContain("scratch.bad");
      expect((await store.runs()).runs).toHaveLength(1);
    });

    test("forks of forks and concurrent forks are runs of their own", async () => {
      const store = opened();
      const source = checkpoint();
      await store.save(source);
      const runIds = await Promise.all(
        Array.from({ length: 20 }, (_, i) => store.fork(source.id, { scratch: { branch: i } })),
      );
      expect(new Set(runIds).size).toBe(20);
      for (const [i, runId] of runIds.entries()) {
        expect((await store.latest(runId))!.state.scratch).toEqual({ notes: ["a", "b"], branch: i });
      }
      const first = (await store.latest(runIds[0]!))!;
      const again = await store.fork(first.id, { scratch: { again: true } });
      expect((await store.latest(again))!.state.scratch).toEqual({ notes: ["a", "b"], branch: 0, again: true });
      await store.delete(source.id);
      await store.delete(first.id);
      expect((await store.latest(again))!.state.scratch).toEqual({ notes: ["a", "b"], branch: 0, again: true });
    });

    test("a fork sees a save that was called before it and not awaited", async () => {
      const store = opened();
      const source = checkpoint();
      const saved = store.save(source);
      const runId = await store.fork(source.id);
      await saved;
      expect((await store.latest(runId))!.state).toStrictEqual(source.state);
    });
  });

  describe("runs", () => {
    test("an empty store knows none", async () => {
      expect(await opened().runs()).toStrictEqual({ runs: [], cursor: null });
    });

    test("the last to begin is first, with its newest checkpoint and its count", async () => {
      const store = opened();
      await store.save(checkpoint({ id: "a1", runId: "a", graphId: "g1", timestamp: 100 }));
      await store.save(checkpoint({ id: "b1", runId: "b", graphId: "g1", timestamp: 50 }));
      await store.save(checkpoint({ id: "a2", runId: "a", graphId: "g2", timestamp: 200 }));
      await store.save(checkpoint({ id: "a3", runId: "a", graphId: "g2", timestamp: 150 }));
      const page = await store.runs();
      expect(page.cursor).toBeNull();
      expect(page.runs.map(({ runId, graphId, checkpoints }) => ({ runId, graphId, checkpoints }))).toEqual([
        { runId: "b", graphId: "g1", checkpoints: 1 },
        { runId: "a", graphId: "g2", checkpoints: 3 },
      ]);
      expect(page.runs.map(({ latest }) => latest.id)).toEqual(["b1", "a3"]);
      for (const run of page.runs) {
        const keys = ["checkpoints", "forkedFrom", "graphId", "latest", "lease", "runId", "status", "version"];
        expect(Object.keys(run).toSorted()).toEqual(keys);
        expect(await store.get(run.latest.id)).toStrictEqual(await store.latest(run.runId));
      }
    });

    test("pages follow each other by their cursors, also while runs begin", async () => {
      const store = opened();
      for (let i = 0; i < 7; i++) await store.save(checkpoint({ runId: `run-${i}` }));
      const first = await store.runs({ limit: 3 });
      expect(first.runs.map(({ runId }) => runId)).toEqual(["run-6", "run-5", "run-4"]);
      expect(typeof first.cursor).toBe("string");
      await store.save(checkpoint({ runId: "run-7" }));
      const second = await store.runs({ limit: 3, cursor: first.cursor });
      expect(second.runs.map(({ runId }) => runId)).toEqual(["run-3", "run-2", "run-1"]);
      const third = await store.runs({ limit: 3, cursor: second.cursor });
      expect(third.runs.map(({ runId }) => runId)).toEqual(["run-0"]);
      expect(third.cursor).toBeNull();
      expect((await store.runs({ limit: 3, cursor: null })).runs[0]!.runId).toBe("run-7");
    });

    test("a page that ends with the last run has no cursor", async () => {
      const store = opened();
      for (let i = 0; i < 4; i++) await store.save(checkpoint({ runId: `run-${i}` }));
      expect((await store.runs({ limit: 4 })).cursor).toBeNull();
      const half = await store.runs({ limit: 2 });
      expect((await store.runs({ limit: 2, cursor: half.cursor })).cursor).toBeNull();
    });

    test("a page has 100 runs unless said otherwise", async () => {
      const store = open(place(kind), { durability: "off" });
      await Promise.all(Array.from({ length: 101 }, (_, i) => store.save(checkpoint({ runId: `run-${i}` }))));
      const page = await store.runs();
      expect(page.runs).toHaveLength(100);
      expect((await store.runs({ cursor: page.cursor })).runs.map(({ runId }) => runId)).toEqual(["run-0"]);
      expect((await store.runs({ limit: 101 })).cursor).toBeNull();
    });

    test("a prefix is literal, and about the graph in which the run began", async () => {
      const store = opened();
      const begun = [
        ["r1", "graph-chat-1"],
        ["r2", "graph-chatter-2"],
        ["r3", "graph-%-3"],
        ["r4", "graph-_-4"],
        ["r5", "Graph-chat-5"],
        ["r6", "graph-*-6"],
        ["r7", "graph-ä-7"],
      ] as const;
      for (const [runId, graph] of begun) await store.save(checkpoint({ runId, graphId: graph }));
      await store.save(checkpoint({ runId: "r1", graphId: "moved", timestamp: 1_800_000_000_000 }));
      const found = async (graphIdPrefix: string) =>
        (await store.runs({ graphIdPrefix })).runs.map(({ runId }) => runId).toSorted();
      expect(await found("")).toHaveLength(7);
      expect(await found("graph-")).toEqual(["r1", "r2", "r3", "r4", "r6", "r7"]);
      expect(await found("graph-chat-")).toEqual(["r1"]);
      expect(await found("graph-chat")).toEqual(["r1", "r2"]);
      expect(await found("graph-%")).toEqual(["r3"]);
      expect(await found("graph-_")).toEqual(["r4"]);
      expect(await found("graph-*")).toEqual(["r6"]);
      expect(await found("graph-ä")).toEqual(["r7"]);
      expect(await found("%")).toEqual([]);
      expect(await found("_raph")).toEqual([]);
      expect(await found("graph-\0")).toEqual([]);
      expect(await found("moved")).toEqual([]);
      expect((await store.runs({ graphIdPrefix: "graph-chat-" })).runs[0]!.graphId).toBe("moved");
    });

    test("graphIdPrefix can be combined with limit and cursor", async () => {
      const store = opened();
      for (let i = 0; i < 9; i++) {
        await store.save(checkpoint({ runId: `run-${i}`, graphId: i % 3 === 0 ? "wanted-1" : "other-1" }));
      }
      const first = await store.runs({ graphIdPrefix: "wanted-", limit: 2 });
      expect(first.runs.map(({ runId }) => runId)).toEqual(["run-6", "run-3"]);
      const second = await store.runs({ graphIdPrefix: "wanted-", limit: 2, cursor: first.cursor });
      expect(second).toMatchObject({ runs: [{ runId: "run-0" }], cursor: null });
    });

    test("a run ends with its last checkpoint and keeps its place until then", async () => {
      const store = opened();
      await store.save(checkpoint({ id: "a1", runId: "a" }));
      await store.save(checkpoint({ id: "b1", runId: "b" }));
      await store.save(checkpoint({ id: "a2", runId: "a" }));
      await store.delete("a1");
      expect((await store.runs()).runs).toMatchObject([
        { runId: "b", checkpoints: 1 },
        { runId: "a", checkpoints: 1, latest: { id: "a2" } },
      ]);
      // Replacing the only checkpoint of a run does not remove the run from the list.
      await store.save(checkpoint({ id: "a2", runId: "a", timestamp: 1 }));
      expect((await store.runs()).runs).toMatchObject([{ runId: "b" }, { runId: "a", latest: { timestamp: 1 } }]);
      await store.delete("a2");
      expect((await store.runs()).runs.map(({ runId }) => runId)).toEqual(["b"]);
      await store.save(checkpoint({ id: "a3", runId: "a" }));
      expect((await store.runs()).runs.map(({ runId }) => runId)).toEqual(["a", "b"]);
    });
  });

  describe("close", () => {
    test("waits for earlier calls, may be called again, and makes later calls reject", async () => {
      const target = place(kind);
      const store = new CheckpointStore(target);
      const saved = checkpoint();
      const pending = store.save(saved);
      expect(await store.close()).toBeUndefined();
      expect(await pending).toBeUndefined();
      expect(await store.close()).toBeUndefined();
      await Promise.all([store.close(), store.close()]);
      const calls: Array<() => Promise<unknown>> = [
        () => store.save(checkpoint()),
        () => store.get("a"),
        () => store.load("a"),
        () => store.latest("a"),
        () => store.list("a"),
        () => store.listByRun("a"),
        () => store.delete("a"),
        () => store.fork("a"),
        () => store.runs(),
      ];
      for (const call of calls) {
        const error = await failure(call(), "CLOSED");
        expect(error.message).toContain("closed");
        expect(error.retryable).toBe(false);
      }
    });

    test("a store that was never used closes", async () => {
      expect(await new CheckpointStore(place(kind)).close()).toBeUndefined();
    });

    test("`await using` closes", async () => {
      let kept: CheckpointStore;
      {
        await using store = new CheckpointStore(place(kind));
        kept = store;
        await store.save(checkpoint());
      }
      await failure(kept.get("a"), "CLOSED");
      {
        await using store = await openStore(place(kind));
        kept = new CheckpointStore(store);
        await kept.save(checkpoint());
      }
      await failure(kept.get("a"), "CLOSED");
    });

    test("Symbol.asyncDispose closes", async () => {
      const store = new CheckpointStore(place(kind));
      await store[Symbol.asyncDispose]();
      await failure(store.get("a"), "CLOSED");
    });
  });

  describe("a shared store", () => {
    test("its views see the same checkpoints and close alone", async () => {
      const shared = await openStore(place(kind));
      onTestFinished(() => shared.close());
      const [one, two] = [new CheckpointStore(shared), new CheckpointStore(shared)];
      const saved = checkpoint();
      await one.save(saved);
      expect(await two.get(saved.id)).toStrictEqual(saved);
      await one.close();
      await one.close();
      await failure(one.get(saved.id), "CLOSED");
      expect(await two.get(saved.id)).toStrictEqual(saved);
      await two.save(checkpoint());
      expect(await new CheckpointStore(shared).list(graphId)).toHaveLength(2);
      await shared.close();
      await shared.close();
      await failure(two.get(saved.id), "CLOSED");
      await failure(new CheckpointStore(shared).get(saved.id), "CLOSED");
      await two.close();
    });
  });
});

describe("a file", () => {
  test("keeps everything, and its order, when it is opened again", async () => {
    const target = place("sqlite");
    const first = new CheckpointStore(target);
    for (const id of ["a", "b", "c"]) await first.save(checkpoint({ id, runId: `run-${id}`, extra: { id } }));
    await first.delete("c");
    await first.close();

    const second = new CheckpointStore(target);
    await second.save(checkpoint({ id: "d" }));
    await second.save(checkpoint({ id: "a", runId: "run-a" }));
    await second.close();

    const third = open(target);
    expect(ids(await third.list(graphId))).toEqual(["a", "d", "b"]);
    expect(await third.get("b")).toMatchObject({ id: "b", extra: { id: "b" } });
    expect((await third.runs()).runs.map(({ runId }) => runId)).toEqual(["run-1", "run-b", "run-a"]);
    expect(await third.get("c")).toBeNull();
  });

  test("a run that begins after the newest one was deleted and the file reopened comes first", async () => {
    const target = place("sqlite");
    const first = new CheckpointStore(target);
    for (const runId of ["a", "b", "c"]) await first.save(checkpoint({ id: `only of ${runId}`, runId }));
    await first.delete("only of c");
    await first.close();
    const second = open(target);
    await second.save(checkpoint({ runId: "d" }));
    const page = await second.runs({ limit: 1 });
    expect(page.runs[0]!.runId).toBe("d");
    const rest = await second.runs({ cursor: page.cursor });
    expect(rest.runs.map(({ runId }) => runId)).toEqual(["b", "a"]);
  });

  test("two handles share one file and one order", async () => {
    const target = place("sqlite");
    const handles = [open(target), open(target)] as const;
    for (let i = 0; i < 10; i++) await handles[i % 2]!.save(checkpoint({ id: `c-${i}` }));
    const expected = Array.from({ length: 10 }, (_, i) => `c-${9 - i}`);
    for (const handle of handles) {
      expect(ids(await handle.list(graphId))).toEqual(expected);
      expect((await handle.latest("run-1"))!.id).toBe("c-9");
    }
    await handles[0].save(checkpoint({ id: "c-3", runId: "run-2" }));
    expect((await handles[1].get("c-3"))!.runId).toBe("run-2");
    await handles[1].delete("c-9");
    expect((await handles[0].latest("run-1"))!.id).toBe("c-8");
    await handles[0].close();
    await handles[1].save(checkpoint({ id: "alone" }));
    expect((await handles[1].latest("run-1"))!.id).toBe("alone");
  });

  test("two handles may write at the same time", async () => {
    const target = place("sqlite");
    const handles = [open(target), open(target)] as const;
    const saves = Array.from({ length: 200 }, (_, i) => handles[i % 2]!.save(checkpoint({ id: `c-${i}` })));
    await Promise.all(saves);
    const listed = ids(await handles[0].list(graphId));
    expect(ids(await handles[1].list(graphId))).toEqual(listed);
    expect(new Set(listed).size).toBe(200);
    // The saves of one handle keep the order of its calls.
    for (const half of [0, 1]) {
      const own = listed.map((id) => Number(id.slice(2))).filter((number) => number % 2 === half);
      expect(own).toEqual(own.toSorted((a, b) => b - a));
    }
  });

  test("stores in memory are each their own", async () => {
    const [one, two] = [open("memory:"), open("memory:")];
    await one.save(checkpoint());
    expect((await two.runs()).runs).toEqual([]);
  });

  test("a closed store leaves one file", async () => {
    const home = folder();
    const store = new CheckpointStore(`${home}/agent.db`);
    await store.save(checkpoint());
    await store.latest("run-1");
    await store.close();
    expect(readdirSync(home)).toEqual(["agent.db"]);
  });
});

const result = (effectClass: string) => ({ effectClass, output: null, durationMs: 0 }) as never;
const plan = (value: unknown) => () => resumePlan(value as Checkpoint);

describe("resumePlan", () => {
  test("sorts the nodes of a stored checkpoint", async () => {
    const store = open("memory:");
    const saved = checkpoint({
      nodeResults: {
        done: result("external"),
        pure: result("pure"),
        read: result("read"),
        write: result("write"),
        external: result("external"),
        human: result("human"),
        bypassed: result("write"),
      },
      visitedNodes: ["done", "done"],
      skippedNodes: ["bypassed"],
    });
    await store.save(saved);
    expect(resumePlan((await store.get(saved.id))!)).toStrictEqual({
      completed: ["done"],
      skipped: ["bypassed"],
      replay: ["write", "external", "human"],
      reexecute: ["pure", "read"],
    });
  });

  test("node ids are data", () => {
    const names = ["__proto__", "constructor", "a.b", "", "x\0y", "ä", "\u{1f600}"];
    const nodeResults = Object.fromEntries(names.map((name) => [name, result("write")]));
    expect(resumePlan({ nodeResults, visitedNodes: [] }).replay).toEqual(names);
  });

  test("an unknown effect class or a malformed checkpoint throws", () => {
    expect(plan({ nodeResults: { a: result("Write") }, visitedNodes: [] })).toThrow(
      expect.objectContaining({ name: "ForkpointError", code: "INVALID_ARGUMENT" }),
    );
    expect(plan({ nodeResults: { a: null }, visitedNodes: [] })).toThrow(/effectClass/);
    for (const wrong of [
      undefined,
      null,
      "text",
      {},
      { nodeResults: null, visitedNodes: [] },
      { nodeResults: {}, visitedNodes: "a" },
      { nodeResults: {}, visitedNodes: [1] },
      { nodeResults: {}, visitedNodes: [], skippedNodes: {} },
    ]) {
      expect(plan(wrong)).toThrow(TypeError);
    }
  });
});

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}
