/** Starts real processes, reads their output line by line, and kills them. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A line that the fixture prints. */
export interface Line {
  event: string;
  [key: string]: unknown;
}

export class Child {
  readonly #process: ChildProcess;
  readonly #output: AsyncIterableIterator<string>;
  readonly #exit: Promise<unknown[]>;
  #errors = "";

  constructor(args: string[], env: NodeJS.ProcessEnv = {}, fixture = "graph.mjs") {
    const path = fileURLToPath(new URL(`fixtures/${fixture}`, import.meta.url));
    this.#process = spawn(process.execPath, [path, ...args], {
      stdio: ["pipe", "pipe", "pipe"],
      // Clear the test runner's NODE_OPTIONS for the child.
      env: { ...process.env, NODE_OPTIONS: "", ...env },
    });
    this.#exit = once(this.#process, "close");
    this.#output = createInterface(this.#process.stdout!)[Symbol.asyncIterator]();
    this.#process.stderr!.on("data", (data) => (this.#errors += data));
    onTestFinished(async () => {
      this.#process.kill("SIGKILL");
      await this.#exit;
    });
  }

  get pid(): number {
    return this.#process.pid!;
  }

  /** Waits for the next line of the child. */
  async next(): Promise<Line> {
    const { value, done } = await this.#output.next();
    if (done === true) throw new Error(`the child ended before it said so: ${this.#errors}`);
    return JSON.parse(value) as Line;
  }

  /** Waits until the child prints a line with this event. */
  async until(event: string): Promise<Line> {
    for (;;) {
      const line = await this.next();
      if (line.event === event) return line;
    }
  }

  /** Writes a line to the standard input of the child. */
  goOn(): void {
    this.#process.stdin!.write("\n");
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  /** Kills the process with SIGKILL, so that it cannot clean up, and waits for its end. */
  async kill(): Promise<NodeJS.Signals> {
    this.#process.kill("SIGKILL");
    const [, signal] = await this.#exit;
    return signal as NodeJS.Signals;
  }

  /** Waits until the process has ended. Returns its exit code and the lines that it printed. The code of a killed process is null. */
  async ended(): Promise<{ code: number | null; lines: Line[] }> {
    const lines: Line[] = [];
    for await (const line of this.#output) lines.push(JSON.parse(line) as Line);
    const [code] = await this.#exit;
    return { code: code as number | null, lines };
  }

  /** Waits until the process has ended without an error. Returns the run's log. */
  async end(): Promise<string[] | undefined> {
    const { log } = await this.until("end");
    const [code] = await this.#exit;
    if (code !== 0) throw new Error(`the child ended with ${String(code)}: ${this.#errors}`);
    return log as string[] | undefined;
  }
}
