/** The plug-ins of the AI SDK's chats and streams: see {@link Plugin}. */

import { fieldsOf, listOf, readState, textOf } from "../shared/asking.js";
import type { Plugin } from "../../plugin/plugin.js";
import type { Live } from "../../plugin/questions.js";
import { joinRecords } from "./messages.js";

export const chats: Plugin = {
  values: (parts, _, { records }) => [
    { messages: joinRecords((records ?? []).map((part) => parts.read(part).value)).messages },
    null,
  ],
  /** The open approvals at the end of a chat. The SDK takes an answer only in its own program. */
  questions: {
    async live(context, { run }, row) {
      const { state } = await readState(context, row, chats.values!);
      const messages = listOf(fieldsOf(state)["messages"]).map(fieldsOf);
      const last = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
      const parts = last.flatMap((message) => listOf(message["parts"]).map(fieldsOf));
      return parts
        .filter(({ state: of }) => of === "approval-requested")
        .map((part): Live => {
          const id = textOf(fieldsOf(part["approval"])["id"]) ?? String(part["toolCallId"]);
          const tool = textOf(part["toolName"]) ?? String(part["type"]).replace(/^tool-/, "");
          const says = { tool, args: part["input"] ?? null, text: "", choices: [] };
          return { id, node: null, value: part, answered: null, says, code: codeOf(run, id) };
        });
    },
  },
};

const codeOf = (run: string, id: string) => `// In the page of the chat ${JSON.stringify(run)}, which has useChat():
addToolApprovalResponse({ id: ${JSON.stringify(id)}, approved: true }); // or false`;

export const streams: Plugin = {
  /** The text, and the note: who stopped the stream and why, or the error of its source. */
  values: (parts, _, { parts: [note], records }) => {
    const text = (records ?? []).map((part) => parts.read(part).value).join("");
    return [{ text }, note ? parts.read(note).value : null];
  },
};
