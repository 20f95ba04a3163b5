// AgentOS' checkpoint store beyond its contract, on every backend: exact values, arguments, runs, forks, close.
// integration/agentos/forkpoint-conformance.test.ts states the contract.
// @module-tag threads
import { readdirSync } from "node:fs";
import { type Checkpoint, CheckpointStore, type StatePartitions, openStore, resumePlan } from "forkpoint";
import { describe, expect, test } from "vitest";
import { checkpoint, failure, folder, holding, ids, kinds, open, place, rejection, wrongType } from "./helpers.js";
import { opened as openedStore } from "./contents.js";

const graphId = "graph-a-1700000000000";

/** Builds a patch without type checks, as JavaScript code could. */
function patch(fields: Record<string, unknown>): Partial<StatePartitions> {
  return fields as Partial<StatePartitions>;
}

describe.each(kinds)("%s", (kind) => {
  const opened = () => open(place(kind));

  describe("save and get", () => {
    test("a checkpoint comes back as it was, with unknown fields at every level and its keys in order", async () => {
      const store = opened();
      const { id, runId, timestamp, state, ...others } = checkpoint({ skippedNodes: ["node-9"] });
      const extra = { nested: [new Map([["k", 1n]])], bytes: new Uint8Array([1, 2]) };
      const b = { z: 1, a: 2, 10: 3, 9: 4 };
      const kept = { ...state, memory: { kept: true } };
      const saved = { zebra: 1, state: kept, ...others, extra, b, timestamp, runId, id } as Checkpoint;
      expect(await store.save(saved)).toBeUndefined();
      const read = (await store.get(id))!;
      expect(read).toStrictEqual(saved);
      expect(Object.keys(read)).toEqual(Object.keys(saved));
      expect(Object.keys((read as typeof saved & { b: typeof b }).b)).toEqual(Object.keys(b));
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
      const third = checkpoint({ runId: "run-2" });
      const saved = store.save(third);
      expect((await store.latest(await store.fork(third.id)))!.state).toStrictEqual(third.state);
      await saved;
      const gone = store.delete(second.id);
      expect(await store.latest("run-1")).toStrictEqual(first);
      await gone;
    });

    test("a checkpoint without a state or a finite timestamp is refused", async () => {
      const store = opened();
      for (const value of [undefined, null, "checkpoint", 1])
        await wrongType(store.save(value as unknown as Checkpoint));
      const [nan, infinite] = [Number.NaN, Number.POSITIVE_INFINITY];
      const wrong: Array<[string, unknown]> = [
        ...[undefined, null, "text"].map((value): [string, unknown] => ["state", value]),
        ...[undefined, "1700000000000", 1n, new Date(0), nan, infinite, -infinite].map((value): [string, unknown] => [
          "timestamp",
          value,
        ]),
      ];
      for (const [field, value] of wrong) {
        const error = await rejection(store.save(checkpoint({ [field]: value })));
        expect(error, String(value)).toBeInstanceOf(typeof value === "number" ? RangeError : TypeError);
        expect(error.code).toBe("INVALID_ARGUMENT");
        expect(error.message).toContain(`checkpoint.${field}`);
      }
      expect((await store.runs()).runs).toEqual([]);
    });
  });

  describe("order", () => {
    test("concurrent saves are ordered as they were called", async () => {
      const store = opened();
      const names = Array.from({ length: 100 }, (_, i) => `tie-${i}`);
      await Promise.all(names.map((id) => store.save(checkpoint({ id }))));
      expect(ids(await store.list(graphId))).toEqual(names.toReversed());
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
      const below = [-Number.MAX_VALUE, -1e21, -1_000.5, -1, -Number.MIN_VALUE];
      const small = [0, Number.MIN_VALUE, 0.1, 0.2, 0.1 + 0.2, 1];
      const large = [1_700_000_000_000.25, Number.MAX_SAFE_INTEGER, 2 ** 53 + 2, Number.MAX_VALUE];
      const timestamps = [...below, ...small, ...large];
      // Save in an order that differs from that of the timestamps. In a run, the store gives the order.
      for (const timestamp of [...timestamps.slice(7), ...timestamps.slice(0, 7)]) {
        await store.save(checkpoint({ id: `at ${timestamp}`, runId: `run ${timestamp}`, timestamp }));
      }
      const listed = await store.list(graphId);
      expect(listed.map(({ timestamp }) => timestamp)).toStrictEqual(timestamps.toReversed());
      for (const timestamp of timestamps) {
        expect((await store.get(`at ${timestamp}`))!.timestamp).toBe(timestamp);
      }
      // -0 ties with 0.
      for (const at of [0, -0]) await store.save(checkpoint({ id: Object.is(at, 0) ? "0" : "-0", timestamp: at }));
      expect(ids(await store.list(graphId, { runId: "run-1" }))).toEqual(["-0", "0"]);
      expect((await store.get("-0"))!.timestamp).toBe(-0);
    });

    test("load() ignores a nodeId that is undefined or null", async () => {
      const store = opened();
      await store.save(checkpoint({ id: "a", nodeId: "null" }));
      await store.save(checkpoint({ id: "b", nodeId: "undefined" }));
      expect((await store.load("run-1", undefined))!.id).toBe("b");
      expect((await store.load("run-1", null as unknown as string))!.id).toBe("b");
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

    test("hasMemorySnapshot is true of each memorySnapshot that is not undefined", async () => {
      const store = opened();
      for (const memorySnapshot of [undefined, null, false]) {
        const saved = checkpoint({ memorySnapshot } as Record<string, unknown>);
        await store.save(saved);
        expect((await store.list(graphId))[0]!.hasMemorySnapshot).toBe(memorySnapshot !== undefined);
        expect(await store.get(saved.id)).toStrictEqual(saved);
      }
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

    test("options that are no object are refused, missing ones are none", async () => {
      const store = opened();
      await store.save(checkpoint());
      expect(await store.list(graphId, null as unknown as {})).toHaveLength(1);
      await wrongType(store.list(graphId, 1 as unknown as {}));
      await wrongType(store.list(graphId, "limit" as unknown as {}));
      await wrongType(store.listByRun("run-1", true as unknown as {}));
    });
  });

  describe("fork", () => {
    test("an array, a Date or a Map replaces the input, and an object replaces what is none", async () => {
      const store = opened();
      const source = checkpoint();
      await store.save(source);
      const forked = async (id: string, change: Record<string, unknown>) =>
        (await store.latest(await store.fork(id, patch(change))))!;
      for (const value of [[1, 2], new Date(5), new Map([["k", "v"]])]) {
        expect((await forked(source.id, { input: value })).state).toStrictEqual({ ...source.state, input: value });
      }
      for (const old of [[1, 2], new Map(), undefined]) {
        const other = holding(old);
        await store.save(other);
        const { state } = await forked(other.id, { scratch: { a: 1 } });
        expect(state).toStrictEqual({ ...other.state, scratch: { a: 1 } });
      }
    });

    const lost = ["id", "runId", "state", "nodeResults", "__proto__"].map((key): [unknown, string] => [
      JSON.parse(`{"scratch":{"a":1},"${key}":{"scratch":{"a":2}}}`),
      `Unknown partition "${key}" in patchState`,
    ]);
    const misspelt = ["scrach scratch", "Scratch scratch", "inputs input", "artefacts artifacts"].map(
      (words): [unknown, string] => [{ [words.split(" ")[0]!]: {} }, `Did you mean "${words.split(" ")[1]}"?`],
    );
    const notObjects = ["input", "scratch", "artifacts", "diagnostics"].flatMap((name) =>
      ["text", 7, () => ({})].map((value): [unknown, string] => [{ [name]: value }, `patchState.${name} must be`]),
    );

    test("a patch that is none, would be lost or cannot be stored is refused, and an unknown id is", async () => {
      const store = opened();
      const source = checkpoint();
      await store.save(source);
      const none = ["text", 1, true, 1n, Symbol("x"), () => ({})].map((value): [unknown, string] => [
        value,
        "patchState",
      ]);
      const replacing = [[1, 2], new Map([["k", "v"]])].map((scratch): [unknown, string] => [{ scratch }, "scratch"]);
      for (const [wrong, says] of [...lost, ...misspelt, ...notObjects, ...none, ...replacing])
        expect((await wrongType(store.fork(source.id, wrong as {}))).message).toContain(says);
      const error = await failure(store.fork(source.id, { scratch: { bad: new WeakMap() } }), "INVALID_ARGUMENT");
      expect(error.message).toContain("scratch.bad");
      for (const id of ["nobody", "run-1", "", graphId])
        expect((await failure(store.fork(id, {}), "NOT_FOUND")).message).toContain(JSON.stringify(id));
      expect((await store.runs()).runs).toHaveLength(1);
    });

    test("a partition that the source lacks is added, and an undefined one of the patch changes nothing", async () => {
      const store = opened();
      const source = checkpoint({ state: { input: { a: 1 } } as Checkpoint["state"] });
      await store.save(source);
      const runId = await store.fork(source.id, patch({ input: undefined, memory: undefined, artifacts: { b: 2 } }));
      expect((await store.latest(runId))!.state).toStrictEqual({ input: { a: 1 }, artifacts: { b: 2 } });
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

    test("no patch, null, an empty one and null partitions fork the same state", async () => {
      const store = opened();
      const source = checkpoint();
      await store.save(source);
      const nothing = patch({ input: null, scratch: null, artifacts: null, diagnostics: null });
      for (const change of [undefined, null, {}, nothing]) {
        const runId = await store.fork(source.id, change as Partial<StatePartitions>);
        expect((await store.latest(runId))!.state).toStrictEqual(source.state);
      }
    });
  });

  describe("runs", () => {
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
        const keys = [
          "checkpoints",
          "forkedFrom",
          "graphId",
          "latest",
          "lease",
          "runId",
          "status",
          "stopped",
          "version",
        ];
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

    test("a page has 100 runs unless said otherwise", async () => {
      const store = open(place(kind), { durability: "off" });
      await Promise.all(Array.from({ length: 101 }, (_, i) => store.save(checkpoint({ runId: `run-${i}` }))));
      const page = await store.runs();
      expect(page.runs).toHaveLength(100);
      expect((await store.runs({ cursor: page.cursor })).runs.map(({ runId }) => runId)).toEqual(["run-0"]);
      expect((await store.runs({ limit: 101 })).cursor).toBeNull();
      expect((await store.runs({ limit: 1, cursor: page.cursor })).cursor).toBeNull();
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
      const page = await store.runs({ graphIdPrefix: "graph-chat", limit: 1 });
      expect(page.runs.map(({ runId }) => runId)).toEqual(["r2"]);
      const next = await store.runs({ graphIdPrefix: "graph-chat", limit: 1, cursor: page.cursor });
      expect(next).toMatchObject({ runs: [{ runId: "r1" }], cursor: null });
      expect((await store.runs({ graphIdPrefix: "graph-chat-" })).runs[0]!.graphId).toBe("moved");
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
      // Nor does moving it to another one leave it there.
      await store.save(checkpoint({ id: "a2", runId: "c" }));
      expect((await store.runs()).runs.map(({ runId }) => runId)).toEqual(["c", "b"]);
      await store.delete("a2");
      expect((await store.runs()).runs.map(({ runId }) => runId)).toEqual(["b"]);
      await store.save(checkpoint({ id: "a3", runId: "a" }));
      expect((await store.runs()).runs.map(({ runId }) => runId)).toEqual(["a", "b"]);
    });
  });

  test("close() waits for earlier calls", async () => {
    const store = new CheckpointStore(place(kind));
    const pending = store.save(checkpoint());
    await store.close();
    expect(await pending).toBeUndefined();
    let kept: CheckpointStore;
    {
      await using another = await openStore(place(kind));
      kept = new CheckpointStore(another);
      await kept.save(checkpoint());
    }
    await failure(kept.get("a"), "CLOSED");
  });

  describe("a shared store", () => {
    test("its views see the same checkpoints and close alone", async () => {
      const shared = await openedStore(place(kind));
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
