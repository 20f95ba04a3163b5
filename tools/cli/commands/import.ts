import { Option } from "commander";
import { ForkpointError, quote } from "../../../ts/bridge/errors.js";
import { command } from "../command.js";
import { type DangerousOptions, confirm } from "../confirm.js";
import type { Context } from "../context.js";
import { type Database, databaseAt, isMissing, refuseMissing, samePlace } from "../database.js";
import { UsageError, describe } from "../errors.js";
import { refOf } from "../find.js";
import { type Moved, move, movedText } from "../moving.js";
import { runsOf } from "../pages.js";
import { plural } from "../units.js";

interface Options extends DangerousOptions {
  onConflict?: "fail" | "skip";
  replace?: boolean;
}

export const importRuns = () =>
  command<Options>(
    "import",
    "import an export or another database; creates the database if it doesn't exist",
    run,
    "itself",
  )
    .argument("<folder>", "the folder, or another database")
    .addOption(
      new Option(
        "--on-conflict <what>",
        "what to do with a run that differs at the destination (default: fail)",
      ).choices(["fail", "skip"]),
    )
    .option("--replace", "replace runs that differ at the destination")
    .option("-y, --yes", "don't ask before replacing runs")
    .option("--dry-run", "verify the folder, and write nothing");

async function run(context: Context, options: Options, folder = ""): Promise<void> {
  const { replace = false, dryRun = false } = options;
  if (replace && options.onConflict !== undefined) throw new UsageError("pass --replace or --on-conflict, not both");
  const onConflict = replace ? "replace" : (options.onConflict ?? "fail");
  const { database, output } = context;
  const from = databaseAt(folder);
  refuseMissing(from);
  if (samePlace(from, database)) throw new UsageError("the folder is the same database as --db");
  if (dryRun) return wouldImport(context, from);
  if (replace) await confirm(context, "this replaces runs that differ at the destination", options);
  const moved = await move(context, from, database, { onConflict }).catch((error: unknown): Moved => {
    const { code, message } = describe(error);
    if (code !== "CONFLICT" || onConflict !== "fail") throw error;
    throw new ForkpointError(code, `${message}. Add --on-conflict skip or --replace`, { cause: error });
  });
  const text = movedText(moved, { done: "imported", todo: "to import" });
  output.answer(moved, () => [`${output.style("green", "✓")} ${text}`]);
}

/** Verifies a folder, and counts the runs that the database already has. */
async function wouldImport(context: Context, from: Database): Promise<void> {
  const { openStore } = await import("../../../ts/index.js");
  const { refuseUnfinished } = await import("../../../ts/inspect/export-mark.js");
  const { database, output, signal } = context;
  {
    await using store = await openStore(from.target, context.reading);
    refuseUnfinished(store);
  }
  const source = await context.inspect(from.target);
  const { findings } = await source.verify({ signal });
  const damage = findings.find(({ severity }) => severity === "error");
  if (damage !== undefined) throw new ForkpointError("CORRUPT", `${quote(from.shown)} is damaged: ${damage.message}`);
  const destination = isMissing(database) ? undefined : await context.inspect(database.target);
  const report = { runs: 0, checkpoints: 0, there: 0, dryRun: true };
  for await (const run of runsOf(source, { allNs: true })) {
    report.runs += 1;
    report.checkpoints += run.checkpoints;
    if (destination !== undefined && (await destination.run(refOf(run))) !== null) report.there += 1;
  }
  const what = `${plural(report.runs, "run")} with ${plural(report.checkpoints, "checkpoint")}`;
  output.answer(report, () => [`would import ${what}; already there: ${plural(report.there, "run")}`]);
}
