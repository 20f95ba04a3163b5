// Mutants of `listSessions` and `listSubkeys`.
import { ReferenceStore, isSameSession } from "./reference.mjs";

/** A store that lists what `change` makes of the subpaths. */
const subkeys = (change) =>
  class extends ReferenceStore {
    listSubkeys = async (key) => change(await super.listSubkeys(key), key, this);
  };

/** A store that takes other transcripts for those of a project. */
const mains = (choose) =>
  class extends ReferenceStore {
    async listSessions(projectKey) {
      const found = choose([...this.logs.values()], projectKey, super.mains(projectKey));
      return found.map(({ key: { sessionId }, mtime }) => ({ sessionId, mtime }));
    }
  };

/** A pattern as SQL's LIKE takes it. */
const likeOf = (text) =>
  new RegExp(
    `^${text
      .replace(/[.*?[\]]/g, "\\$&")
      .replaceAll("_", ".")
      .replaceAll("%", ".*")}$`,
  );

export const lists = {
  "claude-agent-sdk/list-sessions": mains((all, _, found) =>
    found.length > 0 ? found : all.filter(({ key }) => key.subpath === undefined),
  ),
  "claude-agent-sdk/list-sessions-without-main": mains((all, projectKey) => {
    const ofProject = all.filter(({ key }) => key.projectKey === projectKey);
    return ofProject.filter(({ key }, at) => ofProject.findIndex((log) => isSameSession(log.key, key)) === at);
  }),
  "claude-agent-sdk/list-all": mains((_, _projectKey, found) => found.slice(0, 100)),
  "claude-agent-sdk/keys-wildcards": class extends ReferenceStore {
    async listSessions(projectKey) {
      const like = likeOf(projectKey);
      const found = [...this.logs.values()].filter(({ key }) => key.subpath === undefined && like.test(key.projectKey));
      return found.map(({ key: { sessionId }, mtime }) => ({ sessionId, mtime }));
    }
  },
  "claude-agent-sdk/list-subkeys": subkeys((found, key, { logs }) =>
    [...logs.values()]
      .filter((log) => log.key.projectKey === key.projectKey && log.key.subpath !== undefined)
      .map((log) => log.key.subpath),
  ),
  "claude-agent-sdk/list-subkeys-main": subkeys((found) => (found.length > 0 ? found : [""])),
  "claude-agent-sdk/list-subkeys-verbatim": subkeys((found) => found.map((subpath) => subpath.split("/").at(-1))),
  "claude-agent-sdk/list-all-subkeys": subkeys((found) => found.slice(0, 100)),
};
