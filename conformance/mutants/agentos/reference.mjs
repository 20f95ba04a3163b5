// A small store in memory that meets every expectation. Made durable by `../durable.mjs`.
import { serialize } from "node:v8";

const partitions = ["input", "scratch", "artifacts", "diagnostics"];

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** `now` returns the time in ms. The other methods than those of the contract are steps that mutants replace. */
export class ReferenceStore {
  rows = new Map();
  saved = 0;
  made = 0;

  constructor(now) {
    this.now = now;
  }

  async save(checkpoint) {
    this.put(this.copy(checkpoint));
  }

  async get(checkpointId) {
    return this.read(this.rows.get(checkpointId));
  }

  async latest(runId) {
    return this.load(runId);
  }

  async load(runId, nodeId) {
    const isWanted = (row) => row.runId === runId && (nodeId === undefined || row.nodeId === nodeId);
    return this.read(this.select(isWanted).toSorted((one, other) => other.order - one.order)[0]);
  }

  async list(graphId, { limit, runId } = {}) {
    const isWanted = (row) => row.graphId === graphId && (runId === undefined || row.runId === runId);
    return this.limited(this.select(isWanted), limit).map((row) => this.describe(row));
  }

  async delete(checkpointId) {
    this.rows.delete(checkpointId);
  }

  async fork(checkpointId, patch = {}) {
    const source = this.rows.get(checkpointId);
    if (source === undefined) throw new Error(`checkpoint ${checkpointId} not found`);
    const forked = this.copy(source.checkpoint);
    Object.assign(forked, { id: this.newId(), runId: this.newId(), timestamp: this.now() });
    for (const name of partitions) {
      const changes = this.copy(patch[name]);
      if (changes !== undefined) forked.state[name] = this.merge(forked.state[name], changes);
    }
    this.put(forked);
    return forked.runId;
  }

  copy(value) {
    return structuredClone(value);
  }

  read(row) {
    return row === undefined ? null : this.copy(row.checkpoint);
  }

  put(checkpoint) {
    const { id, runId, graphId, nodeId, timestamp } = checkpoint;
    this.saved += 1;
    this.rows.set(id, { id, runId, graphId, nodeId, timestamp, order: this.saved, checkpoint });
  }

  /** Returns the rows that are wanted, the newest first. */
  select(isWanted) {
    return [...this.rows.values()].filter(isWanted).toSorted((one, other) => this.compare(one, other));
  }

  compare(one, other) {
    return other.timestamp - one.timestamp || other.order - one.order;
  }

  limited(rows, limit) {
    return limit > 0 ? rows.slice(0, limit) : rows;
  }

  describe({ id, runId, graphId, nodeId, timestamp, checkpoint: { state, memorySnapshot } }) {
    const hasMemorySnapshot = memorySnapshot !== undefined;
    return { id, runId, graphId, nodeId, timestamp, stateSize: serialize(state).length, hasMemorySnapshot };
  }

  newId() {
    this.made += 1;
    return `f0000000-0000-4000-8000-${String(this.made).padStart(12, "0")}`;
  }

  /** Returns both as one, and takes `__proto__` as a key. */
  merge(partition, changes) {
    const all = isObject(partition)
      ? [...Object.entries(partition), ...Object.entries(changes)]
      : Object.entries(changes);
    return Object.fromEntries(all);
  }
}

export const changes = ["save", "delete", "fork"];
