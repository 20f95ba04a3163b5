/** What the methods of `ForkpointChats` take and return. The names are those of the AI SDK's pages about chats. */

/** A message: the SDK's `UIMessage`, whose module only ES modules can name. */
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
  /** The stream that was active when the chat was saved last. Null: none. */
  activeStreamId: string | null;
  /** Null: the chat has none. */
  metadata: ChatMetadata | null;
  /** The number of the newest version. The first save of messages makes version 1. 0: there is none yet. */
  version: number;
  /** The time of the last change, in ms since the epoch. */
  updatedAt: number;
}

/** Your data about a chat, such as `{ userId: "u-7" }`. */
export type ChatMetadata = Record<string, unknown>;

/** What to save. What is left out stays as it is. Pass `chatId` or `id`: both mean the chat. */
export interface SavedChat<MESSAGE> {
  chatId?: string;
  id?: string;
  /** All messages of the chat. */
  messages?: readonly MESSAGE[];
  /** Null: no stream is active. */
  activeStreamId?: string | null;
  /** A stream that has ended: if it is the active one, no stream is active then. */
  endedStreamId?: string;
  /** Null: removes the metadata. */
  metadata?: ChatMetadata | null;
  /** The version that the messages were made from. If the chat has another one, nothing is saved. */
  expectedVersion?: number;
}

/** A version of a chat: the messages as one save has stored them. */
export interface ChatVersion {
  version: number;
  /** How many messages it has. */
  messages: number;
  /** In ms since the epoch. */
  savedAt: number;
}

/** An answer of a human to the question whether a tool may run. */
export interface Approval {
  approvalId: string;
  toolCallId: string;
  toolName: string;
  approved: boolean;
  reason?: string;
  /** What the tool is called with, as the chat has it. */
  input: unknown;
  /** The id of the message that asks. */
  messageId: string;
}

/** Which chats to remove. */
export interface ChatPruneOptions {
  /** Removes the chats that were changed last before this time: a Date, or ms since the epoch. */
  olderThan?: Date | number | null;
  /** If true, removes nothing and returns what would be removed. Default: false. */
  dryRun?: boolean;
  /** Stops between two chats. The promise then rejects with the signal's reason. */
  signal?: AbortSignal;
}
