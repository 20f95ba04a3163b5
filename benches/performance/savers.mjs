// Measures many savers at once and one saver alone, on the disk of this machine. Compares them with direct SQLite calls,
// with the bare disk, and with no disk. synced.mjs has the same rows on a disk with a fixed sync.
import { open } from "node:fs/promises";
import { CheckpointStore } from "../../dist/index.js";
import { compare, sized } from "../lib/measure.mjs";
import { inFolder } from "../lib/peers.mjs";
import { progress, rate, time } from "../lib/report.mjs";
import { checkAnswers, withSides } from "./sides.mjs";
import { allNew, SAVERS, sliding, tenthNew, twoByte } from "./work.mjs";

/** The tables sync each save, so they get fewer of them: a slow disk would otherwise take minutes. */
const many = {
  count: { ours: sized(2560, 640), lookup: sized(640, 64), same: sized(640, 64) },
  concurrency: SAVERS,
};

/** The work of 64 savers. The document has the details with a fixed sync. */
const KINDS = {
  "10 KB, all of it new": { work: allNew, detail: true },
  "10 KB, first message dropped, one appended": { work: sliding, detail: true },
  "10 KB, a tenth new": { work: tenthNew },
  "5,000 characters of two bytes, all of it new": { work: twoByte, detail: true },
};

export function savers() {
  return inFolder((path) => {
    return withSides(path, ["ours", "lookup", "same", "log"], async (opened) => {
      const rows = [];
      for (const [kind, { work, detail }] of Object.entries(KINDS)) {
        progress(`${SAVERS} savers, ${kind}`);
        const result = await compare(saves(opened, ["ours", "lookup", "same"], work), many);
        for (const peer of ["lookup", "same"]) {
          const row = rowOf(`${SAVERS} savers, ${kind}`, opened[peer].label, result.ours, result[peer]);
          const rest = { detail: detail || peer === "same" };
          rows.push(row("saves a second", "wall", rest), row("event loop a save", "loop", rest));
        }
      }
      rows.push(...(await alone(opened)), ...(await disk(opened, path)));
      await checkAnswers(opened, Array.from({ length: 4 }, allNew()));
      return rows;
    });
  });
}

/** Functions that save the next checkpoint, by side. */
export function saves(opened, names, work) {
  const save = (name) => {
    const next = work();
    return () => opened[name].save(next());
  };
  return Object.fromEntries(names.map((name) => [name, save(name)]));
}

/** One saver, beside the two tables, a log, and no disk. */
async function alone(opened) {
  progress("one saver");
  const [memory, map] = [new CheckpointStore("memory:"), new Map()];
  const next = allNew();
  const result = await compare(
    {
      ...saves(opened, ["ours", "lookup", "same", "log"], allNew),
      memory: () => memory.save(next()),
      map(i) {
        const value = next();
        map.set(i, structuredClone(value));
      },
    },
    { count: sized(500, 50) },
  );
  await memory.close();
  const work = "one saver, 10 KB";
  const rows = ["lookup", "same", "log"].flatMap((peer) => {
    const row = rowOf(work, opened[peer].label, result.ours, result[peer]);
    const rest = { detail: peer === "same" };
    return [row("saves a second", "wall", rest), row("event loop a save", "loop", rest)];
  });
  const floor = "Map + structuredClone: no disk";
  const durable = rowOf(work, floor, result.ours, result.map);
  const volatile = rowOf(work, floor, result.memory, result.map, "memory:");
  return [
    ...rows,
    durable("wall time", "wall"),
    durable("event loop", "loop"),
    volatile("wall time", "wall", { detail: true }),
  ];
}

/** 64 savers beside the limits of the disk. */
async function disk(opened, path) {
  progress("the disk's own limit");
  const file = await open(path("many.log"), "a");
  const [grouped, each] = [allNew(), allNew()];
  const result = await compare(
    {
      ...saves(opened, ["ours"], allNew),
      grouped: () => opened.log.together(grouped()),
      // Every caller does its own write and its own sync, on Node's thread pool.
      async each() {
        await file.write(JSON.stringify(each()));
        await file.datasync();
      },
    },
    { count: sized(1280, 320), concurrency: SAVERS },
  );
  await file.close();
  const { label } = opened.log;
  const work = `${SAVERS} savers, 10 KB`;
  return [
    rowOf(work, `${label}, 64 in one`, result.ours, result.grouped)("saves a second", "wall"),
    rowOf(work, `${label}, each its own`, result.ours, result.each)("saves a second", "wall"),
  ];
}

const rowOf =
  (work, peer, ours, theirs, mode = "WAL, FULL") =>
  (what, figure, rest) => {
    const unit = what === "saves a second" ? rate : time;
    return { work, what, mode, peer, ours: ours[figure], theirs: theirs[figure], unit, ...rest };
  };
