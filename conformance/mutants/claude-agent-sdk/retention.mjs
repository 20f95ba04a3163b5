// Mutants of `delete`.
import { ReferenceStore, isSameSession } from "./reference.mjs";

/** A store that deletes other transcripts. */
const goes = (choose) =>
  class extends ReferenceStore {
    goes = (key, log) => choose(key, log, super.goes(key, log), this);
  };

export const retention = {
  "claude-agent-sdk/delete-main": goes((_, log, does) => does && log.key.subpath !== undefined),
  "claude-agent-sdk/delete-unknown": class extends ReferenceStore {
    async delete(key) {
      if (!this.logs.has(this.idOf(key))) throw new Error("there is no such transcript");
      return super.delete(key);
    }
  },
  "claude-agent-sdk/delete-cascades": goes((key, log, does) => does && log.key.subpath === key.subpath),
  "claude-agent-sdk/delete-without-main": class extends ReferenceStore {
    async delete(key) {
      if (this.logs.has(this.idOf(key))) return super.delete(key);
    }
  },
  "claude-agent-sdk/delete-subpath": goes((key, log) => isSameSession(key, log.key)),
  "claude-agent-sdk/delete-subpath-prefix": goes(
    (key, log, does) =>
      does ||
      (key.subpath !== undefined && isSameSession(key, log.key) && log.key.subpath?.startsWith(key.subpath) === true),
  ),
  "claude-agent-sdk/delete-spares": goes((key, log) => log.key.sessionId.startsWith(key.sessionId)),
  "claude-agent-sdk/delete-summary": class extends ReferenceStore {
    #all = new Map();
    changed({ key, summary }) {
      if (summary !== undefined) this.#all.set(this.idOf(key), summary);
    }
    listSessionSummaries = async () => [...this.#all.values()];
  },
  "claude-agent-sdk/delete-then-append": class extends ReferenceStore {
    #uuids = new Map();
    begin(key) {
      const id = this.idOf(key);
      if (!this.#uuids.has(id)) this.#uuids.set(id, new Set());
      return { ...super.begin(key), uuids: this.#uuids.get(id) };
    }
  },
};
