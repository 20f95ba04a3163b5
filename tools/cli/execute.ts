/** Runs commands with signals, errors and exit codes. */

import { type CommonOptions, Context } from "./context.js";
import { BrokenPipeError, StoppedError, describe, exitCodeOf, exitCodes } from "./errors.js";
import { Output } from "./output.js";
import { aborted, endingSignal } from "./signals.js";

/**
 * How a command ends on Ctrl-C or SIGTERM. `"immediately"`: it only reads, so it is interrupted. `"itself"`: it checks
 * its signal, stops, and reports its finished work.
 */
export type Stops = "immediately" | "itself";

/** Runs a command and ends the process. */
export async function execute(
  options: CommonOptions,
  stops: Stops,
  run: (context: Context) => Promise<number | void>,
): Promise<never> {
  const output = new Output(options.json === true, options.color ?? "auto");
  const context = new Context(options, output, endingSignal());
  showWarnings(context);
  const { signal } = context;
  try {
    const work = finish(context, run);
    const code = await (stops === "itself" ? work : Promise.race([work, aborted(signal)]));
    return process.exit(code ?? (signal.aborted ? exitCodeOf(signal.reason) : exitCodes.done));
  } catch (error) {
    return process.exit(fail(output, error, context.done));
  }
}

/** Runs a command, closes its resources, and writes the rest of its output. */
async function finish(context: Context, run: (context: Context) => Promise<number | void>): Promise<number | void> {
  const { output, signal } = context;
  let code: number | void;
  try {
    code = await run(context);
  } finally {
    output.progress.clear();
    await context.close();
  }
  if (code === undefined && signal.aborted) context.note("stopped, but everything was already done");
  await output.finish();
  return code;
}

/** Shows an error, and returns the exit code. `done` describes the work before the error. */
export function fail(output: Output, error: unknown, done?: string): number {
  if (error instanceof BrokenPipeError) return exitCodes.done;
  const shown = describe(error);
  if (error instanceof StoppedError && done !== undefined) shown.message += `: ${done}`;
  if (shown.code === "INTERNAL") {
    const stack = error instanceof Error ? error.stack : undefined;
    shown.message = `this is a bug in forkpoint: ${output.json ? shown.message : (stack ?? shown.message)}`;
  }
  output.fail(shown);
  return exitCodeOf(error);
}

/** Shows the warnings of this package as notes. Hides all others. */
function showWarnings(context: Context): void {
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) => {
    if (name === "ForkpointWarning") context.note(`warning: ${message}`);
  });
}
