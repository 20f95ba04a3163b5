// Time travel: a fork takes another path, and its source run does not change.
import type { CheckpointStore } from "forkpoint";
import { serialize } from "node:v8";
import { describe, expect, it } from "vitest";
import { backends, open, savedAt, ticket, ticketTools, watch } from "./harness.js";

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
});
