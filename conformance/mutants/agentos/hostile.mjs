// Stores that break at odd values and ids, and mix things up.
import { ReferenceStore } from "./reference.mjs";

/** Returns a mutant whose stored states are something else. */
const storing = (change) =>
  class extends ReferenceStore {
    put = (checkpoint) => super.put({ ...checkpoint, state: change(checkpoint.state) });
  };

/** Returns a value with other texts in it. */
const withTexts = (change) => (value) =>
  JSON.parse(JSON.stringify(value), (_, part) => (typeof part === "string" ? change(part) : part));

/** Returns a mutant that sees an id as something else, wherever it is given. */
const naming = (field, change) =>
  class extends ReferenceStore {
    named = {
      id: (id) => id,
      runId: (id) => id,
      nodeId: (id) => id,
      graphId: (id) => id,
      [field]: (id) => id && change(id),
    };
    put(checkpoint) {
      super.put(checkpoint);
      const row = this.rows.get(checkpoint.id);
      for (const name of Object.keys(this.named)) row[name] = this.named[name](row[name]);
      this.rows.delete(checkpoint.id);
      this.rows.set(row.id, row);
    }
    get = async (checkpointId) => super.get(this.named.id(checkpointId));
    load = async (runId, nodeId) => super.load(this.named.runId(runId), this.named.nodeId(nodeId));
    async list(graphId, { runId, ...others } = {}) {
      return super.list(this.named.graphId(graphId), { ...others, runId: this.named.runId(runId) });
    }
  };

/** Returns true if the text is like the pattern of SQL. */
function isLike(text, pattern) {
  const source = pattern
    .replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
    .replaceAll("%", ".*")
    .replaceAll("_", ".");
  return new RegExp(`^${source}$`, "s").test(text);
}

const asJson = (_, part) => (typeof part === "bigint" ? `${part}` : part);

/** Returns an object whose `__proto__` was set. */
const assigned = (value) => Object.assign({}, value);

export const hostile = {
  "agentos/json-values": storing(withTexts((text) => text.normalize("NFC"))),
  "agentos/odd-text": storing((state) => ({
    ...state,
    scratch: withTexts((text) => text.split("\0")[0])(state.scratch),
  })),
  "agentos/undefined": class extends ReferenceStore {
    put(checkpoint) {
      if (Object.values(checkpoint.state).includes(undefined)) throw new Error("cannot store undefined");
      super.put(checkpoint);
    }
  },
  "agentos/keys": storing((state) => ({ ...state, scratch: assigned(state.scratch) })),
  "agentos/rich-values": class extends ReferenceStore {
    put = (checkpoint) => super.put(JSON.parse(JSON.stringify(checkpoint, asJson)));
  },
  "agentos/circular": class extends ReferenceStore {
    describe = (row) => ({ ...super.describe(row), stateSize: JSON.stringify(row.checkpoint.state).length });
  },
  "agentos/nested": storing(function cut(value, depth = 0) {
    if (typeof value !== "object" || value === null) return value;
    if (depth > 32) return "[Object]";
    if (Array.isArray(value)) return value.map((part) => cut(part, depth + 1));
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, cut(part, depth + 1)]));
  }),
  "agentos/large": class extends ReferenceStore {
    put(checkpoint) {
      if (JSON.stringify(checkpoint.state).length > 1_000_000) throw new Error("the item is larger than 1 MB");
      super.put(checkpoint);
    }
  },
  // As files on some systems do.
  "agentos/ids-of-checkpoints": naming("id", (id) => id.toLowerCase()),
  "agentos/ids-of-runs": naming("runId", (id) => id.trim()),
  "agentos/ids-of-nodes": naming("nodeId", (id) => id.normalize("NFC")),
  "agentos/ids-of-graphs": class extends ReferenceStore {
    async list(graphId, { limit, runId } = {}) {
      const isWanted = (row) => isLike(row.graphId, graphId) && (runId === undefined || row.runId === runId);
      return this.limited(this.select(isWanted), limit).map((row) => this.describe(row));
    }
  },
  "agentos/ids-unknown": class extends ReferenceStore {
    async get(checkpointId) {
      const byId = Object.fromEntries(this.select(() => true).map((row) => [row.id, row.checkpoint]));
      const found = byId[checkpointId];
      return found === undefined ? null : typeof found === "function" ? {} : this.copy(found);
    }
  },
  // As UTF-8 does.
  "agentos/ids-odd": naming("id", (id) => Buffer.from(id).toString()),
  "agentos/empty-filters": class extends ReferenceStore {
    load = async (runId, nodeId) => super.load(runId, nodeId || undefined);
  },

  "agentos/runs-apart": class extends ReferenceStore {
    latest = async () => this.read(this.select(() => true)[0]);
  },
  "agentos/graphs-apart": class extends ReferenceStore {
    async list(graphId, { limit, runId } = {}) {
      const isWanted = (row) => row.graphId.startsWith(graphId) && (runId === undefined || row.runId === runId);
      return this.limited(this.select(isWanted), limit).map((row) => this.describe(row));
    }
  },
  "agentos/joined-ids-apart": class extends ReferenceStore {
    async load(runId, nodeId) {
      if (nodeId === undefined) return super.load(runId);
      return this.read(this.select((row) => `${row.runId}:${row.nodeId}` === `${runId}:${nodeId}`)[0]);
    }
  },
  "agentos/snapshot": {
    isRaw: true,
    store: class extends ReferenceStore {
      async save(checkpoint) {
        this.put({ ...checkpoint });
      }
    },
  },
  // `durable` copies what it is given only when it is the call's turn.
  "agentos/snapshot-at-call": { isRaw: true },
  "agentos/argument-stays": {
    around: (store) => ({
      async save(checkpoint) {
        Object.freeze(checkpoint.state.scratch);
        await store.save(structuredClone(checkpoint));
      },
    }),
  },
  "agentos/reads-are-copies": class extends ReferenceStore {
    read = (row) => row?.checkpoint ?? null;
  },
};
