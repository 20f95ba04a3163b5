import { Argument } from "commander";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, runArgument, spaceOption } from "../command.js";
import type { Context } from "../context.js";
import { UsageError } from "../errors.js";
import { type RunOptions, findRun, refOf } from "../find.js";
import { labelsText, parseChange } from "../labels.js";

const help = `
key=value sets a label, key- removes it, and the other labels stay. Without changes, the command prints the labels.
Find runs by labels with \`forkpoint ls --label key=value\`.`;

export const label = () =>
  command<RunOptions>("label", "set or remove labels of a run, such as customer=acme", run, "itself")
    .addArgument(runArgument())
    .addArgument(new Argument("[changes...]", "labels to set (key=value) or to remove (key-)"))
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of a stored value")
    .addHelpText("after", help);

async function run(
  context: Context,
  options: RunOptions,
  id?: string,
  ...given: Array<string | undefined>
): Promise<void> {
  const changes = Object.fromEntries(given.filter((each) => each !== undefined).map(parseChange));
  const isChange = Object.keys(changes).length > 0;
  const inspector = await context.open(isChange ? { write: true } : {});
  const ref = refOf(await findRun(context, inspector, id!, options));
  context.signal.throwIfAborted();
  if (isChange) await inspector.setLabels(ref, changes);
  const found = await inspector.run(ref);
  if (found === null) throw new UsageError("the run has just been removed");
  const { labels } = found;
  const { output } = context;
  output.answer({ run: ref, labels }, () => {
    const text = labelsText(labels);
    const shown = text === "" ? "no labels" : safeText(text);
    return [isChange ? `${output.style("green", "✓")} ${safeText(found.run)}: ${shown}` : shown];
  });
}
