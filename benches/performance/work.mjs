// The checkpoints that savers save. Each kind of work is a function that makes a saver's next checkpoint. Call it once
// for each side, so that every side gets its own runs.
import { sized } from "../lib/measure.mjs";
import { checkpoint, twoByteProse } from "../lib/states.mjs";

export const SAVERS = 64;

/** Checkpoints with nothing in common. They are saved again under new ids. Each saver has its own run. */
const made = (count, options) => Array.from({ length: count }, (_, at) => checkpoint(at, { runs: SAVERS, ...options }));
const fresh = made(sized(1280, 128));
const messages = fresh.flatMap(({ state }) => state.scratch.messages);
let saves = 0;

/** The checkpoint under a new id, and with these messages. */
function saved(one, list = one.state.scratch.messages) {
  const index = saves++;
  const state = { ...one.state, scratch: { messages: list, step: index } };
  return { ...one, id: `save-${index}`, timestamp: 1_700_000_000_000 + index, state };
}

function cycle(some) {
  let index = 0;
  return () => saved(some[index++ % some.length]);
}

/** Nothing of a state was in the state before. */
export const allNew = () => cycle(fresh);

/** The same with states of 1 MB, in four runs. */
export const largeNew = () => cycle(made(20, { size: 1_000_000, runs: 4 }));

/** The same in text that V8 holds with two bytes a character: 5,000 characters. */
export const twoByte = () => cycle(made(sized(640, 128), { size: 5_000, write: twoByteProse }));

/** A step changes one message of ten, each time another one. */
export function tenthNew() {
  let index = 0;
  return () => {
    const at = index++;
    const one = fresh[at % SAVERS];
    return saved(one, one.state.scratch.messages.with(at % 10, messages[(at * 70) % messages.length]));
  };
}

/** A step drops the first of ten messages and appends one. `savers` runs take turns. */
export function sliding(savers = SAVERS) {
  const windows = fresh.slice(0, savers).map(({ state }) => state.scratch.messages);
  let index = 0;
  return () => {
    const at = index++;
    const run = at % savers;
    windows[run] = [...windows[run].slice(1), messages[(at * 7 + 10 * savers) % messages.length]];
    return saved(fresh[run], windows[run]);
  };
}
