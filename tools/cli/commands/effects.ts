import { command, runArgument, spaceOption } from "../command.js";
import type { Context } from "../context.js";
import { effectCell } from "../effect-signs.js";
import { findRunOfEffects } from "../effects.js";
import type { RunOptions } from "../find.js";
import { type Column, table } from "../table.js";
import { ago, duration, number } from "../units.js";
import type { EffectInfo } from "../../../ts/plugin/views.js";

const help = `
Print the result of an effect:
  forkpoint get <run> --effect "charge order 7"

An effect that may have happened needs a look at the other system. Then say what you have found:
  forkpoint settle <run> "charge order 7" --result '{"receipt":"r-1"}'
  forkpoint settle <run> "charge order 7" --forget`;

export const effects = () =>
  command<RunOptions>("effects", "list the effects of a run: payments, mails, calls of other systems", list)
    .addArgument(runArgument())
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of the run")
    .addHelpText("after", help);

async function list(context: Context, options: RunOptions, id?: string): Promise<void> {
  const inspector = await context.open();
  const run = await findRunOfEffects(context, inspector, id!, options);
  const found = await inspector.effects(run);
  const { output } = context;
  output.answer({ effects: found }, () => table(columns, found, output));
  if (found.length === 0 && !output.json) context.note("the run has no effects");
}

const columns: Array<Column<EffectInfo>> = [
  { title: "STATE", cell: effectCell },
  { title: "EFFECT", least: 16, cell: ({ key }) => ({ text: key, format: "bold" }) },
  { title: "ATTEMPTS", align: "right", drop: 3, cell: ({ attempts }) => ({ text: number(attempts) }) },
  { title: "BEGAN", drop: 1, cell: ({ startedAt }) => ({ text: ago(startedAt) }) },
  {
    title: "TOOK",
    align: "right",
    drop: 4,
    cell: ({ startedAt, endedAt }) => ({ text: endedAt === null ? "" : duration(endedAt - startedAt) }),
  },
  {
    title: "AFTER CHECKPOINT",
    drop: 6,
    ids: true,
    cell: ({ checkpointId }) => ({ text: checkpointId ?? "", format: "dim" }),
  },
  { title: "IDEMPOTENCY KEY", drop: 5, cell: ({ idempotencyKey }) => ({ text: idempotencyKey, format: "dim" }) },
  { title: "ERROR", drop: 2, least: 12, cell: ({ error }) => ({ text: error ?? "", format: "red" }) },
];
