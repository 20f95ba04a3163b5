// Time travel: a fork takes another path, and its source run does not change.
import { describe, expect, it } from "vitest";
import { backends, open, ticket, ticketTools, watch } from "./harness.js";

describe.each(backends)("on %s", (_backend, target) => {
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
