// Tests the names that only the framework's code has: event buses, the registry, the storage option, the run context.
import {
  EventBus,
  InMemoryStorage,
  type RunContext,
  StorageBackedCheckpointStore,
  Workflow,
  registry,
} from "forkpoint/agentium";
import { afterEach, describe, expect, it } from "vitest";
import { rejection, thrown } from "../helpers.js";
import { type Counter, JsonDriver, counter, inMemory } from "./helpers.js";

afterEach(() => registry.clear());

/** Lists what a bus emits, as the event's name and its data. */
function heard(eventBus: EventBus): Array<[string, any]> {
  const all: Array<[string, any]> = [];
  for (const event of ["run.start", "workflow.step", "checkpoint.saved", "run.complete", "run.error"]) {
    eventBus.on(event, (data) => void all.push([event, data]));
  }
  return all;
}

describe("an event bus", () => {
  it("calls its handlers until they are removed", () => {
    const bus = new EventBus();
    const seen: unknown[] = [];
    const handler = (data: unknown) => void seen.push(data);
    expect(bus.on("a", handler).once("a", handler)).toBe(bus);
    expect(bus.emit("a", 1)).toBe(true);
    expect(bus.emit("a", 2)).toBe(true);
    bus.off("a", handler);
    expect(bus.emit("a", 3)).toBe(false);
    bus.on("a", handler).on("b", handler).removeAllListeners("a").emit("a", 4);
    bus.emit("b", 5);
    bus.removeAllListeners().emit("b", 6);
    expect(seen).toEqual([1, 1, 2, 5]);
    expect(thrown(() => bus.on("a", 7 as never))).toBeInstanceOf(TypeError);
  });

  it("of a workflow tells the framework's events in the framework's shapes", async () => {
    const eventBus = new EventBus();
    const workflow = counter(inMemory(), { eventBus });
    expect(workflow.eventBus).toBe(eventBus);
    const all = heard(eventBus);
    const { runId } = await workflow.runWithCheckpoints();
    const state = { count: 3, log: ["+1", "+2", "total=3"] };
    const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
    expect(all).toEqual([
      ["run.start", { runId, agentName: "workflow:counter", input: '{"count":0,"log":[]}' }],
      ["workflow.step", { runId, stepName: "increment-once", status: "start" }],
      ["workflow.step", { runId, stepName: "increment-once", status: "done" }],
      ["workflow.step", { runId, stepName: "increment-twice", status: "start" }],
      ["workflow.step", { runId, stepName: "increment-twice", status: "done" }],
      ["workflow.step", { runId, stepName: "finalize", status: "start" }],
      ["workflow.step", { runId, stepName: "finalize", status: "done" }],
      ["run.complete", { runId, output: { text: JSON.stringify(state), toolCalls: [], usage } }],
    ]);
  });

  it("tells failures as errors, skipped steps as done, and no retries", async () => {
    const workflow = counter(undefined, {
      retryPolicy: { maxRetries: 1, backoffMs: 1 },
      steps: [
        { name: "skipped", condition: () => false, steps: [] },
        { name: "fails", run: () => Promise.reject("no error") },
      ],
    });
    const all = heard(workflow.eventBus);
    const error = await rejection(workflow.run({ initialState: { count: 7, log: [] } }));
    expect(all.map(([event, { stepName = "", status = "" }]) => `${event} ${stepName} ${status}`.trim())).toEqual([
      "run.start",
      "workflow.step skipped start",
      "workflow.step skipped done",
      "workflow.step fails start",
      "workflow.step fails error",
      "run.error",
    ]);
    expect(all[0]![1].input).toBe('{"count":7,"log":[]}');
    expect(all.at(-1)![1].error).toBe(error);
  });

  it("may be shared by workflows, and may be the user's own", async () => {
    const emitted: string[] = [];
    const eventBus = { emit: (event: string, { runId }: { runId: string }) => emitted.push(`${runId} ${event}`) };
    await Promise.all(
      ["one", "two"].map((runId) => counter(inMemory(), { eventBus, steps: [] }).runWithCheckpoints({ runId })),
    );
    expect(emitted.toSorted()).toEqual(["one run.complete", "one run.start", "two run.complete", "two run.start"]);
    for (const wrong of [7, {}, "bus"])
      expect(thrown(() => counter(undefined, { eventBus: wrong as never }))).toBeInstanceOf(TypeError);
  });

  it("describes states that JSON cannot hold", async () => {
    const cycle: Record<string, unknown> = { n: 7n, twice: [1], list: [] };
    cycle["again"] = [cycle["twice"], cycle["twice"]];
    cycle["self"] = cycle;
    const workflow = new Workflow<any>({ name: "w", initialState: cycle, steps: [] });
    const texts: string[] = [];
    workflow.eventBus.on("run.start", ({ input }) => void texts.push(input));
    workflow.eventBus.on("run.complete", ({ output }) => void texts.push(output.text));
    await workflow.run();
    const text = '{"n":"7","twice":[1],"list":[],"again":[[1],[1]],"self":null}';
    expect(texts).toEqual([text, text]);
  });

  it("lets a run go on when a handler throws, and calls the other handlers", async () => {
    const workflow = counter(undefined);
    const mine = new Error("handler");
    let others = 0;
    workflow.eventBus
      .once("run.start", () => {
        throw mine;
      })
      .once("run.start", () => void (others += 1));
    const uncaught = new Promise((resolve) => {
      const listeners = process.listeners("uncaughtException");
      process.removeAllListeners("uncaughtException");
      process.once("uncaughtException", (error) => {
        for (const listener of listeners) process.on("uncaughtException", listener);
        resolve(error);
      });
    });
    expect((await workflow.run()).state.count).toBe(3);
    expect(await uncaught).toBe(mine);
    expect(others).toBe(1);
  });
});

describe("the registry", () => {
  it("has the workflows of the process by name; the last one counts", () => {
    const [first, second] = [counter(undefined), counter(undefined)];
    counter(undefined, { name: "hidden", register: false });
    expect(registry.list()).toEqual({ workflows: ["counter"] });
    expect(registry.getWorkflow("counter")).toBe(second);
    registry.add(first);
    expect(registry.workflows.get("counter")).toBe(first);
    expect(registry.remove(first)).toBe(true);
    expect(registry.remove(first)).toBe(false);
    expect(registry.getWorkflow("counter")).toBeUndefined();
    expect(thrown(() => counter(undefined, { register: "no" as never }))).toBeInstanceOf(TypeError);
  });
});

describe("the option storage", () => {
  it("is a driver for the checkpoints", async () => {
    const storage = new JsonDriver();
    const workflow = counter(undefined, { storage });
    const { runId } = await workflow.runWithCheckpoints();
    expect(await workflow.listCheckpoints(runId)).toHaveLength(4);
    expect(await new StorageBackedCheckpointStore<Counter>(storage).latest(runId)).toMatchObject({
      state: { count: 3 },
    });
  });

  it("is not used beside a checkpointStore, and must be a driver", async () => {
    const storage = new InMemoryStorage();
    const workflow = counter(inMemory(), { storage });
    const { runId } = await workflow.runWithCheckpoints();
    expect(await workflow.listCheckpoints(runId)).toHaveLength(4);
    expect(await new StorageBackedCheckpointStore(storage).list(runId)).toEqual([]);
    expect(thrown(() => counter(undefined, { storage: {} as never }))).toBeInstanceOf(TypeError);
  });
});

describe("the run context", () => {
  const contexts: RunContext[] = [];
  const steps = ["a", "b"].map((name) => ({
    name,
    run: async (_: Counter, context: RunContext) => {
      contexts.push(context);
      context.setState(name, contexts.length);
    },
  }));
  afterEach(() => void contexts.splice(0));

  it("has the framework's fields, and what the steps of one run share", async () => {
    const workflow = counter(inMemory(), { steps });
    await workflow.runWithCheckpoints({ runId: "r", sessionId: "s", userId: "u" });
    expect(contexts[0]).toMatchObject({ runId: "r", sessionId: "s", userId: "u", metadata: {}, dependencies: {} });
    expect(contexts[0]!.eventBus).toBe(workflow.eventBus);
    expect(contexts[1]!.sessionState).toEqual({ a: 1, b: 2 });
    expect(contexts[1]!.getState<number>("a")).toBe(1);
    contexts[0]!.sessionState = { new: true };
    expect(contexts[1]!.getState("new")).toBe(true);
    await workflow.replay("r:initial");
    expect(contexts[2]!.sessionState).toEqual({ a: 3, b: 4 });
  });

  it("names a session that stays the same after a resume: the run's id", async () => {
    const workflow = counter(inMemory(), { steps });
    await workflow.runWithCheckpoints({ runId: "r" });
    await workflow.replay("r:step-1");
    expect(contexts.map(({ sessionId }) => sessionId)).toEqual(["r", "r", "r"]);
    expect(Object.keys(contexts[0]!)).not.toContain("userId");
  });
});
