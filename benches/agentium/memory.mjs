// Measures runs with an in-memory store: the cost of the workflow and of its state copies, without the disk.
import { sized } from "../lib/measure.mjs";
import { bytes, progress } from "../lib/report.mjs";
import { copies, ours, storageInMemory } from "./sides.mjs";
import { FIGURES, inRuns, rowsOf } from "./turns.mjs";
import { workOf } from "./work.mjs";

const STEPS = 20;

const sizes = [
  { size: 1_000, runs: sized(100, 5) },
  { size: 10_000, runs: sized(50, 3) },
  { size: 200_000, runs: sized(10, 2) },
];

export async function memory() {
  const rows = [];
  for (const { size, runs } of sizes) {
    const label = `${STEPS} steps, ${bytes(size)}, in memory`;
    progress(label);
    const work = workOf({ size, steps: STEPS, runs, replace: size === 1_000 });
    const opens = {
      ours: () => ours(work, "memory:"),
      storage: () => storageInMemory(work),
      copies: () => copies(work),
    };
    const result = await inRuns(work, opens);
    const pairs = [
      ["ours", "copies"],
      ["storage", "copies"],
    ];
    rows.push(...rowsOf(label, result, pairs, FIGURES, size === 10_000));
  }
  return rows;
}
