import { quote } from "../../../ts/bridge/errors.js";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, runsArgument } from "../command.js";
import { confirm } from "../confirm.js";
import type { Context } from "../context.js";
import { databaseAt, refuseMissing, samePlace } from "../database.js";
import { UsageError } from "../errors.js";
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
  to: string;
  replace?: boolean;
  yes?: boolean;
}

export const copy = () =>
  choosing(
    command<Options>("copy", "copy all runs, or some, to another database, and verify the copy", run, "itself")
      .addArgument(runsArgument())
      .requiredOption("--to <path or url>", "the database to copy to; created if it doesn't exist")
      .option("--replace", "replace runs that differ at the destination")
      .option("-y, --yes", "don't ask before replacing runs"),
  ).addOption(skipDamaged());

async function run(context: Context, options: Options, ...ids: Array<string | undefined>): Promise<number | undefined> {
  const { to, replace = false, yes = false } = options;
  const { database, output } = context;
  const destination = databaseAt(to);
  refuseMissing(database);
  if (samePlace(database, destination)) throw new UsageError("--to is the same database as --db");
  if (replace) await confirm(context, `this replaces runs in ${quote(destination.shown)}`, { yes });
  const choice = await choiceOf(context, ids, options);
  const moved = await move(context, database, destination, {
    ...choice,
    ...damageOf(options),
    ...(replace && { onConflict: "replace" }),
  }).catch((error: unknown) => {
    throw withSkip(error);
  });
  const where = ` to ${safeText(destination.shown)}`;
  const words = { done: "copied", where, todo: `to copy${where}` };
  output.answer(moved, () => [
    `${output.style("green", "✓")} ${movedText(moved, words)}`,
    ...damagedLines(moved, output.style),
  ]);
  return exitCodeOf(moved);
}
