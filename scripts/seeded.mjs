// Puts faults into the code, one at a time, and prints the tests that catch each: `node scripts/seeded.mjs [--model]
// [name ...]`. Needs a checkout without changes in the faults' files, and restores them. Fails if no test catches a
// fault. A fault in Rust takes about two minutes, and one in TypeScript about half a minute.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { faults } from "./seeded/faults.mjs";
import { root } from "./setup.mjs";

const [options, named] = [true, false].map((are) =>
  process.argv.slice(2).filter((word) => word.startsWith("--") === are),
);
/** With `--model`, the models of several actors must find each fault. */
const byModel = options.includes("--model");
const unknown = [
  ...named.filter((name) => !faults.some((fault) => fault.name === name)),
  ...options.filter((option) => option !== "--model"),
];
if (unknown.length > 0)
  throw new Error(`there is no fault or option ${unknown.join(", ")}: see scripts/seeded/faults.mjs`);
const chosen = named.length === 0 ? faults : faults.filter(({ name }) => named.includes(name));

const work = mkdtempSync(join(tmpdir(), "forkpoint-seeded-"));
const env = { ...process.env, CI: "true", ...(byModel && { FORKPOINT_TEST_MEETINGS: "20" }) };
const node = (...args) => spawnSync(process.execPath, args, { cwd: root, encoding: "utf8", env });
const isRust = ({ file }) => file.endsWith(".rs");

/** Builds the code that a fault of this kind changes. Returns the output of a failed build. */
function build(fault) {
  const built = node(join(root, "scripts", isRust(fault) ? "build.mjs" : "compile.mjs"));
  return built.status === 0 ? undefined : `${built.stdout}${built.stderr}`;
}

/** Returns the names of the failing tests. */
function failures({ suite, tests: named }) {
  const model = suite === "langgraph" ? "integration/langgraph/meeting.test.ts" : "__test__/meeting.test.ts";
  const tests = byModel ? [model] : named;
  const report = join(work, "report.json");
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const ran = node(
    vitest,
    "run",
    "--project",
    suite,
    "--bail",
    "1",
    "--reporter=json",
    `--outputFile=${report}`,
    ...tests,
  );
  const { testResults, numTotalTests } = JSON.parse(readFileSync(report, "utf8"));
  if (numTotalTests === 0) throw new Error(`no test ran:\n${ran.stdout}${ran.stderr}`);
  return testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === "failed").map(({ fullName }) => fullName),
  );
}

const missed = [];
let last;
for (const fault of chosen) {
  const path = join(root, fault.file);
  const before = readFileSync(path, "utf8");
  if (before.split(fault.from).length !== 2) throw new Error(`${fault.name}: its text must be in ${fault.file} once`);
  const restore = () => writeFileSync(path, before);
  const stop = () => {
    restore();
    process.exit(1);
  };
  process.once("SIGINT", stop);
  let found;
  try {
    writeFileSync(
      path,
      before.replace(fault.from, () => fault.to),
    );
    // Build the code of the last fault again without it.
    if (last !== undefined && isRust(last) !== isRust(fault)) build(last);
    build(fault);
    found = failures(fault);
  } finally {
    restore();
    process.off("SIGINT", stop);
  }
  last = fault;
  if (found.length === 0) missed.push(fault.name);
  console.log(`${found.length === 0 ? "MISSED" : "caught"}  ${fault.name}${found.length === 0 ? "" : `: ${found[0]}`}`);
}
if (last !== undefined) build({ name: "the code without faults", file: last.file });
rmSync(work, { recursive: true });
console.log(`${chosen.length - missed.length} of ${chosen.length} faults were caught`);
if (missed.length > 0) process.exit(1);
