import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command } from "../command.js";
import { exitCodes } from "../errors.js";
import { findingLines } from "../findings.js";

export const doctor = () =>
  command(
    "doctor",
    "check the file system, file mode, schema and pages quickly, in about a second",
    async (context) => {
      const inspector = await context.open();
      const report = await inspector.verify({ quick: true, signal: context.signal });
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
