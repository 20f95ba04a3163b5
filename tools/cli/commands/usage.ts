import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, parsed, runArgument, spaceOption, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import type { Output } from "../output.js";
import { type RunOptions, findRun, refOf } from "../find.js";
import { type Column, table } from "../table.js";
import { duration, number, plural } from "../units.js";
import { costText, tokenCount } from "../usage.js";
import type { Usage } from "../../../ts/inspect/conversation/usage-views.js";

interface Options extends RunOptions {
  last?: number;
}

const help = `
Costs need a file with the prices of a million tokens:
  echo '{ "gpt-5": { "input": 1.25, "output": 10, "cached": 0.125 } }' > prices.json
  forkpoint usage <run> --prices prices.json`;

export const usage = () =>
  command<Options>("usage", "add up the tokens and costs of a run, for each step and each model", print)
    .addArgument(runArgument())
    .option("--prices <file>", "compute costs with these prices: a JSON file with the prices of each model")
    .addOption(parsed("--last <n>", "read only the last n checkpoints", wholeFrom(1)))
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of the run")
    .addHelpText("after", help);

async function print(context: Context, options: Options, id?: string): Promise<void> {
  const inspector = await context.open();
  const run = await findRun(context, inspector, id!, options);
  const { output, signal } = context;
  const { last } = options;
  const found = await inspector.usage(refOf(run), { signal, maxBytes: Number.MAX_SAFE_INTEGER, ...(last && { last }) });
  const { total = null, steps = [], complete = true, unpriced = [] } = found ?? {};
  if (output.json) {
    const { space, run: name, ns } = run;
    return output.printJson({ space, run: name, ns, total, steps, complete, unpriced });
  }
  if (total === null) {
    context.note("the run has stored no tokens");
    return;
  }
  const { style } = output;
  output.print(
    [
      style("bold", safeText(run.run)),
      `${tokenCount(total.total)} tokens`,
      ...(total.messages > 0 ? [plural(total.messages, "answer")] : []),
    ].join(style("dim", " · ")),
  );
  output.print("");
  const lines: Line[] = steps.map(({ step, usage }) => ({ name: number(step), usage }));
  for (const line of tableOf("STEP", [...lines, { name: "all", usage: total }], output)) output.print(line);
  if (total.models.some(({ model }) => model !== null)) {
    output.print("");
    const models = total.models.map((each): Line => ({ name: each.model ?? "-", usage: { ...each, models: [] } }));
    for (const line of tableOf("MODEL", models, output)) output.print(line);
  }
  if (!complete) output.hint("not all checkpoints were read");
  if (unpriced.length > 0)
    output.hint(`no price for ${unpriced.map(safeText).join(", ")}: add it to the file of --prices`);
}

interface Line {
  name: string;
  usage: Usage;
}

const count = (title: string, drop: number, of: (usage: Usage) => string): Column<Line> => ({
  title,
  align: "right",
  drop,
  cell: ({ usage }) => ({ text: of(usage) }),
});

/** Returns the lines of a table, without empty columns. */
function tableOf(title: string, lines: Line[], output: Output): string[] {
  const columns = [
    count("INPUT", 2, ({ input }) => tokenCount(input)),
    count("CACHED", 4, ({ cached }) => tokenCount(cached)),
    count("OUTPUT", 2, ({ output }) => tokenCount(output)),
    count("REASONING", 5, ({ reasoning }) => tokenCount(reasoning)),
    count("TIME", 3, ({ durationMs }) => (durationMs === null ? "-" : duration(durationMs))),
    count("COST", 1, ({ cost }) => costText(cost)),
  ];
  const model: Column<Line> = {
    title: "MODEL",
    drop: 6,
    least: 8,
    cell: ({ usage }) => ({ text: usage.models.map(({ model }) => model ?? "-").join(", "), format: "dim" }),
  };
  const shown: Array<Column<Line>> = [
    title === "STEP"
      ? { title, align: "right", cell: ({ name }) => ({ text: name }) }
      : { title, cell: ({ name }) => ({ text: name, format: "bold" }) },
    { title: "TOKENS", align: "right", cell: ({ usage }) => ({ text: tokenCount(usage.total) }) },
    ...columns.filter(({ cell }) => lines.some((line) => cell(line).text !== "-")),
    ...(title === "STEP" ? [model] : []),
  ];
  return table(shown, lines, output);
}
