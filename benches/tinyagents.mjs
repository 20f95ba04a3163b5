// Measures a graph under the three durability modes, beside a loop written by hand that stores each state as JSON.
// Run: `npm run bench -- tinyagents [--quick] [--write]`.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { Checkpointer, END, Graph } from "../dist/contracts/tinyagents/index.js";
import { clock, inTurns, quick, sized } from "./lib/measure.mjs";
import { betterSqlite, inFolder, mode, onDisk, settle } from "./lib/peers.mjs";
import { bytes, machine, print, progress, ratio, spread, table, time, write } from "./lib/report.mjs";
import { prose } from "./lib/states.mjs";

const STEPS = 50;
const WAIT_MS = 5;

const note = ({ step }) => ({ step: step + 1, note: prose(1_000, step + 1) });
const message = ({ step }) => ({
  step: step + 1,
  message: { role: "assistant", content: prose(1_950, step + 1) },
});

/** What the node does. A note keeps the size of the state. A message lets the state grow by 2 KB a superstep. */
const kinds = {
  "1 KB": { node: note, threads: sized(8, 2) },
  "up to 100 KB": { node: message, threads: sized(8, 2) },
  [`1 KB, the node waits ${WAIT_MS} ms`]: {
    node: async (state) => {
      await sleep(WAIT_MS);
      return note(state);
    },
    threads: sized(2, 1),
  },
};
const begin = () => ({ step: 0, note: "", messages: [] });
const done = ({ step }) => step >= STEPS;

function reducer(state, { message, ...rest }) {
  return { ...state, ...rest, messages: message === undefined ? state.messages : [...state.messages, message] };
}

/** A graph whose node runs once a superstep. */
function graph(durability) {
  return async (file, { node }) => {
    const checkpointer = new Checkpointer(file);
    const looping = new Graph({
      checkpointer,
      durability,
      nodes: { work: node },
      entry: "work",
      edges: [["work", (state) => (done(state) ? END : "work")]],
      reducer,
    });
    return {
      mode: "WAL, FULL",
      run: async (threadId) => (await looping.invoke(begin(), { threadId })).state,
      /** The states that are stored: with "exit" only the last one, otherwise one for each boundary. */
      stored: async (threadId) => (await checkpointer.list(threadId)).length,
      expected: durability === "exit" ? 1 : STEPS + 1,
      close: () => checkpointer.close(),
    };
  };
}

/** The same as a loop: calls the node, folds the update, and stores the state as a row of JSON. */
async function loop(file, { node }) {
  const schema = "CREATE TABLE state (thread TEXT, step INTEGER, body TEXT, PRIMARY KEY (thread, step)) WITHOUT ROWID";
  const db = await betterSqlite(file, { schema });
  const insert = db.prepare("INSERT INTO state VALUES (?, ?, ?)");
  const count = db.prepare("SELECT count(*) AS states FROM state WHERE thread = ?");
  return {
    mode: mode(db),
    run: async (threadId) => {
      let state = begin();
      insert.run(threadId, 0, JSON.stringify(state));
      while (!done(state)) {
        state = reducer(state, await node(state));
        insert.run(threadId, state.step, JSON.stringify(state));
      }
      return state;
    },
    stored: async (threadId) => count.get(threadId).states,
    expected: STEPS + 1,
    close: async () => db.close(),
  };
}

const sides = { sync: graph("sync"), async: graph("async"), exit: graph("exit"), "by hand": loop };
const modes = {};

/** Runs threads one after the other in a new file, and checks the final states and what is stored. */
function turn(name, kind, expected) {
  return inFolder(async (path) => {
    const file = path("tinyagents.db");
    const side = await sides[name](file, kind);
    modes[name] = side.mode;
    // The first thread opens the file and is not counted.
    await side.run("warm");
    const states = [];
    const { wall, loop: eventLoop } = await clock(kind.threads * STEPS, async () => {
      for (let thread = 0; thread < kind.threads; thread++) states.push(await side.run(`thread-${thread}`));
    });
    for (const state of states) assert.deepEqual(state, expected);
    for (const thread of states.keys()) assert.equal(await side.stored(`thread-${thread}`), side.expected);
    await side.close();
    settle(file);
    return { wall, loop: eventLoop, disk: onDisk(file) / (kind.threads + 1) };
  });
}

async function lastState({ node }) {
  let state = begin();
  while (!done(state)) state = reducer(state, await node(state));
  return state;
}

machine();
const rows = [];
for (const [size, kind] of Object.entries(kinds)) {
  progress(`states of ${size}`);
  const expected = await lastState(kind);
  const names = Object.keys(sides);
  const found = await inTurns(names, (name) => turn(name, kind, expected), { rounds: sized(5, 1), warm: !quick });
  const hand = found["by hand"];
  for (const name of names) {
    const { wall, loop: eventLoop, disk } = found[name];
    const beside = (...kinds) => {
      if (name === "by hand") return "";
      return kinds.map((figure) => `x${ratio(found[name][figure], hand[figure]).toPrecision(3)}`).join(", ");
    };
    rows.push([
      name === names[0] ? `**${size}**: "${name}"` : name === "by hand" ? name : `"${name}"`,
      `${spread(wall, time)}, loop ${time(eventLoop.median)}`,
      beside("wall", "loop"),
      spread(disk, bytes),
      beside("disk"),
    ]);
  }
}
print(`Forkpoint: ${modes.sync}. By hand, better-sqlite3: ${modes["by hand"]}. Threads of ${STEPS} supersteps:\n`);
table(["state, durability", "a superstep", "ratio", "a thread on disk", "ratio"], rows);
write("tinyagents");
