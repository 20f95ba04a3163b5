// One long run whose state grows at every step.
import { sized } from "../lib/measure.mjs";
import { bytes, progress } from "../lib/report.mjs";
import { byHand, ours } from "./sides.mjs";
import { FIGURES, ON_DISK, inRuns, rowsOf } from "./turns.mjs";
import { workOf } from "./work.mjs";

const STEPS = sized(500, 50);

export async function growing() {
  const size = STEPS * 1_000;
  const label = `${STEPS} steps, growing to ${bytes(size)}`;
  progress(label);
  const work = workOf({ size, steps: STEPS, runs: 1 });
  const opens = { ours: (file) => ours(work, file), full: (file) => byHand(work, file, "FULL") };
  const result = await inRuns(work, opens, { rounds: sized(3, 1), warm: false });
  return rowsOf(label, result, [["ours", "full"]], { ...FIGURES, ...ON_DISK });
}
