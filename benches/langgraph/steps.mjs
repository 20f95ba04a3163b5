// Measures a run that appends 2 KB at every step, in the two LangGraph durabilities that save at every step.
import { deepStrictEqual } from "node:assert/strict";
import { rowsOf } from "../agentium/turns.mjs";
import { sized } from "../lib/measure.mjs";
import { bytes, progress } from "../lib/report.mjs";
import { agent, thread } from "./graphs.mjs";
import { checkLength, inRuns } from "./turns.mjs";

const STEPS = sized(500, 50);

export async function steps() {
  const rows = [];
  for (const durability of ["async", "sync"]) rows.push(...(await one(durability)));
  return rows;
}

async function one(durability) {
  const label = `${STEPS} steps, growing to ${bytes(STEPS * 2_000)}, "${durability}"`;
  progress(label);
  const { compile, input, final, limit, checkpoints } = agent(STEPS);
  const work = {
    compile,
    count: STEPS,
    run: (graph) => graph.invoke(input, { ...thread(), durability, recursionLimit: limit }),
    async check(graph, saver, result) {
      deepStrictEqual(result, final);
      if (saver === undefined) return;
      deepStrictEqual((await graph.getState(thread())).values, final);
      await checkLength(saver, thread(), checkpoints);
    },
  };
  const result = await inRuns(["ours", "theirs", "memory", "none"], work, {
    rounds: sized(3, 1),
    warm: sized(true, false),
  });
  const pairs = ["theirs", "memory", "none"].map((other) => ["ours", other]);
  const onDisk = { size: ["bytes on disk", bytes] };
  return [...rowsOf(label, result, pairs), ...rowsOf(label, result, pairs.slice(0, 1), onDisk, durability === "sync")];
}
