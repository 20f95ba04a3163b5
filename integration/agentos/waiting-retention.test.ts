// Rules about age leave a run that waits at a human node, with its effects.
import { openStore } from "forkpoint";
import { CheckpointStore, recover } from "forkpoint/agentos";
import { describe, expect, it, onTestFinished } from "vitest";
import { DAY, LONG_AGO, at } from "../../__test__/at-time.js";
import { Tools, backends, graphOf, refundNodes, watch } from "./harness.js";

async function setUp(target: string) {
  const open = await openStore(target);
  onTestFinished(() => open.close());
  const store = new CheckpointStore(open, { program: "tests" });
  const tools = new Tools();
  const nodes = graphOf(refundNodes(), ["START approve route refund END", "route decline END"]);
  const graph = nodes.compile({ checkpointStore: store, deps: tools.deps });
  return { open, store, tools, graph };
}

describe.each(backends)("on %s", (kind, makeTarget) => {
  it("until it is answered", async () => {
    const { open, store, tools, graph } = await setUp(makeTarget());
    const { runId } = await at(LONG_AGO, () => watch(graph.stream({ order: 7 })));
    const waits = await store.latest(runId);
    expect(waits).not.toBeNull();
    await store.prune({ olderThan: Date.now() });
    await open.prune({ olderThan: Date.now() });
    expect(await store.latest(runId)).toEqual(waits);
    expect((await store.runs()).runs).toMatchObject([{ runId, status: "waiting" }]);
    const { runs } = await at(LONG_AGO, () => recover(graph, store, { onWaiting: () => ({ approved: true }) }));
    expect(runs).toMatchObject([{ outcome: "finished" }]);
    expect(tools.calls).toEqual(["refund"]);
    await open.prune({ olderThan: Date.now() });
    expect(await store.stats()).toMatchObject({ checkpoints: 0, effects: 0 });
  });

  it("or its own time has come", async () => {
    const target = makeTarget();
    const { store, graph } = await setUp(target);
    const begun: string[] = [];
    const now = Date.now();
    for (const days of [3, 1.5]) {
      begun.push((await at(now - days * DAY, () => watch(graph.stream({ order: 7 })))).runId);
    }
    const left = async () => (await store.runs()).runs.map(({ runId }) => runId);
    if (kind !== "memory") {
      const limited = await openStore(target, { ttlMs: DAY, waitingTtlMs: 2 * DAY });
      onTestFinished(() => limited.close());
      await limited.prune();
      expect(await left()).toEqual([begun[1]]);
    }
    await store.prune({ olderThan: Date.now(), waiting: true });
    expect(await left()).toEqual([]);
  });
});
