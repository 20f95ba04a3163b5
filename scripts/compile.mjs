// Compiles the TypeScript code, makes the declarations, and bundles the command line and the studio:
// `node scripts/compile.mjs`.
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { bundle } from "./bundle.mjs";
import { root } from "./setup.mjs";
import { writeTypes } from "./types.mjs";

const timeOf = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Compiles the modules that have changed, each for itself. `writeTypes` checks their types. */
function writeModules() {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile);
  const { options: compilerOptions } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const written = new Set();
  for (const file of readdirSync(`${root}ts`, { recursive: true })) {
    // A module of types has no code.
    if (!/\.m?ts$/.test(file) || /\.d\.ts$|\btypes\.ts$/.test(file)) continue;
    const [source, compiled] = [`${root}ts/${file}`, `${root}dist/${file.replace(/ts$/, "js")}`];
    written.add(resolve(compiled));
    if (timeOf(compiled) > Math.max(timeOf(source), timeOf(`${root}tsconfig.json`))) continue;
    const { outputText } = ts.transpileModule(readFileSync(source, "utf8"), { compilerOptions, fileName: source });
    mkdirSync(dirname(compiled), { recursive: true });
    writeFileSync(compiled, outputText);
  }
  for (const name of readdirSync(`${root}dist`, { recursive: true })) {
    if (/\.m?js$/.test(name) && !/^(?:cli|studio)\b/.test(name) && !written.has(resolve(root, "dist", name)))
      rmSync(`${root}dist/${name}`);
  }
}

export async function compile() {
  const types = writeTypes();
  writeModules();
  await bundle();
  await types;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await compile();
