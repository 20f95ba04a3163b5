// Measures 64 threads that save at once. Each thread awaits its own save before its next one.
import { deepStrictEqual } from "node:assert/strict";
import { sized } from "../lib/measure.mjs";
import { progress } from "../lib/report.mjs";
import { prose } from "../lib/states.mjs";
import { onServer } from "./database.mjs";
import { inDatabases, rowsOf } from "./turns.mjs";

const SAVERS = 64;
const SAVES = sized(20, 3);

/** States of 10 messages of 1 KB. `changes` is how many of the messages are new in each state of a thread. */
function states(changes) {
  let seed = 0;
  const message = () => ({ role: "assistant", content: prose(950, ++seed) });
  return Array.from({ length: SAVERS }, () => {
    let messages = Array.from({ length: 10 }, message);
    return Array.from({ length: SAVES + 1 }, (_, number) => {
      if (number > 0) messages = messages.map((old, at) => ((at + number * changes) % 10 < changes ? message() : old));
      return { topic: "storage", messages };
    });
  });
}

const kinds = { "all of it new": 10, "a tenth new": 1 };

export function savers() {
  return onServer(async (databases) => {
    const rows = [];
    for (const [kind, changes] of Object.entries(kinds)) {
      const threads = states(changes);
      for (const delayMs of [0, 1]) rows.push(...(await one(databases, kind, threads, delayMs)));
    }
    return rows;
  });
}

async function one(databases, kind, threads, delayMs) {
  const label = { work: `${SAVERS} savers, 10 KB, ${kind}`, delayMs };
  progress(`${label.work}, ${delayMs} ms`);
  let saves;
  const work = {
    count: SAVERS * SAVES,
    delayMs,
    // The first states are not counted. They also open the connections.
    async prepare(side) {
      saves = threads.map((_, at) => side.open(`thread-${at}`));
      await Promise.all(saves.map((save, at) => save(threads[at][0], ["topic", "messages"])));
    },
    run: () => Promise.all(saves.map((save, at) => saveAll(save, threads[at].slice(1)))),
    async check(side) {
      for (const [at, thread] of threads.entries()) deepStrictEqual(await side.latest(`thread-${at}`), thread.at(-1));
    },
  };
  const figures = await inDatabases(databases, work, { rounds: sized(3, 1), warm: sized(true, false) });
  const aim = (goal) => (kind === "a tenth new" ? { goal } : {});
  const size = {
    stored: aim(3),
    values: null,
    log: null,
    sent: { ...aim(3), detail },
    roundTrips: { most: 0.1, detail },
  };
  // The document has the sizes of states that share something, and with a delay only the saves.
  const detail = delayMs > 0 || kind !== "a tenth new";
  const times = { saves: aim(2), loop: { detail: delayMs > 0 } };
  return rowsOf(
    label,
    databases.mode,
    figures,
    delayMs === 0 ? { ...size, ...times } : { roundTrips: { most: 0.1, detail }, ...times },
  );
}

async function saveAll(save, states) {
  for (const state of states) await save(state, ["messages"]);
}
