/** The calls of the AI SDK's chats and streams. `engine/src/contract/ai` declares the same calls. */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract } from "../../bridge/wire.js";

export type Revision = engine.ai.Revision;

/** A chat in a list of all chats. */
export type Listed = { chat: string; revision: Revision };

export type Head = engine.ai.Head;

export type NewRow = engine.ai.NewRow;

export type NewVersion = engine.ai.NewVersion;

export type FoundRow = engine.ai.FoundRow;

export type BegunAnswer = engine.ai.BegunAnswer;

type ChatCalls = CallsOf<engine.ai.Call, engine.ai.Responses>;

export const chatCalls = new Contract<ChatCalls>("ai", {
  kinds: { save: "save", fork: "save", take: "save", release: "save", remove: "prune" },
  subject: ({ row, chat }) => ({ run: row?.chat ?? chat }),
  counts: { read: ({ records }) => records.length, rows: ({ rows }) => rows.length },
});

export type StreamHead = engine.ai_streams.Head;

export type PackedHead = engine.ai_streams.FoundHead;

type StreamCalls = CallsOf<engine.ai_streams.Call, engine.ai_streams.Responses>;

export const streamCalls = new Contract<StreamCalls>("ai-streams", {
  kinds: { begin: "save", append: "save", remove: "prune" },
  subject: ({ stream }) => ({ run: stream }),
  counts: { read: ({ chunks }) => chunks.length },
});
