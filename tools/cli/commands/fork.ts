import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, parsed, repeated, runArgument, spaceOption, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import { type RunOptions, findRun, readCheckpoint, refOf } from "../find.js";
import { readPatch, readSetting } from "../path.js";
import type { ForkEdit } from "../../../ts/inspect/fork.js";

interface Options extends RunOptions {
  step?: number;
  set?: string[];
  patch?: string;
  as?: string;
  dryRun?: boolean;
}

const help = `
A fork never changes the source. In LangGraph it is a new branch in the same thread, or a new thread with --as. In other
frameworks it is a new run, thread or session. In LangGraph, --set and --patch replace the value of a channel: no reducer
runs.

  forkpoint fork run-1 --set scratch.confidence=0.9
  forkpoint fork run-1 --step -2 --set 'input.question="why not"' --as run-1-again
  forkpoint fork run-1 --patch '{"scratch":{"confidence":0.9,"draft":null}}'`;

export const fork = () =>
  command<Options>("fork", "start a new run or branch from a checkpoint, with an edited state", run, "itself")
    .addArgument(runArgument())
    .argument("[checkpoint]", "the id of a checkpoint, or a prefix of it (default: the newest)")
    .addOption(
      parsed("--step <n>", "the checkpoint by its position, from 0; negative: from the end", wholeFrom(-Infinity)),
    )
    .option("--set <path>=<json>", "set the value at a path; repeatable", repeated)
    .option("--patch <json|@file|->", "apply a JSON merge patch (RFC 7396) to the state; -: read it from stdin")
    .option("--as <run id>", "the id of the new run (default: generated)")
    .option("--dry-run", "check everything, and write nothing")
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of the run")
    .addHelpText("after", help);

async function run(context: Context, options: Options, id?: string, checkpoint?: string): Promise<void> {
  const { dryRun = false, as } = options;
  const edit: ForkEdit = { set: options.set?.map(readSetting), as };
  if (options.patch !== undefined) edit.patch = await readPatch(options.patch);
  const inspector = dryRun ? await context.openForDryRun() : await context.open({ write: true });
  const found = await findRun(context, inspector, id!, options);
  const source = (await readCheckpoint(inspector, found, { id: checkpoint, step: options.step })).checkpoint;
  const from = { ...refOf(source), id: source.id };
  context.signal.throwIfAborted();
  const made = await inspector.fork(from, edit, { dryRun });
  const { output } = context;
  const { space, ns = null } = made;
  // A dry run makes up ids that the fork would not get.
  const run = dryRun && as === undefined && made.run !== from.run ? undefined : made.run;
  const newId = dryRun ? undefined : made.id;
  output.answer({ space, run, ns, id: newId, from: { ...from, ns: from.ns ?? null }, dryRun }, () => {
    const { style } = output;
    const source = `checkpoint ${safeText(from.id)} of ${safeText(from.run)}`;
    const to = run === undefined ? "a new run" : style("bold", safeText(run));
    if (newId === undefined) return [`would fork ${source} to ${to}`];
    return [`${style("green", "✓ forked")} ${source} to ${style("bold", safeText(newId))} of ${to}`];
  });
  if (!dryRun) output.hint("resume it in your program by its id: see the guide of your framework");
}
