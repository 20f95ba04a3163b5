// Rules about age leave a run that waits at a human node, with its effects.
import { openStore } from "forkpoint";
import { CheckpointStore, recover } from "forkpoint/agentos";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Tools, backends, graphOf, refundNodes, watch } from "./harness.js";

const DAY = 86_400_000;
const LONG_AGO = Date.UTC(2001, 0, 1);

describe.each(backends)("on %s", (_, makeTarget) => {
  it("until it is answered", async () => {
    const open = await openStore(makeTarget(), { ttlMs: DAY });
    onTestFinished(() => open.close());
    const store = new CheckpointStore(open, { program: "tests" });
    const tools = new Tools();
    const graph = graphOf(refundNodes(), ["START approve route refund END", "route decline END"]).compile({
      checkpointStore: store,
      deps: tools.deps,
    });
    vi.useFakeTimers({ toFake: ["Date"], now: LONG_AGO });
    onTestFinished(() => void vi.useRealTimers());
    const { runId } = await watch(graph.stream({ order: 7 }));
    vi.useRealTimers();
    const waits = await store.latest(runId);
    expect(waits).not.toBeNull();
    await store.prune();
    await open.prune({ olderThan: Date.now() });
    expect(await store.latest(runId)).toEqual(waits);
    expect((await store.runs()).runs).toMatchObject([{ runId, status: "waiting" }]);
    vi.useFakeTimers({ toFake: ["Date"], now: LONG_AGO });
    const { runs } = await recover(graph, store, { onWaiting: () => ({ approved: true }) });
    vi.useRealTimers();
    expect(runs).toMatchObject([{ outcome: "finished" }]);
    expect(tools.calls).toEqual(["refund"]);
    await store.prune();
    expect((await open.stats()).checkpoints).toBe(0);
  });

  it("or its own time has come", async () => {
    const open = await openStore(makeTarget(), { ttlMs: DAY, waitingTtlMs: 2 * DAY });
    onTestFinished(() => open.close());
    const store = new CheckpointStore(open);
    const graph = graphOf(refundNodes(), ["START approve route refund END", "route decline END"]).compile({
      checkpointStore: store,
      deps: new Tools().deps,
    });
    onTestFinished(() => void vi.useRealTimers());
    const now = Date.now();
    const begun = [];
    for (const days of [3, 1.5]) {
      vi.useFakeTimers({ toFake: ["Date"], now: now - days * DAY });
      begun.push((await watch(graph.stream({ order: 7 }))).runId);
      vi.useRealTimers();
    }
    await store.prune();
    expect((await store.runs()).runs.map(({ runId }) => runId)).toEqual([begun[1]]);
    await store.prune({ olderThan: Date.now(), waiting: false });
    expect((await store.runs()).runs).toHaveLength(1);
    await store.prune({ waiting: true });
    expect((await store.runs()).runs).toEqual([]);
  });
});
