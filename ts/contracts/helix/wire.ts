/** Declares the engine's calls for Helix sessions. See `engine/src/contract/helix/call.rs`. */

import { Contract, type Exact, type PackedPart, type Part } from "../../bridge/wire.js";

/** The fields of a session that the engine knows. `savedAt` is the time of the session's last write. */
export interface Row {
  id: string;
  /** Grows by 1 with each change, from a random number on. An append of messages is no change. */
  version: number;
  savedAt: number;
  agentType: string;
  status: string;
  stepCount: number;
  createdAt: number;
}

/** The new end of a session's messages: their number, or the checkpoint to which they go back. */
export type End = { length: number } | { checkpoint: string };

/** The formats and the lengths of messages that are in one buffer, one after the other. */
export interface Packed {
  tags: string[];
  lengths: number[];
}

type Name = Pick<Part, "name" | "tag">;

/** The fields of a checkpoint that the engine knows. */
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
  /** True if `branchSession` made the checkpoint. Its state is then a copy of another session's state. */
  copied: boolean;
  parts: P[];
  /** The messages that the checkpoint shares with its session. Null if its parts hold the messages. */
  messages: P[] | null;
}

interface HelixCalls {
  /** Creates or changes a session. Takes a buffer for each part. */
  change(fields: { session: Row; begins: number | undefined; parts: Name[]; messages: End | undefined }): null;
  /** Creates a session from a checkpoint. Takes a buffer for each part. */
  branch(fields: {
    session: Row;
    aliveSince: number;
    parts: Name[];
    checkpointId: string;
    copyId: string;
    timestamp: number;
  }): null;
  /** Takes one buffer: the messages. */
  append(fields: {
    sessionId: string;
    messages: Packed;
    aliveSince: number;
    savedAt: number;
    /** If given, the session must have this incarnation. */
    incarnation: Exact | undefined;
  }): null;
  delete(fields: { sessionId: string }): null;
  /** Removes a session whose last write was before `aliveSince`. */
  expire(fields: { sessionId: string; aliveSince: number }): null;
  session(fields: { sessionId: string }): (Row & { incarnation: Exact | null; parts: PackedPart[] }) | null;
  sessions(fields: { before: number | undefined; limit: number }): Array<Row & { cursor: string }>;
  messages(fields: {
    sessionId: string;
    offset: number;
    limit: number;
  }): { savedAt: number; total: number; messages: PackedPart[] } | null;
  /** Compares messages with those of a session from `offset` on. Takes one buffer: the messages. */
  compare(fields: { sessionId: string; offset: number; since?: { id: string; savedAt: number }; messages: Packed }): {
    savedAt: number;
    version: number;
    total: number;
    same: boolean;
    since: boolean;
    incarnation: Exact | null;
  } | null;
  /** Takes a buffer for each part. */
  save(
    fields: CheckpointFields & {
      /** True: the save is refused with `CONFLICT` if the session is not stored. */
      known: boolean;
      /** If given, the session must have this incarnation. */
      incarnation: Exact | undefined;
      messageCount: number | undefined;
      status: string | undefined;
      /** The role of the state's last message, if it is a short text. */
      lastRole: string | undefined;
      sharesMessages: boolean;
      /** The number of messages to name. Undefined names all messages. */
      messages: number | undefined;
      /** The version of the session in which the messages were counted. */
      version: number | undefined;
      touches: boolean;
      parts: Name[];
      savedAt: number;
    },
  ): null;
  load(fields: { checkpointId: string }): FoundCheckpoint<PackedPart> | null;
  latest(fields: { sessionId: string }): FoundCheckpoint<PackedPart> | null;
  list(fields: {
    sessionId: string;
    aliveSince: number | undefined;
    offset: number;
    limit: number | undefined;
    cursorId: string | undefined;
    cursorTimestamp: number | undefined;
  }): {
    total: number;
    rest: number;
    items: Array<{ id: string; stepCount: number; timestamp: number; place?: number; status: string | null }>;
  };
}

export const helix = new Contract<HelixCalls>("helix", {
  kinds: { change: "save", branch: "save", append: "save", save: "save", delete: "prune", expire: "prune" },
  subject: ({ sessionId, session, id, copyId, checkpointId }) => ({
    run: sessionId ?? session?.id,
    id: id ?? copyId ?? checkpointId,
  }),
  counts: { messages: ({ messages }) => messages.length, list: ({ items }) => items.length },
});
