import { Option } from "commander";
import { formatPath } from "../../../ts/bridge/json-form/path.js";
import { safeJson, safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, parsed, runArgument, spaceOption, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import { UsageError, describe, exitCodes } from "../errors.js";
import { findRun } from "../find.js";
import { repeatedLabel } from "../labels.js";
import type { Output } from "../output.js";
import { statusNames } from "../style.js";
import { cut, pad, width } from "../table.js";
import { number } from "../units.js";
import type { SearchHit, SearchProgress } from "../../../ts/inspect/search-views.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";
import type { Status } from "../../../ts/plugin/views.js";

interface Options {
  ignoreCase?: boolean;
  regex?: boolean;
  allSteps?: boolean;
  space?: string;
  ns?: string;
  status?: Status;
  label?: Record<string, string>;
  limit?: number;
}

export const grep = () =>
  command<Options>("grep", "find a text in the states of runs, most recently active runs first", print)
    .argument("<text>", "the text to find in keys and values")
    .addArgument(runArgument(false))
    .option("-i, --ignore-case", "upper and lower case are the same")
    .option("--regex", "the text is a regular expression of JavaScript")
    .option("--all-steps", "search all checkpoints, not only the newest of each run")
    .addOption(spaceOption())
    .option("--ns <ns>", "only this namespace")
    .addOption(new Option("--status <status>", "only runs with this status").choices(statusNames))
    .addOption(new Option("--label <key=value>", "only runs with this label; repeatable").argParser(repeatedLabel))
    .addOption(parsed("--limit <n>", "stop after this many hits", wholeFrom(1)));

async function print(context: Context, options: Options, text?: string, id?: string): Promise<number> {
  const inspector = await context.open();
  const { output } = context;
  const found = id === undefined ? undefined : await findRun(context, inspector, id, options);
  let progress: SearchProgress | undefined;
  const hits = await begun(inspector, text!, {
    ...searched(options),
    ...(found !== undefined && { space: found.space, run: found.run }),
    signal: context.signal,
    onProgress(now) {
      progress = now;
      output.progress.show(`${number(now.runs)} runs searched, ${number(now.hits)} hits`);
    },
  });
  // Typical widths align the first lines with later ones, unless a text is longer.
  const widths = [8, 7];
  let count = 0;
  for (;;) {
    const next = await hits.next().catch(usageError);
    if (next.done === true) break;
    count += 1;
    output.progress.clear();
    await output.stream(`${output.json ? safeJson(next.value) : lineOf(next.value, output, widths)}\n`);
    await output.flush();
  }
  tell(context, progress, options.limit === count);
  return count > 0 ? exitCodes.done : exitCodes.no;
}

function searched({ ignoreCase, regex, allSteps, space, ns, status, label, limit }: Options) {
  return { ignoreCase, regex, allSteps, space, ns, status, label, limit };
}

/** Begins a search. A wrong text or expression is a usage error. */
async function begun(inspector: Inspector, ...given: Parameters<Inspector["search"]>) {
  try {
    return inspector.search(...given)[Symbol.asyncIterator]();
  } catch (error) {
    return usageError(error);
  }
}

function usageError(error: unknown): never {
  const { code, message } = describe(error);
  throw code === "INVALID_ARGUMENT" ? new UsageError(message) : error;
}

/** Reports at the end what could not be searched. */
function tell(context: Context, progress: SearchProgress | undefined, isLimited: boolean): void {
  for (const [tag, values] of Object.entries(progress?.unreadable ?? {})) {
    const many = `${number(values)} value${values === 1 ? "" : "s"} could not be searched`;
    context.note(`${many}: the serializer ${safeJson(tag)} is missing. Pass it with --serializer`);
  }
  const damaged = progress?.damaged ?? 0;
  if (damaged > 0) {
    const many = `${number(damaged)} checkpoint${damaged === 1 ? "" : "s"} could not be searched`;
    context.note(`${many}: damaged or too large. \`forkpoint verify\` tells more`);
  }
  if (isLimited) context.output.hint("there may be more: raise --limit");
}

/** The minimum width of a text beside its place. In a narrower terminal, the text gets its own line. */
const LEAST = 40;

function lineOf({ run, step, part, path, snippet, ns }: SearchHit, output: Output, widths: number[]): string {
  const { style, width: most } = output;
  const cells = [
    { text: safeText(ns ? `${run} ${ns}` : run), format: "bold" as const },
    { text: `step ${step}`, format: "dim" as const },
    { text: formatPath([part, ...path]), format: "blue" as const },
  ];
  const head = cells.map(({ text, format }, at) => {
    if (at < widths.length) widths[at] = Math.max(widths[at]!, Math.min(width(text), 40));
    return style(format, pad(text, widths[at] ?? 0));
  });
  const taken = cells.reduce((sum, { text }, at) => sum + Math.max(width(text), widths[at] ?? 0) + 2, 0);
  const isBeside = most - taken >= LEAST;
  const room = isBeside ? most - taken : Math.max(LEAST, most - 2);
  return `${head.join("  ")}${isBeside ? "  " : "\n  "}${snippetOf(snippet, room, output)}`;
}

const inLine = (text: string) => safeText(text.replace(/\s+/g, " "));

/** Returns a one-line text with the match. */
function snippetOf({ before, match, after }: SearchHit["snippet"], most: number, { style }: Output): string {
  const shown = cut(inLine(match), most);
  const left = most - width(shown);
  const [head, tail] = [inLine(before), inLine(after)];
  const begin = lastOf(head, Math.max(Math.floor(left / 2), left - width(tail)));
  return begin + style("yellow", shown) + cut(tail, left - width(begin));
}

/** Cuts off the beginning of a text, between two characters. */
function lastOf(text: string, most: number): string {
  if (width(text) <= most) return text;
  if (most < 1) return "";
  let [kept, taken] = ["", 0];
  for (const { segment } of [...new Intl.Segmenter().segment(text)].toReversed()) {
    const next = width(segment);
    if (taken + next > most - 1) break;
    [kept, taken] = [segment + kept, taken + next];
  }
  return `…${kept}`;
}
