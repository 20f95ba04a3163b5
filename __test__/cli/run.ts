/**
 * Runs the built command line, and makes the databases that it looks into. Most commands run in one process, one after the
 * other. A test of how a process ends, or of its streams, starts a process of its own.
 */
import { type ChildProcess, type ChildProcessWithoutNullStreams, fork, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CheckpointStore, openStore } from "forkpoint";
import { afterAll, expect, onTestFinished } from "vitest";
import { fill } from "../contents.js";
import { checkpoint, fixture, folder } from "../helpers.js";

/** The program that `npx forkpoint` runs. */
export const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** How a process ended, and what it wrote. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** What the process reads from stdin. Default: nothing. */
  input?: string;
}

/** The time in ms after which a process that hangs is stopped. This is not a test of speed. */
const DEADLINE = 45_000;

/** The environment of a process: without what changes the answers. */
export function environment(env: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { NO_COLOR: _, FORCE_COLOR: __, FORKPOINT_URL: ___, COLUMNS: ____, ...others } = process.env;
  return { ...others, NODE_OPTIONS: "", TERM: "xterm-256color", ...env };
}

/** A process that runs. */
export interface Running {
  child: ChildProcessWithoutNullStreams;
  ended: Promise<Ended>;
  /** Resolves when stdout has so many lines, with these lines. */
  lines(count: number): Promise<string[]>;
  /** Resolves when stderr has this text. */
  says(text: string): Promise<void>;
}

/** Starts a program. It is killed if it does not end in time, or when the test ends. */
export function startProgram(program: string, args: readonly string[], options: RunOptions = {}): Running {
  const { cwd, env, input } = options;
  const child = spawn(program, args, { cwd, env: environment(env), stdio: "pipe" });
  const out = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  let late = false;
  const deadline = setTimeout(() => {
    late = true;
    child.kill("SIGKILL");
  }, DEADLINE);
  onTestFinished(() => void child.kill("SIGKILL"));
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      out[name] += text;
      for (const look of waiting) look();
    });
  }
  // A process that ends early closes its stdin.
  child.stdin.on("error", () => {});
  if (input !== undefined) child.stdin.write(input);
  child.stdin.end();
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(deadline);
      if (late) reject(new Error(`${args.join(" ")} did not end by itself: ${JSON.stringify(out)}`));
      else resolve({ code, signal, ...out });
    });
  });
  ended.catch(() => {});
  const until = <T>(found: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const look = () => {
        const value = found();
        if (value === undefined) return;
        waiting.delete(look);
        resolve(value);
      };
      waiting.add(look);
      look();
      ended.then(
        () => reject(new Error(`it ended before: ${JSON.stringify(out)}`)),
        (error: unknown) => reject(error as Error),
      );
    });
  return {
    child,
    ended,
    lines: (count) =>
      until(() => {
        const lines = out.stdout.split("\n").slice(0, -1);
        return lines.length >= count ? lines : undefined;
      }),
    says: async (text) => void (await until(() => out.stderr.includes(text) || undefined)),
  };
}

/** Starts the command line. */
export function start(args: readonly string[], options?: RunOptions): Running {
  return startProgram(process.execPath, [main, ...args], options);
}

/** Runs the command line in a process of its own until it ends. */
export function alone(args: readonly string[], options?: RunOptions): Promise<Ended> {
  return start(args, options).ended;
}

let host: ChildProcess | undefined;
let last: Promise<unknown> = Promise.resolve();

/** Runs a command in the process that runs them all. It must not run another one meanwhile. */
function inHost(args: readonly string[], { cwd, env, input }: RunOptions): Promise<Ended> {
  if (host === undefined) {
    host = fork(fixture("cli-host.cjs"), [main], { cwd: tmpdir(), execArgv: [], env: environment() });
    host.unref();
    host.channel!.unref();
  }
  const child = host;
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      clearTimeout(deadline);
      child.off("message", answered).off("exit", died);
      settle();
    };
    const answered = (ended: unknown) => end(() => resolve(ended as Ended));
    const died = () => {
      host = undefined;
      end(() => reject(new Error(`${args.join(" ")} has ended the process of all commands, or did not end by itself`)));
    };
    const deadline = setTimeout(() => child.kill("SIGKILL"), DEADLINE);
    child.on("message", answered).on("exit", died);
    child.send({ args, cwd, env: environment(env), input });
  });
}

/** Runs the command line until it ends. */
export function cli(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const ended = last.then(() => inHost(args, options));
  last = ended.catch(() => {});
  return ended;
}

/** Runs a command that must succeed, and returns what it writes to stdout. */
export async function answer(args: readonly string[], options?: RunOptions): Promise<string> {
  const { code, stdout, stderr } = await cli(args, options);
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

/** Runs a command with `--json` that must succeed, and returns its document. It has one line and no control characters. */
// oxlint-disable-next-line typescript/no-explicit-any
export async function json(args: readonly string[], options?: RunOptions): Promise<any> {
  const stdout = await answer(["--json", ...args], options);
  expectSafe(stdout);
  expect(stdout.indexOf("\n")).toBe(stdout.length - 1);
  return JSON.parse(stdout);
}

/** Runs a command with `--json` that must fail, and returns its error. Stdout is empty. */
export async function refused(
  args: readonly string[],
  exitCode: number,
  options?: RunOptions,
): Promise<{ code: string; message: string; retryable: boolean }> {
  const { code, stdout, stderr } = await cli(["--json", ...args], options);
  expect({ code, stdout }, stderr).toEqual({ code: exitCode, stdout: "" });
  expect(stderr).toMatch(/^[^\n]*\n$/);
  expectSafe(stderr);
  const { error } = JSON.parse(stderr) as { error: { code: string; message: string; retryable: boolean } };
  return error;
}

/** Control characters, lone surrogates and bidi controls. */
const UNSAFE = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** Expects a text that a terminal can show. */
export function expectSafe(text: string): void {
  expect(text.isWellFormed()).toBe(true);
  expect(UNSAFE.exec(text.replaceAll("\n", ""))).toBeNull();
}

/** Makes a database once for a test file. Returns a function that returns the path of a copy of it. */
export function copies(make: (path: string) => Promise<unknown>): () => Promise<string> {
  let made: Promise<string> | undefined;
  afterAll(async () => {
    if (made !== undefined) rmSync(await made, { recursive: true, force: true, maxRetries: 10 });
  });
  return async () => {
    made ??= (async () => {
      const home = mkdtempSync(join(tmpdir(), "forkpoint-test-"));
      await make(join(home, "agent.db"));
      return home;
    })();
    const copy = folder();
    cpSync(await made, copy, { recursive: true });
    return join(copy, "agent.db");
  };
}

async function fillAt(target: string): Promise<string> {
  const store = await openStore(target);
  await fill(store);
  await store.close();
  return target;
}

/** Makes a database with the data of all contracts. Returns its path. */
export const filled = copies(fillAt);

/** Makes a folder of text files with the data of all contracts. Returns its target. */
export const filledTexts = (): Promise<string> => fillAt(`jsonl:${join(folder(), "runs")}`);

/** Makes a database with one run of AgentOS. Its checkpoints are `<run> 0`, `<run> 1` and so on. */
export async function withRun(run: string, steps: number, path = join(folder(), "agent.db")): Promise<string> {
  const store = new CheckpointStore(path);
  for (let n = 0; n < steps; n++) {
    const state = { ...checkpoint().state, scratch: { n, notes: Array.from({ length: n }, (_, at) => `note ${at}`) } };
    await store.save(checkpoint({ id: `${run} ${n}`, runId: run, timestamp: n, nodeId: `node-${n}`, state }));
  }
  await store.close();
  return path;
}

/** The bytes of a file, as a checksum. */
export function bytesOf(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

/** What a process writes to a terminal, and how it ended. */
export interface Shown {
  code: number | null;
  screen: string;
}

/**
 * Runs the command line in a terminal of its own (`script` of util-linux), in which stdout and stderr are one. Presses
 * the keys when the screen shows the text of `when`.
 */
export async function inTerminal(
  args: readonly string[],
  {
    columns = 100,
    keys,
    when = "Continue?",
    ...options
  }: RunOptions & { columns?: number; keys?: string; when?: string } = {},
): Promise<Shown> {
  const quoted = [process.execPath, main, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  const { cwd, env } = options;
  const child = spawn("script", ["-qec", `stty cols ${columns} rows 40; exec ${quoted}`, "/dev/null"], {
    cwd,
    env: environment(env),
    stdio: "pipe",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const deadline = setTimeout(() => child.kill("SIGKILL"), DEADLINE);
  let screen = "";
  let pressed = keys === undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
    if (pressed || !screen.includes(when)) return;
    pressed = true;
    child.stdin.write(keys!);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  clearTimeout(deadline);
  return { code, screen: screen.replaceAll("\r\n", "\n") };
}
