/** The arguments and results of `ForkpointChats`. The names are those of the AI SDK's pages about chats. */

import type { StopResult } from "../../store/results.js";

/** A message: the SDK's `UIMessage`. Only ES modules can import that type. */
export interface ChatMessage {
  id: string;
  role: "system" | "user" | "assistant";
  metadata?: unknown;
  parts: any[];
}

/** A chat, as `readChat` returns it. */
export interface Chat<MESSAGE> extends ChatInfo {
  messages: MESSAGE[];
}

/** A chat without its messages. */
export interface ChatInfo {
  id: string;
  /** The active stream at the last save of the chat. Null: none. */
  activeStreamId: string | null;
  /** Null: the chat has no metadata. */
  metadata: ChatMetadata | null;
  /** The number of the newest version. The first save of messages makes version 1. 0: no version. */
  version: number;
  /** The time of the last change, in ms since the epoch. */
  updatedAt: number;
}

/** Your data about a chat, such as `{ userId: "u-7" }`. */
export type ChatMetadata = Record<string, unknown>;

/** The fields to save. Left-out fields stay as they are. `chatId` and `id` both name the chat. */
export interface SavedChat<MESSAGE> {
  chatId?: string;
  id?: string;
  /** All messages of the chat. */
  messages?: readonly MESSAGE[];
  /** Null: no stream is active. */
  activeStreamId?: string | null;
  /** An ended stream. If it is the active stream, the chat then has none. */
  endedStreamId?: string;
  /** Null: removes the metadata. */
  metadata?: ChatMetadata | null;
  /** The version that the messages were made from. If the chat has a different one, nothing is saved. */
  expectedVersion?: number;
}

/** A version of a chat: the messages of one save. */
export interface ChatVersion {
  version: number;
  /** The number of messages. */
  messages: number;
  /** In ms since the epoch. */
  savedAt: number;
}

/** A human's answer to the question whether a tool may run. */
export interface Approval {
  approvalId: string;
  toolCallId: string;
  toolName: string;
  approved: boolean;
  reason?: string;
  /** The arguments of the tool, from the stored chat. */
  input: unknown;
  /** The id of the message with the question. */
  messageId: string;
}

/** Selects the chats to remove. */
export interface ChatPruneOptions {
  /** Removes the chats whose last change was before this time: a Date, or ms since the epoch. */
  olderThan?: Date | number | null;
  /** If true, chats that wait for an approval go too. If false, none. Default: those older than `waitingTtlMs`. */
  waiting?: boolean;
  /** If true, removes nothing and returns what would be removed. Default: false. */
  dryRun?: boolean;
  /** Stops between two chats. The promise then rejects with the signal's reason. */
  signal?: AbortSignal;
}

/** The result of `stop` for a chat. */
export interface ChatStopResult<MESSAGE> extends StopResult {
  /**
   * - `"stopped"`: the last answer was stopped, now or earlier.
   * - `"interrupted"`: its process ended before. It was ended in its place.
   * - `"ended"`: it had come to its end.
   * - `"failed"`: its source had failed.
   * - `"open"`: it is still made, because its process has not reacted in `waitMs`.
   * - Null: there is no answer, or its text was removed.
   */
  answer: "stopped" | "interrupted" | "ended" | "failed" | "open" | null;
  streamId: string | null;
  /** The answer so far, as the next turn can use it. Null: there is no usable part. */
  message: MESSAGE | null;
  /** True if the chat has the message. */
  saved: boolean;
}
