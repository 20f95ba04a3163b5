import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command } from "../command.js";
import type { Output } from "../output.js";
import { type Column, table } from "../table.js";
import { number, plural, size } from "../units.js";
import { versionName } from "../style.js";
import type { InspectedStats, VersionCount } from "../../../ts/plugin/views.js";

export const stats = () =>
  command("stats", "show how much is stored, by framework and by run", async (context) => {
    const inspector = await context.open();
    const found = await inspector.stats();
    const { output } = context;
    const versions = await inspector.versions();
    if (output.json) return output.printJson({ ...found, versions });
    const { target, backend } = await inspector.info();
    for (const line of report(`${safeText(target)} (${backend})`, found, versions, output)) output.print(line);
  });

function* report(
  title: string,
  found: InspectedStats,
  versions: readonly VersionCount[],
  output: Output,
): Generator<string> {
  const { style } = output;
  yield style("bold", title);
  yield "";
  const spaces = Object.entries(found.spaces).map(([space, stored]) => Object.assign({ space }, stored));
  const runs = spaces.reduce((sum, each) => sum + each.runs, 0);
  const fact = (name: string, value: string, more = "") =>
    `${style("dim", name.padEnd(10))}${value}${more === "" ? "" : style("dim", `  ${more}`)}`;
  const about = found.isEstimate ? "about " : "";
  yield fact("stored", `${about}${plural(found.checkpoints, "checkpoint")} of ${plural(runs, "run")}`);
  yield fact(
    "values",
    size(found.logicalBytes),
    `stored in ${size(found.storedBytes)}, ${found.ratio.toFixed(1)} to 1`,
  );
  if (found.records > 0) yield fact("messages", `${about}${number(found.records)}`, size(found.recordBytes));
  if (found.effects > 0) yield fact("effects", number(found.effects), size(found.effectBytes));
  const free = found.freeBytes === null ? "" : `${size(found.freeBytes)} of it free`;
  if (found.fileBytes !== undefined) yield fact("file", size(found.fileBytes), free);
  if (found.walBytes !== null) yield fact("write log", size(found.walBytes));
  if (spaces.length > 0) {
    yield "";
    yield* table(spaceColumns, spaces, output);
  }
  // Without versions, the table above has the same data.
  if (versions.some(({ version }) => version !== null)) {
    yield "";
    yield* table(versionColumns, versions, output);
  }
  if (found.largest.length > 0) {
    yield "";
    yield* table(runColumns, found.largest, output);
  }
}

/** The columns of both tables. */
const sizes: Array<Column<Pick<InspectedStats["spaces"][string], "checkpoints" | "logicalBytes" | "storedBytes">>> = [
  { title: "CHECKPOINTS", align: "right", drop: 3, cell: ({ checkpoints }) => ({ text: number(checkpoints) }) },
  { title: "SIZE", align: "right", drop: 1, cell: ({ logicalBytes }) => ({ text: size(logicalBytes) }) },
  { title: "STORED", align: "right", drop: 6, cell: ({ storedBytes }) => ({ text: size(storedBytes), format: "dim" }) },
];

type Space = InspectedStats["spaces"][string] & { space: string };

/** The statuses with a column. Stopped runs are rare, so a table without them has no column for them. */
const counted = ["waiting", "failed", "unfinished", "stopped"] as const;

const countText = (status: (typeof counted)[number], count: number): string =>
  status === "stopped" && count === 0 ? "" : number(count);

const spaceColumns: Array<Column<Space>> = [
  { title: "FRAMEWORK", cell: ({ space }) => ({ text: space, format: "bold" }) },
  { title: "RUNS", align: "right", drop: 2, cell: ({ runs }) => ({ text: number(runs) }) },
  ...counted.map((status): Column<Space> => ({
    title: status.toUpperCase(),
    align: "right",
    drop: 5,
    cell: ({ statuses }) => ({ text: countText(status, statuses[status]) }),
  })),
  ...sizes,
];

const versionColumns: Array<Column<VersionCount>> = [
  { title: "PROGRAM", drop: 4, cell: ({ program }) => ({ text: program ?? "-", format: "bold" }) },
  { title: "VERSION", cell: ({ version }) => ({ text: versionName(version) }) },
  { title: "FRAMEWORK", drop: 3, cell: ({ space }) => ({ text: space, format: "dim" }) },
  {
    title: "OPEN RUNS",
    align: "right",
    cell: ({ runs, isEstimate }) => ({ text: `${isEstimate ? "about " : ""}${number(runs)}` }),
  },
  ...counted.map((status): Column<VersionCount> => ({
    title: status.toUpperCase(),
    align: "right",
    drop: 5,
    cell: ({ statuses }) => ({ text: countText(status, statuses[status]) }),
  })),
];

const runColumns: Array<Column<InspectedStats["largest"][number]>> = [
  { title: "LARGEST RUN", ids: true, cell: ({ run }) => ({ text: run, format: "bold" }) },
  { title: "NAMESPACE", drop: 5, ids: true, cell: ({ ns }) => ({ text: ns ?? "" }) },
  { title: "FRAMEWORK", drop: 4, cell: ({ space }) => ({ text: space, format: "dim" }) },
  ...sizes,
];
