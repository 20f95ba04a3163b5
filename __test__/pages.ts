// Runs the code of the README and the guides as their readers do, and compares what it prints with what the page says.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { windows } from "./helpers.js";
import { type Command, type Page, type Snippet, type Suite, pages } from "./snippets.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const cli = join(root, "dist/cli/main.js");

/** Pages whose code ends only when it is stopped, and the test that runs it. Here it is compiled only. */
export const elsewhere = new Map([
  ["docs/studio.md", "__test__/studio/docs.test.ts: the studio serves until it is ended"],
]);

export interface PageOptions {
  /** Fills the folder in which a page's commands run, before the first one. By page. */
  prepare?: Record<string, (cwd: string) => Promise<void> | void>;
  /** Variables of a program's environment. Called for each page, and for each snippet that runs alone. */
  env?: () => Record<string, string>;
  /** The pages whose code runs. That of the others is compiled only. Default: all pages. */
  runs?: readonly string[] | undefined;
}

/** Writes a `ts` block under a name, as TypeScript and as the JavaScript that runs. */
export function write(code: string, path: string): void {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  writeFileSync(`${path}.mts`, code);
  // tsx runs the files that the code names as `.mts`. Node runs what they are compiled to.
  const { outputText } = ts.transpileModule(code, { compilerOptions });
  writeFileSync(`${path}.mjs`, outputText.replaceAll(/"([\w.-]+)\.mts"/g, '"$1.mjs"'));
}

/** Compiles TypeScript files under strict, and returns the compiler's problems. */
export function problemsOf(files: readonly string[]): string[] {
  if (files.length === 0) return [];
  // The options of docs/running-examples.md.
  const flags = "--strict --noEmit --skipLibCheck --ignoreConfig --pretty false --module nodenext --target esnext";
  const options = [...flags.split(" "), "--types", "node"];
  const typeRoots = ["--typeRoots", join(root, "node_modules/@types")];
  const compiler = [join(root, "node_modules/tsc/bin/tsc"), ...options, ...typeRoots, ...files];
  const { status, stdout, stderr } = spawnSync(process.execPath, compiler, { encoding: "utf8" });
  return status === 0 ? [] : [stdout, stderr];
}

/** Replaces what differs from one run to the next: times, sizes, new ids, processes, the width of columns. */
export function shapeOf(line: string): string {
  return line
    .replaceAll(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+Z)?/g, "<time>")
    .replaceAll(/just now|\d+ (ms|s|min|h) ago/g, "<ago>")
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<new id>")
    .replaceAll(/-?\d+(\.\d+)? ([KMG]i?)?B\b/g, "<size>")
    .replaceAll(/\d+(\.\d+)? (ms|µs)\b/g, "<duration>")
    .replaceAll(/\d+(\.\d)? to 1/g, "<ratio>")
    .replaceAll(/\bprocess \d+/g, "process <pid>")
    .replaceAll(/"(began|active|savedAt|at|logical|stored|chain|before|after)":-?\d+/g, '"$1":0')
    .replaceAll(/ {2,}/g, " ");
}

/**
 * Compares what a program printed with what a page says. A said line that ends in "…" says how the line begins. A line
 * that is only "…" stands for any lines.
 */
export function expectShown(output: string, said: readonly string[]): void {
  const lines = output.trimEnd() === "" ? [] : output.trimEnd().split("\n").map(shapeOf);
  const shown: string[] = [];
  for (let at = 0; at < said.length; at++) {
    const line = shapeOf(said[at]!);
    if (line === "…") {
      const next = said[at + 1];
      const until = next === undefined ? lines.length : lines.findIndex((one) => fits(one, shapeOf(next)));
      lines.splice(0, Math.max(until, 0));
      shown.push("…");
    } else if (lines.length > 0) {
      const actual = lines.shift()!;
      shown.push(fits(actual, line) ? line : actual);
    }
  }
  expect([...shown, ...lines]).toEqual(said.map(shapeOf));
}

const fits = (line: string, said: string) =>
  said.endsWith("…") ? line.startsWith(said.slice(0, -1).trimEnd()) : line === said;

/** Returns the named blocks of a page that a block imports, also through other ones. */
function importsOf(page: Page, code: string, found = new Set<Snippet>()): Set<Snippet> {
  for (const step of page.steps) {
    if (step.kind !== "snippet" || step.file === undefined || found.has(step)) continue;
    if (!code.includes(`"./${step.file.replace(/\.mts$/, ".mjs")}"`)) continue;
    found.add(step);
    importsOf(page, step.code, found);
  }
  return found;
}

/** What Postgres' test server and Node say about themselves. */
const NOISE = /^.*(NOT_DURABLE|--trace-warnings|ExperimentalWarning).*\n/gm;

/** Registers tests of all code that a suite can run. `base` is a folder of a project that has the packages installed. */
export function testPages(suite: Suite, base: URL, { prepare = {}, env = () => ({}), runs }: PageOptions = {}): void {
  // Inside the project, so that the programs find its packages.
  const place = mkdtempSync(fileURLToPath(new URL("./.snippets-", base)));
  const bin = join(place, "bin");
  // As a terminal of the reader finds them: the package's command, and tsx, for which the test has compiled the files.
  const npx = `#!/bin/sh
name="$1"; shift
if [ "$name" = forkpoint ]; then exec "${process.execPath}" "${cli}" "$@"; fi
[ "$name" = tsx ] || { echo "npx $name: not in the tests" >&2; exit 99; }
for word; do shift; set -- "$@" "$(echo "$word" | sed 's/\\.mts$/.mjs/')"; done
exec "${process.execPath}" "$@"
`;

  beforeAll(() => {
    mkdirSync(bin);
    writeFileSync(join(bin, "npx"), npx, { mode: 0o755 });
  });

  afterAll(() => rmSync(place, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));

  const { NO_COLOR: _, FORCE_COLOR: __, ...environment } = process.env;
  const PATH = [bin, environment["PATH"]].join(delimiter);
  const variables = (more: Record<string, string>) => ({ ...environment, PATH, NODE_OPTIONS: "", ...more });

  for (const page of pages) {
    const mine = page.steps.filter((step) =>
      step.kind === "command" || step.file !== undefined ? page.suite === suite : step.suite === suite,
    );
    if (mine.length === 0) continue;
    describe(page.path, () => testPage(page, mine));
  }

  function testPage(page: Page, steps: Page["steps"]): void {
    const cwd = join(place, page.path.replaceAll(/\W+/g, "-"));
    const snippets = steps.filter((step) => step.kind === "snippet");
    let made = 0;
    let shared: Record<string, string>;

    beforeAll(async () => {
      mkdirSync(cwd);
      await prepare[page.path]?.(cwd);
      // All commands of the page use the same variables, such as a database. What a test makes is removed when it ends.
      shared = steps.some(({ kind }) => kind === "command") ? env() : {};
    });

    test("compiles under strict", { timeout: 120_000 }, () => {
      // A page may save another version of a file under the same name.
      const folders: string[] = [];
      const files: string[] = [];
      // A block of this suite may import a file whose own suite is another one.
      const all = new Set(snippets);
      for (const { code } of snippets) importsOf(page, code, all);
      for (const { code, file, name } of all) {
        const as = file?.replace(/\.mts$/, "") ?? name.replaceAll(/\W+/g, "-");
        let n = 0;
        while (files.includes(join(cwd, `compiled-${n}`, `${as}.mts`))) n += 1;
        const folder = join(cwd, `compiled-${n}`);
        mkdirSync(folder, { recursive: true });
        folders.push(folder);
        write(code, join(folder, as));
        files.push(join(folder, `${as}.mts`));
      }
      expect(problemsOf(files)).toEqual([]);
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    });

    const isCompiledOnly = elsewhere.has(page.path) || runs?.includes(page.path) === false;
    const saved: Snippet[] = [];
    for (const step of isCompiledOnly ? [] : steps) {
      const files = [...saved];
      if (step.kind === "snippet" && step.file !== undefined) saved.push(step);
      else register(step, files);
    }

    /** Registers the test of a command, or of a snippet that runs alone. `files` are those that the page has saved before. */
    function register(step: Snippet | Command, files: readonly Snippet[]): void {
      const title = step.kind === "command" ? `$ ${step.command}` : `runs, and prints what it says: ${step.name}`;
      test.skipIf(windows && step.kind === "command")(title, { timeout: 180_000 }, () =>
        step.kind === "command" ? runCommand(step, files) : runAlone(step),
      );
    }

    async function runAlone(snippet: Snippet): Promise<void> {
      const folder = join(cwd, `alone-${(made += 1)}`);
      mkdirSync(folder);
      await prepare[page.path]?.(folder);
      // Other blocks of the page may be modules that this one imports.
      for (const { file, code } of importsOf(page, snippet.code)) write(code, join(folder, basename(file!, ".mts")));
      write(snippet.code, join(folder, "snippet"));
      const { status, stdout, stderr } = spawnSync(process.execPath, ["snippet.mjs"], {
        cwd: folder,
        encoding: "utf8",
        env: variables(env()),
        timeout: 55_000,
        killSignal: "SIGKILL",
      });
      expect({ status, stderr: stderr.replaceAll(NOISE, "") }).toEqual({ status: 0, stderr: "" });
      expectShown(stdout, snippet.printed ?? []);
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    }

    /** Runs a line of the page in a shell, and compares what a terminal would show. */
    async function runCommand({ command, printed, interrupted }: Command, files: readonly Snippet[]): Promise<void> {
      for (const { code, file } of files) write(code, join(cwd, basename(file!, ".mts")));
      const child = spawn("sh", ["-c", `{ ${command}\n} 2>&1`], {
        cwd,
        env: variables({ FORKPOINT_URL: "agent.db", ...shared }),
        stdio: ["ignore", "pipe", "ignore"],
        detached: true,
      });
      let output = "";
      child.stdout.setEncoding("utf8");
      const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
      const enough = new Promise<void>((resolve) => {
        child.stdout.on("data", (text: string) => {
          output += text;
          if (interrupted && output.split("\n").length > printed.length) resolve();
        });
      });
      const timer = setTimeout(() => process.kill(-child.pid!, "SIGKILL"), 170_000);
      if (interrupted) {
        await Promise.race([enough, ended]);
        // Ctrl-C reaches all processes of the terminal.
        if (child.exitCode === null) process.kill(-child.pid!, "SIGINT");
      }
      await ended;
      clearTimeout(timer);
      expectShown(output.replaceAll(NOISE, "").replaceAll(cwd, "/home/me/agent"), printed);
    }
  }
}
