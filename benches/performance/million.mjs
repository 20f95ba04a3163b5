// Lists the newest 100 of 1,000,000 checkpoints. The peer is a hand-written table with a covering index.
import { randomUUID } from "node:crypto";
import { CheckpointStore } from "../../dist/index.js";
import { compare, sized } from "../lib/measure.mjs";
import { betterSqlite, inFolder, mode } from "../lib/peers.mjs";
import { progress, time } from "../lib/report.mjs";

const STORED = sized(1_000_000, 20_000);
const RUNS = 1000;

const schema = `
  CREATE TABLE checkpoint (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, run TEXT NOT NULL, graph TEXT NOT NULL, node TEXT NOT NULL,
    timestamp INTEGER NOT NULL, size INTEGER NOT NULL, memory INTEGER NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX listing ON checkpoint (graph, timestamp, seq, id, run, node, size, memory);`;
const newest = `SELECT id, run AS runId, graph AS graphId, node AS nodeId, timestamp, size AS stateSize,
  memory AS hasMemorySnapshot   FROM checkpoint WHERE graph = ? ORDER BY timestamp DESC, seq DESC LIMIT ?`;

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
    const peer = `better-sqlite3: ${mode(db)}, covering index`;
    await ours.close();
    db.close();
    const row = (what, figure, goal) => ({
      work: `list 100 newest of ${STORED.toLocaleString("en")}`,
      what,
      mode: "WAL, FULL",
      peer,
      ours: result.ours[figure],
      theirs: result.theirs[figure],
      unit: time,
      goal,
    });
    return [row("wall time", "wall", 1), row("event loop", "loop")];
  });
}

/** A minimal checkpoint with a random id, as in AgentOS. */
function small(index) {
  return {
    id: randomUUID(),
    graphId: "graph-bench-1",
    runId: `run-${Math.floor(index / (STORED / RUNS))}`,
    nodeId: `node-${index % 25}`,
    timestamp: 1_700_000_000_000 + index,
    state: { input: {}, scratch: { step: index }, artifacts: {}, diagnostics: {} },
    nodeResults: {},
    visitedNodes: [],
    pendingEdges: [],
  };
}
