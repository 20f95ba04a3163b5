// Tests states of every kind of JSON value: how results are merged, and that they survive on every kind of store.
import { StorageBackedCheckpointStore, Workflow } from "forkpoint/agentium";
import { describe, expect, it } from "vitest";
import { failure, rejection, wrongType } from "../helpers.js";
import { checkpoint, flow, inMemory, JsonDriver, own, storeKinds, stores } from "./helpers.js";

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

const values: Array<[string, Json]> = [
  ["an empty string", ""],
  ["a number", 7.25],
  ["false", false],
  ["null", null],
  ["an array", [1, "two", null, { three: [3] }]],
  ["an object", { a: { b: [null] } }],
  ["a long string", "x".repeat(200_000)],
];

describe.each(storeKinds)("over %s", (kind) => {
  it.each(values)("%s is a state before, between and after steps", async (_, value) => {
    const store = stores[kind]<Json>();
    const seen: Json[] = [];
    let broken = true;
    const workflow = flow<Json>(store, value, [
      { name: "look", run: (state) => void seen.push(state) },
      {
        name: "fails once",
        run: (state) => {
          if (broken) throw new Error("later");
          seen.push(state);
        },
      },
    ]);
    await rejection(workflow.runWithCheckpoints({ runId: "r" }));
    broken = false;
    const { state } = await workflow.runWithCheckpoints({ runId: "r", resume: true });
    expect([...seen, state]).toEqual([value, value, value]);
    expect((await workflow.listCheckpoints("r")).map((stored) => stored.state)).toEqual([value, value, value]);
    expect((await store.load("r:initial"))!.state).toEqual(value);
    const forked = await workflow.fork("r:initial", () => (typeof value === "object" && value ? { new: 1 } : "new"));
    expect(forked.state).toEqual(typeof value === "object" && value ? { new: 1 } : "new");
  });

  it("a returned value replaces a state that is no object", async () => {
    const trace: Json[] = [];
    const returns = (value: Json | undefined) => ({
      name: JSON.stringify(value) ?? "nothing",
      run: (state: Json) => {
        trace.push(state);
        return value as never;
      },
    });
    const workflow = flow<Json>(
      stores[kind]<Json>(),
      null,
      ["text", undefined, 7, null, undefined, false, [1], [2], undefined, { a: 1 }, { b: 2 }, null].map(returns),
    );
    const { state } = await workflow.runWithCheckpoints();
    expect(trace).toEqual([null, "text", "text", 7, null, null, false, [1], [2], [2], { a: 1 }, { a: 1, b: 2 }]);
    expect(state).toEqual({ a: 1, b: 2 });
  });
});

describe("a step's result", () => {
  const ends = async (initialState: Json, run: (state: any) => any): Promise<Json> => {
    return (await flow<any>(undefined, initialState, [{ name: "s", run }]).run()).state;
  };

  it("may be the edited draft of an array", async () => {
    expect(await ends([1], (list) => void list.push(2))).toEqual([1, 2]);
    expect(await ends([1], (list) => (list.push(2), null))).toEqual([1, 2]);
  });

  it("must be an object if the state is one", async () => {
    for (const wrong of [7, "text", true, [1]]) {
      const error = await rejection(ends({ a: 1 }, () => wrong));
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).toContain('step "s" must return an object or nothing');
    }
  });

  it("may be any stored value, but not a function", async () => {
    const refused = ends(7, () => () => {});
    await failure(refused, "INVALID_ARGUMENT");
  });

  it("of an agent replaces a state that is no object", async () => {
    const inputs: string[] = [];
    const agent = { run: async (input: string) => ({ text: `${inputs.push(input)} answers` }) };
    const workflow = flow<string>(undefined, "question", [
      { name: "one", agent },
      { name: "two", agent, inputFrom: (state) => state },
    ]);
    expect((await workflow.run()).state).toBe("2 answers");
    expect(inputs).toEqual(['"question"', "1 answers"]);
  });

  it("of parallel steps is merged if only one has changed the state, or if lists have grown", async () => {
    const run = async (initialState: Json, runs: Array<(state: any) => any>) => {
      const parallel = runs.map((one, at) => ({ name: `b${at}`, run: one }));
      return (await flow<any>(undefined, initialState, [{ name: "p", parallel }]).run()).state;
    };
    expect(await run(1, [() => 2, () => {}])).toBe(2);
    expect(await run([0], [(list) => void list.push(1), (list) => [...list, 2]])).toEqual([0, 1, 2]);
    const both = run(1, [() => 2, () => 3]);
    expect((await failure(both, "CONFLICT")).message).toContain("have both changed state:");
  });
});

describe("a workflow refuses", () => {
  it("a mutator's result that is no state", async () => {
    const workflow = new Workflow<any>({ name: "w", initialState: { a: 1 }, steps: [], checkpointStore: inMemory() });
    await workflow.runWithCheckpoints({ runId: "object" });
    const forked: string[] = [];
    workflow.events.on("run.start", ({ kind, runId }) => void (kind === "fork" && forked.push(runId)));
    const unheard = Promise.reject(new Error("unheard"));
    for (const wrong of [undefined, null, 7, "text", Promise.resolve({}), unheard])
      await wrongType(workflow.fork("object:initial", () => wrong));
    expect(new Set(forked).size).toBe(6);
    for (const runId of forked) expect(await workflow.listCheckpoints(runId)).toEqual([]);
    await workflow.runWithCheckpoints({ runId: "number", initialState: 7 });
    for (const wrong of [undefined, Promise.resolve(8)]) await wrongType(workflow.fork("number:initial", () => wrong));
    expect((await workflow.fork("number:initial", () => null)).state).toBeNull();
  });

  it("undefined, before anything is stored", async () => {
    expect(() => new Workflow<any>({ name: "w", initialState: undefined, steps: [] })).toThrow(TypeError);
    for (const store of [own<any>("memory:"), new StorageBackedCheckpointStore<any>(new JsonDriver())]) {
      await wrongType(store.save(checkpoint<any>({ state: undefined })));
      expect(await store.list("run")).toEqual([]);
    }
  });
});

it("a serializer that loses a state is found", async () => {
  const forgets = { name: "forgets", serialize: () => Buffer.from("x"), deserialize: () => undefined };
  const store = own<Json>("memory:", { serializer: forgets as never });
  await store.save(checkpoint<any>({ state: 7 }) as never);
  expect((await failure(store.latest("run"), "INVALID_ARGUMENT")).message).toContain('"forgets" returned undefined');
});
