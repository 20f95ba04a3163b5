// Stores whose methods do something else than the contract says.
import { ReferenceStore } from "./reference.mjs";

/** Returns a mutant whose stored checkpoints lack or change something. */
const storing = (change) =>
  class extends ReferenceStore {
    put = (checkpoint) => super.put(change(checkpoint));
  };

/** Returns a mutant whose metadata lacks or changes something. */
const describing = (change) =>
  class extends ReferenceStore {
    describe = (row) => ({ ...super.describe(row), ...change(row) });
  };

const known =
  "id graphId runId nodeId timestamp state memorySnapshot nodeResults visitedNodes skippedNodes pendingEdges";

export const contract = {
  "agentos/get": storing((checkpoint) => ({ ...checkpoint, pendingEdges: [] })),
  "agentos/optional-fields": storing((checkpoint) => ({ ...checkpoint, skippedNodes: [] })),
  "agentos/unknown-fields": storing((checkpoint) =>
    Object.fromEntries(Object.entries(checkpoint).filter(([key]) => known.split(" ").includes(key))),
  ),
  "agentos/missing": class extends ReferenceStore {
    read = (row) => row && super.read(row);
  },
  "agentos/latest-takes-any-text": class extends ReferenceStore {
    async latest(runId) {
      if (!/^[0-9a-f-]{36}$/.test(runId)) throw new Error(`invalid input syntax for type uuid: "${runId}"`);
      return super.latest(runId);
    }
  },
  "agentos/latest": class extends ReferenceStore {
    latest = async (runId) => this.read(this.select((row) => row.runId === runId).at(-1));
  },
  "agentos/load-node": class extends ReferenceStore {
    load = async (runId) => super.load(runId);
  },
  "agentos/save-again": class extends ReferenceStore {
    put(checkpoint) {
      if (!this.rows.has(checkpoint.id)) super.put(checkpoint);
    }
  },
  // As the sample of the guide does: ON CONFLICT (id) DO UPDATE SET payload.
  "agentos/save-again-elsewhere": class extends ReferenceStore {
    put(checkpoint) {
      const before = this.rows.get(checkpoint.id);
      super.put(checkpoint);
      const { runId, graphId, nodeId, timestamp } = before ?? checkpoint;
      Object.assign(this.rows.get(checkpoint.id), { runId, graphId, nodeId, timestamp });
    }
  },
  "agentos/saves-at-once": {
    around(store) {
      let isBusy = false;
      const save = async (checkpoint) => {
        if (isBusy) return;
        isBusy = true;
        await store.save(checkpoint);
        isBusy = false;
      };
      return { save };
    },
  },
  "agentos/list-metadata": describing(() => ({ timestamp: 0 })),
  "agentos/list-without-states": describing(({ checkpoint }) => checkpoint),
  "agentos/state-size": describing(({ checkpoint }) => ({ stateSize: JSON.stringify(checkpoint).length })),
  "agentos/has-memory-snapshot": describing(() => ({ hasMemorySnapshot: false })),

  "agentos/newest-first": class extends ReferenceStore {
    select = (isWanted) => super.select(isWanted).toReversed();
  },
  "agentos/latest-by-time": class extends ReferenceStore {
    async load(runId, nodeId) {
      const isWanted = (row) => row.runId === runId && (nodeId === undefined || row.nodeId === nodeId);
      return this.read(this.select(isWanted)[0]);
    }
  },
  "agentos/latest-of-equal-times": class extends ReferenceStore {
    async load(runId, nodeId) {
      const isWanted = (row) => row.runId === runId && (nodeId === undefined || row.nodeId === nodeId);
      const rows = this.select(isWanted);
      return this.read(rows.findLast(({ timestamp }) => timestamp === rows[0].timestamp));
    }
  },
  "agentos/list-of-equal-times": class extends ReferenceStore {
    async list(...of) {
      return (await super.list(...of)).toSorted(
        (one, other) => other.timestamp - one.timestamp || (one.id < other.id ? 1 : -1),
      );
    }
  },
  "agentos/save-again-is-newest": class extends ReferenceStore {
    put(checkpoint) {
      const before = this.rows.get(checkpoint.id);
      super.put(checkpoint);
      if (before !== undefined) this.rows.get(checkpoint.id).order = before.order;
    }
  },
  "agentos/fractions": storing((checkpoint) => ({ ...checkpoint, timestamp: Math.trunc(checkpoint.timestamp) })),
  "agentos/limit": class extends ReferenceStore {
    async list(graphId, { limit, runId } = {}) {
      const listed = await super.list(graphId, { limit });
      return listed.filter((one) => runId === undefined || one.runId === runId);
    }
  },
  "agentos/no-default-limit": class extends ReferenceStore {
    limited = (rows, limit = 100) => super.limited(rows, limit);
  },
  "agentos/limit-of-zero": class extends ReferenceStore {
    limited = (rows, limit) => (limit === undefined ? rows : rows.slice(0, Math.max(limit, 0)));
  },

  "agentos/delete": class extends ReferenceStore {
    gone = new Set();
    async delete(checkpointId) {
      this.gone.add(checkpointId);
    }
    get = async (checkpointId) => (this.gone.has(checkpointId) ? null : super.get(checkpointId));
  },
  "agentos/delete-only-one": class extends ReferenceStore {
    async delete(checkpointId) {
      const runId = this.rows.get(checkpointId)?.runId;
      for (const row of this.select((one) => one.runId === runId)) this.rows.delete(row.id);
    }
  },
  "agentos/delete-missing": class extends ReferenceStore {
    async delete(checkpointId) {
      if (!this.rows.has(checkpointId)) throw new Error(`checkpoint ${checkpointId} not found`);
      return super.delete(checkpointId);
    }
  },
  "agentos/delete-then-save": class extends ReferenceStore {
    gone = new Set();
    async delete(checkpointId) {
      this.gone.add(checkpointId);
      return super.delete(checkpointId);
    }
    put(checkpoint) {
      if (!this.gone.has(checkpoint.id)) super.put(checkpoint);
    }
  },
  // Forks hold the id of their source, and read its state.
  "agentos/delete-forked": class extends ReferenceStore {
    sources = new Map();
    async fork(checkpointId, patch) {
      const runId = await super.fork(checkpointId, patch);
      this.sources.set(this.select((row) => row.runId === runId)[0].id, checkpointId);
      return runId;
    }
    async delete(checkpointId) {
      await super.delete(checkpointId);
      for (const [fork, source] of this.sources) if (source === checkpointId) await this.delete(fork);
    }
  },
};
