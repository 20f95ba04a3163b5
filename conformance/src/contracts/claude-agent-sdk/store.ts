/** What the suite uses of the SDK's `SessionStore`. */
export interface Store {
  append(key: Key, entries: Entry[]): Promise<void>;
  load(key: Key): Promise<Entry[] | null>;
  listSessions?(projectKey: string): Promise<Session[]>;
  listSessionSummaries?(projectKey: string): Promise<Summary[]>;
  delete?(key: Key): Promise<void>;
  listSubkeys?(key: { projectKey: string; sessionId: string }): Promise<string[]>;
}

/** Names a transcript: that of a session, or with `subpath` that of one of its subagents. */
export interface Key {
  projectKey: string;
  sessionId: string;
  subpath?: string;
}

/** A line of a transcript. */
export interface Entry {
  type: string;
  uuid?: string;
  timestamp?: string;
  [field: string]: unknown;
}

export interface Session {
  sessionId: string;
  /** ms since the epoch. */
  mtime: number;
}

/** What the SDK's `foldSessionSummary` returns. */
export interface Summary extends Session {
  data: Record<string, unknown>;
}
