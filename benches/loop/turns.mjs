// Measures the event loop of a step that appends one message to a conversation.
import { startServer } from "../../integration/postgres/server.mjs";
import { clock, inTurns, sized } from "../lib/measure.mjs";
import { inFolder } from "../lib/peers.mjs";
import { leaveOut, progress } from "../lib/report.mjs";
import { KINDS } from "./messages.mjs";
import { opens } from "./sides.mjs";

/** The measured steps of a thread: few, so that the number of messages stays about the same. */
const stepsOf = (length) => Math.max(2, Math.min(40, Math.floor(length / 5)));

/** The steps before them. A run has grown to its length, so its store has seen the conversation before. */
const WARM = 5;

/**
 * Measures steps of threads that have about `length` messages, for all sides in turns. Resolves to the wall time and
 * the event loop of a step, by side. `server` is for PostgresSaver.
 */
export function measure(names, { kind, length, server, rounds = sized(5, 1) }) {
  progress(`${length.toLocaleString("en")} messages, ${kind}`);
  const { make, copied } = KINDS[kind];
  const steps = stepsOf(length);
  const threads = length >= 500 ? 1 : Math.ceil(sized(40, 4) / steps);
  const turn = (name) => {
    return onTarget(name, server, async (target) => {
      const side = await opens[name](target);
      const running = [];
      for (let thread = 0; thread < threads; thread++) {
        const save = side.thread(`thread-${thread}`);
        const begin = Math.max(0, length - WARM - (steps >> 1));
        let messages = Array.from({ length: begin }, (_, at) => make(thread * 6_007 + at));
        const append = () => {
          messages = [...messages, make(thread * 6_007 + messages.length)];
          return copied ? structuredClone(messages) : messages;
        };
        for (let step = 0; step < WARM; step++) await save(append());
        running.push({ save, states: Array.from({ length: steps }, append) });
      }
      const figures = await clock(threads * steps, async () => {
        for (const { save, states } of running) for (const state of states) await save(state);
      });
      await side.close();
      return figures;
    });
  };
  return inTurns(names, turn, { rounds, warm: sized(true, false) });
}

let databases = 0;

/** Calls `work` with a new file, or with the URL of a new database of the server. */
function onTarget(name, server, work) {
  return name === "PostgresSaver" ? onDatabase(server, work) : inFolder((path) => work(path("loop.db")));
}

/** Calls `work` with the URL of a new database of the server. */
export async function onDatabase(server, work) {
  const database = `loop_${++databases}`;
  await server.query(`CREATE DATABASE ${database}`);
  try {
    return await work(server.url({ database, query: "?sslmode=disable" }));
  } finally {
    await server.query(`DROP DATABASE ${database} WITH (FORCE)`);
  }
}

/** Calls `work` with a Postgres server that syncs its commits, or with undefined if this machine has none. */
export async function onServer(work) {
  const server = await startServer({ version: "newest", sync: true });
  if (server === undefined) leaveOut("PostgresSaver", "there is no Postgres server on this machine");
  try {
    return await work(server);
  } finally {
    await server?.stop();
  }
}
