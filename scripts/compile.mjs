// Writes the types of the calls, compiles the TypeScript code, makes the declarations, bundles the tools, and compiles
// the package in conformance/: `node scripts/compile.mjs`.
import { pathToFileURL } from "node:url";
import { bundle } from "./bundle.mjs";
import { writeCalls } from "./calls.mjs";
import { writeModules } from "./modules.mjs";
import { root, tool } from "./setup.mjs";
import { writeTypes } from "./types.mjs";

export async function compile() {
  writeCalls();
  const types = writeTypes();
  await writeModules();
  await bundle();
  tool("tsc/bin/tsc", ["-p", `${root}conformance`]);
  await types;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await compile();
