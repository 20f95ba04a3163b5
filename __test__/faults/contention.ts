/** Several processes on one store at once: they write, read, prune and vacuum, race, or create it. */

import { statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { type Kind, type Program, randomBelow, repeat, seed, start, type Task, targetIn, verify } from "./faults.js";
import { type Traits, World } from "./world.js";

const KEEP = 4;

/** The write-ahead log may grow to 64 MiB, and by the pages of the commit that passes this limit. */
const LOG_BYTES = 96 * 1024 * 1024;

/** How long to wait until each program has done its work. On a busy machine, some programs begin late. */
const PATIENCE_MS = 60_000;

/** True if a program has done what its task is for. */
const did: Record<string, (said: any[]) => boolean> = {
  work: (said) => said.some((line) => "d" in line),
  read: (said) => said.some((line) => "seen" in line || "read" in line),
  watch: (said) => said.some((line) => line.seen?.length > 1),
  prune: (said) => said.some((line) => line.r > 0),
  vacuum: (said) => said.some((line) => "vacuumed" in line),
};

/** Returns the size of the write-ahead log, or 0 if there is none at the moment. */
const logBytes = (target: string): number => statSync(`${target}-wal`, { throwIfNoEntry: false })?.size ?? 0;

export interface Contention {
  acknowledged: number;
  pruned: number;
  vacuums: number;
  /** How often readers read everything. */
  reads: number;
  /** How many checkpoints that must be there were found. */
  verified: number;
  /** How many checkpoints were in more than one of the orders that processes saw. */
  ordered: number;
  logBytes: number;
}

/**
 * Runs the tasks for some time, and until each of them has done its work. No call may fail, and what the writers announced must be there at the end.
 *
 * @param tasks each writer must have lineages of its own.
 * @param trouble what happens to the store meanwhile. The tasks go on until it has ended.
 */
export async function contend(
  home: string,
  kind: Kind,
  tasks: Array<Pick<Task, "task" | "module" | "heavy" | "sharing">>,
  ms: number,
  file: string,
  trouble: () => Promise<unknown> = async () => {},
): Promise<Contention> {
  const where = repeat(file, "FORKPOINT_FAULT_MS");
  const below = randomBelow(seed * 31 + ms);
  const target = targetIn(home, kind);
  const programs = tasks.map((one, at) =>
    start(
      home,
      { ...one, target, seed: below(2 ** 31), writer: `w${at}`, lanes: [[], [], []], keep: KEEP },
      { deadlineMs: ms + PATIENCE_MS + 60_000 },
    ),
  );
  const result: Contention = { acknowledged: 0, pruned: 0, vacuums: 0, reads: 0, verified: 0, ordered: 0, logBytes: 0 };
  const troubled = trouble();
  // A program that fails says more.
  troubled.catch(() => {});
  const lookAtLog = () => {
    if (kind === "sqlite") result.logBytes = Math.max(result.logBytes, logBytes(target));
  };
  for (const end = performance.now() + ms; performance.now() < end; lookAtLog()) await sleep(20);
  const over = new AbortController();
  // A program that ends by itself has failed.
  const ended = Promise.race(programs.map((program) => program.ended)).finally(() => over.abort());
  ended.catch(() => {});
  await Promise.race([troubled, ended]);
  let idle = programs.map((program, at) => ({ program, task: tasks[at]!.task, done: did[tasks[at]!.task]! }));
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end && !over.signal.aborted; await sleep(100)) {
    // On a busy machine, programs begin only now.
    lookAtLog();
    idle = idle.filter(({ program, done }) => !done(program.said));
    if (idle.length === 0) break;
  }
  const early = over.signal.aborted;
  for (const program of programs) program.tell("stop");
  for (const program of programs) {
    const { code, signal, errors } = await program.ended;
    expect({ code, signal, errors }, where).toEqual({ code: 0, signal: null, errors: "" });
  }
  await troubled;
  expect({ early, idle: idle.map(({ task }) => task) }, where).toEqual({ early: false, idle: [] });
  expect(result.logBytes > 0, "a write-ahead log was seen").toBe(kind === "sqlite");
  expect(result.logBytes, where).toBeLessThan(LOG_BYTES);

  const orders: string[][] = [];
  for (const program of programs) {
    for (const line of program.said) {
      if ("d" in line) result.acknowledged += 1;
      if ("vacuumed" in line) result.vacuums += 1;
      if ("seen" in line || "read" in line) result.reads += 1;
      if ("seen" in line) orders.push(line.seen);
    }
    const prunes = new Set(program.said.filter(({ op }) => op === "prune").map(({ b }) => b));
    result.pruned += program.said.filter(({ d }) => prunes.has(d)).reduce((sum, { r }) => sum + r, 0);
  }
  result.ordered = expectOneOrder(orders, where);

  const others = tasks.some(({ task }) => task === "prune");
  for (const module of new Set(tasks.flatMap((one) => one.module ?? []))) {
    const world = new World(((await import(module)) as { default: Traits }).default, KEEP);
    const logs = programs.filter((_, at) => tasks[at]!.module === module && tasks[at]!.task === "work");
    world.add(
      logs.map(({ said }) => said),
      others,
    );
    expect(world.problems(await verify(home, target, module)), where).toEqual([]);
    expect(world.required, where).toBeGreaterThan(0);
    result.verified += world.required;
  }
  return result;
}

/**
 * Expects that there is one order of all checkpoints of which every process saw a part. Returns how many checkpoints were
 * in more than one part.
 */
export function expectOneOrder(orders: string[][], where: string): number {
  const seen = new Map<string, number>();
  for (const one of orders.flat()) seen.set(one, (seen.get(one) ?? 0) + 1);
  // Each checkpoint, and those that some process saw directly after it.
  const after = new Map<string, Set<string>>();
  for (const order of orders)
    for (const [at, one] of order.entries()) {
      const next = after.get(one) ?? new Set();
      after.set(one, next);
      if (at + 1 < order.length) next.add(order[at + 1]!);
    }
  // Takes away the checkpoints before which no other one is left. In a circle, there is none.
  const waiting = new Map([...after.keys()].map((one) => [one, 0]));
  for (const next of after.values()) for (const one of next) waiting.set(one, waiting.get(one)! + 1);
  const free = [...waiting].filter(([, count]) => count === 0).map(([one]) => one);
  for (const one of free) {
    waiting.delete(one);
    for (const next of after.get(one)!) {
      waiting.set(next, waiting.get(next)! - 1);
      if (waiting.get(next) === 0) free.push(next);
    }
  }
  expect([...waiting.keys()], `seen in different orders; ${where}`).toEqual([]);
  return [...seen.values()].filter((count) => count > 1).length;
}

/** Starts programs that say when they are ready. */
async function readied(count: number, make: (writer: string) => Program): Promise<Program[]> {
  const programs = Array.from({ length: count }, (_, at) => make(String.fromCharCode(97 + at)));
  await Promise.all(programs.map((program) => program.until(1)));
  return programs;
}

/** What a contract's `raced` finds after these winners. Without this function: the winners. */
interface Raced {
  outcome?: (winners: string[]) => unknown;
}

/** In each round, all processes continue after the winner of the round before. Exactly one of them may succeed. */
export async function race(
  home: string,
  kind: Kind,
  module: string,
  processes: number,
  rounds: number,
  file: string,
): Promise<void> {
  const target = targetIn(home, kind);
  const programs = await readied(processes, (writer) =>
    start(home, { task: "race", module, target, writer }, { deadlineMs: 60_000 + rounds * 1_000 }),
  );
  const winners: string[] = [];
  for (let n = 0; n < rounds; n++) {
    for (const program of programs) program.tell(JSON.stringify({ n, parent: winners.at(-1) ?? null }));
    await Promise.all(programs.map((program) => program.until(n + 2)));
    const won = programs.map((program) => program.said[n + 1].won as string | null).filter((one) => one !== null);
    expect(won, `round ${n} of ${kind}; ${repeat(file, "FORKPOINT_FAULT_ROUNDS")}`).toHaveLength(1);
    winners.push(won[0]!);
  }
  for (const program of programs) program.tell("stop");
  for (const program of programs) await program.success();
  const { outcome = (won: string[]): unknown => won } = ((await import(module)) as { default: Raced }).default;
  expect(programs[0]!.said.at(-1), repeat(file, "FORKPOINT_FAULT_ROUNDS")).toEqual({ raced: outcome(winners) });
}

/** Lets processes create a store at the same moment. */
export async function create(home: string, kind: Kind, module: string, processes: number, file: string): Promise<void> {
  const target = targetIn(home, kind);
  const programs = await readied(processes, (writer) => start(home, { task: "create", module, target, writer }));
  for (const program of programs) program.tell("go");
  for (const program of programs) await program.success();
  const found = await verify(home, target, module);
  const entries = found.lineages.map(({ name, entries }) => [name, entries.map(([n]) => n)] as const);
  const writers = Array.from({ length: processes }, (_, at) => String.fromCharCode(97 + at));
  const where = repeat(file, "FORKPOINT_FAULT_ROUNDS");
  expect({ ok: found.ok, findings: found.findings }, where).toEqual({ ok: true, findings: [] });
  expect(new Map(entries), where).toEqual(new Map(writers.map((writer) => [writer, [0, 1, 2]])));
}
