// Agentium: its own store, over its drivers. The package is not public. So the store in memory is that of this package under
// the documented names, and the driver for SQLite is written as the framework's works: one table of keys in WAL, a value as
// JSON, and a list is a search with LIKE.
import { betterSqlite, mode } from "../../lib/peers.mjs";
import { LENGTH, NEWEST } from "../filling.mjs";

const BEGIN = 1_700_000_000_000;

const agentium = () => import("../../../dist/contracts/agentium/index.js");
const messagesIn = (checkpoint) => checkpoint?.state.messages ?? [];
const idOf = (run, step) => `${run}:step-${step}`;

/** A driver of the documented interface over better-sqlite3. */
async function sqliteStorage(file) {
  const schema =
    "CREATE TABLE IF NOT EXISTS entry (namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, " +
    "PRIMARY KEY (namespace, key))";
  const db = await betterSqlite(file, { synchronous: "NORMAL", schema });
  const get = db.prepare("SELECT value FROM entry WHERE namespace = ? AND key = ?").pluck();
  const set = db.prepare("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)");
  const remove = db.prepare("DELETE FROM entry WHERE namespace = ? AND key = ?");
  const list = db.prepare("SELECT key, value FROM entry WHERE namespace = ? AND key LIKE ?");
  return {
    mode: `SqliteStorage: ${mode(db)}`,
    async get(namespace, key) {
      const found = get.get(namespace, key);
      return found === undefined ? null : JSON.parse(found);
    },
    set: async (namespace, key, value) => void set.run(namespace, key, JSON.stringify(value)),
    delete: async (namespace, key) => void remove.run(namespace, key),
    list: async (namespace, prefix = "") =>
      list.all(namespace, `${prefix}%`).map(({ key, value }) => ({ key, value: JSON.parse(value) })),
    close: async () => db.close(),
  };
}

export const contract = {
  module: "agentium",
  className: "WorkflowCheckpointStore",
  peers: {
    async memory() {
      const { InMemoryStorage, StorageBackedCheckpointStore } = await agentium();
      const store = new StorageBackedCheckpointStore(new InMemoryStorage());
      return { store, mode: "InMemoryStorage", close() {}, inMemory: true };
    },
    async file(path) {
      const { StorageBackedCheckpointStore } = await agentium();
      const storage = await sqliteStorage(path);
      return { store: new StorageBackedCheckpointStore(storage), mode: storage.mode, close: () => storage.close() };
    },
  },
  save: (store, { run, number, step, messages }) =>
    store.save({
      id: idOf(run, step),
      runId: run,
      stepIndex: step - 1,
      stepName: `step-${step}`,
      state: { messages, step },
      createdAt: BEGIN + number * 10 + step,
    }),
  calls: {
    latest: { work: "latest, of a run", call: async (store, run) => messagesIn(await store.latest(run)) },
    load: {
      work: "load, by id",
      call: async (store, run, step = LENGTH) => messagesIn(await store.load(idOf(run, step))),
    },
    list: { work: `list of a run of ${LENGTH}`, call: (store, run) => store.list(run) },
    runs: {
      work: `runs, newest ${NEWEST}`,
      alone: true,
      call: async (store, limit) => (await store.runs({ limit })).runs,
    },
    remove: { work: `clear, a run of ${LENGTH}`, call: (store, run) => store.clear(run) },
  },
  steps,
};

/** A workflow whose steps each append a message to the state. */
async function steps(store, [first, ...messages]) {
  const { Workflow } = await agentium();
  const workflow = new Workflow({
    name: "bench",
    initialState: { messages: [first] },
    checkpointStore: store,
    steps: messages.map((message, at) => ({
      name: `step-${at}`,
      run: (state) => ({ messages: [...state.messages, message] }),
    })),
  });
  return {
    async run(runId) {
      const { state } = await workflow.runWithCheckpoints({ runId });
      return { runId, messages: state.messages };
    },
    async stored({ runId }) {
      const checkpoints = await workflow.listCheckpoints(runId);
      // The initial state is a checkpoint too.
      return { messages: messagesIn(checkpoints.at(-1)), missing: messages.length + 1 - checkpoints.length };
    },
  };
}
