/** The messages of a conversation, in one form for all frameworks and providers. Uses nothing of Node, for the page. */

import type { CheckpointInfo } from "../../plugin/views.js";

/** The tokens of a message. Null: not stored. */
export interface TokenUsage {
  /** The tokens that the model read, including cached tokens. */
  input: number | null;
  /** The tokens that the model wrote, including reasoning. */
  output: number | null;
  /** The tokens of `input` that came from a cache. */
  cached: number | null;
  /** The tokens of `output` that were reasoning. */
  reasoning: number | null;
  total: number | null;
}

/** The result of a tool, joined to its call. */
export interface ToolResult {
  /** The path of the message in the state that has the result. */
  path: string;
  parts: MessagePart[];
  isError: boolean;
  /** Whether this step added the result. */
  added: boolean;
}

/**
 * A part of a message, in stored order. Values are in the JSON form: see {@link CheckpointDetail}.
 *
 * - `reasoning`: the text is empty if the provider has hidden it.
 * - `call`: a call of a tool. `result` is null before the result. `state` is the framework's word, such as
 *   `"approval-requested"`.
 * - `result`: the result of a call outside of the list.
 * - `media`: an image, a sound or a file. `bytes` is null if only its URL is stored.
 * - `value`: a part of an unknown kind, as stored. `name` is its kind.
 */
export type MessagePart =
  | { type: "text" | "reasoning" | "error"; text: string }
  | { type: "call"; id: string | null; name: string; args: unknown; result: ToolResult | null; state: string | null }
  | { type: "result"; id: string | null; name: string | null; result: ToolResult }
  | { type: "media"; mediaType: string; bytes: number | null; name: string | null; url: string | null }
  | { type: "value"; name: string | null; value: unknown };

/** A message of a conversation. */
export interface ConversationMessage {
  /** Its path in the state, such as `messages[3]`. */
  path: string;
  id: string | null;
  /** `"system"`, `"user"`, `"assistant"`, `"tool"`, or another stored role. `"unknown"`: the entry is not a message. */
  role: string;
  /** The name of the participant, if there is one. */
  name: string | null;
  parts: MessagePart[];
  /** The model that wrote the message. */
  model: string | null;
  usage: TokenUsage | null;
  /** How long the model took, in ms. */
  durationMs: number | null;
  /** When the message was made, in ms since the epoch. */
  at: number | null;
  /**
   * An SDK's marks of a transcript entry. `"meta"`: the SDK wrote it for the model. `"sidechain"`: it belongs to a
   * subagent. Missing: no marks.
   */
  marks?: Array<"meta" | "sidechain">;
  /** Whether this step added or changed the message, compared with the parent of the checkpoint. */
  added: boolean;
}

/** A page of the messages of a checkpoint. */
export interface Conversation {
  checkpoint: CheckpointInfo;
  /** The lists of messages in the state: the path and the number of entries of each. */
  lists: Array<{ path: string; entries: number }>;
  /** The path of the shown list. Null: the state has no messages. */
  list: string | null;
  /** The number of messages in the list. A result that is joined to its call does not count. */
  total: number;
  /** The index of the first message of this page. */
  from: number;
  messages: ConversationMessage[];
}

/** Selects the messages to read. */
export interface ConversationQuery {
  /** The path of a list, as in `lists`. Default: the key `messages`, else the longest list. */
  list?: string | undefined;
  /** The index of the first message. A negative number counts from the end. Default: the last `limit` messages. */
  from?: number | undefined;
  /** The length of a page. Default: 100. At most 1,000. */
  limit?: number | undefined;
}
