/** `forkpoint code`: the code that goes on with a run. */

import { Option } from "commander";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, parsed, runArgument, spaceOption, wholeFrom } from "../command.js";
import type { Context } from "../context.js";
import { type RunOptions, findRun, readCheckpoint, refOf } from "../find.js";

interface Options extends RunOptions {
  step?: number;
  module: "esm" | "cjs";
}

export const code = () =>
  command<Options>("code", "prints the code that goes on with a run, or a checkpoint of it; runs nothing", print)
    .addArgument(runArgument())
    .argument("[checkpoint]", "the id of a checkpoint, or how it begins (4 characters or more)")
    .addOption(parsed("--step <n>", "the place in the run, from 0; negative: from the end", wholeFrom(-Infinity)))
    .addOption(new Option("--module <kind>", "the kind of module").choices(["esm", "cjs"]).default("esm"))
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of the run");

async function print(context: Context, options: Options, id?: string, checkpoint?: string): Promise<void> {
  const { step, module } = options;
  const inspector = await context.open();
  const run = await findRun(context, inspector, id!, options);
  const named = checkpoint !== undefined || step !== undefined;
  const at = named ? (await readCheckpoint(inspector, run, { id: checkpoint, step })).checkpoint.id : undefined;
  const snippets = await inspector.code({ ...refOf(run), id: at }, { module });
  const { output } = context;
  if (output.json) {
    output.printJson({ snippets });
    return;
  }
  for (const [index, { framework, code }] of snippets.entries()) {
    if (index > 0) output.print("");
    if (snippets.length > 1) output.print(output.style("dim", `// ${safeText(framework)}`));
    for (const line of code.trimEnd().split("\n")) output.print(safeText(line));
  }
}
