// What a step of a workflow costs, its checkpoint included, beside the same loop written by hand:
// `npm run bench -- agentium`. `--quick` tries a change, `--write` puts the result into docs/performance.md, and names
// of subjects choose among them.
import { bare } from "./agentium/bare.mjs";
import { growing } from "./agentium/growing.mjs";
import { memory } from "./agentium/memory.mjs";
import { reading } from "./agentium/reading.mjs";
import { running } from "./agentium/running.mjs";
import { machine, print, spread, table, times, write } from "./lib/report.mjs";

const subjects = { running, memory, growing, reading, bare };
const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const rows = [];
for (const name of chosen.length > 0 ? chosen : Object.keys(subjects)) rows.push(...(await subjects[name]()));

machine();
const line = ({ work, what, mode, peer, ours, theirs, unit }) => [
  work,
  what,
  mode,
  spread(ours, unit),
  peer,
  spread(theirs, unit),
  times(ours, theirs),
];
table(["work", "what", "forkpoint", "", "beside", "", "ratio"], rows.map(line));
print("\nThe ratio says how many times less time or bytes Forkpoint takes: below 1 it loses.");
if (chosen.length === 0) write("agentium");
