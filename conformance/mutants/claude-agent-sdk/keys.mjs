// Mutants that mix transcripts up.
import { posix } from "node:path";
import { ReferenceStore } from "./reference.mjs";

/** A store that names transcripts in another way. */
const names = (idOf) =>
  class extends ReferenceStore {
    idOf = (key) => idOf(key, super.idOf(key));
  };

/** A store that changes each part of a key. */
const parts = (change) =>
  names(({ projectKey, sessionId, subpath }) =>
    JSON.stringify([projectKey, sessionId, subpath].map((part) => (part === undefined ? null : change(part)))),
  );

export const keys = {
  "claude-agent-sdk/keys-joined": names(({ projectKey, sessionId, subpath }) =>
    [projectKey, sessionId, ...(subpath === undefined ? [] : [subpath])].join("/"),
  ),
  "claude-agent-sdk/keys-paths": parts((part) => posix.normalize(part)),
  "claude-agent-sdk/keys-case": parts((part) => part.toLowerCase()),
  "claude-agent-sdk/keys-prefix": class extends ReferenceStore {
    async listSubkeys({ projectKey, sessionId }) {
      const all = [...this.logs.values()].map(({ key }) => key).filter(({ subpath }) => subpath !== undefined);
      return all
        .filter((key) => key.projectKey === projectKey && key.sessionId.startsWith(sessionId))
        .map(({ subpath }) => subpath);
    }
  },
  "claude-agent-sdk/keys-long": parts((part) => part.slice(0, 200)),
  "claude-agent-sdk/keys-unicode": parts((part) => part.normalize("NFC")),
  "claude-agent-sdk/keys-prototype": class extends ReferenceStore {
    async load(key) {
      // As in an object with the names of sessions.
      return {}[key.sessionId] === undefined ? super.load(key) : [];
    }
  },
  "claude-agent-sdk/keys-nul": parts((part) => part.split("\0")[0]),
  "claude-agent-sdk/keys-empty-subpath": class extends ReferenceStore {
    check() {}
    idOf = (key) => super.idOf({ ...key, subpath: key.subpath || undefined });
  },
  "claude-agent-sdk/subpaths-apart": names(({ subpath, ...key }, id) =>
    subpath === undefined ? id : JSON.stringify([key, "subagents"]),
  ),
  "claude-agent-sdk/sessions-apart": names(({ projectKey, subpath }, id) =>
    subpath === undefined ? id : JSON.stringify([projectKey, subpath]),
  ),
  "claude-agent-sdk/projects-apart": names(({ sessionId, subpath }) => JSON.stringify([sessionId, subpath])),
  "claude-agent-sdk/uuid-in-other-transcripts": class extends ReferenceStore {
    #uuids = new Set();
    begin = (key) => ({ ...super.begin(key), uuids: this.#uuids });
  },
};
