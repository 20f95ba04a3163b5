// What real LangGraph graphs take with ForkpointSaver and with SqliteSaver: `npm run bench -- langgraph`. `--quick` tries
// a change, `--write` puts the result into docs/performance.md, and names of subjects choose among them.
import { delta } from "./langgraph/delta.mjs";
import { history } from "./langgraph/history.mjs";
import { savers } from "./langgraph/savers.mjs";
import { steps } from "./langgraph/steps.mjs";
import { machine, print, spread, table, times, write } from "./lib/report.mjs";

const subjects = { steps, history, savers, delta };
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
if (chosen.length === 0) write("langgraph");
