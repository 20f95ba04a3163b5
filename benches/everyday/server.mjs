// Measures what only a server has: the round trips of a call, and a page over a slow connection.
import { strictEqual } from "node:assert/strict";
import { uuid6 } from "../langgraph/packages.mjs";
import { inTurns, sized } from "../lib/measure.mjs";
import { place, putsTo } from "../lib/puts.mjs";
import { filled, messagesOf, threadId, userOf } from "./filling.mjs";
import { measureCalls, modesOf, row } from "./measuring.mjs";
import { putThread, putThreads } from "./put-threads.mjs";

const THREADS = sized(400, 100);
const PAGE = 100;
const LONG = "long";
const SLOW_MS = 20;
const names = ["ours", "theirs"];

async function listed(saver, config, options, length) {
  let found = 0;
  for await (const _ of saver.list(config, options)) found += 1;
  strictEqual(found, length);
}

/** The calls whose round trips are counted. Each gets the number of the round. */
const calls = {
  "list, newest 20 of a thread": ({ saver }) => listed(saver, place(LONG), { limit: 20 }, 20),
  "list with a filter, newest of all threads": ({ saver }, round) =>
    listed(saver, { configurable: {} }, { limit: 1, filter: { user: userOf(round) } }, 1),
  "getTuple, the latest of a thread": ({ saver }, round) => saver.getTuple(place(threadId(round))),
  put: ({ saver }, round) => putsTo(saver, uuid6, `new-${round}`)({ messages: messagesOf(round) }, ["messages"]),
  putWrites: ({ saver, config }, round) => saver.putWrites(config, [["messages", { round }]], `task-${round}`),
  deleteThread: ({ saver }, round) => saver.deleteThread(threadId(THREADS - 1 - round)),
};

async function fillOne({ saver }) {
  await putThreads(saver, THREADS);
  await putThread(saver, LONG, THREADS, PAGE);
}

export function measure(database) {
  return filled(database, names, fillOne, async (opened) => {
    for (const name of names) opened[name].config = (await opened[name].saver.getTuple(place(LONG))).config;
    const modes = modesOf(opened);
    const rows = [];
    await database.setDelay(0);
    for (const [work, call] of Object.entries(calls)) {
      const figures = await roundTrips(database, opened, call);
      // The document has the calls that take the peer more than one.
      const detail = figures.theirs.roundTrips.median === 1;
      rows.push(row("round trips", work, { figures, modes }, "roundTrips", { unit: "figure", most: 1, detail }));
    }
    await database.setDelay(SLOW_MS);
    const page = (name) => () => listed(opened[name].saver, place(LONG), { limit: PAGE }, PAGE);
    const operations = Object.fromEntries(names.map((name) => [name, page(name)]));
    const figures = await measureCalls(operations, { count: sized(5, 1) });
    const goal = { variant: database.variant, most: 100_000 };
    rows.push(row(`list, a page of ${PAGE}`, "", { figures, modes }, "wall", goal));
    return rows;
  });
}

/** Counts the round trips of single calls. The first round is not counted: it opens connections and prepares statements. */
function roundTrips(database, opened, call) {
  const rounds = Object.fromEntries(names.map((name) => [name, 0]));
  const turn = async (name) => {
    await database.setDelay(0);
    await call(opened[name], rounds[name]++);
    return { roundTrips: (await database.counted()).roundTrips };
  };
  return inTurns(names, turn, { rounds: sized(5, 2) });
}
