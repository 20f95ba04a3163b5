// Compiles the TypeScript code, makes the declarations, and bundles the command line and the studio:
// `node scripts/compile.mjs`.
import { pathToFileURL } from "node:url";
import { bundle } from "./bundle.mjs";
import { writeModules } from "./modules.mjs";
import { writeTypes } from "./types.mjs";

export async function compile() {
  const types = writeTypes();
  await writeModules();
  await bundle();
  await types;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await compile();
