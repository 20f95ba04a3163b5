// Runs the tests: `npm test` runs what every change needs, and `npm run test:all` runs the rest too: every contract on
// Postgres, a second LangGraph, other runtimes, bundlers, the studio in a browser, the documentation of the Rust code.
// `node scripts/test.mjs --rest` runs only this rest. `npm test -- __test__/hostile.test.ts` runs some tests: all arguments
// of vitest are allowed.
import { readdirSync } from "node:fs";
import { check, checkRest } from "./check.mjs";
import { root, run, setup } from "./setup.mjs";
import { step, slowest, vitest } from "./steps.mjs";

/** The projects of vitest that every change needs. The others belong to the rest. */
const quick = ["forkpoint", "langgraph", "otel"];
const rest = ["postgres", "postgres-contracts", "runtimes", "langgraph-newest", "studio"];

/** The tests of the package that can differ in a pool of threads. */
function threaded() {
  // Tests that start processes of their own, search at random, or run for a given time tell nothing new there. The list has
  // each file, because `--exclude` has no effect on a project.
  const folders = /^(cli|faults|incremental|studio)\//;
  const names = /\b(copies|crash|docs|examples|exit|kills|large|leases|links|model|package|pressure)\.test\.ts$/;
  const files = readdirSync(`${root}__test__`, { recursive: true }).map((file) => file.replaceAll("\\", "/"));
  return files
    .filter((file) => file.endsWith(".test.ts") && !folders.test(file) && !names.test(file))
    .map((file) => `__test__/${file}`);
}

const projects = (names) => names.flatMap((name) => ["--project", name]);

function runQuick() {
  step("install and build", () => setup({ frameworks: ["agentos", "langgraph", "otel"] }));
  step("check", check);
  step("cargo test", () => run("cargo", ["test", "--locked", "--workspace"]));
  vitest("forks", "--pool=forks", ...projects(quick));
  vitest("threads", "--pool=threads", ...threaded());
}

function runRest() {
  step("install and build", () => setup());
  step("check the rest", checkRest);
  vitest("rest", "--pool=forks", ...projects(rest));
}

const given = process.argv.slice(2);
const [which] = given;
if (which !== undefined && which !== "--all" && which !== "--rest") {
  setup(given.some((argument) => argument.includes("integration")) ? {} : { frameworks: [] });
  run(process.execPath, [`${root}node_modules/vitest/vitest.mjs`, "run", ...given]);
} else {
  if (which !== "--rest") runQuick();
  if (which !== undefined) runRest();
  slowest();
}
