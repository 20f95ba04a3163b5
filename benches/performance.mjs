// Measures the goals of the design and prints a table. Run:
// `npm run bench -- performance [--quick] [--write] [subject ...]`, for example
// `npm run bench -- performance savers`. `--quick` runs fewer rounds. `--write` puts the result into
// docs/performance.md. Subject names select what to run. Default: all subjects.
import { beside } from "./performance/beside.mjs";
import { floor } from "./performance/floor.mjs";
import { growing } from "./performance/growing.mjs";
import { million } from "./performance/million.mjs";
import { payloads } from "./performance/payloads.mjs";
import { savers } from "./performance/savers.mjs";
import { stored } from "./performance/stored.mjs";
import { machine, print, ratio, spread, table, times, write } from "./lib/report.mjs";

const subjects = { growing, savers, beside, stored, payloads, million, floor };
const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const rows = [];
for (const name of chosen.length > 0 ? chosen : Object.keys(subjects)) rows.push(...(await subjects[name]()));

machine();
const line = ({ work, what, mode, peer, ours, theirs, unit, goal }) => {
  const reached = ratio(ours, theirs) >= goal ? "yes" : "**no**";
  const aim = goal === undefined ? ["", ""] : [`x${goal}`, reached];
  return [work, what, mode, spread(ours, unit), peer, spread(theirs, unit), times(ours, theirs), ...aim];
};
table(["work", "what", "forkpoint", "", "beside", "", "ratio", "goal", "reached"], rows.map(line));
print("\nThe ratio says how many times less time or bytes Forkpoint takes: below 1 it loses.");
if (chosen.length === 0) write("performance");
