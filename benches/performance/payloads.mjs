// Measures reading one checkpoint of 2 MB, 200 KB or 10 KB by its id, and the neighbour of one that was just read. The
// peer is a row of JSON text. The bound is V8's own deserializer.
import { strictEqual } from "node:assert/strict";
import { deserialize, serialize } from "node:v8";
import { CheckpointStore } from "../../dist/index.js";
import { clock, compare, inTurns, sized } from "../lib/measure.mjs";
import { betterSqlite, inFolder, mode } from "../lib/peers.mjs";
import { bytes, progress, time } from "../lib/report.mjs";
import { growingRun, prose, twoByteProse } from "../lib/states.mjs";

/** Number of checkpoints to read, from the end of a run. Forkpoint stores deltas, and the peer stores whole states. */
const KEPT = sized(60, 10);

/** `size` is in characters, and so is the step by which a run grows to it. */
const sizes = [
  { size: 2_000_000, number: 5, goal: 2, count: sized(60, 5), neighbour: 4_000 },
  { size: 200_000, goal: 1.2, count: sized(200, 20) },
  { size: 10_000, number: 5, goal: 0.55, count: sized(1000, 50) },
  { size: 100_000, write: twoByteProse, count: sized(200, 20) },
  { size: 5_000, grow: 1_000, write: twoByteProse, count: sized(1000, 50) },
];

export async function payloads() {
  const rows = [];
  for (const one of sizes) {
    const text = one.write === undefined ? bytes(one.size) : `${one.size.toLocaleString("en")} characters of two bytes`;
    progress(`get of ${text}`);
    rows.push(...(await inFolder((path) => read(path, { ...one, text }))));
  }
  return rows;
}

async function read(path, { text, size, grow = 2_000, ...wanted }) {
  const { write = prose } = wanted;
  const store = new CheckpointStore(path("ours.db"), { durability: "off" });
  const db = await betterSqlite(path("theirs.db"), {
    schema: "CREATE TABLE checkpoint (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT",
  });
  const insert = db.prepare("INSERT INTO checkpoint (id, body) VALUES (?, ?)");
  const run = growingRun({ most: size, grow, write });
  const ids = [];
  let last;
  for (let step = 1; step <= size / grow + KEPT; step++) {
    last = run.step();
    await store.save(last);
    if (step <= size / grow) continue;
    insert.run(last.id, JSON.stringify(last));
    ids.push(last.id);
  }
  await store.close();

  const select = db.prepare("SELECT body FROM checkpoint WHERE id = ?").pluck();
  const theirs = (id) => JSON.parse(select.get(id));
  const peer = `better-sqlite3 + JSON.parse: ${mode(db)}`;
  const row = (work, what, result, figure, rest) => ({
    work,
    what,
    mode: "WAL, FULL",
    peer,
    ours: result.ours[figure],
    theirs: result.theirs[figure],
    unit: time,
    detail: wanted.write !== undefined,
    ...rest,
  });

  // Reopens the store, so that it starts with empty caches.
  const ours = new CheckpointStore(path("ours.db"));
  // Reads the ids out of order.
  const id = (i) => ids[(i * 37) % ids.length];
  const whole = serialize(last);
  const sides = { ours: (i) => ours.get(id(i)), theirs: (i) => theirs(id(i)), v8: () => deserialize(whole) };
  const result = await compare(sides, wanted);
  const bound = { what: "v8.deserialize", figure: result.v8.loop };
  await ours.close();
  const work = `get of ${text}`;
  const { goal, number } = wanted;
  const rows = [
    row(work, "event loop", result, "loop", { goal, ...(number && { number, bound }) }),
    row(work, "wall time", result, "wall"),
  ];
  if (wanted.neighbour !== undefined) {
    const found = await neighbours(path("ours.db"), ids, theirs);
    const label = `get of the neighbour of ${text} that was just read`;
    rows.push(row(label, "wall time", found, "wall", { number, most: wanted.neighbour, bound }));
    rows.push(row(label, "event loop", found, "loop"));
  }
  db.close();
  return rows;
}

/** Reads a checkpoint, and then the one before it, in a store with empty caches. Only the second read is measured. */
async function neighbours(file, ids, theirs) {
  let at = ids.length;
  const turn = async (name) => {
    if (at < 2) at = ids.length;
    const [one, before] = [ids[--at], ids[--at]];
    const store = name === "ours" ? new CheckpointStore(file) : undefined;
    const get = store === undefined ? theirs : (id) => store.get(id);
    await get(one);
    let found;
    const result = await clock(1, async () => {
      found = await get(before);
    });
    strictEqual(found.id, before);
    await store?.close();
    return result;
  };
  return inTurns(["ours", "theirs"], turn, { rounds: sized(15, 2) });
}
