/** `forkpoint tail`: what is saved, as it is saved. */

import type { CheckpointInfo, Inspector, RunInfo, StoreEvent } from "../../../inspect.js";
import { safeJson, safeText } from "../../inspect/json-text.js";
import { command, parsed, runArgument, spaceOption, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import { UsageError, exitCodes } from "../errors.js";
import { findRun, refOf } from "../find.js";
import type { Output } from "../output.js";
import { checkpointsOf, runsOf } from "../pages.js";
import { pad, width } from "../table.js";
import { localTime, parseDuration, size } from "../units.js";

interface Options {
  lines?: number;
  follow: boolean;
  space?: string;
  ns?: string;
  since?: Since;
}

/** Where to begin: with a position in the save order, or with a time. */
type Since = { seq: number } | { time: number };

const LINES = 10;

export const tail = () =>
  command<Options>("tail", "prints what is saved as it is saved, by whatever process; Ctrl-C ends it", print, "itself")
    .addArgument(runArgument(false))
    .addOption(parsed("-n, --lines <n>", `how many of the last saves to begin with (default: ${LINES})`, wholeFrom(0)))
    .option("--no-follow", "ends after what is there")
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of the run")
    .addOption(
      parsed("--since <duration or seq>", "begins at this time (90s, 15m, 2h, 7d), or at this `seq`", sinceOf),
    );

function sinceOf(text: string): Since {
  if (/^\d{1,15}$/.test(text)) return { seq: Number(text) };
  return { time: Date.now() - parseDuration(text) };
}

/** What to watch. */
interface Scope {
  space?: string | undefined;
  run?: string | undefined;
  ns?: string | undefined;
}

async function print(context: Context, options: Options, id?: string): Promise<number> {
  const { lines, follow, since, space, ns } = options;
  if (since !== undefined && lines !== undefined) throw new UsageError("give --lines or --since, not both");
  const inspector = await context.open();
  const found = id === undefined ? undefined : await findRun(context, inspector, id, options);
  const scope: Scope = found === undefined ? { space, ns } : { space: found.space, run: found.run, ns };
  const show = printer(context);
  try {
    // What is saved from here on is watched. What is there is looked up.
    const begin = (await lastSeq(inspector, {})) + 1;
    if (since !== undefined) {
      const from = "seq" in since ? since.seq : ((await firstSeq(inspector, scope, since.time)) ?? begin);
      await watch(context, inspector, scope, from, show, follow ? undefined : await lastSeq(inspector, scope));
      return exitCodes.done;
    }
    const last = await newest(inspector, scope, lines ?? LINES);
    for (const checkpoint of last) await show({ type: "saved", seq: checkpoint.seq, checkpoint });
    const shown = new Set(last.map(({ seq }) => seq));
    const unseen = (event: StoreEvent) => (event.type === "saved" && shown.has(event.seq) ? undefined : show(event));
    if (follow) await watch(context, inspector, scope, begin, unseen);
  } catch (error) {
    if (!context.signal.aborted) throw error;
  }
  return exitCodes.done;
}

/** Shows what is saved from a position on. `end`: the position after which to stop. */
async function watch(
  { signal }: Context,
  inspector: Inspector,
  scope: Scope,
  from: number,
  show: (event: StoreEvent) => Promise<void> | undefined,
  end = Number.POSITIVE_INFINITY,
): Promise<void> {
  let [last, until] = [from - 1, end];
  if (last >= until) return;
  const { space, run, ns } = scope;
  for await (const event of inspector.watch({ space, run, since: from, signal })) {
    if (event.type === "changed") {
      // The save at which to stop may have been removed.
      if (Number.isFinite(until)) until = await lastSeq(inspector, scope);
      else await show(event);
    } else {
      last = event.seq;
      if (ns === undefined || event.checkpoint.ns === ns) await show(event);
    }
    if (last >= until) return;
  }
}

/** The runs of a scope, in all namespaces. The last active first. */
async function* runsIn(inspector: Inspector, { space, run, ns }: Scope, since?: number): AsyncGenerator<RunInfo> {
  const query = { space, since, match: run, ...(ns === undefined ? { allNs: true } : { ns }) };
  for await (const found of runsOf(inspector, query)) {
    if (run === undefined || found.run === run) yield found;
  }
}

/** The order of a contract is not always the order of the saves. So a look at the last saves reads a few more. */
const FEW = 100;

/** The last saves of a scope, in the order of the saves. */
async function newest(inspector: Inspector, scope: Scope, count: number): Promise<CheckpointInfo[]> {
  const found: CheckpointInfo[] = [];
  let runs = 0;
  if (count === 0) return found;
  for await (const run of runsIn(inspector, scope)) {
    const last = checkpointsOf(inspector, refOf(run), { order: "desc", limit: Math.max(FEW, count) });
    for await (const checkpoint of last) found.push(checkpoint);
    // Each of the last saves is in one of as many runs.
    if (++runs === count) break;
  }
  return found.toSorted((a, b) => a.seq - b.seq).slice(-count);
}

/** The position of the last save of a scope. -1: there is none. */
async function lastSeq(inspector: Inspector, scope: Scope): Promise<number> {
  return (await newest(inspector, scope, 1))[0]?.seq ?? -1;
}

/** The position of the first save of a scope from a time on. Undefined: there is none. */
async function firstSeq(inspector: Inspector, scope: Scope, time: number): Promise<number | undefined> {
  let first: number | undefined;
  for await (const run of runsIn(inspector, scope, time)) {
    for await (const { savedAt, seq } of checkpointsOf(inspector, refOf(run), { order: "desc" })) {
      if (savedAt < time) break;
      first = Math.min(first ?? seq, seq);
    }
  }
  return first;
}

/** Returns a function that prints an event. Columns grow with their texts. */
function printer({ output }: Context): (event: StoreEvent) => Promise<void> {
  const widths: number[] = [];
  return async (event) => {
    await output.stream(`${output.json ? safeJson(event) : lineOf(event, output, widths)}\n`);
    await output.flush();
  };
}

function lineOf(event: StoreEvent, { style }: Output, widths: number[]): string {
  if (event.type === "changed") return style("dim", "something was removed");
  const { space, run, id, step, label, savedAt, bytes } = event.checkpoint;
  const cells = [
    { text: localTime(savedAt), format: "dim" as const },
    { text: safeText(space), format: "dim" as const },
    { text: safeText(run), format: "bold" as const },
    { text: `step ${step}`, format: undefined },
    { text: safeText(label ?? ""), format: undefined },
    { text: safeText(id), format: undefined },
    { text: size(bytes.logical), format: "dim" as const },
  ];
  const texts = cells.map(({ text, format }, at) => {
    widths[at] = Math.max(widths[at] ?? 0, width(text));
    return style(format, pad(text, widths[at]));
  });
  return texts.join("  ").trimEnd();
}
