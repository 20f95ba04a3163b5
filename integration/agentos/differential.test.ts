// Compares this package's store with the framework's own. Both must return the same result in all cases in which the
// framework's result is well defined.
import type { Checkpoint, StatePartitions } from "forkpoint";
import { describe, expect, it } from "vitest";
import { checkpoint as made } from "../../__test__/helpers.js";
import { type Below, random } from "../../__test__/inspect/random.js";
import { InMemoryCheckpointStore } from "./framework.js";
import { backends, open } from "./harness.js";

function checkpoint(below: Below, timestamp: number): Checkpoint {
  const whole = made({
    id: `checkpoint-${below(40)}`,
    graphId: `graph-${below(3)}`,
    runId: `run-${below(5)}`,
    nodeId: `node-${below(4)}`,
    timestamp,
    ...(below(3) === 0 && { memorySnapshot: { reads: [], pendingWrites: [] } }),
  });
  const state = {
    ...whole.state,
    input: { question: below(10) },
    scratch: { text: "x".repeat(below(2_000)), list: [below(5), { deep: below(5) }] },
    artifacts: below(2) === 0 ? {} : { answer: below(10) },
  };
  return { ...whole, state };
}

describe.each(backends)("on %s", (_backend, target) => {
  it.each([1, 2, 3])("answers like InMemoryCheckpointStore where timestamps ascend (seed %i)", async (seed) => {
    const below = random(seed);
    const theirs = new InMemoryCheckpointStore();
    const ours = open(target());
    let answered = 0;
    for (let step = 0; step < 300; step++) {
      const [run, node] = [`run-${below(6)}`, `node-${below(5)}`];
      const [graph, id] = [`graph-${below(4)}`, `checkpoint-${below(45)}`];
      // Save a copy to each store, because the framework's store keeps the object that it is given.
      const saved = checkpoint(below, 1_000 + step);
      await Promise.all([theirs.save(structuredClone(saved)), ours.save(saved)]);
      if (below(4) === 0) await Promise.all([theirs.delete(id), ours.delete(id)]);

      const limit = [undefined, 0, -1, 1, 3, 1_000][below(6)];
      const options = { ...(limit !== undefined && { limit }), ...(below(2) === 0 && { runId: run }) };
      const [theirList, ourList] = await Promise.all([theirs.list(graph, options), ours.list(graph, options)]);
      // Ignore the size of a state, because it depends on the serializer.
      for (const metadata of theirList) metadata.stateSize = expect.any(Number);
      expect(ourList).toEqual(theirList);
      expect(ourList.every(({ stateSize }) => stateSize > 0)).toBe(true);
      const answers = [await ours.get(id), await ours.latest(run), await ours.load(run, node)];
      expect(answers).toEqual([await theirs.get(id), await theirs.latest(run), await theirs.load(run, node)]);
      answered += answers.filter((answer) => answer !== null).length;
    }
    expect(answered).toBeGreaterThan(300);
  });

  it("forks as InMemoryCheckpointStore does, but for the new ids and the time", async () => {
    const below = random(4);
    const source = { ...checkpoint(below, 5), id: "source", runId: "first" };
    const [theirs, ours] = [new InMemoryCheckpointStore(), open(target())];
    await Promise.all([theirs.save(structuredClone(source)), ours.save(source)]);
    const patches = [
      undefined,
      {},
      { scratch: { text: "patched" } },
      { input: { more: 1 }, artifacts: { answer: null } },
      { scratch: null },
      { visitedNodes: [], currentNodeId: "b", iteration: 3 },
      { memory: { read: ["fact"] }, scratch: { text: "patched" } },
      { input: null, scratch: { text: "patched" }, artifacts: undefined, diagnostics: null },
    ] as Array<Partial<StatePartitions & { visitedNodes: string[] }> | undefined>;
    for (const patch of patches) {
      const [their, our] = [await theirs.fork("source", patch as object), await ours.fork("source", patch)];
      const anew = { id: "new", runId: "new", timestamp: 0 };
      expect({ ...(await ours.latest(our)), ...anew }).toEqual({ ...(await theirs.latest(their)), ...anew });
    }
    expect(await ours.get("source")).toEqual(source);
  });
});
