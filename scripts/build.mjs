// Builds the addon for this machine and the TypeScript code: `npm run build`. This build is quick. The measured and
// released addon takes minutes: `npm run build -- --release`.
import { copyFileSync, rmSync } from "node:fs";
import { compile } from "./compile.mjs";
import { here, library } from "./platforms.mjs";
import { root, run } from "./setup.mjs";

const release = process.argv.includes("--release");
const addon = `${root}forkpoint.${here()}.node`;
// The addon may come from another machine: see .github/workflows/ci.yml.
if (process.env["FORKPOINT_BUILT"] === undefined) {
  run("cargo", ["build", "--locked", "--lib", "--target-dir", "target", ...(release ? ["--release"] : [])]);
  // First remove the old addon: overwriting a loaded library would crash its process.
  rmSync(addon, { force: true });
  copyFileSync(`${root}target/${release ? "release" : "debug"}/${library(process.platform)}`, addon);
}
await compile();
