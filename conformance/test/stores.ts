// Modules of stores that tests write.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { address } from "./helpers.js";

/** An expectation about which the tests of the suite itself are, and the contract that it belongs to. */
export const contract = "langgraph-store";
export const id = `${contract}/get-missing`;
/** Another one, of another group. */
export const other = `${contract}/search-whole-labels`;

/** Makes a folder for the running test. */
export function folder(): string {
  const made = realpathSync.native(mkdtempSync(join(tmpdir(), "forkpoint-suite-")));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Writes the module of a store: the reference or a mutant, and more code. Returns its path. */
export function store(code = "", mutant?: string): string {
  const path = join(folder(), "store.mjs");
  writeFileSync(path, `export * from ${JSON.stringify(address(contract, mutant).href)};\n${code}`);
  return path;
}
