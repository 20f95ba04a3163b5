import { command, dangerous, parsed, spaceOption, wholeFrom } from "../command.js";
import { type DangerousOptions, confirm } from "../confirm.js";
import type { Context } from "../context.js";
import { UsageError } from "../errors.js";
import { localTime, parseDuration, parseSize, plural, size } from "../units.js";
import type { PruneResult } from "../../../ts/store/results.js";

interface Options extends DangerousOptions {
  olderThan?: number;
  keepLast?: number;
  maxBytes?: number;
  space?: string;
}

const positive = (parse: (text: string) => number) => (text: string) => {
  const value = parse(text);
  if (value > 0) return value;
  throw new UsageError("expected more than 0");
};

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
      .addOption(parsed("--keep-last <n>", "keep only the newest n checkpoints of each run", wholeFrom(1)))
      .addOption(
        parsed("--max-bytes <size>", "remove the oldest until this much is left: 500KB, 2GiB", positive(parseSize)),
      )
      .addOption(spaceOption()),
  ).addHelpText("after", help);

async function run(context: Context, options: Options): Promise<void> {
  const { olderThan, keepLast, maxBytes, space, dryRun = false } = options;
  if (olderThan === undefined && keepLast === undefined && maxBytes === undefined) {
    throw new UsageError("pass at least one of --older-than, --keep-last and --max-bytes");
  }
  // The time is fixed before the question, so that exactly the checkpoints that were shown are removed.
  const before = olderThan === undefined ? null : Date.now() - olderThan;
  const rules = { olderThan: before, keepLastN: keepLast ?? null, maxBytes: maxBytes ?? null, space };
  if (dryRun || options.yes !== true) {
    const would = await (await context.openForDryRun()).prune({ ...rules, dryRun: true, signal: context.signal });
    if (dryRun) return print(context, would, true);
    const when = before === null ? "" : ` (before ${localTime(before)})`;
    await confirm(context, `this removes ${what(would)}${when}`, options);
  }
  const inspector = await context.open({ write: true });
  const result = await inspector.prune({
    ...rules,
    signal: context.signal,
    onProgress: ({ removed }) => {
      context.done = `${plural(removed, "checkpoint")} removed`;
      context.output.progress.show(`${plural(removed, "checkpoint")} removed`);
    },
  });
  print(context, result, false);
}

function what({ removed, bytes, lineages }: PruneResult): string {
  const emptied = lineages === 0 ? "" : ` and empties ${plural(lineages, "run")}`;
  return `${plural(removed, "checkpoint")} of ${size(bytes)}${emptied}`;
}

function print({ output }: Context, result: PruneResult, dryRun: boolean): void {
  const { removed, bytes, lineages } = result;
  const emptied = lineages === 0 ? "" : `, ${plural(lineages, "run")} emptied`;
  const checkpoints = plural(removed, "checkpoint");
  output.answer({ dryRun, removed, bytes, lineages }, () => [
    dryRun
      ? `would remove ${checkpoints} and free up to ${size(bytes)}${emptied}`
      : `${output.style("green", "✓ removed")} ${checkpoints}, ${size(bytes)} freed${emptied}`,
  ]);
}
