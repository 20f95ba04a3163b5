// Tests the contract of Agentium's checkpoint store on every store of this package.
// @module-tag threads
import {
  ForkpointStorage,
  type ForkpointWorkflowStore,
  InMemoryStorage,
  StorageBackedCheckpointStore,
  WorkflowCheckpointStore,
} from "forkpoint/agentium";
import { describe, expect, it } from "vitest";
import { closing, durable, failure, ids, place, rejection, thrown, wrongType } from "../helpers.js";
import { JsonDriver, checkpoint, own } from "./helpers.js";

type AnyState = Record<string, unknown>;
type Full = ForkpointWorkflowStore<AnyState> | StorageBackedCheckpointStore<AnyState>;

const kinds = {
  memory: (options?: { keepLastN?: number }): Full => own("memory:", options),
  [durable]: (options?: { keepLastN?: number }): Full => own(place(durable), options),
  "storage in memory": (options?: { keepLastN?: number }): Full =>
    new StorageBackedCheckpointStore(new InMemoryStorage(), options),
  [`storage in ${durable}`]: (options?: { keepLastN?: number }): Full => {
    const storage = closing(new ForkpointStorage(place(durable)));
    return new StorageBackedCheckpointStore(storage, options);
  },
  "a driver of the user's own": (options?: { keepLastN?: number }): Full =>
    new StorageBackedCheckpointStore(new JsonDriver(), options),
};

const hostile = [
  ["a", "a:b", "a:initial", "%", "_", "a%", "*", "'"],
  ["🜁 née", "a\nb", "__proto__", "A", "a ", "0:", "\u0000"],
].flat();

const steps = async (store: Full, runId: string) => (await store.list(runId)).map(({ stepIndex }) => stepIndex);

describe.each(Object.entries(kinds))("over %s", (over, make) => {
  /** A driver does not know in which order it was saved to, so `createdAt` counts there. */
  const byCreatedAt = over !== "memory" && over !== durable;

  it("has the documented names and the framework's, and nothing of what is unknown", async () => {
    const store = make();
    for (const id of ["x", ""])
      expect([await store.load(id), await store.latest(id), await store.list(id)]).toEqual([null, null, []]);
    await store.clear("x");
    await store.delete("x");
    const saved = checkpoint<AnyState>();
    expect(await store.save(saved)).toBeUndefined();
    expect(await store.load(saved.id)).toEqual(saved);
    expect(await store.list("run")).toEqual([saved]);
    expect(await store.listForRun("run")).toEqual([saved]);
    expect(await store.latest("run")).toEqual(saved);
    expect(await store.delete(saved.id)).toBeUndefined();
    expect(await store.load(saved.id)).toBeNull();
    await store.save(saved);
    expect(await store.clear("run")).toBeUndefined();
    expect(await store.list("run")).toEqual([]);
    expect(await store.close()).toBeUndefined();
  });

  it("keeps the whole checkpoint: the framework's fields and unknown ones", async () => {
    const store = make();
    const saved = {
      ...checkpoint<AnyState>({ state: { deep: { list: [1, null, { x: "y" }] }, empty: {}, text: "" } }),
      workflowName: "w",
      stepResults: [{ stepName: "s", status: "done", durationMs: 1.5 }],
      timestamp: 1_700_000_000_001,
      ours: { later: true },
    };
    await store.save(saved);
    const found = await store.load(saved.id);
    expect(found).toEqual(saved);
    expect(Object.keys(found!)).toEqual(Object.keys(saved));
  });

  it("keepLastN keeps what was saved last, also of the framework's own checkpoints without createdAt", async () => {
    const store = make({ keepLastN: 2 });
    for (const [at, timestamp] of [30, 10, 20].entries()) {
      const { createdAt: _, ...rest } = checkpoint<AnyState>({ stepIndex: at, id: `run:00000${at}` });
      await store.save({ ...rest, workflowName: "w", timestamp, stepResults: [] } as never);
    }
    expect(ids(await store.list("run"))).toEqual([byCreatedAt ? "run:000000" : "run:000001", "run:000002"]);
  });

  it("lists ascending by step, ties by createdAt; the latest is the last", async () => {
    const store = make();
    const saved = [
      checkpoint<AnyState>({ stepIndex: 10 }),
      checkpoint<AnyState>({ stepIndex: 2 }),
      checkpoint<AnyState>({ stepIndex: -1 }),
      checkpoint<AnyState>({ stepIndex: 9, id: "later", createdAt: 7 }),
      checkpoint<AnyState>({ stepIndex: 9, id: "earlier", createdAt: 6 }),
      checkpoint<AnyState>({ stepIndex: 0 }),
    ];
    for (const each of saved) await store.save(each);
    const order = [[-1], [0], [2], [9, "earlier"], [9, "later"], [10]];
    const listed = await store.list("run");
    expect(listed.map(({ stepIndex, id }) => (stepIndex === 9 ? [stepIndex, id] : [stepIndex]))).toEqual(order);
    expect((await store.latest("run"))!.stepIndex).toBe(10);
    await store.delete("run:step-11");
    expect((await store.latest("run"))!.id).toBe("later");
  });

  it("replaces by id, in whatever run it was", async () => {
    const store = make();
    await store.save(checkpoint<AnyState>({ id: "x", runId: "one", stepIndex: 1 }));
    await store.save(checkpoint<AnyState>({ id: "x", runId: "two", stepIndex: 5, state: { now: true } }));
    expect(await store.list("one")).toEqual([]);
    expect((await store.list("two")).map(({ state }) => state)).toEqual([{ now: true }]);
    await store.clear("one");
    expect((await store.load("x"))!.runId).toBe("two");
  });

  it("matches run ids exactly and does not interpret checkpoint ids", async () => {
    const store = make({ keepLastN: 2 });
    for (const runId of hostile) {
      await store.save(checkpoint<AnyState>({ runId, stepIndex: 0, state: { of: runId } }));
      await store.save(checkpoint<AnyState>({ runId, stepIndex: 1, id: `opaque ${runId}`, state: { of: runId } }));
    }
    for (const runId of hostile) {
      const states = (await store.list(runId)).map(({ state }) => state);
      expect(states, runId).toEqual([{ of: runId }, { of: runId }]);
      expect((await store.latest(runId))!.id).toBe(`opaque ${runId}`);
      await store.save(checkpoint<AnyState>({ runId, stepIndex: 2, state: { of: runId } }));
    }
    await store.clear("a");
    expect(await store.list("a")).toEqual([]);
    for (const runId of hostile.slice(1)) {
      expect(ids(await store.list(runId)), runId).toEqual([`opaque ${runId}`, `${runId}:step-3`]);
    }
  });

  it("rewinds: saves one and drops what else its run has from there on", async () => {
    const store = make();
    for (const stepIndex of [-1, 0, 1, 2]) await store.save(checkpoint<AnyState>({ stepIndex }));
    await store.save(checkpoint<AnyState>({ stepIndex: 1, id: "other" }));
    await store.save(checkpoint<AnyState>({ stepIndex: 2, runId: "run:x" }));
    expect(await store.rewind(checkpoint<AnyState>({ stepIndex: 1, state: { anew: true } }))).toBeUndefined();
    const left = await store.list("run");
    expect(ids(left)).toEqual(["run:initial", "run:step-1", "run:step-2"]);
    expect(left[2]!.state).toEqual({ anew: true });
    expect(await store.list("run:x")).toHaveLength(1);
    await store.rewind(checkpoint<AnyState>({ stepIndex: -1 }));
    expect(ids(await store.list("run"))).toEqual(["run:initial"]);
  });

  it("keeps what was saved last in each run, whatever the clocks say", async () => {
    const store = make({ keepLastN: 3 });
    const save = (runId: string, stepIndex: number, createdAt: number) =>
      store.save(checkpoint<AnyState>({ runId, stepIndex, createdAt }));
    for (const at of [-1, 0, 1, 2]) await save("run", at, 100 + at);
    expect(await steps(store, "run"), "the initial one counts").toEqual([0, 1, 2]);
    await save("run", 0, 200);
    await save("run", 3, 103);
    expect(await steps(store, "run"), "the first step was saved again").toEqual([0, 2, 3]);
    await save("run", 4, 1);
    expect(await steps(store, "run"), "a clock has stepped back").toEqual([0, 3, 4]);
    for (const at of [5, 6]) await save("run", at, 50);
    expect(await steps(store, "run"), "two in one millisecond").toEqual(byCreatedAt ? [0, 3, 6] : [4, 5, 6]);
    await save("other", 0, 0);
    expect(await store.list("other")).toHaveLength(1);
    expect(await store.list("run")).toHaveLength(3);
  });

  it("takes a snapshot when it is called", async () => {
    const store = make();
    const saved = checkpoint<AnyState>({ state: { list: [1] } });
    const pending = store.save(saved);
    (saved.state["list"] as number[]).push(2);
    saved.stepIndex = 7;
    await pending;
    const found = (await store.load("run:step-1"))!;
    expect(found).toMatchObject({ stepIndex: 0, state: { list: [1] } });
    (found.state["list"] as number[]).push(3);
    expect((await store.load("run:step-1"))!.state).toEqual({ list: [1] });
  });

  it("refuses what is no checkpoint, and writes nothing", async () => {
    const store = make();
    const whole = checkpoint<AnyState>();
    for (const field of ["id", "runId"] as const) {
      for (const value of [undefined, null, 7, {}, ""])
        await wrongType(store.save({ ...whole, [field]: value } as never));
      await failure(store.save({ ...whole, [field]: "\ud800" }), "INVALID_ARGUMENT");
    }
    for (const stepIndex of [undefined, "0", NaN, Infinity])
      await wrongType(store.save({ ...whole, stepIndex } as never));
    for (const stepName of [undefined, 7]) await wrongType(store.save({ ...whole, stepName } as never));
    await wrongType(store.save({ ...whole, state: undefined } as never));
    for (const createdAt of ["now", NaN, new Date(NaN)]) await wrongType(store.save({ ...whole, createdAt } as never));
    for (const nothing of [undefined, null, 7, "x"]) await wrongType(store.save(nothing as never));
    for (const id of [undefined, null, 7, {}]) {
      for (const method of ["load", "list", "listForRun", "latest", "clear", "delete"] as const) {
        await wrongType(store[method](id as never));
      }
    }
    expect(await store.list("run")).toEqual([]);
    await store.save({ ...whole, createdAt: new Date(5) as never });
  });

  it("survives many at once", async () => {
    const store = make({ keepLastN: 5 });
    const all = Array.from({ length: 20 }, (_, run) =>
      Array.from({ length: 10 }, (_, stepIndex) =>
        store.save(checkpoint<AnyState>({ runId: `run-${run}`, stepIndex })),
      ),
    );
    await Promise.all(all.flat());
    for (let run = 0; run < 20; run++) {
      expect(await steps(store, `run-${run}`)).toEqual([5, 6, 7, 8, 9]);
    }
  });
});

describe("keepLastN", () => {
  const makers = {
    WorkflowCheckpointStore: (keepLastN: unknown) => own<AnyState>("memory:", { keepLastN } as never),
    StorageBackedCheckpointStore: (keepLastN: unknown) =>
      new StorageBackedCheckpointStore<AnyState>(new InMemoryStorage(), { keepLastN } as never),
  };

  it.each(Object.entries(makers))("of %s: whatever is no number above 0 keeps all, or is refused", async (_, make) => {
    for (const all of [undefined, null, Infinity, 0]) {
      const store: WorkflowCheckpointStore<AnyState> = make(all);
      for (let stepIndex = 0; stepIndex < 20; stepIndex++) await store.save(checkpoint<AnyState>({ stepIndex }));
      expect(await store.list("run")).toHaveLength(20);
    }
    for (const wrong of [-1, 1.5, NaN, "3", {}, true, -Infinity]) {
      const error = thrown(() => make(wrong));
      expect(error instanceof TypeError || error instanceof RangeError, String(error)).toBe(true);
    }
    const one = make(1);
    for (let stepIndex = 0; stepIndex < 3; stepIndex++) await one.save(checkpoint<AnyState>({ stepIndex }));
    expect(await one.list("run")).toHaveLength(1);
  });
});

describe("WorkflowCheckpointStore", () => {
  it("stores a fork as the difference to its parent", async () => {
    const store = own<AnyState>(place("sqlite"));
    const text = Array.from({ length: 20_000 }, () => Math.random().toString(36)).join("");
    await store.save(checkpoint({ state: { text } }));
    const { storedBytes } = await store.stats();
    for (let fork = 0; fork < 5; fork++) {
      await store.save(checkpoint({ runId: `fork-${fork}`, state: { text, fork } }), { parent: "run:step-1" });
    }
    expect((await store.stats()).storedBytes - storedBytes).toBeLessThan(storedBytes / 50);
    expect((await store.load("fork-3:step-1"))!.state).toEqual({ text, fork: 3 });
    await store.clear("run");
    expect((await store.load("fork-4:step-1"))!.state).toEqual({ text, fork: 4 });
    await wrongType(store.save(checkpoint({}), { parent: 7 as never }));
    await wrongType(store.save(checkpoint({}), { perent: "x" } as never));
    const long = failure(store.save(checkpoint({ stepName: "x".repeat(5_000) })), "INVALID_ARGUMENT");
    expect((await long).message).toContain("checkpoint.stepName");
  });

  it("shows runs and timelines without reading states", async () => {
    const store = own<AnyState>(place("sqlite"));
    for (const runId of ["one", "two", "three"]) {
      for (const stepIndex of [-1, 0]) await store.save(checkpoint({ runId, stepIndex, createdAt: 5.5 + stepIndex }));
    }
    const timeline = await store.timeline("two");
    expect(timeline).toEqual([
      { id: "two:initial", stepIndex: -1, stepName: "initial", createdAt: 4.5, stateSize: expect.any(Number) },
      { id: "two:step-1", stepIndex: 0, stepName: "step-1", createdAt: 5.5, stateSize: expect.any(Number) },
    ]);
    expect(timeline[0]!.stateSize).toBeGreaterThan(5);
    expect(await store.timeline("none")).toEqual([]);
    const first = await store.runs({ limit: 2 });
    expect(first.runs.map(({ runId, checkpoints }) => [runId, checkpoints])).toEqual([
      ["three", 2],
      ["two", 2],
    ]);
    expect(first.runs[1]!.latest).toEqual(timeline[1]);
    const second = await store.runs({ limit: 2, cursor: first.cursor });
    expect(second).toMatchObject({ runs: [{ runId: "one" }], cursor: null });
    await wrongType(store.runs({ cursor: "x" }));
    await wrongType(store.runs({ limt: 2 } as never));
    await wrongType(store.timeline(7 as never));
  });
});

describe("StorageBackedCheckpointStore", () => {
  it("writes one value a save, under the checkpoint's id, where the framework's store looks", async () => {
    const driver = new JsonDriver();
    const store = new StorageBackedCheckpointStore<AnyState>(driver);
    const saved = checkpoint<AnyState>();
    await store.save(saved);
    expect([...driver.rows.keys()]).toEqual(['["workflow:checkpoints","run:step-1"]']);
    expect(await driver.get("workflow:checkpoints", "run:step-1")).toEqual(saved);
    expect(driver.initialized).toBe(1);
    await store.load("x");
    await store.close();
    expect([driver.initialized, driver.closed]).toEqual([1, 0]);
  });

  it("leaves nothing behind of an id that does not begin with its run", async () => {
    const driver = new JsonDriver();
    const store = new StorageBackedCheckpointStore<AnyState>(driver);
    await store.save(checkpoint<AnyState>({ id: "opaque" }));
    await store.save(checkpoint<AnyState>({ id: "opaque 2" }));
    expect(ids(await store.list("run"))).toEqual(["opaque", "opaque 2"]);
    await store.delete("opaque");
    await store.clear("run");
    expect(driver.rows.size).toBe(0);
  });

  it("tries again to open a driver that could not be opened", async () => {
    const driver = new JsonDriver();
    let tries = 0;
    driver.initialize = async () => {
      tries += 1;
      if (tries === 1) throw new Error("no connection");
    };
    const store = new StorageBackedCheckpointStore<AnyState>(driver);
    expect((await rejection(store.save(checkpoint()))).message).toBe("no connection");
    await store.save(checkpoint());
    expect(tries).toBe(2);
  });

  it("one that fails does not hold up the next of its run", async () => {
    const driver = new JsonDriver();
    const store = new StorageBackedCheckpointStore<AnyState>(driver);
    const set = driver.set.bind(driver);
    driver.set = () => Promise.reject(new Error("no"));
    const failed = rejection(store.save(checkpoint()));
    await failed;
    driver.set = set;
    await store.save(checkpoint());
    expect(await store.list("run")).toHaveLength(1);
  });

  it("refuses what is no driver, and options that are none", () => {
    for (const driver of [undefined, null, 7, {}, { get() {} }]) {
      expect(thrown(() => new StorageBackedCheckpointStore(driver as never))).toBeInstanceOf(TypeError);
    }
    const options = { keepLast: 7 } as never;
    expect(thrown(() => new StorageBackedCheckpointStore(new InMemoryStorage(), options)).message).toContain(
      "keepLastN",
    );
  });

  it("reads what a driver made of times", async () => {
    const driver = new JsonDriver();
    const store = new StorageBackedCheckpointStore<AnyState>(driver, { keepLastN: 1 });
    const old = { ...checkpoint<AnyState>({ stepIndex: 5 }), createdAt: undefined, timestamp: "2020-01-01T00:00:00Z" };
    await driver.set("workflow:checkpoints", old.id, old);
    await store.save(checkpoint());
    expect(ids(await store.list("run"))).toEqual(["run:step-1"]);
  });
});
