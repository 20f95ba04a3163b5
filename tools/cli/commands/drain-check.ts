import { Argument } from "commander";
import { readFile } from "node:fs/promises";
import { command } from "../command.js";
import type { Context } from "../context.js";
import { UsageError, exitCodes } from "../errors.js";
import { readJson, readStdin } from "../path.js";
import { statusCell, versionName } from "../style.js";
import { type Column, table } from "../table.js";
import { ago, plural } from "../units.js";
import type { DrainReport, DrainedRun } from "../../../ts/inspect/drain.js";
import type { ProgramDescription } from "../../../ts/store/description.js";

export const drainCheck = () =>
  command("drain-check", "list the open runs that don't fit a new version of their program", run).addArgument(
    new Argument("<description>", "a JSON file with what describe(graph) returns; -: read it from stdin"),
  );

async function run(context: Context, _options: object, file: string | undefined): Promise<number | void> {
  const text = file === "-" ? await readStdin() : await readFile(file!, "utf8");
  const description = readJson(text, file === "-" ? "stdin" : file!) as ProgramDescription;
  const inspector = await context.open();
  const { output, signal } = context;
  const report = await inspector.drainCheck(description, { signal }).catch((error: unknown) => {
    throw error instanceof TypeError ? new UsageError(error.message) : error;
  });
  output.answer(report, () => lines(report, context));
  return report.ok ? undefined : exitCodes.unfit;
}

const columns: Array<Column<DrainedRun>> = [
  { title: "STATUS", cell: ({ status }) => statusCell(status) },
  { title: "RUN", ids: true, cell: ({ run }) => ({ text: run, format: "bold" }) },
  { title: "VERSION", drop: 3, least: 7, cell: ({ from }) => ({ text: versionName(from) }) },
  { title: "ACTIVE", drop: 2, cell: ({ active }) => ({ text: ago(active) }) },
  { title: "DIFFERENCES", least: 20, cell: ({ differences }) => ({ text: differences.join("; ") }) },
];

function* lines({ program, to, ok, fits, runs, other, unknown }: DrainReport, { output }: Context): Generator<string> {
  yield* table(columns, runs, output);
  if (!ok) yield "";
  const of = program === null ? "" : ` of ${program}`;
  const open = plural(fits + runs.length, "open run");
  const verb = runs.length === 1 ? "doesn't" : "don't";
  yield ok
    ? fits === 0
      ? `no open runs${of}`
      : `${open}${of}: all fit version ${versionName(to)}`
    : output.style("bold", `${runs.length} of ${open}${of} ${verb} fit version ${versionName(to)}`);
  const left = [
    ...(other > 0 ? [`${plural(other, "open run")} of other programs`] : []),
    ...(unknown > 0 ? [`${plural(unknown, "run")} of an unknown program or status`] : []),
  ];
  if (left.length > 0) yield output.style("dim", `not checked: ${left.join(", ")}`);
}
