import { existsSync } from "node:fs";
import { quote } from "../../../ts/bridge/errors.js";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command } from "../command.js";
import { confirm } from "../confirm.js";
import type { Context } from "../context.js";
import { databaseAt, samePlace } from "../database.js";
import { UsageError } from "../errors.js";
import { plural, size } from "../units.js";

interface Options {
  force?: boolean;
  yes?: boolean;
}

export const backup = () =>
  command<Options>(
    "backup",
    "copy a SQLite database to a new file while it is in use, and verify the copy",
    run,
    "itself",
  )
    .argument("<file>", "the path of the copy, which only you can read")
    .option("--force", "replace an existing file")
    .option("-y, --yes", "don't ask before replacing a file");

async function run(context: Context, { force = false, yes = false }: Options, file = ""): Promise<void> {
  const { output, signal } = context;
  if (samePlace(context.database, databaseAt(file))) throw new UsageError("the backup is the same file as --db");
  const inspector = await context.open();
  if (force) {
    const what = existsSync(file)
      ? `this replaces ${quote(file)}`
      : `this writes ${quote(file)}, and replaces any file there`;
    await confirm(context, what, { yes });
  }
  const result = await inspector.backup(file, {
    overwrite: force,
    signal,
    onProgress: ({ phase, done, of }) => {
      context.done = "no file was written";
      output.progress.show(phase, done, of);
    },
  });
  output.progress.clear();
  const { path, checkpoints, bytes } = result;
  const what = `${plural(checkpoints, "checkpoint")}, ${size(bytes)}, verified`;
  output.answer(result, () => [`${output.style("green", "✓ wrote")} ${safeText(path)}: ${what}`]);
}
