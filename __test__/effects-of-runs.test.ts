// The effects of runs go with their runs: whatever removes a run removes them, and nothing else does.
import { setTimeout as sleep } from "node:timers/promises";
import { CheckpointStore, type Store, openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { type Once, type RunRef, effects } from "forkpoint/effects";
import { SessionStore } from "forkpoint/helix";
import { openInspector } from "forkpoint/inspect";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { opened } from "./contents.js";
import { checkpoint as session } from "./helix/helpers.js";
import { checkpoint, kinds, place } from "./helpers.js";

const of = (space: string, run: string): RunRef => ({ space, run });

/** Runs an effect of each run. */
async function pay(once: Once, ...runs: RunRef[]): Promise<void> {
  for (const run of runs) await once(run, "pay", () => ({ receipt: run.run }));
}

/** Counts the effects of each run. */
function counts(once: Once, ...runs: RunRef[]): Promise<number[]> {
  return Promise.all(runs.map(async (run) => (await once.list(run)).length));
}

/** Saves a run of AgentOS with some checkpoints. */
async function graph(store: Store, runId: string, steps = 2): Promise<string[]> {
  const graphs = new CheckpointStore(store);
  const ids = Array.from({ length: steps }, (_, n) => `${runId}/${n}`);
  for (const [timestamp, id] of ids.entries()) await graphs.save(checkpoint({ id, runId, timestamp }));
  return ids;
}

describe.each(kinds)("on %s", (kind) => {
  it("a run of AgentOS is cleared, or loses its last checkpoint", async () => {
    const store = await opened(place(kind));
    const [graphs, once] = [new CheckpointStore(store), effects(store)];
    const [first, second] = [await graph(store, "run"), await graph(store, "run-2")];
    const runs = [of("agentos", "run"), of("agentos", "run-2")];
    await pay(once, ...runs, of("agentium", "run"));
    await graphs.delete(first[0]!);
    expect(await counts(once, ...runs)).toEqual([1, 1]);
    await graphs.delete(first[1]!);
    expect(await counts(once, ...runs)).toEqual([0, 1]);
    await graphs.delete(first[1]!);
    await graphs.clear("run-2");
    expect(await counts(once, ...runs, of("agentium", "run"))).toEqual([0, 0, 1]);
    expect(second).toHaveLength(2);
    expect(await store.check()).toMatchObject({ ok: true, findings: [] });
  });

  it("a run that has saved nothing yet keeps its effects when others go", async () => {
    const store = await opened(place(kind));
    const once = effects(store);
    const [only] = await graph(store, "a", 1);
    await pay(once, of("agentos", "new"));
    await new CheckpointStore(store).delete(only!);
    await new CheckpointStore(store).delete("no such checkpoint");
    await new CheckpointStore(store).clear("a");
    expect(await counts(once, of("agentos", "new"))).toEqual([1]);
  });

  it("a workflow loses its last step, or begins again", async () => {
    const store = await opened(place(kind));
    const [workflows, once] = [new WorkflowCheckpointStore<{ n: number }>(store), effects(store)];
    const save = (runId: string, stepIndex: number) =>
      workflows.save({ id: `${runId}:${stepIndex}`, runId, stepIndex, stepName: "s", state: { n: 1 }, createdAt: 1 });
    for (const runId of ["w", "w2"]) await save(runId, 0);
    await save("w", 1);
    const runs = [of("agentium", "w"), of("agentium", "w2")];
    await pay(once, ...runs);
    await workflows.delete("w:1");
    expect(await counts(once, ...runs)).toEqual([1, 1]);
    await workflows.delete("w:0");
    expect(await counts(once, ...runs)).toEqual([0, 1]);
    await workflows.clear("w2");
    expect(await counts(once, ...runs)).toEqual([0, 0]);
  });

  it("a thread of TinyAgents goes, or is pruned", async () => {
    const store = await opened(place(kind));
    const [threads, once] = [new Checkpointer<{ n: number }>(store), effects(store)];
    for (const threadId of ["t", "t2", "t22"]) {
      for (let n = 0; n < 3; n++) await threads.put({ threadId, state: { n } });
    }
    const runs = [of("tinyagents", "t"), of("tinyagents", "t2"), of("tinyagents", "t22")];
    runs.push({ ...runs[1]!, ns: ["inner"] });
    await pay(once, ...runs);
    await threads.deleteThread("t2");
    expect(await counts(once, ...runs)).toEqual([1, 0, 1, 0]);
    await threads.prune("t", 1);
    expect(await counts(once, ...runs)).toEqual([1, 0, 1, 0]);
  });

  it("a session is deleted", async () => {
    const store = await opened(place(kind));
    const [sessions, once] = [new SessionStore(store), effects(store)];
    for (const id of ["s", "s2"]) await sessions.createSession(id, { agentType: "writer" });
    await sessions.saveCheckpoint({ ...session(1), sessionId: "s2", id: "s2/1" });
    const runs = [of("helix", "s"), of("helix", "s2")];
    await pay(once, ...runs);
    await sessions.deleteSession("s2");
    expect(await counts(once, ...runs)).toEqual([1, 0]);
  });

  it("the inspector removes a run, or its last checkpoint", async () => {
    const store = await opened(place(kind));
    const once = effects(store);
    await using inspector = await openInspector(store, { write: true });
    const [, ids] = [await graph(store, "run"), await graph(store, "run-2")];
    const runs = [of("agentos", "run"), of("agentos", "run-2")];
    await pay(once, ...runs);
    expect(await inspector.remove({ space: "agentos", run: "run" })).toEqual({ removed: 2 });
    await inspector.remove({ space: "agentos", run: "run-2" }, [ids[0]!]);
    expect(await counts(once, ...runs)).toEqual([0, 1]);
    await inspector.remove({ space: "agentos", run: "run-2" }, [ids[1]!]);
    expect(await counts(once, ...runs)).toEqual([0, 0]);
  });

  it("a limit on the size removes no effect, and a limit on the number neither", async () => {
    const store = await opened(place(kind));
    const once = effects(store);
    await graph(store, "run", 4);
    const run = of("agentos", "run");
    for (const key of ["a", "b", "c"]) await once(run, key, () => "x".repeat(10_000));
    const other = await graph(store, "other", 2);
    const { effects: count, effectBytes, checkpoints, storedBytes } = await store.stats();
    expect({ count, checkpoints }).toEqual({ count: 3, checkpoints: 6 });
    expect(effectBytes).toBeGreaterThan(0);
    // What is left is more than the limit: the newest checkpoint of each run, and the effects.
    await store.prune({ maxBytes: 1 });
    await store.prune({ keepLastN: 1 });
    expect(await counts(once, run)).toEqual([3]);
    expect(await store.stats()).toMatchObject({ effects: 3, effectBytes, checkpoints: 2 });
    expect(storedBytes).toBeGreaterThan((await store.stats()).storedBytes);
    expect(await new CheckpointStore(store).get(other[1]!)).not.toBeNull();
    expect(await store.prune({ maxBytes: 1, dryRun: true })).toMatchObject({ removed: 0 });
  });
});

describe.each(kinds.filter((kind) => kind !== "memory"))("a store with limits on %s", (kind) => {
  it("keeps the effects of a run that stays, and none of one that is too old", async () => {
    const target = place(kind);
    const store = await opened(target);
    const once = effects(store);
    const run = of("agentos", "run");
    await graph(store, "run");
    await pay(once, run);
    await store.close();
    await using small = await openStore(target, { maxBytes: 1, keepLastN: 1 });
    await graph(small, "next");
    await expect.poll(async () => (await small.stats()).checkpoints).toBe(2);
    expect(await counts(effects(small), run)).toEqual([1]);
    await small.close();
    await sleep(5);
    await using brief = await openStore(target, { ttlMs: 1 });
    await graph(brief, "last", 1);
    await expect.poll(() => counts(effects(brief), run)).toEqual([0]);
  });

  it("forgets the effects of a session that has expired and is created again", async () => {
    const target = place(kind);
    const run = of("helix", "s");
    {
      await using store = await openStore(target);
      await new SessionStore(store).createSession("s", { agentType: "writer" });
      await pay(effects(store), run);
    }
    await sleep(5);
    await using store = await openStore(target, { ttlMs: 1 });
    await new SessionStore(store).createSession("s", { agentType: "writer" });
    expect(await counts(effects(store), run)).toEqual([0]);
  });
});
