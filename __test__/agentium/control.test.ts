// Tests drains, aborts, events and streams of a run, and the arguments that a workflow refuses.
import { ForkpointError } from "forkpoint";
import {
  DrainController,
  type WorkflowCheckpointStore,
  RunDrainedError,
  Workflow,
  type WorkflowEvent,
} from "forkpoint/agentium";
import { describe, expect, it } from "vitest";
import { Gate, failure, rejection, thrown, wrongType } from "../helpers.js";
import { type Counter, chain, counter, inMemory, own, storeKinds, stores } from "./helpers.js";

/** A workflow of three steps. The second step reports its start and ends when the test releases it. */
function gated(checkpointStore: WorkflowCheckpointStore<Counter> | undefined) {
  const gate = new Gate();
  const ran: string[] = [];
  const signals: AbortSignal[] = [];
  const draining: boolean[] = [];
  const workflow = counter(checkpointStore, {
    steps: [
      { name: "a", run: () => void ran.push("a") },
      {
        name: "b",
        run: async (_, context) => {
          ran.push("b");
          signals.push(context.signal);
          const before = context.draining;
          await gate.wait();
          draining.push(before, context.draining);
          return { count: 1 };
        },
      },
      { name: "c", run: (_, context) => (ran.push("c"), void draining.push(context.draining)) },
    ],
  });
  return { workflow, begun: gate.reached, open: gate.open, ran, signals, draining };
}

/** A step that fails until it is told not to. */
function breaking() {
  const breaks = { now: true };
  const run = () => {
    if (breaks.now) throw new Error("later");
  };
  return { breaks, step: { name: "s", run } };
}

function heard(workflow: Workflow<Counter>): WorkflowEvent<Counter>[] {
  const all: WorkflowEvent<Counter>[] = [];
  for (const type of ["run.start", "workflow.step", "checkpoint.saved", "run.complete", "run.error"] as const) {
    workflow.events.on(type, (event: WorkflowEvent<Counter>) => void all.push(event));
  }
  return all;
}
function short(events: WorkflowEvent<Counter>[]): string[] {
  return events.map((event) => {
    if (event.type === "workflow.step") return `${event.stepName} ${event.status}`;
    return event.type === "checkpoint.saved" ? `saved ${event.checkpointId}` : event.type;
  });
}

async function types(events: AsyncIterable<WorkflowEvent<Counter>>): Promise<string[]> {
  const all: string[] = [];
  for await (const event of events) all.push(event.type);
  return all;
}

describe.each(storeKinds)("over %s", (kind) => {
  const store = () => stores[kind]<Counter>();

  it("a drain lets the current step end, which sees it, stores it and rejects; a resume goes on", async () => {
    const checkpoints = store();
    const { workflow, begun, open, ran, draining } = gated(checkpoints);
    const drain = new DrainController();
    const run = rejection(workflow.runWithCheckpoints({ runId: "r", drain }));
    await begun;
    drain.requestDrain();
    open();
    const error = await run;
    expect(error).toBeInstanceOf(RunDrainedError);
    expect(error).toMatchObject({ name: "RunDrainedError", runId: "r" });
    expect(error.message).toContain("r");
    expect(await chain(checkpoints, "r")).toBe("-1 initial, 0 a, 1 b");
    const { state } = await workflow.runWithCheckpoints({ runId: "r", resume: true });
    expect(state.count).toBe(1);
    expect([ran, draining]).toEqual([
      ["a", "b", "c"],
      [false, true, false],
    ]);
  });

  it("a drain that was requested before begins nothing, and clears nothing", async () => {
    const checkpoints = store();
    const workflow = counter(checkpoints);
    await workflow.runWithCheckpoints({ runId: "r" });
    const drain = new DrainController();
    drain.requestDrain();
    for (const attempt of [
      () => workflow.runWithCheckpoints({ runId: "r", drain }),
      () => workflow.runWithCheckpoints({ runId: "new", drain }),
      () => workflow.replay("r:initial", { drain }),
      () => workflow.run({ drain }),
    ]) {
      expect(await rejection(attempt())).toBeInstanceOf(RunDrainedError);
    }
    expect(await checkpoints.list("r")).toHaveLength(4);
    expect(await chain(checkpoints, "new")).toBe("");
  });

  it("an abort rejects at once with its reason; what is stored stays", async () => {
    const checkpoints = store();
    const { workflow, begun, open, ran, signals } = gated(checkpoints);
    const controller = new AbortController();
    const run = rejection(workflow.runWithCheckpoints({ runId: "r", signal: controller.signal }));
    await begun;
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await run).toBe(reason);
    expect(signals[0]!.aborted).toBe(true);
    expect(signals[0]!.reason).toBe(reason);
    open();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await chain(checkpoints, "r")).toBe("-1 initial, 0 a");
    expect(ran).toEqual(["a", "b"]);
    await workflow.runWithCheckpoints({ runId: "r", resume: true });
  });

  it("an abort before the beginning begins nothing", async () => {
    const checkpoints = store();
    const workflow = counter(checkpoints);
    const error = await rejection(workflow.runWithCheckpoints({ runId: "r", signal: AbortSignal.abort() }));
    expect(error.name).toBe("AbortError");
    expect(await checkpoints.list("r")).toEqual([]);
  });
});

it("a replay that is aborted while its checkpoint loads does not hold the run, and tells no start", async () => {
  const checkpoints = inMemory<Counter>();
  const workflow = counter(checkpoints);
  await workflow.runWithCheckpoints({ runId: "r" });
  const { load } = checkpoints;
  const gate = new Gate();
  checkpoints.load = async (id) => {
    await gate.wait();
    return Reflect.apply(load, checkpoints, [id]);
  };
  const events = heard(workflow);
  const controller = new AbortController();
  const aborted = rejection(workflow.replay("r:initial", { signal: controller.signal }));
  await gate.reached;
  controller.abort(new Error("mine"));
  expect((await aborted).message).toBe("mine");
  gate.open();
  await new Promise((resolve) => setImmediate(resolve));
  expect(short(events)).toEqual(["run.error"]);
  expect((await workflow.replay("r:initial")).state.count).toBe(3);
});

describe("DrainController", () => {
  it("is requested once, however often", async () => {
    const drain = new DrainController();
    expect(drain.drained).toBe(false);
    const waiting = [drain.waitForDrain(), drain.waitForDrain()];
    drain.requestDrain();
    drain.requestDrain();
    expect(drain.drained).toBe(true);
    expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
    expect(await drain.waitForDrain()).toBeUndefined();
  });

  it("forgets a run that has ended", async () => {
    const drain = new DrainController();
    const collected: string[] = [];
    const registry = new FinalizationRegistry<string>((name) => collected.push(name));
    const workflow = counter(inMemory());
    await (async () => {
      const held = { big: "x" };
      registry.register(held, "the run's");
      await workflow.runWithCheckpoints({ drain, onStepError: () => held.big !== "" });
    })();
    const { setFlagsFromString } = await import("node:v8");
    const { runInNewContext } = await import("node:vm");
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    for (let turn = 0; turn < 50 && collected.length === 0; turn++) {
      gc();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(collected).toEqual(["the run's"]);
    drain.requestDrain();
  });

  it("may be another's with the same methods", async () => {
    const gate = new Gate();
    const drain = { drained: false, waitForDrain: gate.wait };
    const { workflow, begun, open } = gated(inMemory());
    const run = rejection(workflow.runWithCheckpoints({ drain }));
    await begun;
    gate.open();
    await new Promise((turn) => setImmediate(turn));
    open();
    expect(await run).toBeInstanceOf(RunDrainedError);
    expect(await rejection(workflow.run({ drain: { ...drain, drained: true } }))).toBeInstanceOf(RunDrainedError);
  });

  it("does not wait for a retry: whoever resumes tries again", async () => {
    const drain = new DrainController();
    const checkpoints = inMemory<Counter>();
    const { breaks, step } = breaking();
    const workflow = counter(checkpoints, { retryPolicy: { maxRetries: 1, backoffMs: 2 ** 31 }, steps: [step] });
    workflow.events.on("workflow.step", ({ status }) => {
      if (status === "retry") setImmediate(() => drain.requestDrain());
    });
    expect(await rejection(workflow.runWithCheckpoints({ runId: "r", drain }))).toBeInstanceOf(RunDrainedError);
    breaks.now = false;
    await workflow.runWithCheckpoints({ runId: "r", resume: true });
  });
});

describe("events", () => {
  it("tell everything that happens, in order", async () => {
    const workflow = counter(inMemory());
    const events = heard(workflow);
    const output = await workflow.runWithCheckpoints({ runId: "r" });
    expect(short(events)).toEqual([
      "run.start",
      "saved r:initial",
      "increment-once start",
      "increment-once done",
      "saved r:step-1",
      "increment-twice start",
      "increment-twice done",
      "saved r:step-2",
      "finalize start",
      "finalize done",
      "saved r:step-3",
      "run.complete",
    ]);
    expect(events[0]).toEqual({
      type: "run.start",
      runId: "r",
      workflow: "counter",
      kind: "run",
      fresh: true,
      stepIndex: 0,
      steps: 3,
    });
    expect(new Set(events.map(({ steps }) => steps))).toEqual(new Set([3]));
    expect(events[3]).toMatchObject({
      runId: "r",
      stepIndex: 0,
      path: ["increment-once"],
      durationMs: expect.any(Number),
    });
    expect(events.at(-1)).toEqual({ type: "run.complete", runId: "r", output, steps: 3 });
    events.length = 0;
    await workflow.replay("r:step-2");
    expect(events[0]).toMatchObject({ kind: "replay", fresh: false, from: "r:step-2", stepIndex: 2 });
    events.length = 0;
    const { runId } = await workflow.fork("r:initial");
    expect(events[0]).toMatchObject({ kind: "fork", fresh: false, from: "r:initial", stepIndex: 0, runId });
    events.length = 0;
    await workflow.runWithCheckpoints({ runId: "r", resume: true });
    expect(short(events)).toEqual(["run.start", "run.complete"]);
    expect(events[0]).toMatchObject({ kind: "resume", fresh: false, from: "r:step-3", stepIndex: 3 });
  });

  it("tell of retries and failures", async () => {
    const mine = new Error("no");
    const workflow = counter(inMemory(), {
      retryPolicy: { maxRetries: 1, backoffMs: 1 },
      steps: [{ name: "s", run: () => Promise.reject(mine) }],
    });
    const events = heard(workflow);
    await rejection(workflow.runWithCheckpoints({ runId: "r" }));
    expect(short(events)).toEqual(["run.start", "saved r:initial", "s start", "s retry", "s error", "run.error"]);
    expect(events[3]).toMatchObject({ attempt: 0, delayMs: 1, error: mine });
    expect(events[5]).toEqual({ type: "run.error", runId: "r", error: mine, steps: 1 });
    events.length = 0;
    await rejection(workflow.replay("none"));
    expect(short(events)).toEqual(["run.error"]);
  });

  it("a listener may begin the run anew when it hears of its end", async () => {
    const { breaks, step } = breaking();
    const workflow = counter(inMemory(), { steps: [step] });
    const again = new Promise((resolve, reject) => {
      workflow.events.once("run.error", ({ runId }) => {
        breaks.now = false;
        workflow.runWithCheckpoints({ runId, resume: true }).then(resolve, reject);
      });
    });
    await rejection(workflow.runWithCheckpoints({ runId: "r" }));
    expect(await again).toMatchObject({ runId: "r" });
  });
});

describe("a stream", () => {
  it("is the events of one run, and ends with it", async () => {
    const workflow = counter(inMemory());
    const [one, two] = [workflow.stream({ runId: "one" }), workflow.stream({ runId: "two" })];
    const seen: WorkflowEvent<Counter>[] = [];
    const other = types(two);
    for await (const event of one) seen.push(event);
    expect(new Set(seen.map(({ runId }) => runId))).toEqual(new Set(["one"]));
    expect(seen.map(({ type }) => type)).toEqual(await other);
    expect(seen.at(-1)!.type).toBe("run.complete");
    expect(await workflow.listCheckpoints("two")).toHaveLength(4);
  });

  it("of a replay, a fork, a resume, and of a workflow without a store", async () => {
    const workflow = counter(inMemory());
    await workflow.runWithCheckpoints({ runId: "r" });
    expect(await types(workflow.stream({ replay: "r:step-2" }))).toEqual([
      "run.start",
      "workflow.step",
      "workflow.step",
      "checkpoint.saved",
      "run.complete",
    ]);
    const fork = workflow.stream({ fork: "r:initial", mutator: (state) => ({ ...state, count: 100 }) });
    let next = await fork.next();
    while (next.done !== true) next = await fork.next();
    expect(next.value.state.count).toBe(103);
    expect(await types(workflow.stream({ runId: "r", resume: true }))).toEqual(["run.start", "run.complete"]);
    const mutator = (state: object) => state as never;
    for (const wrong of [
      { runId: "r", mutator },
      { replay: "r:initial", mutator },
      { replay: "x", fork: "x" },
    ]) {
      const lost = await rejection(types(workflow.stream(wrong as never)));
      expect(lost).toMatchObject({ name: "TypeError", code: "INVALID_ARGUMENT" });
    }
    expect((await types(counter(undefined).stream())).filter((type) => type === "checkpoint.saved")).toEqual([]);
  });

  it("throws what the run rejects with, after telling it", async () => {
    const mine = new Error("mine");
    const workflow = counter(inMemory(), { steps: [{ name: "s", run: () => Promise.reject(mine) }] });
    const seen: string[] = [];
    const error = await rejection(
      (async () => {
        for await (const { type } of workflow.stream()) seen.push(type);
      })(),
    );
    expect(error).toBe(mine);
    expect(seen.at(-1)).toBe("run.error");
    await wrongType(workflow.stream({ runId: "" }).next());
    await failure(types(workflow.stream({ replay: "none" })), "NOT_FOUND");
  });

  it("that is left aborts its run", async () => {
    const { workflow, begun, open, ran, signals } = gated(inMemory());
    for await (const event of workflow.stream({ runId: "r" })) {
      if (event.type === "workflow.step" && event.stepName === "b") {
        await begun;
        break;
      }
    }
    expect(signals[0]!.aborted).toBe(true);
    open();
    expect(ran).toEqual(["a", "b"]);
    await workflow.runWithCheckpoints({ runId: "r", resume: true });
  });

  it("nobody asks of does not hold up the run", async () => {
    const workflow = counter(inMemory());
    const stream = workflow.stream({ runId: "r" });
    const complete = new Promise((resolve) => workflow.events.once("run.complete", resolve));
    await stream.next();
    await complete;
    expect(await workflow.listCheckpoints("r")).toHaveLength(4);
    await stream.return(undefined as never);
  });

  it("takes a signal of the caller's too", async () => {
    const { workflow, begun } = gated(inMemory());
    const controller = new AbortController();
    const all = rejection(types(workflow.stream({ signal: controller.signal })));
    await begun;
    const reason = new Error("mine");
    controller.abort(reason);
    expect(await all).toBe(reason);
  });
});

describe("what a workflow refuses", () => {
  const step = { name: "s", run: () => {} };

  it.each<[string, object, RegExp?]>([
    ["an option of the workflow", { stpes: [] }, /Unknown option "stpes"\. Did you mean "steps"\?/],
    ["the beginning of an option", { retry: {} }, /Unknown option "retry"\. Did you mean "retryPolicy"\?/],
    ["an option that is like no other", { zzzzzz: 1 }, /Unknown option "zzzzzz"\. Known options: name, initialState/],
    [
      "an option of a step",
      { steps: [{ ...step, timeout: 5 }] },
      /^steps\[0\] \("s"\): .*"timeout"\. Did you mean "timeoutMs"\?/,
    ],
    [
      "an option of a nested step",
      { steps: [{ name: "p", parallel: [{ name: "q", agent: step, inputForm: () => "" }] }] },
      /^steps\[0\]\.parallel\[0\] \("q"\): .*Did you mean "inputFrom"\?/,
    ],
    ["a time limit of parallel steps", { steps: [{ name: "p", parallel: [], timeoutMs: 5 }] }, /"timeoutMs"/],
    ["an option of a retry policy", { retryPolicy: { maxRetrys: 1 } }, /^retryPolicy: .*Did you mean "maxRetries"\?/],
    [
      "an option of a step's retry policy",
      { steps: [{ ...step, retryPolicy: { maxRetries: 1, backofMs: 1 } }] },
      /^steps\[0\]\.retryPolicy: .*Did you mean "backoffMs"\?/,
    ],
    ["no name", { name: undefined }],
    ["an empty name", { name: "" }],
    ["no steps", { steps: undefined }],
    ["steps that are no list", { steps: {} }],
    ["a step that is none", { steps: [7] }],
    ["a step without a name", { steps: [{ run: () => {} }] }],
    ["a step of no kind", { steps: [{ name: "s" }] }],
    ["a step of two kinds", { steps: [{ ...step, parallel: [] }] }],
    ["a run that is no function", { steps: [{ name: "s", run: 7 }] }],
    ["a condition that is no function", { steps: [{ name: "s", condition: true, steps: [] }] }],
    ["a condition without steps", { steps: [{ name: "s", condition: () => true }] }],
    ["parallel steps that are no list", { steps: [{ name: "s", parallel: step }] }],
    [
      "a wrong step within steps",
      { steps: [{ name: "s", parallel: [{ name: "t", condition: () => true, steps: [{}] }] }] },
    ],
    ["an agent that cannot run", { steps: [{ name: "s", agent: {} }] }],
    ["an inputFrom that is no function", { steps: [{ name: "s", agent: { run() {} }, inputFrom: "x" }] }],
    ["no initial state", { initialState: undefined }],
    ["a store that is none", { checkpointStore: {} }],
    ["a retry policy that is none", { retryPolicy: 7 }],
  ])("%s", (_, wrong, message = /./) => {
    const config = { name: "w", initialState: {}, steps: [step], ...wrong };
    const error = thrown(() => new Workflow(config as never));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(message);
  });

  it.each([
    { maxRetries: -1, backoffMs: 1 },
    { maxRetries: 1.5, backoffMs: 1 },
    { maxRetries: 1, backoffMs: -1 },
    { maxRetries: 1, backoffMs: Infinity },
  ])("the retry policy %j", (retryPolicy) => {
    const config = { name: "w", initialState: {}, steps: [step], retryPolicy };
    expect(thrown(() => new Workflow(config as never))).toBeInstanceOf(RangeError);
  });

  it("a step is named by its place", () => {
    const config = { name: "w", initialState: {}, steps: [step, { name: "p", parallel: [step, { name: "x" }] }] };
    expect(thrown(() => new Workflow(config as never)).message).toContain('steps[1].parallel[1] ("x")');
  });

  it("options that are none", async () => {
    const workflow = counter(own("memory:"));
    await workflow.runWithCheckpoints({ runId: "r" });
    for (const options of [
      7,
      { runid: "x" },
      { runId: "" },
      { runId: 7 },
      { resume: "yes", runId: "r" },
      { resume: true },
      { signal: {} },
      { drain: {} },
      { onStepError: "skip" },
      { sessionId: 7 },
    ]) {
      await wrongType(workflow.runWithCheckpoints(options as never));
    }
    for (const options of [{ newRun: 1 }, { runId: "x" }])
      await wrongType(workflow.replay("r:initial", options as never));
    await wrongType(workflow.fork("r:initial", null, { newRun: true } as never));
    await wrongType(workflow.fork("r:initial", 7 as never));
    for (const id of [undefined, null, 7, {}]) {
      await wrongType(workflow.replay(id as never));
      await wrongType(workflow.fork(id as never));
      await wrongType(workflow.listCheckpoints(id as never));
    }
    expect(await chain(own("memory:"), "r")).toBe("");
    expect(await workflow.listCheckpoints("r")).toHaveLength(4);
  });

  it("a state that cannot be stored, naming where", async () => {
    const workflow = counter(own("memory:"), {
      steps: [{ name: "s", run: () => ({ log: [Promise.resolve()] as never }) }],
    });
    const error = await failure(workflow.runWithCheckpoints({ runId: "r" }), "INVALID_ARGUMENT");
    expect(error.message).toContain("state.log[0]");
    expect(error).toMatchObject({ runId: "r", stepIndex: 0, stepName: "s" });
    const wrong = counter(own("memory:"), { initialState: { count: 0, log: [Promise.resolve()] as never } });
    expect(await rejection(wrong.runWithCheckpoints())).toBeInstanceOf(ForkpointError);
  });
});
