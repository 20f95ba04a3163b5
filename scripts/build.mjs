// Builds the addon for this machine and the TypeScript side: `npm run build`. Does only what has changed.
import { copyFileSync, rmSync } from "node:fs";
import { here, library } from "./platforms.mjs";
import { root, run, tool } from "./setup.mjs";

run("cargo", ["build", "--release", "--locked", "--lib"]);
const addon = `${root}forkpoint.${here()}.node`;
// Removed first: overwriting a library that a process has loaded would crash that process.
rmSync(addon, { force: true });
copyFileSync(`${root}target/release/${library(process.platform)}`, addon);
rmSync(`${root}dist`, { recursive: true, force: true });
tool("typescript/bin/tsc", ["-p", root]);
