/**
 * Reads the parts of messages in all formats of models, SDKs and frameworks. One table covers all formats, because they
 * have different names for the kinds.
 */

import type { Reader } from "./reader.js";
import { mediaOf } from "./media.js";
import type { MessagePart, ToolResult } from "./message.js";

type Call = Extract<MessagePart, { type: "call" }>;
type Result = Extract<MessagePart, { type: "result" }>;

/** The maximum depth of parts in the result of a tool. */
const DEEPEST = 3;

/** Reads a part. Returns null for a part that only marks a place. */
export function readPart(reader: Reader, form: unknown, depth = 0): MessagePart | null {
  const part = reader.follow(form);
  if (part === undefined) return null;
  if (typeof part === "string") return textPart(part);
  const kind = reader.text(part, "type");
  if (kind === null) return unnamed(reader, part) ?? { type: "value", name: null, value: part };
  const read = Object.hasOwn(kinds, kind) ? kinds[kind]! : others.find(([pattern]) => pattern.test(kind))?.[1];
  const found = read?.(reader, part, kind, depth);
  return found === undefined ? { type: "value", name: kind, value: part } : found;
}

export function readParts(reader: Reader, forms: readonly unknown[], depth = 0): MessagePart[] {
  return forms.flatMap((form) => readPart(reader, form, depth) ?? []);
}

const textPart = (text: string): MessagePart | null => (text === "" ? null : { type: "text", text });

/** Reads a part. Returns undefined if the part does not have the form of its kind. */
type ReadPart = (reader: Reader, part: unknown, kind: string, depth: number) => MessagePart | null | undefined;

const text: ReadPart = (reader, part) => {
  const value = reader.get(part, "text", "content");
  const found = typeof value === "string" ? value : reader.get(value, "value");
  return typeof found === "string" ? textPart(found) : undefined;
};

const reasoning: ReadPart = (reader, part) => {
  const said =
    reader.text(part, "thinking", "reasoning", "text") ?? reader.text(reader.get(part, "reasoningText"), "text");
  const pieces = [...reader.list(part, "summary"), ...reader.list(part, "content"), ...reader.list(part, "rawContent")];
  const more = pieces
    .map((piece) => (typeof piece === "string" ? piece : reader.text(piece, "text")))
    .filter((each) => each !== null);
  return { type: "reasoning", text: said ?? [...new Set(more)].join("\n\n") };
};

const refusal: ReadPart = (reader, part) => {
  const said = reader.text(part, "refusal");
  return said === null ? undefined : { type: "error", text: `refused: ${said}` };
};

const call: ReadPart = (reader, part, kind) => callOf(reader, part, kind);

/** Reads a call of a tool, in any of the forms. */
export function callOf(reader: Reader, part: unknown, kind = ""): Call {
  const inner = reader.get(part, "function", "toolInvocation", "functionCall") ?? part;
  const name = reader.text(inner, "name", "toolName", "tool_name") ?? reader.text(part, "name");
  const args = reader.get(inner, "args", "arguments", "input", "parameters", "action", "rawInput");
  return {
    type: "call",
    id:
      reader.text(part, "call_id", "callId", "toolCallId", "tool_call_id", "id") ??
      reader.text(inner, "toolCallId", "id"),
    name: name ?? (kind.replace(/_call$/, "") || "a tool"),
    args: typeof args === "string" ? valueOfText(args) : args === undefined ? null : args,
    result: null,
    state: null,
  };
}

/** Returns the value of a JSON text. Any other text is returned as it is. */
function valueOfText(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

/** A call that the provider ran itself, such as a web search. It is shown as stored. */
const hosted: ReadPart = (reader, part, kind) => {
  const made = callOf(reader, part, kind);
  const output = reader.get(part, "output", "result");
  const rest = Object.fromEntries(
    reader.entries(part).filter(([key]) => !["type", "id", "status", "output", "result", "providerData"].includes(key)),
  );
  const args = made.args ?? (Object.keys(rest).length > 0 ? rest : null);
  const error = reader.get(part, "error");
  const found = error ?? output;
  return { ...made, args, result: found === undefined ? null : resultOf(reader, found, error !== undefined, 0) };
};

const invalidCall: ReadPart = (reader, part, kind) => {
  const made = callOf(reader, part, kind);
  const error = reader.text(part, "error") ?? "the model has written a call that cannot be read";
  return { ...made, result: { path: "", parts: [{ type: "error", text: error }], isError: true, added: false } };
};

const result: ReadPart = (reader, part, _, depth): Result => {
  const isError = reader.get(part, "is_error", "isError") === true || reader.get(part, "status") === "error";
  const error = reader.get(part, "error");
  const output = error ?? reader.get(part, "content", "output", "result", "response", "value") ?? null;
  return {
    type: "result",
    id: reader.text(part, "tool_use_id", "tool_call_id", "toolCallId", "call_id", "callId", "id"),
    name: reader.text(part, "name", "toolName", "tool_name"),
    result: resultOf(reader, output, isError || error !== undefined, depth),
  };
};

/** The kinds of `output` in the AI SDK's results. */
const outputs = /^(?:text|json|error-text|error-json|execution-denied|content)$/;

/** Reads the result of a tool: a text, a list of parts, or any value. */
export function resultOf(reader: Reader, output: unknown, isError: boolean, depth: number): ToolResult {
  const kind = reader.text(output, "type");
  const failed = isError || kind === "error-text" || kind === "error-json" || kind === "execution-denied";
  const isWrapped =
    kind !== null && outputs.test(kind) && (reader.get(output, "value") !== undefined || kind === "execution-denied");
  const value = !isWrapped
    ? output
    : kind === "execution-denied"
      ? `denied${reader.text(output, "reason") === null ? "" : `: ${reader.text(output, "reason")}`}`
      : reader.get(output, "value");
  return { path: "", parts: outputParts(reader, value, depth), isError: failed, added: false };
}

function outputParts(reader: Reader, given: unknown, depth: number): MessagePart[] {
  const value = reader.follow(given);
  if (value === undefined) return [];
  if (typeof value === "string") return value === "" ? [] : [{ type: "text", text: value }];
  const isPart = (each: unknown) => typeof each === "string" || reader.text(each, "type") !== null;
  if (depth < DEEPEST && Array.isArray(value) && value.length > 0 && value.every(isPart))
    return readParts(reader, value, depth + 1);
  if (depth < DEEPEST && reader.text(value, "type") === "text" && reader.text(value, "text") !== null)
    return readParts(reader, [value], depth + 1);
  return [{ type: "value", name: null, value }];
}

/** A call of the AI SDK in a UI message, with its result. */
const uiCall: ReadPart = (reader, part, kind, depth) => {
  const inner = reader.get(part, "toolInvocation") ?? part;
  const made = callOf(reader, inner, kind);
  const state = reader.text(inner, "state");
  const name = kind === "dynamic-tool" || kind === "tool-invocation" ? made.name : kind.slice("tool-".length);
  const error = reader.text(inner, "errorText");
  const output = reader.get(inner, "output", "result");
  const denied = state === "output-denied" ? `denied${deniedWhy(reader, inner)}` : undefined;
  const given = error ?? output ?? denied;
  const isError = error !== null || denied !== undefined;
  return { ...made, name, state, result: given === undefined ? null : resultOf(reader, given, isError, depth) };
};

function deniedWhy(reader: Reader, part: unknown): string {
  const reason = reader.text(reader.get(part, "approval"), "reason");
  return reason === null ? "" : `: ${reason}`;
}

const media: ReadPart = (reader, part, kind) => mediaOf(reader, part, kind);

/** Marks the beginning of another step of the AI SDK. */
const mark: ReadPart = () => null;

const kinds: Record<string, ReadPart> = {
  text,
  input_text: text,
  output_text: text,
  summary_text: text,
  refusal,
  thinking: reasoning,
  reasoning,
  reasoning_content: reasoning,
  redacted_thinking: () => ({ type: "reasoning", text: "" }),
  "redacted-reasoning": () => ({ type: "reasoning", text: "" }),
  function: call,
  function_call: call,
  custom_tool_call: call,
  tool_call: call,
  "tool-call": call,
  tool_use: call,
  server_tool_use: call,
  server_tool_call: call,
  mcp_tool_use: call,
  invalid_tool_call: invalidCall,
  function_call_output: result,
  function_call_result: result,
  custom_tool_call_output: result,
  server_tool_call_result: result,
  "tool-result": result,
  "tool-error": result,
  "tool-invocation": uiCall,
  "dynamic-tool": uiCall,
  "step-start": mark,
  // For `undefined`, `readPart` shows the part as an unknown kind.
  "tool-approval-request": () => undefined,
  "tool-approval-response": () => undefined,
  image: media,
  image_url: media,
  input_image: media,
  audio: media,
  input_audio: media,
  video: media,
  file: media,
  input_file: media,
  "reasoning-file": media,
  document: media,
  "text-plain": media,
};

const others: Array<[RegExp, ReadPart]> = [
  [/^tool-/, uiCall],
  [/_call$/, hosted],
  [/(?:_tool|_call)_(?:result|output)$|^tool_result$/, result],
];

/** Reads a part without a kind, such as Gemini's. */
function unnamed(reader: Reader, part: unknown): MessagePart | null {
  if (typeof reader.get(part, "text") === "string" && reader.entries(part).length === 1) {
    return { type: "text", text: reader.get(part, "text") as string };
  }
  if (reader.get(part, "thought") === true) return { type: "reasoning", text: reader.text(part, "text") ?? "" };
  const [called, answered] = [reader.get(part, "functionCall"), reader.get(part, "functionResponse")];
  if (called !== undefined) return callOf(reader, called);
  if (answered !== undefined) return result(reader, answered, "", 0) as MessagePart;
  const file = reader.get(part, "inlineData", "fileData");
  return file === undefined ? null : mediaOf(reader, file, "file");
}
