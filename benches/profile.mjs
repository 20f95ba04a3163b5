// Measures four savers: their saves a second, and the processor time of each thread. Run:
// `npm run bench -- profile [--quick] [--write]`. All sides run on a disk with a fixed sync. On a machine with more than
// two cores, it runs once on two of them and once on all.
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { quick } from "./lib/measure.mjs";
import { machine, print, progress, rate, spread, table, time, write } from "./lib/report.mjs";
import { onFixedDisk, SYNCS } from "./lib/sync.mjs";
import { KINDS, SAVERS, THREADS } from "./profile/kinds.mjs";

const program = fileURLToPath(new URL("profile/turns.mjs", import.meta.url));
const [SYNC] = SYNCS;

const all = availableParallelism();
const rows = await onFixedDisk(async (run) => {
  const rows = [];
  for (const cores of all > 2 ? [2, all] : [all]) {
    progress(`${SAVERS} savers on ${cores} cores`);
    const measured = await run(SYNC, program, { args: quick ? ["--quick"] : [], cores });
    for (const kind of Object.keys(KINDS)) {
      const { wall, ...found } = measured[kind];
      const threads = Object.keys(THREADS).map((name) => spread(found[name], time));
      rows.push([cores, kind, spread(wall, rate), ...threads]);
    }
  }
  return rows;
});
machine();
if (rows.length > 0) {
  table(["cores", `${SAVERS} savers`, "saves a second", ...Object.values(THREADS)], rows);
  print(
    `\nThe threads' figures are processor time a save. A sync takes ${SYNC} us. The thread that waits for it spends ` +
      "up to 20 us of them on the processor.",
  );
  write("profile");
}
