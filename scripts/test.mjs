// Runs the tests: `npm test` runs what every change needs, and `npm run test:all` runs the rest too: slow tests, a pool of
// threads, every contract on Postgres, a second LangGraph, other runtimes, bundlers, the studio and the site in a browser, the
// documentation of the Rust code.
// `node scripts/test.mjs --rest` runs only this rest. CI runs both.
// `npm test -- __test__/hostile.test.ts` runs some tests: all arguments of vitest are allowed.
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
  for (const version of Object.keys(onVersions))
    step(`engine: ${version} Postgres`, () => onPostgres(version, programs));
  vitest("slow", ...projects(quick), ...tagged("slow"));
  vitest("threads", "--pool=threads", "--project=forkpoint", ...tagged("threads"));
  vitest("site", "--project=site");
  vitest("rest", ...projects(rest));
}

keepFilesInMemory();
const given = process.argv.slice(2);
const [which] = given;
if (which !== undefined && !["--all", "--rest"].includes(which)) {
  setup(given.some((argument) => argument.includes("integration")) ? {} : { frameworks: [] });
  run(process.execPath, [`${root}node_modules/vitest/vitest.mjs`, "run", ...given]);
} else {
  if (which !== "--rest") runQuick();
  if (which !== undefined) await runRest();
  slowest();
}
