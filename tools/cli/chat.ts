/** Writes a conversation as text: messages, tool calls with their results, and marks of the step's additions. */

import { safeText } from "../../ts/bridge/json-form/json-text.js";
import type { Context } from "./context.js";
import { type RunOptions, findRun, readCheckpoint, refOf } from "./find.js";
import type { Output } from "./output.js";
import type { Format } from "./style.js";
import { plain } from "./style.js";
import { tokensText } from "./usage.js";
import { duration, number, plural, size } from "./units.js";
import { prettyJson } from "./value-text.js";
import { wrap } from "./wrap-text.js";
import type {
  Conversation,
  ConversationMessage,
  MessagePart,
  ToolResult,
} from "../../ts/inspect/conversation/message.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

/** The maximum width of the text, in columns. */
const WIDEST = 80;

/** The maximum number of printed lines of a result, of reasoning and of arguments. */
const MOST_LINES = 12;

/** The maximum length of a page. */
const PAGE = 1_000;

const formats: Record<string, Format> = {
  user: "cyan",
  assistant: "green",
  tool: "yellow",
  system: "dim",
  developer: "dim",
};

/** Prints the conversation of a checkpoint. `list` is the path of a list of messages. */
export async function printChat(
  context: Context,
  inspector: Inspector,
  id: string,
  which: RunOptions & { checkpoint?: string | undefined; step?: number | undefined; list?: string | undefined },
): Promise<void> {
  const run = await findRun(context, inspector, id, which);
  const { checkpoint } = await readCheckpoint(inspector, run, { id: which.checkpoint, step: which.step });
  const whole = await readAll(inspector, { ...refOf(checkpoint), id: checkpoint.id }, which.list);
  const { output } = context;
  if (output.json) return output.printJson(whole);
  if (whole.list === null) {
    context.note("the state has no messages: `forkpoint get` without --chat prints it");
    return;
  }
  const others = whole.lists.filter(({ path }) => path !== whole.list);
  if (others.length > 0) {
    output.hint(`more messages: add --path ${others.map(({ path }) => safeText(path)).join(", or --path ")}`);
  }
  for (const line of lines(whole, output)) await output.stream(`${line}\n`);
}

/** Reads all messages, page by page. */
async function readAll(
  inspector: Inspector,
  ref: Parameters<Inspector["conversation"]>[0],
  list: string | undefined,
): Promise<Conversation> {
  const first = (await inspector.conversation(ref, { list, from: 0, limit: PAGE }))!;
  const messages = [...first.messages];
  while (messages.length < first.total) {
    const page = await inspector.conversation(ref, { list, from: messages.length, limit: PAGE });
    if (page === null || page.messages.length === 0) break;
    messages.push(...page.messages);
  }
  return { ...first, messages };
}

function* lines({ checkpoint, messages }: Conversation, output: Output): Generator<string> {
  const { style } = output;
  const columns = Math.max(20, Math.min(output.width, WIDEST));
  const { run, step, label } = checkpoint;
  const added = messages.flatMap(({ added: own, parts }) => [own, ...parts.map(isResultAdded)]).filter(Boolean).length;
  const facts = [
    style("bold", safeText(run)),
    `step ${step}${label === null ? "" : ` ${safeText(label)}`}`,
    plural(messages.length, "message"),
    added === 0 ? "" : style("green", `+ ${number(added)} added by this step`),
  ];
  yield facts.filter((fact) => fact !== "").join(style("dim", " · "));
  for (const message of messages) {
    yield "";
    yield headOf(message, output);
    for (const part of message.parts) yield* partLines(part, columns, output, "  ");
  }
}

/** Returns true for a call whose result is new. The call's message may be older. */
const isResultAdded = (part: MessagePart): boolean =>
  (part.type === "call" || part.type === "result") && part.result?.added === true;

function headOf(
  { role, name, model, usage, durationMs, marks = [], added }: ConversationMessage,
  { style }: Output,
): string {
  const facts = [
    model === null ? "" : safeText(model),
    usage === null ? "" : tokensText(usage),
    durationMs === null ? "" : duration(durationMs),
  ].filter((fact) => fact !== "");
  const title = style(formats[role] ?? "magenta", style("bold", safeText(role)));
  const named = name === null || name === role ? "" : ` ${safeText(name)}`;
  const more = facts.length === 0 ? "" : `  ${style("dim", facts.join(" · "))}`;
  const marked = marks.map((mark) => ` ${style("yellow", `[${mark}]`)}`).join("");
  return `${added ? style("green", "+ ") : "  "}${title}${named}${marked}${more}`;
}

function* partLines(part: MessagePart, columns: number, output: Output, indent: string): Generator<string> {
  const { style } = output;
  const write = function* (
    text: string,
    format?: Format,
    most = Number.POSITIVE_INFINITY,
    first = "",
  ): Generator<string> {
    let left = most;
    for (const line of wrap(text, columns - indent.length - first.length)) {
      if (left-- === 0) {
        yield `${indent}${style("dim", "…")}`;
        return;
      }
      yield line === "" ? "" : `${indent}${left === most - 1 ? first : " ".repeat(first.length)}${style(format, line)}`;
    }
  };
  switch (part.type) {
    case "text":
      return yield* write(part.text);
    case "error":
      return yield* write(part.text, "red", undefined, "✗ ");
    case "reasoning":
      return yield* write(part.text === "" ? "reasoning, hidden by the provider" : part.text, "dim", MOST_LINES, "~ ");
    case "media":
      return yield* write(mediaText(part), "magenta");
    case "value":
      if (part.name !== null) yield* write(part.name, "magenta");
      return yield* write(jsonOf(part.value), undefined, MOST_LINES);
    case "call": {
      const state =
        part.state === null || part.state.startsWith("output-") ? "" : style("yellow", `  ${safeText(part.state)}`);
      const args = jsonOf(part.args);
      const isShort = !args.includes("\n") && part.name.length + args.length + 3 <= columns - indent.length;
      const shown = part.args === null || args === "{}" ? "" : isShort ? ` ${safeText(args)}` : "";
      yield `${indent}${style("blue", "→")} ${style("bold", safeText(part.name))}${shown}${state}`;
      if (shown === "" && part.args !== null && args !== "{}") {
        yield* partLines({ type: "text", text: firstLines(args) }, columns, output, `${indent}  `);
      }
      if (part.result !== null) yield* resultLines(part.result, columns, output, `${indent}  `);
      return;
    }
    case "result":
      yield `${indent}${style("blue", "←")} ${style("bold", safeText(part.name ?? part.id ?? "result"))}`;
      yield* resultLines(part.result, columns, output, `${indent}  `);
  }
}

function* resultLines(
  { parts, isError, added }: ToolResult,
  columns: number,
  output: Output,
  indent: string,
): Generator<string> {
  const { style } = output;
  const sign = isError ? style("red", "✗") : style("dim", "=");
  // The step's additions are marked in the column before the sign.
  const first = `${indent.slice(1)}${added ? style("green", "+") : " "}${sign} `;
  if (parts.length === 0) yield `${first}${style("dim", "nothing")}`;
  let left = MOST_LINES;
  for (const part of parts) {
    for (const line of partLines(part, columns, output, `${indent}  `)) {
      if (left-- === 0) {
        yield `${indent}  ${style("dim", "… --json prints all")}`;
        return;
      }
      yield left === MOST_LINES - 1 ? first + line.slice(indent.length + 2) : line;
    }
  }
}

const firstLines = (text: string): string => {
  const all = text.split("\n");
  return all.length <= MOST_LINES ? text : [...all.slice(0, MOST_LINES), "…"].join("\n");
};

/** Returns indented JSON, cut at a maximum length. */
function jsonOf(value: unknown): string {
  if (typeof value === "string") return value;
  let text = "";
  for (const piece of prettyJson(value, plain)) {
    text += piece;
    if (text.length > 20_000) return `${text.slice(0, 20_000).toWellFormed()}…`;
  }
  return text;
}

function mediaText({ mediaType, bytes, name, url }: Extract<MessagePart, { type: "media" }>): string {
  const facts = [mediaType, name, bytes === null ? null : size(bytes), url];
  return `[${facts.filter((fact) => fact !== null).join(", ")}]`;
}
