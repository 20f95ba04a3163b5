/** Finds the browser that shows pages in tests. */

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the path of the browser that `CHROMIUM` names, or of the first one that is installed. Null: there is none. Then it says so,
 * and throws in CI. `tests` says which tests are skipped.
 */
export function findChromium(tests: string): string | null {
  const { CI, CHROMIUM, PATH = "" } = process.env;
  if (CHROMIUM !== undefined && CHROMIUM !== "") {
    if (isProgram(CHROMIUM)) return CHROMIUM;
    throw new Error(`CHROMIUM names ${CHROMIUM}, which is no program`);
  }
  const paths = PATH.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  const found = paths.find(isProgram);
  if (found !== undefined) return found;
  const message = "no Chromium is installed: apt-get install chromium, or set CHROMIUM=<path>";
  if (CI === "true") throw new Error(message);
  console.warn(`\n${"*".repeat(80)}\n* SKIPPED: ${tests}. ${message}\n${"*".repeat(80)}\n`);
  return null;
}
