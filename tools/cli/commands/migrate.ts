import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, dangerous } from "../command.js";
import { type DangerousOptions, confirm } from "../confirm.js";
import type { Context } from "../context.js";

export const migrate = () =>
  dangerous(
    command<DangerousOptions>("migrate", "upgrade a database of an older format to the newest one", run, "itself"),
  );

async function run(context: Context, options: DangerousOptions): Promise<void> {
  const { dryRun = false } = options;
  const { output, database } = context;
  const shown = safeText(database.shown);
  const inspector = await context.open();
  const found = await inspector.migrate({ dryRun: true });
  const { from, to } = found;
  if (from === to) {
    output.answer({ ...found, dryRun }, () => [`${shown} has format ${from}: there is nothing to upgrade`]);
    return;
  }
  const formats = `from format ${from} to format ${to}`;
  if (dryRun) {
    output.answer({ ...found, dryRun }, () => [`would upgrade ${shown} ${formats}`]);
    return;
  }
  const what = `this upgrades ${shown} ${formats}. Releases that don't know format ${to} can no longer write to it`;
  await confirm(context, what, options);
  const writer = await context.open({ write: true });
  const done = await writer.migrate();
  output.answer({ ...done, dryRun }, () => [`${output.style("green", "✓ upgraded")} ${shown} ${formats}`]);
}
