// Builds the addon for this machine and the TypeScript code: `npm run build`.
import { copyFileSync, rmSync } from "node:fs";
import { compile } from "./compile.mjs";
import { here, library } from "./platforms.mjs";
import { root, run } from "./setup.mjs";

run("cargo", ["build", "--release", "--locked", "--lib"]);
const addon = `${root}forkpoint.${here()}.node`;
// Removes the old addon first: overwriting a loaded library would crash the process that uses it.
rmSync(addon, { force: true });
copyFileSync(`${root}target/release/${library(process.platform)}`, addon);
await compile();
