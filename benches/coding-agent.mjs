// Measures the coding agent with which LangChain has measured its DeltaChannel: a conversation of 200 turns, whose
// checkpoints take 5.3 GB in Postgres with full states (langchain.com/blog/delta-channels-evolving-agent-runtime). Run:
// `npm run bench -- coding-agent [--turns=200] [--quick] [--write] [--server=15] [side ...]`.
//
// - `--turns` is 20, 50, 100 or 200. `--quick` is the same as `--turns=20`. 200 turns take about an hour on two cores, and
//   20 GB of disk space for a while.
// - `--write` puts the table of 200 turns into docs/internals/measurements.md.
// - `--server` is that of the benchmark `postgres`.
// - Side names (`PostgresSaver`, `SqliteSaver`, `Postgres`, `SQLite`) select what to run. Default: all.
import { deepStrictEqual } from "node:assert/strict";
import { codingAgent } from "./coding-agent/agent.mjs";
import { sides } from "./coding-agent/sides.mjs";
import { clock, option, sized } from "./lib/measure.mjs";
import { bytes, figure, machine, progress, table, time, write } from "./lib/report.mjs";

/** The numbers of turns after which LangChain has told the sizes. */
const ALL_STAGES = [20, 50, 100, 200];
const LAST = Number(option("turns") ?? sized(200, 20));
if (!ALL_STAGES.includes(LAST))
  throw new Error(`no size is known for ${LAST} turns: there are ${ALL_STAGES.join(", ")}`);
const STAGES = ALL_STAGES.filter((turns) => turns <= LAST);

const named = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const unknown = named.filter((name) => !Object.hasOwn(sides, name));
if (unknown.length > 0) throw new Error(`no side ${unknown.join(", ")}: there are ${Object.keys(sides).join(", ")}`);
const chosen = Object.keys(sides).filter((name) => named.length === 0 || named.includes(name));

/** The mode of SqliteSaver begins with its name. */
const labels = { PostgresSaver: "PostgresSaver: ", SqliteSaver: "", Postgres: "", SQLite: "" };

const rows = [];
for (const name of chosen) {
  for (const asDelta of [false, true]) rows.push(await sides[name]((side) => measured(name, asDelta, side)));
}
machine();
table(["", "channel", ...STAGES.map((turns) => `${turns} turns`), "less", "a turn", "`getState`"], withRatios(rows));
if (chosen.length === Object.keys(sides).length && LAST === 200) write("coding-agent");

/** Runs the conversation, and measures the sizes at the stages and the time of the last turns. */
async function measured(name, asDelta, { saver, size, mode }) {
  const agent = codingAgent(LAST, { asDelta });
  const graph = agent.compile(saver);
  const config = { configurable: { thread_id: "agent" } };
  const turns = async (from, to) => {
    for (let turn = from; turn < to; turn++) await graph.invoke(agent.input(turn), config);
  };
  const sizes = [];
  const measuredTurns = Math.min(10, LAST / 2);
  let done = 0;
  let last;
  for (const stage of STAGES) {
    progress(`${name}${asDelta ? ", DeltaChannel" : ""}: ${stage} turns`);
    await turns(done, stage - measuredTurns);
    last = await clock(measuredTurns, () => turns(stage - measuredTurns, stage));
    done = stage;
    sizes.push(await size());
  }
  let state;
  const read = await clock(3, async () => {
    for (let at = 0; at < 3; at++) state = await graph.getState(config);
  });
  deepStrictEqual(state.values.messages, agent.final);
  return { name, mode: mode(), asDelta, sizes, last, read };
}

/** The rows of the table. The ratio is that of PostgresSaver's full states after the last turn. */
function withRatios(all) {
  const full = all.find(({ name, asDelta }) => name === "PostgresSaver" && !asDelta)?.sizes.at(-1);
  return all.map(({ name, mode, asDelta, sizes, last, read }) => [
    asDelta ? "" : `${labels[name]}${mode}`,
    asDelta ? "DeltaChannel" : "full state",
    ...sizes.map((size) => bytes(size)),
    full === undefined ? "" : `x${figure(full / sizes.at(-1))}`,
    `${time(last.wall)}, loop ${time(last.loop)}`,
    time(read.wall),
  ]);
}
