// Measures the everyday calls of a contract's store beside the stores of its framework: many short runs on SQLite. The
// files in contracts/ say what is particular to a contract:
//
// - `module` and `className`: where our store is in the package
// - `peers`: functions that open a store of the framework, by a path. Each resolves to `{ store, mode, close }`, and to
//   `inMemory: true` if it has no file. `mode` is its name in the table
// - `save(store, { run, number, step, messages })`: saves a checkpoint of a run. The first step is 1, and takes
//   `firstWrites` calls of the store (default: 1)
// - `calls`, by kind: `work` is the name of the row, and `call(store, run)` or `call(store, limit)` resolves to a list. With
//   `alone`, only our store has the call
// - `steps(store, messages)`: resolves to `{ run, stored }`. `run(id)` runs steps that each add a message to the first one,
//   and resolves to a result with the `messages` of the last state. `stored(result)` resolves to the `messages` of the
//   last stored state, and to the number of checkpoints that are `missing`
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { clock, inTurns, sized, summary } from "../lib/measure.mjs";
import { inFolder, onDisk, settle } from "../lib/peers.mjs";
import { prose } from "../lib/states.mjs";
import { fill, filled, LENGTH, messagesOf, NEWEST } from "./filling.mjs";
import { measureCalls, modesOf, row } from "./measuring.mjs";

const RUNS = sized(20_000, 300);
const CHECKPOINTS = (RUNS * LENGTH).toLocaleString("en");
const WRITERS = 64;
/** A short run: its steps, the bytes of a message, and the runs of a turn, one after the other. */
const STEPS = 20;
const MESSAGE = 300;
const SHORT_RUNS = sized(10, 1);

const runId = (number) => `run-${number}`;
/** The newer half of the runs is read. The older half is for removal. */
const readRun = (number) => runId(RUNS - 1 - ((number * 7) % (RUNS / 2)));

const reading = { count: sized(200, 3), argument: readRun, length: LENGTH };
/**
 * The kinds of calls in their order. `length` is that of the result. `most` is the goal beside a store in memory, and that
 * of a call that only our store has: what the same call of LangGraph's saver has as its goal. Beside a file, the goal is not
 * to be slower.
 */
const kinds = {
  latest: { ...reading, most: 80 },
  load: { ...reading, most: 80, detail: true },
  list: { ...reading, most: 230, detail: true },
  newest: { ...reading, argument: () => NEWEST, length: NEWEST, most: 5_000 },
  runs: { ...reading, argument: () => NEWEST, length: NEWEST, most: 5_000 },
  all: { ...reading, argument: () => {}, length: RUNS },
  remove: { count: sized(100, 5), most: 300 },
};
const WRITING = { count: sized(1_280, 128), concurrency: WRITERS, what: "runs a second", unit: "rate" };
/** The most microseconds of a write of many writers. */
const WRITE = 1e6 / 22_000;
/** The most bytes of a run. */
const BYTES = 1_000;

export async function measureStores(contract) {
  const sides = { ours: oursOf(contract), ...contract.peers };
  return [...(await manyRuns(contract, sides)), ...(await shortRuns(contract, sides))];
}

const oursOf =
  ({ module, className }) =>
  async (path, options) => {
    const { [className]: Store } = await import(`../../dist/contracts/${module}/index.js`);
    const store = new Store(path, options);
    return { store, mode: "WAL, FULL", close: () => store.close() };
  };

/** Calls `work({ open, bytes })` with a new place for a side. A store in memory stays the same when it is opened again. */
const inPlaceOf = (sides) => (name, work) =>
  inFolder((path) => {
    const place = path(name);
    let kept;
    const open = async (options) => {
      const side = kept ?? (await sides[name](place, options));
      if (side.inMemory) kept = side;
      return { ...side, mode: () => side.mode };
    };
    return work({ open, bytes: () => (kept === undefined ? bytesOf(place) : undefined) });
  });

/** The bytes of a file, or of all files in a folder. */
function bytesOf(place) {
  if (!statSync(place).isDirectory()) {
    settle(place);
    return onDisk(place);
  }
  return readdirSync(place).reduce((sum, file) => sum + statSync(join(place, file)).size, 0);
}

function manyRuns(contract, sides) {
  const { calls, save, firstWrites = 1 } = contract;
  const database = { inPlace: inPlaceOf(sides) };
  const saveAt = (store, run, number, step) =>
    save(store, { run, number, step, messages: messagesOf(number).slice(0, step) });
  const fillOne = ({ store }) =>
    fill(RUNS, async (number) => {
      for (let step = 1; step <= LENGTH; step++) await saveAt(store, runId(number), number, step);
    });
  const saveNew = async (side) => {
    side.saved ??= 0;
    const number = side.saved++;
    await saveAt(side.store, `new-${number}`, number, 1);
  };
  const latest = (side, run) => calls.latest.call(side.store, run);
  return filled(database, Object.keys(sides), fillOne, async (opened) => {
    for (const side of Object.values(opened)) {
      deepStrictEqual(await latest(side, runId(RUNS - 1)), messagesOf(RUNS - 1));
      strictEqual((await latest(side, "nobody")).length, 0);
    }
    const rows = [];
    for (const [kind, options] of Object.entries(kinds)) {
      if (calls[kind] === undefined) continue;
      const call = kind === "remove" ? removes(calls[kind]) : reads(calls[kind], options);
      const chosen = calls[kind].alone ? { ours: opened.ours } : opened;
      rows.push(...(await measureCall(chosen, calls[kind].work, call, options)));
    }
    const work = `${WRITERS} writers of new runs`;
    rows.push(...(await measureCall(opened, work, saveNew, { ...WRITING, most: firstWrites * WRITE })));
    for (const side of Object.values(opened)) {
      strictEqual((await latest(side, runId(side.removed - 1))).length, 0);
      deepStrictEqual(await latest(side, runId(side.removed)), messagesOf(side.removed));
      deepStrictEqual(await latest(side, `new-${side.saved - 1}`), messagesOf(side.saved - 1).slice(0, 1));
    }
    return [...rows, ...bytesRows(opened)];
  });
}

/** A call that finds a list of the right length. */
const reads =
  ({ call }, { argument, length }) =>
  async (side, number) =>
    strictEqual((await call(side.store, argument(number))).length, length);

/** Removes the oldest run. A side keeps the number of the runs that it has removed. */
const removes =
  ({ call }) =>
  async (side) => {
    side.removed ??= 0;
    ok(side.removed < RUNS / 2);
    await call(side.store, runId(side.removed++));
  };

async function measureCall(opened, work, call, { count, concurrency, what = "", unit, most, detail }) {
  const operations = Object.fromEntries(
    Object.entries(opened).map(([name, side]) => [name, (number) => call(side, number)]),
  );
  const figures = await measureCalls(operations, { count, concurrency });
  return rowsOf(work, what, { figures, opened }, "wall", { unit, most, detail });
}

/** A row beside each peer that has the figure. Without a peer, a row of our figure alone. */
function rowsOf(work, what, { figures, opened }, figure, { unit = "time", most, goals = true, detail }) {
  const modes = modesOf(opened);
  const peers = Object.keys(opened).filter((name) => name !== "ours" && figures[name]?.[figure] !== undefined);
  const alone = { work, what, mode: modes.ours, ours: figures.ours[figure], unit, most, detail };
  if (peers.length === 0) return [alone];
  return peers.map((peer) => {
    const goal = opened[peer].inMemory ? { most } : { goal: 1 };
    return row(work, what, { figures, modes }, figure, { peer, unit, detail, ...(goals && goal) });
  });
}

/** What the runs took before anything was removed or written. */
function bytesRows(opened) {
  const stored = Object.entries(opened).filter(([, { size }]) => size !== undefined);
  const figures = Object.fromEntries(stored.map(([name, { size }]) => [name, { size: summary([size]) }]));
  return rowsOf(`${CHECKPOINTS} checkpoints`, "bytes", { figures, opened }, "size", {
    unit: "bytes",
    most: RUNS * BYTES,
  });
}

async function shortRuns({ steps }, sides) {
  const inPlace = inPlaceOf(sides);
  const messages = Array.from({ length: STEPS + 1 }, (_, at) => {
    return { role: at % 2 === 0 ? "user" : "assistant", content: prose(MESSAGE - 40, at + 1) };
  });
  const opened = {};
  const turn = (name) =>
    inPlace(name, async ({ open }) => {
      const side = await open();
      const { run, stored } = await steps(side.store, messages);
      // The first run opens the file and is not counted.
      await run("first");
      const results = [];
      const figures = await clock(SHORT_RUNS * STEPS, async () => {
        for (let number = 0; number < SHORT_RUNS; number++) results.push(await run(runId(number)));
      });
      for (const result of results) {
        deepStrictEqual(result.messages, messages);
        deepStrictEqual(await stored(result), { messages, missing: 0 });
      }
      opened[name] = side;
      await side.close();
      return figures;
    });
  const figures = await inTurns(Object.keys(sides), turn, { rounds: sized(5, 1), warm: sized(true, false) });
  const work = `a step of ${STEPS} with ${MESSAGE} bytes`;
  return [
    ...rowsOf(work, "wall time", { figures, opened }, "wall", {}),
    ...rowsOf(work, "event loop", { figures, opened }, "loop", { goals: false }),
  ];
}
