/** Processes that run the fixtures here. Each line of their output is JSON. */

import { fileURLToPath } from "node:url";
import { Program } from "../../__test__/faults/faults.js";

/** A line that the fixture prints. */
export interface Line {
  event: string;
  [key: string]: unknown;
}

export class Child {
  readonly #program: Program;
  #read = 0;

  constructor(args: string[], env: NodeJS.ProcessEnv = {}, fixture = "graph.mjs") {
    const path = fileURLToPath(new URL(`fixtures/${fixture}`, import.meta.url));
    this.#program = new Program([path, ...args], { env, deadlineMs: 600_000 });
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** Waits for the next line of the child. */
  async next(): Promise<Line> {
    this.#read += 1;
    await this.#program.until(this.#read);
    return JSON.parse(this.#program.lines[this.#read - 1]!) as Line;
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
    this.#program.tell("");
  }

  /** Kills the process with SIGKILL, so that it cannot clean up, and waits for its end. */
  async kill(): Promise<NodeJS.Signals | null> {
    this.#program.kill();
    return (await this.#program.ended).signal;
  }

  /** Waits until the process has ended. Returns its exit code and all lines. The code of a killed process is null. */
  async ended(): Promise<{ code: number | null; lines: Line[] }> {
    const { code } = await this.#program.ended;
    return { code, lines: this.#program.said };
  }

  /** Waits until the process has ended without an error. Returns the run's log. */
  async end(): Promise<string[] | undefined> {
    const { log } = await this.until("end");
    const { code, errors } = await this.#program.ended;
    if (code !== 0) throw new Error(`the child ended with ${code}: ${errors}`);
    return log as string[] | undefined;
  }
}
