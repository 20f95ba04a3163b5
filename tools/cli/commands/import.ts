/** `forkpoint import`: stores what an export has written. */

import { Option } from "commander";
import { ForkpointError } from "../../../ts/bridge/errors.js";
import { command } from "../command.js";
import { type DangerousOptions, confirm } from "../confirm.js";
import type { Context } from "../context.js";
import { isMissing } from "../database.js";
import { UsageError, describe } from "../errors.js";
import { linesOf } from "../lines.js";
import { plural } from "../units.js";
import type { ImportReport } from "../../../ts/inspect/import.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";

interface Options extends DangerousOptions {
  onConflict?: "fail" | "skip";
  replace?: boolean;
}

export const importRuns = () =>
  command<Options>(
    "import",
    "stores what `export` has written; creates the database if it does not exist",
    run,
    "itself",
  )
    .argument("<file>", "the file, or - for stdin")
    .addOption(
      new Option("--on-conflict <what>", "for a run that is there already (default: fail)").choices(["fail", "skip"]),
    )
    .option("--replace", "replaces runs that are there already")
    .option("-y, --yes", "does not ask before it replaces something")
    .option("--dry-run", "reads and checks everything, and writes nothing");

async function run(context: Context, options: Options, file = ""): Promise<void> {
  const { replace = false, dryRun = false } = options;
  if (replace && options.onConflict !== undefined) throw new UsageError("give --replace or --on-conflict, not both");
  const onConflict = replace ? "replace" : (options.onConflict ?? "fail");
  if (file === "-") {
    if (replace && !dryRun) await confirm(context, "this replaces runs that are there already", options);
    const inspector = dryRun ? await unchanged(context) : await destination(context);
    return print(context, await read(context, inspector, file, onConflict, dryRun), dryRun);
  }
  // A file is read twice. Nothing is written, and no database is created, if something is wrong with it.
  const checked = await read(context, await unchanged(context), file, onConflict, true);
  if (dryRun) return print(context, checked, true);
  if (replace)
    await confirm(context, `this stores ${what(checked)}, and replaces those that are there already`, options);
  return print(context, await read(context, await destination(context), file, onConflict, false), false);
}

/** The destination, or a store without runs if there is none yet. Nothing is written to it. */
async function unchanged(context: Context): Promise<Inspector> {
  return isMissing(context.database) ? context.create("memory:") : context.openForDryRun();
}

async function destination(context: Context): Promise<Inspector> {
  return isMissing(context.database) ? context.create(context.database.target) : context.open({ write: true });
}

async function read(
  context: Context,
  inspector: Inspector,
  file: string,
  onConflict: "fail" | "skip" | "replace",
  dryRun: boolean,
): Promise<ImportReport> {
  const { signal, output } = context;
  const report = inspector.import(linesOf(file), {
    onConflict,
    dryRun,
    signal,
    onProgress: ({ runs, checkpoints }) => {
      const counts = `${plural(runs, "run")} with ${plural(checkpoints, "checkpoint")}`;
      context.done = dryRun ? "nothing was stored" : `${counts} were stored`;
      output.progress.show(`${counts} ${dryRun ? "checked" : "stored"}`);
    },
  });
  return report.catch((error: unknown) => {
    const { code, message } = describe(error);
    if (code !== "CONFLICT" || onConflict !== "fail") throw error;
    throw new ForkpointError(code, `${message}. The flags are --on-conflict skip and --replace`, { cause: error });
  });
}

function what({ runs, checkpoints }: ImportReport): string {
  return `${plural(runs, "run")} with ${plural(checkpoints, "checkpoint")}`;
}

function print({ output }: Context, report: ImportReport, dryRun: boolean): void {
  output.progress.clear();
  if (output.json) {
    output.printJson(dryRun ? { ...report, dryRun } : report);
    return;
  }
  const skipped = report.skipped === 0 ? "" : `, ${plural(report.skipped, "run")} skipped`;
  const text = `${what(report)} and ${plural(report.writes, "write")}${skipped}`;
  output.print(dryRun ? `would store ${text}` : `${output.style("green", "✓ stored")} ${text}, verified`);
}
