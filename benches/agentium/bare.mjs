// Compares a workflow without a store with a loop that awaits the same functions. Both copy the state for each step.
import { deepStrictEqual } from "node:assert/strict";
import { Workflow } from "../../dist/contracts/agentium/index.js";
import { clock, inTurns, sized } from "../lib/measure.mjs";
import { bytes, progress } from "../lib/report.mjs";
import { FIGURES, rowsOf } from "./turns.mjs";
import { expected, workOf } from "./work.mjs";

const STEPS = 20;

const sizes = [
  { size: 1_000, runs: sized(200, 5) },
  { size: 10_000, runs: sized(100, 3) },
  { size: 200_000, runs: sized(10, 2) },
];

export async function bare() {
  const rows = [];
  for (const { size, runs } of sizes) {
    const label = `${STEPS} steps, ${bytes(size)}, nothing stored`;
    progress(label);
    const work = workOf({ size, steps: STEPS, runs, replace: size === 1_000 });
    const workflow = new Workflow({ name: "bench", initialState: {}, steps: work.steps });
    const sides = {
      ours: async ({ initialState }) => (await workflow.run({ initialState })).state,
      async loop({ initialState }) {
        let state = initialState;
        for (const { run } of work.steps) {
          const draft = structuredClone(state);
          const result = await run(draft);
          state = { ...draft, ...result };
        }
        return state;
      },
    };
    const turn = async (name) => {
      const finals = [];
      const figures = await clock(runs * STEPS, async () => {
        for (const one of work.cases) finals.push(await sides[name](one));
      });
      for (const [run, one] of work.cases.entries()) deepStrictEqual(finals[run], expected(work, one));
      return figures;
    };
    const figures = await inTurns(Object.keys(sides), turn, { rounds: sized(5, 2) });
    const modes = { ours: "Workflow.run()", loop: "a loop + structuredClone" };
    // The document has the workflows that store something.
    rows.push(...rowsOf(label, { figures, modes }, [["ours", "loop"]], FIGURES, true));
  }
  return rows;
}
