import { quote } from "../../../ts/bridge/errors.js";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, runsArgument } from "../command.js";
import { confirm } from "../confirm.js";
import type { Context } from "../context.js";
import { databaseAt, refuseMissing, samePlace } from "../database.js";
import { UsageError } from "../errors.js";
import { type ChoiceOptions, choiceOf, choosing, move, movedText } from "../moving.js";

interface Options extends ChoiceOptions {
  to: string;
  replace?: boolean;
  yes?: boolean;
}

export const copy = () =>
  choosing(
    command<Options>("copy", "copies everything or some runs to another database, and compares both", run, "itself")
      .addArgument(runsArgument())
      .requiredOption("--to <path or url>", "the database to copy to; it is created if it does not exist")
      .option("--replace", "replaces runs that are there already with another content")
      .option("-y, --yes", "does not ask before it replaces something"),
  );

async function run(context: Context, options: Options, ...ids: Array<string | undefined>): Promise<void> {
  const { to, replace = false, yes = false } = options;
  const { database, output } = context;
  const destination = databaseAt(to);
  refuseMissing(database);
  if (samePlace(database, destination)) throw new UsageError("--to names the database itself");
  if (replace) await confirm(context, `this replaces runs of ${quote(destination.shown)}`, { yes });
  const choice = await choiceOf(context, ids, options);
  const moved = await move(context, database, destination, { ...choice, ...(replace && { onConflict: "replace" }) });
  const what = `${movedText(moved)} to ${safeText(destination.shown)}; both are equal`;
  output.answer(moved, () => [`${output.style("green", "✓ copied")} ${what}`]);
}
