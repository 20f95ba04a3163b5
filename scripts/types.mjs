// Makes the declarations of the package from the source: a file in dist/types for each entry point.
import { spawn } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { once } from "node:events";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";
import { root } from "./setup.mjs";

/** The folder for tsc's declarations of each module. They are kept, so that tsc checks only later changes. */
const modules = `${root}.types`;

/** Checks the code and writes the declarations of each module. Ends the process if the code has an error. */
async function check() {
  const tsc = `${root}node_modules/tsc/bin/tsc`;
  const child = spawn(process.execPath, [tsc, "-p", `${root}tsconfig.types.json`, "--pretty"], { stdio: "inherit" });
  const [status] = await once(child, "exit");
  if (status !== 0) process.exit(1);
}

/** Returns the modules of the entry points, by the names of their declaration files. */
function entries() {
  const { exports } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  const found = Object.values(exports).flatMap(({ types, default: code }) => {
    if (types === undefined) return [];
    const module = code.replace("./dist/", code.startsWith("./dist/studio/") ? "tools/" : "ts/").replace(/\.js$/, "");
    // If the class of an entry point is made at run time, another module declares it.
    const declared = `${modules}/${module.replace(/index$/, "types")}.d.ts`;
    const name = types.replace(/^.*\/(.*)\.d\.ts$/, "$1");
    return [[name, existsSync(declared) ? declared : `${modules}/${module}.d.ts`]];
  });
  return Object.fromEntries(found);
}

/** Removes the first comment of a module, which an editor would otherwise show with a declaration. */
const withoutHeaders = {
  name: "without-headers",
  transform: (code) => code.replace(/^\/\*\*(?:(?!\*\/)[^])*\*\/\s*(?=\/\*\*|import\b|export (?:type )?[{*])/, ""),
};

/** Returns the file for code that several entry points share. It is declared once, so that it is one type. */
function chunkOf(id) {
  if (/\/ts\/(?:bridge|store|contracts\/shared|contracts\/registry\.)/.test(id)) return "shared";
  return /\/ts\/(?:plugin\/|inspect\/(?!copy|index\.))/.test(id) ? "inspector" : undefined;
}

/** Writes the declarations, without internals: code that no entry point exports, and code marked `@internal`. */
export async function writeTypes() {
  await check();
  const rolled = await rollup({
    input: entries(),
    external: /^(?![./])/,
    plugins: [withoutHeaders, dts()],
    onLog: (level, { message }) => {
      throw new Error(`${level}: ${message}`);
    },
  });
  rmSync(`${root}dist/types`, { recursive: true, force: true });
  await rolled.write({
    dir: `${root}dist/types`,
    entryFileNames: "[name].d.ts",
    chunkFileNames: "[name].d.ts",
    manualChunks: chunkOf,
    minifyInternalExports: false,
  });
  // LangGraph has different classes for `import` and for `require`. The copy imports those for `import`.
  for (const name of ["langgraph", "mastra"])
    copyFileSync(`${root}dist/types/${name}.d.ts`, `${root}dist/types/${name}.d.mts`);
}
