import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { command, dangerous, parsed, spaceOption, wholeFrom } from "../command.js";
import { type DangerousOptions, confirm } from "../confirm.js";
import type { Context } from "../context.js";
import { UsageError, exitCodes } from "../errors.js";
import { duration, localTime, parseDuration, parseSize, plural, size } from "../units.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";
import type { PruneResult } from "../../../ts/store/results.js";

interface Options extends DangerousOptions {
  olderThan?: number;
  waiting?: boolean;
  keepLast?: number;
  maxBytes?: number;
  space?: string;
  share?: number;
  watch?: boolean;
  every?: number;
}

/** The pause between two rounds of `--watch`, in ms, and the share of the time that it may work. */
const [EVERY, WATCH_SHARE] = [60_000, 0.25];

const positive = (parse: (text: string) => number) => (text: string) => {
  const value = parse(text);
  if (value > 0) return value;
  throw new UsageError("expected more than 0");
};

function shareOf(text: string): number {
  const percent = /^(\d{1,3})%?$/.exec(text)?.[1];
  const share = Number(percent) / 100;
  if (share >= 0.01 && share <= 1) return share;
  throw new UsageError("expected a share of the time from 1% to 100%");
}

const help = `
The removed bytes stay in the file, as free space for new data, until you run \`forkpoint vacuum\`.`;

export const prune = () =>
  dangerous(
    command<Options>("prune", "remove old checkpoints by age, count or size", run, "itself")
      .addOption(
        parsed(
          "--older-than <duration>",
          "remove checkpoints older than this: 90s, 15m, 2h, 7d",
          positive(parseDuration),
        ),
      )
      .option("--waiting", "with --older-than: remove runs that wait for a person too")
      .addOption(parsed("--keep-last <n>", "keep only the newest n checkpoints of each run", wholeFrom(1)))
      .addOption(
        parsed("--max-bytes <size>", "remove the oldest until this much is left: 500KB, 2GiB", positive(parseSize)),
      )
      .addOption(spaceOption())
      .addOption(
        parsed("--share <percent>", "work in at most this share of the time, with pauses: 1% to 100%", shareOf),
      )
      .option("--watch", "go on until Ctrl-C: remove what exceeds the limits again and again")
      .addOption(
        parsed(
          "--every <duration>",
          "with --watch: how long to wait between two looks (default: 1m)",
          positive(parseDuration),
        ),
      ),
  ).addHelpText("after", help);

async function run(context: Context, options: Options): Promise<number | undefined> {
  const { olderThan, keepLast, maxBytes, dryRun = false, watch = false, every } = options;
  if (olderThan === undefined && keepLast === undefined && maxBytes === undefined) {
    throw new UsageError("pass at least one of --older-than, --keep-last and --max-bytes");
  }
  if (options.waiting === true && olderThan === undefined)
    throw new UsageError("pass --waiting together with --older-than");
  if (watch && dryRun) throw new UsageError("pass --watch or --dry-run, not both");
  if (!watch && every !== undefined) throw new UsageError("pass --every together with --watch");
  // Compute the rules before the question, so that exactly the shown checkpoints are removed.
  const rules = rulesOf(options);
  let upTo = 0;
  if (dryRun || options.yes !== true || (!watch && !context.output.json)) {
    const would = await (await context.openForDryRun()).prune({ ...rules, dryRun: true, signal: context.signal });
    upTo = would.bytes;
    if (dryRun) {
      print(context, would, upTo, true);
      return undefined;
    }
    const when = rules.olderThan === null ? "" : ` (before ${localTime(rules.olderThan)})`;
    const later = watch ? ", and goes on until you stop it" : "";
    await confirm(context, `this removes ${what(would)}${when}${later}`, options);
  }
  const inspector = await context.open({ write: true });
  if (!watch) {
    print(context, await removed(context, inspector, rules), upTo, false);
    return undefined;
  }
  await removeUntilStopped(context, inspector, options);
  return exitCodes.done;
}

/** Returns the rules, with durations turned into times. */
function rulesOf({ olderThan, waiting, keepLast, maxBytes, space, share, watch }: Options) {
  return {
    olderThan: olderThan === undefined ? null : Date.now() - olderThan,
    waiting: waiting ?? false,
    keepLastN: keepLast ?? null,
    maxBytes: maxBytes ?? null,
    space,
    share: share ?? (watch ? WATCH_SHARE : 1),
  };
}

function removed(context: Context, inspector: Inspector, rules: ReturnType<typeof rulesOf>): Promise<PruneResult> {
  return inspector.prune({
    ...rules,
    signal: context.signal,
    onProgress: ({ removed: count }) => {
      context.done = `${plural(count, "checkpoint")} removed`;
      context.output.progress.show(`${plural(count, "checkpoint")} removed`);
    },
  });
}

/** Prunes repeatedly. Prints a line after each removal. */
async function removeUntilStopped(context: Context, inspector: Inspector, options: Options): Promise<void> {
  const { output, signal } = context;
  try {
    for (;;) {
      const began = performance.now();
      const result = await removed(context, inspector, rulesOf(options));
      const ms = Math.round(performance.now() - began);
      output.progress.clear();
      if (result.removed > 0) {
        const { removed: count, bytes, lineages } = result;
        const line = { at: Date.now(), removed: count, bytes, lineages, ms };
        const text = `${localTime(line.at)}  ${plural(count, "checkpoint")} removed, ${size(bytes)} freed in ${duration(ms)}`;
        await output.stream(`${output.json ? JSON.stringify(line) : text}\n`);
        await output.flush();
      }
      await sleep(options.every ?? EVERY, undefined, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function what({ removed, bytes, lineages }: PruneResult): string {
  const emptied = lineages === 0 ? "" : ` and empties ${plural(lineages, "run")}`;
  return `${plural(removed, "checkpoint")} and frees up to ${size(bytes)}${emptied}`;
}

/** Kept checkpoints may be stored as deltas of removed ones. Their new size is known only after they are stored. */
const WHY = "kept checkpoints that are stored as changes to removed ones are stored in full";

/** Prints a result. `upTo` is the stored size of the checkpoints to remove, in bytes. */
function print({ output }: Context, result: PruneResult, upTo: number, dryRun: boolean): void {
  const { removed, bytes, lineages } = result;
  const emptied = lineages === 0 ? "" : `, ${plural(lineages, "run")} emptied`;
  const checkpoints = plural(removed, "checkpoint");
  const most = Math.max(upTo, bytes);
  const freed = most === bytes ? `${size(bytes)} freed` : `${size(bytes)} of up to ${size(most)} freed`;
  output.answer({ dryRun, removed, bytes, lineages }, () => [
    dryRun
      ? `would remove ${checkpoints} and free up to ${size(most)}${emptied}`
      : `${output.style("green", "✓ removed")} ${checkpoints}, ${freed}${emptied}`,
  ]);
  if (dryRun && removed > 0) output.hint(`it may be less: ${WHY}`);
  else if (most !== bytes) output.hint(`it is less because ${WHY}`);
}
