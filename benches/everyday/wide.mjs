// Measures wide steps: a checkpoint with many pending writes, and a node that sends to many tasks.
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { thread } from "../langgraph/graphs.mjs";
import { Annotation, END, Send, START, StateGraph, uuid6 } from "../langgraph/packages.mjs";
import { clock, inTurns, quick, sized } from "../lib/measure.mjs";
import { place, putsTo } from "../lib/puts.mjs";
import { filled } from "./filling.mjs";
import { measureCalls, modesOf, row } from "./measuring.mjs";

const WRITES = sized([500, 4_000], [500]);
const TASKS = quick ? [1_000] : [1_000, 4_000];

export async function measure(database) {
  const rows = [];
  if (!database.isServer) for (const writes of WRITES) rows.push(await putWrites(database, writes));
  for (const tasks of TASKS) rows.push(...(await send(database, tasks)));
  return rows;
}

/** Puts one more write to a checkpoint that has `count` pending writes already. */
function putWrites(database, count) {
  const names = ["ours", "theirs"];
  return filled(
    database,
    names,
    ({ saver }) => putPending(saver, count),
    async (opened) => {
      const operations = {};
      for (const name of names) {
        const { saver } = opened[name];
        const { config, pendingWrites } = await saver.getTuple(place("wide"));
        strictEqual(pendingWrites.length, count);
        let next = count;
        operations[name] = () => putWrite(saver, config, next++);
      }
      // Few calls, so that the number of writes stays about the same.
      const figures = await measureCalls(operations, { count: 10 });
      const work = `putWrites after ${count.toLocaleString("en")} others`;
      return row(work, "", { figures, modes: modesOf(opened) }, "wall", {
        most: 200,
        detail: count > WRITES[0],
      });
    },
  );
}

const putWrite = (saver, config, task) => saver.putWrites(config, [["results", { task }]], `task-${task}`);

async function putPending(saver, count) {
  await putsTo(saver, uuid6, "wide")({ results: [] }, ["results"]);
  const { config } = await saver.getTuple(place("wide"));
  await Promise.all(Array.from({ length: count }, (_, task) => putWrite(saver, config, task)));
}

/** A graph with a node that sends to `tasks` tasks. Each returns a small value. */
function fan(tasks) {
  const State = Annotation.Root({
    results: Annotation({ reducer: (before, more) => before.concat(more), default: () => [] }),
  });
  return new StateGraph(State)
    .addNode("plan", () => ({}))
    .addNode("task", ({ task }) => ({ results: [{ task, answer: `answer ${task}` }] }))
    .addEdge(START, "plan")
    .addConditionalEdges("plan", () => Array.from({ length: tasks }, (_, task) => new Send("task", { task })), ["task"])
    .addEdge("task", END);
}

/** Beside MemorySaver: the longest time in which the event loop makes no turn. */
async function send(database, tasks) {
  const builder = fan(tasks);
  const modes = {};
  const turn = (name) =>
    database.inPlace(name, async ({ open }) => {
      const side = await open();
      const graph = builder.compile({ checkpointer: side.saver });
      await side.saver.getTuple(thread("nobody"));
      const { times, longest, result } = await watched(() => graph.invoke({}, thread()));
      strictEqual(result.results.length, tasks);
      deepStrictEqual((await graph.getState(thread())).values, result);
      modes[name] = side.mode();
      await side.close();
      return { ...times, longest };
    });
  // A run of 4,000 tasks takes many seconds on each side, and is measured once.
  const options = { rounds: tasks > 1_000 ? 1 : sized(5, 1), warm: sized(tasks <= 1_000, false) };
  const figures = await inTurns(["ours", "memory", "theirs"], turn, options);
  const label = `Send to ${tasks.toLocaleString("en")} tasks`;
  const detail = tasks > 1_000;
  return ["memory", "theirs"].flatMap((peer) => [
    row(label, "longest without a turn", { figures, modes }, "longest", {
      peer,
      detail,
      ...(peer === "memory" && { goal: 1 }),
    }),
    row(label, "wall time", { figures, modes }, "wall", { peer, detail }),
  ]);
}

/** The times of `work`, and the longest time in which the event loop made no turn, in microseconds. */
async function watched(work) {
  // The garbage is collected before the watch, so that its pause is not counted.
  await clock(1, () => {});
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  // The delay before the first turn, and the one after the last turn, are counted as well.
  await sleep(5);
  let result;
  const times = await clock(1, async () => void (result = await work()), { collect: false });
  await sleep(5);
  delays.disable();
  return { times, longest: delays.max / 1_000, result };
}
