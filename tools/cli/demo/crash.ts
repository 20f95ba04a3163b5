/** Runs the demo's agent in a process, and kills the process during a step. */

import { spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { ForkpointError } from "../../../ts/bridge/errors.js";
import type { ErrorCode } from "../../../ts/bridge/forkpoint-error.js";
import type { StepEvent } from "./agent.js";

/** How long the last step would take without the kill, in ms. */
export const ENDLESS = 60_000;

/** The time that a Ctrl-C may take to be handled, in ms. */
const GRACE = 300;

export interface CrashOptions {
  /** The database. */
  path: string;
  runId: string;
  /** The step during which the process is killed. */
  step: string;
  /** The duration of each earlier step, and the time before the kill in the killed step, in ms. */
  pace: { step: number; killAfter: number };
  signal: AbortSignal;
  /** Called when the process has started. */
  onStart(pid: number): Promise<void>;
  /** Called for the events of its steps. */
  onEvent(event: StepEvent): Promise<void>;
}

/** Runs the agent in a separate process, and kills it. Returns the signal that ended the process. */
export async function crash(options: CrashOptions): Promise<NodeJS.Signals> {
  const { path, runId, step, pace, signal, onStart, onEvent } = options;
  signal.throwIfAborted();
  const args = ["demo-agent", "--json", resolve(path), runId, step, String(pace.step)];
  // The process ends when its stdin ends, so it never outlives this process.
  const child = spawn(process.execPath, [join(__dirname, "main.js"), ...args], { stdio: "pipe", windowsHide: true });
  const kill = () => child.kill("SIGKILL");
  const ended = new Promise<[code: number | null, signal: NodeJS.Signals | null]>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (...end) => resolve(end));
  });
  ended.catch(() => {});
  child.stdin.on("error", () => {});
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  process.once("exit", kill);
  signal.addEventListener("abort", kill, { once: true });
  let reached = false;
  try {
    if (child.pid !== undefined) await onStart(child.pid);
    for await (const line of createInterface(child.stdout)) {
      const event = JSON.parse(line) as StepEvent;
      await onEvent(event);
      if (event.at !== "started" || event.step !== step) continue;
      reached = true;
      await sleep(pace.killAfter, undefined, { signal }).catch(() => {});
      kill();
    }
    const [code, by] = await ended;
    // Ctrl-C reaches both processes, and may end the child before this process handles it.
    if (by !== "SIGKILL") await sleep(GRACE, undefined, { signal }).catch(() => {});
    signal.throwIfAborted();
    if (by !== "SIGKILL" || !reached) throw failureOf(stderr, code, by);
    return by;
  } finally {
    kill();
    await ended.catch(() => {});
    process.off("exit", kill);
    signal.removeEventListener("abort", kill);
  }
}

/** Makes the error of a process that ended before the kill. With `--json`, its error is a line of stderr. */
function failureOf(stderr: string, code: number | null, by: string | null): ForkpointError {
  const what = "the process of the demo's agent failed";
  try {
    const { error } = JSON.parse(stderr.trimEnd().split("\n").at(-1)!) as {
      error: { code: ErrorCode; message: string };
    };
    return new ForkpointError(error.code, `${what}: ${error.message}`);
  } catch {
    return new ForkpointError(
      "UNAVAILABLE",
      `${what}: it ended by itself with ${by ?? `exit code ${code}`}. ${stderr}`,
    );
  }
}
