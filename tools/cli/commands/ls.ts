/** `forkpoint ls`: the runs of a database. */

import { Option } from "commander";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, parsed, spaceOption, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import { UsageError } from "../errors.js";
import { readListing } from "../pages.js";
import { statusCell, statusNames } from "../style.js";
import { type Cell, type Column, table } from "../table.js";
import { ago, number, parseDuration, size } from "../units.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";
import type { RunInfo, Status } from "../../../ts/inspect/views.js";
import type { RunQuery } from "../../../ts/inspect/runs.js";

interface Options {
  space?: string;
  group?: string;
  match?: string;
  status: Status | boolean;
  since?: number;
  sort: "active" | "began" | "size";
  limit?: number;
  cursor?: string;
  all?: boolean;
  ns?: string;
  allNs?: boolean;
}

const LIMIT = 20;

export const ls = () =>
  command<Options>("ls", "lists the runs, the last active first", list)
    .addOption(spaceOption())
    .option("--group <prefix>", "only runs whose group (AgentOS' graph) begins so")
    .option("--match <text>", "only runs whose id contains this text")
    .addOption(new Option("--status <status>", "only runs with this status").choices(statusNames))
    .option("--no-status", "does not read the status of each run, which takes time")
    .addOption(parsed("--since <duration>", "only runs that were active in this time: 90s, 15m, 2h, 7d", parseDuration))
    .addOption(new Option("--sort <order>", "the order").choices(["active", "began", "size"]).default("active"))
    .addOption(parsed("--limit <n>", `how many runs (default: ${LIMIT})`, wholeFrom(1)))
    .option("--cursor <cursor>", "what the next page begins with")
    .option("--all", "all runs")
    .option("--ns <ns>", "only this namespace")
    .option("--all-ns", "all namespaces");

async function list(context: Context, options: Options): Promise<void> {
  const { all = false, limit, cursor, since, status } = options;
  if (all && limit !== undefined) throw new UsageError("give --all or --limit, not both");
  if (options.allNs && options.ns !== undefined) throw new UsageError("give --all-ns or --ns, not both");
  const query: RunQuery = {
    space: options.space,
    group: options.group,
    match: options.match,
    ns: options.ns,
    allNs: options.allNs,
    sort: options.sort,
    since: since === undefined ? undefined : Date.now() - since,
    status: typeof status === "string" ? status : undefined,
    withStatus: status !== false,
    withBytes: true,
  };
  const inspector = await context.open();
  const read = (limit: number, cursor: string | null) => inspector.runs({ ...query, limit, cursor });
  const { items: runs, cursor: next } = await readListing(read, { limit: all ? undefined : (limit ?? LIMIT), cursor });
  const { output } = context;
  if (output.json) {
    output.printJson({ runs, cursor: next });
    return;
  }
  for (const line of runTable(runs, context)) output.print(line);
  if (runs.length === 0) context.note(await nothing(inspector, context));
  if (next !== null) output.hint(`there are more: --all, or --cursor ${next}`);
}

const columns: Column[] = [
  { title: "STATUS" },
  { title: "RUN" },
  { title: "NAMESPACE", drop: 1 },
  { title: "SPACE", drop: 2 },
  { title: "GROUP", drop: 6, least: 12 },
  { title: "STEPS", align: "right", drop: 3 },
  { title: "LAST STEP", drop: 4, least: 8 },
  { title: "ACTIVE", drop: 1 },
  { title: "SIZE", align: "right", drop: 5 },
];

/** Returns the lines of a table of runs. */
export function runTable(runs: RunInfo[], { output }: Context): string[] {
  if (runs.length === 0) return [];
  const now = Date.now();
  const rows = runs.map((run): Cell[] => [
    run.status === null ? { text: "" } : statusCell(run.status),
    { text: safeText(run.run), format: "bold" },
    { text: safeText(run.ns ?? "") },
    { text: safeText(run.space), format: "dim" },
    { text: safeText(run.group ?? ""), format: "dim" },
    { text: number(run.checkpoints) },
    { text: safeText(run.latest.label ?? "") },
    { text: ago(run.active, now) },
    { text: run.bytes === null ? "" : size(run.bytes.logical), format: "dim" },
  ]);
  return table(columns, rows, output.style, output.width);
}

async function nothing(inspector: Inspector, { database }: Context): Promise<string> {
  const { spaces } = await inspector.info();
  const shown = safeText(database.shown);
  return spaces.length === 0 ? `${shown} holds no runs yet` : "no run fits";
}
