// Runs the static checks: `npm run check`. `npm run check -- --rest` also runs those of `npm run test:all`.
import { pathToFileURL } from "node:url";
import { copyTests } from "../integration/langgraph-newest/copy.mjs";
import { root, run, setup, tool } from "./setup.mjs";

const types = (...projects) => {
  for (const project of projects) tool("tsc/bin/tsc", ["-p", root + project, "--noEmit"]);
};

/** Runs the checks for every change. */
export function check() {
  run("cargo", ["fmt", "--check"]);
  run("cargo", ["fmt", "--check", "--manifest-path", `${root}engine/fuzz/Cargo.toml`]);
  run("cargo", ["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]);
  tool("prettier/bin/prettier.cjs", ["--check", "--log-level", "warn", root]);
  run(process.execPath, [`${root}scripts/circles.mjs`]);
  run(process.execPath, [`${root}scripts/names.mjs`]);
  run(process.execPath, [`${root}scripts/api.mjs`]);
  // The build has already checked ts, tools/studio and conformance.
  types(
    "tools/cli",
    "tools/studio/page",
    "__test__",
    "conformance/test",
    ...["ai", "claude-agent-sdk", "deepagents", "langgraph", "mastra", "mcp", "openai-agents", "otel"].map(
      (name) => `integration/${name}`,
    ),
  );
  run(process.execPath, [`${root}scripts/workflows.mjs`]);
  tool("oxlint/bin/oxlint", ["--deny-warnings"]);
}

/** Runs the other checks: the engine without Postgres, Rust's documentation, fuzz targets, types of slow tests. */
export function checkRest() {
  const engine = ["--locked", "--package", "forkpoint-engine"];
  run("cargo", ["clippy", ...engine, "--no-default-features", "--", "-D", "warnings"]);
  run("cargo", ["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"], {
    env: { RUSTDOCFLAGS: "-D warnings" },
  });
  // The target folder of the workspace contains its dependencies.
  run("cargo", [
    "check",
    "--locked",
    "--manifest-path",
    `${root}engine/fuzz/Cargo.toml`,
    "--target-dir",
    `${root}target`,
  ]);
  copyTests();
  types(
    "integration/postgres",
    "integration/runtimes/tsconfig.tests.json",
    "integration/studio",
    "integration/langgraph-newest",
    "site",
  );
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  setup();
  check();
  if (process.argv.includes("--rest")) checkRest();
}
