import { stepName } from "../../../ts/inspect/step-name.js";
import { safeJson, safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, parsed, runArgument, spaceOption, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import { UsageError, exitCodes } from "../errors.js";
import { effectCell } from "../effect-signs.js";
import { findRun, refOf } from "../find.js";
import type { Output } from "../output.js";
import { checkpointsOf, runsOf } from "../pages.js";
import type { Format, Style } from "../style.js";
import { cut, pad, width } from "../table.js";
import { localTime, parseDuration, size } from "../units.js";
import { clipped } from "../wrap.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";
import type { StoreEvent } from "../../../ts/inspect/watch.js";

interface Options {
  lines?: number;
  follow: boolean;
  space?: string;
  ns?: string;
  since?: Since;
}

/** The start: after a position in the save order, or at a time. */
type Since = { seq: number } | { time: number };

const [LINES, MOST] = [10, 1000];

export const tail = () =>
  command<Options>("tail", "print saves of all processes as they happen, until Ctrl-C", print, "itself")
    .addArgument(runArgument(false))
    .addOption(parsed("-n, --lines <n>", `how many of the last saves to print first (default: ${LINES})`, linesOf))
    .option("--no-follow", "stop after the saves so far")
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of the run")
    .addOption(
      parsed("--since <duration or seq>", "start this long ago (90s, 15m, 2h, 7d), or after this `seq`", sinceOf),
    );

function linesOf(text: string): number {
  const lines = wholeFrom(0)(text);
  if (lines <= MOST) return lines;
  throw new UsageError(`expected a whole number from 0 to ${MOST}`);
}

function sinceOf(text: string): Since {
  if (/^\d{1,15}$/.test(text)) return { seq: Number(text) };
  return { time: Date.now() - parseDuration(text) };
}

/** The options of `watch()`: the runs, and the start. */
type Watched = NonNullable<Parameters<Inspector["watch"]>[0]>;

async function print(context: Context, options: Options, id?: string): Promise<number> {
  const { lines, follow, since, space, ns } = options;
  if (since !== undefined && lines !== undefined) throw new UsageError("pass --lines or --since, not both");
  const inspector = await context.open();
  const { signal, output } = context;
  const found = id === undefined ? undefined : await findRun(context, inspector, id, options);
  const scope: Watched = found === undefined ? { space } : { space: found.space, run: found.run };
  const begin: Watched = since === undefined ? { last: lines ?? LINES } : await beginAt(inspector, scope, since);
  // Without `follow`, the output ends at the current last save.
  let end = follow ? Number.POSITIVE_INFINITY : await lastSeq(inspector, scope, signal);
  if ((begin.last === 0 && !follow) || (begin.since ?? -1) >= end || end < 0) return exitCodes.done;
  // Typical column widths align the first lines with later ones, unless a text is longer.
  const widths = [19, 8, 16, 6, 8];
  const show = async (event: StoreEvent) => {
    await output.stream(`${output.json ? safeJson(event) : lineOf(event, output, widths)}\n`);
    await output.flush();
  };
  let last = -1;
  try {
    for await (const event of inspector.watch({ ...scope, ...begin, signal })) {
      if (event.type !== "changed") {
        last = event.seq;
        const { ns: of } = event.type === "saved" ? event.checkpoint : event.effect;
        if (ns === undefined || of === ns) await show(event);
      } else if (follow) await show(event);
      // The last save may have been removed.
      else end = await lastSeq(inspector, scope, signal);
      if (last >= end) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return exitCodes.done;
}

/** Returns the position of a scope's last save. -1: there is none. */
async function lastSeq(inspector: Inspector, { space, run }: Watched, signal: AbortSignal): Promise<number> {
  const { spaces } = await inspector.info();
  if (!spaces.some((each) => space === undefined || each.space === space)) return -1;
  for await (const event of inspector.watch({ space, run, last: 1, signal })) {
    if (event.type === "saved") return event.seq;
  }
  return -1;
}

async function beginAt(inspector: Inspector, { space, run }: Watched, since: Since): Promise<Watched> {
  if ("seq" in since) return { since: since.seq };
  let first: number | undefined;
  for await (const each of runsOf(inspector, { space, since: since.time, match: run, allNs: true })) {
    if (run !== undefined && each.run !== run) continue;
    for await (const { savedAt, seq } of checkpointsOf(inspector, refOf(each))) {
      if (savedAt < since.time) break;
      first = Math.min(first ?? seq, seq);
    }
  }
  return first === undefined ? { last: 0 } : { since: first - 1 };
}

/** Formats an event as a line. Widens `widths` if a text is longer. */
function lineOf(event: StoreEvent, { style, width: most }: Output, widths: number[]): string {
  if (event.type === "changed") return style("dim", "data was removed");
  const cells = event.type === "saved" ? savedCells(event) : effectCells(event);
  if (most < WIDE) return narrowLine(cells, style, most);
  const texts = cells.map(({ text, format }, at) => {
    widths[at] = Math.max(widths[at] ?? 0, width(text));
    return style(format, pad(text, widths[at]));
  });
  return texts.join("  ").trimEnd();
}

/** A line has no framework and no id in a narrower terminal: the step names the checkpoint. */
const WIDE = 120;

/** The widths of a step and of a size in a narrow terminal. */
const [STEP, SIZE] = [8, 8];

/** Formats an event for a narrow terminal. The id of the run gets the width that the other columns leave. */
function narrowLine([time, , run, step, label, last, size]: Cells, style: Style, most: number): string {
  const room = most - width(time!.text) - STEP - SIZE - 8;
  const labelWidth = Math.max(8, Math.min(18, room >> 1));
  const begin = [fitted(time!, width(time!.text)), fitted(run!, Math.max(8, room - labelWidth)), fitted(step!, STEP)];
  // An effect has its state and its key in these cells.
  const end = size === undefined ? [label!, last!] : [fitted(label!, labelWidth), fitted(size, SIZE, "right")];
  const line = [...begin, ...end].map(({ text, format }) => style(format, text)).join("  ");
  return clipped(line.trimEnd(), most);
}

function fitted({ text, format }: Cell, to: number, align?: "right"): Cell {
  return { text: pad(cut(text, to), to, align), format };
}

type Cell = Cells[number];
type Cells = Array<{ text: string; format?: Format | undefined }>;

function effectCells({ effect }: Extract<StoreEvent, { type: "effect" }>): Cells {
  const { space, run, key, savedAt } = effect;
  return [
    { text: localTime(savedAt), format: "dim" },
    { text: safeText(space), format: "dim" },
    { text: safeText(run), format: "bold" },
    { text: "effect" },
    effectCell(effect),
    { text: safeText(key) },
  ];
}

function savedCells({ checkpoint }: Extract<StoreEvent, { type: "saved" }>): Cells {
  const { space, run, id, step, savedAt, bytes } = checkpoint;
  return [
    { text: localTime(savedAt), format: "dim" },
    { text: safeText(space), format: "dim" },
    { text: safeText(run), format: "bold" },
    { text: `step ${step}` },
    { text: safeText(stepName(checkpoint) ?? "-") },
    { text: safeText(id) },
    { text: size(bytes.logical), format: "dim" },
  ];
}
