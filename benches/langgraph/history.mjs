// Measures reads of a long run: the whole history, the newest checkpoints, and the latest one.
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { rowsOf } from "../agentium/turns.mjs";
import { compare, inTurns, sized, summary } from "../lib/measure.mjs";
import { inFolder, settle } from "../lib/peers.mjs";
import { bytes, progress, time } from "../lib/report.mjs";
import { prose } from "../lib/states.mjs";
import { agent, thread } from "./graphs.mjs";
import { sides } from "./sides.mjs";

const STEPS = sized(500, 50);
const names = ["ours", "theirs"];
const pairs = [names];
const TIMES = { wall: ["wall time", time], loop: ["event loop", time] };

export function history() {
  const run = agent(STEPS);
  return inFolder(async (path) => {
    const files = { ours: path("ours.db"), theirs: path("theirs.db") };
    progress(`${run.checkpoints} checkpoints to read`);
    for (const name of names) {
      const side = sides[name](files[name]);
      await run.compile(side.saver).invoke(run.input, { ...thread(), recursionLimit: run.limit });
      await side.close();
      settle(files[name]);
    }
    // Reopens both savers, so that both start with empty caches.
    const opened = Object.fromEntries(names.map((name) => [name, sides[name](files[name])]));
    await check(run, opened);
    const modes = Object.fromEntries(names.map((name) => [name, opened[name].mode()]));
    const rows = [...(await whole(run, files, modes)), ...(await newest(run, opened, modes))];
    for (const name of names) await opened[name].close();
    return rows;
  });
}

/** Checks that both savers have the same history, state by state. */
async function check({ compile, checkpoints, final }, opened) {
  const [ours, theirs] = names.map((name) => compile(opened[name].saver).getStateHistory(thread()));
  let length = 0;
  for await (const mine of ours) {
    const { value: other } = await theirs.next();
    deepStrictEqual(mine.values, other.values);
    deepStrictEqual(mine.next, other.next);
    deepStrictEqual(mine.metadata, other.metadata);
    if (length === 0) deepStrictEqual(mine.values, final);
    length += 1;
  }
  strictEqual((await theirs.next()).done, true);
  strictEqual(length, checkpoints);
}

/** Reads the whole history in a new process for each side, so that the sides do not share memory. */
async function whole({ checkpoints }, files, modes) {
  const reader = fileURLToPath(new URL("reader.mjs", import.meta.url));
  const rows = [];
  const bound = parsing();
  for (const how of ["list", "getStateHistory"]) {
    const label = `${how}: ${checkpoints} of up to ${bytes(STEPS * 2_000)}`;
    progress(label);
    const turn = async (name) => {
      const args = [reader, name, files[name], how, String(STEPS)];
      const { found, ...figures } = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
      strictEqual(found, checkpoints);
      return figures;
    };
    // There is no warm-up round, because each process starts with cold caches.
    const figures = await inTurns(names, turn, { rounds: sized(3, 1), warm: false });
    const [wall, loop, memory] = rowsOf(label, { figures, modes }, pairs, {
      ...TIMES,
      memory: ["peak memory growth", bytes],
    });
    rows.push({ ...wall, number: 5, goal: 1, bound }, loop, { ...memory, detail: how !== "list" });
  }
  return rows;
}

/** What any reader of the history has to do, because LangGraph's values are JSON: parse each of the states. */
function parsing() {
  const text = Array.from({ length: STEPS }, (_, step) =>
    JSON.stringify({ role: "user", content: prose(1_960, step) }),
  );
  let took = 0;
  for (let length = 1; length <= STEPS; length++) {
    const state = `[${text.slice(0, length).join(",")}]`;
    const start = performance.now();
    JSON.parse(state);
    took += performance.now() - start;
  }
  return { what: "JSON.parse of all the states", figure: summary([took * 1000]) };
}

async function newest({ checkpoints }, opened, modes) {
  const limit = 10;
  const list =
    (config) =>
    async ({ saver }) => {
      let found = 0;
      for await (const _ of saver.list(config, { limit })) found += 1;
      strictEqual(found, limit);
    };
  const { thread_id } = thread().configurable;
  const reads = {
    [`list: ${limit} newest of ${checkpoints}`]: list(thread()),
    [`list: ${limit} newest of ${checkpoints}, any namespace`]: list({ configurable: { thread_id } }),
    [`getTuple: the latest, ${bytes(STEPS * 2_000)}`]: async ({ saver }) => {
      const { checkpoint } = await saver.getTuple(thread());
      strictEqual(checkpoint.channel_values.step, STEPS);
    },
  };
  const rows = [];
  for (const [label, read] of Object.entries(reads)) {
    progress(label);
    const operations = Object.fromEntries(names.map((name) => [name, () => read(opened[name])]));
    const figures = await compare(operations, { count: sized(20, 5) });
    rows.push(...rowsOf(label, { figures, modes }, pairs, TIMES));
  }
  return rows;
}
