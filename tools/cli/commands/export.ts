import { existsSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, parsed, repeated, runsArgument, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import { refuseMissing } from "../database.js";
import { UsageError, describe } from "../errors.js";
import { type HtmlOptions, exportHtml } from "../export-html.js";
import {
  type ChoiceOptions,
  type DamageOptions,
  choiceOf,
  choosing,
  damageOf,
  damagedLines,
  exitCodeOf,
  move,
  movedText,
  skipDamaged,
  withSkip,
} from "../moving.js";

interface Options extends ChoiceOptions, DamageOptions, HtmlOptions {
  out?: string;
}

export const exportRuns = () =>
  choosing(
    command<Options>(
      "export",
      "copy all runs, or some, to a folder of JSON Lines files, or one run to an HTML file",
      run,
      "itself",
    )
      .addArgument(runsArgument())
      .option("--out <folder>", "the folder; created if it doesn't exist")
      .option("--html <file>", "one file that shows a run without Forkpoint and without network")
      .addOption(parsed("--last <n>", "with --html: only the last n checkpoints", wholeFrom(1)))
      .option(
        "--leave-out <path>",
        "with --html: leave out values, such as .apiKey or .messages[*].content; repeatable",
        repeated,
      ),
  ).addOption(skipDamaged());

async function run(context: Context, options: Options, ...ids: Array<string | undefined>): Promise<number | undefined> {
  const { database, output } = context;
  const { out, html, last, leaveOut } = options;
  if ((out === undefined) === (html === undefined)) throw new UsageError("pass --out <folder> or --html <file>");
  refuseMissing(database);
  if (html !== undefined) {
    await exportHtml(context, options, ids);
    return undefined;
  }
  if (last !== undefined || leaveOut !== undefined) throw new UsageError("--last and --leave-out need --html");
  const path = resolve(out!);
  const choice = await choiceOf(context, ids, options);
  const to = { target: `jsonl:${path}`, shown: path, guessed: false };
  const isNew = !existsSync(path);
  const moved = await move(context, database, to, { ...choice, ...damageOf(options) }).catch((error: unknown) => {
    // A partial export would look complete.
    if (isNew && describe(error).code === "CORRUPT") rmSync(path, { recursive: true, force: true });
    throw withSkip(error);
  });
  const words = { done: `wrote ${safeText(path)}:`, todo: `to export to ${safeText(path)}` };
  output.answer({ ...moved, path }, () => [
    `${output.style("green", "✓")} ${movedText(moved, words)}`,
    ...damagedLines(moved, output.style),
  ]);
  return exitCodeOf(moved);
}
