/** The messages of a conversation, in one form for all frameworks and providers. Needs no module of Node, because the page uses it. */

import type { CheckpointInfo } from "../../plugin/views.js";

/** How many tokens a message has used. Null: it is not stored. */
export interface TokenUsage {
  /** The tokens that the model has read, with those from a cache. */
  input: number | null;
  /** The tokens that the model has written, with its reasoning. */
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
 * A part of a message, in the order in which it is stored. Values are in the JSON form: see {@link CheckpointDetail}.
 *
 * - `reasoning`: an empty text is reasoning that the provider has hidden.
 * - `call`: a call of a tool. `result` is null if there is none yet. `state` is what the framework says of it, such as
 *   `"approval-requested"`.
 * - `result`: the result of a call that is not in the list.
 * - `media`: an image, a sound or a file. `bytes` is null if only its URL is stored.
 * - `value`: a part of an unknown kind, as it is stored. `name` is its kind.
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
  /** `"system"`, `"user"`, `"assistant"`, `"tool"`, or another role as it is stored. `"unknown"`: the entry is no message. */
  role: string;
  /** The name of the participant, if there is one. */
  name: string | null;
  parts: MessagePart[];
  /** The model that wrote it. */
  model: string | null;
  usage: TokenUsage | null;
  /** How long the model took, in ms. */
  durationMs: number | null;
  /** When it was made, in ms since the epoch. */
  at: number | null;
  /**
   * What an SDK says about an entry of a transcript. `"meta"`: the SDK has written it for the model, and no person has.
   * `"sidechain"`: it belongs to a subagent. Missing: nothing.
   */
  marks?: Array<"meta" | "sidechain">;
  /** Whether this step added or changed the message, compared with the parent of the checkpoint. */
  added: boolean;
}

/** A page of the messages of a checkpoint. */
export interface Conversation {
  checkpoint: CheckpointInfo;
  /** The lists of messages in the state: the path of each, and how many entries it has. */
  lists: Array<{ path: string; entries: number }>;
  /** The path of the list that is shown. Null: the state has no messages. */
  list: string | null;
  /** How many messages the list has. A result that is joined to its call is no message of its own. */
  total: number;
  /** The index of the first message of this page. */
  from: number;
  messages: ConversationMessage[];
}

/** Which messages to read. */
export interface ConversationQuery {
  /** The path of a list, as `lists` has it. Default: the key `messages`, else the longest list. */
  list?: string | undefined;
  /** The index of the first message. A negative number counts from the end. Default: the last `limit` messages. */
  from?: number | undefined;
  /** The length of a page. Default: 100. At most 1,000. */
  limit?: number | undefined;
}
