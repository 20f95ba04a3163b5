// Measures a run that grows to 2 MB: its bytes on the disk, its wall time and its event-loop time. The same program puts
// the states into ForkpointSaver and into SqliteSaver. AgentOS' store saves the same states beside them.
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { serialize } from "node:v8";
import { deflateRawSync } from "node:zlib";
import { CheckpointStore } from "../../dist/index.js";
import { clock, inTurns, sized, summary } from "../lib/measure.mjs";
import { inFolder, onDisk, settle } from "../lib/peers.mjs";
import { growingPuts } from "../lib/puts.mjs";
import { asDetails, bytes, progress, time } from "../lib/report.mjs";
import { growingRun } from "../lib/states.mjs";
import { onFixedDisk, SYNCS } from "../lib/sync.mjs";
import { measureSynced } from "./synced.mjs";

const STEPS = sized(1000, 100);

/** The sides: each opens a file. `save` saves the next checkpoint of the run. */
export async function growingSides() {
  const { uuid6 } = await import("../langgraph/packages.mjs");
  const { sides } = await import("../langgraph/sides.mjs");
  const saver = (name) => (file) => {
    const side = sides[name](file);
    return { ...side, save: growingPuts(side.saver, uuid6) };
  };
  return { ours: saver("ours"), theirs: saver("theirs"), agentos };
}

function agentos(file) {
  const store = new CheckpointStore(file);
  return { save: (checkpoint) => store.save(checkpoint), mode: () => "WAL, FULL", close: () => store.close() };
}

/** No store, but what a step adds: the new message and the counters, serialised, appended and synced. */
function added(file) {
  const descriptor = openSync(file, "a");
  return {
    save({ state: { scratch, diagnostics } }) {
      const { messages, ...counters } = scratch;
      writeSync(descriptor, serialize([messages.at(-1), counters, diagnostics]));
      fdatasyncSync(descriptor);
    },
    mode: () => "",
    close: () => closeSync(descriptor),
  };
}

/** Measures the run on this process's disk. `meter` is that of `clock`. */
export async function measureGrowing(meter) {
  const sides = { ...(await growingSides()), added };
  const modes = {};
  const turn = (name) => {
    return inFolder(async (path) => {
      const file = path("growing.db");
      const { save, mode, close } = sides[name](file);
      const run = growingRun();
      const work = async () => {
        for (let step = 0; step < STEPS; step++) await save(run.step());
      };
      const times = await clock(1, work, { meter });
      modes[name] = mode();
      await close();
      settle(file);
      return { ...times, size: onDisk(file) };
    });
  };
  return { figures: await inTurns(Object.keys(sides), turn, { rounds: sized(3, 1), warm: false }), modes };
}

export async function growing() {
  const [us] = SYNCS;
  progress(`a run of ${STEPS} steps, on this disk`);
  const rows = rowsOf(await measureGrowing());
  const synced = await onFixedDisk(async (run) => {
    progress(`a run of ${STEPS} steps, with a sync of ${us} us`);
    const measured = await measureSynced(run, us, "growing");
    if (!(measured.figures.ours.syncs.least > 0)) throw new Error("no sync was counted in the growing run");
    return rowsOf(measured, us);
  });
  // The document has the rows with a fixed sync.
  return [...synced, ...asDetails(rows, () => synced.length > 0)];
}

/** With `us`, the length of a sync, the rows have goals: a disk's hour would decide them otherwise. */
function rowsOf({ figures, modes }, us) {
  const { ours, agentos, theirs } = figures;
  const steps = `${STEPS.toLocaleString("en")} steps growing to ${bytes(STEPS * 2000)}`;
  const sync = us === undefined ? "" : `, a sync of ${us} us`;
  const rows = (variant, mode, side, goals) => {
    const both = { work: `${steps}${sync}`, variant, mode, peer: modes.theirs };
    return [
      { ...both, what: "bytes on disk", ours: side.size, theirs: theirs.size, unit: bytes, ...goals.size },
      { ...both, what: "wall time", ours: side.wall, theirs: theirs.wall, unit: time, ...goals.wall },
      { ...both, what: "event loop", ours: side.loop, theirs: theirs.loop, unit: time, ...goals.loop },
    ];
  };
  const bound = (figure) => ({ what: "v8.serialize of what is new, append, sync", figure: figures.added[figure] });
  const goals = {
    size: { number: 4, goal: 250, bound: { what: "the last state alone, deflated", figure: summary([deflated()]) } },
    wall: { number: 4, goal: 5, bound: bound("wall") },
    loop: { number: 4, goal: 8, bound: bound("loop") },
  };
  return [
    ...rows("ForkpointSaver.put", modes.ours, ours, us === undefined ? {} : goals),
    ...asDetails(rows("AgentOS' store", modes.agentos, agentos, {})),
  ];
}

/** The bytes of the last state, which has all messages, as zlib packs them best. */
function deflated() {
  const run = growingRun();
  for (let step = 1; step < STEPS; step++) run.step();
  return deflateRawSync(serialize(run.step().state), { level: 9 }).length;
}
