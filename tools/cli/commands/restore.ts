import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, dangerous } from "../command.js";
import { type DangerousOptions, confirm } from "../confirm.js";
import type { Context } from "../context.js";
import { databaseAt, isMissing, samePlace } from "../database.js";
import { UsageError } from "../errors.js";
import { plural, size } from "../units.js";

export const restore = () =>
  dangerous(
    command<DangerousOptions>(
      "restore",
      "replace the content of a SQLite database with a backup, also while it is in use",
      run,
      "itself",
    ),
  ).argument("<file>", "the path of the backup, which isn't changed");

async function run(context: Context, options: DangerousOptions, file = ""): Promise<void> {
  const { output, signal, database } = context;
  const { dryRun = false } = options;
  if (samePlace(database, databaseAt(file))) throw new UsageError("the backup is the same file as --db");
  const backup = await context.inspect(file);
  const { checkpoints, fileBytes } = await backup.stats({ largest: 0 });
  await backup.close();
  const found = `${plural(checkpoints, "checkpoint")}, ${size(fileBytes ?? 0)}`;
  const shown = safeText(database.shown);
  if (dryRun) {
    output.answer({ checkpoints, bytes: fileBytes, dryRun }, () => [`would restore ${found} into ${shown}`]);
    return;
  }
  const what = isMissing(database) ? `this creates ${shown}` : `this replaces the content of ${shown}`;
  await confirm(context, `${what} with ${found} of ${safeText(file)}`, options);
  const inspector = await context.inspect(database.target, true);
  const result = await inspector.restore(file, {
    signal,
    onProgress: ({ phase, done, of }) => {
      context.done = "nothing was changed";
      output.progress.show(phase, done, of);
    },
  });
  output.progress.clear();
  output.answer(result, () => [
    `${output.style("green", "✓ restored")} ${shown}: ${plural(result.checkpoints, "checkpoint")}, ${size(result.bytes)}, verified`,
  ]);
}
