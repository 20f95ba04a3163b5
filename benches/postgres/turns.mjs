// Runs one turn of a side in a new database, and counts what it costs.
import { delayed } from "../lib/figures.mjs";
import { clock, inTurns } from "../lib/measure.mjs";
import { bytes, figure, rate, time } from "../lib/report.mjs";
import { names as peers } from "./database.mjs";

export const names = ["ours", "theirs", "plain"];

/** What is counted, with its name in the table and its unit. */
const FIGURES = {
  stored: ["stored", bytes],
  values: ["stored, values alone", bytes],
  log: ["write-ahead log", bytes],
  sent: ["sent", bytes],
  received: ["received", bytes],
  roundTrips: ["round trips", figure],
  wall: ["wall time", time],
  saves: ["saves a second", rate],
  loop: ["event loop", time],
};

/** The figures that are not in the document. */
const DETAILS = new Set(["values", "log"]);

/**
 * `prepare(side)` comes before the clock starts, and `run(side)` does `count` saves. `check(side)` comes afterwards.
 * Resolves to the figures of a save, by side.
 */
export function inDatabases(databases, { prepare, run, check, count, delayMs }, options) {
  const { wire } = databases;
  const turn = (name) => {
    return databases.with(name, async (side, { database }) => {
      await prepare(side);
      await databases.settle();
      const before = await databases.sizes(database);
      await wire.reset(delayMs);
      const times = await clock(count, () => run(side));
      const { roundTrips, sent, received } = await wire.counted();
      await wire.reset(0);
      const after = await databases.sizes(database);
      await check(side);
      const grown = Object.entries(after).map(([kind, size]) => [kind, (size - before[kind]) / count]);
      const counted = { roundTrips: roundTrips / count, sent: sent / count, received: received / count };
      return { ...Object.fromEntries(grown), ...counted, ...times, saves: times.wall };
    });
  };
  return inTurns(names, turn, options);
}

/**
 * The rows of the table for the figures that `kinds` names. `kinds` maps a figure to the goal beside PostgresSaver, for
 * example `{ goal: 50 }`, or to `null`: the figure is not printed beside the plain INSERT. `delayMs` is added to each round
 * trip.
 */
export function rowsOf({ work, delayMs }, mode, figures, kinds) {
  const row = (kind, other, aim) => {
    const [what, unit] = FIGURES[kind];
    return {
      work,
      variant: delayed(delayMs),
      what: kind === "loop" && "saves" in kinds ? `${what} a save` : what,
      mode,
      peer: peers[other],
      ours: figures.ours[kind],
      theirs: figures[other][kind],
      unit,
      detail: DETAILS.has(kind),
      ...aim,
    };
  };
  const all = Object.entries(kinds);
  const plain = all.filter(([, aim]) => aim !== null);
  return [...all.map(([kind, aim]) => row(kind, "theirs", aim)), ...plain.map(([kind]) => row(kind, "plain"))];
}
