import { deepStrictEqual } from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Checkpoint, CheckpointStore, ForkpointError, type Store, type StoreOptions, openStore } from "forkpoint";
import { expect, onTestFinished } from "vitest";

/** True on Windows, which has no signals: `kill` ends a process at once, and a handler of a signal never runs. */
export const windows = process.platform === "win32";

/** Makes a new folder for the running test. The folder is removed when the test ends. */
export function folder(): string {
  // The engine resolves links and short names, which macOS and Windows have in the path of their temporary folder.
  const path = realpathSync.native(mkdtempSync(join(tmpdir(), "forkpoint-test-")));
  // Windows keeps a file for a moment after its process was killed.
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));
  return path;
}

export type Kind = "memory" | "sqlite" | "jsonl" | "postgres";

/** Makes a database on a server. Only the project that runs these tests on Postgres has it: `integration/postgres/setup.ts`. */
const { makeDatabase } = globalThis as { makeDatabase?: () => string };

/** The kinds of target that each test runs on. */
export const kinds: readonly Kind[] = makeDatabase ? ["postgres"] : ["memory", "sqlite", "jsonl"];

/** The kinds of target that several processes can use at once. */
export const sharedKinds: readonly Kind[] = kinds.filter((kind) => kind !== "memory");

/** The kinds of target for tests that need two of them. */
export const everyKind: readonly Kind[] = makeDatabase ? ["memory", "sqlite", "jsonl", "postgres"] : kinds;

/** The kind of target for tests of what a process leaves behind. */
export const durable: Kind = makeDatabase ? "postgres" : "sqlite";

/** Returns the target for a new store. */
export function place(kind: Kind): string {
  if (kind === "memory") return "memory:";
  if (kind === "postgres") return makeDatabase!();
  return kind === "jsonl" ? `jsonl:${join(folder(), "agent")}` : join(folder(), "agent.db");
}

/** Changes a bit of a file where these bytes begin. They must not be compressed: short texts, or random bytes beside them. */
export function damage(file: string, text: string | Uint8Array): void {
  const bytes = readFileSync(file);
  const at = bytes.indexOf(text);
  expect(at).toBeGreaterThan(0);
  bytes[at]! ^= 1;
  writeFileSync(file, bytes);
}

/** Opens a store that is closed when the running test ends, before its folder is removed. */
export function open(target: string | URL, options?: StoreOptions): CheckpointStore {
  const store = new CheckpointStore(target, options);
  onTestFinished(() => store.close());
  return store;
}

/** Returns the store, which is closed when the running test ends. */
export function closing<S extends { close(): Promise<void> }>(store: S): S {
  onTestFinished(() => store.close());
  return store;
}

/** Two store objects on the same new data, as two processes have them. A file is opened twice, and memory is shared. */
export async function pairOf<S>(kind: Kind, make: (target: string | Store) => S): Promise<[S, S]> {
  const target = kind === "memory" ? closing(await openStore(place(kind))) : place(kind);
  return [make(target), make(target)];
}

let made = 0;

/** Makes a checkpoint as AgentOS does, with a unique id. Fields that the contract does not know are allowed. */
export function checkpoint(fields: Partial<Checkpoint> & Record<string, unknown> = {}): Checkpoint {
  made += 1;
  return {
    id: `checkpoint-${made}`,
    graphId: "graph-a-1700000000000",
    runId: "run-1",
    nodeId: "node-1",
    timestamp: 1_700_000_000_000,
    state: {
      input: { question: "why" },
      scratch: { notes: ["a", "b"] },
      artifacts: { answer: 42 },
      diagnostics: {
        totalTokensUsed: 7,
        totalDurationMs: 1.5,
        nodeTimings: {},
        discoveryResults: {},
        guardrailResults: {},
        checkpointsSaved: 1,
        memoryReads: 0,
        memoryWrites: 0,
      },
    },
    nodeResults: { "node-1": { effectClass: "write", output: { ok: true }, durationMs: 0.25 } },
    visitedNodes: ["node-1"],
    pendingEdges: ["node-1->node-2"],
    ...fields,
  };
}

/** Makes a checkpoint with this value in its state. */
export function holding(scratch: unknown): Checkpoint {
  const whole = checkpoint();
  return { ...whole, state: { ...whole.state, scratch } };
}

/** Returns the error of a promise that must reject. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: unknown }> {
  try {
    await promise;
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    return error as Error;
  }
  throw new Error("the promise was not rejected");
}

/** Returns the error that a call must throw. */
export function thrown(call: () => unknown): Error & { code?: unknown } {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    return error as Error;
  }
  throw new Error("the call did not throw");
}

/** Expects a ForkpointError and returns it. */
export async function failure(promise: Promise<unknown>, code: ForkpointError["code"]): Promise<ForkpointError> {
  const error = await rejection(promise);
  expect(error).toBeInstanceOf(ForkpointError);
  expect(error.code, error.message).toBe(code);
  return error as ForkpointError;
}

/** Expects the TypeError for an argument of a wrong type. */
export async function wrongType(promise: Promise<unknown>): Promise<Error> {
  const error = await rejection(promise);
  expect(error, String(error)).toBeInstanceOf(TypeError);
  expect(error.code).toBe("INVALID_ARGUMENT");
  return error;
}

/** Returns the ids of a listing, in order. */
export function ids(listed: ReadonlyArray<{ id: string }>): string[] {
  return listed.map(({ id }) => id);
}

/** The end of a child process. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The lines of the child's standard output. */
  lines: string[];
  errors: string;
}

/**
 * The time in ms after which a child that hangs is stopped. A child normally needs far less time. This limit is not a
 * test of speed.
 */
const DEADLINE_MS = 30_000;

/** Returns the path of a program in fixtures/. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
}

/** Runs a program in fixtures/ until it ends. If the program has to be stopped, an error is thrown. */
export function run(
  name: string,
  args: string[],
  onLine: (line: string, child: ChildProcess) => void = () => {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [fixture(name), ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      // Clear the test runner's NODE_OPTIONS for the child.
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    const lines: string[] = [];
    let errors = "";
    let late = false;
    const deadline = setTimeout(() => {
      late = true;
      child.kill("SIGKILL");
    }, DEADLINE_MS);
    createInterface(child.stdout).on("line", (line) => {
      lines.push(line);
      onLine(line, child);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(deadline);
      if (late) reject(new Error(`${name} ${args[0] ?? ""} did not end by itself. Its errors: ${errors}`));
      // On Windows, a process that kills itself ends with the code 1. An exception also prints something.
      else if (windows && code === 1 && errors === "") resolve({ code: null, signal: "SIGKILL", lines, errors });
      else resolve({ code, signal, lines, errors });
    });
  });
}

/**
 * Runs a program in fixtures/ once with each of these arguments, and expects that all end well. They begin at the same
 * moment: each prints "ready", and waits for the file that its last argument names.
 */
export async function together(name: string, tasks: string[][]): Promise<Ended[]> {
  const signal = join(folder(), "go");
  let ready = 0;
  const onLine = (line: string) => {
    if (line === "ready" && ++ready === tasks.length) writeFileSync(signal, "");
  };
  const ends = await Promise.all(tasks.map((args) => run(name, [...args, signal], onLine)));
  for (const { code, errors } of ends) expect({ code, errors }).toEqual({ code: 0, errors: "" });
  return ends;
}

/** Expects what `assert.deepStrictEqual` does: it tells more values apart than `toStrictEqual`, and their prototypes. */
export function expectSame(actual: unknown, expected: unknown): void {
  // With `expect`, because a test without it counts as one that asserts nothing.
  expect(() => deepStrictEqual(actual, expected)).not.toThrow();
}

/** Where a run waits until the test goes on. */
export class Gate {
  #arrive!: () => void;
  open!: () => void;
  readonly reached = new Promise<void>((resolve) => (this.#arrive = resolve));
  readonly #opened = new Promise<void>((resolve) => (this.open = resolve));
  readonly wait = (): Promise<void> => (this.#arrive(), this.#opened);
}

/** What the stores of all frameworks have. */
interface Checkable {
  check(): Promise<{ ok: boolean; findings: Array<{ code: string; severity: string }> }>;
  close(): Promise<void>;
}

/** Expects that a store finds no damage. Writes whose checkpoint has not come are none. */
export async function expectSound(store: Pick<Checkable, "check">): Promise<void> {
  const { ok, findings } = await store.check();
  const damage = findings.filter(({ code, severity }) => code !== "ORPHAN" || severity !== "note");
  expect({ ok, damage }).toEqual({ ok: true, damage: [] });
}

/** Returns the store. When the running test ends, the database must be undamaged, and the store is closed. */
export function checkedAfter<S extends Checkable>(store: S): S {
  let closed = false;
  const close = store.close.bind(store);
  store.close = () => {
    closed = true;
    return close();
  };
  onTestFinished(async () => {
    if (!closed) await expectSound(store);
    await close();
  });
  return store;
}
