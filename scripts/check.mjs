// Runs all static checks: `npm run check`.
import { copyTests } from "../integration/langgraph-newest/copy.mjs";
import { root, run, setup, tool } from "./setup.mjs";

setup();
run("cargo", ["fmt", "--check"]);
run("cargo", ["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]);
run("cargo", ["clippy", "--locked", "--package", "forkpoint-engine", "--no-default-features", "--", "-D", "warnings"]);
run("cargo", ["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"], {
  env: { RUSTDOCFLAGS: "-D warnings" },
});
tool("prettier/bin/prettier.cjs", ["--check", "--log-level", "warn", root]);
run(process.execPath, [`${root}scripts/circles.mjs`]);
run(process.execPath, [`${root}scripts/api.mjs`]);
// The build in `setup` has checked ts and tools/studio.
tool("typescript/bin/tsc", ["-p", `${root}tools/cli`]);
tool("typescript/bin/tsc", ["-p", `${root}tools/studio/page`]);
tool("typescript/bin/tsc", ["-p", `${root}__test__`, "--noEmit"]);
tool("typescript/bin/tsc", ["-p", `${root}integration/langgraph`, "--noEmit"]);
tool("typescript/bin/tsc", ["-p", `${root}integration/otel`, "--noEmit"]);
tool("typescript/bin/tsc", ["-p", `${root}integration/postgres`, "--noEmit"]);
tool("typescript/bin/tsc", ["-p", `${root}integration/runtimes/tsconfig.tests.json`, "--noEmit"]);
tool("typescript/bin/tsc", ["-p", `${root}integration/studio`, "--noEmit"]);
copyTests();
tool("typescript/bin/tsc", ["-p", `${root}integration/langgraph-newest`, "--noEmit"]);
run(process.execPath, [`${root}scripts/workflows.mjs`]);
tool("oxlint/bin/oxlint", ["--deny-warnings"]);
