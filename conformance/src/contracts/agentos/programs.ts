// What runs in other processes.
import type { Program } from "../../suite/types.js";
import type { Checkpoint, Store } from "./store.js";
import { checkpoint, graph, id, run } from "./checkpoints.js";
import { step, version } from "./steps.js";

export const programs: Record<string, Program<Store>> = {
  /** Saves the checkpoints of the input. */
  async save({ store, input }) {
    for (const one of input as Checkpoint[]) await store.save(one);
  },

  /** Returns what the reads of a run and of one of its checkpoints return. */
  async read({ store, input: { checkpointId, runId, nodeId } }) {
    return {
      got: await store.get(checkpointId),
      latest: await store.latest(runId),
      loaded: await store.load(runId, nodeId),
      listed: await store.list(graph, { runId }),
    };
  },

  /** Returns the ids of all checkpoints of the graph. */
  async list({ store }) {
    return (await store.list(graph)).map((one) => one.id);
  },

  /** Saves steps of one run one after the other, and says the number of each that is stored. */
  async saveSteps({ store, say }) {
    for (let n = 0; ; n++) {
      await store.save(step(n));
      await say(n);
    }
  },

  /** Saves one checkpoint again and again, and says the number of each version that is stored. */
  async saveVersions({ store, say }) {
    for (let n = 0; ; n++) {
      await store.save(version("child", n));
      await say(n);
    }
  },

  /** Forks the first step again and again, and says the run of each fork. */
  async forkSteps({ store, say }) {
    for (let n = 0; ; n++) {
      const runId = await store.fork(id(0), { scratch: { n } });
      await say({ n, runId });
    }
  },

  /** Deletes steps one after the other, and says the number of each that is gone. */
  async deleteSteps({ store, input: { from }, say }) {
    for (let n = from; ; n++) {
      await store.delete(id(n));
      await say(n);
    }
  },

  /** Waits for the start of a race, and saves checkpoints of the same time in one run. */
  async raceSaves({ store, input: { by, count }, say, told }) {
    await say("ready");
    await told();
    for (let n = 0; n < count; n++)
      await store.save(checkpoint({ id: id(by * 1_000 + n), runId: run(1), nodeId: `by-${by}` }));
  },

  /** Waits for the start of a race, and saves versions of one checkpoint. */
  async raceVersions({ store, input: { by, count }, say, told }) {
    await say("ready");
    await told();
    for (let n = 0; n < count; n++) await store.save(version(by, n));
  },

  /** Waits for the start of a race, and forks one checkpoint. Returns the new runs. */
  async raceForks({ store, input: { by, count }, say, told }) {
    await say("ready");
    await told();
    const runs: string[] = [];
    for (let n = 0; n < count; n++) runs.push(await store.fork(id(1), { scratch: { by, n } }));
    return runs;
  },
};
