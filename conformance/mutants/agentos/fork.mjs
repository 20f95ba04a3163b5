// Stores whose forks are wrong.
import { ReferenceStore } from "./reference.mjs";

/** Returns a mutant that does something else with patches. */
const merging = (merge) =>
  class extends ReferenceStore {
    merge = (...of) => merge.call(this, (...more) => super.merge(...more), ...of);
  };

/** Returns a mutant that changes the fork's checkpoint after it was made. */
const forking = (change) =>
  class extends ReferenceStore {
    async fork(checkpointId, patch) {
      const runId = await super.fork(checkpointId, patch);
      const [row] = this.select((one) => one.runId === runId);
      change({ row, patch, source: this.rows.get(checkpointId) });
      return runId;
    }
  };

export const forks = {
  "agentos/fork": forking(({ row: { checkpoint } }) => {
    checkpoint.nodeResults = {};
  }),
  "agentos/fork-fresh-ids": class extends ReferenceStore {
    async fork(checkpointId, patch) {
      this.made = 0;
      return super.fork(checkpointId, patch);
    }
  },
  "agentos/fork-time": forking(({ row, source }) => {
    row.timestamp = source.timestamp;
    row.checkpoint.timestamp = source.timestamp;
  }),
  "agentos/fork-patch": merging((_, partition) => partition),
  // As the sample of the guide does.
  "agentos/fork-patch-merges": merging((_, partition, changes) => changes),
  "agentos/fork-patch-of-other-keys": forking(({ row, patch }) => Object.assign(row.checkpoint.state, patch)),
  "agentos/fork-patch-of-no-object": merging((merge, partition, changes) => {
    if (partition === null) throw new TypeError("Cannot convert undefined or null to object");
    return merge(partition, changes);
  }),
  "agentos/fork-leaves-source": forking(({ row, source }) => {
    source.checkpoint.state = row.checkpoint.state;
  }),
  "agentos/fork-missing": class extends ReferenceStore {
    fork = async (checkpointId, patch) =>
      this.rows.has(checkpointId) ? super.fork(checkpointId, patch) : this.newId();
  },
  "agentos/fork-is-deep": class extends ReferenceStore {
    async fork(checkpointId, patch) {
      const runId = await super.fork(checkpointId, patch);
      const [row] = this.select((one) => one.runId === runId);
      const { state } = this.rows.get(checkpointId).checkpoint;
      row.checkpoint.state = { ...state, scratch: { ...state.scratch, ...patch?.scratch } };
      return runId;
    }
    read = (row) => row?.checkpoint ?? null;
  },
  "agentos/fork-copies-patch": {
    isRaw: true,
    store: forking(({ row, patch }) => {
      row.checkpoint.state.scratch = { ...row.checkpoint.state.scratch, ...patch?.scratch };
    }),
  },
  "agentos/fork-patch-of-proto": merging((_, partition, changes) => Object.assign(partition, changes)),
};
