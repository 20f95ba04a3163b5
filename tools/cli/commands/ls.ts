import { stepName } from "../../../ts/inspect/step-name.js";
import { Option } from "commander";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, parsed, spaceOption, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import { UsageError } from "../errors.js";
import { labelsText, repeatedLabel } from "../labels.js";
import { readListing, runPages } from "../pages.js";
import { strandedText } from "../stranded.js";
import { statusCell, statusNames, versionName } from "../style.js";
import { type Column, table } from "../table.js";
import { sortOfUsage, usageColumns, withUsage } from "../usage-columns.js";
import { ago, number, parseDuration, size } from "../units.js";
import type { UsageSort } from "../../../ts/inspect/conversation/usage-order.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";
import type { RunInfo, Status } from "../../../ts/plugin/views.js";
import type { RunQuery } from "../../../ts/inspect/run-filters.js";

interface Options {
  space?: string;
  group?: string;
  match?: string;
  status?: Status;
  label?: Record<string, string>;
  stranded?: boolean;
  version?: string;
  since?: number;
  sort: NonNullable<RunQuery["sort"]> | UsageSort;
  limit?: number;
  cursor?: string;
  all?: boolean;
  ns?: string;
  allNs?: boolean;
  usage?: boolean;
}

const LIMIT = 20;

export const ls = () =>
  command<Options>("ls", "list runs, most recently active first", list)
    .addOption(spaceOption())
    .option("--group <prefix>", "only runs whose group (such as the graph) starts with this")
    .option("--match <text>", "only runs whose id contains this text")
    .addOption(new Option("--status <status>", "only runs with this status").choices(statusNames))
    .addOption(new Option("--label <key=value>", "only runs with this label; repeatable").argParser(repeatedLabel))
    .option("--stranded", "only open runs that the version of their program that started last can't continue")
    .option("--version <version>", "only runs that this version of their program made, by its name or its hash")
    .addOption(
      parsed("--since <duration>", "only runs that were active in this period: 90s, 15m, 2h, 7d", parseDuration),
    )
    .addOption(
      new Option("--sort <order>", "the sort order")
        .choices(["active", "began", "size", "tokens", "cost"])
        .default("active"),
    )
    .addOption(parsed("--limit <n>", `the number of runs (default: ${LIMIT})`, wholeFrom(1)))
    .option("--cursor <cursor>", "continue after a page")
    .option("--all", "all runs")
    .option("--usage", "read the tokens of each listed run; --sort tokens or cost sorts the listed runs by them")
    .option("--prices <file>", "with --usage: compute costs with these prices")
    .option("--ns <ns>", "only this namespace")
    .option("--all-ns", "all namespaces, including subgraphs");

async function list(context: Context, options: Options): Promise<void> {
  const { all = false, limit, cursor, since, status } = options;
  if (all && limit !== undefined) throw new UsageError("pass --all or --limit, not both");
  if (options.allNs && options.ns !== undefined) throw new UsageError("pass --all-ns or --ns, not both");
  const byUsage = sortOfUsage(options);
  const query: RunQuery = {
    space: options.space,
    group: options.group,
    match: options.match,
    ns: options.ns,
    allNs: options.allNs,
    sort: byUsage === undefined ? (options.sort as NonNullable<RunQuery["sort"]>) : "active",
    since: since === undefined ? undefined : Date.now() - since,
    status,
    label: options.label,
    version: options.version,
    stranded: options.stranded,
    withWhy: context.output.json,
    withQuestion: true,
    withBytes: true,
  };
  const inspector = await context.open();
  if (all && !context.output.json) return printAll(context, inspector, { ...query, cursor });
  const read = (limit: number, cursor: string | null) => inspector.runs({ ...query, limit, cursor });
  const { items: runs, cursor: next } = await readListing(read, { limit: all ? undefined : (limit ?? LIMIT), cursor });
  const { output } = context;
  if (options.usage) {
    const used = await withUsage(context, inspector, runs, byUsage);
    output.answer({ runs: used, cursor: next }, () =>
      runTable(used, context, options.version !== undefined, usageColumns),
    );
  } else output.answer({ runs, cursor: next }, () => runTable(runs, context, options.version !== undefined));
  if (runs.length === 0 && !output.json) await noteNone(context, inspector);
  if (next !== null) output.hint(`more runs: add --all, or --cursor ${next}`);
}

async function noteNone(context: Context, inspector: Inspector): Promise<void> {
  const { spaces } = await inspector.info();
  context.note(spaces.length === 0 ? `${safeText(context.database.shown)} has no runs yet` : "no runs match");
}

/** Prints all runs during the read. The first page is short, so that it is printed soon. */
async function printAll(context: Context, inspector: Inspector, query: RunQuery): Promise<void> {
  const { output } = context;
  let first: RunInfo[] | undefined;
  let header: string | undefined;
  for await (const runs of runPages(inspector, query)) {
    if (runs.length === 0) continue;
    // The column widths of each page include the first page's runs, so that all pages align.
    const lines = runTable([...(first ?? []), ...runs], context, query.version !== undefined);
    if (header !== lines[0]) await output.stream(`${lines[0]}\n`);
    header = lines[0];
    await output.stream(
      lines
        .slice(1 + (first?.length ?? 0))
        .map((line) => `${line}\n`)
        .join(""),
    );
    await output.flush();
    first ??= runs;
  }
  if (first === undefined) await noteNone(context, inspector);
}

const columns: Array<Column<RunInfo>> = [
  { title: "STATUS", cell: ({ status }) => statusCell(status) },
  { title: "RUN", ids: true, cell: ({ run }) => ({ text: run, format: "bold" }) },
  { title: "NAMESPACE", drop: 4, ids: true, cell: ({ ns }) => ({ text: ns ?? "" }) },
  { title: "FRAMEWORK", drop: 7, cell: ({ space }) => ({ text: space, format: "dim" }) },
  { title: "GROUP", drop: 8, least: 12, cell: ({ group }) => ({ text: group ?? "", format: "dim" }) },
  { title: "STEPS", align: "right", drop: 6, cell: ({ checkpoints }) => ({ text: number(checkpoints) }) },
  { title: "LAST STEP", drop: 2, least: 9, cell: ({ latest }) => ({ text: stepName(latest) ?? "-" }) },
  { title: "ACTIVE", drop: 1, cell: ({ active }) => ({ text: ago(active) }) },
  {
    title: "SIZE",
    align: "right",
    drop: 3,
    cell: ({ bytes }) => ({ text: bytes === null ? "" : size(bytes.logical), format: "dim" }),
  },
];

const versionColumn: Column<RunInfo> = {
  title: "VERSION",
  drop: 5,
  least: 7,
  cell: ({ version }) => ({ text: versionName(version) }),
};

const labelsColumn: Column<RunInfo> = {
  title: "LABELS",
  drop: 4,
  least: 8,
  cell: ({ labels }) => ({ text: labelsText(labels), format: "dim" }),
};

const strandedColumn: Column<RunInfo> = {
  title: "STRANDED",
  least: 20,
  cell: ({ stranded }) => ({ text: stranded === null ? "" : strandedText(stranded), format: "yellow" }),
};

const questionColumn: Column<RunInfo> = {
  title: "ASKS",
  drop: 3,
  least: 12,
  cell: ({ question }) => ({ text: question ?? "", format: "green" }),
};

/**
 * Returns the lines of a table of runs. It has versions if a version has a name or `withVersions` is true, and labels
 * if there are some.
 */
export function runTable<Run extends RunInfo>(
  runs: Run[],
  { output }: Context,
  withVersions = false,
  more: Array<Column<Run>> = [],
): string[] {
  const hasVersions = withVersions || runs.some(({ version }) => typeof version?.version === "string");
  const hasLabels = runs.some(({ labels }) => Object.keys(labels).length > 0);
  const shown: Array<Column<Run>> = hasLabels ? columns.toSpliced(5, 0, labelsColumn) : columns;
  // Without questions, this column is empty and is left out.
  const asking = [...(hasVersions ? shown.toSpliced(5, 0, versionColumn) : shown), ...more, questionColumn];
  // Without stranded runs, this column is empty and is left out.
  return table([...asking, strandedColumn], runs, output);
}
