/** Recognizes messages in the JSON form of a value. They are stored as their constructor's call. */

/** The parts of a message for people. */
export interface Message {
  role: string;
  text: string;
  /** The names of the tools that the message calls. */
  calls: string[];
}

const roles: Record<string, string> = { human: "user", ai: "assistant" };

/** Returns the message of a form. Undefined: not a message. */
export function messageOf(form: unknown): Message | undefined {
  const { lc, type, id, kwargs } = (form ?? {}) as Record<string, unknown>;
  if (lc !== 1 || type !== "constructor" || !Array.isArray(id) || typeof kwargs !== "object" || kwargs === null) return;
  // Streamed messages are chunks: `AIMessageChunk`.
  const [, kind] = /^(\w+)Message(?:Chunk)?$/.exec(String(id.at(-1))) ?? [];
  const { content, tool_calls: calls, role } = kwargs as Record<string, unknown>;
  const text = textOf(content);
  if (kind === undefined || text === undefined) return undefined;
  const named = kind === "Chat" && typeof role === "string" ? role : kind.toLowerCase();
  return { role: roles[named] ?? named, text, calls: namesOf(calls) };
}

/** Returns the text of a message's content: a text, or a list of blocks. */
function textOf(content: unknown): string | undefined {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((block: unknown) => {
    if (typeof block === "string") return block;
    const { type, text } = (block ?? {}) as Record<string, unknown>;
    if (typeof text === "string") return text;
    return typeof type === "string" && type !== "tool_use" ? `[${type}]` : "";
  });
  return texts.filter((text) => text !== "").join(" ");
}

function namesOf(calls: unknown): string[] {
  if (!Array.isArray(calls)) return [];
  return calls.map((call: unknown) => String((call as { name?: unknown } | null)?.name ?? "a tool"));
}
