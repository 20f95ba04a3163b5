// What savers cost a conversation that LangGraph itself runs, with its pending writes: a step by the number of messages, whole runs,
// and an agent that calls tools. Each run is a process of its own, on a disk whose syncs take 67 us.
import { fileURLToPath } from "node:url";
import { inTurns, sized } from "../lib/measure.mjs";
import { inFolder } from "../lib/peers.mjs";
import { bytes, compared, figure, print, progress, spread, table, time } from "../lib/report.mjs";
import { onFixedDisk } from "../lib/sync.mjs";
import { onDatabase } from "./turns.mjs";

const program = fileURLToPath(new URL("graph.mjs", import.meta.url));
const SYNC = 67;
const ROUNDS = sized(3, 1);

const LENGTHS = sized([10, 30, 100, 300, 1_000, 5_000], [10, 100]);
/** The measured steps at a length, few enough that the number of messages stays about the same. */
const stepsOf = (length) => (length > 1_000 ? 20 : 50);

/** The sides: what `graph.mjs` calls it, and whether it stores on the server. */
const SIDES = {
  "ForkpointSaver, SQLite": { side: "ours" },
  "ForkpointSaver, Postgres": { side: "ours", onServer: true },
  SqliteSaver: { side: "SqliteSaver" },
  PostgresSaver: { side: "PostgresSaver", onServer: true },
  MemorySaver: { side: "MemorySaver" },
  none: { side: "none" },
};

/** Resolves to the event loop of a step by the number of messages, for the picture. */
export function graphs(server) {
  return onFixedDisk(async (run) => {
    const names = Object.keys(SIDES).filter((name) => server !== undefined || !SIDES[name].onServer);
    /** Measures work of these sides, in turns. What the graph takes alone is no part of `added`. */
    const measured = async (sides, ...args) => {
      progress(args.join(" "));
      const turn = (name) => {
        const { side, onServer } = SIDES[name];
        const start = (target) => run(SYNC, program, { args: [side, target, ...args.map(String)] });
        return onServer ? onDatabase(server, start) : inFolder((path) => start(path("graph.db")));
      };
      const found = await inTurns([...sides, "none"], turn, { rounds: ROUNDS, warm: false });
      const alone = found.none.loop.median;
      const less = ({ median, least, most }) => ({ median: median - alone, least: least - alone, most: most - alone });
      return Object.fromEntries(sides.map((name) => [name, { ...found[name], added: less(found[name].loop) }]));
    };
    const among = (...wanted) => names.filter((name) => wanted.includes(name));
    const lines = await steps(
      measured,
      names.filter((name) => name !== "none"),
    );
    await runs(measured, among);
    return lines;
  });
}

async function steps(measured, names) {
  const [rows, lines] = [[], Object.fromEntries(names.map((name) => [name, []]))];
  for (const length of LENGTHS) {
    const count = stepsOf(length);
    const found = await measured(names, "chat", count, length, "sync");
    for (const name of names) lines[name].push([length, Math.max(1, found[name].added.median)]);
    const [ours] = names;
    rows.push(
      [length.toLocaleString("en"), spread(found[ours].put, time)].concat(
        names.map((name) => time(found[name].added.median)),
      ),
    );
  }
  print('The event loop that a saver adds to a step of `graph.invoke`, with `durability: "sync"`:\n');
  table(["messages", "`put` of the first", ...names], rows);
  print();
  return lines;
}

async function runs(measured, among) {
  const rows = [];
  const add = async (label, pair, args, detail = false) => {
    if (pair.length < 2) return;
    const found = await measured(pair, ...args);
    const [ours, theirs] = pair;
    const row = (what, key, unit, rest) => {
      const beside = { mode: SIDES[ours].onServer ? "Postgres" : "SQLite", peer: theirs };
      rows.push({
        work: label,
        what,
        ...beside,
        ours: found[ours][key],
        theirs: found[theirs][key],
        unit,
        detail,
        ...rest,
      });
    };
    row("wall time", "wall", time);
    row("event loop", "added", time);
    row("longest time without a turn", "gap", time, { detail: true });
    if (SIDES[ours].onServer) return;
    row("bytes on disk, of the run", "size", bytes);
    row("syncs", "syncs", figure, { hasRatio: false, detail: true });
  };
  const sqlite = among("ForkpointSaver, SQLite", "SqliteSaver");
  const chat = (pair, count, durability, detail) => {
    const label = `a step of ${count.toLocaleString("en")} that append 2 KB, "${durability}"`;
    return add(label, pair, ["chat", count, 1, durability], detail);
  };
  // The document has the longest run, and the durability that differs most.
  await chat(sqlite, sized(500, 50), "sync", true);
  await chat(sqlite, sized(1_000, 50), "sync");
  await chat(sqlite, sized(500, 50), "async", true);
  await chat(sqlite, sized(500, 50), "exit");
  const postgres = among("ForkpointSaver, Postgres", "PostgresSaver");
  await chat(postgres, sized(300, 30), "sync");
  const turns = sized(200, 20);
  await add(`createAgent: a turn of ${turns} with two tool calls, "sync"`, sqlite, ["agent", turns, 0, "sync"]);
  print("Whole runs, by the step. `loop` is the saver's part:\n");
  compared(rows);
  print();
}
