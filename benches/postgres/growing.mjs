// Measures a run that appends 2 KB at every step: the whole state is given to the saver at each step.
import { deepStrictEqual } from "node:assert/strict";
import { sized } from "../lib/measure.mjs";
import { bytes, progress } from "../lib/report.mjs";
import { prose } from "../lib/states.mjs";
import { onServer } from "./database.mjs";
import { inDatabases, rowsOf } from "./turns.mjs";

export const STEPS = sized(500, 50);

/** The states of the run. One channel changes at each step, which is the least that PostgresSaver can have to store. */
const messages = Array.from({ length: STEPS + 1 }, (_, index) => {
  return { role: index % 2 === 0 ? "user" : "assistant", content: prose(1_940, index + 1) };
});
const state = (step) => ({ topic: "storage", messages: messages.slice(0, step + 1) });

/** Saves the steps of the run, after the first one. */
export async function grow(save, steps = STEPS) {
  for (let step = 1; step <= steps; step++) await save(state(step), ["messages"]);
}

/** Saves the first state of a run, which also opens the connection. Returns the function that saves the next ones. */
export async function begin(side, thread) {
  const save = side.open(thread);
  await save(state(0), ["topic", "messages"]);
  return save;
}

/** Checks the newest states of a run. */
export function checkStates(states, steps = STEPS) {
  deepStrictEqual(
    states,
    states.map((_, at) => state(steps - at)),
  );
}

export function growing() {
  return onServer(async (databases) => {
    const rows = [];
    for (const delayMs of [0, 1]) {
      const label = { work: `${STEPS} steps, growing to ${bytes(STEPS * 2_000)}`, delayMs };
      progress(`${label.work}, ${delayMs} ms`);
      let save;
      const work = {
        count: STEPS,
        delayMs,
        prepare: async (side) => {
          save = await begin(side, "run");
        },
        run: () => grow(save),
        async check(side) {
          const states = await side.list("run", 2);
          deepStrictEqual(states.length, 2);
          checkStates(states);
          checkStates([await side.latest("run")]);
        },
      };
      const figures = await inDatabases(databases, work, { rounds: sized(3, 1), warm: false });
      const size = { stored: { goal: 50 }, values: null, log: null, sent: { goal: 100 }, roundTrips: { most: 1 } };
      const times = { wall: { goal: delayMs === 0 ? 5 : 2 }, loop: { detail: delayMs > 0 } };
      // The delay changes no size, so the sizes are printed once.
      rows.push(...rowsOf(label, databases.mode, figures, delayMs === 0 ? { ...size, ...times } : times));
    }
    return rows;
  });
}
