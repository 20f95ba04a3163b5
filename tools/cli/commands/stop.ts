import { traitsOf } from "../../../ts/contracts/registry.js";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, parsed, runArgument, spaceOption } from "../command.js";
import type { Context } from "../context.js";
import { UsageError, exitCodes } from "../errors.js";
import { type RunOptions, findRun, refOf } from "../find.js";
import type { Output } from "../output.js";
import { parseDuration } from "../units.js";
import { userName } from "../user-name.js";
import type { StopResult } from "../../../ts/store/results.js";
import type { RunInfo, Status } from "../../../ts/plugin/views.js";

interface Options extends RunOptions {
  by?: string;
  reason?: string;
  wait: number;
}

const help = `
The process must work on the run with exclusive() of its store. Other programs end the run themselves, or ignore the
request. Exit code 1: the process has not answered in time. It still stops when it notices the request.

  forkpoint stop run-1 --reason "wrong customer"`;

export const stop = () =>
  command<Options>("stop", "stop a run that any process works on, and wait until it has ended", run, "itself")
    .addArgument(runArgument())
    .option("--by <name>", "who stops the run (default: your user name)")
    .option("--reason <text>", "why")
    .addOption(parsed("--wait <duration>", "the longest wait: 500ms, 30s, 5m (default: 10s)", parseDuration))
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of the run")
    .addHelpText("after", help);

async function run(context: Context, options: Options, id?: string): Promise<number> {
  const { reason, wait = 10_000, by = userName() } = options;
  for (const [flag, text, most] of [["--by", by, 200] as const, ["--reason", reason, 1_000] as const]) {
    if (text === "" || (text?.length ?? 0) > most) throw new UsageError(`${flag}: expected 1 to ${most} characters`);
  }
  if (wait >= 2 ** 31) throw new UsageError("--wait: expected at most 24d");
  const inspector = await context.open({ write: true });
  const found = await findRun(context, inspector, id!, options);
  const ref = refOf(found);
  const { output, signal } = context;
  signal.throwIfAborted();
  const given = { waitMs: wait, signal, ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
  const result = await inspector.stop(ref, given);
  const { status = null, stopped = null } = (await inspector.run(ref)) ?? {};
  const { space, run, ns = null } = ref;
  output.answer({ space, run, ns, outcome: result.outcome, holder: result.holder, status, stopped }, () => [
    line(found, result, status, output),
  ]);
  if (result.outcome === "no answer") {
    output.hint("it stops when it notices the request. If the process hangs, end it: the run is then unfinished");
    return exitCodes.no;
  }
  const call = traitsOf(space).fork?.resume?.(safeText(JSON.stringify(run)));
  if (status === "stopped" && call !== undefined) output.hint(`continue it in your program: ${call}`);
  return exitCodes.done;
}

function line({ run }: RunInfo, { outcome, holder }: StopResult, status: Status | null, { style }: Output): string {
  const [name, process] = [safeText(run), safeText(holder ?? "")];
  if (outcome === "no answer") return `${style("yellow", "! no answer")} ${name}: ${process} has not stopped yet`;
  const done = style("green", "✓ stopped");
  if (outcome === "stopped") return `${done} ${name}: ${process} has ended its work`;
  const nobody = holder === null ? "no process worked on it" : `${process} had ended before`;
  return status === "stopped" ? `${done} ${name}: ${nobody}` : `${name} is ${status ?? "gone"}: ${nobody}`;
}
