import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, dangerous } from "../command.js";
import { type DangerousOptions, confirm } from "../confirm.js";
import type { Context } from "../context.js";
import { size } from "../units.js";

export const vacuum = () =>
  dangerous(
    command<DangerousOptions>("vacuum", "return the space of removed checkpoints to the file system", run, "itself"),
  );

async function run(context: Context, options: DangerousOptions): Promise<void> {
  const { dryRun = false } = options;
  const inspector = await context.open();
  const { fileBytes: before = 0, freeBytes } = await inspector.stats({ largest: 0 });
  const free = freeBytes === null ? "" : `, ${size(freeBytes)} of it free`;
  const what = `this rewrites ${safeText(context.database.shown)}: ${size(before)}${free}`;
  const { output } = context;
  let after = Math.max(0, before - (freeBytes ?? 0));
  if (!dryRun) {
    await confirm(context, what, options);
    output.progress.show("rewriting the database");
    const writer = await context.open({ write: true });
    await writer.vacuum();
    after = (await writer.stats({ largest: 0 })).fileBytes ?? 0;
    output.progress.clear();
  }
  output.answer(dryRun ? { before, after, dryRun } : { before, after }, () => [
    dryRun
      ? `would free about ${size(before - after)} of ${size(before)}`
      : `${output.style("green", "✓ done:")} ${size(before)} before, ${size(after)} after`,
  ]);
}
