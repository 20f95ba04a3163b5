// Measures the cost of a step as the run gets longer. Run: `npm run bench -- growth`. The state grows by 2 KB a step up
// to 2 MB. After that each step replaces a note of 200 bytes.
import { clock, quick } from "./lib/measure.mjs";
import { inFolder, onDisk, settle } from "./lib/peers.mjs";
import { bytes, machine, progress, table, time, write } from "./lib/report.mjs";
import { growingRun } from "./lib/states.mjs";
import { growingSides } from "./performance/growing.mjs";

const STAGES = quick ? [20, 100, 300] : [100, 1_000, 10_000];
/**
 * The greatest number of steps in a run with SqliteSaver. SqliteSaver stores every state whole, so a run with as many
 * steps as Forkpoint's longest run would take 19 GB.
 */
const THEIR_LAST = quick ? 100 : 1_000;

const NAMES = { ours: "ForkpointSaver: ", theirs: "" };

machine();
const rows = [];
const sides = await growingSides();
for (const last of STAGES) {
  for (const [key, name] of Object.entries(NAMES)) {
    if (key === "theirs" && last > THEIR_LAST) {
      // SqliteSaver stores whole states, so the sum of the states estimates the size of its file.
      const states = Array.from({ length: last }, (_, step) => Math.min((step + 1) * 2e3, 2e6));
      const estimate = `about ${bytes(states.reduce((sum, size) => sum + size))}`;
      rows.push(["", "SqliteSaver", "not run", estimate, ""]);
      continue;
    }
    progress(`${last.toLocaleString("en")} steps, ${key}`);
    const stage = key === Object.keys(NAMES)[0] ? last.toLocaleString("en") : "";
    rows.push([stage, ...(await inFolder((path) => grown(path("growth.db"), sides[key], name, last)))]);
  }
}

async function grown(file, open, name, last) {
  const side = open(file);
  const run = growingRun();
  const steps = async (count) => {
    for (let step = 0; step < count; step++) await side.save(run.step());
  };
  // Measure the last tenth of the run: the cost of a step when the run is this long.
  const first = await clock(last * 0.9, () => steps(last * 0.9));
  const end = await clock(last * 0.1, () => steps(last * 0.1));
  const mode = side.mode();
  await side.close();
  settle(file);
  const size = onDisk(file);
  const whole = (first.wall * 0.9 + end.wall * 0.1) * last;
  return [`${name}${mode}`, time(whole), bytes(size), `${time(end.wall)}, loop ${time(end.loop)}`];
}

table(["steps", "", "all steps", "on disk", "one of the last steps"], rows);
write("growth");
