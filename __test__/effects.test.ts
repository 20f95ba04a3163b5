// Effects of runs: each runs once, and its result is stored with the run.
import { openStore } from "forkpoint";
import { Workflow, WorkflowCheckpointStore, type StepContext } from "forkpoint/agentium";
import { effects, type EffectAttempt, type Once, type RunRef } from "forkpoint/effects";
import { Checkpointer, END, Graph, START, type NodeContext } from "forkpoint/tinyagents";
import { describe, expect, it, onTestFinished } from "vitest";
import { opened as shared } from "./contents.js";
import { failure, kinds, place, rejection, wrongType } from "./helpers.js";
import { path } from "./tinyagents/helpers.js";

const run: RunRef = { space: "agentos", run: "run-1" };

/** An effect that counts its calls by idempotency key. */
class Calls {
  readonly keys: string[] = [];
  readonly attempts: number[] = [];
  readonly make = ({ idempotencyKey, attempt }: EffectAttempt): { receipt: number } => {
    this.keys.push(idempotencyKey);
    this.attempts.push(attempt);
    return { receipt: this.keys.length };
  };
}

describe.each(kinds)("effects on %s", (kind) => {
  it("runs once for each key of a run", async () => {
    const once = effects(await shared(place(kind)));
    const calls = new Calls();
    expect(await once(run, "charge", calls.make)).toEqual({ receipt: 1 });
    expect(await once(run, "charge", calls.make)).toEqual({ receipt: 1 });
    expect(await once(run, "mail", calls.make)).toEqual({ receipt: 2 });
    expect(await once({ ...run, run: "run-2" }, "charge", calls.make)).toEqual({ receipt: 3 });
    expect(await once({ ...run, space: "agentium" }, "charge", calls.make)).toEqual({ receipt: 4 });
    expect(new Set(calls.keys).size).toBe(4);
    expect(calls.attempts).toEqual([0, 0, 0, 0]);
    for (const key of calls.keys) expect(key).not.toContain("run-");
  });

  it("stores every value, and returns it as a later call reads it", async () => {
    const once = effects(await shared(place(kind)));
    const values = [undefined, null, 0, -0, "", { at: new Date(0), list: [1, undefined] }, new Map([["a", 1n]]), []];
    for (const [at, value] of values.entries()) {
      expect(await once(run, `value ${at}`, () => value)).toStrictEqual(value);
      expect(await once(run, `value ${at}`, () => "again")).toStrictEqual(value);
    }
    const url = await once(run, "url", () => new URL("https://example.com/a") as unknown);
    expect(url).toBe("https://example.com/a");
    const fresh = await once(run, "object", () => ({ n: 1 }));
    fresh.n = 2;
    expect(await once(run, "object", () => ({ n: 3 }))).toEqual({ n: 1 });
  });

  it("takes any key of up to 1,024 bytes", async () => {
    const once = effects(await shared(place(kind)));
    const keys = ["0:a", "a\0b", "ä".repeat(512), "a:b", "1:0:a", "__proto__", "%", "'"];
    for (const key of keys) expect(await once({ ...run, run: key }, key, () => key)).toBe(key);
    for (const key of keys) expect(await once({ ...run, run: key }, key, () => "again")).toBe(key);
    for (const key of ["a".repeat(1025), ""]) {
      const refused = once(run, key, () => 1);
      await failure(refused, "INVALID_ARGUMENT");
    }
  });

  it("runs again after an error, with the same idempotency key", async () => {
    const once = effects(await shared(place(kind)));
    const calls = new Calls();
    const fails = (attempt: EffectAttempt) => {
      calls.make(attempt);
      throw new Error("timeout");
    };
    expect((await rejection(once(run, "charge", fails))).message).toBe("timeout");
    expect(await once.list(run)).toMatchObject([{ key: "charge", state: "failed", attempts: 1, error: "timeout" }]);
    expect(await once(run, "charge", calls.make)).toEqual({ receipt: 2 });
    expect(new Set(calls.keys).size).toBe(1);
    expect(calls.attempts).toEqual([0, 1]);
    expect(await once.list(run)).toMatchObject([{ key: "charge", state: "done", attempts: 2, error: null }]);
  });

  it("remembers an error if it is asked to", async () => {
    const once = effects(await shared(place(kind)));
    const calls = new Calls();
    const declined = (attempt: EffectAttempt): never => {
      calls.make(attempt);
      throw new TypeError("declined");
    };
    for (let time = 0; time < 3; time++) {
      const error = await rejection(once(run, "charge", declined, { remember: "errors" }));
      expect(error).toMatchObject({ name: "TypeError", message: "declined" });
    }
    expect(calls.keys.length).toBe(1);
    expect(await once.list(run)).toMatchObject([{ state: "error", error: "declined" }]);
  });

  it("lists and forgets effects", async () => {
    const once = effects(await shared(place(kind)));
    for (const key of ["a", "b", "c"]) await once(run, key, () => key);
    expect((await once.list(run)).map(({ key, state }) => [key, state])).toEqual([
      ["a", "done"],
      ["b", "done"],
      ["c", "done"],
    ]);
    expect(await once.forget(run, "b")).toBe(1);
    expect(await once.forget(run, "b")).toBe(0);
    expect(await once(run, "b", () => "again")).toBe("again");
    expect(await once.forget(run)).toBe(3);
    expect(await once.list(run)).toEqual([]);
  });

  it("is there for the steps of a workflow, and starts again with a new run of the same id", async () => {
    const checkpointStore = new WorkflowCheckpointStore<{ n: number }>(await shared(place(kind)));
    const calls = new Calls();
    let crashes = true;
    const steps = [
      {
        name: "pay",
        run: async (_state: { n: number }, { once }: StepContext) => {
          const { receipt } = await once("charge", calls.make);
          if (crashes) throw new Error("crash");
          return { n: receipt };
        },
      },
    ];
    const workflow = new Workflow({ name: "pay", initialState: { n: 0 }, steps, checkpointStore });
    await rejection(workflow.runWithCheckpoints({ runId: "run" }));
    crashes = false;
    expect((await workflow.runWithCheckpoints({ runId: "run", resume: true })).state).toEqual({ n: 1 });
    expect(calls.keys.length).toBe(1);
    expect((await workflow.fork("run:initial")).state).toEqual({ n: 2 });
    expect((await workflow.runWithCheckpoints({ runId: "run" })).state).toEqual({ n: 3 });
    expect((await workflow.run()).state).toEqual({ n: 4 });
    expect(new Set(calls.keys).size).toBe(4);
  });

  it("is there for the nodes of a graph and its subgraphs, once for each branch of a thread", async () => {
    const checkpointer = new Checkpointer<{ n: number }>(await shared(place(kind)));
    const calls = new Calls();
    let crashes = true;
    const pay = async (_state: { n: number }, { once }: NodeContext) => {
      const { receipt } = await once("charge", calls.make);
      if (crashes) throw new Error("crash");
      return { n: receipt };
    };
    const reducer = (state: { n: number }, update: Partial<{ n: number }>) => ({ ...state, ...update });
    const inner = new Graph({ nodes: { pay }, entry: "pay", reducer });
    const graph = new Graph<{ n: number }>({
      nodes: { begin: () => ({}), pay, after: { subgraph: inner } },
      edges: path(START, "begin", "pay", "after", END),
      reducer,
      checkpointer,
    });
    await rejection(graph.invoke({ n: 0 }, { threadId: "t" }));
    crashes = false;
    expect((await graph.resume("t")).state).toEqual({ n: 1 });
    expect(calls.keys.length).toBe(1);
    const [first] = await checkpointer.list("t");

    // The branch begins before the effect, so it has an effect of its own.
    expect((await graph.resumeFrom("t", first!.checkpointId)).state).toEqual({ n: 2 });
    const once = effects(checkpointer);
    expect((await once.list({ space: "tinyagents", run: "t" })).map(({ key }) => key)).toEqual(["charge", "charge"]);
  });
});

it("finds an effect far back in a long thread", { timeout: 30_000 }, async () => {
  const checkpointer = new Checkpointer<{ n: number }>(await shared(place("memory")));
  const calls = new Calls();
  const graphOf = (last: number) =>
    new Graph<{ n: number }>({
      nodes: {
        step: async ({ n }, { once }) => {
          if (n % 300 === 0) await once("hello", calls.make);
          return { n: n + 1 };
        },
      },
      edges: [...path(START, "step"), ["step", ({ n }) => (n < last ? "step" : END)]],
      reducer: (state, update) => ({ ...state, ...update }),
      checkpointer,
      maxSupersteps: 10_000,
    });
  await graphOf(1_201).invoke({ n: 0 }, { threadId: "t" });
  expect(calls.keys.length).toBe(1);
});

it("waits for an effect of another store, and aborts the wait", async () => {
  const target = place("sqlite");
  const [one, other] = [effects(await shared(target)), effects(await openStore(target))];
  onTestFinished(() => {});
  let end = () => {};
  const first = one(run, "charge", () => new Promise<number>((resolve) => (end = () => resolve(1))));
  await expect.poll(async () => (await one.list(run)).map(({ state }) => state)).toEqual(["running"]);
  const reason = new Error("enough");
  const controller = new AbortController();
  const aborted = rejection(other(run, "charge", () => 2, { signal: controller.signal }));
  const second = other(run, "charge", () => 2);
  controller.abort(reason);
  expect(await aborted).toBe(reason);
  end();
  expect(await first).toBe(1);
  expect(await second).toBe(1);
});

it("checks its arguments before anything is written", async () => {
  const once = effects(await shared(place("memory"))) as any as Once & ((...all: any[]) => Promise<unknown>);
  const effect = () => 1;
  await wrongType(once({ space: "other", run: "r" }, "a", effect));
  await wrongType(once({ configurable: {} }, "a", effect));
  await wrongType(once(undefined, "a", effect));
  await wrongType(once(run, 1, effect));
  await wrongType(once(run, "a", 1));
  await wrongType(once(run, "a", effect, { onUnknown: "maybe" }));
  await wrongType(once(run, "a", effect, { remembr: "errors" }));
  await wrongType(once(run, "a", effect, { ttlMs: "1" }));
  await wrongType((once as Once).forget(run, 1 as never));
  expect(await (once as Once).list(run)).toEqual([]);
  expect(() => effects({})).toThrow(TypeError);
  expect(() => effects(undefined as never)).toThrow(TypeError);
});
