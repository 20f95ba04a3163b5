// Builds the addon for this machine and the TypeScript code: `npm run build`. The build is quick to make. The addon that
// is measured and released takes minutes: `npm run build -- --release`.
import { copyFileSync, rmSync } from "node:fs";
import { compile } from "./compile.mjs";
import { here, library } from "./platforms.mjs";
import { root, run } from "./setup.mjs";

const release = process.argv.includes("--release");
const addon = `${root}forkpoint.${here()}.node`;
// Another machine may have built it: see .github/workflows/ci.yml.
if (process.env["FORKPOINT_BUILT"] === undefined) {
  run("cargo", ["build", "--locked", "--lib", ...(release ? ["--release"] : [])]);
  // Removes the old addon first: overwriting a loaded library would crash the process that uses it.
  rmSync(addon, { force: true });
  copyFileSync(`${root}target/${release ? "release" : "debug"}/${library(process.platform)}`, addon);
}
await compile();
