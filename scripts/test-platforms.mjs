// Tests the addons of other platforms on this machine: `npm run test:platforms` builds and tests all, and
// `npm run test:platforms -- linux-arm64-gnu` some. Each platform that can run here installs the packed packages, runs
// integration/langgraph/fixtures/smoke.mjs, and then suites of `__test__`. The others are only read: see scripts/cross.
//   --smoke   leaves the suites out
//   --suites  leaves the smoke program out
//   --quick   tests quick builds, not those of a release
//   --built   tests the addons that are there
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { checkout, project } from "./cross/checkout.mjs";
import { inspect } from "./cross/inspect.mjs";
import { emulatorsFaults, suites } from "./cross/suites.mjs";
import { howItRuns, on, runnable } from "./cross/machine.mjs";
import { platforms } from "./platforms.mjs";
import { root, run } from "./setup.mjs";

/** The time that the suites of a platform may take. */
const LIMIT_MS = 15 * 60_000;

const options = new Set(process.argv.slice(2).filter((argument) => argument.startsWith("--")));
const given = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const names = given.length > 0 ? given : Object.keys(platforms);
const unknown = names.filter((name) => platforms[name] === undefined);
if (unknown.length > 0)
  throw new RangeError(`${unknown.join(", ")}: the platforms are ${Object.keys(platforms).join(", ")}`);
const has = (option) => options.has(option);

/** What to print at the end: a line for each platform. */
const results = [];
let failed = false;

function fail(problem) {
  failed = true;
  console.error(`\nFAILED: ${problem}`);
  return `FAILED: ${problem}`;
}

/** Packs the packages of a release, and returns the tarballs for a platform. */
function pack() {
  const folder = `${root}target/platforms`;
  for (const name of ["addons", "packages", "tarballs"]) rmSync(join(folder, name), { recursive: true, force: true });
  mkdirSync(join(folder, "addons"), { recursive: true });
  for (const name of names) run("cp", [`forkpoint.${name}.node`, join(folder, "addons")]);
  run(process.execPath, [`${root}scripts/release.mjs`, join(folder, "addons"), join(folder, "packages")]);
  run(process.execPath, [`${root}scripts/pack.mjs`, join(folder, "packages"), join(folder, "tarballs")]);
  const files = readdirSync(join(folder, "tarballs"));
  return (platform) =>
    files
      .filter((file) => /^forkpoint-\d/.test(file) || file.startsWith(`forkpoint-${platform}-`))
      .map((file) => join(folder, "tarballs", file));
}

function smoke(platform, tarballs) {
  const folder = project(platform, tarballs);
  const begun = performance.now();
  const status = on(platform, ["smoke.mjs"], { cwd: folder });
  if (status !== 0) return fail(`the smoke program on ${platform}`);
  return `smoke passed in ${((performance.now() - begun) / 1000).toFixed(0)} s`;
}

/** Runs the suites, and compares the failures with those that the emulator is known for. */
function runSuites(platform) {
  const folder = checkout(platform);
  const report = join(folder, "report.json");
  const args = [
    "run",
    "--project",
    "forkpoint",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
  ];
  // An emulator takes several times as long.
  const slower = ["--testTimeout", "240000", "--hookTimeout", "240000"];
  const begun = performance.now();
  const status = on(platform, ["node_modules/vitest/vitest.mjs", ...args, ...slower, ...suites(platform)], {
    cwd: folder,
    timeout: LIMIT_MS,
    env: { ...process.env, CI: "" },
  });
  if (status === null) return fail(`the suites on ${platform} took longer than ${LIMIT_MS / 60_000} minutes`);
  if (!existsSync(report)) return fail(`vitest has not run on ${platform}`);
  const tests = JSON.parse(readFileSync(report, "utf8")).testResults.flatMap(({ name, message, assertionResults }) => {
    const file = relative(folder, name);
    // A file that can't be loaded has no tests.
    if (assertionResults.length === 0) return [{ name: `${file}: ${message}`, status: "failed" }];
    return assertionResults.map(({ fullName, status }) => ({ name: `${file}: ${fullName}`, status }));
  });
  const known = emulatorsFaults(platform);
  const seen = new Set();
  const isKnown = ({ name }) => {
    const entry = known.find(({ test }) => name.includes(test));
    if (entry !== undefined) seen.add(entry);
    return entry !== undefined;
  };
  const broken = tests.filter(({ status }) => status === "failed");
  const own = broken.filter((test) => !isKnown(test));
  const passed = tests.filter(({ status }) => status === "passed").length;
  const mended = known.filter((entry) => !seen.has(entry));
  for (const { test, reason } of seen) console.log(`known: ${test}: ${reason}`);
  if (own.length > 0)
    return fail(`${own.length} tests on ${platform}:\n${own.map(({ name }) => `  ${name}`).join("\n")}`);
  if (mended.length > 0)
    return fail(`scripts/cross/suites.mjs lists what passes on ${platform}: ${mended.map(({ test }) => test)}`);
  const seconds = ((performance.now() - begun) / 1000).toFixed(0);
  return `${passed} tests passed in ${seconds} s, ${broken.length} failed as the emulator does`;
}

const begun = performance.now();
if (!has("--built"))
  run(process.execPath, [`${root}scripts/build.mjs`, "--target", ...names, ...(has("--quick") ? [] : ["--release"])]);
const tarballsOf = has("--suites") ? undefined : pack();
for (const name of names) {
  const said = [inspect(name, `${root}forkpoint.${name}.node`, fail)];
  if (runnable.includes(name)) {
    said.push(howItRuns(name));
    if (tarballsOf !== undefined) said.push(smoke(name, tarballsOf(name)));
    if (!has("--smoke")) said.push(suites(name).length > 0 ? runSuites(name) : "no suites");
  } else said.push("not run here");
  results.push(`${name}: ${said.join("; ")}`);
}
console.log(`\n${results.join("\n")}\nin ${((performance.now() - begun) / 60_000).toFixed(0)} minutes`);
process.exit(failed ? 1 : 0);
