// Recognizes messages of conversations, to show role and text instead of fields.
import { moreOf } from "../forms.js";

export interface MessageText {
  role: string;
  text: string;
  /** The names of the tools that the message calls. */
  calls: string[];
}

const roles: Record<string, string> = { human: "user", ai: "assistant" };

type Fields = Record<string, unknown>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};

/** Returns the role, the text and the calls of a message. Null: not a message, or an incomplete one. */
export function messageText(form: unknown): MessageText | null {
  const { lc, id, kwargs, ...plain } = fieldsOf(form);
  const isWrapped = lc === 1 && Array.isArray(id);
  const fields = isWrapped ? fieldsOf(kwargs) : plain;
  const kind = isWrapped ? /^(\w+)Message(?:Chunk)?$/.exec(String(id.at(-1)))?.[1]?.toLowerCase() : fields["role"];
  const text = textOf(fields["content"]);
  if (typeof kind !== "string" || text === null) return null;
  const calls = fields["tool_calls"];
  const names = Array.isArray(calls) ? calls.map((call) => String(fieldsOf(call)["name"] ?? "a tool")) : [];
  return { role: roles[kind] ?? kind, text, calls: names };
}

function textOf(content: unknown): string | null {
  if (typeof content === "string") return content;
  const more = moreOf(content);
  if (more !== null) return more.text === undefined ? null : `${more.text}…`;
  if (!Array.isArray(content)) return null;
  return content
    .map((part: unknown) => {
      const { type, text } = fieldsOf(part);
      return typeof part === "string" ? part : typeof text === "string" ? text : `[${String(type ?? "…")}]`;
    })
    .join(" ");
}
