// Measures small saves while another run keeps saving 2 MB of new data.
import { clock, inTurns, sized } from "../lib/measure.mjs";
import { inFolder } from "../lib/peers.mjs";
import { progress, time } from "../lib/report.mjs";
import { checkpoint } from "../lib/states.mjs";
import { withSides } from "./sides.mjs";

const SAVERS = 8;
/** The interval between the saves of one saver, in ms. */
const EVERY = 20;
/** The length of a turn, in ms. */
const TURN = sized(3000, 500);

const large = Array.from({ length: 8 }, (_, index) => ({ ...checkpoint(index, { size: 2_000_000 }), runId: "large" }));
const small = Array.from({ length: 400 }, (_, index) => checkpoint(index, { size: 2_000, runs: SAVERS }));
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const turn = () => new Promise((resolve) => setImmediate(resolve));

let saves = 0;
const next = (from) => {
  const index = saves++;
  return { ...from[index % from.length], id: `save-${index}`, timestamp: 1_700_000_000_000 + index };
};

export function beside() {
  progress("small saves beside a large one");
  return inFolder((path) => {
    return withSides(path, ["ours", "same"], async (opened) => {
      const figures = await inTurns(Object.keys(opened), (name) => latencies(opened[name].save), {
        rounds: sized(5, 1),
      });
      const row = (what, figure) => ({
        work: `${SAVERS} savers of 2 KB beside one of 2 MB`,
        what,
        mode: opened.ours.label,
        peer: opened.same.label,
        ours: figures.ours[figure],
        theirs: figures.same[figure],
        unit: time,
      });
      return [
        row("a small save, median", "median"),
        row("a small save, 99 of 100", "most"),
        row("a large save", "large"),
      ];
    });
  });
}

/** Measures each small save from its due time to its end, and the length of each large save, in microseconds. */
async function latencies(save) {
  const [took, tookLarge] = [[], []];
  await clock(1, async () => {
    const start = performance.now();
    const end = start + TURN;
    const saver = async (_, number) => {
      for (let due = start + (number * EVERY) / SAVERS; due < end;) {
        await wait(Math.max(0, due - performance.now()));
        await save({ ...next(small), runId: `run-${number}` });
        took.push((performance.now() - due) * 1000);
        // A saver that is late skips the saves that it has missed.
        due = Math.max(due + EVERY, performance.now());
      }
    };
    const heavy = async () => {
      while (performance.now() < end) {
        const began = performance.now();
        await save(next(large));
        tookLarge.push((performance.now() - began) * 1000);
        await turn();
      }
    };
    await Promise.all([heavy(), ...Array.from({ length: SAVERS }, saver)]);
  });
  return { median: quantile(took, 0.5), most: quantile(took, 0.99), large: quantile(tookLarge, 0.5) };
}

function quantile(values, part) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)];
}
