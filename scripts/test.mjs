// Runs the tests: `npm test` runs what every change needs, and `npm run test:all` runs the rest too: slow tests, a pool of
// threads, every contract on Postgres, a second LangGraph, other runtimes, bundlers, the studio and the site in a browser, the
// documentation of the Rust code.
// `node scripts/test.mjs --rest` runs only this rest. `--third` runs one third of the slow tests and of the servers' and the
// browser's: the commit tells which. CI does, and FORKPOINT_TEST_THIRD=1, 2 or 3 selects the third.
// `npm test -- __test__/hostile.test.ts` runs some tests: all arguments of vitest are allowed.
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { check, checkRest } from "./check.mjs";
import { keepFilesInMemory } from "./memory.mjs";
import { root, run, setup } from "./setup.mjs";
import { step, slowest, vitest } from "./steps.mjs";

/** The projects of vitest that every change needs. The others belong to the rest. */
const quick = ["forkpoint", "langgraph", "mastra", "otel"];
/** The folders in integration/ with the files of the quick projects. */
const frameworks = ["agentos", "ai", "claude-agent-sdk", "langgraph", "mastra", "openai-agents", "otel"];
const rest = ["postgres", "postgres-contracts", "runtimes", "langgraph-newest", "studio"];

/** Returns the test files in a folder and its folders. Installed packages are left out: one of them links to this repository. */
function testFiles(folder) {
  return readdirSync(root + folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : testFiles(path);
    return entry.name.endsWith(".test.ts") ? [path] : [];
  });
}

/** Returns the files of the quick projects that have this tag. */
function tagged(tag) {
  const files = ["__test__", ...frameworks.map((name) => `integration/${name}`)].flatMap(testFiles);
  return files.filter((file) => readFileSync(root + file, "utf8").includes(`\n// @module-tag ${tag}\n`));
}

/** The slow files that every commit runs: the guides, and the package as its users get it. */
const ALWAYS = /\/(docs|package)\.test\.ts$/;

/** Returns the third to run, from 1 to 3, or undefined for all. */
function thirdToRun() {
  if (!given.includes("--third")) return undefined;
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" });
  const third = Number(process.env.FORKPOINT_TEST_THIRD ?? 1 + (Number.parseInt(commit.slice(0, 8), 16) % 3));
  console.log(
    `\nThird ${third} of the slow tests: FORKPOINT_TEST_THIRD=${third} runs it again, and without --third all run.`,
  );
  return third;
}

const projects = (names) => names.flatMap((name) => ["--project", name]);

function runQuick() {
  step("install and build", () => setup({ frameworks }));
  step("check", check);
  step("cargo test", () => run("cargo", ["test", "--locked", "--workspace"]));
  vitest("quick", ...projects(quick), "--tagsFilter=!slow");
}

/** The part of the suite of every backend that runs on a version of Postgres. `cargo test` runs all on the distribution's. */
const onVersions = { oldest: "backend_contract::postgres", newest: "backend_contract::shared_postgres" };

function onPostgres(version, programs) {
  run("cargo", ["test", "--locked", "--workspace", "--test", "suite", "--", onVersions[version]], {
    env: { FORKPOINT_POSTGRES: programs(version) },
  });
}

async function runRest() {
  step("install and build", () => setup());
  step("check the rest", checkRest);
  // The server's module needs installed packages.
  const { programs } = await import("../integration/postgres/server.mjs");
  const third = thirdToRun();
  const isIn = (_, at) => third === undefined || at % 3 === third - 1;
  for (const version of Object.keys(onVersions).filter(isIn))
    step(`engine: ${version} Postgres`, () => onPostgres(version, programs));
  const slow = tagged("slow").toSorted();
  const inTurn = slow.filter((file) => !ALWAYS.test(file)).filter(isIn);
  vitest("slow", ...projects(quick), ...slow.filter((file) => ALWAYS.test(file)), ...inTurn);
  vitest("threads", "--pool=threads", "--project=forkpoint", ...tagged("threads").filter(isIn));
  vitest("site", "--project=site");
  vitest("rest", ...projects(rest), ...(third === undefined ? [] : [`--shard=${third}/3`]));
}

keepFilesInMemory();
const given = process.argv.slice(2);
const [which] = given;
if (which !== undefined && !["--all", "--rest", "--third"].includes(which)) {
  setup(given.some((argument) => argument.includes("integration")) ? {} : { frameworks: [] });
  run(process.execPath, [`${root}node_modules/vitest/vitest.mjs`, "run", ...given]);
} else {
  if (which !== "--rest") runQuick();
  if (which !== undefined) await runRest();
  slowest();
}
