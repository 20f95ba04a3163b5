// Tests the contract of workflows on every kind of store.
import { AsyncLocalStorage } from "node:async_hooks";
import { join } from "node:path";
import {
  type WorkflowCheckpointStore,
  StorageBackedCheckpointStore,
  Workflow,
  type WorkflowConfig,
} from "forkpoint/agentium";
import { describe, expect, it } from "vitest";
import { failure, folder, rejection } from "../helpers.js";
import {
  type Counter,
  chain,
  counter,
  flow,
  ForeignStore,
  JsonDriver,
  own,
  storeKinds,
  stores,
  told,
} from "./helpers.js";

const full = ["-1 initial", "0 increment-once", "1 increment-twice", "2 finalize"];

interface Trace {
  trace: string[];
}

/** Steps that record each of their runs in the state and in a separate list. */
function tracing(
  names: string[],
  checkpointStore: WorkflowCheckpointStore<Trace>,
  config: Partial<WorkflowConfig<Trace>> = {},
): { workflow: Workflow<Trace>; ran: string[]; fail: Set<string> } {
  const ran: string[] = [];
  const fail = new Set<string>();
  const steps = names.map((name) => ({
    name,
    run: async (state: Trace) => {
      ran.push(name);
      if (fail.has(name)) throw new Error(`${name} failed`);
      return { trace: [...state.trace, name] };
    },
  }));
  const workflow = new Workflow<Trace>({
    name: "traced",
    initialState: { trace: [] },
    steps,
    checkpointStore,
    ...config,
  });
  return { workflow, ran, fail };
}

describe.each(storeKinds)("a workflow over %s", (kind) => {
  const store = <TState>() => stores[kind]<TState>();

  describe("a run", () => {
    it("stores the state before the first step and after each", async () => {
      const checkpoints = store<Counter>();
      const workflow = counter(checkpoints);
      const started = Date.now();
      const { runId, state } = await workflow.runWithCheckpoints();
      expect(runId).toMatch(/^run-\d{13}-[0-9a-f]+$/);
      expect(state).toEqual({ count: 3, log: ["+1", "+2", "total=3"] });
      const listed = await workflow.listCheckpoints(runId);
      const states = [{ count: 0, log: [] }, { count: 1, log: ["+1"] }, { count: 3, log: ["+1", "+2"] }, state];
      expect(listed).toEqual(
        full.map((step, at) => ({
          id: `${runId}:${at === 0 ? "initial" : `step-${at}`}`,
          runId,
          stepIndex: at - 1,
          stepName: step.slice(step.indexOf(" ") + 1),
          state: states[at],
          createdAt: expect.any(Number),
        })),
      );
      for (const { createdAt } of listed) expect(createdAt).toBeGreaterThanOrEqual(started);
      expect((await checkpoints.load(`${runId}:step-2`))?.state.count).toBe(3);
    });

    it("has an id of its own, unless it is given one", async () => {
      const workflow = counter(store());
      const runs = await Promise.all([1, 2, 3].map(() => workflow.runWithCheckpoints()));
      expect(new Set(runs.map(({ runId }) => runId)).size).toBe(3);
      expect((await workflow.runWithCheckpoints({ runId: " any\nid: 🜁 " })).runId).toBe(" any\nid: 🜁 ");
    });

    it("of a given id begins anew, and clears what was there", async () => {
      const checkpoints = store<Trace>();
      const { workflow, fail } = tracing(["a", "b", "c"], checkpoints);
      await workflow.runWithCheckpoints({ runId: "r" });
      fail.add("b");
      await rejection(workflow.runWithCheckpoints({ runId: "r" }));
      expect(await chain(checkpoints, "r")).toBe("-1 initial, 0 a");
    });

    it("starts with its own copy of the initial state", async () => {
      const initialState = { count: 0, log: [] as string[] };
      const workflow = counter(store(), { initialState });
      const first = await workflow.runWithCheckpoints();
      first.state.log.push("mine");
      expect(initialState).toEqual({ count: 0, log: [] });
      expect((await workflow.runWithCheckpoints()).state.log).toEqual(["+1", "+2", "total=3"]);
      const other = await workflow.runWithCheckpoints({ initialState: { count: 10, log: ["given"] } });
      expect(other.state).toEqual({ count: 13, log: ["given", "+1", "+2", "total=13"] });
    });

    it("run() stores nothing", async () => {
      const checkpoints = store<Counter>();
      const { runId, state, stepResults } = await counter(checkpoints).run();
      expect(state.count).toBe(3);
      expect(told(stepResults)).toBe("increment-once done, increment-twice done, finalize done");
      expect(await checkpoints.list(runId)).toEqual([]);
    });
  });

  describe("a resume", () => {
    it("of a finished run returns its state and runs nothing", async () => {
      const { workflow, ran } = tracing(["a"], store());
      await workflow.runWithCheckpoints({ runId: "r" });
      const again = await workflow.runWithCheckpoints({ runId: "r", resume: true });
      expect(again).toEqual({ runId: "r", state: { trace: ["a"] }, stepResults: [], fresh: false });
      expect(ran).toEqual(["a"]);
    });
  });

  describe("a step that throws", () => {
    it("rejects the run with its own error, which says where; nothing follows, and a resume begins with it", async () => {
      const checkpoints = store<Trace>();
      const { workflow, ran, fail } = tracing(["a", "b", "c"], checkpoints);
      fail.add("b");
      const error = await rejection(workflow.runWithCheckpoints({ runId: "r" }));
      expect(error).toMatchObject({ message: "b failed", runId: "r", stepIndex: 1, stepName: "b", stepPath: ["b"] });
      expect(error.constructor).toBe(Error);
      expect(await chain(checkpoints, "r")).toBe("-1 initial, 0 a");
      expect(ran).toEqual(["a", "b"]);
      fail.clear();
      const { state } = await workflow.runWithCheckpoints({ runId: "r", resume: true });
      expect([state.trace, ran]).toEqual([
        ["a", "b", "c"],
        ["a", "b", "b", "c"],
      ]);
    });

    it.each([
      ["a string", "boom", "boom"],
      ["nothing", undefined, "undefined"],
      ["a frozen error", Object.freeze(new RangeError("frozen")), "frozen"],
    ])("%s is the cause of an error", async (_, thrown, message) => {
      const workflow = flow<Trace>(store(), { trace: [] }, [{ name: "s", run: () => Promise.reject(thrown) }]);
      const error = await rejection(workflow.runWithCheckpoints({ runId: "r" }));
      expect(error).toMatchObject({ message, runId: "r", stepIndex: 0, stepName: "s" });
      expect(error.cause).toBe(thrown);
    });

    it("is tried again as the policy says, each time with a fresh draft", async () => {
      const seen: string[] = [];
      const waits: number[] = [];
      const checkpoints = store<Trace>();
      const workflow = flow<Trace>(
        checkpoints,
        { trace: [] },
        [
          {
            name: "s",
            run: (state, { attempt }) => {
              seen.push(`${attempt}:${state.trace.join()}`);
              state.trace.push("edited");
              if (attempt < 2) throw new Error("again");
            },
          },
        ],
        { retryPolicy: { maxRetries: 2, backoffMs: 1 } },
      );
      workflow.events.on("workflow.step", ({ status, delayMs }) => {
        if (status === "retry") waits.push(delayMs!);
      });
      expect((await workflow.runWithCheckpoints({ runId: "r" })).state).toEqual({ trace: ["edited"] });
      expect(seen).toEqual(["0:", "1:", "2:"]);
      expect(waits).toEqual([1, 2]);
      expect(await chain(checkpoints, "r")).toBe("-1 initial, 0 s");
    });

    it("may be gone on without, if the caller says so", async () => {
      const { workflow, fail } = tracing(["a", "b", "c"], store(), { retryPolicy: { maxRetries: 1, backoffMs: 0 } });
      fail.add("b");
      const all = await workflow.runWithCheckpoints({ runId: "r", onStepError: "continue" });
      expect(all.state).toEqual({ trace: ["a", "c"] });
      expect(all.stepResults).toMatchObject([
        { status: "done" },
        { status: "error", error: "b failed" },
        { status: "done" },
      ]);
      const asked: unknown[] = [];
      const error = await rejection(
        workflow.runWithCheckpoints({
          runId: "r",
          onStepError: async (thrown, step) => {
            asked.push([(thrown as Error).message, step]);
            return false;
          },
        }),
      );
      expect(error.message).toBe("b failed");
      expect(asked).toEqual([["b failed", { runId: "r", stepIndex: 1, stepName: "b", path: ["b"], attempts: 2 }]]);
      const confused = await rejection(
        workflow.runWithCheckpoints({ runId: "r", onStepError: (() => "continue") as never }),
      );
      expect(confused).toBeInstanceOf(TypeError);
    });
  });

  describe("a save that fails", () => {
    it("rejects the run; a resume then continues the run and repeats at most the last step", async () => {
      const checkpoints = store<Trace>();
      const flaky = plain(checkpoints);
      const { workflow, ran } = tracing(["a", "b"], flaky);
      const { save } = flaky;
      flaky.save = async (saved) => {
        if (saved.stepIndex === 0) throw new Error("disk");
        await save(saved);
      };
      const error = await rejection(workflow.runWithCheckpoints({ runId: "r" }));
      expect(error).toMatchObject({ message: "disk", runId: "r", stepIndex: 0, stepName: "a" });
      expect(await chain(checkpoints, "r")).toBe("-1 initial");
      flaky.save = save;
      await workflow.runWithCheckpoints({ runId: "r", resume: true });
      expect(ran).toEqual(["a", "a", "b"]);
      const again = tracing(["a", "b"], checkpoints);
      expect((await again.workflow.runWithCheckpoints({ runId: "r", resume: true })).state).toEqual({
        trace: ["a", "b"],
      });
    });
  });

  describe("a replay", () => {
    it("reproduces what followed, as the same run", async () => {
      const { workflow, ran } = tracing(["a", "b", "c"], store());
      const { runId, state } = await workflow.runWithCheckpoints();
      const before = await workflow.listCheckpoints(runId);
      for (const [at, { id }] of before.entries()) {
        ran.length = 0;
        const replayed = await workflow.replay(id);
        expect(ran).toEqual(["a", "b", "c"].slice(at));
        expect(replayed).toMatchObject({ runId, state });
        const after = await workflow.listCheckpoints(runId);
        expect(after.map(({ id: each, state: then }) => [each, then])).toEqual(
          before.map((each) => [each.id, each.state]),
        );
      }
    });

    it("drops what is stale with the first step that it stores, and not before", async () => {
      const checkpoints = store<Trace>();
      const { workflow, fail } = tracing(["a", "b", "c"], checkpoints);
      await workflow.runWithCheckpoints({ runId: "r" });
      fail.add("a");
      await rejection(workflow.replay("r:initial"));
      expect(await checkpoints.list("r")).toHaveLength(4);
      fail.clear();
      fail.add("b");
      await rejection(workflow.replay("r:initial"));
      expect(await chain(checkpoints, "r")).toBe("-1 initial, 0 a");
      fail.clear();
      expect((await workflow.runWithCheckpoints({ runId: "r", resume: true })).state).toEqual({
        trace: ["a", "b", "c"],
      });
    });

    it("as a new run leaves the record alone", async () => {
      const checkpoints = store<Trace>();
      const { workflow } = tracing(["a", "b", "c"], checkpoints);
      await workflow.runWithCheckpoints({ runId: "r" });
      const before = await checkpoints.list("r");
      const { runId, state } = await workflow.replay("r:step-1", { newRun: true });
      expect(runId).not.toBe("r");
      expect(state).toEqual({ trace: ["a", "b", "c"] });
      expect(await chain(checkpoints, runId)).toBe("0 a, 1 b, 2 c");
      expect(await checkpoints.list("r")).toEqual(before);
    });
  });

  describe("a fork", () => {
    it("begins where its base stands, with the state that the mutator makes; the parent is untouched", async () => {
      const checkpoints = store<Counter>();
      const workflow = counter(checkpoints);
      const { runId } = await workflow.runWithCheckpoints();
      const before = await checkpoints.list(runId);
      const forked = await workflow.fork(before[0]!.id, (state) => ({ ...state, count: 100 }));
      expect(forked.runId).not.toBe(runId);
      expect(forked.state.count).toBe(103);
      expect(await chain(checkpoints, forked.runId)).toBe(full.join(", "));
      expect((await checkpoints.list(forked.runId))[0]).toMatchObject({
        id: `${forked.runId}:initial`,
        runId: forked.runId,
        state: { count: 100, log: [] },
      });
      expect(await checkpoints.list(runId)).toEqual(before);

      const later = await workflow.fork(before[2]!.id);
      expect(later.state).toEqual({ count: 3, log: ["+1", "+2", "total=3"] });
      expect(await chain(checkpoints, later.runId)).toBe(full.slice(2).join(", "));
      expect((await checkpoints.list(later.runId))[0]!.id).toBe(`${later.runId}:step-2`);
      const last = await workflow.fork(before[3]!.id, (state) => ({ ...state, count: 7 }));
      expect(last.state.count).toBe(7);
      expect(await chain(checkpoints, last.runId)).toBe(full.slice(3).join(", "));
      expect(await checkpoints.list(runId)).toEqual(before);
    });

    it("of a fork, and a resume of one", async () => {
      const checkpoints = store<Trace>();
      const { workflow, fail } = tracing(["a", "b", "c"], checkpoints);
      await workflow.runWithCheckpoints({ runId: "r" });
      const first = await workflow.fork("r:step-1", () => ({ trace: ["x"] }));
      const second = await workflow.fork(`${first.runId}:step-2`, ({ trace }) => ({ trace: [...trace, "y"] }));
      expect(second.state).toEqual({ trace: ["x", "b", "y", "c"] });
      fail.add("c");
      let runId = "";
      workflow.events.once("run.start", (event) => (runId = event.runId));
      await rejection(workflow.fork("r:step-1"));
      fail.clear();
      expect((await workflow.runWithCheckpoints({ runId, resume: true })).state).toEqual({ trace: ["a", "b", "c"] });
    });

    it("calls the mutator once, with a copy of its own", async () => {
      const checkpoints = store<Counter>();
      const workflow = counter(checkpoints);
      const { runId } = await workflow.runWithCheckpoints();
      let calls = 0;
      const { state } = await workflow.fork(`${runId}:step-1`, (copy) => {
        calls += 1;
        copy.log.push("edited in place");
        return copy;
      });
      expect(calls).toBe(1);
      expect(state.log).toEqual(["+1", "edited in place", "+2", "total=3"]);
      expect((await checkpoints.load(`${runId}:step-1`))!.state.log).toEqual(["+1"]);
    });
  });

  describe("what a step makes of the state", () => {
    it("is merged over it, in whole or in part", async () => {
      expect(await oneStep(store(), () => ({ added: 2 }))).toEqual({ kept: 1, nested: { a: 1 }, added: 2 });
      expect(await oneStep(store(), (state) => ({ ...state, kept: 3 }))).toEqual({ kept: 3, nested: { a: 1 } });
      expect(await oneStep(store(), () => ({ nested: { b: 2 } }))).toEqual({ kept: 1, nested: { b: 2 } });
    });

    it("is its edits, where it returns nothing", async () => {
      expect(await oneStep(store(), (state) => void (state.nested.a = 2))).toEqual({ kept: 1, nested: { a: 2 } });
      expect(await oneStep(store(), () => null)).toEqual({ kept: 1, nested: { a: 1 } });
      expect(await oneStep(store(), (state) => ((state.kept = 5), { other: 6 }))).toEqual({
        kept: 5,
        nested: { a: 1 },
        other: 6,
      });
    });

    it("has hostile keys as data", async () => {
      const state = await oneStep(store(), () =>
        JSON.parse('{"__proto__": {"evil": true}, "constructor": 1, "a.b": 2}'),
      );
      expect(JSON.stringify(state)).toBe(
        '{"kept":1,"nested":{"a":1},"__proto__":{"evil":true},"constructor":1,"a.b":2}',
      );
      expect(({} as { evil?: boolean }).evil).toBeUndefined();
    });

    it("is nobody else's: later changes to it count no more", async () => {
      const leaked: Counter[] = [];
      const workflow = counter(store(), {
        steps: [
          { name: "one", run: (state) => (leaked.push(state), { ...state, log: state.log }) },
          {
            name: "two",
            run: async (state) => {
              for (const each of leaked) each.log.push("late");
              return { count: state.log.length };
            },
          },
        ],
      });
      expect((await workflow.runWithCheckpoints()).state).toEqual({ count: 0, log: [] });
    });
  });

  it("the state between steps is what a resume would see", async () => {
    const seen: unknown[] = [];
    const checkpoints = store<{ at: unknown; gone?: unknown }>();
    const make = () =>
      flow<{ at: unknown; gone?: unknown }>(checkpoints, { at: 0 }, [
        { name: "one", run: () => ({ at: new Date(5), gone: undefined }) },
        { name: "two", run: (state) => void seen.push(structuredClone(state)) },
      ]);
    await make().runWithCheckpoints({ runId: "r" });
    await make().replay("r:step-1");
    expect(seen).toHaveLength(2);
    expect(seen[0]).toStrictEqual(seen[1]);
    const json = kind === "a driver of the user's own";
    expect(seen[0]).toStrictEqual(json ? { at: "1970-01-01T00:00:00.005Z" } : { at: new Date(5), gone: undefined });
  });

  describe("steps within steps", () => {
    interface State {
      flag: boolean;
      list: string[];
      by: Record<string, number>;
      other?: number;
    }
    const initialState: State = { flag: true, list: ["base"], by: {} };

    it("run one after the other if the condition holds, and store one checkpoint", async () => {
      const checkpoints = store<State>();
      const workflow = flow<State>(checkpoints, initialState, [
        {
          name: "maybe",
          condition: async (state) => ((state.list = []), state.flag),
          steps: [
            { name: "x", run: ({ list }) => ({ list: [...list, "x"] }) },
            { name: "y", run: ({ list }) => ({ list: [...list, "y"], flag: false }) },
          ],
        },
        { name: "not", condition: (state) => state.flag, steps: [{ name: "z", run: () => ({ list: ["z"] }) }] },
      ]);
      const { state, stepResults } = await workflow.runWithCheckpoints({ runId: "r" });
      expect(state).toEqual({ flag: false, list: ["base", "x", "y"], by: {} });
      expect(await chain(checkpoints, "r")).toBe("-1 initial, 0 maybe, 1 not");
      expect(told(stepResults)).toBe("x done, y done, maybe done, not skipped");
    });

    it("run at the same time, and keep each other's changes", async () => {
      const checkpoints = store<State>();
      let waiting = 0;
      let release!: () => void;
      const all = new Promise<void>((resolve) => (release = resolve));
      const together = async () => {
        waiting += 1;
        if (waiting === 3) release();
        await all;
      };
      const workflow = flow<State>(checkpoints, initialState, [
        {
          name: "all",
          parallel: [
            {
              name: "a",
              run: async (state) => (await together(), { ...state, list: [...state.list, "a"], by: { a: 1 } }),
            },
            { name: "b", run: async (state) => (await together(), void (state.by["b"] = 2)) },
            {
              name: "c",
              condition: () => true,
              steps: [
                {
                  name: "d",
                  run: async (state) => (await together(), { ...state, list: [...state.list, "d"], other: 4 }),
                },
              ],
            },
          ],
        },
      ]);
      const { state } = await workflow.runWithCheckpoints({ runId: "r" });
      expect(state).toEqual({ flag: true, list: ["base", "a", "d"], by: { a: 1, b: 2 }, other: 4 });
      expect(await chain(checkpoints, "r")).toBe("-1 initial, 0 all");
    });

    it("that change the same value are in conflict, and say which", async () => {
      const workflow = flow<State>(store(), initialState, [
        {
          name: "all",
          parallel: [
            { name: "same", run: () => ({ flag: false }) },
            { name: "one", run: () => ({ flag: false, by: { n: 1 } }) },
            { name: "two", run: () => ({ by: { n: 2 } }) },
          ],
        },
      ]);
      const error = await failure(workflow.runWithCheckpoints({ runId: "r" }), "CONFLICT");
      expect(error.message).toContain('"same" or "one" and "two" have both changed state.by.n');
      expect(error).toMatchObject({ runId: "r", stepIndex: 0, stepName: "all" });
    });

    it("that fail: the run ends after the other steps have ended, and the error has the path of the failed step", async () => {
      const ended: string[] = [];
      const workflow = flow<State>(store(), initialState, [
        {
          name: "all",
          parallel: [
            { name: "bad", run: () => Promise.reject(new Error("bad")) },
            {
              name: "slow",
              run: async (_, { signal }) => {
                await new Promise((resolve) => signal.addEventListener("abort", resolve));
                ended.push("slow");
              },
            },
          ],
        },
      ]);
      const error = await rejection(workflow.runWithCheckpoints());
      expect(error).toMatchObject({ message: "bad", stepIndex: 0, stepName: "all", stepPath: ["all", "bad"] });
      expect(ended).toEqual(["slow"]);
    });

    it("are agents, whose answers are kept", async () => {
      const asked: unknown[] = [];
      const agent = {
        run: async (input: string, options?: { sessionId?: string }) => {
          asked.push([input, options?.sessionId]);
          return { text: `re: ${input}` };
        },
      };
      const workflow = flow<Record<string, unknown>>(store(), { topic: "rust" }, [
        { name: "research", agent, inputFrom: (state) => `about ${String(state["topic"])}` },
        { name: "review", agent },
      ]);
      const { state } = await workflow.runWithCheckpoints({ sessionId: "s" });
      expect(state["research_output"]).toBe("re: about rust");
      expect(asked).toEqual([
        ["about rust", "s"],
        ['{"topic":"rust","research_output":"re: about rust"}', "s"],
      ]);
      const dumb = { run: async () => ({}) as { text: string } };
      const broken = new Workflow<object>({ name: "w", initialState: {}, steps: [{ name: "x", agent: dumb }] });
      expect(await rejection(broken.run())).toBeInstanceOf(TypeError);
    });
  });

  describe("a changed definition", () => {
    it("is refused where the checkpoint's step has another name, and taken by index where that is asked for", async () => {
      const checkpoints = store<Trace>();
      const old = tracing(["a", "b", "c"], checkpoints);
      old.fail.add("c");
      await rejection(old.workflow.runWithCheckpoints({ runId: "r" }));
      const renamed = tracing(["a", "B", "c"], checkpoints);
      for (const attempt of [
        () => renamed.workflow.runWithCheckpoints({ runId: "r", resume: true }),
        () => renamed.workflow.replay("r:step-2"),
        () => renamed.workflow.replay("r:step-2", { newRun: true }),
        () => renamed.workflow.fork("r:step-2"),
      ]) {
        const error = await failure(attempt(), "CONFLICT");
        expect(error.message).toMatch(/[`"]b[`"]/);
        expect(error.message).toMatch(/[`"]B[`"]/);
        expect(error.message).toContain("force: true");
      }
      expect(renamed.ran).toEqual([]);
      const forced = await renamed.workflow.fork("r:step-2", null, { force: true });
      expect(forced.state).toEqual({ trace: ["a", "b", "c"] });
      const { state } = await renamed.workflow.runWithCheckpoints({ runId: "r", resume: true, force: true });
      expect(state).toEqual({ trace: ["a", "b", "c"] });
    });

    it("may change what comes later", async () => {
      const checkpoints = store<Trace>();
      const old = tracing(["a", "b"], checkpoints);
      await old.workflow.runWithCheckpoints({ runId: "r" });
      const longer = tracing(["a", "x", "y"], checkpoints);
      expect((await longer.workflow.replay("r:step-1", { force: true })).state).toEqual({ trace: ["a", "x", "y"] });
      expect(await chain(checkpoints, "r")).toBe("-1 initial, 0 a, 1 x, 2 y");
      const shorter = tracing(["a"], checkpoints);
      const error = await failure(shorter.workflow.runWithCheckpoints({ runId: "r", resume: true }), "CONFLICT");
      expect(error.message).toMatch(/the workflow now has 1 steps|`x`, which has run, is gone/);
    });
  });

  it("the same run twice at once is refused, and one after the other is not", async () => {
    const checkpoints = store<Trace>();
    const { workflow } = tracing(["a", "b"], checkpoints);
    const first = workflow.runWithCheckpoints({ runId: "r" });
    const second = await failure(workflow.runWithCheckpoints({ runId: "r" }), "CONFLICT");
    expect(second.message).toContain('"r"');
    const other = tracing(["a", "b"], checkpoints).workflow;
    await failure(other.runWithCheckpoints({ runId: "r", resume: true }), "CONFLICT");
    await first;
    // The steps of the one that runs wait until the other one was refused.
    let refuse!: () => void;
    const refused = new Promise<void>((resolve) => (refuse = resolve));
    const step = (name: string) => ({
      name,
      run: async ({ trace }: Trace) => {
        await refused;
        return { trace: [...trace, name] };
      },
    });
    const replays = ["r:initial", "r:initial"].map((id) =>
      tracing([], checkpoints, { steps: [step("a"), step("b")] })
        .workflow.replay(id)
        .then(
          () => "fulfilled",
          ({ code }) => (refuse(), code),
        ),
    );
    expect((await Promise.all(replays)).toSorted()).toEqual(["CONFLICT", "fulfilled"]);
    await workflow.replay("r:initial");
  });

  it("steps run in the caller's asynchronous context", async () => {
    const context = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const step = (name: string) => ({ name, run: () => void seen.push(context.getStore()) });
    const workflow = flow<object>(
      store(),
      {},
      [
        step("a"),
        { name: "p", parallel: [step("b"), step("c")] },
        step("d"),
        {
          name: "e",
          run: (_, { attempt }) => {
            seen.push(context.getStore());
            if (attempt === 0) throw new Error("once");
          },
        },
      ],
      { retryPolicy: { maxRetries: 1, backoffMs: 1 } },
    );
    await Promise.all(["x", "y"].map((name) => context.run(name, () => workflow.runWithCheckpoints())));
    expect(seen.toSorted()).toEqual([...Array<string>(6).fill("x"), ...Array<string>(6).fill("y")]);
  });
});

/** Returns the state after a workflow of one step. */
async function oneStep(checkpointStore: WorkflowCheckpointStore<object>, step: (state: any) => unknown): Promise<any> {
  const steps = [{ name: "s", run: step as () => Promise<object> }];
  const initialState = { kept: 1, nested: { a: 1 } };
  const workflow = new Workflow<object>({ name: "w", initialState, checkpointStore, steps });
  return (await workflow.runWithCheckpoints()).state;
}

/** Wraps a store in a plain object that forwards every call. */
function plain<TState>(store: WorkflowCheckpointStore<TState>): WorkflowCheckpointStore<TState> {
  return {
    save: (checkpoint) => store.save(checkpoint),
    load: (checkpointId) => store.load(checkpointId),
    list: (runId) => store.list(runId),
    latest: (runId) => store.latest(runId),
    clear: (runId) => store.clear(runId),
  };
}

describe("a workflow without a store", () => {
  it("runs, and says what it lacks for the rest", async () => {
    const workflow = counter(undefined);
    expect((await workflow.run()).state.count).toBe(3);
    const lacking = "Workflow.runWithCheckpoints requires checkpointStore to be configured";
    expect((await rejection(workflow.runWithCheckpoints())).message).toBe(lacking);
    for (const attempt of [() => workflow.replay("x"), () => workflow.fork("x"), () => workflow.listCheckpoints("x")]) {
      expect((await rejection(attempt())).message).toBe("checkpointStore not configured");
    }
    const stored = counter(new ForeignStore<Counter>());
    for (const attempt of [() => stored.replay("no:such"), () => stored.fork("no:such", (state) => state)]) {
      expect((await failure(attempt(), "NOT_FOUND")).message).toBe("Checkpoint not found: no:such");
    }
  });
});

describe("stores of other shapes", () => {
  it("with the framework's method names and no others", async () => {
    const backing = new ForeignStore<Trace>();
    const framework = {
      save: backing.save.bind(backing),
      load: backing.load.bind(backing),
      listForRun: backing.list.bind(backing),
      delete: async (id: string) => void backing.checkpoints.delete(id),
    };
    const { workflow, fail } = tracing(["a", "b"], framework as never);
    await workflow.runWithCheckpoints({ runId: "r" });
    fail.add("b");
    await rejection(workflow.replay("r:initial"));
    expect((await workflow.listCheckpoints("r")).map(({ id }) => id)).toEqual(["r:initial", "r:step-1"]);
    fail.clear();
    expect((await workflow.runWithCheckpoints({ runId: "r", resume: true })).state).toEqual({ trace: ["a", "b"] });
    expect((await workflow.runWithCheckpoints({ runId: "r" })).state).toEqual({ trace: ["a", "b"] });
  });

  it("that forget what they were given: the run goes on with its own", async () => {
    const forgetful = {
      save: async () => {},
      load: async () => null,
      list: async () => [],
      latest: async () => null,
      clear: async () => {},
    };
    expect((await counter(forgetful).runWithCheckpoints()).state.count).toBe(3);
  });

  it.each([
    ["without delete()", (store: ForeignStore<Trace>) => plain(store)],
    [
      "with delete()",
      (store: ForeignStore<Trace>) => ({
        ...plain(store),
        delete: async (id: string) => void store.checkpoints.delete(id),
      }),
    ],
    ["over a driver", () => new StorageBackedCheckpointStore<Trace>(new JsonDriver())],
  ])("%s hold the beginning of a run at every moment of a replay", async (_, made) => {
    const backing = new ForeignStore<Trace>();
    const checkpoints = made(backing);
    const { workflow } = tracing(["a", "b", "c"], checkpoints);
    await workflow.runWithCheckpoints({ runId: "r" });
    const moments: string[] = [];
    for (const method of ["save", "clear", "delete", "rewind"] as const) {
      const change = checkpoints[method] as ((argument: unknown) => Promise<void>) | undefined;
      if (change === undefined) continue;
      (checkpoints as unknown as Record<string, unknown>)[method] = async (argument: unknown) => {
        await Reflect.apply(change, checkpoints, [argument]);
        const found = await checkpoints.list("r");
        moments.push(found.map(({ state }) => state.trace.join("")).join(" "));
      };
    }
    await workflow.replay("r:step-1");
    expect(moments.at(-1)).toBe(" a ab abc");
    for (const moment of moments) expect(" a ab abc".startsWith(moment), moment).toBe(true);
  });

  it("that hold a checkpoint of no step", async () => {
    const odd = new ForeignStore<Counter>();
    await odd.save({
      id: "x",
      runId: "r",
      stepIndex: 0.5,
      stepName: "half",
      state: { count: 0, log: [] },
      createdAt: 0,
    });
    await failure(counter(odd).replay("x"), "CONFLICT");
  });

  it("two stores on one file are one place", async () => {
    const path = join(folder(), "workflow.db");
    const stores = [own<Trace>(path), own<Trace>(path)];
    const first = tracing(["a"], stores[0]!).workflow.runWithCheckpoints({ runId: "r" });
    await failure(tracing(["a"], stores[1]!).workflow.runWithCheckpoints({ runId: "r" }), "CONFLICT");
    await first;
  });
});
