// Compiles the TypeScript code, writes the declarations for `import` of the entry points that need their own, and bundles
// the command line and the studio: `node scripts/compile.mjs`.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { bundle } from "./bundle.mjs";
import { root, tool } from "./setup.mjs";

/** Returns the modules that a declaration file imports or exports. */
function importsOf(file) {
  return ts.preProcessFile(readFileSync(root + file, "utf8")).importedFiles.map(({ fileName }) => fileName);
}

/** Returns the declaration file at the root that a specifier such as "./index.js" names. */
const declarationsAt = (specifier) => specifier.replace(/^\.\/(.*)\.js$/, "$1.d.ts");

/**
 * Returns true if a declaration file imports another package, directly or through other files. Such a package may
 * declare its classes twice: for `import` and for `require`.
 */
function needsPackage(file, seen = new Set()) {
  if (seen.has(file)) return false;
  seen.add(file);
  return importsOf(file).some(
    (specifier) => !specifier.startsWith(".") || needsPackage(declarationsAt(specifier), seen),
  );
}

/**
 * Writes the declarations for `import` into dist. The declarations at the root are those for `require`. A copy in an
 * .mts file has the classes that another package declares for `import`. All other declarations exist only once, so that
 * their types are the same for both.
 */
function writeForImport(file, written = new Set()) {
  if (written.has(file)) return;
  written.add(file);
  let text = readFileSync(root + file, "utf8");
  for (const specifier of importsOf(file).filter((each) => each.startsWith("."))) {
    const copied = needsPackage(declarationsAt(specifier));
    if (copied) writeForImport(declarationsAt(specifier), written);
    text = text.replaceAll(`"${specifier}"`, copied ? `"${specifier.replace(/js$/, "mjs")}"` : `".${specifier}"`);
  }
  writeFileSync(`${root}dist/${basename(file, ".ts")}.mts`, text);
}

export async function compile() {
  rmSync(`${root}dist`, { recursive: true, force: true });
  tool("typescript/bin/tsc", ["-p", root]);
  const { exports } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  for (const { types, import: forImport } of Object.values(exports)) {
    if (forImport?.types !== undefined) writeForImport(types.slice(2));
  }
  await bundle();
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await compile();
