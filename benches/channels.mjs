// Measures what the channels of `node:diagnostics_channel` cost a save that nobody watches. Run:
// `npm run bench -- channels [--quick]`.
//
// The same store saves in turns with the check for subscribers, without it, and once more with it. The ratio of the two
// equal sides shows how exact the measurement is.
import { createRequire } from "node:module";
import { CheckpointStore } from "../dist/index.js";
import { clock, sized } from "./lib/measure.mjs";
import { inFolder } from "./lib/peers.mjs";
import { figure, machine, print, progress, table } from "./lib/report.mjs";
import { checkpoint } from "./lib/states.mjs";

const require = createRequire(import.meta.url);
const { Contract, parse } = require("../dist/inner/bridge/wire.js");
const { isWatched } = require("../dist/inner/bridge/channels.js");

const { call: checked } = Contract.prototype;
function unchecked(store, call, fields, buffers = []) {
  return this.send(store, call, fields, buffers, parse);
}
/** The sides. Each of them replaces the method, so that V8 treats all of them alike. */
const sides = { check: checked, none: unchecked, again: checked };
const names = Object.keys(sides);

/** Saves with all sides in turns, in `rounds` short rounds. Returns the samples of each side. */
async function measure(store, { size, count, rounds }) {
  const fresh = Array.from({ length: 200 }, (_, index) => checkpoint(index, { size }));
  let saves = 0;
  const save = async (times) => {
    for (let i = 0; i < times; i++) {
      const index = saves++ % 4_000;
      await store.save({ ...fresh[index % 200], id: `save-${index}` });
    }
  };
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  const warm = Math.ceil(rounds / 10);
  for (let round = -warm; round < rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      // Each side is the first one in a third of the rounds.
      const name = names[(turn + round + warm) % names.length];
      Contract.prototype.call = sides[name];
      await save(Math.ceil(count / 4));
      const sample = await clock(count, () => save(count), { collect: false });
      if (round >= 0) samples[name].push(sample);
    }
  }
  Contract.prototype.call = checked;
  return samples;
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** The nanoseconds of the check alone, in the fastest of five rounds. */
function checkAlone() {
  const count = sized(50_000_000, 5_000_000);
  const rounds = Array.from({ length: 5 }, () => {
    let watched = 0;
    const start = performance.now();
    for (let i = 0; i < count; i++) if (isWatched("save")) watched += 1;
    if (watched > 0) throw new Error("somebody watches");
    return ((performance.now() - start) * 1e6) / count;
  });
  return Math.min(...rounds);
}

/** Returns a row for each figure: medians, and the medians of the ratios of two sides in the same round. */
async function rowsOf(what, store, options, figures) {
  progress(what);
  const samples = await measure(store, options);
  await store.close();
  return figures.map((measured) => {
    const of = (name) => samples[name].map((sample) => sample[measured]);
    const ratio = (above, below) => median(of(above).map((value, round) => value / of(below)[round])).toFixed(4);
    const title = `${what}, ${measured === "wall" ? "time" : "event loop"}`;
    return [
      title,
      figure(median(of("none"))),
      figure(median(of("check"))),
      ratio("check", "none"),
      ratio("again", "check"),
    ];
  });
}

const rows = [
  // The fastest save that there is: the check weighs most.
  ...(await rowsOf(
    "memory:, 500 bytes",
    new CheckpointStore("memory:"),
    { size: 500, count: 400, rounds: sized(600, 60) },
    ["wall"],
  )),
  ...(await inFolder((path) =>
    rowsOf(
      "SQLite, 10 KB",
      new CheckpointStore(path("agent.db")),
      { size: 10_000, count: 40, rounds: sized(400, 40) },
      ["wall", "loop"],
    ),
  )),
];
machine();
table(["a save that nobody watches", "no check, us", "check, us", "check / no check", "two equal sides"], rows);
print(`\nRatios are medians of the ratios of single rounds. The check alone: ${figure(checkAlone())} ns.`);
