// The command that the studio's page copies: the command line takes it, whatever the names are.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exportCommand, fileName } from "../../../tools/studio/page/export-command.js";
import { folder } from "../../helpers.js";
import { alone, withRun } from "../../cli/run.js";

test.each(["run-1", "-run", "--yes", "it's a run"])("exports the run %s", async (run) => {
  const target = await withRun(run, 2);
  const command = exportCommand({ space: "agentos", run }, target, "1", ["scratch.notes"]);
  const words = command.match(/(?:'[^']*'|\\.|[^\s'])+/g)!;
  expect(words.slice(0, 3)).toEqual(["npx", "forkpoint", "export"]);
  const cwd = folder();
  const unquoted = words.slice(2).map((word) => word.replaceAll(/'([^']*)'|\\(.)/g, "$1$2"));
  expect(await alone(unquoted, { cwd })).toMatchObject({ code: 0 });
  expect(existsSync(join(cwd, `${fileName(run)}.html`))).toBe(true);
});
