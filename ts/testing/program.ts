/** Runs a program once in its own process, and kills it at a moment. */

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { nodeArgsFor } from "./loaders.js";
import { type RunnerLink, VARIABLE } from "./runner-link.js";

/**
 * The moment at which a program is killed.
 *
 * - `afterLines`: when it has printed this many lines.
 * - `afterMs`: this many ms after it was started.
 * - `on`: at the `nth` call (default: 1) of these methods of the store that the program wraps with `withFaults(store)`.
 *   The kill follows the call's success or, with `when: "before"`, precedes the call.
 *
 * After a line, a program runs on for a moment, until the signal arrives. At a call, the kill is exact.
 */
export type KillMoment =
  | { afterLines: number }
  | { afterMs: number }
  | { on: string | readonly string[]; nth?: number; when?: "before" | "after" };

/** Returns an integer from `least` to `most`. The same seed gives the same numbers. */
export type RandomNumber = (least: number, most: number) => number;

/** The start options of a program. */
export interface ProgramOptions {
  /** The program's arguments. */
  args?: readonly string[];
  /**
   * Node's own arguments, such as `["--import", "tsx"]`. Their modules are searched from the program's folder and from
   * the current directory. Default: a TypeScript program gets the loaders of this process and of `NODE_OPTIONS`
   * (`--import`, `--require`, `--loader`, `--conditions`, `--experimental-strip-types`), and other programs get none.
   */
  nodeArgs?: readonly string[];
  /**
   * Additional environment variables of the program. It also gets the variables of this process, except `NODE_OPTIONS`,
   * which test runners set for themselves.
   */
  env?: Readonly<Record<string, string>>;
  /** The time limit of each attempt in ms. Default: 30,000. */
  timeoutMs?: number;
  /** Stops the program. The promise then rejects with the signal's reason. */
  signal?: AbortSignal;
}

/** One start of a program, and its end. */
export interface Attempt {
  /** The lines that it printed to its standard output. */
  lines: string[];
  /** The text that it printed to its standard error. */
  stderr: string;
  /** Its exit code. Null if a signal ended it. On Windows, a program that killed itself has the code 1. */
  code: number | null;
  /** The signal that ended it, such as `"SIGKILL"`, or null. */
  signal: string | null;
  /** The moment at which it was killed. Null if it ended by itself. */
  killed: KillMoment | null;
  /** How long it ran, in ms. */
  ms: number;
}

/** How long the runner waits for the remaining output of an ended program, in ms. */
const PIPES_MS = 2_000;

export interface Start {
  program: string;
  cwd: string;
  timeoutMs: number;
  options: ProgramOptions;
}

/** An attempt, and two facts for the runner. */
export interface Ended {
  attempt: Attempt;
  /** True if the time limit ended it. */
  late: boolean;
  /** True if the program called `withFaults(store)`. */
  wrapped: boolean;
}

/** Runs the program until it ends. Rejects only if it cannot be started, or with the reason of the signal. */
export async function runProgram(start: Start, moment: KillMoment | null): Promise<Ended> {
  const folder = mkdtempSync(join(tmpdir(), "forkpoint-runner-"));
  try {
    return await runIn(folder, start, moment);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

async function runIn(folder: string, start: Start, moment: KillMoment | null): Promise<Ended> {
  const { program, cwd, timeoutMs, options } = start;
  const { args = [], nodeArgs, env = {}, signal } = options;
  const record = join(folder, "record");
  const link: RunnerLink = { faults: faultsOf(moment), record };
  const began = performance.now();
  signal?.throwIfAborted();
  const child = spawn(process.execPath, [...nodeArgsFor(program, nodeArgs), program, ...args], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    // Test runners set NODE_OPTIONS for themselves.
    env: { ...process.env, NODE_OPTIONS: "", ...env, [VARIABLE]: JSON.stringify(link) },
  });
  const lines: string[] = [];
  let stderr = "";
  let killed = false;
  let late = false;
  let pipes: NodeJS.Timeout | undefined;
  const kill = () => child.kill("SIGKILL");
  const killNow = () => {
    killed = true;
    kill();
  };
  const limit = setTimeout(() => {
    late = true;
    kill();
  }, timeoutMs);
  const due = moment !== null && "afterMs" in moment ? setTimeout(killNow, moment.afterMs) : undefined;
  const lastLine = moment !== null && "afterLines" in moment ? moment.afterLines : undefined;
  // Kill the program when this process exits.
  process.once("exit", kill);
  signal?.addEventListener("abort", kill, { once: true });
  const output = createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY });
  output.on("line", (line) => {
    lines.push(line);
    if (lines.length === lastLine) killNow();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  try {
    const [code, signalName] = await new Promise<[number | null, string | null]>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (...end) => resolve(end));
      // A child process of the program may keep the pipes open, so close them after a while.
      child.on("exit", () => {
        pipes = setTimeout(() => {
          child.stdout.destroy();
          child.stderr.destroy();
        }, PIPES_MS);
      });
    });
    signal?.throwIfAborted();
    const records = recordsIn(record);
    const killedItself = records.some((one) => one.startsWith("killed "));
    // The signal may arrive when the program has already ended by itself.
    const hit = killedItself || (killed && signalName === "SIGKILL");
    const attempt = {
      lines,
      stderr,
      code,
      signal: signalName,
      killed: hit && !late ? moment : null,
      ms: performance.now() - began,
    };
    return { attempt, late, wrapped: records.includes("wrapped") };
  } finally {
    clearTimeout(limit);
    clearTimeout(due);
    clearTimeout(pipes);
    process.off("exit", kill);
    signal?.removeEventListener("abort", kill);
  }
}

/** Returns the faults with which the program kills itself. */
function faultsOf(moment: KillMoment | null): unknown[] {
  if (moment === null || !("on" in moment)) return [];
  const { on, nth = 1, when = "after" } = moment;
  return [{ on, nth, when, kill: true }];
}

function recordsIn(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch {
    // If the file is missing, the program did not wrap a store.
    return [];
  }
}
