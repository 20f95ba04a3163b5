/** `forkpoint copy`: copies a database to another place or another kind of store. */

import { ForkpointError, quote } from "../../../ts/bridge/errors.js";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command } from "../command.js";
import { confirm } from "../confirm.js";
import type { Context } from "../context.js";
import { type Database, databaseAt, isMissing, refuseMissing, samePlace } from "../database.js";
import { UsageError } from "../errors.js";
import { plural } from "../units.js";
import type { CopyProgress } from "../../../ts/inspect/copy.js";
import type { ImportReport } from "../../../ts/inspect/import.js";
import type { RunRef } from "../../../ts/inspect/views.js";

interface Options {
  to: string;
  replace?: boolean;
  yes?: boolean;
}

export const copy = () =>
  command<Options>("copy", "copies everything to another database, and compares both; may be run again", run, "itself")
    .requiredOption("--to <path or url>", "the database to copy to; it is created if it does not exist")
    .option("--replace", "replaces runs that are there already")
    .option("-y, --yes", "does not ask before it replaces something");

async function run(context: Context, { to, replace = false, yes = false }: Options): Promise<void> {
  const { database, output } = context;
  const destination = databaseAt(to);
  refuseMissing(database);
  if (samePlace(database, destination)) throw new UsageError("--to names the database itself");
  if (replace) await confirm(context, `this replaces runs of ${quote(destination.shown)}`, { yes });
  const replaces = replace && !isMissing(destination);
  const report = replaces ? await replaceRuns(context, destination) : await copyAll(context, destination);
  output.progress.clear();
  if (output.json) {
    output.printJson(report);
    return;
  }
  const { runs, checkpoints, writes, skipped } = report;
  const counts = `${plural(runs, "run")} with ${plural(checkpoints, "checkpoint")} and ${plural(writes, "write")}`;
  const there = skipped === 0 ? "" : `, ${plural(skipped, "run")} were there already`;
  const where = `to ${safeText(destination.shown)}`;
  output.print(`${output.style("green", "✓ copied")} ${counts} ${where}${there}; both are equal`);
}

/** Copies what is not there yet, and compares everything. */
async function copyAll(context: Context, to: Database): Promise<ImportReport> {
  const { copyStore } = await import("../../../ts/index.js");
  let before: CopyProgress | undefined;
  const all = await copyStore(context.database.target, to.target, {
    signal: context.signal,
    onProgress: (progress) => {
      const { phase, checkpoints, ofCheckpoints } = progress;
      if (phase === "copying") before ??= progress;
      context.done = `${plural(checkpoints, "checkpoint")} were ${phase === "copying" ? "copied; the next copy goes on there" : "compared"}`;
      context.output.progress.show(phase, checkpoints, ofCheckpoints);
    },
  });
  // The first report of copying has what an earlier copy has done. Without one, there was nothing to copy.
  const there = before ?? all;
  return {
    runs: all.lineages - there.lineages,
    checkpoints: all.checkpoints - there.checkpoints,
    writes: all.writes - there.writes,
    skipped: there.lineages,
    verified: true,
  };
}

/** Replaces runs of the destination by those of the source, and compares the runs. */
async function replaceRuns(context: Context, to: Database): Promise<ImportReport> {
  const { signal, output } = context;
  const from = await context.open();
  const destination = await context.inspect(to.target, true);
  const sums = new Sums();
  const report = await destination.import(sums.take(from.export({ signal })), {
    onConflict: "replace",
    signal,
    onProgress: ({ checkpoints }) => {
      context.done = `${plural(checkpoints, "checkpoint")} were copied`;
      output.progress.show(`${plural(checkpoints, "checkpoint")} copied`);
    },
  });
  output.progress.show("comparing");
  const copied = new Sums();
  for await (const _ of copied.take(destination.export({ runs: sums.runs, signal })));
  const different = sums.different(copied);
  if (different === undefined) return report;
  const how = "another program writes to one of the databases: stop it, and copy again";
  throw new ForkpointError("CONFLICT", `run ${quote(different.run)} differs after it was copied: ${how}`);
}

/** The checksum of each run of an export. */
class Sums {
  readonly runs: RunRef[] = [];
  readonly #sums = new Map<string, string>();

  /** Yields the lines of an export, and remembers the checksums. */
  async *take(lines: AsyncIterable<string>): AsyncGenerator<string> {
    for await (const line of lines) {
      if (line.startsWith('{"run":')) this.runs.push((JSON.parse(line) as { run: RunRef }).run);
      if (line.startsWith('{"end":')) {
        const { end } = JSON.parse(line) as { end: { sha256: string } };
        this.#sums.set(keyOf(this.runs.at(-1)!), end.sha256);
      }
      yield line;
    }
  }

  /** Returns a run whose checksum is another one. */
  different(other: Sums): RunRef | undefined {
    return this.runs.find((run) => this.#sums.get(keyOf(run)) !== other.#sums.get(keyOf(run)));
  }
}

function keyOf({ space, run, ns }: RunRef): string {
  return JSON.stringify([space, run, ns ?? null]);
}
