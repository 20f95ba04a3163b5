// Time travel: a fork takes another path, and its source run does not change.
import type { CheckpointStore } from "forkpoint";
import { serialize } from "node:v8";
import { describe, expect, it } from "vitest";
import { chain, backends, extension, open, savedAt, ticket, ticketTools, tool, Tools, watch } from "./harness.js";

/** Reads everything that the store holds for a run. */
async function everything(store: CheckpointStore, runId: string) {
  const listed = await store.listByRun(runId);
  return { listed, checkpoints: await Promise.all(listed.map(({ id }) => store.get(id))) };
}

describe.each(backends)("on %s", (_backend, target) => {
  it("a fork with a patch is resumed to another outcome, and the original is untouched, byte for byte", async () => {
    const store = open(target());
    const tools = ticketTools();
    const graph = ticket().compile({ checkpointStore: store, deps: tools.deps });
    const run = await watch(graph.stream({ ticket: 7 }));
    expect(run.output).toHaveProperty("review");
    const before = await everything(store, run.runId);
    expect(before.checkpoints).toHaveLength(6);

    tools.calls.length = 0;
    const forked = await store.fork(savedAt(run, "file"), { artifacts: { score: { risk: 0.1 } } });
    expect(await graph.resume(forked)).toEqual({
      load: "load!",
      score: { risk: 0.1 },
      file: "file!",
      refund: "refund!",
      report: "report!",
    });
    expect(tools.calls).toEqual(["refund", "report"]);

    const after = await everything(store, run.runId);
    expect(after).toStrictEqual(before);
    expect(serialize(after).equals(serialize(before))).toBe(true);
  });

  it("the forked checkpoint is the source with a new id, run and time, and the patch over its partitions", async () => {
    const store = open(target());
    const graph = ticket().compile({ checkpointStore: store, deps: ticketTools().deps });
    const run = await watch(graph.stream({ ticket: 7, of: "Ann" }));
    const source = (await store.get(savedAt(run, "route")))!;
    const runId = await store.fork(source.id, { input: { ticket: 8 }, scratch: { note: "new" } });
    const [copy, ...others] = (await everything(store, runId)).checkpoints;
    expect(others).toEqual([]);
    expect(copy).toStrictEqual({
      ...source,
      id: expect.any(String),
      runId,
      timestamp: expect.any(Number),
      state: { ...source.state, input: { ticket: 8, of: "Ann" }, scratch: { note: "new" } },
    });
    expect(copy!.id).not.toBe(source.id);
    expect(runId).not.toBe(run.runId);
    expect(copy!.timestamp).toBeGreaterThanOrEqual(source.timestamp);
  });

  it("a fork without a patch goes the same way", async () => {
    const store = open(target());
    const tools = ticketTools();
    const graph = ticket().compile({ checkpointStore: store, deps: tools.deps });
    const run = await watch(graph.stream({}));
    tools.calls.length = 0;
    expect(await graph.resume(await store.fork(savedAt(run, "load")))).toEqual(run.output);
    expect(tools.calls).toEqual(["score", "file", "review", "report"]);
  });

  it("a fork of a fork keeps both patches, and neither ancestor changes", async () => {
    const store = open(target());
    const tools = new Tools({
      plan: () => ({ tone: "dry", length: 100 }),
      write: ({ scratch }) => ({ text: `${String(scratch!["tone"])}, ${String(scratch!["length"])} words` }),
    });
    const graph = chain({ plan: extension("plan", "external"), write: extension("write", "pure") });
    const compiled = graph.compile({ checkpointStore: store, deps: tools.deps });
    const run = await watch(compiled.stream({}));
    expect(run.output).toMatchObject({ write: { text: "dry, 100 words" } });

    const child = await store.fork(savedAt(run, "plan"), { scratch: { tone: "warm" } });
    const childCheckpoint = (await store.latest(child))!;
    const grandchild = await store.fork(childCheckpoint.id, { scratch: { length: 20 } });
    const before = [await everything(store, run.runId), await everything(store, child)];
    expect(await compiled.resume(grandchild)).toMatchObject({ write: { text: "warm, 20 words" } });
    expect(await compiled.resume(child)).toMatchObject({ write: { text: "warm, 100 words" } });
    expect([await everything(store, run.runId), await everything(store, child)]).toStrictEqual(before);
    expect(tools.count("plan")).toBe(1);
    expect((await store.runs()).runs.map(({ runId }) => runId)).toEqual([grandchild, child, run.runId]);
  });

  it("twenty forks of one checkpoint, made and resumed at once, each go their own way", async () => {
    const store = open(target());
    const tools = new Tools({ tell: ({ scratch }) => ({ told: scratch!["number"] }) });
    const graph = chain({ ask: extension("ask", "external"), tell: extension("tell", "pure") });
    const compiled = graph.compile({ checkpointStore: store, deps: tools.deps });
    const run = await watch(compiled.stream({}));
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, async (_, number) =>
        compiled.resume(await store.fork(savedAt(run, "ask"), { scratch: { number } })),
      ),
    );
    expect(outcomes.map((outcome) => (outcome as { tell: unknown }).tell)).toEqual(
      Array.from({ length: 20 }, (_, told) => ({ told })),
    );
    expect(tools.count("ask")).toBe(1);
  });

  it("a run can be forked while it goes on, and neither hears of the other", async () => {
    const store = open(target());
    const tools = ticketTools();
    const graph = ticket().compile({ checkpointStore: store, deps: tools.deps });
    let forked: unknown;
    const run = await watch(
      (async function* forking() {
        for await (const event of graph.stream({})) {
          if (event.type === "checkpoint_saved" && event.nodeId === "file") {
            forked = await graph.resume(await store.fork(event.checkpointId, { artifacts: { score: { risk: 0 } } }));
          }
          yield event;
        }
      })(),
    );
    expect(forked).toMatchObject({ refund: "refund!" });
    expect(forked).not.toHaveProperty("review");
    expect(run.output).toMatchObject({ review: "review!" });
    expect(run.output).not.toHaveProperty("refund");
    expect(await store.listByRun(run.runId)).toHaveLength(6);
  });

  it("a fork of a checkpoint that is not there is refused, and no run appears", async () => {
    const store = open(target());
    const graph = chain({ a: tool("a", "pure") }).compile({ checkpointStore: store, deps: new Tools().deps });
    const run = await watch(graph.stream({}));
    await expect(store.fork(run.runId)).rejects.toThrow(/not found/);
    await expect(store.fork("nothing", { scratch: { a: 1 } })).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect((await store.runs()).runs).toHaveLength(1);
  });
});
