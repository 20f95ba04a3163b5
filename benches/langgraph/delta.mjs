// Measures a run with a DeltaChannel, which stores only the added messages. Measures both writing the run and reading
// its last state.
import { deepStrictEqual } from "node:assert/strict";
import { FIGURES, rowsOf } from "../agentium/turns.mjs";
import { compare, sized } from "../lib/measure.mjs";
import { inFolder } from "../lib/peers.mjs";
import { bytes, progress, time } from "../lib/report.mjs";
import { agent, thread } from "./graphs.mjs";
import { sides } from "./sides.mjs";
import { checkLength, inRuns } from "./turns.mjs";

const STEPS = sized(500, 50);
const names = ["ours", "theirs"];
const run = agent(STEPS, { asDelta: true });
const invoke = (graph) => graph.invoke(run.input, { ...thread(), recursionLimit: run.limit });

export async function delta() {
  return [...(await writing()), ...(await reading())];
}

async function writing() {
  const label = `DeltaChannel: ${STEPS} steps, growing to ${bytes(STEPS * 2_000)}`;
  progress(label);
  const work = {
    compile: run.compile,
    count: STEPS,
    run: invoke,
    async check(graph, saver, result) {
      deepStrictEqual(result, run.final);
      deepStrictEqual((await graph.getState(thread())).values, run.final);
      await checkLength(saver, thread(), run.checkpoints);
    },
  };
  const result = await inRuns(names, work, { rounds: sized(3, 1) });
  return rowsOf(label, result, [names], { size: ["bytes on disk", bytes], ...FIGURES });
}

function reading() {
  const label = `DeltaChannel: getState after ${STEPS} steps`;
  progress(label);
  return inFolder(async (path) => {
    const operations = {};
    const modes = {};
    const opened = [];
    for (const name of names) {
      const side = sides[name](path(`${name}.db`));
      opened.push(side);
      const graph = run.compile(side.saver);
      deepStrictEqual(await invoke(graph), run.final);
      modes[name] = side.mode();
      operations[name] = () => graph.getState(thread());
      deepStrictEqual((await operations[name]()).values, run.final);
    }
    const figures = await compare(operations, { count: sized(10, 2) });
    for (const { close } of opened) await close();
    return rowsOf(label, { figures, modes }, [names], { wall: ["wall time", time], loop: ["event loop", time] });
  });
}
