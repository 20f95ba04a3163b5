// Counts the frames of SQLite's write-ahead log that a save of one saver takes: each frame is a page that is written.
import { readFileSync } from "node:fs";
import { deflateRawSync } from "node:zlib";
import { summary } from "../lib/measure.mjs";
import { betterSqlite, inFolder, mode } from "../lib/peers.mjs";
import { figure, progress } from "../lib/report.mjs";
import { withSides } from "./sides.mjs";
import { allNew } from "./work.mjs";

const SAVES = 50;
const HEADER = 32;

/** The frames that are valid now: those with the salts of the log's header. */
function framesOf(log) {
  const bytes = readFileSync(log);
  const frame = 24 + bytes.readUInt32BE(8);
  const salts = bytes.subarray(16, 24);
  let frames = 0;
  for (let at = HEADER; at + frame <= bytes.length; at += frame) {
    if (!bytes.subarray(at + 8, at + 16).equals(salts)) break;
    frames += 1;
  }
  return frames;
}

/** Saves one checkpoint after the other. Returns the frames of each save. */
async function perSave(file, save) {
  const next = allNew();
  const counts = [];
  // The first saves also make the tables' first pages.
  for (let i = -10, before = 0; i < SAVES; i++) {
    await save(next());
    const frames = framesOf(`${file}-wal`);
    if (i >= 0) counts.push(frames - before);
    before = frames;
  }
  if (counts.some((count) => count <= 0)) throw new Error(`the log began anew: ${counts.join(" ")}`);
  const mean = counts.reduce((sum, count) => sum + count) / counts.length;
  return { ...summary(counts), median: mean };
}

export function frames() {
  progress("frames of the log");
  return inFolder((path) => {
    return withSides(path, ["ours", "lookup", "same"], async (opened) => {
      const counted = {};
      for (const [name, { save }] of Object.entries(opened)) counted[name] = await perSave(path(`${name}.db`), save);
      const row = (peer, rest) => ({
        work: "one saver, 10 KB, all of it new",
        what: "frames of the log a save",
        mode: "WAL, FULL",
        peer: opened[peer].label,
        ours: counted.ours,
        theirs: counted[peer],
        unit: figure,
        ...rest,
      });
      const bound = { what: "a table without an index, deflated JSON", figure: await least(path) };
      return [row("lookup", { number: 3, most: 4, bound }), row("same")];
    });
  });
}

/** The frames of the smallest table that can hold the states. */
async function least(path) {
  const file = path("least.db");
  const db = await betterSqlite(file, { schema: "CREATE TABLE state (id INTEGER PRIMARY KEY, body BLOB NOT NULL)" });
  if (mode(db) !== "WAL, FULL") throw new Error(`the table is not comparable: ${mode(db)}`);
  const insert = db.prepare("INSERT INTO state VALUES (NULL, ?)");
  const counted = await perSave(file, (one) => insert.run(deflateRawSync(JSON.stringify(one), { level: 1 })));
  db.close();
  return counted;
}
