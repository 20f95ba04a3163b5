// Runs the tests: `npm test` runs what every change needs, and `npm run test:all` runs the rest too: slow tests, a pool of
// threads, every contract on Postgres, a second LangGraph, other runtimes, bundlers, the studio and the site in a browser, the
// documentation of the Rust code.
// `node scripts/test.mjs --rest` runs only this rest. CI runs both.
// `node scripts/test.mjs --part quick --shard=1/2` runs a part, on one of several machines.
// `npm test -- __test__/hostile.test.ts` runs some tests: all arguments of vitest are allowed.
import { readFileSync, readdirSync } from "node:fs";
import { check, checkRest } from "./check.mjs";
import { keepFilesInMemory } from "./memory.mjs";
import { root, run, setup } from "./setup.mjs";
import { step, slowest, vitest } from "./steps.mjs";

/** The vitest projects for every change. The others belong to the rest. */
const quick = ["forkpoint", "langgraph", "mastra", "deepagents", "otel"];
/** The folders in integration/ with the files of the quick projects. */
const frameworks = [
  "agentos",
  "ai",
  "claude-agent-sdk",
  "deepagents",
  "langgraph",
  "mastra",
  "mcp",
  "openai-agents",
  "otel",
];
/** The projects of the rest, by the part that runs them. */
const rest = {
  postgres: ["postgres", "postgres-contracts"],
  runtimes: ["runtimes", "langgraph-newest"],
  studio: ["studio"],
};

/** Returns a folder's test files, without installed packages, one of which links to this repository. */
function testFiles(folder) {
  return readdirSync(root + folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : testFiles(path);
    return entry.name.endsWith(".test.ts") ? [path] : [];
  });
}

/** Returns the files of the quick projects with this tag. */
function tagged(tag) {
  const files = ["__test__", ...frameworks.map((name) => `integration/${name}`)].flatMap(testFiles);
  return files.filter((file) => readFileSync(root + file, "utf8").includes(`\n// @module-tag ${tag}\n`));
}

const projects = (names) => names.flatMap((name) => ["--project", name]);

/** The backend tests for each version of Postgres. `cargo test` runs all tests on the distribution's version. */
const onVersions = {
  oldest: ["backend_contract::postgres", "model::a_server"],
  newest: ["backend_contract::shared_postgres", "model::a_server"],
};

function onPostgres(version, programs) {
  run("cargo", ["test", "--locked", "--workspace", "--test", "suite", "--", ...onVersions[version]], {
    env: { FORKPOINT_POSTGRES: programs(version) },
  });
}

async function onOtherPostgres() {
  // The server's module needs installed packages.
  const { programs } = await import("../integration/postgres/server.mjs");
  for (const version of Object.keys(onVersions))
    step(`engine: ${version} Postgres`, () => onPostgres(version, programs));
}

/** The parts for every change. They need only the folders of the frameworks. */
const always = {
  check: () => step("check", check),
  engine: () => step("cargo test", () => run("cargo", ["test", "--locked", "--workspace"])),
  quick: (...more) => vitest("quick", ...projects(quick), "--tagsFilter=!slow", ...more),
};

/** The other parts. */
const others = {
  "check-rest": () => step("check the rest", checkRest),
  "engine-versions": onOtherPostgres,
  slow: (...more) => vitest("slow", ...projects(quick), ...tagged("slow"), ...more),
  threads: (...more) => vitest("threads", "--pool=threads", "--project=forkpoint", ...tagged("threads"), ...more),
  site: () => vitest("site", "--project=site"),
};

async function runAll(parts, folders) {
  step("install and build", () => setup({ frameworks: folders }));
  for (const part of Object.values(parts)) await part();
}

/** Runs some parts, because GitHub's machines share them. `more` are arguments of vitest, such as `--shard=1/2`. */
async function runParts(names, more) {
  step("install and build", () => setup());
  for (const name of names) {
    const part = always[name] ?? others[name];
    if (part !== undefined) await part(...more);
    else if (Object.hasOwn(rest, name)) vitest(name, ...projects(rest[name]), ...more);
    else throw new Error(`there is no part ${name}: ${Object.keys({ ...always, ...others, ...rest }).join(", ")}`);
  }
}

keepFilesInMemory();
const given = process.argv.slice(2);
const [which] = given;
if (which === "--part") {
  const [, names, ...more] = given;
  await runParts(names.split(","), more);
  slowest();
} else if (which !== undefined && !["--all", "--rest"].includes(which)) {
  setup(given.some((argument) => argument.includes("integration")) ? {} : { frameworks: [] });
  run(process.execPath, [`${root}node_modules/vitest/vitest.mjs`, "run", ...given]);
} else {
  if (which !== "--rest") await runAll(always, frameworks);
  if (which !== undefined) {
    await runAll(others);
    vitest("rest", ...projects(Object.values(rest).flat()));
  }
  slowest();
}
