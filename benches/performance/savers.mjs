// Measures many savers at once and one saver alone. Compares them with direct SQLite calls, with the bare disk, and
// with no disk.
import { closeSync, fdatasyncSync, openSync, writeSync, writevSync } from "node:fs";
import { open } from "node:fs/promises";
import { CheckpointStore } from "../../dist/index.js";
import { compare, sized } from "../lib/measure.mjs";
import { betterSqlite, inFolder, mode } from "../lib/peers.mjs";
import { progress, rate, time } from "../lib/report.mjs";
import { checkpoint } from "../lib/states.mjs";

const SAVERS = 64;

/** Checkpoints of 10 KB with nothing in common. They are saved again under new ids. Each saver has its own run. */
const fresh = Array.from({ length: sized(1280, 128) }, (_, index) => checkpoint(index, { runs: SAVERS }));
let saves = 0;
const next = () => {
  const index = saves++;
  return { ...fresh[index % fresh.length], id: `save-${index}`, timestamp: 1_700_000_000_000 + index };
};

/** A step of a run that changes one message of ten. */
const step = (index) => {
  const one = fresh[index % SAVERS];
  const messages = [...one.state.scratch.messages];
  messages[index % 10] = fresh[(index * 7) % fresh.length].state.scratch.messages[0];
  const state = { ...one.state, scratch: { messages, step: index } };
  return { ...one, id: `step-${saves++}`, timestamp: 1_700_000_000_000 + saves, state };
};

export function savers() {
  return inFolder(async (path) => {
    const store = new CheckpointStore(path("ours.db"));
    const db = await betterSqlite(path("theirs.db"), {
      schema: "CREATE TABLE checkpoint (id TEXT PRIMARY KEY, run TEXT NOT NULL, body TEXT NOT NULL) STRICT",
    });
    const insert = db.prepare("INSERT INTO checkpoint (id, run, body) VALUES (?, ?, ?)");
    const put = (one) => insert.run(one.id, one.runId, JSON.stringify(one));
    const memory = new CheckpointStore("memory:");
    const map = new Map();

    const log = openSync(path("one.log"), "a");
    const many = await open(path("many.log"), "a");
    const buffers = fresh.map((one) => Buffer.from(JSON.stringify(one)));
    const buffer = (index) => buffers[index % buffers.length];

    const both = { ours: () => store.save(next()), theirs: () => put(next()) };
    progress("one saver");
    const one = await compare(
      {
        ...both,
        // This is the physical limit: one write and one sync for each save.
        disk(i) {
          writeSync(log, buffer(i));
          fdatasyncSync(log);
        },
        memory: () => memory.save(next()),
        map(i) {
          const value = next();
          map.set(i, structuredClone(value));
        },
      },
      { count: sized(1000, 50) },
    );
    await memory.close();

    progress(`${SAVERS} savers`);
    const at64 = await compare(both, { count: sized(2560, 640), concurrency: SAVERS });
    const similar = await compare(
      { ours: (i) => store.save(step(i)), theirs: (i) => put(step(i)) },
      { count: sized(2560, 640), concurrency: SAVERS },
    );
    progress("the disk's own limit");
    const limit = await compare(
      {
        ours: both.ours,
        // Every caller does its own write and its own sync, on Node's thread pool.
        async each(i) {
          await many.write(buffer(i));
          await many.datasync();
        },
        // One write and one sync store the bytes of all callers. This is the limit of group commit.
        grouped(i) {
          if (i % SAVERS !== SAVERS - 1) return;
          writevSync(
            log,
            Array.from({ length: SAVERS }, (_, k) => buffer(i - k)),
          );
          fdatasyncSync(log);
        },
      },
      { count: sized(1280, 320), concurrency: SAVERS },
    );
    const peer = `better-sqlite3: ${mode(db)}`;
    await store.close();
    db.close();
    closeSync(log);
    await many.close();

    const disk = "append + fdatasync";
    const floor = "Map + structuredClone: no disk";
    const alone = "one saver, 10 KB";
    const many10 = `${SAVERS} savers, 10 KB`;
    return [
      row(`${many10}, all of it new`, "saves a second", peer, at64, "wall", 5),
      row(`${many10}, all of it new`, "event loop a save", peer, at64, "loop", 15),
      row(`${many10}, a tenth new`, "saves a second", peer, similar, "wall"),
      row(`${many10}, a tenth new`, "event loop a save", peer, similar, "loop"),
      row(alone, "saves a second", peer, one, "wall", 1),
      row(alone, "event loop a save", peer, one, "loop"),
      row(alone, "saves a second", disk, { ours: one.ours, theirs: one.disk }, "wall", 0.9),
      row(many10, "saves a second", `${disk}, 64 in one`, { ours: limit.ours, theirs: limit.grouped }, "wall", 0.3),
      row(many10, "saves a second", `${disk}, each its own`, { ours: limit.ours, theirs: limit.each }, "wall"),
      row(alone, "wall time", floor, { ours: one.ours, theirs: one.map }, "wall"),
      row(alone, "event loop a save", floor, { ours: one.ours, theirs: one.map }, "loop"),
      row(alone, "wall time", floor, { ours: one.memory, theirs: one.map }, "wall", undefined, "memory:"),
    ];
  });
}

function row(work, what, peer, { ours, theirs }, figure, goal, mode = "WAL, FULL") {
  const unit = what === "saves a second" ? rate : time;
  return { work, what, mode, peer, ours: ours[figure], theirs: theirs[figure], unit, goal };
}
