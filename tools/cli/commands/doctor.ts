import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command } from "../command.js";
import { exitCodes } from "../errors.js";
import { findingLines } from "../findings.js";
import { number, plural } from "../units.js";
import type { Finding } from "../../../ts/bridge/wire.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";

/** The most stranded runs that are counted, and the time limit for finding them, in ms. */
const [MOST, TIME_LIMIT] = [1_000, 1_000];

/** Finds the runs that nobody continues. */
async function strandedIn(inspector: Inspector): Promise<Finding[]> {
  const { items, cursor } = await inspector.runs({ stranded: true, limit: MOST, maxMs: TIME_LIMIT });
  if (items.length === 0) return [];
  const [isOne, count] = [items.length === 1 && cursor === null, plural(items.length, "open run")];
  const waiting = items.filter(({ status }) => status === "waiting").length;
  const message =
    `${cursor === null ? "" : "at least "}${count} (${number(waiting)} waiting) ${isOne ? "doesn't" : "don't"} fit the version of ` +
    `${isOne ? "its" : "their"} program that started last`;
  const remedy = "List them with `forkpoint ls --stranded`, and run their own version, or decide with `onChanged`";
  return [{ code: "STRANDED", severity: "warning", message, remedy, ref: null }];
}

export const doctor = () =>
  command(
    "doctor",
    "check the file system, file mode, schema, pages and stranded runs quickly, in about a second",
    async (context) => {
      const inspector = await context.open();
      const checked = await inspector.verify({ quick: true, signal: context.signal });
      const report = { ...checked, findings: [...checked.findings, ...(await strandedIn(inspector))] };
      const { output } = context;
      if (output.json) {
        output.printJson(report);
      } else {
        const { target, backend } = await inspector.info();
        output.print(output.style("bold", `${safeText(target)} (${backend})`));
        for (const line of findingLines(report, output.style)) output.print(line);
        if (report.ok) output.hint("run `forkpoint verify` to check all stored data");
      }
      return report.ok ? undefined : exitCodes.no;
    },
  );
