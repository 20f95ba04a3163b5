// Tests states of every kind of JSON value: how results are merged, and that they survive on every kind of store.
import { StorageBackedCheckpointStore, Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { describe, expect, it, onTestFinished } from "vitest";
import { failure, kinds, place, rejection, wrongType } from "../helpers.js";
import { ForeignStore, JsonDriver, checkpoint, inMemory, own, storeKinds, stores } from "./helpers.js";

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

const values: Array<[string, Json]> = [
  ["a string", "text"],
  ["an empty string", ""],
  ["a number", 7.25],
  ["zero", 0],
  ["true", true],
  ["false", false],
  ["null", null],
  ["an array", [1, "two", null, { three: [3] }]],
  ["an empty array", []],
  ["an object", { a: { b: [null] } }],
  ["an empty object", {}],
  ["a long string", "x".repeat(200_000)],
];

describe.each(storeKinds)("over %s", (kind) => {
  it.each(values)("%s is a state before, between and after steps", async (_, value) => {
    const store = stores[kind]<Json>();
    const seen: Json[] = [];
    let broken = true;
    const workflow = new Workflow<Json>({
      name: "w",
      initialState: value,
      checkpointStore: store,
      steps: [
        { name: "look", run: (state) => void seen.push(state) },
        {
          name: "fails once",
          run: (state) => {
            if (broken) throw new Error("later");
            seen.push(state);
          },
        },
      ],
    });
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
    const workflow = new Workflow<Json>({
      name: "w",
      initialState: null,
      checkpointStore: stores[kind]<Json>(),
      steps: ["text", undefined, 7, null, undefined, false, [1], [2], undefined, { a: 1 }, { b: 2 }, null].map(returns),
    });
    const { state } = await workflow.runWithCheckpoints();
    expect(trace).toEqual([null, "text", "text", 7, null, null, false, [1], [2], [2], { a: 1 }, { a: 1, b: 2 }]);
    expect(state).toEqual({ a: 1, b: 2 });
  });
});

describe("a step's result", () => {
  const ends = async (initialState: Json, run: (state: any) => any): Promise<Json> => {
    const workflow = new Workflow<any>({ name: "w", initialState, steps: [{ name: "s", run }] });
    return (await workflow.run()).state;
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
    await failure(
      ends(7, () => () => {}),
      "INVALID_ARGUMENT",
    );
  });

  it("of an agent replaces a state that is no object", async () => {
    const inputs: string[] = [];
    const agent = { run: async (input: string) => ({ text: `${inputs.push(input)} answers` }) };
    const workflow = new Workflow<string>({
      name: "w",
      initialState: "question",
      steps: [
        { name: "one", agent },
        { name: "two", agent, inputFrom: (state) => state },
      ],
    });
    expect((await workflow.run()).state).toBe("2 answers");
    expect(inputs).toEqual(['"question"', "1 answers"]);
  });

  it("of parallel steps is merged if only one has changed the state, or if lists have grown", async () => {
    const parallel = (...runs: Array<(state: any) => any>) => ({
      name: "p",
      parallel: runs.map((run, at) => ({ name: `b${at}`, run })),
    });
    const run = async (initialState: Json, ...runs: Array<(state: any) => any>) =>
      (await new Workflow<any>({ name: "w", initialState, steps: [parallel(...runs)] }).run()).state;
    expect(
      await run(
        1,
        () => 2,
        () => {},
      ),
    ).toBe(2);
    expect(
      await run(
        [0],
        (list) => void list.push(1),
        (list) => [...list, 2],
      ),
    ).toEqual([0, 1, 2]);
    const both = run(
      1,
      () => 2,
      () => 3,
    );
    expect((await failure(both, "CONFLICT")).message).toContain("have both changed state:");
  });
});

describe("a workflow refuses", () => {
  it("a mutator's result that is no state", async () => {
    const workflow = new Workflow<any>({ name: "w", initialState: { a: 1 }, steps: [], checkpointStore: inMemory() });
    await workflow.runWithCheckpoints({ runId: "object" });
    for (const wrong of [undefined, null, 7, "text", Promise.resolve({})])
      await wrongType(workflow.fork("object:initial", () => wrong));
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

describe.each(kinds)("a store on %s", (kind) => {
  it("keeps such states with every serializer", async () => {
    const mine = {
      name: "mine",
      serialize: (value: unknown) => Buffer.from(JSON.stringify(value)),
      deserialize: (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()) as unknown,
    };
    for (const serializer of ["v8", "json", mine] as const) {
      const store = own<Json>(place(kind), { serializer });
      for (const [at, [, state]] of values.entries())
        await store.save(checkpoint<any>({ stepIndex: at, state }) as never);
      expect((await store.list("run")).map(({ state }) => state)).toEqual(values.map(([, value]) => value));
      expect((await store.timeline("run")).every(({ stateSize }) => stateSize > 0)).toBe(true);
    }
  });
});

it.each(kinds.filter((kind) => kind !== "memory"))(
  "a store on %s keeps them after it was closed and opened",
  async (kind) => {
    const target = place(kind);
    const first = new WorkflowCheckpointStore<Json>(target);
    await first.save(checkpoint<any>({ state: ["kept"] }) as never);
    await first.close();
    const second = new WorkflowCheckpointStore<Json>(target);
    onTestFinished(() => second.close());
    expect((await second.latest("run"))!.state).toEqual(["kept"]);
    expect((await second.check()).findings).toEqual([]);
  },
);

it("a serializer that loses a state is found", async () => {
  const forgets = { name: "forgets", serialize: () => Buffer.from("x"), deserialize: () => undefined };
  const store = own<Json>("memory:", { serializer: forgets as never });
  await store.save(checkpoint<any>({ state: 7 }) as never);
  expect((await failure(store.latest("run"), "INVALID_ARGUMENT")).message).toContain('"forgets" returned undefined');
});

it("a foreign store may hold any of them", async () => {
  const store = new ForeignStore<Json>();
  await store.save(checkpoint<any>({ id: "c", stepIndex: -1, stepName: "initial", state: "foreign" }) as never);
  const steps = [{ name: "s", run: (state: Json) => `${state as string} goes on` as never }];
  const workflow = new Workflow<Json>({ name: "w", initialState: null, steps, checkpointStore: store });
  expect((await workflow.replay("c")).state).toBe("foreign goes on");
});
