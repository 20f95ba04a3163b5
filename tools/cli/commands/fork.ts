import { traitsOf } from "../../../ts/contracts/registry.js";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, parsed, repeated, runArgument, spaceOption, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import { UsageError } from "../errors.js";
import { type RunOptions, findRun, readCheckpoint, refOf } from "../find.js";
import { type Setting, newKey, readPatch, readSetting, settingIn } from "../path.js";
import type { ForkEdit } from "../../../ts/inspect/fork.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";
import type { CheckpointDetail, CheckpointRef, RunInfo } from "../../../ts/plugin/views.js";

interface Options extends RunOptions {
  step?: number;
  set?: string[];
  patch?: string;
  as?: string;
  dryRun?: boolean;
}

const help = `
A fork never changes the source. It is a new run, thread or session. Where the framework has branches, it is a new branch
in the same thread, or a new thread with --as. In a graph, --set and --patch replace the value of a channel: no reducer
runs.

A branch of a thread that waits for an answer takes the question off the list of waiting runs. --as keeps it there.

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
  if (as === "") throw new UsageError("--as is empty: pass the id of the new run");
  const settings = (options.set ?? []).map(readSetting);
  const edit: ForkEdit = { as };
  if (options.patch !== undefined) edit.patch = await readPatch(options.patch);
  const inspector = dryRun ? await context.openForDryRun() : await context.open({ write: true });
  const found = await findRun(context, inspector, id!, options);
  const detail = await readCheckpoint(inspector, found, { id: checkpoint, step: options.step });
  const { checkpoint: source, state } = detail;
  if (options.set !== undefined) edit.set = settings.map((each) => settingIn(state, each));
  const from = { ...refOf(source), id: source.id };
  context.signal.throwIfAborted();
  if (hidesQuestion(found, as)) context.note(hides(found));
  const made = await inspector.fork(from, edit, { dryRun });
  const { output } = context;
  for (const remark of newKeys(state, edit)) context.note(remark);
  const { space, ns = null } = made;
  // A dry run makes up an id that differs from the fork's.
  const run = dryRun && as === undefined && made.run !== from.run ? undefined : made.run;
  const newId = dryRun ? undefined : made.id;
  output.answer({ space, run, ns, id: newId, from: { ...from, ns: from.ns ?? null }, dryRun }, () => {
    const { style } = output;
    const source = `checkpoint ${safeText(from.id)} of ${safeText(from.run)}`;
    const to = run === undefined ? "a new run" : style("bold", safeText(run));
    if (newId === undefined) return [`would fork ${source} to ${to}`];
    return [`${style("green", "✓ forked")} ${source} to ${style("bold", safeText(newId))} of ${to}`];
  });
  if (nothingNext(detail))
    output.hint("this checkpoint has no next node, so nothing will run: choose an earlier one with --step");
  else if (ns !== null && ns !== "") output.hint(await howSubgraphGoesOn(inspector, detail, as));
  else if (!dryRun) output.hint(howToResume(made));
}

/** Says how to continue a subgraph's branch. A graph loads it only at the step that called the subgraph. */
async function howSubgraphGoesOn(inspector: Inspector, { checkpoint }: CheckpointDetail, as?: string): Promise<string> {
  const { space, run, meta } = checkpoint;
  const caller = (meta["parents"] as Record<string, unknown> | undefined)?.[""];
  const newest = (await inspector.run({ space, run }))?.latest;
  if (traitsOf(space).fork?.inPlace === true && as === undefined && caller !== undefined && newest?.id === caller)
    return "the graph is still at the step that called this subgraph: it continues from this branch when your program resumes the thread";
  return "nothing continues this branch: it is a step of a subgraph, and graphs resume at their own steps. Fork the step of the graph that calls the subgraph, without --ns";
}

/** Returns true if a branch would become the newest checkpoint of a waiting thread. */
const hidesQuestion = ({ space, status, ns }: RunInfo, as: string | undefined): boolean =>
  traitsOf(space).fork?.inPlace === true && status === "waiting" && as === undefined && !ns;

const hides = ({ run }: RunInfo): string =>
  `${safeText(run)} waits for an answer. The branch becomes its newest step, so the question leaves the list of waiting runs ` +
  "until your program runs the branch, which asks again. To keep the question, fork into a new thread: add --as <run id>";

/** Returns notes about new keys that an edit adds to the state. */
function newKeys(state: unknown, { set = [], patch = {} }: ForkEdit): string[] {
  const merged = Object.entries(patch as object).filter(([, value]) => value !== null);
  const settings = [...set, ...merged.map(([key, value]): Setting => [`[${JSON.stringify(key)}]`, value])];
  return settings.map((setting) => newKey(state, setting)).filter((remark) => remark !== undefined);
}

function nothingNext({ checkpoint, next }: CheckpointDetail): boolean {
  return next?.length === 0 || traitsOf(checkpoint.space).isLast?.(checkpoint.meta) === true;
}

function howToResume({ space, run }: CheckpointRef): string {
  const call = traitsOf(space).fork?.resume?.(safeText(JSON.stringify(run)));
  return call === undefined ? "resume it in your program by its id" : `resume it in your program: ${call}`;
}
