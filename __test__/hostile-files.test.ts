// Every command, and every route of the studio, over every file that an attacker could send. Each ends in time, within its
// memory, and says what is wrong.
// @module-tag slow
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { has } from "./faults/machines.js";
import { folder, windows } from "./helpers.js";
import { build, hostileFiles } from "./hostile-files.js";
import { main } from "./cli/run.js";
import { ask } from "./studio/helpers.js";

/** A process that takes longer is killed. What a read may do is limited in steps, which take longer on a busy machine. */
const DEADLINE = 30_000;
/** The most memory of a process, in KiB: the largest resident set that the system has seen. */
const MEMORY = 512 * 1_024;
/** The most bytes that a command writes. */
const OUTPUT = 512 * 2 ** 20;

const store = fileURLToPath(new URL("fixtures/hostile-store.mjs", import.meta.url));
const peak = fileURLToPath(new URL("fixtures/peak.cjs", import.meta.url));

/** The run that most of the files have. */
const RUN = "run-1";

/** Whether every command reads every file: `npm run test:faults`. */
const isLong = process.env["FORKPOINT_TEST_HOSTILE"] === "all";

/** The commands that only read, or only show what they would do. */
const commands: string[][] = [
  ["ls"],
  ["--json", "ls", "--all-ns"],
  ["show", RUN],
  ["show", RUN, "--tree"],
  ["get", RUN],
  ["--json", "get", RUN],
  ["get", RUN, "--path", "scratch"],
  ["get", RUN, "--step", "0"],
  ["get", RUN, "--step", "30"],
  ["diff", RUN],
  ["tail", "--no-follow"],
  ["stats"],
  ["doctor"],
  ["verify"],
  ["--json", "verify", "--repair-plan"],
  ["fork", RUN, "--dry-run", "--set", "scratch.n=1"],
  ["fork", RUN, "--dry-run"],
  ["prune", "--keep-last", "1", "--dry-run"],
  ["rm", RUN, "--dry-run"],
  ["export", "--out", "OUT/text"],
  ["copy", "--to", "OUT/copy.db"],
  ["backup", "OUT/backup.db"],
];

/**
 * The commands of the short form, for files that can be opened, and for those that are refused or differ in their header.
 * Each file is read by some of them: the next file gets the next ones.
 */
const short = ["get", "--json get", "ls", "diff", "export", "verify", "fork --dry-run --set"];
const few = ["ls", "get", "verify"];
const rotated = (begins: string[], by: number, count: number): string[] =>
  Array.from({ length: count }, (_, n) => begins[(by + n) % begins.length]!);

const commandsOf = (begins: string[]): string[][] =>
  begins.map((begin) =>
    commands.find((words) =>
      words
        .filter((word) => word !== RUN)
        .join(" ")
        .startsWith(begin),
    )!,
  );

interface Outcome {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  ms: number;
  /** In KiB. */
  memory: number;
}

let processes = 0;

/** Runs a program of Node.js. It is killed at the deadline. */
async function run(args: string[], cwd: string): Promise<Outcome> {
  const memory = join(cwd, `peak-${(processes += 1)}`);
  const { NO_COLOR: _, FORCE_COLOR: __, FORKPOINT_URL: ___, ...env } = process.env;
  const began = performance.now();
  const child = spawn(process.execPath, ["--max-old-space-size=256", "--require", peak, ...args], {
    cwd,
    env: { ...env, NODE_OPTIONS: "", FORKPOINT_PEAK: memory },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const deadline = setTimeout(() => child.kill("SIGKILL"), DEADLINE);
  const out = { stdout: "", stderr: "" };
  const written = { stdout: 0, stderr: 0 };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      written[name] += text.length;
      if (out[name].length < 2 ** 20) out[name] += text;
      if (written[name] > OUTPUT) child.kill("SIGKILL");
    });
  }
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve([code, signal]));
  });
  clearTimeout(deadline);
  const ms = Math.round(performance.now() - began);
  return {
    code,
    signal,
    ...out,
    ms,
    memory: existsSync(memory) ? Number(readFileSync(memory, "utf8")) : Infinity,
  };
}

/** Expects that a process has ended by itself, in its limits and with a message. */
function expectEnded(what: string, { code, signal, stderr, ms, memory }: Outcome): void {
  const begin = stderr.slice(0, 400);
  const told = `${what}: ${ms} ms, ${Math.round(memory / 1_024)} MiB, ${begin}`;
  expect({ signal, ended: code !== null && code <= 5 }, told).toEqual({ signal: null, ended: true });
  expect(memory, told).toBeLessThan(MEMORY);
  expect(begin, told).not.toMatch(/bug in forkpoint|INTERNAL|panicked/);
  expect(stderr.length, told).toBeLessThan(200_000);
  if (code! >= 2) expect(begin, told).toMatch(/error: \S|"error":\{/);
}

/** Runs two at a time. */
async function inPairs<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all([worker(), worker()]);
}

const routes = [
  "info",
  "runs?withBytes=1",
  `run?space=agentos&run=${RUN}`,
  `checkpoint?space=agentos&run=${RUN}&depth=100&items=10000`,
  `checkpoint?space=tinyagents&run=${RUN}&ns=`,
  `raw?space=agentos&run=${RUN}`,
  `search?space=agentos&run=${RUN}&text=text`,
  `diff?space=agentos&run=${RUN}`,
  "stats",
  "activity",
];

/** Starts a studio in a process of its own, and asks every route. */
async function studio(path: string, name: string): Promise<void> {
  const child = spawn(
    process.execPath,
    ["--max-old-space-size=256", main, "studio", "--json", "--no-open", "--port", "0", "--db", path],
    {
      env: { ...process.env, NODE_OPTIONS: "" },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const out = { stdout: "", stderr: "" };
  for (const each of ["stdout", "stderr"] as const)
    child[each].setEncoding("utf8").on("data", (text: string) => (out[each] += text));
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  const late = setTimeout(() => child.kill("SIGKILL"), DEADLINE);
  try {
    while (!out.stdout.includes("\n")) {
      const code = await Promise.race([ended, new Promise<undefined>((resolve) => setTimeout(resolve, 20, undefined))]);
      if (code === undefined) continue;
      clearTimeout(late);
      // The studio refuses the file.
      expect({ code, error: JSON.parse(out.stderr).error.code }, name).toEqual({
        code: expect.any(Number),
        error: expect.any(String),
      });
      return;
    }
    clearTimeout(late);
    const { url, port } = JSON.parse(out.stdout) as { url: string; port: number };
    const authorization = `Bearer ${url.slice(url.indexOf("#token=") + 7)}`;
    for (const route of routes) {
      const began = performance.now();
      const asked = ask(port, `/api/v1/${route}`, { headers: { authorization } });
      const answer = await Promise.race([asked, new Promise<null>((resolve) => setTimeout(resolve, DEADLINE, null))]);
      const told = `${name}: ${route}: ${Math.round(performance.now() - began)} ms ${answer?.text.slice(0, 300)}`;
      expect(answer, told).not.toBeNull();
      expect([200, 400, 404, 410, 422, 500, 503].includes(answer!.status), told).toBe(true);
      if (answer!.status !== 200) expect(JSON.parse(answer!.text).error.code, told).not.toBe("INTERNAL");
      expect(answer!.text.length, told).toBeLessThan(OUTPUT);
    }
    expect(child.exitCode, out.stderr).toBeNull();
    if (process.platform === "linux") {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      const memory = Number(/VmHWM:\s+(\d+) kB/.exec(status)![1]);
      expect(memory, `${name}: studio`).toBeLessThan(MEMORY);
    }
  } finally {
    child.kill("SIGKILL");
  }
}

// SQLite's own tool builds the files.
describe.skipIf(windows || !has("sqlite3"))("a hostile file", { timeout: 600_000 }, () => {
  const names = Object.keys(hostileFiles);
  test.each(names)("%s", async (name) => {
    const place = folder();
    const path = await build(name, place);
    const isRefused = /^a (?:header|file|view|generated|trigger|table|virtual)|^an index/.test(name);
    // The first 34 of these states are valid. A copy writes all of them: 2 GB.
    const isCopied = ([word]: string[]) => name.startsWith("200 deltas") && (word === "export" || word === "copy");
    const at = names.indexOf(name);
    const some = isRefused ? rotated(few, at, 1) : rotated(short, 2 * at, 2);
    const chosen = (isLong ? commands : commandsOf(some)).filter((command) => !isCopied(command));
    await inPairs(chosen, async (command) => {
      const args = command.map((word) => word.replace("OUT", place));
      expectEnded(`${name}: ${command.join(" ")}`, await run([main, ...args, "--db", path], place));
    });
    expectEnded(`${name}: a store`, await run([store, path], place));
    if (isLong || !isRefused) await studio(path, name);
    rmSync(path, { force: true });
  });
});
