/** Cuts the messages of a conversation to limit the size of an answer. Uses nothing of Node. */

import { limitedJsonForm } from "../../ts/inspect/limit.js";
import { MAX_ANSWER, fitting, shortCheckpoint, sizeOf } from "./answers.js";
import type { Missing } from "./forms.js";
import type {
  Conversation,
  ConversationMessage,
  MessagePart,
  ToolResult,
} from "../../ts/inspect/conversation/message.js";

/** The default for the number of characters of a text in an answer. */
const TEXT = 4_000;

/** The maximum number of parts of a message in an answer. */
const PARTS = 200;

/** The maximum length of a name, id or path in an answer, in characters. */
const NAME = 1_000;

const name = <T extends string | null>(text: T): T => (text === null ? text : (text.slice(0, NAME) as T));

/** Cuts a message. */
function shortMessage(message: ConversationMessage, text: number, most = PARTS): ConversationMessage & Missing {
  const { path, id, role, name: own, model } = message;
  const names = { path: name(path), id: name(id), role: name(role), name: name(own), model: name(model) };
  return { ...message, ...names, ...shortParts(message.parts, text, most) };
}

function shortParts(parts: readonly MessagePart[], text: number, most: number): { parts: MessagePart[] } & Missing {
  const more = parts.length - most;
  return {
    parts: parts.slice(0, most).map((part) => shortPart(part, text, most)),
    ...(more > 0 && { moreParts: more }),
  };
}

function shortPart(part: MessagePart, text: number, most: number): MessagePart {
  switch (part.type) {
    case "text":
    case "reasoning":
    case "error":
      return { ...part, ...cutText(part.text, text) };
    case "value":
      return { ...part, name: name(part.name), value: shortValue(part.value, text) };
    case "call": {
      const names = { id: name(part.id), name: name(part.name), state: name(part.state) };
      const result = part.result && shortResult(part.result, text, most);
      return { ...part, ...names, args: shortValue(part.args, text), result };
    }
    case "result":
      return { ...part, id: name(part.id), name: name(part.name), result: shortResult(part.result, text, most) };
    default:
      return part;
  }
}

function shortResult(result: ToolResult, text: number, most: number): ToolResult & Missing {
  return { ...result, path: name(result.path), ...shortParts(result.parts, text, most) };
}

function cutText(text: string, most: number): { text: string } & Missing {
  if (text.length <= most) return { text };
  const begin = text.slice(0, most).replace(/[\ud800-\udbff]$/, "");
  return { text: begin, more: text.length - begin.length };
}

const shortValue = (value: unknown, most: number): unknown =>
  limitedJsonForm(value, { depth: 6, items: 50, textBytes: most, bytes: 4 * most });

/** Cuts a page of messages to the answer's size. For a negative `from`, keeps the messages nearest to the end. */
export function shortConversation(found: Conversation, from: number | undefined, text = TEXT): Conversation {
  const room = MAX_ANSWER - MAX_ANSWER / 8;
  const short = found.messages.map((message) => shortMessage(message, text));
  // A page from the end loses its first messages.
  const isFromEnd = from === undefined || from < 0;
  const fit = isFromEnd ? fitting(short.toReversed(), room).toReversed() : fitting(short, room);
  const messages =
    fit.length > 0 || short.length === 0 ? fit : [tiny(found.messages[isFromEnd ? short.length - 1 : 0]!)];
  const first = isFromEnd ? found.from + found.messages.length - messages.length : found.from;
  const lists = fitting(found.lists, MAX_ANSWER / 16);
  return { ...found, checkpoint: shortCheckpoint(found.checkpoint), lists, from: first, messages };
}

/** Cuts a message that is too large for an answer by itself. */
function tiny(message: ConversationMessage): ConversationMessage {
  for (const [text, parts] of [
    [TEXT, PARTS],
    [1_000, 50],
    [100, 10],
  ] as const) {
    const short = shortMessage(message, text, parts);
    if (sizeOf(short) <= MAX_ANSWER / 2) return short;
  }
  return shortMessage(message, 0, 0);
}
