// A store that cannot save stops the run with the store's own error. Otherwise the run would go on without the
// checkpoints that the user counts on.
import { type Checkpoint, CheckpointStore, ForkpointError, type StoreOptions } from "forkpoint";
import { describe, expect, it, onTestFinished } from "vitest";
import { END } from "./framework.js";
import { Tools, backends, chain, extension, tool } from "./harness.js";

/** Records the errors that `save` rejects with. */
class Watching extends CheckpointStore {
  readonly errors: unknown[] = [];

  constructor(target: string, options?: StoreOptions) {
    super(target, options);
    onTestFinished(() => this.close());
  }

  override async save(checkpoint: Checkpoint): Promise<void> {
    try {
      await super.save(checkpoint);
    } catch (error) {
      this.errors.push(error);
      throw error;
    }
  }
}

const steps = () => chain({ a: extension("a", "external"), b: extension("b", "external"), c: extension("c", "pure") });

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => expect.fail(`it did not fail, but gave ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
}

describe.each(backends)("on %s", (_backend, target) => {
  it("a closed store aborts the run with that very error, before the second node runs", async () => {
    const store = new Watching(target());
    const tools = new Tools();
    const graph = steps().compile({ checkpointStore: store, deps: tools.deps });
    await store.close();
    const error = await failureOf(graph.invoke({}));
    expect(store.errors).toEqual([error]);
    expect(error).toBe(store.errors[0]);
    expect(error).toBeInstanceOf(ForkpointError);
    expect(error).toMatchObject({ code: "CLOSED", retryable: false });
    expect(tools.calls).toEqual(["a"]);
  });

  it.each<[string, () => unknown, string]>([
    ["a Promise", () => Promise.resolve(1), "state.scratch.job.handle"],
    ["a WeakMap", () => new WeakMap(), "state.scratch.job.handle"],
    [
      "a getter that throws",
      () => Object.defineProperty({}, "secret", { enumerable: true, get: () => expect.fail("locked") }),
      "state.scratch.job.handle.secret",
    ],
  ])("%s in the scratch aborts the run by its path; nothing of that checkpoint is stored", async (_, value, path) => {
    const store = new Watching(target());
    let mended = false;
    const tools = new Tools({ b: () => ({ job: { handle: mended ? "data" : value() } }) });
    const graph = steps().compile({ checkpointStore: store, deps: tools.deps });
    const runIds: string[] = [];
    const error = await failureOf(
      (async () => {
        for await (const event of graph.stream({})) if (event.type === "run_start") runIds.push(event.runId);
      })(),
    );
    expect(error).toBe(store.errors[0]);
    expect(error).toBeInstanceOf(ForkpointError);
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(path) });
    expect(tools.calls).toEqual(["a", "b"]);
    expect((await store.listByRun(runIds[0]!)).map(({ nodeId }) => nodeId)).toEqual(["a"]);
    // The run resumes from the last checkpoint that was stored.
    mended = true;
    expect(await graph.resume(runIds[0]!)).toMatchObject({ a: "a!", b: { job: { handle: "data" } }, c: "c!" });
    expect(tools.calls).toEqual(["a", "b", "b", "c"]);
  });

  it("a checkpoint above maxPayloadBytes aborts the run, and the one before it is there", async () => {
    const store = new Watching(target(), { maxPayloadBytes: 50_000 });
    const tools = new Tools({ b: () => ({ text: "x".repeat(100_000) }) });
    const graph = steps().compile({ checkpointStore: store, deps: tools.deps });
    expect(await failureOf(graph.invoke({}))).toBe(store.errors[0]);
    expect(store.errors[0]).toBeInstanceOf(ForkpointError);
    expect((await store.runs()).runs).toMatchObject([{ checkpoints: 1, latest: { nodeId: "a" } }]);
  });
});

it("a branch whose save fails aborts the run with that error too", async () => {
  const store = new Watching("memory:");
  const graph = chain({ first: tool("first", "pure") });
  for (const name of ["good", "bad"]) {
    graph.addNode(name, extension(name, "external")).addEdge("first", name).addEdge(name, END);
  }
  const tools = new Tools({ bad: () => ({ when: new WeakSet() }) });
  const error = await failureOf(graph.compile({ checkpointStore: store, deps: tools.deps }).invoke({}));
  expect(error).toBe(store.errors[0]);
  expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining("state.scratch.when") });
});
