// Measures runs of 20 steps stored in a file: one after the other, and many at once.
import { sized } from "../lib/measure.mjs";
import { bytes, progress } from "../lib/report.mjs";
import { byHand, ours } from "./sides.mjs";
import { FIGURES, ON_DISK, inRuns, rowsOf } from "./turns.mjs";
import { workOf } from "./work.mjs";

const STEPS = 20;
const AT_ONCE = 64;

const sizes = [
  { size: 1_000, runs: sized(100, 3) },
  { size: 10_000, runs: sized(100, 3) },
  { size: 200_000, runs: sized(10, 2) },
];

export async function running() {
  const rows = [];
  for (const { size, runs } of sizes) rows.push(...(await one(size, runs, false)));
  rows.push(...(await one(10_000, AT_ONCE, true)));
  return rows;
}

async function one(size, runs, atOnce) {
  const label = `${STEPS} steps, ${bytes(size)}, ${atOnce ? `${AT_ONCE} runs at once` : "one run after the other"}`;
  progress(label);
  const work = workOf({ size, steps: STEPS, runs, replace: size === 1_000 });
  const opens = {
    ours: (file) => ours(work, file),
    full: (file) => byHand(work, file, "FULL"),
    normal: (file) => byHand(work, file, "NORMAL"),
  };
  const result = await inRuns(work, opens, { atOnce, rounds: sized(7, 2) });
  const pairs = [
    ["ours", "full"],
    ["ours", "normal"],
  ];
  // Both hand-written sides take the same space on the disk, so the table has only one row for this space.
  const detail = size === 10_000 && !atOnce;
  return [
    ...rowsOf(label, result, pairs, FIGURES, detail),
    ...rowsOf(label, result, pairs.slice(0, 1), ON_DISK, detail),
  ];
}
