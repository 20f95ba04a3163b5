// Runs one turn of a side: all runs of the work in a new database. Checks the result afterwards.
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { clock, inTurns, sized } from "../lib/measure.mjs";
import { inFolder, onDisk, settle } from "../lib/peers.mjs";
import { bytes, time } from "../lib/report.mjs";
import { expected } from "./work.mjs";

/**
 * `opens` maps the name of a side to a function that opens it with a file. Resolves to `{ figures, modes }`: the
 * figures per step and the database mode, by side.
 */
export async function inRuns(work, opens, { atOnce = false, rounds = sized(5, 2), warm = true } = {}) {
  const { steps, cases } = work;
  const modes = {};
  const turn = (name) => {
    return inFolder(async (path) => {
      const file = path(`${name}.db`);
      const side = await opens[name](file);
      modes[name] = side.mode;
      // The first call opens the file, so this call is made before the clock starts.
      strictEqual((await side.list("nobody")).length, 0);
      const finals = [];
      const figures = await clock(cases.length * steps.length, async () => {
        if (atOnce) {
          finals.push(...(await Promise.all(cases.map(side.run))));
          return;
        }
        for (const one of cases) finals.push(await side.run(one));
      });
      await check(work, side, finals);
      await side.close();
      settle(file);
      return { ...figures, size: onDisk(file) / (cases.length * steps.length) };
    });
  };
  return { figures: await inTurns(Object.keys(opens), turn, { rounds, warm }), modes };
}

/** Checks the final state of every run of a side, and all of its checkpoints. */
async function check(work, side, finals) {
  for (const [run, one] of work.cases.entries()) {
    const state = expected(work, one);
    deepStrictEqual(finals[run], state);
    const stored = await side.list(one.runId);
    deepStrictEqual(
      stored.map(({ stepIndex }) => stepIndex),
      Array.from({ length: work.steps.length + 1 }, (_, at) => at - 1),
    );
    deepStrictEqual(stored.at(-1).state, state);
  }
}

export const FIGURES = { wall: ["wall time a step", time], loop: ["event loop a step", time] };
export const ON_DISK = { size: ["on disk a step", bytes] };

/** Returns the rows of the table: one for each figure of each pair of sides. `detail` is that of all rows. */
export function rowsOf(work, { figures, modes }, pairs, kinds = FIGURES, detail = false) {
  return pairs.flatMap(([ours, theirs]) => {
    return Object.entries(kinds).map(([figure, [what, unit]]) => ({
      work,
      what,
      mode: modes[ours],
      peer: modes[theirs],
      ours: figures[ours][figure],
      theirs: figures[theirs][figure],
      unit,
      detail,
    }));
  });
}
