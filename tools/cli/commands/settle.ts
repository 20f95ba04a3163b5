import { Argument } from "commander";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { ForkpointError } from "../../../ts/bridge/errors.js";
import { command, dangerous, parsed, runArgument, spaceOption, wholeFrom } from "../command.js";
import { type DangerousOptions, confirm } from "../confirm.js";
import type { Context } from "../context.js";
import { effectText, findEffect, findRunOfEffects } from "../effects.js";
import { UsageError } from "../errors.js";
import type { RunOptions } from "../find.js";
import { readSource } from "../path.js";
import type { EffectInfo } from "../../../ts/plugin/views.js";

interface Options extends RunOptions, DangerousOptions {
  result?: string;
  forget?: boolean;
  branch?: number;
}

const help = `
Settle an effect that may have happened, after you have looked into the other system. --result stores what it returned: the
next call gets it, and nothing runs. --forget removes the effect: the next call runs it again, with another idempotency key.
An effect that a process runs is refused, and so is a run that a process has leased.`;

export const settle = () =>
  dangerous(
    command<Options>("settle", "store the result of an effect by hand, or forget it", run, "itself")
      .addArgument(runArgument())
      .addArgument(new Argument("<key>", "the key of the effect"))
      .option("--result <json|@file|->", "store this result; -: read it from stdin")
      .option("--forget", "forget the effect, so that the next call runs it again")
      .addOption(parsed("--branch <n>", "which of several effects with this key (default: the last one)", wholeFrom(0)))
      .addOption(spaceOption())
      .option("--ns <ns>", "the namespace of the run"),
  ).addHelpText("after", help);

async function run(context: Context, options: Options, id?: string, key?: string): Promise<void> {
  const { result, forget = false, branch, dryRun = false } = options;
  if ((result === undefined) !== forget) throw new UsageError("pass --result or --forget");
  const value = result === undefined ? undefined : await readSource(result, "--result");
  const inspector = await context.openForDryRun();
  const effect = await findEffect(inspector, await findRunOfEffects(context, inspector, id!, options), key!, branch);
  const named = effectText(effect);
  refuse(effect, forget);
  const what = forget ? `forget ${named}: the next call runs it again` : `store a result for ${named}`;
  if (!dryRun) await confirm(context, `this would ${what}`, options);
  context.signal.throwIfAborted();
  if (!dryRun) {
    const writing = await context.open({ write: true });
    if (forget) await writing.forgetEffect(effect);
    else await writing.settleEffect(effect, value);
  }
  const { space, run, ns } = effect;
  const { output } = context;
  output.answer({ dryRun, effect: { space, run, ns, key: effect.key, branch: effect.branch }, forget }, () => {
    if (dryRun) return [`would ${what}`];
    return [`${output.style("green", forget ? "✓ forgotten:" : "✓ stored the result of")} ${named}`];
  });
}

/** Refuses what the inspector would refuse, before it asks the user. */
function refuse(effect: EffectInfo, forget: boolean): void {
  const named = effectText(effect);
  if (effect.state === "running") {
    const holder = safeText(effect.holder);
    throw new ForkpointError("CONFLICT", `${named} is running in ${holder}: wait until it ends`);
  }
  if (!forget && (effect.state === "done" || effect.state === "error")) {
    throw new ForkpointError("CONFLICT", `${named} already has a result: use --forget to run it again`);
  }
}
