// A small store in memory that meets every expectation. Made durable by `../durable.mjs`. Its methods are small, so that a mutant
// overrides just one.

/** Makes a summary as the SDK's `foldSessionSummary` does, of those fields that its documentation names and that entries have. */
export function fold(previous, { sessionId }, entries, { mtime }) {
  const data = { ...previous?.data };
  for (const entry of entries) {
    data.isSidechain ??= entry.isSidechain === true;
    if (entry.timestamp !== undefined) data.createdAt ??= Date.parse(entry.timestamp);
    if (typeof entry.cwd === "string") data.cwd ??= entry.cwd;
    for (const field of ["customTitle", "gitBranch", "tag"])
      if (typeof entry[field] === "string") data[field] = entry[field];
  }
  return { sessionId, mtime, data };
}

const isMain = ({ subpath }) => subpath === undefined;
export const isSameSession = (a, b) => a.projectKey === b.projectKey && a.sessionId === b.sessionId;

export class ReferenceStore {
  /** By the ids of transcripts: `{ key, texts, uuids, mtime, summary }`. */
  logs = new Map();

  /** `now` returns the time in ms. */
  constructor(now) {
    this.now = now;
  }

  idOf({ projectKey, sessionId, subpath = null }) {
    return JSON.stringify([projectKey, sessionId, subpath]);
  }

  textOf(entry) {
    const text = JSON.stringify(entry);
    if (text?.[0] !== "{") throw new TypeError("an entry must be an object");
    return text;
  }

  check({ subpath }) {
    if (subpath === "") throw new TypeError("a subpath must not be empty");
  }

  begin(key) {
    return { key, texts: [], uuids: new Set(), mtime: 0, summary: undefined };
  }

  /** Returns the texts of the entries that the transcript does not have yet. */
  fresh({ uuids }, texts) {
    const seen = new Set(uuids);
    return texts.filter((text) => {
      const { uuid } = JSON.parse(text);
      if (uuid === undefined) return true;
      return !seen.has(uuid) && seen.add(uuid);
    });
  }

  mtimeAfter({ mtime }, _entries) {
    return Math.max(this.now(), mtime + 1);
  }

  changed(_log) {}

  async append(key, entries) {
    this.check(key);
    const texts = entries.map((entry) => this.textOf(entry));
    const log = this.logs.get(this.idOf(key)) ?? this.begin(key);
    const added = this.fresh(log, texts);
    if (added.length > 0) this.add(log, added);
  }

  add(log, texts) {
    const entries = texts.map((text) => JSON.parse(text));
    log.texts.push(...texts);
    for (const { uuid } of entries) if (uuid !== undefined) log.uuids.add(uuid);
    log.mtime = this.mtimeAfter(log, entries);
    if (isMain(log.key)) log.summary = this.summaryAfter(log, entries);
    this.logs.set(this.idOf(log.key), log);
    this.changed(log);
  }

  summaryAfter({ key, mtime, summary }, entries) {
    return fold(summary, key, entries, { mtime });
  }

  async load(key) {
    return this.logs.get(this.idOf(key))?.texts.map((text) => JSON.parse(text)) ?? null;
  }

  mains(projectKey) {
    return [...this.logs.values()].filter(({ key }) => isMain(key) && key.projectKey === projectKey);
  }

  async listSessions(projectKey) {
    return this.mains(projectKey).map(({ key: { sessionId }, mtime }) => ({ sessionId, mtime }));
  }

  async listSessionSummaries(projectKey) {
    return this.mains(projectKey).map(({ summary }) => structuredClone(summary));
  }

  async listSubkeys(key) {
    const all = [...this.logs.values()].filter((log) => isSameSession(log.key, key) && !isMain(log.key));
    return all.map(({ key: { subpath } }) => subpath);
  }

  /** Returns true if a transcript goes when this key is deleted. */
  goes(key, { key: of }) {
    return isSameSession(of, key) && (isMain(key) || of.subpath === key.subpath);
  }

  async delete(key) {
    for (const [id, log] of this.logs) if (this.goes(key, log)) this.logs.delete(id);
  }

  /** Only for mutants: replaces the entries of a transcript. */
  async replace(key, entries) {
    const log = this.begin(key);
    log.mtime = this.logs.get(this.idOf(key))?.mtime ?? 0;
    if (entries.length > 0)
      this.add(
        log,
        entries.map((entry) => this.textOf(entry)),
      );
  }

  /** Only for mutants: sets the summary of a session. */
  async setSummary(key, summary) {
    const log = this.logs.get(this.idOf(key)) ?? this.begin(key);
    log.summary = summary;
    this.logs.set(this.idOf(key), log);
  }
}

export const changes = ["append", "delete", "replace", "setSummary"];
