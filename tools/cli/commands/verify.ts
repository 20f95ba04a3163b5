import { safeText, shellWord } from "../../../ts/bridge/json-form/json-text.js";
import { command, parsed, runsArgument, spaceOption, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import { exitCodes } from "../errors.js";
import { type RunOptions, findRuns } from "../find.js";
import { findingLines } from "../findings.js";
import type { Output } from "../output.js";
import { number, plural } from "../units.js";
import { wrapped } from "../wrap.js";
import type { Finding, VerifyReport } from "../../../ts/bridge/wire.js";

interface Options extends RunOptions {
  repairPlan?: boolean;
  rows?: number;
  after?: string;
}

/** A suggested repair of an error. */
interface Repair {
  code: string;
  remedy: string;
  /** The command that removes unreadable data. Null: no command can repair the error. */
  command: string | null;
}

export const verify = () =>
  command<Options>("verify", "read all data, and check it against its checksums and indexes", run, "itself")
    .addArgument(runsArgument())
    .option("--repair-plan", "also print the steps that would repair the findings, without running them")
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of the runs")
    .addOption(parsed("--rows <n>", "stop after about this many rows, and print where", wholeFrom(1)))
    .option("--after <position>", "begin where an earlier check has stopped");

async function run(context: Context, options: Options, ...ids: Array<string | undefined>): Promise<number | void> {
  const inspector = await context.open();
  const { output, signal } = context;
  const runs = await findRuns(context, inspector, ids, options);
  const report = await inspector.verify({
    runs: runs.length === 0 ? undefined : runs,
    signal,
    rows: options.rows,
    after: options.after,
    onProgress: (done, of, next) => {
      const onward = next === null ? "" : `. Go on with --after ${next}`;
      context.done = `${number(done)} of about ${plural(of, "row")} verified${onward}`;
      output.progress.show("verifying", done, of);
    },
  });
  output.progress.clear();
  const plan = options.repairPlan === true ? repairsFor(report.findings, context.database.shown) : undefined;
  output.answer(plan === undefined ? report : { ...report, plan }, () => lines(report, plan, runs.length, context));
  return report.ok ? undefined : exitCodes.no;
}

function* lines(
  report: VerifyReport,
  plan: Repair[] | undefined,
  named: number,
  { output }: Context,
): Generator<string> {
  yield* findingLines(report, output.style);
  const { runs, others = 0 } = report;
  if (others > 0) yield `! ${plural(others, "finding")} of other runs: run \`forkpoint verify\` without a run`;
  if (runs !== undefined) yield `${countsOf(runs)} of ${named === 1 ? "the run" : "the runs"} read`;
  const part = named === 0 ? "" : ` in the complete database; findings are shown for ${plural(named, "run")}`;
  yield output.style("dim", `${countsOf(report.checked)} verified${part}`);
  if (report.next !== null) yield `Not everything was verified. Go on with: --after ${report.next}`;
  if (plan === undefined) return;
  yield "";
  yield output.style("bold", plan.length === 0 ? "Nothing to repair" : "How to repair");
  for (const [at, { remedy, command }] of plan.entries()) {
    yield `${at + 1}. ${safeText(remedy)}`;
    if (command !== null) yield* commandLines(safeText(command), output);
  }
}

type Counts = Pick<VerifyReport["checked"], "checkpoints" | "payloads" | "writes">;

function countsOf({ checkpoints, payloads, writes }: Counts): string {
  return [plural(checkpoints, "checkpoint"), plural(payloads, "payload"), plural(writes, "write")].join(", ");
}

/** Yields a command. If it is wider than the terminal, it is wrapped with a shell's line continuation. */
function* commandLines(command: string, { style, width: most }: Output): Generator<string> {
  const lines = wrapped(command, most - 5, "  ");
  for (const [at, line] of lines.entries()) yield `   ${style("cyan", line)}${at < lines.length - 1 ? " \\" : ""}`;
}

/** Returns the steps that repair the errors, without duplicates. */
function repairsFor(findings: Finding[], database: string): Repair[] {
  const steps = new Map<string, Repair>();
  for (const { code, severity, remedy, ref } of findings) {
    if (severity !== "error") continue;
    let command = null;
    if (code === "CORRUPT" && ref?.run != null && (ref.effect ?? ref.id) != null) {
      const ns = ref.ns ? ` --ns ${shellWord(ref.ns)}` : "";
      const where = `--db ${shellWord(database)} --space ${shellWord(ref.space ?? "")}${ns}`;
      const run = shellWord(ref.run);
      command =
        ref.effect == null
          ? `forkpoint rm ${where} --checkpoint ${shellWord(ref.id!)} -- ${run}`
          : `forkpoint settle ${where} --forget -- ${run} ${shellWord(ref.effect)}`;
    }
    steps.set(`${remedy}\0${command}`, { code, remedy, command });
  }
  return [...steps.values()];
}
