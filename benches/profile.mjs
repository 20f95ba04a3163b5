// Measures savers: their saves a second, the processor time of each thread, and what the looks at the files cost. Run:
// `npm run bench -- profile [--quick] [--write]`. All sides run on a disk with a fixed sync. On a machine with more than
// two cores, it runs once on two of them and once on all.
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { quick } from "./lib/measure.mjs";
import { figure, machine, print, progress, rate, spread, table, time, write } from "./lib/report.mjs";
import { onFixedDisk, SYNCS } from "./lib/sync.mjs";
import { KINDS, THREADS } from "./profile/kinds.mjs";

const program = fileURLToPath(new URL("profile/turns.mjs", import.meta.url));
const [SYNC] = SYNCS;

const all = availableParallelism();
const [threads, looks] = await onFixedDisk(async (run) => {
  const [threads, looks] = [[], []];
  for (const cores of all > 2 ? [2, all] : [all]) {
    progress(`savers on ${cores} cores`);
    const measured = await run(SYNC, program, { args: quick ? ["--quick"] : [], cores });
    for (const kind of Object.keys(KINDS)) {
      const { wall, ...found } = measured[kind];
      threads.push([cores, kind, spread(wall, rate), ...Object.keys(THREADS).map((name) => spread(found[name], time))]);
      const share = `${figure((100 * found.looked.median) / wall.median)} %`;
      looks.push([cores, kind, spread(found.looks), spread(found.looked, time), share]);
    }
  }
  return [threads, looks];
});
machine();
if (threads) {
  table(["cores", "work", "saves a second", ...Object.values(THREADS)], threads);
  print(
    `\nThe threads' figures are processor time a save. A sync takes ${SYNC} us. The thread that waits for it spends ` +
      "up to 20 us of them on the processor.",
  );
  print("\nBefore and after each commit, the writer looks whether its three files are still at their paths:\n");
  table(["cores", "work", "looks a save", "their time a save", "share of a save"], looks);
  write("profile");
}
