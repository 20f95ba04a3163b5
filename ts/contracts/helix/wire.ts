/** Declares the engine's calls for Helix sessions. See `engine/src/contract/helix/call.rs`. */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract, type Exact, type PackedPart } from "../../bridge/wire.js";

export type Row = engine.helix.Session;

export type End = engine.helix.LogEnd;
export type Packed = engine.helix.PackedRecords;

/** The fields of a checkpoint for the engine. */
export interface CheckpointFields {
  id: string;
  sessionId: string;
  stepCount: number;
  timestamp: number;
  streamSequence: number;
}

export interface FoundCheckpoint<P> extends CheckpointFields {
  savedAt: number;
  messageCount: number;
  /** True if `branchSession` made the checkpoint, so that its state is a copy from another session. */
  copied: boolean;
  parts: P[];
  /** The messages that the checkpoint shares with its session. Null if its parts hold the messages. */
  messages: P[] | null;
}

type HelixCalls = CallsOf<
  engine.helix.Call,
  {
    change: null;
    branch: null;
    append: null;
    delete: null;
    expire: null;
    session: (Row & { incarnation: Exact | null; parts: PackedPart[] }) | null;
    sessions: Array<Row & { cursor: string }>;
    messages: { savedAt: number; total: number; messages: PackedPart[] } | null;
    compare: {
      savedAt: number;
      version: number;
      total: number;
      same: boolean;
      since: boolean;
      incarnation: Exact | null;
    } | null;
    save: null;
    load: FoundCheckpoint<PackedPart> | null;
    latest: FoundCheckpoint<PackedPart> | null;
    list: {
      total: number;
      rest: number;
      items: Array<{ id: string; stepCount: number; timestamp: number; place?: number; status: string | null }>;
    };
  }
>;

export const helix = new Contract<HelixCalls>("helix", {
  kinds: { change: "save", branch: "save", append: "save", save: "save", delete: "prune", expire: "prune" },
  subject: ({ sessionId, session, id, copyId, checkpointId }) => ({
    run: sessionId ?? session?.id,
    id: id ?? copyId ?? checkpointId,
  }),
  counts: { messages: ({ messages }) => messages.length, list: ({ items }) => items.length },
});
