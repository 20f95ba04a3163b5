import { stepName } from "../../../ts/inspect/step-name.js";
import { Option } from "commander";
import { quote, ForkpointError } from "../../../ts/bridge/errors.js";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { type PathStep, valueAt } from "../../../ts/bridge/json-form/path.js";
import { printChat } from "../chat.js";
import { command, parsed, runArgument, spaceOption, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import { effectCell } from "../effect-signs.js";
import { findEffect, findRunOfEffects } from "../effects.js";
import { UsageError } from "../errors.js";
import { type RunOptions, findRun, readCheckpoint } from "../find.js";
import { messageOf } from "../message.js";
import type { Output } from "../output.js";
import { isPart, namesOf, readPath } from "../path.js";
import { shownValue } from "../stops.js";
import { plain } from "../style.js";
import { type Column, table } from "../table.js";
import { ago, localTime, plural, size } from "../units.js";
import { excerpt, prettyJson } from "../value-text.js";
import { joined, wrapped } from "../wrap.js";
import type { Change, CheckpointDetail, CheckpointInfo, PartInfo, WriteInfo } from "../../../ts/plugin/views.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";

interface Options extends RunOptions {
  step?: number;
  path?: string;
  raw?: boolean;
  part?: Change["part"];
  effect?: string;
  chat?: boolean;
}

export const get = () =>
  command<Options>("get", "print a checkpoint (default: the newest) and its values", print)
    .addArgument(runArgument())
    .argument("[checkpoint]", "the id of a checkpoint, or a prefix of at least 4 characters")
    .addOption(
      parsed("--step <n>", "the checkpoint by its position, from 0; negative: from the end", wholeFrom(-Infinity)),
    )
    .option("-p, --path <path>", 'print only the value at a path such as messages[-1].content or ["any key"]')
    .option("-r, --raw", "print text or bytes unescaped")
    .addOption(new Option("--part <part>", "print only this part").choices(["state", "rest", "writes"]))
    .option("--chat", "print the messages of the state as a conversation; --path names the list")
    .option("--effect <key>", "print the result of an effect of the run instead")
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of the run");

async function print(context: Context, options: Options, id?: string, checkpoint?: string): Promise<void> {
  const { path, raw = false, part } = options;
  if (raw && context.output.json) throw new UsageError("pass --raw or --json, not both");
  const steps = path === undefined ? undefined : readPath(path);
  const inspector = await context.open();
  if (options.effect !== undefined) {
    if (checkpoint !== undefined || options.step !== undefined || part !== undefined) {
      throw new UsageError("pass --effect, or a checkpoint, --step or --part, not both");
    }
    return printEffect(context, inspector, options, id!, steps);
  }
  if (options.chat) {
    if (raw || part !== undefined) throw new UsageError("pass --chat, or --raw or --part, not both");
    return printChat(context, inspector, id!, { ...options, checkpoint, list: path });
  }
  const run = await findRun(context, inspector, id!, options);
  const detail = await readCheckpoint(inspector, run, { id: checkpoint, step: options.step });
  const { output } = context;
  if (steps !== undefined || raw) {
    const value = steps === undefined ? detail[part ?? "state"] : valueIn(detail, steps, part);
    if (value === undefined) throw nothingThere(path!, part ?? "state", detail);
    return raw ? printRaw(output, value) : printValue(output, value);
  }
  if (output.json) {
    const { checkpoint } = detail;
    return output.printJson(part === undefined ? detail : { checkpoint, [part]: detail[part] });
  }
  await printParts(output, detail, part);
}

/** Prints an effect and its result, or the value at a path of the result. */
async function printEffect(
  context: Context,
  inspector: Inspector,
  { effect: key, raw = false, path, ...where }: Options,
  id: string,
  steps: PathStep[] | undefined,
): Promise<void> {
  const { output } = context;
  const run = await findRunOfEffects(context, inspector, id, where);
  const found = await inspector.effect(await findEffect(inspector, run, key!, undefined));
  if (found === null) throw new ForkpointError("NOT_FOUND", `run ${quote(id)} has no effect ${quote(key!)} any more`);
  const { effect, result, part } = found;
  if (steps !== undefined || raw) {
    const value = part === null ? undefined : valueAt(result, steps ?? []);
    if (value === undefined) {
      const why = part === null ? "it has no result" : `there is nothing at ${quote(path ?? "")} in its result`;
      throw new ForkpointError("NOT_FOUND", `effect ${quote(key!)}: ${why}`);
    }
    return raw ? printRaw(output, value) : printValue(output, value);
  }
  if (output.json) return output.printJson(found);
  const { style } = output;
  const { text, format } = effectCell(effect);
  const facts = [
    safeText(effect.run),
    style("bold", safeText(effect.key)),
    style(format, text),
    plural(effect.attempts, "attempt"),
    `began ${localTime(effect.startedAt)} (${ago(effect.startedAt)})`,
  ];
  await output.stream(`${joined(facts, style("dim", " · "), output.width).join("\n")}\n`);
  if (effect.state !== "done" && effect.error !== null)
    await output.stream(`${wrapped(style("red", safeText(effect.error)), output.width).join("\n")}\n`);
  if (effect.state === "unknown") output.hint(`the process that began it has ended: ${safeText(effect.holder)}`);
  if (part === null) return;
  await output.stream(`\n${style("bold", "result")}\n`);
  await printValue(output, result);
  if (!part.readable) hintUnread(output, part);
}

/** Returns the value at a path. The path may begin with the name of the part, as in the output of `diff`. */
function valueIn(detail: CheckpointDetail, steps: PathStep[], part: Change["part"] | undefined): unknown {
  const found = valueAt(detail[part ?? "state"], steps);
  const [named, ...inside] = steps;
  if (found !== undefined || !isPart(named) || (part ?? named) !== named) return found;
  return valueAt(detail[named], inside);
}

function nothingThere(path: string, part: Change["part"], detail: CheckpointDetail): ForkpointError {
  const { checkpoint, parts } = detail;
  const opaque = parts.filter(({ readable }) => !readable).map(({ tag }) => quote(tag));
  const how =
    opaque.length === 0
      ? ""
      : `. Parts with the serializer ${[...new Set(opaque)].join(", ")} cannot be read: pass --serializer`;
  const where = `the ${part} of checkpoint ${quote(checkpoint.id)}`;
  const keys = namesOf(detail[part]);
  const has = opaque.length > 0 || keys === "" ? "" : `: it has ${keys}`;
  return new ForkpointError("NOT_FOUND", `there is nothing at ${quote(path)} in ${where}${has}${how}`);
}

/** Prints text and bytes unescaped, and any other value as JSON. */
async function printRaw(output: Output, value: unknown): Promise<void> {
  if (typeof value === "string") return output.stream(`${value}\n`);
  const { $type, value: inner } = (value ?? {}) as { $type?: unknown; value?: unknown };
  if ($type === "Bytes" && typeof inner === "string") return output.raw(Buffer.from(inner, "base64"));
  return printValue(output, value);
}

async function printValue(output: Output, value: unknown): Promise<void> {
  if (output.json) return output.printJson(value);
  if (messageOf(value) === undefined && [value, ...itemsOf(value)].some((each) => itemsOf(each).some(messageOf))) {
    output.hint("messages are shortened: see one with --path, such as messages[-1], or all with --json");
  }
  for (const piece of prettyJson(value, output.style, "", output.width)) await output.stream(piece);
  await output.stream("\n");
}

const itemsOf = (value: unknown): unknown[] =>
  typeof value === "object" && value !== null ? Object.values(value) : [];

async function printParts(output: Output, detail: CheckpointDetail, part: Change["part"] | undefined): Promise<void> {
  const { state, rest, writes, next, parts, checkpoint } = detail;
  const { style } = output;
  const title = (text: string) => output.stream(`\n${style("bold", text)}\n`);
  await output.stream(`${headline(checkpoint, output)}\n`);
  if (part === undefined || part === "state") {
    await title("state");
    await printValue(output, state);
  }
  if (part === "rest" || (part === undefined && rest !== null)) {
    await title("rest");
    await printValue(output, rest);
  }
  if (part === "writes" || (part === undefined && writes.length > 0)) {
    await title("writes");
    for (const line of table(writeColumns, writes, output)) await output.stream(`${line}\n`);
    if (writes.length === 0) await output.stream(`${style("dim", "none")}\n`);
  }
  if (part === undefined && next !== null) {
    await title("next");
    const text = next.length === 0 ? style("dim", "nothing") : next.map(safeText).join(", ");
    await output.stream(`${wrapped(text, output.width, "").join("\n")}\n`);
  }
  const unread = parts.filter(({ readable }) => !readable);
  for (const each of unread) hintUnread(output, each);
}

function hintUnread(output: Output, { name, tag, bytes }: PartInfo): void {
  output.hint(
    `${safeText(name)} (${size(bytes)}) was written by the serializer ${safeText(quote(tag))}: pass --serializer to read it`,
  );
}

/** Returns the line about a checkpoint, which may wrap. `before` is the number of characters before it. */
export function headline(checkpoint: CheckpointInfo, { style, width: most }: Output, before = 0): string {
  const { run, id, step, savedAt, bytes } = checkpoint;
  const named = [`step ${step}`, safeText(stepName(checkpoint) ?? "")].filter((text) => text !== "").join(" ");
  const facts = [safeText(run), style("bold", safeText(id)), named, `saved ${localTime(savedAt)} (${ago(savedAt)})`];
  const lines = joined([...facts, size(bytes.logical)], style("dim", " · "), most - before, before === 0 ? "  " : "");
  return lines.join(`\n${" ".repeat(before)}`);
}

const writeColumns: Array<Column<WriteInfo>> = [
  { title: "TASK", drop: 3, ids: true, cell: ({ task }) => ({ text: task, format: "dim" }) },
  { title: "INDEX", align: "right", drop: 2, cell: ({ index }) => ({ text: String(index), format: "dim" }) },
  { title: "CHANNEL", least: 12, cell: ({ channel }) => ({ text: channel }) },
  {
    title: "STATE",
    drop: 1,
    cell: ({ owner }) => (owner === null ? { text: "pending", format: "yellow" } : { text: "done", format: "dim" }),
  },
  { title: "VALUE", least: 20, cell: (write) => ({ text: excerpt(shownValue(write), plain, 100) }) },
];
