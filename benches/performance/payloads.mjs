// Measures reading one checkpoint of 2 MB, 200 KB or 10 KB by its id. The peer is a row of JSON text.
import { CheckpointStore } from "../../dist/index.js";
import { compare, sized } from "../lib/measure.mjs";
import { betterSqlite, inFolder, mode } from "../lib/peers.mjs";
import { bytes, progress, time } from "../lib/report.mjs";
import { growingRun } from "../lib/states.mjs";

/** Number of checkpoints to read, from the end of a run. Forkpoint stores deltas, and the peer stores whole states. */
const KEPT = sized(60, 10);

const sizes = [
  { size: 2_000_000, goal: 2.5, count: sized(60, 5) },
  { size: 200_000, goal: 1.2, count: sized(200, 20) },
  { size: 10_000, goal: 1, count: sized(1000, 50) },
];

export async function payloads() {
  const rows = [];
  for (const { size, goal, count } of sizes) {
    progress(`get of ${bytes(size)}`);
    rows.push(...(await inFolder((path) => one(path, { size, goal, count }))));
  }
  return rows;
}

async function one(path, { size, goal, count }) {
  const store = new CheckpointStore(path("ours.db"), { durability: "off" });
  const db = await betterSqlite(path("theirs.db"), {
    schema: "CREATE TABLE checkpoint (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT",
  });
  const insert = db.prepare("INSERT INTO checkpoint (id, body) VALUES (?, ?)");
  const run = growingRun({ most: size });
  const ids = [];
  for (let step = 1; step <= size / 2000 + KEPT; step++) {
    const checkpoint = run.step();
    await store.save(checkpoint);
    if (step <= size / 2000) continue;
    insert.run(checkpoint.id, JSON.stringify(checkpoint));
    ids.push(checkpoint.id);
  }
  await store.close();

  // Reopens the store, so that it starts with empty caches.
  const ours = new CheckpointStore(path("ours.db"));
  const select = db.prepare("SELECT body FROM checkpoint WHERE id = ?").pluck();
  // Reads the ids out of order.
  const id = (i) => ids[(i * 37) % ids.length];
  const sides = { ours: (i) => ours.get(id(i)), theirs: (i) => JSON.parse(select.get(id(i))) };
  const result = await compare(sides, { count });
  const peer = `better-sqlite3 + JSON.parse: ${mode(db)}`;
  await ours.close();
  db.close();
  const row = (what, figure, goal) => ({
    work: `get of ${bytes(size)}`,
    what,
    mode: "WAL, FULL",
    peer,
    ours: result.ours[figure],
    theirs: result.theirs[figure],
    unit: time,
    goal,
  });
  return [row("event loop", "loop", goal), row("wall time", "wall")];
}
