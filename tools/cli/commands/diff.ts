import { traitsOf } from "../../../ts/contracts/registry.js";
import { Option } from "commander";
import { command, parsed, repeated, runArgument, spaceOption, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import { UsageError, exitCodes } from "../errors.js";
import { type RunOptions, findRun, readCheckpoint } from "../find.js";
import type { Output } from "../output.js";
import { type Format, type Style, plain } from "../style.js";
import { pad, width } from "../table.js";
import { plural } from "../units.js";
import { excerpt } from "../value-text.js";
import { folded } from "../wrap.js";
import { headline } from "./get.js";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { formatPath } from "../../../ts/bridge/json-form/path.js";
import type { Change, CheckpointInfo, RunInfo } from "../../../ts/plugin/views.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";

interface Options extends RunOptions {
  step?: number;
  fromStep?: number;
  toStep?: number;
  toRun?: string;
  part?: Array<Change["part"]>;
  exitCode?: boolean;
  full?: boolean;
}

const step = (flag: string, description: string) => parsed(`${flag} <n>`, description, wholeFrom(-Infinity));

export const diff = () =>
  command<Options>("diff", "show what a checkpoint changed, or compare two checkpoints", compare)
    .addArgument(runArgument())
    .argument("[from]", "the id of the older checkpoint; alone, the checkpoint to compare with its parent")
    .argument("[to]", "the id of the newer checkpoint")
    .addOption(step("--step", "the checkpoint to compare with its parent, by position"))
    .addOption(step("--from-step", "the older checkpoint, by position"))
    .addOption(step("--to-step", "the newer checkpoint, by position"))
    .option("--to-run <run>", "the run of the newer checkpoint, if it differs")
    .addOption(
      new Option("--part <part>", "compare only this part; repeatable")
        .choices(["state", "rest", "writes"])
        .argParser((value: string, before?: string[]) => repeated(partOf(value), before)),
    )
    .option("--full", "also show the changes of the framework's own values")
    .option("--exit-code", "exit with 1 if there are differences")
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of the run");

function partOf(text: string): string {
  if (["state", "rest", "writes"].includes(text)) return text;
  throw new UsageError(`--part: expected state, rest or writes, but found ${JSON.stringify(text)}`);
}

async function compare(
  context: Context,
  options: Options,
  id?: string,
  from?: string,
  to?: string,
): Promise<number | void> {
  const inspector = await context.open();
  const run = await findRun(context, inspector, id!, options);
  const { toRun, part } = options;
  const other = toRun === undefined ? run : await findRun(context, inspector, toRun, options);
  const [before, after] = await sides(inspector, run, other, options, from, to);
  if (before === null && after.parent !== null) {
    context.note(`the parent ${safeText(after.parent.id)} is no longer stored, so everything is shown as added`);
  }
  const { changes, truncated } = await inspector.diff(before, after, part === undefined ? {} : { parts: part });
  const { output } = context;
  output.answer({ from: before, to: after, changes, truncated }, () =>
    report(before, after, changes, options.full === true, output),
  );
  if (truncated) output.hint("not all changes are shown: compare one --part, or print values with `get --path`");
  return options.exitCode === true && changes.length > 0 ? exitCodes.no : undefined;
}

async function sides(
  inspector: Inspector,
  run: RunInfo,
  other: RunInfo,
  { step, fromStep, toStep, toRun }: Options,
  from: string | undefined,
  to: string | undefined,
): Promise<[before: CheckpointInfo | null, after: CheckpointInfo]> {
  if (step !== undefined && [from, to, fromStep, toStep, toRun].some((each) => each !== undefined)) {
    throw new UsageError("--step compares a checkpoint with its parent: pass no other checkpoint");
  }
  if (from !== undefined && fromStep !== undefined)
    throw new UsageError("pass the id of the older checkpoint or --from-step, not both");
  if (to !== undefined && toStep !== undefined)
    throw new UsageError("pass the id of the newer checkpoint or --to-step, not both");
  const read = async (of: RunInfo, id: string | undefined, step: number | undefined, flag: string) =>
    (await readCheckpoint(inspector, of, { id, step }, { step: flag, run: "--to-run" })).checkpoint;
  const two =
    to !== undefined || fromStep !== undefined || toRun !== undefined || (from !== undefined && toStep !== undefined);
  if (two) return [await read(run, from, fromStep, "--from-step"), await read(other, to, toStep, "--to-step")];
  const after = await read(run, from, step ?? toStep, "--step");
  if (after.parent === null) return [null, after];
  // The parent may be a checkpoint of another run.
  return [(await inspector.checkpoint(after.parent))?.checkpoint ?? null, after];
}

const ops: Record<Change["op"], { sign: string; word: string; format: Format }> = {
  add: { sign: "+", word: "added", format: "green" },
  remove: { sign: "-", word: "removed", format: "red" },
  replace: { sign: "~", word: "changed", format: "yellow" },
};

/** The maximum length of an excerpt of a value, in characters. */
const EXCERPT = 100;

/** The minimum length of an excerpt. With less room, the excerpt gets its own line. */
const SHORT_VALUE = 30;

function* report(
  before: CheckpointInfo | null,
  after: CheckpointInfo,
  all: Change[],
  full: boolean,
  output: Output,
): Generator<string> {
  const { style } = output;
  yield `${style("dim", "from")}  ${before === null ? style("dim", "nothing") : headline(before, output, 6)}`;
  yield `${style("dim", "to")}    ${headline(after, output, 6)}`;
  yield "";
  const most = Math.max(20, Math.min(EXCERPT, output.width - 30));
  const changes = full ? all : all.filter(({ own }) => own !== true);
  const hidden = all.length - changes.length;
  for (const change of changes) {
    const { sign, word, format } = ops[change.op];
    const path = safeText(formatPath(change.path));
    const place = path === "" ? change.part : `${change.part}${path.startsWith("[") ? "" : "."}${path}`;
    // Other commands take this path, so it is wrapped and never cut.
    const room = Math.min(most, output.width - 18 - width(place));
    const places = folded(place, output.width - 11, output.width - 6);
    const shown = places.map((each) => style("bold", each)).join("\n      ");
    yield `${style(format, pad(`${sign} ${word}`, 9))}  ${shown}${valuesOf(change, output, most, room)}`;
  }
  if (changes.length > 0) yield summary(changes);
  else yield style("dim", hidden === 0 ? "no differences" : "no other differences");
  if (hidden > 0)
    yield style("dim", `not shown: ${plural(hidden, "change")} of ${ownersOf(after)} own values (--full)`);
}

/** Names the owner of the values that a diff leaves out. */
const ownersOf = ({ space }: CheckpointInfo): string => traitsOf(space).owner ?? "the framework's";

/** Returns the values of a change, on the same line if they are short. `room` is the rest of this line. */
function valuesOf(change: Change, { style }: Output, most: number, room: number): string {
  const { op, before, after } = change;
  if (op !== "replace") {
    const value = op === "add" ? after : before;
    const fits = room >= SHORT_VALUE || width(writeOr(change, value, plain, most)) <= room;
    return fits ? `  ${writeOr(change, value, style, room)}` : `\n    ${writeOr(change, value, style, most)}`;
  }
  const [old, now] = [excerpt(before, style, most), excerpt(after, style, most)];
  const length = [before, after].reduce((sum: number, value) => sum + width(excerpt(value, plain, most)), 0);
  if (length < Math.min(most, room)) return `  ${old} ${style("dim", "→")} ${now}`;
  return `\n    ${style("red", "-")} ${old}\n    ${style("green", "+")} ${now}`;
}

/** Returns the channel and the value of an entire write, or any other value. */
function writeOr({ part, path }: Change, form: unknown, style: Style, most: number): string {
  if (part !== "writes" || path.length !== 1) return excerpt(form, style, most);
  const { channel, value } = form as { channel: unknown; value: unknown };
  return `${safeText(String(channel))}: ${excerpt(value, style, most)}`;
}

function summary(changes: Change[]): string {
  const counts = (Object.keys(ops) as Array<Change["op"]>).map((op) => {
    const count = changes.filter((change) => change.op === op).length;
    return count === 0 ? "" : `${count} ${ops[op].word}`;
  });
  const shown = counts.filter((text) => text !== "");
  // "2 changes: 2 changed" would be redundant.
  if (changes.every(({ op }) => op === "replace")) return `\n${plural(changes.length, "change")}`;
  return shown.length === 1 ? `\n${shown[0]}` : `\n${plural(changes.length, "change")}: ${shown.join(", ")}`;
}
