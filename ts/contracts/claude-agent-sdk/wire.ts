/** The calls of the Claude Agent SDK's sessions. `engine/src/contract/claude_agent_sdk.rs` declares the same calls. */

import { Contract, type Exact, type PackedPart } from "../../bridge/wire.js";
import type { PackedRecords } from "../shared/records.js";

export interface Of {
  project: string;
  session: string;
}

/** The row of a session with a main transcript. */
export interface Row {
  version: number;
  /** ms since the epoch. */
  mtime: number;
  /** The summary as JSON text. Empty: it is not known. */
  summary: string;
}

/** A session in a list. `saved` is the number of its last save, which is greater than those of earlier saves. */
export type Listed = Of & Row & { cursor: string; saved: number };

/** The row that a change stores, and the version that the change has seen. Undefined: there was no row. */
type NewRow = Row & { seen: number | undefined };

interface SessionCalls {
  /** Takes one buffer: the entries. With `known`, fails with `CONFLICT` unless the session has a main transcript. */
  append(fields: {
    of: Of;
    subpath: string | undefined;
    entries: PackedRecords;
    row: NewRow | undefined;
    known: boolean;
    /** If given, the session must have this incarnation. */
    incarnation: Exact | undefined;
  }): null;
  truncate(fields: { of: Of; subpath: string | undefined; length: number; row: NewRow | undefined }): null;
  /** Removes a session. With `seen`, only if its row has this version. */
  remove(fields: { of: Of; seen: number | undefined }): null;
  removeSubpath(fields: { of: Of; subpath: string }): null;
  entries(fields: {
    of: Of;
    subpath: string | undefined;
    skip: number;
    limit: number;
  }): { total: number; entries: PackedPart[] } | null;
  session(fields: { of: Of }): (Of & Row & { incarnation: Exact }) | null;
  /** Lists sessions, the one that was begun last first. */
  sessions(fields: { project: string | undefined; before: number | undefined; limit: number }): Listed[];
  subpaths(fields: { of: Of }): string[];
}

export const claude = new Contract<SessionCalls>("claude-agent-sdk", {
  kinds: { append: "save", truncate: "save", remove: "prune", removeSubpath: "prune" },
  subject: ({ of }) => ({ run: of?.session, ns: of?.project }),
  counts: { entries: ({ entries }) => entries.length },
});
