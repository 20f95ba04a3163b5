import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, parsed, runArgument, spaceOption, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import { UsageError } from "../errors.js";
import { type RunOptions, findRun, refOf } from "../find.js";
import { drawTree } from "../lanes.js";
import { readListing } from "../pages.js";
import { statusCell } from "../style.js";
import { type Column, table } from "../table.js";
import { ago, localTime, number, plural, size } from "../units.js";
import { runTable } from "./ls.js";
import type { CheckpointInfo, RunInfo } from "../../../ts/inspect/views.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";

interface Options extends RunOptions {
  tree?: boolean;
  limit?: number;
  cursor?: string;
  last?: number;
}

export const show = () =>
  command<Options>("show", "show a run: its checkpoints, and the runs forked from it", showRun)
    .addArgument(runArgument())
    .option("--tree", "draw the checkpoints and forks as a tree, newest first")
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of the run")
    .addOption(parsed("--limit <n>", "the number of checkpoints (default: all)", wholeFrom(1)))
    .option("--cursor <cursor>", "continue after a page")
    .addOption(parsed("--last <n>", "only the last n checkpoints", wholeFrom(1)));

async function showRun(context: Context, options: Options, id?: string): Promise<void> {
  const { limit, cursor, last } = options;
  if (last !== undefined && (limit !== undefined || cursor !== undefined)) {
    throw new UsageError("pass --last, or --limit and --cursor, not both");
  }
  const inspector = await context.open();
  const ref = refOf(await findRun(context, inspector, id!, options));
  const run = await inspector.run(ref, { withStatus: true, withBytes: true });
  if (run === null) throw new UsageError("the run has just been removed");
  const order = last === undefined ? "asc" : "desc";
  const read = (limit: number, cursor: string | null) => inspector.checkpoints(ref, { limit, cursor, order });
  const { items, cursor: next } = await readListing(read, { limit: last ?? limit, cursor });
  const checkpoints = last === undefined ? items : items.toReversed();
  const forks = await inspector.forks(ref);
  const { output } = context;
  if (output.json) {
    // The cursor after --last would lead to older checkpoints, which no flag reads.
    return output.printJson({ run, checkpoints, forks, cursor: last === undefined ? next : null });
  }
  for (const line of head(run, context)) output.print(line);
  output.print("");
  const shown = await Promise.all(forks.map((fork) => withItsStatus(inspector, fork)));
  const { tree = false } = options;
  const lines = tree ? drawTree(checkpoints, shown, output.style, output.width) : checkpointTable(checkpoints, context);
  for (const line of lines) output.print(line);
  const drawn = new Set(tree ? checkpoints.map((each) => each.id) : []);
  const others = shown.filter(({ forkedFrom }) => forkedFrom === null || !drawn.has(forkedFrom.id));
  if (others.length > 0) {
    output.print("");
    output.print(output.style("bold", "Forks"));
    for (const line of runTable(others, context)) output.print(line);
  }
  if (next !== null && last === undefined) output.hint(`more checkpoints: add --cursor ${next}`);
}

async function withItsStatus(inspector: Inspector, fork: RunInfo): Promise<RunInfo> {
  return fork.status === null ? ((await inspector.run(refOf(fork), { withStatus: true })) ?? fork) : fork;
}

function head(run: RunInfo, { output }: Context): string[] {
  const { style } = output;
  const now = Date.now();
  const dot = style("dim", " · ");
  const where = [run.space, run.group, run.ns].filter((each) => each !== null && each !== "");
  const lines = [[style("bold", safeText(run.run)), ...where.map((each) => safeText(each!))].join(dot)];
  const { text, format } = statusCell(run.status ?? "unknown");
  const why = run.statusWhy === null ? "" : style("dim", `: ${safeText(run.statusWhy)}`);
  lines.push(`${style(format, text)}${why}`);
  const facts = [
    plural(run.checkpoints, "checkpoint"),
    run.bytes === null ? "" : `${size(run.bytes.logical)} (${size(run.bytes.stored)} stored)`,
    run.began === null ? "" : `began ${ago(run.began, now)}`,
    `active ${ago(run.active, now)}`,
  ];
  lines.push(facts.filter((fact) => fact !== "").join(dot));
  if (run.forkedFrom !== null) {
    const { run: from, id } = run.forkedFrom;
    lines.push(`forked from ${style("bold", safeText(from))}, checkpoint ${safeText(id)}`);
  }
  if (run.lease !== null) lines.push(`leased by ${safeText(run.lease.holder)} until ${localTime(run.lease.until)}`);
  return lines;
}

function checkpointTable(checkpoints: CheckpointInfo[], { output }: Context): string[] {
  const before = new Map(checkpoints.map((each, at) => [each, checkpoints[at - 1]]));
  const columns: Array<Column<CheckpointInfo>> = [
    { title: "STEP", align: "right", cell: ({ step }) => ({ text: number(step) }) },
    { title: "LABEL", drop: 4, least: 8, cell: ({ label }) => ({ text: label ?? "" }) },
    { title: "CHECKPOINT", cell: ({ id }) => ({ text: id, format: "bold" }) },
    { title: "PARENT", drop: 1, cell: (each) => ({ text: parentText(each, before.get(each)), format: "dim" }) },
    { title: "SAVED", drop: 2, cell: ({ savedAt }) => ({ text: localTime(savedAt), format: "dim" }) },
    { title: "SIZE", align: "right", drop: 3, cell: ({ bytes }) => ({ text: size(bytes.logical) }) },
    { title: "STORED", align: "right", drop: 5, cell: ({ bytes }) => ({ text: size(bytes.stored), format: "dim" }) },
  ];
  return table(columns, checkpoints, output);
}

/** Returns the parent, or nothing if it is the checkpoint above. */
function parentText({ parent, run }: CheckpointInfo, above: CheckpointInfo | undefined): string {
  if (parent === null || (above !== undefined && parent.run === run && parent.id === above.id)) return "";
  return parent.run === run ? parent.id : `${parent.id} of ${parent.run}`;
}
