import { traitsOf } from "../../../ts/contracts/registry.js";
import { stepName } from "../../../ts/inspect/step-name.js";
import { safeText, withId } from "../../../ts/bridge/json-form/json-text.js";
import { command, parsed, runArgument, spaceOption, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import { type PlacedEffects, effectCell, placedEffects } from "../effect-signs.js";
import { UsageError, describe } from "../errors.js";
import { type RunOptions, findRun, refOf } from "../find.js";
import { type GraphOptions, printGraph } from "../graph.js";
import { type NextOf, drawTree } from "../lanes.js";
import { labelsText } from "../labels.js";
import { checkpointsOf, readListing } from "../pages.js";
import { stopsOf } from "../stops.js";
import { answerLine, answersOf, questionLine, readQuestions } from "../questions.js";
import { statusCell } from "../style.js";
import { type Column, cut, table } from "../table.js";
import { ago, localTime, number, plural, size } from "../units.js";
import { excerpt } from "../value-text.js";
import { joined, wrapped } from "../wrap.js";
import { runTable } from "./ls.js";
import type { CheckpointInfo, EffectInfo, RunInfo } from "../../../ts/plugin/views.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";

interface Options extends RunOptions, GraphOptions {
  tree?: boolean;
  limit?: number;
  cursor?: string;
  last?: number;
}

export const show = () =>
  command<Options>("show", "show a run: its checkpoints, and the runs forked from it", showRun)
    .addArgument(runArgument())
    .option("--tree", "draw the checkpoints and forks as a tree, newest first")
    .option("--graph", "print which node led to which, how often, and where the run is")
    .option("--mermaid", "print the graph as a Mermaid flowchart")
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
  if (options.graph === true || options.mermaid === true) return printGraph(context, inspector, ref, options);
  const run = await inspector.run(ref, { withWhy: true, withBytes: true });
  if (run === null) throw new UsageError("the run has just been removed");
  const order = last === undefined ? "asc" : "desc";
  const read = (limit: number, cursor: string | null) => inspector.checkpoints(ref, { limit, cursor, order });
  const { items, cursor: next } = await readListing(read, { limit: last ?? limit, cursor });
  const checkpoints = last === undefined ? items : items.toReversed();
  // A session or a chat is one checkpoint with its messages.
  if (run.checkpoints === 1 && run.bytes !== null) for (const only of checkpoints) only.bytes = run.bytes;
  const forks = await inspector.forks(ref);
  const effects = await inspector.effects(ref);
  const { output } = context;
  if (output.json) {
    // The cursor after --last would lead to older checkpoints, which no flag can read.
    return output.printJson({ run, checkpoints, effects, forks, cursor: last === undefined ? next : null });
  }
  const nextOf = await readNext(context, inspector, checkpoints);
  for (const line of head(run, await stopLines(context, inspector, run), context)) output.print(line);
  for (const line of await answerLines(context, inspector, checkpoints)) output.print(line);
  output.print("");
  const { tree = false } = options;
  const ids = await allIds(context, inspector, run, checkpoints);
  // On a later page, the effects before its first checkpoint belong to an earlier page.
  const placed = placedEffects(checkpoints, effects, (checkpoints[0]?.step ?? 0) > 0);
  const lines = tree
    ? drawTree(checkpoints, forks, output.style, output.width, nextOf, placed, ids)
    : checkpointTable(checkpoints, placed, nextOf, ids, context);
  for (const line of lines) output.print(line);
  const drawn = new Set(tree ? checkpoints.map((each) => each.id) : []);
  const others = forks.filter(({ forkedFrom }) => forkedFrom === null || !drawn.has(forkedFrom.id));
  if (others.length > 0) {
    output.print("");
    output.print(output.style("bold", "Forks"));
    for (const line of runTable(others, context)) output.print(line);
  }
  if (next !== null && last === undefined) output.hint(`more checkpoints: add --cursor ${next}`);
}

/** The ids of a larger run are not listed for the purpose of shortening them. */
const MOST_IDS = 10_000;

/** Returns the ids of the run if ids may be shortened: shortened ids must differ from all others. */
async function allIds({ output }: Context, inspector: Inspector, run: RunInfo, shown: CheckpointInfo[]) {
  const ids = shown.map(({ id }) => id);
  const isPart = shown.length < run.checkpoints && run.checkpoints <= MOST_IDS;
  if (output.width === Number.POSITIVE_INFINITY || !isPart) return ids;
  for await (const { id } of checkpointsOf(inspector, refOf(run))) ids.push(id);
  return ids;
}

/** Next nodes are read with the values, so they are left out for larger values, in bytes. */
const MOST_READ = 16_000_000;

async function readNext({ output, signal }: Context, inspector: Inspector, all: CheckpointInfo[]): Promise<NextOf> {
  const next = new Map<CheckpointInfo, string>();
  const nextOf = (checkpoint: CheckpointInfo) => next.get(checkpoint) ?? "";
  if (traitsOf(all[0]?.space ?? "").nodes !== "next") return nextOf;
  if (all.reduce((sum, { bytes }) => sum + bytes.logical, 0) > MOST_READ) {
    output.hint("the next nodes are left out, because the run is large: add --last 10");
    return nextOf;
  }
  for (const each of all) {
    signal.throwIfAborted();
    const detail = await inspector.checkpoint({ ...refOf(each), id: each.id }).catch(nullIfDamaged);
    next.set(each, detail?.next?.join(", ") ?? "");
  }
  return nextOf;
}

/** Returns the stored answers of a small run. */
async function answerLines(
  { output, signal }: Context,
  inspector: Inspector,
  all: CheckpointInfo[],
): Promise<string[]> {
  if (all.reduce((sum, { bytes }) => sum + bytes.logical, 0) > MOST_READ) return [];
  const answers = await answersOf(inspector, all, signal);
  return answers.map(({ step, question }) => `answered at step ${number(step)}: ${answerLine(question, output)}`);
}

/** Returns null for a checkpoint that cannot be read. */
function nullIfDamaged(error: unknown): null {
  if (["CORRUPT", "UNSUPPORTED"].includes(describe(error).code)) return null;
  throw error;
}

/** The maximum number of shown questions and errors, and the maximum length of each. */
const [STOPS, STOP_LENGTH] = [5, 200];

/** Returns the questions of a run, or the messages of its errors. */
async function stopLines({ output }: Context, inspector: Inspector, run: RunInfo): Promise<string[]> {
  if (run.status === "waiting") {
    const asked = (await readQuestions(inspector, refOf(run))).filter(({ answered }) => answered === null);
    if (asked.length > 0) {
      // With several questions, the command needs the id of one, which it lists.
      const how = asked.length === 1 && asked[0]!.canAnswer ? "--approve" : "";
      output.hint(`answer it: forkpoint answer ${withId(run.run, how)}`);
      const { style, width } = output;
      // The complete question, in several lines if necessary.
      const shown = asked.slice(0, STOPS).map((question) => `  ${questionLine(question, { style, width: Infinity })}`);
      return shown.flatMap((line) => wrapped(line, width));
    }
  }
  if (run.status !== "waiting" && run.status !== "failed") return [];
  const detail = await inspector.checkpoint({ ...refOf(run), id: run.latest.id }).catch(nullIfDamaged);
  const stops = detail === null ? [] : stopsOf(detail, run.status).slice(0, STOPS);
  return stops.map((stop) =>
    "error" in stop
      ? `  ${output.style("red", cut(safeText(stop.error), STOP_LENGTH))}`
      : `  ${excerpt(stop.question, output.style, STOP_LENGTH)}`,
  );
}

function head(run: RunInfo, stops: string[], { output }: Context): string[] {
  const { style } = output;
  const now = Date.now();
  const dot = style("dim", " · ");
  const where = [run.space, run.group, run.ns].filter((each) => each !== null && each !== "");
  const lines = joined([style("bold", safeText(run.run)), ...where.map((each) => safeText(each!))], dot, output.width);
  const { text, format } = statusCell(run.status);
  const { by = null, reason = null, at = now } = run.stopped ?? {};
  const who = run.stopped === null ? "" : `${by === null ? "" : ` by ${safeText(by)}`} ${ago(at, now)}`;
  const whyText = run.stopped === null ? run.statusWhy : reason;
  const why = style("dim", `${who}${whyText === null ? "" : `: ${safeText(whyText)}`}`);
  lines.push(`${style(format, text)}${why}`, ...stops);
  const facts = [
    run.version?.version == null ? "" : `version ${safeText(run.version.version)}`,
    plural(run.checkpoints, "checkpoint"),
    run.bytes === null ? "" : `${size(run.bytes.logical)} (${size(run.bytes.stored)} stored)`,
    run.began === null ? "" : `began ${ago(run.began, now)}`,
    `active ${ago(run.active, now)}`,
  ];
  lines.push(
    ...joined(
      facts.filter((fact) => fact !== ""),
      dot,
      output.width,
    ),
  );
  const labels = labelsText(run.labels);
  if (labels !== "") lines.push(`labels ${safeText(labels)}`);
  if (run.forkedFrom !== null) {
    const { run: from, id } = run.forkedFrom;
    lines.push(`forked from ${style("bold", safeText(from))}, checkpoint ${safeText(id)}`);
  }
  if (run.lease !== null) lines.push(`leased by ${safeText(run.lease.holder)} until ${localTime(run.lease.until)}`);
  return lines;
}

/** A line of the table: a checkpoint, or an effect begun from the checkpoint above it. */
type Line = { checkpoint: CheckpointInfo; effect?: undefined } | { checkpoint?: undefined; effect: EffectInfo };

function checkpointTable(
  checkpoints: CheckpointInfo[],
  effects: PlacedEffects,
  nextOf: NextOf,
  ids: readonly string[],
  { output }: Context,
): string[] {
  const before = new Map(checkpoints.map((each, at) => [each, checkpoints[at - 1]]));
  const effectsAfter = (of: CheckpointInfo | null) => (effects.get(of) ?? []).map((effect): Line => ({ effect }));
  const lines = checkpoints.flatMap((checkpoint): Line[] => [{ checkpoint }, ...effectsAfter(checkpoint)]);
  const column = (
    more: Omit<Column<Line>, "cell">,
    cell: (each: CheckpointInfo) => ReturnType<Column<Line>["cell"]>,
    ofEffect: (each: EffectInfo) => ReturnType<Column<Line>["cell"]> = () => ({ text: "" }),
  ): Column<Line> => ({
    ...more,
    cell: (line) => (line.effect === undefined ? cell(line.checkpoint) : ofEffect(line.effect)),
  });
  const columns: Array<Column<Line>> = [
    column({ title: "STEP", align: "right" }, ({ step }) => ({ text: number(step) })),
    column({ title: "LABEL", drop: 1, least: 8 }, (each) => ({ text: stepName(each) ?? "-" }), effectCell),
    column({ title: "NEXT", drop: 4, least: 12 }, (each) => ({ text: nextOf(each) })),
    column(
      { title: "CHECKPOINT", drop: 5, ids },
      ({ id }) => ({ text: id, format: "bold" }),
      ({ key }) => ({ text: key }),
    ),
    column({ title: "PARENT", drop: 7, ids }, (each) => ({ text: parentText(each, before.get(each)), format: "dim" })),
    column(
      { title: "SAVED", drop: 2 },
      ({ savedAt }) => ({ text: localTime(savedAt), format: "dim" }),
      ({ endedAt, startedAt }) => ({ text: localTime(endedAt ?? startedAt), format: "dim" }),
    ),
    column({ title: "SIZE", align: "right", drop: 3 }, ({ bytes }) => ({ text: size(bytes.logical) })),
    column({ title: "STORED", align: "right", drop: 6 }, ({ bytes }) => ({ text: size(bytes.stored), format: "dim" })),
  ];
  return table(columns, [...effectsAfter(null), ...lines], output);
}

/** Returns the parent, or an empty text if the parent is the checkpoint above. */
function parentText({ parent, run }: CheckpointInfo, above: CheckpointInfo | undefined): string {
  if (parent === null || (above !== undefined && parent.run === run && parent.id === above.id)) return "";
  return parent.run === run ? parent.id : `${parent.id} of ${parent.run}`;
}
