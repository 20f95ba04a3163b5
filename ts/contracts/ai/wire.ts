/** The calls of the AI SDK's chats and streams. `engine/src/contract/ai` declares the same calls. */

import { Contract, type Exact, type PackedPart } from "../../bridge/wire.js";
import type { PackedRecords } from "../shared/records.js";

/** The state of a row: when its chat was changed last, and a number that no other change has. */
export interface Place {
  /** In ms since the epoch. */
  updatedAt: number;
  number: number;
}

/** The row of a chat. */
export interface Head {
  /** The newest version. 0: there is none. */
  version: number;
  stream: string | null;
}

export interface NewRow {
  chat: string;
  place: Place;
  /** The place of the row that the change was made from. Undefined: there was no row. */
  seen: Place | undefined;
  head: Head;
  /** The index of the metadata, as JSON. */
  index: string;
  /** Takes a buffer. */
  metadata: { name: string; tag: string } | undefined;
  savedAt: number;
}

/** A version to store. The log keeps its first `keep` records and gets the new ones. */
export interface NewVersion {
  version: number;
  /** The version that the change was made from. Undefined: the chat has none. */
  from: number | undefined;
  keep: number;
  /** Takes a buffer. */
  records: PackedRecords | undefined;
  /** The number of messages of the version. */
  messages: number;
  /** Whether it asks for an approval at its end. */
  asks: boolean;
}

export interface FoundRow extends Head {
  chat: string;
  place: Place;
  index: string;
  /** The incarnation of the chat. Missing in a listing. */
  incarnation?: Exact;
  metadata: PackedPart[];
}

export interface FoundVersion {
  version: number;
  messages: number;
  savedAt: number;
}

interface ChatCalls {
  /** The buffers are the metadata and the records, each if there is one. */
  save(fields: { row: NewRow; version: NewVersion | undefined; keep: number | undefined }): null;
  /** Begins the chat of `row` with the messages of a version. */
  fork(fields: { from: string; version: number; row: NewRow }): null;
  /** Reads a chat with the messages of a version, or of the newest one. `version` is null if there is no such version. */
  read(fields: { chat: string; version: number | undefined }): {
    row: FoundRow;
    version: number | null;
    records: PackedPart[];
  } | null;
  row(fields: { chat: string }): FoundRow | null;
  versions(fields: { chat: string; before: number | undefined; limit: number }): FoundVersion[];
  /** Lists rows, the one that was saved last first. */
  rows(fields: {
    after: string | undefined;
    texts: string[] | undefined;
    key: { key: string; value: string } | undefined;
    limit: number;
  }): { rows: FoundRow[]; next: string | null };
  /** Removes a chat. With `seen`, only if its row has this place. */
  remove(fields: { chat: string; seen: Place | undefined }): null;
  take(fields: {
    chat: string;
    seen: Place;
    approvals: Array<{ id: string; released: boolean }>;
    by: string;
    savedAt: number;
  }): null;
  /** Reads the marks of approvals. Those that were not taken are left out. */
  taken(fields: {
    chat: string;
    approvals: string[];
  }): Array<{ approval: string; at: number; by: string; released: boolean }>;
  release(fields: { chat: string; approval: string; by: string; savedAt: number }): null;
}

export const chatCalls = new Contract<ChatCalls>("ai", {
  kinds: { save: "save", fork: "save", take: "save", release: "save", remove: "prune" },
  subject: ({ row, chat }) => ({ run: row?.chat ?? chat }),
  counts: { read: ({ records }) => records.length, rows: ({ rows }) => rows.length },
});

interface StreamCalls {
  begin(fields: { stream: string; savedAt: number }): null;
  /** Takes a buffer if there are chunks. */
  append(fields: { stream: string; chunks: PackedRecords | undefined; ended: boolean; savedAt: number }): null;
  read(fields: {
    stream: string;
    skip: number;
    limit: number;
  }): { ended: boolean; total: number; chunks: PackedPart[] } | null;
  remove(fields: { stream: string }): null;
  /** Lists streams, the one that was begun last first. */
  streams(fields: {
    before: number | undefined;
    limit: number;
  }): Array<{ cursor: string; stream: string; savedAt: number; ended: boolean }>;
}

export const streamCalls = new Contract<StreamCalls>("ai-streams", {
  kinds: { begin: "save", append: "save", remove: "prune" },
  subject: ({ stream }) => ({ run: stream }),
  counts: { read: ({ chunks }) => chunks.length },
});
