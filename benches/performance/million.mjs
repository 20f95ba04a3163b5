// Lists the newest 100 of 1,000,000 checkpoints, each of a run of its own, and counts them all. The peer is a
// hand-written table with a covering index for the list.
import { strictEqual } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { CheckpointStore } from "../../dist/index.js";
import { clock, compare, inTurns, sized } from "../lib/measure.mjs";
import { betterSqlite, inFolder, mode } from "../lib/peers.mjs";
import { progress, time } from "../lib/report.mjs";

const STORED = sized(1_000_000, 20_000);

const schema = `
  CREATE TABLE checkpoint (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, run TEXT NOT NULL, graph TEXT NOT NULL, node TEXT NOT NULL,
    timestamp INTEGER NOT NULL, size INTEGER NOT NULL, memory INTEGER NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX listing ON checkpoint (graph, timestamp, seq, id, run, node, size, memory);`;
const totals = "SELECT count(*) AS checkpoints, count(DISTINCT run) AS runs, sum(size) AS bytes FROM checkpoint";
const newest = `SELECT id, run AS runId, graph AS graphId, node AS nodeId, timestamp, size AS stateSize,
  memory AS hasMemorySnapshot FROM checkpoint WHERE graph = ? ORDER BY timestamp DESC, seq DESC LIMIT ?`;

export function million() {
  return inFolder(async (path) => {
    const filling = new CheckpointStore(path("ours.db"), { durability: "off" });
    const db = await betterSqlite(path("theirs.db"), { schema });
    const insert = db.prepare("INSERT INTO checkpoint VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)");
    const fill = db.transaction((some) => {
      for (const { id, runId, graphId, nodeId, timestamp, state } of some) {
        const body = JSON.stringify(state);
        insert.run(id, runId, graphId, nodeId, timestamp, body.length, 0, body);
      }
    });
    for (let i = 0; i < STORED; i += 5000) {
      if (i % 100_000 === 0) progress(`stored ${i.toLocaleString("en")} of ${STORED.toLocaleString("en")} checkpoints`);
      const some = Array.from({ length: Math.min(5000, STORED - i) }, (_, k) => small(i + k));
      fill(some);
      await Promise.all(some.map((one) => filling.save(one)));
    }
    await filling.close();

    progress("list");
    const ours = new CheckpointStore(path("ours.db"));
    const select = db.prepare(newest);
    const sides = (limit) => ({
      ours: () => ours.list("graph-bench-1", { limit }),
      theirs: () => select.all("graph-bench-1", limit),
    });
    const result = await compare(sides(100), { count: sized(1000, 100) });
    await ours.close();
    const counted = await statistics(path("ours.db"), db);
    const label = `better-sqlite3: ${mode(db)}`;
    db.close();
    const list = `list 100 newest of ${STORED.toLocaleString("en")}`;
    const stats = `the first stats of ${STORED.toLocaleString("en")} runs after opening`;
    const again = `stats of ${STORED.toLocaleString("en")} runs, again`;
    const covering = `${label}, covering index`;
    const counts = `${label}, counts all rows`;
    const bound = { what: "better-sqlite3 reads one row", figure: counted.one.wall };
    return [
      row(list, "wall time", covering, result, "wall", { goal: 1 }),
      row(list, "event loop", covering, result, "loop"),
      row(stats, "wall time", counts, counted, "wall", { number: 6, most: 5_000, bound }),
      row(stats, "event loop", counts, counted, "loop"),
      row(again, "wall time", counts, { ours: counted.again, theirs: counted.theirs }, "wall", { detail: true }),
    ];
  });
}

/** Counts all runs: in a store that was just opened, and again, beside a query that counts the rows. */
async function statistics(file, db) {
  progress("stats");
  const [all, one] = [db.prepare(totals), db.prepare("SELECT size FROM checkpoint WHERE seq = ?")];
  const turn = async (name) => {
    if (name === "one") return clock(100, () => Array.from({ length: 100 }, (_, i) => one.get(i + 1)));
    if (name === "theirs") return clock(1, () => strictEqual(all.get().runs, STORED));
    const store = new CheckpointStore(file);
    // The first call opens the file.
    strictEqual(await store.get("nobody"), null);
    const count = async () => strictEqual((await store.stats()).runs, STORED);
    if (name === "again") await count();
    const figures = await clock(1, count);
    await store.close();
    return figures;
  };
  return inTurns(["ours", "again", "theirs", "one"], turn, { rounds: sized(5, 2) });
}

function row(work, what, peer, { ours, theirs }, figure, rest) {
  return { work, what, mode: "WAL, FULL", peer, ours: ours[figure], theirs: theirs[figure], unit: time, ...rest };
}

/** A minimal checkpoint with a random id, as in AgentOS. */
function small(index) {
  return {
    id: randomUUID(),
    graphId: "graph-bench-1",
    runId: `run-${index}`,
    nodeId: `node-${index % 25}`,
    timestamp: 1_700_000_000_000 + index,
    state: { input: {}, scratch: { step: index }, artifacts: {}, diagnostics: {} },
    nodeResults: {},
    visitedNodes: [],
    pendingEdges: [],
  };
}
