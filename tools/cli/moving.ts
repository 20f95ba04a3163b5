/** The shared part of `copy`, `export` and `import`: copying a database or some of its runs. */

import { type Command, Option } from "commander";
import { parsed, spaceOption } from "./command.js";
import type { Context } from "./context.js";
import type { Database } from "./database.js";
import { describe, exitCodes } from "./errors.js";
import { ForkpointError } from "../../ts/bridge/errors.js";
import { type RunOptions, findRuns } from "./find.js";
import type { Style } from "./style.js";
import { parseDuration, plural } from "./units.js";
import { safeText } from "../../ts/bridge/json-form/json-text.js";
import type { CopyOptions, CopyResult } from "../../ts/inspect/copy-runs.js";

export interface ChoiceOptions extends RunOptions {
  /** A duration in ms. */
  since?: number;
}

export function choosing(command: Command): Command {
  return command
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of the runs")
    .addOption(
      parsed("--since <duration>", "only runs that were active in this period: 90s, 15m, 2h, 7d", parseDuration),
    );
}

/** The options of `copy` and `export`. */
export interface DamageOptions {
  skipDamaged?: boolean;
}

export function skipDamaged(): Option {
  return new Option("--skip-damaged", "leave out runs that can't be read, name them, and exit with 1");
}

export function damageOf({ skipDamaged = false }: DamageOptions): CopyOptions {
  return skipDamaged ? { onDamage: "skip" } : {};
}

/** Returns the chosen runs of the arguments and flags. Without a choice, returns no filter. */
export async function choiceOf(
  context: Context,
  ids: ReadonlyArray<string | undefined>,
  options: ChoiceOptions,
): Promise<CopyOptions> {
  const { space, since } = options;
  const active = since === undefined ? {} : { since: Date.now() - since };
  if (ids.length === 0) return space === undefined ? active : { ...active, space };
  const runs = await findRuns(context, await context.open(), ids, options);
  await context.close();
  return { ...active, runs };
}

/** The data that the destination lacked. */
export interface Moved {
  runs: number;
  checkpoints: number;
  effects: number;
  writes: number;
  /** Runs that the destination already had. */
  skipped: number;
  verified: true;
  /** The runs that `--skip-damaged` left out. */
  damaged?: CopyResult["damaged"];
}

/** Copies a database, or the chosen runs, and compares both. */
export async function move(context: Context, from: Database, to: Database, options: CopyOptions): Promise<Moved> {
  const { openStore } = await import("../../ts/index.js");
  const { copyCounting } = await import("../../ts/inspect/copy-runs.js");
  await using source = await openStore(from.target, context.reading);
  const { result, there } = await copyCounting(source, to.target, {
    ...options,
    signal: context.signal,
    onProgress: ({ phase, checkpoints, ofCheckpoints }) => {
      context.done = `${plural(checkpoints, "checkpoint")} ${phase === "copying" ? "copied; run the command again to continue" : "compared"}`;
      context.output.progress.show(phase, checkpoints, ofCheckpoints);
    },
  });
  context.output.progress.clear();
  const { damaged } = result;
  return {
    runs: result.lineages - there.lineages,
    checkpoints: result.checkpoints - there.checkpoints,
    effects: result.effects - there.effects,
    writes: result.writes - there.writes,
    skipped: result.skipped + there.lineages,
    verified: true,
    ...(damaged && { damaged }),
  };
}

/** Adds a hint about skipping damaged runs to the error of a damaged source. */
export function withSkip(error: unknown): unknown {
  const { code, message } = describe(error);
  if (code !== "CORRUPT" || message.includes(SKIP)) return error;
  return new ForkpointError(code, `${message}. Add ${SKIP} to leave out damaged runs`, { cause: error });
}

const SKIP = "--skip-damaged";

/** Yields the lines about the left-out runs. */
export function* damagedLines({ damaged = [] }: Moved, style: Style): Generator<string> {
  if (damaged.length === 0) return;
  yield style("red", `✗ left out ${plural(damaged.length, "damaged run")}:`);
  for (const { space, run, message } of damaged) yield `  ${safeText(run)} (${space}): ${safeText(message)}`;
}

/** Returns the exit code of a copy. */
export function exitCodeOf({ damaged = [] }: Moved): number | undefined {
  return damaged.length > 0 ? exitCodes.no : undefined;
}

/** The words for a copy: `✓ <done> 2 runs <where>`, or `✓ nothing new <todo>`. */
export interface Words {
  done: string;
  where?: string;
  todo: string;
}

export function movedText({ runs, checkpoints, effects, writes, skipped }: Moved, words: Words): string {
  const { done, where = "", todo } = words;
  const there = skipped === 0 ? "" : `${plural(skipped, "run")} ${skipped === 1 ? "is" : "are"} already there; `;
  if (there !== "" && runs + checkpoints + effects + writes === 0) return `nothing new ${todo}: ${there}verified`;
  const of = runs === 0 && there !== "" ? "" : `${plural(runs, "run")} with `;
  const parts = [plural(checkpoints, "checkpoint"), ...(effects === 0 ? [] : [plural(effects, "effect")])];
  return `${done} ${of}${parts.join(", ")} and ${plural(writes, "write")}${where}; ${there}verified`;
}
