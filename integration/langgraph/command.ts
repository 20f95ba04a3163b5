/** Runs the command line of the installed package. */

import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect } from "vitest";

const main = join(dirname(createRequire(import.meta.url).resolve("forkpoint/package.json")), "dist/cli/main.js");

/** Runs a command. Without a number of columns, it writes to no terminal. */
export function attempt(
  args: readonly string[],
  columns?: number,
): { status: number | null; stdout: string; stderr: string } {
  const { NO_COLOR: _, FORCE_COLOR: __, COLUMNS: ___, ...env } = process.env;
  return spawnSync(process.execPath, [main, ...args], {
    encoding: "utf8",
    env: { ...env, NODE_OPTIONS: "", FORKPOINT_URL: "", ...(columns !== undefined && { COLUMNS: String(columns) }) },
  });
}

/** Runs a command that must succeed, and returns what it writes. */
export function run(args: readonly string[], columns?: number): { stdout: string; stderr: string } {
  const ended = attempt(args, columns);
  expect({ status: ended.status, stderr: ended.status === 0 ? "" : ended.stderr }).toEqual({ status: 0, stderr: "" });
  return ended;
}

/** Runs a command that must succeed, and returns what it prints. */
export const cli = (...args: string[]): string => run(args).stdout;
