import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, dangerous, repeated, runArgument, spaceOption } from "../command.js";
import { type DangerousOptions, confirm } from "../confirm.js";
import type { Context } from "../context.js";
import { type RunOptions, findCheckpoint, findRun, refOf } from "../find.js";
import { runsOf } from "../pages.js";
import { plural } from "../units.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";
import type { RunInfo } from "../../../ts/plugin/views.js";

interface Options extends RunOptions, DangerousOptions {
  checkpoint?: string[];
  force?: boolean;
}

const help = `
The removed bytes stay in the file, as free space for new data, until you run \`forkpoint vacuum\`.`;

export const rm = () =>
  dangerous(
    command<Options>("rm", "remove a run, or some of its checkpoints", run, "itself")
      .addArgument(runArgument())
      .option("--checkpoint <id>", "remove only this checkpoint; repeatable", repeated)
      .addOption(spaceOption())
      .option("--ns <ns>", "the namespace of the run")
      .option("--force", "remove the run although a process works on it, and end its lease"),
  ).addHelpText("after", help);

async function run(context: Context, options: Options, id?: string): Promise<void> {
  const { checkpoint: named, dryRun = false, force = false } = options;
  const inspector = await context.openForDryRun();
  const found = await findRun(context, inspector, id!, options);
  const ids = named && [...(await idsOf(inspector, found, named))];
  const count = ids?.length ?? (await countOf(inspector, found));
  const { output } = context;
  const of = `run ${safeText(JSON.stringify(found.run))} (${safeText(found.space)})`;
  const effects = ids === undefined ? (await inspector.effects(refOf(found))).length : 0;
  const more = effects === 0 ? "" : ` and ${plural(effects, "effect")}`;
  const what =
    ids === undefined ? `${of} with ${plural(count, "checkpoint")}${more}` : `${plural(count, "checkpoint")} of ${of}`;
  if (!dryRun) await confirm(context, `this removes ${what}`, options);
  context.signal.throwIfAborted();
  const { removed } = dryRun
    ? { removed: count }
    : await (await context.open({ write: true })).remove(refOf(found), ids, { force });
  output.answer({ dryRun, removed }, () => [
    dryRun ? `would remove ${what}` : `${output.style("green", "✓ removed")} ${plural(removed, "checkpoint")} of ${of}`,
  ]);
}

async function idsOf(inspector: Inspector, found: RunInfo, named: string[]): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const each of named) ids.add((await findCheckpoint(inspector, found, each)).id);
  return ids;
}

/** Counts the checkpoints of a run. Removing a thread also removes the namespaces of its subgraphs. */
async function countOf(inspector: Inspector, { space, run, ns, checkpoints }: RunInfo): Promise<number> {
  if (ns !== "") return checkpoints;
  let count = 0;
  for await (const each of runsOf(inspector, { space, match: run, allNs: true })) {
    if (each.run === run) count += each.checkpoints;
  }
  return count;
}
