/** The calls of the AI SDK's chats and streams. `engine/src/contract/ai` declares the same calls. */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract, type Exact, type PackedPart } from "../../bridge/wire.js";

export type Revision = engine.ai.Revision;

export type Head = engine.ai.Head;

export type NewRow = engine.ai.NewRow;

export type NewVersion = engine.ai.NewVersion;

export interface FoundRow extends Head {
  chat: string;
  revision: Revision;
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

type ChatCalls = CallsOf<
  engine.ai.Call,
  {
    save: null;
    fork: null;
    /** `version` is null if there is no such version. */
    read: { row: FoundRow; version: number | null; records: PackedPart[] } | null;
    row: FoundRow | null;
    versions: FoundVersion[];
    rows: { rows: FoundRow[]; next: string | null };
    remove: null;
    take: null;
    taken: Array<{ approval: string; at: number; by: string; released: boolean }>;
    release: null;
  }
>;

export const chatCalls = new Contract<ChatCalls>("ai", {
  kinds: { save: "save", fork: "save", take: "save", release: "save", remove: "prune" },
  subject: ({ row, chat }) => ({ run: row?.chat ?? chat }),
  counts: { read: ({ records }) => records.length, rows: ({ rows }) => rows.length },
});

type StreamCalls = CallsOf<
  engine.ai_streams.Call,
  {
    begin: null;
    append: null;
    read: { ended: boolean; total: number; chunks: PackedPart[] } | null;
    remove: null;
    streams: Array<{ cursor: string; stream: string; savedAt: number; ended: boolean }>;
  }
>;

export const streamCalls = new Contract<StreamCalls>("ai-streams", {
  kinds: { begin: "save", append: "save", remove: "prune" },
  subject: ({ stream }) => ({ run: stream }),
  counts: { read: ({ chunks }) => chunks.length },
});
