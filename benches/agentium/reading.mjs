// Measures reads of a finished run: its last checkpoint, and all of its checkpoints.
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { compare, sized } from "../lib/measure.mjs";
import { inFolder } from "../lib/peers.mjs";
import { bytes, progress, time } from "../lib/report.mjs";
import { byHand, ours } from "./sides.mjs";
import { rowsOf } from "./turns.mjs";
import { workOf } from "./work.mjs";

const CHECKPOINTS = 100;
const SIZE = 10_000;

export function reading() {
  progress(`reading ${CHECKPOINTS} checkpoints of ${bytes(SIZE)}`);
  // CHECKPOINTS includes the initial checkpoint.
  const work = workOf({ size: SIZE, steps: CHECKPOINTS - 1, runs: 10, replace: true });
  return inFolder(async (path) => {
    const opens = { ours: () => ours(work, path("ours.db")), theirs: () => byHand(work, path("theirs.db"), "FULL") };
    for (const open of Object.values(opens)) {
      const side = await open();
      for (const one of work.cases) await side.run(one);
      await side.close();
    }
    // Reopens both sides, so that both start with empty caches.
    const sides = { ours: await opens.ours(), theirs: await opens.theirs() };
    const modes = { ours: sides.ours.mode, theirs: sides.theirs.mode };
    await check(sides, work.cases[0].runId);
    const rows = [];
    for (const [what, label, count] of [
      ["resume", `resume of a finished run, ${bytes(SIZE)}`, sized(1000, 50)],
      ["list", `listCheckpoints: ${CHECKPOINTS} of ${bytes(SIZE)}`, sized(50, 5)],
    ]) {
      const operation = (side) => (i) => side[what](work.cases[(i * 7) % work.cases.length].runId);
      const figures = await compare({ ours: operation(sides.ours), theirs: operation(sides.theirs) }, { count });
      const kinds = { wall: ["wall time", time], loop: ["event loop", time] };
      rows.push(...rowsOf(label, { figures, modes }, [["ours", "theirs"]], kinds));
    }
    await sides.ours.close();
    await sides.theirs.close();
    return rows;
  });
}

async function check({ ours, theirs }, runId) {
  deepStrictEqual((await ours.resume(runId)).state, (await theirs.resume(runId)).state);
  const [mine, other] = [await ours.list(runId), await theirs.list(runId)];
  strictEqual(mine.length, CHECKPOINTS);
  // The two sides create their checkpoints at different times.
  for (const checkpoint of [...mine, ...other]) checkpoint.createdAt = 0;
  deepStrictEqual(mine, other);
}
