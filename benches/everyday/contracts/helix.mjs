// Helix: its documentation names a store in memory, Redis and D1, which is SQLite, but no package is public. So the peers
// are what it says of all its stores: each checkpoint has the complete state with all messages. One keeps copies in maps, and
// one keeps them as JSON in tables of SQLite.
import { betterSqlite, mode } from "../../lib/peers.mjs";
import { LENGTH, NEWEST } from "../filling.mjs";
import { digitsOf } from "./ids.mjs";

const BEGIN = 1_700_000_000_000;

/** The sessions begin at any time, and their steps follow each other. */
const timeOf = (session, step) => BEGIN + Number.parseInt(digitsOf(session).slice(0, 8), 16) + step;
const idOf = (session, step) =>
  `cpv1-${session}-s${step}-t${timeOf(session, step)}-${digitsOf(`${session}:${step}`).slice(0, 6)}`;

const messagesIn = (checkpoint) => checkpoint?.state.messages ?? [];
const metaOf = ({ id, sessionId, stepCount, timestamp, state: { status } }) => {
  return { id, sessionId, stepCount, timestamp, status };
};

/** A page of checkpoints, newest first. */
const pageOf = (metas) => ({ items: metas, total: metas.length, hasMore: false });

class MemoryStateStore {
  #sessions = new Map();
  #checkpoints = new Map();

  async createSession(sessionId, { initialState: customState = {} }) {
    const state = structuredClone({ status: "active", stepCount: 0, customState });
    this.#sessions.set(sessionId, { state, messages: [], checkpoints: [] });
  }

  async appendMessages(sessionId, messages) {
    this.#sessions.get(sessionId).messages.push(...structuredClone(messages));
  }

  async saveCheckpoint(checkpoint) {
    const copy = structuredClone(checkpoint);
    this.#checkpoints.set(checkpoint.id, copy);
    this.#sessions.get(checkpoint.sessionId).checkpoints.push(copy);
  }

  getCheckpoint = async (id) => structuredClone(this.#checkpoints.get(id) ?? null);

  async getLatestCheckpoint(sessionId) {
    const [latest] = this.#newestFirst(sessionId);
    return structuredClone(latest ?? null);
  }

  listCheckpoints = async (sessionId) => pageOf(this.#newestFirst(sessionId).map(metaOf));

  async deleteSession(sessionId) {
    for (const { id } of this.#sessions.get(sessionId).checkpoints) this.#checkpoints.delete(id);
    this.#sessions.delete(sessionId);
  }

  #newestFirst(sessionId) {
    const { checkpoints = [] } = this.#sessions.get(sessionId) ?? {};
    return checkpoints.toSorted((a, b) => b.timestamp - a.timestamp);
  }
}

const SCHEMA = `CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS message (session TEXT, pos INTEGER, body TEXT NOT NULL, PRIMARY KEY (session, pos)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS checkpoint (id TEXT PRIMARY KEY, session TEXT NOT NULL, step INTEGER NOT NULL, at INTEGER NOT NULL,
  status TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS checkpoint_of_session ON checkpoint (session, at)`;

const parsed = (text) => (text === undefined ? null : JSON.parse(text));

async function fullCopies(file) {
  const db = await betterSqlite(file, { schema: SCHEMA });
  const create = db.prepare("INSERT INTO session VALUES (?, ?)");
  const length = db.prepare("SELECT coalesce(max(pos) + 1, 0) FROM message WHERE session = ?").pluck();
  const append = db.prepare("INSERT INTO message VALUES (?, ?, ?)");
  const save = db.prepare("INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?, ?, ?, ?)");
  const one = db.prepare("SELECT body FROM checkpoint WHERE id = ?").pluck();
  const latest = db.prepare("SELECT body FROM checkpoint WHERE session = ? ORDER BY at DESC LIMIT 1").pluck();
  const list = db.prepare(
    "SELECT id, session AS sessionId, step AS stepCount, at AS timestamp, status FROM checkpoint WHERE session = ? ORDER BY at DESC",
  );
  const removals = ["checkpoint WHERE session", "message WHERE session", "session WHERE id"].map((from) =>
    db.prepare(`DELETE FROM ${from} = ?`),
  );
  const appendAll = db.transaction((sessionId, messages) => {
    const begin = length.get(sessionId);
    for (const [at, message] of messages.entries()) append.run(sessionId, begin + at, JSON.stringify(message));
  });
  const removeAll = db.transaction((sessionId) => {
    for (const removal of removals) removal.run(sessionId);
  });
  const store = {
    async createSession(sessionId, { initialState: customState = {} }) {
      create.run(sessionId, JSON.stringify({ status: "active", stepCount: 0, customState }));
    },
    appendMessages: async (sessionId, messages) => appendAll(sessionId, messages),
    async saveCheckpoint(checkpoint) {
      const { id, sessionId, stepCount, timestamp, state } = checkpoint;
      save.run(id, sessionId, stepCount, timestamp, state.status, JSON.stringify(checkpoint));
    },
    getCheckpoint: async (id) => parsed(one.get(id)),
    getLatestCheckpoint: async (sessionId) => parsed(latest.get(sessionId)),
    listCheckpoints: async (sessionId) => pageOf(list.all(sessionId)),
    deleteSession: async (sessionId) => removeAll(sessionId),
  };
  return { store, mode: `full copies, better-sqlite3: ${mode(db)}`, close: () => db.close() };
}

/** A step: appends its message to the session, and saves a checkpoint with all messages. */
async function step(store, sessionId, stepCount, messages) {
  if (stepCount === 1) await store.createSession(sessionId, { agentType: "bench", initialState: { topic: "storage" } });
  // The first step has the user's message too.
  const appended = stepCount === 1 ? messages : messages.slice(-1);
  await store.appendMessages(sessionId, appended);
  await store.saveCheckpoint({
    id: idOf(sessionId, stepCount),
    sessionId,
    stepCount,
    timestamp: timeOf(sessionId, stepCount),
    state: { status: "active", stepCount, customState: { topic: "storage" }, messages },
    messageCount: messages.length,
    streamSequence: stepCount,
  });
}

export const contract = {
  module: "helix",
  className: "SessionStore",
  peers: {
    async memory() {
      return { store: new MemoryStateStore(), mode: "copies in maps", close() {}, inMemory: true };
    },
    file: fullCopies,
  },
  // A session, a message and a checkpoint.
  firstWrites: 3,
  save: (store, { run, step: count, messages }) => step(store, run, count, messages),
  calls: {
    latest: {
      work: "getLatestCheckpoint",
      call: async (store, run) => messagesIn(await store.getLatestCheckpoint(run)),
    },
    load: {
      work: "getCheckpoint, by id",
      call: async (store, run, count = LENGTH) => messagesIn(await store.getCheckpoint(idOf(run, count))),
    },
    list: {
      work: `listCheckpoints of a session of ${LENGTH}`,
      call: async (store, run) => (await store.listCheckpoints(run)).items,
    },
    runs: {
      work: `sessions, newest ${NEWEST}`,
      alone: true,
      call: async (store, limit) => (await store.sessions({ limit })).sessions,
    },
    remove: { work: `deleteSession, a session of ${LENGTH}`, call: (store, run) => store.deleteSession(run) },
  },
  steps,
};

/** A loop of steps: the framework's own runtime is not public. */
async function steps(store, [first, ...messages]) {
  return {
    async run(sessionId) {
      const all = [first];
      for (const [at, message] of messages.entries()) {
        all.push(message);
        await step(store, sessionId, at + 1, [...all]);
      }
      return { sessionId, messages: all };
    },
    async stored({ sessionId }) {
      const missing = messages.length - (await store.listCheckpoints(sessionId)).total;
      return { messages: messagesIn(await store.getLatestCheckpoint(sessionId)), missing };
    },
  };
}
