// TinyAgents: its own three checkpointers. The framework is written in Rust. So they are made here as its documentation
// describes them: a map of clones; a folder with a file for each thread, to which each put appends a line and syncs it; and
// a table with the whole record as JSON beside the columns that are listed.
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { betterSqlite, mode } from "../../lib/peers.mjs";
import { LENGTH, NEWEST } from "../filling.mjs";
import { digitsOf } from "./ids.mjs";

const idOf = (thread, step) => digitsOf(`${thread}:${step}`);

const messagesIn = (checkpoint) => checkpoint?.state.messages ?? [];

/** A checkpoint as the graph puts it. */
const recordOf = (threadId, step, messages) => ({
  threadId,
  checkpointId: idOf(threadId, step),
  runId: `${threadId}-run`,
  parentCheckpointId: step === 1 ? null : idOf(threadId, step - 1),
  namespace: [],
  state: { messages, step },
  nextNodes: ["agent"],
  completedTasks: ["agent"],
  pendingWrites: [],
  interrupts: [],
  pendingActivations: null,
  barrierArrivals: [],
  metadata: { source: "loop", step },
});

/** What a list shows of a checkpoint. */
function listed({ threadId, checkpointId, runId, parentCheckpointId, namespace, nextNodes, interrupts, metadata }) {
  const interrupted = interrupts.length > 0;
  return { threadId, checkpointId, runId, parentCheckpointId, namespace, nextNodes, interrupted, metadata };
}

class InMemoryCheckpointer {
  #threads = new Map();

  async put(checkpoint) {
    const records = this.#threads.get(checkpoint.threadId) ?? [];
    this.#threads.set(checkpoint.threadId, records);
    records.push(structuredClone(checkpoint));
  }

  async get(threadId, checkpointId) {
    const found = this.#threads.get(threadId)?.findLast((one) => [undefined, one.checkpointId].includes(checkpointId));
    return found === undefined ? null : structuredClone(found);
  }

  list = async (threadId) => structuredClone((this.#threads.get(threadId) ?? []).map(listed));
  listThreads = async () => [...this.#threads.keys()];
  deleteThread = async (threadId) => void this.#threads.delete(threadId);
}

class FileCheckpointer {
  #folder;

  constructor(folder) {
    mkdirSync(folder, { recursive: true });
    this.#folder = folder;
  }

  /** Writes without blocking, as the framework does. */
  async put(checkpoint) {
    const file = await open(this.#file(checkpoint.threadId), "a");
    try {
      await file.write(`${JSON.stringify(checkpoint)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  async get(threadId, checkpointId) {
    const records = this.#read(this.#file(threadId));
    return records.findLast((one) => [undefined, one.checkpointId].includes(checkpointId)) ?? null;
  }

  list = async (threadId) => this.#read(this.#file(threadId)).map(listed);

  async listThreads() {
    return readdirSync(this.#folder).map((file) => this.#read(join(this.#folder, file), 1)[0].threadId);
  }

  deleteThread = async (threadId) => rmSync(this.#file(threadId), { force: true });

  #file = (threadId) => join(this.#folder, `${encodeURIComponent(threadId)}.jsonl`);

  #read(file, most) {
    try {
      return readFileSync(file, "utf8")
        .split("\n")
        .slice(0, -1)
        .slice(0, most)
        .map((line) => JSON.parse(line));
    } catch (error) {
      if (error.code === "ENOENT") return [];
      throw error;
    }
  }
}

const SCHEMA = `CREATE TABLE IF NOT EXISTS checkpoints (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, thread_id TEXT NOT NULL, checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT,
  run_id TEXT, namespace TEXT NOT NULL, next_nodes TEXT NOT NULL, source TEXT, step INTEGER, has_interrupts INTEGER NOT NULL,
  record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS idx_checkpoints_thread ON checkpoints (thread_id, seq);
CREATE INDEX IF NOT EXISTS idx_checkpoints_lookup ON checkpoints (thread_id, checkpoint_id)`;

async function sqliteCheckpointer(file) {
  const db = await betterSqlite(file, { schema: SCHEMA });
  const columns =
    "thread_id, checkpoint_id, parent_checkpoint_id, run_id, namespace, next_nodes, source, step, has_interrupts";
  const insert = db.prepare(`INSERT INTO checkpoints (${columns}, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const latest = db.prepare("SELECT record FROM checkpoints WHERE thread_id = ? ORDER BY seq DESC LIMIT 1").pluck();
  const byId = "SELECT record FROM checkpoints WHERE thread_id = ? AND checkpoint_id = ? ORDER BY seq DESC LIMIT 1";
  const one = db.prepare(byId).pluck();
  const list = db.prepare(`SELECT ${columns} FROM checkpoints WHERE thread_id = ? ORDER BY seq`);
  const threads = db.prepare("SELECT DISTINCT thread_id FROM checkpoints").pluck();
  const remove = db.prepare("DELETE FROM checkpoints WHERE thread_id = ?");
  const store = {
    async put(record) {
      const { threadId, checkpointId, parentCheckpointId, runId, namespace, nextNodes, interrupts, metadata } = record;
      const json = [namespace, nextNodes].map((value) => JSON.stringify(value));
      const projected = [...json, metadata.source, metadata.step, interrupts.length > 0 ? 1 : 0];
      insert.run(threadId, checkpointId, parentCheckpointId, runId, ...projected, JSON.stringify(record));
    },
    async get(threadId, checkpointId) {
      const found = checkpointId === undefined ? latest.get(threadId) : one.get(threadId, checkpointId);
      return found === undefined ? null : JSON.parse(found);
    },
    list: async (threadId) =>
      list.all(threadId).map((row) => ({
        threadId: row.thread_id,
        checkpointId: row.checkpoint_id,
        runId: row.run_id,
        parentCheckpointId: row.parent_checkpoint_id,
        namespace: JSON.parse(row.namespace),
        nextNodes: JSON.parse(row.next_nodes),
        interrupted: row.has_interrupts === 1,
        metadata: { source: row.source, step: row.step },
      })),
    listThreads: async () => threads.all(),
    deleteThread: async (threadId) => void remove.run(threadId),
  };
  return { store, mode: `SqliteCheckpointer: ${mode(db)}`, close: () => db.close() };
}

export const contract = {
  module: "tinyagents",
  className: "Checkpointer",
  peers: {
    async memory() {
      return { store: new InMemoryCheckpointer(), mode: "InMemoryCheckpointer", close() {}, inMemory: true };
    },
    async lines(folder) {
      return { store: new FileCheckpointer(folder), mode: "FileCheckpointer: JSONL, fsync", close() {} };
    },
    sqlite: sqliteCheckpointer,
  },
  save: (store, { run, step, messages }) => store.put(recordOf(run, step, messages)),
  calls: {
    latest: { work: "get, the latest of a thread", call: async (store, run) => messagesIn(await store.get(run)) },
    load: {
      work: "get, by id",
      call: async (store, run, step = LENGTH) => messagesIn(await store.get(run, idOf(run, step))),
    },
    list: { work: `list of a thread of ${LENGTH}`, call: (store, run) => store.list(run) },
    runs: {
      work: `threads, newest ${NEWEST} with their status`,
      alone: true,
      call: async (store, limit) => (await store.threads({ limit })).threads,
    },
    all: { work: "listThreads, all", call: (store) => store.listThreads() },
    remove: { work: `deleteThread, a thread of ${LENGTH}`, call: (store, run) => store.deleteThread(run) },
  },
  steps,
};

/** A loop that puts the state after each step. The framework's own graph is in Rust. */
async function steps(store, [first, ...messages]) {
  return {
    async run(threadId) {
      const all = [first];
      for (const [at, message] of messages.entries()) {
        all.push(message);
        await store.put(recordOf(threadId, at + 1, [...all]));
      }
      return { threadId, messages: all };
    },
    async stored({ threadId }) {
      const missing = messages.length - (await store.list(threadId)).length;
      return { messages: messagesIn(await store.get(threadId)), missing };
    },
  };
}
