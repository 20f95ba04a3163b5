// Tests retry policies and time limits of single steps, and the options that steps refuse.
import { setTimeout as sleep } from "node:timers/promises";
import { ForkpointError } from "forkpoint";
import { type StepDef, Workflow } from "forkpoint/agentium";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Gate, rejection, thrown } from "../helpers.js";
import { type Counter, chain, counter, inMemory, storeKinds, stores, told } from "./helpers.js";

/** A step that fails until its attempt with this number, and then counts its attempts in the state. */
function flaky(name: string, until: number, more: Partial<StepDef<Counter>> = {}): StepDef<Counter> {
  return {
    name,
    run: (state, { attempt }) => {
      if (attempt < until) throw new Error(`${name} ${attempt}`);
      return { log: [...state.log, `${name} ${attempt}`] };
    },
    ...more,
  } as StepDef<Counter>;
}

/** A function that ends only when its signal aborts, and the signals that it got. */
function endless() {
  const signals: AbortSignal[] = [];
  const run = (_: unknown, { signal }: { signal: AbortSignal }) => {
    signals.push(signal);
    return new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  return { run, signals };
}

describe.each(storeKinds)("over %s", (kind) => {
  const store = () => stores[kind]<Counter>();

  it("a step's own retry policy replaces the workflow's", async () => {
    const workflow = counter(store(), {
      retryPolicy: { maxRetries: 1, backoffMs: 0 },
      steps: [flaky("common", 1), flaky("own", 3, { retryPolicy: { maxRetries: 3, backoffMs: 0 } })],
    });
    const { state } = await workflow.runWithCheckpoints();
    expect(state.log).toEqual(["common 1", "own 3"]);
    const never = counter(store(), {
      retryPolicy: { maxRetries: 5, backoffMs: 0 },
      steps: [flaky("never", 1, { retryPolicy: { maxRetries: 0 } })],
    });
    expect((await rejection(never.runWithCheckpoints())).message).toBe("never 0");
  });

  it("a step that takes too long fails, and the run can be resumed", async () => {
    const checkpoints = store();
    let slow = true;
    const steps: StepDef<Counter>[] = [
      { name: "a", run: () => ({ count: 1 }) },
      { name: "b", timeoutMs: 20, run: () => (slow ? sleep(5_000, {}, { ref: false }) : { count: 2 }) },
    ];
    const workflow = counter(checkpoints, { steps });
    const error = await rejection(workflow.runWithCheckpoints({ runId: "r" }));
    expect(error).toBeInstanceOf(ForkpointError);
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true, runId: "r", stepIndex: 1, stepName: "b" });
    expect(error.message).toContain('step "b" took longer than its 20 ms');
    expect(await chain(checkpoints, "r")).toBe("-1 initial, 0 a");
    slow = false;
    expect((await workflow.runWithCheckpoints({ runId: "r", resume: true })).state.count).toBe(2);
  });
});

describe("a time limit", () => {
  it("aborts the signal of its attempt only, and the step is tried again as its policy says", async () => {
    const { run, signals } = endless();
    const statuses: string[] = [];
    const workflow = counter(inMemory(), {
      steps: [{ name: "slow", timeoutMs: 15, retryPolicy: { maxRetries: 2, backoffMs: 1 }, run }],
    });
    workflow.events.on("workflow.step", ({ status }) => void statuses.push(status));
    const error = await rejection(workflow.runWithCheckpoints());
    expect(statuses).toEqual(["start", "retry", "retry", "error"]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true]);
    expect(signals.at(-1)!.reason).toBe(error);
    expect(new Set(signals).size).toBe(3);
  });

  it("drops the result of an attempt that comes too late", async () => {
    let late: (() => void) | undefined;
    const workflow = counter(inMemory(), {
      retryPolicy: { maxRetries: 1, backoffMs: 0 },
      steps: [
        {
          name: "s",
          timeoutMs: 20,
          run: async (_, { attempt }) => {
            if (attempt === 0) await new Promise<void>((resolve) => (late = resolve));
            return { count: attempt + 10 };
          },
        },
        {
          name: "t",
          run: async () => {
            late!();
            await sleep(5);
          },
        },
      ],
    });
    expect((await workflow.runWithCheckpoints()).state.count).toBe(11);
  });

  it("applies to conditions, agents and nested steps", async () => {
    const { run, signals } = endless();
    const steps: StepDef<Counter>[] = [
      { name: "condition", timeoutMs: 10, condition: run as never, steps: [] },
      { name: "agent", timeoutMs: 10, agent: { run: (_, options) => run(_, options) } },
      { name: "outer", parallel: [{ name: "inner", timeoutMs: 10, run }] },
    ];
    const { stepResults } = await counter(inMemory(), { steps }).runWithCheckpoints({ onStepError: "continue" });
    expect(told(stepResults)).toBe("condition error, agent error, inner error, outer done");
    for (const { error } of stepResults.slice(0, 3)) expect(error).toContain("took longer than its 10 ms");
    expect(signals).toHaveLength(3);
  });
});

describe("the timer of a time limit", () => {
  afterEach(() => void vi.useRealTimers());

  it("does not outlive a run that was aborted, even if the step ignores its signal", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const gate = new Gate();
    let seen: AbortSignal | undefined;
    const step: StepDef<Counter> = {
      name: "s",
      timeoutMs: 60_000,
      run: (_, { signal }) => ((seen = signal), gate.wait()),
    };
    const workflow = counter(inMemory(), { steps: [step] });
    const [controller, reason] = [new AbortController(), new Error("mine")];
    void gate.reached.then(() => setImmediate(() => controller.abort(reason)));
    expect(await rejection(workflow.runWithCheckpoints({ signal: controller.signal }))).toBe(reason);
    expect(seen!.reason).toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("still counts while a failed run waits for a branch that ignores its signal", async () => {
    const workflow = counter(inMemory(), {
      steps: [
        {
          name: "p",
          parallel: [
            { name: "hangs", timeoutMs: 30, run: () => new Promise<never>(() => {}) },
            { name: "fails", run: () => Promise.reject(new Error("first")) },
          ],
        },
      ],
    });
    expect((await rejection(workflow.runWithCheckpoints())).message).toBe("first");
  });
});

describe("a workflow refuses, naming the right one:", () => {
  const step = { name: "s", run: () => {} };
  const config = { name: "w", initialState: {}, steps: [step] };

  it.each([0, -1, Number.NaN, 2 ** 31, "5"])("the time limit %s", (timeoutMs) => {
    const error = thrown(() => new Workflow({ ...config, steps: [{ ...step, timeoutMs }] } as never));
    expect(error).toBeInstanceOf(RangeError);
    expect(error.message).toContain("steps[0].timeoutMs");
  });

  it("options of runs, replays and forks", async () => {
    const workflow = new Workflow({ ...config, checkpointStore: inMemory<object>() });
    await workflow.runWithCheckpoints({ runId: "r" });
    for (const [call, name] of [
      [() => workflow.run({ sesionId: "s" } as never), "sessionId"],
      [() => workflow.runWithCheckpoints({ runID: "r" } as never), "runId"],
      [() => workflow.replay("r:initial", { newrun: true } as never), "newRun"],
      [() => workflow.fork("r:initial", null, { forced: true } as never), "force"],
      [() => workflow.stream({ resum: true } as never).next(), "resume"],
    ] as const) {
      expect((await rejection(call())).message).toContain(`Did you mean "${name}"?`);
    }
  });

  it("but a step may be an object of the user's own class", async () => {
    class Add {
      readonly by: number;
      readonly name = "add";
      readonly timeoutMs = 1_000;
      constructor(by: number) {
        this.by = by;
      }
      run({ count }: Counter) {
        return { count: count + this.by };
      }
    }
    const { state } = await counter(inMemory(), { steps: [new Add(4), new Add(3)] }).runWithCheckpoints();
    expect(state.count).toBe(7);
  });
});
