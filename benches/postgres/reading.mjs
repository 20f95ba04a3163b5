// Measures reads of a run of 1 MB: the latest state, by the process that has saved it and by a new process, and a list.
import { strictEqual } from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { clock, inTurns, sized } from "../lib/measure.mjs";
import { asDetails, bytes, progress } from "../lib/report.mjs";
import { onServer } from "./database.mjs";
import { begin, checkStates, grow, STEPS } from "./growing.mjs";
import { names, rowsOf } from "./turns.mjs";

const LISTED = sized(100, 10);
const reader = fileURLToPath(new URL("reader.mjs", import.meta.url));

/** The reads. Each resolves to its times. */
const reads = {
  [`the latest, ${bytes(STEPS * 2_000)}, saved by this process`]({ side }) {
    return timed(async () => [await side.latest("run")], 1, STEPS);
  },
  async [`the latest, ${bytes(STEPS * 2_000)}, in a new process`]({ name, url }) {
    const { stdout } = await promisify(execFile)(process.execPath, [reader, name, url]);
    const { times, length } = JSON.parse(stdout);
    strictEqual(length, STEPS + 1);
    return times;
  },
  [`a list of ${LISTED}, growing to ${bytes(LISTED * 2_000)}`]({ side }) {
    return timed(() => side.list("short run", LISTED), LISTED, LISTED);
  },
};

async function timed(read, length, steps) {
  let states;
  const times = await clock(1, async () => {
    states = await read();
  });
  strictEqual(states.length, length);
  checkStates(states, steps);
  return times;
}

export function reading() {
  return onServer(async (databases) => {
    progress(`${STEPS} steps to read`);
    return filled(databases, names, {}, (opened) => measure(databases, opened));
  });
}

/** Opens all sides at once, each with the same run in its database, and calls `work`. */
function filled(databases, [name, ...others], opened, work) {
  if (name === undefined) return work(opened);
  return databases.with(name, async (side, { url }) => {
    await grow(await begin(side, "run"));
    await grow(await begin(side, "short run"), LISTED);
    return filled(databases, others, { ...opened, [name]: { name, side, url } }, work);
  });
}

async function measure({ wire, mode }, opened) {
  const rows = [];
  for (const [work, read] of Object.entries(reads)) {
    for (const delayMs of [0, 1]) {
      progress(`${work}, ${delayMs} ms`);
      const turn = async (name) => {
        await wire.reset(delayMs);
        const times = await read(opened[name]);
        const { roundTrips, sent, received } = await wire.counted();
        await wire.reset(0);
        return { ...times, roundTrips, sent, received };
      };
      const figures = await inTurns(names, turn, { rounds: sized(3, 1), warm: sized(true, false) });
      const traffic = { received: {}, sent: null, roundTrips: {} };
      const kinds = { ...(delayMs === 0 && traffic), wall: {}, loop: {} };
      // The document has the reads without a delay, and what they receive.
      const isDetail = ({ what }) => delayMs > 0 || what === "sent";
      rows.push(...asDetails(rowsOf({ work, delayMs }, mode, figures, kinds), isDetail));
    }
  }
  return rows;
}
