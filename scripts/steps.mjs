// The steps of the tests, and their durations.
import { mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { relative } from "node:path";
import { root, tool } from "./setup.mjs";

/** The number of slowest files to print. */
const MOST = 20;

/** The durations of the steps, in ms. */
const taken = [];

/** The folder of vitest's reports. */
const reports = `${root}target/test-reports/`;
rmSync(reports, { recursive: true, force: true });
mkdirSync(reports, { recursive: true });

/** Runs a step, and measures it. */
export function step(name, work) {
  const begun = performance.now();
  work();
  taken.push([performance.now() - begun, name]);
}

/** Runs vitest as a step. The name is also that of its report. */
export function vitest(name, ...args) {
  const report = ["--reporter=default", "--reporter=json", `--outputFile.json=${reports}${name}.json`];
  step(`vitest: ${name}`, () => tool("vitest/vitest.mjs", ["run", ...report, ...args]));
}

function print(title, rows) {
  console.log(`\n${title}`);
  for (const [ms, name] of rows) console.log(`${(ms / 1000).toFixed(1).padStart(8)} s  ${name}`);
}

/** Prints the steps, and the slowest test files. */
export function slowest() {
  const files = readdirSync(reports).flatMap((report) =>
    JSON.parse(readFileSync(reports + report, "utf8")).testResults.map(({ name, startTime, endTime }) => [
      endTime - startTime,
      `${relative(root, name)} (${report.replace(".json", "")})`,
    ]),
  );
  print("The steps:", taken);
  print(`The slowest ${MOST} files of tests:`, files.toSorted(([a], [b]) => b - a).slice(0, MOST));
}
