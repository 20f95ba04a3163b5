/** Turns a list of a state into the messages of a conversation: results are joined to their calls. */

import { readEnvelope } from "./envelope.js";
import type { MessageList } from "./lists.js";
import type { Reader } from "./reader.js";
import type { ConversationMessage, MessagePart } from "./message.js";

type Call = Extract<MessagePart, { type: "call" }>;

/**
 * Returns the messages of a list. A message whose parts are all results joined to calls is left out.
 * @param isAdded whether this step added the entry with this index.
 */
export function messagesOf(
  reader: Reader,
  { path: list, entries }: MessageList,
  isAdded: (index: number) => boolean,
): ConversationMessage[] {
  const messages: ConversationMessage[] = [];
  const calls = new Map<string, Call>();
  for (const [index, form] of entries.entries()) {
    const { usageId: _, parts: all, ...envelope } = readEnvelope(reader, form);
    const path = `${list}[${index}]`;
    const added = isAdded(index);
    const parts = all.filter((part) => {
      if (part.type === "call") {
        if (part.result !== null) Object.assign(part.result, { path, added });
        if (part.id !== null) calls.set(part.id, part);
      }
      if (part.type !== "result") return true;
      Object.assign(part.result, { path, added });
      const call = part.id === null ? undefined : calls.get(part.id);
      if (call === undefined || call.result !== null) return true;
      call.result = part.result;
      return false;
    });
    if (parts.length > 0 || all.length === 0) messages.push({ path, ...envelope, parts, added });
  }
  return messages;
}
