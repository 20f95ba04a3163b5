// Measures short runs of a real graph: the time of a step.
import { deepStrictEqual } from "node:assert/strict";
import { agent, thread } from "../langgraph/graphs.mjs";
import { checkLength, inRuns } from "../langgraph/turns.mjs";
import { sized } from "../lib/measure.mjs";
import { bytes } from "../lib/report.mjs";
import { row } from "./measuring.mjs";

/** The runs: a round has several threads, one after the other. Our side of a scoped run works on its thread alone. */
const RUNS = [
  { steps: 20, size: 300, threads: sized(10, 1), goal: 1.1 },
  { steps: 20, size: 300, threads: sized(10, 1), scoped: true },
  { steps: 100, size: 2_000, threads: sized(2, 1), goal: 1.25 },
];

export async function measure(database) {
  const rows = [];
  for (const delay of database.delays) {
    await database.setDelay(delay);
    for (const run of RUNS) rows.push(...(await one(database, run)));
  }
  return rows;
}

async function one({ variant, inPlace }, { steps, size, threads, goal, scoped = false }) {
  const { compile, input, final, limit, checkpoints } = agent(steps, { size });
  const work = {
    compile,
    count: threads * steps,
    async run(graph) {
      const states = [];
      for (let at = 0; at < threads; at++) {
        const invoke = () => graph.invoke(input, { ...thread(`thread-${at}`), recursionLimit: limit });
        const saver = scoped ? graph.checkpointer : undefined;
        states.push(await (saver?.exclusive?.(`thread-${at}`, invoke) ?? invoke()));
      }
      return states;
    },
    async check(graph, saver, states) {
      for (const [at, state] of states.entries()) {
        deepStrictEqual(state, final);
        deepStrictEqual((await graph.getState(thread(`thread-${at}`))).values, final);
        await checkLength(saver, thread(`thread-${at}`), checkpoints);
      }
    },
  };
  const result = await inRuns(["ours", "theirs"], work, { inPlace, rounds: sized(5, 1), warm: sized(true, false) });
  const name = `a step of ${steps} with ${size < 1_000 ? `${size} bytes` : bytes(size)}${scoped ? ", in exclusive()" : ""}`;
  return [
    row(name, "wall time", result, "wall", { variant, goal }),
    row(name, "event loop", result, "loop", { variant }),
  ];
}
