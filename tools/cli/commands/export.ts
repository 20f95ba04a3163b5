import { existsSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, runsArgument } from "../command.js";
import type { Context } from "../context.js";
import { refuseMissing } from "../database.js";
import { describe } from "../errors.js";
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

interface Options extends ChoiceOptions, DamageOptions {
  out: string;
}

export const exportRuns = () =>
  choosing(
    command<Options>("export", "copy all runs, or some, to a folder of JSON Lines files", run, "itself")
      .addArgument(runsArgument())
      .requiredOption("--out <folder>", "the folder; created if it doesn't exist"),
  ).addOption(skipDamaged());

async function run(context: Context, options: Options, ...ids: Array<string | undefined>): Promise<number | undefined> {
  const { database, output } = context;
  refuseMissing(database);
  const path = resolve(options.out);
  const choice = await choiceOf(context, ids, options);
  const to = { target: `jsonl:${path}`, shown: path, guessed: false };
  const isNew = !existsSync(path);
  const moved = await move(context, database, to, { ...choice, ...damageOf(options) }).catch((error: unknown) => {
    // A part of an export looks like a whole one.
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
