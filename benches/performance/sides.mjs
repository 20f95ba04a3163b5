// The stores that checkpoints are saved to: Forkpoint, two tables of better-sqlite3, and a log.
import { deepStrictEqual } from "node:assert/strict";
import { closeSync, fdatasyncSync, openSync, writeSync, writevSync } from "node:fs";
import { CheckpointStore } from "../../dist/index.js";
import { betterSqlite, mode } from "../lib/peers.mjs";
import { SAVERS } from "./work.mjs";

/** A table that answers one question: `get(id)`. */
const LOOKUP = "CREATE TABLE checkpoint (id TEXT PRIMARY KEY, run TEXT NOT NULL, body TEXT NOT NULL) STRICT";

/** A table that answers what a store of checkpoints must answer: `get`, `latest`, `load` and `list`, each by an index. */
const SAME = `
  CREATE TABLE checkpoint (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run TEXT NOT NULL, graph TEXT NOT NULL, node TEXT NOT NULL,
    timestamp INTEGER NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX of_run ON checkpoint (run, seq);
  CREATE INDEX of_node ON checkpoint (run, node, seq);
  CREATE INDEX of_graph ON checkpoint (graph, timestamp, seq);`;

const idOf = (body) => JSON.parse(body).id;
const textOf = (one) => Buffer.from(JSON.stringify(one));

export async function ours(file) {
  const store = new CheckpointStore(file);
  return {
    label: "WAL, FULL",
    save: (one) => store.save(one),
    answers: {
      get: async (id) => (await store.get(id)).id,
      latest: async (run) => (await store.latest(run)).id,
      load: async (run, node) => (await store.load(run, node)).id,
      list: async (graph, limit) => (await store.list(graph, { limit })).map(({ id }) => id),
    },
    close: () => store.close(),
  };
}

export async function lookup(file) {
  const db = await betterSqlite(file, { schema: LOOKUP });
  const insert = db.prepare("INSERT INTO checkpoint (id, run, body) VALUES (?, ?, ?)");
  return {
    label: `better-sqlite3: ${mode(db)}`,
    save: (one) => insert.run(one.id, one.runId, JSON.stringify(one)),
    close: () => db.close(),
  };
}

export async function same(file) {
  const db = await betterSqlite(file, { schema: SAME });
  const insert = db.prepare("INSERT INTO checkpoint VALUES (NULL, ?, ?, ?, ?, ?, ?)");
  const select = (rest) => db.prepare(`SELECT body FROM checkpoint WHERE ${rest}`).pluck();
  const [get, latest] = [select("id = ?"), select("run = ? ORDER BY seq DESC LIMIT 1")];
  const load = select("run = ? AND node = ? ORDER BY seq DESC LIMIT 1");
  const list = db
    .prepare("SELECT id FROM checkpoint WHERE graph = ? ORDER BY timestamp DESC, seq DESC LIMIT ?")
    .pluck();
  return {
    label: `better-sqlite3, same questions: ${mode(db)}`,
    save: (one) => insert.run(one.id, one.runId, one.graphId, one.nodeId, one.timestamp, JSON.stringify(one)),
    answers: {
      get: async (id) => idOf(get.get(id)),
      latest: async (run) => idOf(latest.get(run)),
      load: async (run, node) => idOf(load.get(run, node)),
      list: async (graph, limit) => list.all(graph, limit),
    },
    close: () => db.close(),
  };
}

/**
 * No store, but what any durable store has to do: serialise the state, write it and sync. Savers that save at once
 * share a write and a sync: this is the limit of group commit.
 */
export async function log(file) {
  const descriptor = openSync(file, "a");
  let waiting = [];
  return {
    label: "append + fdatasync",
    save(one) {
      writeSync(descriptor, textOf(one));
      fdatasyncSync(descriptor);
    },
    together(one) {
      waiting.push(textOf(one));
      if (waiting.length < SAVERS) return;
      writevSync(descriptor, waiting);
      fdatasyncSync(descriptor);
      waiting = [];
    },
    close: () => closeSync(descriptor),
  };
}

const kinds = { ours, lookup, same, log };

/** Opens these sides, each with a file of its own, and calls `work` with them. */
export async function withSides(path, names, work) {
  const opened = {};
  try {
    for (const name of names) opened[name] = await kinds[name](path(`${name}.db`));
    return await work(opened);
  } finally {
    for (const side of Object.values(opened)) await side.close();
  }
}

/** Saves some checkpoints to both sides and checks that they give the same answers. */
export async function checkAnswers({ ours, same }, some) {
  const run = some[0].runId;
  for (const one of some) {
    const later = { ...one, id: `check-${one.id}`, runId: run, timestamp: one.timestamp + 1e9 };
    const found = [];
    for (const { save, answers } of [ours, same]) {
      await save(later);
      const { get, latest, load, list } = answers;
      found.push([await get(later.id), await latest(run), await load(run, later.nodeId), await list(later.graphId, 1)]);
    }
    deepStrictEqual(
      found,
      [0, 1].map(() => [later.id, later.id, later.id, [later.id]]),
    );
  }
}
