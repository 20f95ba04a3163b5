// Writes ts/bridge/calls.generated.ts, the types of the calls' fields and responses: `node scripts/calls.mjs`.
// scripts/compile.mjs runs it first. The types are in a development build of the addon, made from the engine's Rust types.
import { existsSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { here, library } from "./platforms.mjs";
import { root, run } from "./setup.mjs";

const file = `${root}ts/bridge/calls.generated.ts`;

/** Returns the types from an addon. Undefined: the addon is missing, or is a release build. */
function typesIn(addon) {
  if (!existsSync(addon)) return undefined;
  const module = { exports: {} };
  process.dlopen(module, addon);
  return module.exports.callTypes?.();
}

/** Returns true if the file exists and no file of the engine has changed since. */
function isCurrent() {
  if (!existsSync(file)) return false;
  const written = statSync(file).mtimeMs;
  const sources = readdirSync(`${root}engine/src`, { recursive: true }).filter((name) => name.endsWith(".rs"));
  return sources.every((name) => statSync(join(root, "engine/src", name)).mtimeMs <= written);
}

/** Writes the file. Without a development build of the addon, keeps a current file or makes such a build. */
export function writeCalls() {
  let types = typesIn(`${root}forkpoint.${here()}.node`);
  if (types === undefined) {
    if (isCurrent()) return;
    console.log("\nts/bridge/calls.generated.ts is missing or outdated. A development build of the engine makes it:");
    run("cargo", ["build", "--locked", "--lib", "--target-dir", "target"]);
    types = typesIn(`${root}target/debug/${library(process.platform)}`);
  }
  if (existsSync(file) && readFileSync(file, "utf8") === types) return utimesSync(file, new Date(), new Date());
  writeFileSync(file, types);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) writeCalls();
