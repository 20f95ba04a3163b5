/** `forkpoint stats`: how much is stored. */

import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command } from "../command.js";
import type { Context } from "../context.js";
import type { Output } from "../output.js";
import { type Cell, table } from "../table.js";
import { number, plural, size } from "../units.js";
import type { InspectedStats } from "../../../ts/inspect/views.js";

export const stats = () =>
  command("stats", "says how much is stored, by space, and names the largest runs", async (context) => {
    const inspector = await context.open();
    const found = await inspector.stats();
    const { output } = context;
    if (output.json) {
      output.printJson(found);
      return;
    }
    const { target, backend } = await inspector.info();
    for (const line of report(`${safeText(target)} (${backend})`, found, context)) output.print(line);
  });

function* report(title: string, found: InspectedStats, { output }: Context): Generator<string> {
  const { style } = output;
  yield style("bold", title);
  yield "";
  const spaces = Object.entries(found.spaces);
  const runs = spaces.reduce((sum, [, each]) => sum + each.runs, 0);
  const fact = (name: string, value: string, more = "") =>
    `${style("dim", name.padEnd(10))}${value}${more === "" ? "" : style("dim", `  ${more}`)}`;
  yield fact("stored", `${plural(found.checkpoints, "checkpoint")} of ${plural(runs, "run")}`);
  yield fact(
    "values",
    size(found.logicalBytes),
    `stored in ${size(found.storedBytes)}, ${found.ratio.toFixed(1)} to 1`,
  );
  if (found.records > 0) yield fact("logs", plural(found.records, "record"), size(found.recordBytes));
  const free = found.freeBytes === null ? "" : `${size(found.freeBytes)} of it free`;
  if (found.fileBytes !== undefined) yield fact("file", size(found.fileBytes), free);
  if (found.walBytes !== null) yield fact("write log", size(found.walBytes));
  if (spaces.length > 0) {
    yield "";
    yield* spaceTable(spaces, output);
  }
  if (found.largest.length > 0) {
    yield "";
    yield* largestTable(found.largest, output);
  }
}

function spaceTable(spaces: Array<[string, InspectedStats["spaces"][string]]>, { style, width }: Output): string[] {
  const rows = spaces.map(([space, each]): Cell[] => [
    { text: safeText(space), format: "bold" },
    { text: number(each.runs) },
    { text: number(each.checkpoints) },
    { text: size(each.logicalBytes) },
    { text: size(each.storedBytes), format: "dim" },
  ]);
  const right = { align: "right" as const };
  const columns = [
    { title: "SPACE" },
    { title: "RUNS", ...right, drop: 1 },
    { title: "CHECKPOINTS", ...right, drop: 2 },
    { title: "SIZE", ...right, drop: 3 },
    { title: "STORED", ...right, drop: 4 },
  ];
  return table(columns, rows, style, width);
}

function largestTable(largest: InspectedStats["largest"], { style, width }: Output): string[] {
  const rows = largest.map((each): Cell[] => [
    { text: safeText(each.run), format: "bold" },
    { text: safeText(each.ns ?? "") },
    { text: safeText(each.space), format: "dim" },
    { text: number(each.checkpoints) },
    { text: size(each.logicalBytes) },
    { text: size(each.storedBytes), format: "dim" },
  ]);
  const right = { align: "right" as const };
  const columns = [
    { title: "LARGEST RUN" },
    { title: "NAMESPACE", drop: 4 },
    { title: "SPACE", drop: 1 },
    { title: "CHECKPOINTS", ...right, drop: 2 },
    { title: "SIZE", ...right, drop: 3 },
    { title: "STORED", ...right, drop: 5 },
  ];
  return table(columns, rows, style, width);
}
