/** The types of the Claude Agent SDK's session stores, as `@anthropic-ai/claude-agent-sdk` 0.3.330 declares them. */

/** Names a transcript: that of a session or, with `subpath`, that of a subagent. */
export interface SessionKey {
  /** The project. The SDK's default: the working directory, with `-` for each character except letters and digits. */
  projectKey: string;
  sessionId: string;
  /** Leave it out for the main transcript. */
  subpath?: string;
}

/** An entry of a transcript: a line of JSON. */
export interface SessionStoreEntry {
  type: string;
  uuid?: string;
  timestamp?: string;
  [field: string]: unknown;
}

/** The summary of a session. The content of `data` belongs to the SDK. */
export interface SessionSummaryEntry {
  sessionId: string;
  /** ms since the epoch. */
  mtime: number;
  data: Record<string, unknown>;
}

/** `foldSessionSummary` of the SDK: makes the summary of a session from `previous` and the entries after it. */
export type FoldSessionSummary = (
  previous: SessionSummaryEntry | undefined,
  key: SessionKey,
  entries: SessionStoreEntry[],
  options?: { mtime?: number },
) => SessionSummaryEntry;
