/** Helpers of the fault tests: settings, and programs that are started, told something and killed. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { randomBelow } from "../fixtures/faults/random.mjs";
import { type Ended, fixture, windows } from "../helpers.js";

export { randomBelow };

/** `FORKPOINT_TEST_SEED` selects other random choices. A failed test prints its seed. */
export const seed = Number(process.env["FORKPOINT_TEST_SEED"] ?? 1);

/**
 * How much a test does. `npm test` does little. `npm run test:faults` sets the variables, and does as much as
 * docs/guarantees.md says.
 */
export function amount(variable: string, short: number): number {
  const given = Number(process.env[variable] ?? short);
  if (!Number.isInteger(given) || given < 1) throw new Error(`${variable} must be a whole number from 1`);
  return given;
}

/** True if the variable is set, and so the test does more than `npm test` wants. */
export const isLong = (variable: string): boolean => process.env[variable] !== undefined;

/** Says how to repeat a failure. */
export function repeat(file: string, variable?: string): string {
  const set = variable === undefined || !isLong(variable) ? "" : ` ${variable}=${process.env[variable]}`;
  return `repeat with: FORKPOINT_TEST_SEED=${seed}${set} npm test -- ${file}`;
}

/** The contracts whose frameworks the root package does not need. A contract is a module in fixtures/faults. */
export const contracts = ["agentos", "agentium", "tinyagents", "helix"] as const;

/** Returns the URL of a contract's module. */
export const contract = (name: (typeof contracts)[number]): string =>
  new URL(`../fixtures/faults/${name}.mjs`, import.meta.url).href;

/** The kinds of store that survive a process. */
export const durable = ["sqlite", "jsonl"] as const;

/** A kind of store, or the URL of an empty database on a server. */
export type Kind = (typeof durable)[number] | `postgres://${string}`;

export function targetIn(home: string, kind: Kind): string {
  if (kind === "sqlite") return join(home, "agent.db");
  return kind === "jsonl" ? `jsonl:${join(home, "agent")}` : kind;
}

/** A process that a test started. */
export class Program {
  readonly lines: string[] = [];
  /** Resolves when the process has ended and all of its lines were read. */
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #waiting = new Set<() => void>();

  /**
   * @param path the path of the program. Later elements are its arguments.
   * @param deadlineMs the time after which a process that hangs is stopped. This is no test of speed.
   */
  constructor(
    [path, ...args]: [string, ...string[]],
    { nodeArgs = [] as string[], env = {}, cwd = process.cwd(), deadlineMs = 60_000, onLine = (): void => {} } = {},
  ) {
    this.#child = spawn(process.execPath, [...nodeArgs, path, ...args], {
      cwd,
      stdio: ["pipe", "pipe", "pipe", ...(args.includes("ipc") ? ["ipc" as const] : [])],
      // Clear the test runner's NODE_OPTIONS for the child.
      env: { ...process.env, NODE_OPTIONS: "", ...env },
    });
    let errors = "";
    let late = false;
    const deadline = setTimeout(() => {
      late = true;
      this.kill();
    }, deadlineMs);
    createInterface(this.#child.stdout!).on("line", (line) => {
      this.lines.push(line);
      onLine();
      for (const look of this.#waiting) look();
    });
    this.#child.stderr!.setEncoding("utf8").on("data", (text: string) => (errors += text));
    // A process that is killed cannot read what it is told.
    this.#child.stdin!.on("error", () => {});
    this.ended = new Promise((resolve, reject) => {
      this.#child.on("error", reject);
      // After `disconnect()`, a child has no event "close".
      const { stdout, stderr } = this.#child;
      const streams = [stdout!, stderr!].map((stream) => once(stream, "close"));
      void Promise.all([once(this.#child, "exit"), ...streams]).then(([[code, signal]]) => {
        clearTimeout(deadline);
        if (late) reject(new Error(`${path} did not end within ${deadlineMs} ms. Its errors: ${errors}`));
        else if (windows && code === 1 && errors === "")
          resolve({ code: null, signal: "SIGKILL", lines: this.lines, errors });
        else resolve({ code, signal, lines: this.lines, errors });
        for (const look of this.#waiting) look();
      }, reject);
    });
    // A test that fails earlier does not wait for the end.
    this.ended.catch(() => {});
    onTestFinished(async () => {
      this.kill();
      await this.ended.catch(() => {});
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** The lines, each of which is JSON. A last line that was cut by a kill is left out. */
  get said(): any[] {
    return this.lines.flatMap((line, at) => {
      try {
        return [JSON.parse(line)];
      } catch (error) {
        if (at === this.lines.length - 1) return [];
        throw error;
      }
    });
  }

  /** Waits until the program has printed this many lines. Rejects if it ends before. */
  async until(count: number): Promise<void> {
    let look = (): void => {};
    const enough = new Promise<void>((resolve) => {
      look = () => this.lines.length >= count && resolve();
      this.#waiting.add(look);
      look();
    });
    const end = this.ended.then(({ code, signal, errors }) => {
      if (this.lines.length < count) throw new Error(`the program ended with ${code ?? signal}: ${errors}`);
    });
    await Promise.race([enough, end]);
    this.#waiting.delete(look);
  }

  tell(line: string): void {
    this.#child.stdin!.write(`${line}\n`);
  }

  disconnect(): void {
    this.#child.disconnect();
  }

  kill(signal: NodeJS.Signals = "SIGKILL"): void {
    this.#child.kill(signal);
  }

  /** Waits for the end, which must be without an error. */
  async success(): Promise<this> {
    const { code, signal, errors } = await this.ended;
    if (code !== 0 || errors !== "") throw new Error(`the program ended with ${code ?? signal}: ${errors}`);
    return this;
  }
}

/** What fixtures/faults/work.mjs does. */
export interface Task {
  task: "work" | "verify" | "read" | "watch" | "prune" | "vacuum" | "race" | "create";
  target: string;
  module?: string;
  options?: object;
  seed?: number;
  writer?: string;
  /** The lineages that each lane of the program works on. */
  lanes?: Lineage[][];
  keep?: number;
  /** Makes many calls of this kind. */
  heavy?: "fork";
  /** If true, also saves to a run that other processes save to. */
  sharing?: boolean;
}

/** A lineage that a program goes on with. */
export interface Lineage {
  name: string;
  run?: string | undefined;
  newest?: number | undefined;
  held: number[];
}

let tasks = 0;

/** Starts fixtures/faults/work.mjs. */
export function start(
  home: string,
  task: Task,
  options?: ConstructorParameters<typeof Program>[1] & { after?: number; waitMs?: number },
): Program {
  const file = join(home, `task-${tasks++}.json`);
  writeFileSync(file, JSON.stringify(task));
  return new Program([fixture("faults/work.mjs"), file], options);
}

/** Has a new process check the store and read everything. */
export async function verify(home: string, target: string, module: string): Promise<Found> {
  const program = await start(home, { task: "verify", target, module }).success();
  return program.said[0];
}

/** What a new process found in a store. */
export interface Found {
  ok: boolean;
  findings: unknown[];
  lineages: FoundLineage[];
  /** As `stats()` counts them. */
  checkpoints: number;
}

/** The number of each entry, the lineage and the number of its content, and how many pending writes it has. */
export type Entry = [n: number, lineage: string, of: number, writes?: number];

export interface FoundLineage {
  name: string;
  run?: string;
  /** In the order of the store. */
  entries: Entry[];
}
