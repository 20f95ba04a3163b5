// Measures savers: their saves a second, the processor time of each thread, and what the looks at the files cost. Run:
// `npm run bench -- profile [--quick] [--write]`. All sides run on a disk with a fixed sync. On a machine with more than
// two cores, it runs once on two of them and once on all.
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { quick } from "./lib/measure.mjs";
import { figure, machine, progress, rate, spread, table, time, write } from "./lib/report.mjs";
import { onFixedDisk, SYNCS } from "./lib/sync.mjs";
import { KINDS, THREADS } from "./profile/kinds.mjs";

const program = fileURLToPath(new URL("profile/turns.mjs", import.meta.url));
const [SYNC] = SYNCS;

const all = availableParallelism();
const counts = all > 2 ? [2, all] : [all];
const rows = await onFixedDisk(async (run) => {
  const rows = [];
  for (const cores of counts) {
    progress(`savers on ${cores} cores`);
    const measured = await run(SYNC, program, { args: quick ? ["--quick"] : [], cores });
    for (const kind of Object.keys(KINDS)) {
      const { wall, ...found } = measured[kind];
      const share = `${figure((100 * found.looked.median) / wall.median)} %`;
      rows.push([
        counts.length > 1 ? `${kind}, ${cores} cores` : kind,
        spread(wall, rate),
        ...Object.keys(THREADS).map((name) => spread(found[name], time)),
        spread(found.looks),
        `${spread(found.looked, time)}, ${share}`,
      ]);
    }
  }
  return rows;
});
machine();
if (rows.length > 0) {
  const head = ["", "saves a second", ...Object.values(THREADS), "looks at the files", "their time"];
  // A thread that did nothing is left out.
  const isUsed = (_, at) => rows.some((row) => row[at] !== "0 us");
  table(
    head.filter(isUsed),
    rows.map((row) => row.filter(isUsed)),
  );
  write("profile");
}
