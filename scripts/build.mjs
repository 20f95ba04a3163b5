// Builds the addon for this machine and the TypeScript code: `npm run build`. The build is quick to make. The addon that
// is measured and released takes minutes: `npm run build -- --release`.
import { copyFileSync, rmSync } from "node:fs";
import { compile } from "./compile.mjs";
import { here, library } from "./platforms.mjs";
import { root, run } from "./setup.mjs";

const release = process.argv.includes("--release");
run("cargo", ["build", "--locked", "--lib", ...(release ? ["--release"] : [])]);
const addon = `${root}forkpoint.${here()}.node`;
// Removes the old addon first: overwriting a loaded library would crash the process that uses it.
rmSync(addon, { force: true });
copyFileSync(`${root}target/${release ? "release" : "debug"}/${library(process.platform)}`, addon);
await compile();
