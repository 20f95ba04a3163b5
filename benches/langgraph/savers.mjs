// Measures many small graphs at once, each in its own thread.
import { deepStrictEqual } from "node:assert/strict";
import { rowsOf } from "../agentium/turns.mjs";
import { sized } from "../lib/measure.mjs";
import { bytes, progress, time } from "../lib/report.mjs";
import { conversation, thread } from "./graphs.mjs";
import { checkLength, inRuns } from "./turns.mjs";

const THREADS = 32;
const TURNS = sized(10, 2);

export async function savers() {
  const rows = [];
  for (const durability of ["async", "sync"]) rows.push(...(await one(durability)));
  return rows;
}

async function one(durability) {
  const label = `${THREADS} threads at once, ${TURNS} x 3 nodes, 1 KB, "${durability}"`;
  progress(label);
  const { compile, input, final, checkpoints } = conversation(THREADS, TURNS);
  const talk = async (graph, at) => {
    const config = { ...thread(`thread-${at}`), durability };
    let state;
    for (let turn = 0; turn < TURNS; turn++) state = await graph.invoke(input(at, turn), config);
    return state;
  };
  const work = {
    compile,
    count: 1,
    run: (graph) => Promise.all(Array.from({ length: THREADS }, (_, at) => talk(graph, at))),
    async check(graph, saver, states) {
      for (const [at, state] of states.entries()) {
        deepStrictEqual(state, final(at));
        if (saver === undefined) continue;
        deepStrictEqual((await graph.getState(thread(`thread-${at}`))).values, final(at));
        await checkLength(saver, thread(`thread-${at}`), checkpoints);
      }
    },
  };
  const result = await inRuns(["ours", "theirs", "memory"], work, { rounds: sized(5, 2) });
  const times = { wall: ["wall time", time], loop: ["event loop", time] };
  const onDisk = { size: ["bytes on disk", bytes] };
  const detail = durability === "sync";
  return [
    ...rowsOf(label, result, [["ours", "theirs"]], { ...times, ...onDisk }, detail),
    ...rowsOf(label, result, [["ours", "memory"]], times, detail),
  ];
}
