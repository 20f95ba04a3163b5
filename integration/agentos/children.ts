/** Starts real processes, reads their output line by line, and kills them. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A line that a fixture prints. */
export interface Line {
  event: string;
  [key: string]: unknown;
}

export class Child {
  readonly lines: Line[] = [];
  readonly #process: ChildProcess;
  readonly #output: AsyncIterableIterator<string>;
  readonly #exit: Promise<unknown[]>;
  #errors = "";

  constructor(fixture: string, args: string[], env: NodeJS.ProcessEnv = {}) {
    const path = fileURLToPath(new URL(`fixtures/${fixture}`, import.meta.url));
    this.#process = spawn(process.execPath, [path, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
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

  /** Waits for the line that the test wants. */
  async until(wanted: (line: Line) => boolean): Promise<Line> {
    for (;;) {
      const { value, done } = await this.#output.next();
      if (done === true) throw new Error(`the child ended before it said so: ${this.#errors}`);
      const line = JSON.parse(value) as Line;
      this.lines.push(line);
      if (wanted(line)) return line;
    }
  }

  /** Kills the process with SIGKILL, so that it cannot clean up, and waits for its end. */
  async kill(): Promise<NodeJS.Signals> {
    this.#process.kill("SIGKILL");
    const [, signal] = await this.#exit;
    return signal as NodeJS.Signals;
  }

  /** Ends the wait of a fixture. */
  goOn(): void {
    this.#process.kill("SIGUSR2");
  }

  /** Waits until the process has ended. Returns its exit code. */
  async exit(): Promise<number | null> {
    const [code] = await this.#exit;
    return code as number | null;
  }

  /** Waits until the process has ended without an error. Returns the run's output. */
  async end(): Promise<unknown> {
    const { output } = await this.until(({ event }) => event === "end");
    const [code] = await this.#exit;
    if (code !== 0) throw new Error(`the child ended with ${code}: ${this.#errors}`);
    return output;
  }
}
