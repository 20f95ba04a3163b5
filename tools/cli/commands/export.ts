import { resolve } from "node:path";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, runsArgument } from "../command.js";
import type { Context } from "../context.js";
import { refuseMissing } from "../database.js";
import { type ChoiceOptions, choiceOf, choosing, move, movedText } from "../moving.js";

interface Options extends ChoiceOptions {
  out: string;
}

export const exportRuns = () =>
  choosing(
    command<Options>("export", "copy all runs, or some, to a folder of JSON Lines files", run, "itself")
      .addArgument(runsArgument())
      .requiredOption("--out <folder>", "the folder; created if it doesn't exist"),
  );

async function run(context: Context, options: Options, ...ids: Array<string | undefined>): Promise<void> {
  const { database, output } = context;
  refuseMissing(database);
  const path = resolve(options.out);
  const choice = await choiceOf(context, ids, options);
  const moved = await move(context, database, { target: `jsonl:${path}`, shown: path, guessed: false }, choice);
  const words = { done: `wrote ${safeText(path)}:`, todo: `to export to ${safeText(path)}` };
  output.answer({ ...moved, path }, () => [`${output.style("green", "✓")} ${movedText(moved, words)}`]);
}
