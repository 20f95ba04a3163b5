// Measures reads from 100,000 stored checkpoints. The peer is AgentOS' in-memory store, which scans all checkpoints.
import { CheckpointStore } from "../../dist/index.js";
import { compare, sized } from "../lib/measure.mjs";
import { agentosMemory, inFolder } from "../lib/peers.mjs";
import { progress, time } from "../lib/report.mjs";
import { checkpoint } from "../lib/states.mjs";

export const RUNS = 20;
export const NODES = 25;

/** Saves the same checkpoints to both stores. Forkpoint's file is synced when it is closed. */
export async function fill(file, theirs, stored, size = 10_000) {
  progress(`storing ${stored.toLocaleString("en")} checkpoints`);
  const filling = new CheckpointStore(file, { durability: "off" });
  for (let i = 0; i < stored; i += 500) {
    const one = (_, k) => checkpoint(i + k, { size, runs: RUNS, nodes: NODES });
    const some = Array.from({ length: Math.min(500, stored - i) }, one);
    await Promise.all(some.flatMap((one) => [filling.save(one), theirs.save(one)]));
  }
  await filling.close();
}

/** The measured reads, of any store with AgentOS' contract that `fill` has filled. */
export const reads = {
  "latest(run)": (store, i) => store.latest(`run-${(i * 7) % RUNS}`),
  "load(run, node)": (store, i) => store.load(`run-${(i * 7) % RUNS}`, `node-${(i * 3) % NODES}`),
  "list(graph, 10)": (store) => store.list("graph-bench-1", { limit: 10 }),
};

export function stored() {
  return inFolder(async (path) => {
    const count = sized(100_000, 5000);
    const theirs = await agentosMemory();
    await fill(path("ours.db"), theirs, count);
    const ours = new CheckpointStore(path("ours.db"));
    const rows = [];
    for (const [name, read] of Object.entries(reads)) {
      progress(name);
      const result = await compare(
        { ours: (i) => read(ours, i), theirs: (i) => read(theirs, i) },
        { count: { ours: 500, theirs: 20 } },
      );
      rows.push({
        work: `${name}, ${count.toLocaleString("en")} stored`,
        what: "wall time",
        mode: "WAL, FULL",
        peer: "AgentOS' InMemoryCheckpointStore",
        ours: result.ours.wall,
        theirs: result.theirs.wall,
        unit: time,
        goal: 10,
      });
    }
    await ours.close();
    return rows;
  });
}
