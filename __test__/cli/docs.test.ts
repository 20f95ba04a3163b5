// Tests docs/cli.md: every command that it shows runs in order, and prints what it says. Times, sizes, new ids and the
// width of columns differ.
// @module-tag slow
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { windows } from "../helpers.js";
import { makeExample } from "./example.js";
import { main } from "./run.js";

const text = readFileSync(new URL("../../docs/cli.md", import.meta.url), "utf8");

/** A command of the document, and what it prints there. */
interface Example {
  command: string;
  printed: string[];
}

const examples: Example[] = [];
for (const [, block] of text.matchAll(/^```console\n([^]*?)^```$/gm)) {
  for (const line of block!.trimEnd().split("\n")) {
    if (line.startsWith("$ ")) examples.push({ command: line.slice(2), printed: [] });
    else examples.at(-1)!.printed.push(line);
  }
}

const folder = realpathSync(mkdtempSync(join(tmpdir(), "forkpoint-cli-docs-")));
const cwd = join(folder, "agent");

beforeAll(async () => {
  for (const path of [cwd, join(cwd, "backups"), join(folder, "bin")]) mkdirSync(path, { recursive: true });
  const npx = `#!/bin/sh\n[ "$1" = forkpoint ] || exit 99\nshift\nexec "${process.execPath}" "${main}" "$@"\n`;
  writeFileSync(join(folder, "bin", "npx"), npx, { mode: 0o755 });
  await makeExample(join(cwd, "agent.db"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a line of the document in a shell. Returns what a terminal would show. */
function run(command: string): string[] {
  const { NO_COLOR: _, FORCE_COLOR: __, ...env } = process.env;
  const PATH = [join(folder, "bin"), env["PATH"]].join(delimiter);
  const { stdout } = spawnSync("sh", ["-c", `{ ${command}\n} 2>&1`], {
    cwd,
    encoding: "utf8",
    env: { ...env, PATH, FORKPOINT_URL: "agent.db", NODE_OPTIONS: "" },
  });
  return stdout === "" ? [] : stdout.trimEnd().split("\n");
}

/** Replaces what differs from one run to the next. */
function shapeOf(line: string): string {
  return line
    .replaceAll(folder, "/home/me")
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "<time>")
    .replaceAll(/just now|\d+ (ms|s|min|h) ago/g, "<ago>")
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<new id>")
    .replaceAll(/-?\d+(\.\d)? [KMG]?B\b/g, "<size>")
    .replaceAll(/\d+(\.\d)? to 1/g, "<ratio>")
    .replaceAll(/"(began|active|savedAt|at|logical|stored|chain|before|after)":-?\d+/g, '"$1":0')
    .replaceAll(/ {2,}/g, " ");
}

describe.skipIf(windows)("docs/cli.md", () => {
  test("has an example of each command", () => {
    const help = spawnSync(process.execPath, [main, "--help"], { encoding: "utf8" }).stdout;
    const names = [...help.matchAll(/^ {2}([a-z]+) (?:\[options\]|<shell>)/gm)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(17);
    for (const name of names) {
      expect(text).toContain(`\`${name}`);
      // The studio does not end by itself. Its own guide is tested elsewhere.
      if (name !== "studio") expect(examples.some(({ command }) => command.includes(`forkpoint ${name}`))).toBe(true);
    }
  });

  test.each(examples)("$command", ({ command, printed }) => {
    const lines = run(command);
    // A line that is cut ends in "…", and says how the line begins.
    const cut = (line: string, at: number) => {
      const said = printed[at];
      return said?.endsWith("…") === true ? `${shapeOf(line).slice(0, shapeOf(said).length - 1)}…` : shapeOf(line);
    };
    expect(lines.map(cut)).toEqual(printed.map(shapeOf));
  });
});
