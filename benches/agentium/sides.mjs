// The compared sides: Forkpoint's workflow over its own store, and careful hand-written loops. Each side has
// `run(case)`, which resolves to the final state, and `list(runId)`, which returns the checkpoints.
import * as agentium from "../../dist/contracts/agentium/index.js";
import { betterSqlite, mode } from "../lib/peers.mjs";

function overStore(steps, store) {
  const workflow = new agentium.Workflow({ name: "bench", initialState: {}, steps, checkpointStore: store });
  return {
    run: async ({ runId, initialState }) => (await workflow.runWithCheckpoints({ runId, initialState })).state,
    list: (runId) => workflow.listCheckpoints(runId),
    resume: (runId) => workflow.runWithCheckpoints({ runId, resume: true }),
    close: () => store.close(),
  };
}

/** `target`: a file path (WAL and FULL by default), or "memory:". */
export function ours({ steps }, target) {
  const store = new agentium.WorkflowCheckpointStore(target);
  return { ...overStore(steps, store), mode: target === "memory:" ? target : "WAL, FULL" };
}

export function storageInMemory({ steps }) {
  const store = new agentium.StorageBackedCheckpointStore(new agentium.InMemoryStorage());
  return { ...overStore(steps, store), mode: "over InMemoryStorage" };
}

/** Builds a checkpoint of the same shape as Forkpoint's. */
function checkpointOf(runId, stepIndex, stepName, state) {
  const id = stepIndex < 0 ? `${runId}:initial` : `${runId}:step-${stepIndex + 1}`;
  return { id, runId, stepIndex, stepName, state, createdAt: Date.now() };
}

/**
 * Stores a row of JSON text for each checkpoint. Each step gets a state that is parsed from the stored text, as after a
 * crash. The step may change this state. Forkpoint's steps get their state in the same way.
 */
export async function byHand({ steps }, file, synchronous) {
  const db = await betterSqlite(file, {
    synchronous,
    schema:
      "CREATE TABLE IF NOT EXISTS checkpoint (id TEXT PRIMARY KEY, run_id TEXT NOT NULL, step_index INTEGER NOT NULL, " +
      "created_at INTEGER NOT NULL, body TEXT NOT NULL) STRICT; " +
      "CREATE INDEX IF NOT EXISTS of_run ON checkpoint (run_id, step_index)",
  });
  const insert = db.prepare("INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?, ?, ?)");
  const all = db.prepare("SELECT body FROM checkpoint WHERE run_id = ? ORDER BY step_index").pluck();
  const last = db.prepare("SELECT body FROM checkpoint WHERE run_id = ? ORDER BY step_index DESC LIMIT 1").pluck();
  const put = (checkpoint) => {
    const text = JSON.stringify(checkpoint);
    insert.run(checkpoint.id, checkpoint.runId, checkpoint.stepIndex, checkpoint.createdAt, text);
    return text;
  };
  return {
    mode: `better-sqlite3: ${mode(db)}`,
    async run({ runId, initialState }) {
      let state = initialState;
      let text = put(checkpointOf(runId, -1, "initial", state));
      for (const [stepIndex, step] of steps.entries()) {
        const draft = JSON.parse(text).state;
        const result = await step.run(draft);
        state = { ...draft, ...result };
        text = put(checkpointOf(runId, stepIndex, step.name, state));
      }
      return state;
    },
    list: async (runId) => all.all(runId).map((text) => JSON.parse(text)),
    resume: async (runId) => JSON.parse(last.get(runId)),
    close: () => db.close(),
  };
}

/** A hand-written loop that keeps copies of the states in a Map. */
export function copies({ steps }) {
  const map = new Map();
  const put = (checkpoint) => {
    const copy = structuredClone(checkpoint);
    map.set(checkpoint.id, copy);
    return copy;
  };
  return {
    mode: "Map + structuredClone",
    async run({ runId, initialState }) {
      let state = initialState;
      let kept = put(checkpointOf(runId, -1, "initial", state));
      for (const [stepIndex, step] of steps.entries()) {
        const draft = structuredClone(kept.state);
        const result = await step.run(draft);
        state = { ...draft, ...result };
        kept = put(checkpointOf(runId, stepIndex, step.name, state));
      }
      return state;
    },
    list: async (runId) => [...map.values()].filter((checkpoint) => checkpoint.runId === runId),
    close: () => map.clear(),
  };
}
