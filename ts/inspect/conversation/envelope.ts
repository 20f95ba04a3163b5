/** Recognizes messages, and reads their fields: the role, the id, the calls of tools, the tokens. */

import { typeOf } from "../../bridge/json-form/form.js";
import type { Reader } from "./reader.js";
import { callOf, readPart, readParts, resultOf } from "./parts.js";
import { durationOf, modelOf, tokensOf } from "./tokens.js";
import type { MessagePart, TokenUsage } from "./message.js";

/** A message before results are joined to calls. */
export interface Envelope {
  role: string;
  name: string | null;
  id: string | null;
  parts: MessagePart[];
  model: string | null;
  usage: TokenUsage | null;
  durationMs: number | null;
  at: number | null;
  /** The id by which tokens are counted. An SDK may store an answer as several entries, each with all of its tokens. */
  usageId: string | null;
  /** See {@link ConversationMessage.marks}. */
  marks?: Array<"meta" | "sidechain">;
}

/** The fields of a message without wrappers. */
interface Opened {
  fields: unknown;
  role: string;
  id: string | null;
  at: number | null;
  /** Whether only a message can have this form. */
  isCertain: boolean;
}

const roles: Record<string, string> = { human: "user", ai: "assistant", model: "assistant", function: "tool" };

const roleOf = (role: string): string => (Object.hasOwn(roles, role) ? roles[role]! : role);

const known = new Set(["system", "developer", "user", "assistant", "tool", "signal", ...Object.keys(roles)]);

/** The values of the field `type` in messages without a role. */
const typed = new Set(["human", "ai", "system", "tool", "function", "developer", "chat", "generic"]);

/** The items of the Responses API without a role, and the role of each. */
const items: Record<string, string> = {
  function_call: "assistant",
  custom_tool_call: "assistant",
  reasoning: "assistant",
  function_call_output: "tool",
  function_call_result: "tool",
  custom_tool_call_output: "tool",
};

const isItem = (type: string): boolean =>
  Object.hasOwn(items, type) || /^[a-z_]{1,40}_call(?:_output|_result)?$/.test(type);

/** Opens a message. Returns null for any other form. */
function open(reader: Reader, form: unknown): Opened | null {
  if (!reader.isRecord(form)) return null;
  const type = reader.text(form, "type");
  // An SDK of agents wraps the items of a run.
  const raw = reader.get(form, "rawItem");
  if (raw !== undefined && reader.get(raw, "rawItem") === undefined) return open(reader, raw);
  const inner = reader.get(form, "message");
  if (reader.isRecord(inner) && reader.text(inner, "role") !== null) {
    const at = timeOf(reader, form);
    return {
      fields: inner,
      role: roleOf(reader.text(inner, "role")!),
      id: reader.text(form, "uuid", "id"),
      at,
      isCertain: true,
    };
  }
  if (reader.get(form, "lc") === 1 && type === "constructor") return openConstructor(reader, form);
  const data = reader.get(form, "data");
  if (type !== null && typed.has(type) && reader.isRecord(data) && hasContent(reader, data)) {
    return opened(reader, data, type === "chat" ? (reader.text(data, "role") ?? type) : type, true);
  }
  const role = reader.text(form, "role");
  if (role !== null && hasContent(reader, form)) return opened(reader, form, role, known.has(role));
  if (type !== null && typed.has(type) && reader.get(form, "content") !== undefined) {
    return opened(reader, form, type === "chat" ? (role ?? type) : type, true);
  }
  if (type !== null && isItem(type) && role === null) {
    const belongs = Object.hasOwn(items, type) ? items[type]! : /_(?:output|result)$/.test(type) ? "tool" : "assistant";
    return opened(reader, form, belongs, type.startsWith("function_call"));
  }
  return null;
}

function opened(reader: Reader, fields: unknown, role: string, isCertain: boolean): Opened {
  return { fields, role: roleOf(role), id: reader.text(fields, "id"), at: timeOf(reader, fields), isCertain };
}

/** Opens a message stored as its constructor's call, `{ lc: 1, id, kwargs }`. A streamed one is an `AIMessageChunk`. */
function openConstructor(reader: Reader, form: unknown): Opened | null {
  const [, kind] = /^([A-Za-z]{1,40}?)Message(?:Chunk)?$/.exec(String(reader.list(form, "id").at(-1))) ?? [];
  const fields = reader.get(form, "kwargs");
  if (kind === undefined || !reader.isRecord(fields) || !hasContent(reader, fields)) return null;
  return opened(reader, fields, kind === "Chat" ? (reader.text(fields, "role") ?? "chat") : kind.toLowerCase(), true);
}

function hasContent(reader: Reader, fields: unknown): boolean {
  return ["content", "parts", "tool_calls", "toolCalls", "tool_call_id", "refusal"].some(
    (key) => reader.get(fields, key) !== undefined,
  );
}

/** Returns true for a form that can only be a message. */
export function isMessage(reader: Reader, form: unknown): boolean {
  return open(reader, form)?.isCertain === true;
}

/** Reads a message. Any other form has the role `"unknown"` and is shown as it is stored. */
export function readEnvelope(reader: Reader, form: unknown): Envelope {
  const found = open(reader, form);
  if (found === null) return unknown(reader, form);
  const { fields, role, id, at } = found;
  const parts = partsOf(reader, fields);
  const own = reader.text(fields, "id", "message_id");
  return {
    role,
    name: reader.text(fields, "name") ?? null,
    id: id ?? own,
    parts: role === "tool" ? asResults(reader, fields, parts) : parts,
    model: modelOf(reader, fields),
    usage: tokensOf(reader, fields),
    durationMs: durationOf(reader, fields),
    at,
    usageId: own ?? id,
    ...marksOf(reader, form),
  };
}

function marksOf(reader: Reader, form: unknown): Pick<Envelope, "marks"> {
  const marks: Array<"meta" | "sidechain"> = [];
  if (reader.get(form, "isMeta") === true) marks.push("meta");
  if (reader.get(form, "isSidechain") === true) marks.push("sidechain");
  return marks.length === 0 ? {} : { marks };
}

function unknown(reader: Reader, form: unknown): Envelope {
  const value = reader.follow(form);
  const name = reader.text(form, "type");
  const summary = name === "summary" ? reader.text(form, "summary") : null;
  return {
    role: summary === null ? "unknown" : "system",
    name: null,
    id: reader.text(form, "uuid", "id"),
    parts: [summary === null ? { type: "value", name, value: value ?? null } : { type: "text", text: summary }],
    model: null,
    usage: null,
    durationMs: null,
    at: timeOf(reader, form),
    usageId: null,
    ...marksOf(reader, form),
  };
}

function timeOf(reader: Reader, fields: unknown): number | null {
  const metadata = reader.get(fields, "metadata");
  for (const holder of [fields, metadata]) {
    const value = reader.get(holder, "createdAt", "created_at", "timestamp");
    const date = typeOf(value) === "Date" ? (value as { value?: unknown }).value : value;
    if (typeof date !== "number" && typeof date !== "string") continue;
    // A smaller number is in seconds: in ms it would be before 1973.
    const time = typeof date === "number" ? (date < 1e11 ? date * 1_000 : date) : Date.parse(date);
    if (Math.abs(time) <= 8.64e15) return time;
  }
  return null;
}

/** Reads the parts of a message in their order: reasoning, content, calls, errors. */
function partsOf(reader: Reader, fields: unknown): MessagePart[] {
  const parts: MessagePart[] = [];
  const type = reader.text(fields, "type");
  const content = reader.get(fields, "content");
  const inner = reader.list(fields, "parts");
  if (inner.length > 0) parts.push(...readParts(reader, inner));
  else if (reader.text(fields, "role") === null && type !== null && isItem(type)) {
    parts.push(...readParts(reader, [fields]));
  } else if (Array.isArray(content)) parts.push(...readParts(reader, content));
  else if (reader.isRecord(content)) parts.push(...partsInContent(reader, content));
  else if (content !== undefined && content !== "") parts.push(readPart(reader, String(content))!);
  const more = reader.get(fields, "additional_kwargs");
  if (!parts.some((part) => part.type === "reasoning")) {
    const thought = [fields, more].flatMap((holder) => reasoningIn(reader, holder)).slice(0, 1);
    parts.unshift(...thought);
  }
  const calls = reader.list(fields, "tool_calls", "toolCalls");
  for (const call of calls.length > 0 ? calls : reader.list(more, "tool_calls")) addCall(parts, callOf(reader, call));
  for (const call of reader.list(fields, "invalid_tool_calls")) {
    const made = callOf(reader, call);
    const error = reader.text(call, "error") ?? "the model has written a call that cannot be read";
    addCall(parts, {
      ...made,
      result: { path: "", parts: [{ type: "error", text: error }], isError: true, added: false },
    });
  }
  const legacy = reader.get(fields, "function_call") ?? reader.get(more, "function_call");
  if (reader.isRecord(legacy)) addCall(parts, callOf(reader, legacy));
  const refusal = reader.text(fields, "refusal");
  if (refusal !== null) parts.push({ type: "error", text: `refused: ${refusal}` });
  const error = type !== null && isItem(type) ? undefined : reader.get(fields, "error");
  const message = typeof error === "string" ? error : reader.text(error, "message");
  if (message !== null && message !== "") parts.push({ type: "error", text: message });
  return parts;
}

/** The content of a message may be an object with parts. */
function partsInContent(reader: Reader, content: unknown): MessagePart[] {
  const inner = reader.list(content, "parts");
  if (inner.length > 0) return readParts(reader, inner);
  return readParts(reader, [
    reader.text(content, "type") === null ? (reader.text(content, "content") ?? content) : content,
  ]);
}

/** Adds a call, unless the content of the message already has it. */
function addCall(parts: MessagePart[], call: Extract<MessagePart, { type: "call" }>): void {
  const same = call.id === null ? undefined : parts.find((part) => part.type === "call" && part.id === call.id);
  if (same === undefined) parts.push(call);
  // The content of a streamed message has the arguments as the model's text.
  else if (same.type === "call" && (same.args === null || typeof same.args === "string")) same.args = call.args;
}

function reasoningIn(reader: Reader, holder: unknown): MessagePart[] {
  const value = reader.get(holder, "thinking", "reasoning", "reasoning_content", "reasoningContent");
  if (typeof value === "string") return value === "" ? [] : [{ type: "reasoning", text: value }];
  if (!reader.isRecord(value)) return [];
  const pieces = reader.list(value, "summary").map((piece) => reader.text(piece, "text") ?? "");
  const text = reader.text(value, "content", "text", "thinking") ?? pieces.filter((piece) => piece !== "").join("\n\n");
  return text === "" ? [] : [{ type: "reasoning", text }];
}

/** Turns the content of a tool's message into the result of a call, unless it already has results. */
function asResults(reader: Reader, fields: unknown, parts: MessagePart[]): MessagePart[] {
  if (parts.some((part) => part.type === "result")) return parts;
  const isError = reader.text(fields, "status") === "error" || reader.get(fields, "isError", "is_error") === true;
  const empty = resultOf(reader, "", isError, 0);
  const id = reader.text(fields, "tool_call_id", "toolCallId", "call_id", "callId");
  const name = reader.text(fields, "toolName", "tool_name", "name");
  return [{ type: "result", id, name, result: { ...empty, parts } }];
}
