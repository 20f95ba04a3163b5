/** Asks for confirmation before a dangerous command runs. */

import { confirm as ask, isCancel } from "@clack/prompts";
import type { Context } from "./context.js";
import { NotConfirmedError, StoppedError } from "./errors.js";
import { plain } from "./style.js";

export interface DangerousOptions {
  yes?: boolean;
  dryRun?: boolean;
}

const CTRL_C = "\u0003";

/**
 * Returns when the user has agreed. `what` describes the action. Throws a {@link NotConfirmedError} if the user
 * refuses, or if there is neither a terminal nor `--yes`.
 */
export async function confirm(context: Context, what: string, { yes = false }: DangerousOptions): Promise<void> {
  const { output, signal } = context;
  if (yes) return;
  if (!output.interactive) {
    if (!output.json) output.note(what);
    throw new NotConfirmedError(`nothing was done: ${what}. Add --yes to confirm`);
  }
  output.note(what);
  // The question uses colors only if stderr does. A terminal of unknown width counts as 80 columns wide.
  if (output.noteStyle === plain) process.env["NO_COLOR"] = "1";
  process.stderr.columns ||= 80;
  // The question reads Ctrl-C as a key, so no signal arrives.
  let stopped = false;
  const look = (keys: Buffer | string) => {
    if (keys.toString().includes(CTRL_C)) stopped = true;
  };
  process.stdin.prependListener("data", look);
  const answer = await ask({
    message: "Continue?",
    initialValue: false,
    output: process.stderr,
    signal,
    withGuide: false,
  });
  process.stdin.off("data", look);
  process.stdin.pause();
  if (stopped || signal.aborted) throw signal.aborted ? (signal.reason as Error) : new StoppedError("SIGINT");
  if (isCancel(answer) || !answer) throw new NotConfirmedError("nothing was done");
}
