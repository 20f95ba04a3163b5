// Uses stores so often that anything that is not freed would show: memory, threads and open files stay as they are.
// @module-tag slow
import { expect, it } from "vitest";
import { fixture, folder } from "../helpers.js";
import { amount, isLong, Program, targetIn } from "./faults.js";

const MIB = 1024 * 1024;

/** How many saves, each with a load, one store gets. */
const pairs = amount("FORKPOINT_FAULT_PAIRS", 5_000);
/** How many stores a process makes, one after the other. */
const stores = amount("FORKPOINT_FAULT_STORES", 200);
/** How many stores a process uses at once. */
const together = amount("FORKPOINT_FAULT_TOGETHER", 150);

const kinds = ["memory", "sqlite", "jsonl"] as const;

const place = (kind: (typeof kinds)[number]): string => (kind === "memory" ? "memory:" : targetIn(folder(), kind));

interface Needs {
  what: string;
  memory: number;
  threads: number;
  files: number;
}

/** Runs fixtures/faults/flood.mjs. Returns what it needed at several moments, and its last line. */
async function flood(task: string, target: string, count: number): Promise<{ needs: Needs[]; end: any }> {
  const program = new Program([fixture("faults/flood.mjs"), task, target, String(count)], {
    nodeArgs: ["--expose-gc"],
    deadlineMs: 120_000 + count * 200,
  });
  const { said } = await program.success();
  const needs = said.filter(({ threads }) => threads !== undefined) as Needs[];
  return { needs, end: said.at(-1) };
}

function show(name: string, needs: Needs[]): void {
  for (const { what, memory, threads, files } of needs)
    console.log(`${name}, ${what}: ${Math.round(memory / MIB)} MiB, ${threads} threads, ${files} files`);
}

/** The last half must not need more than the first half, apart from what an allocator keeps. */
function expectFlat(needs: Needs[], files: number): void {
  const half = needs.length / 2;
  const most = (of: keyof Omit<Needs, "what">, part: Needs[]) => Math.max(...part.map((one) => one[of]));
  for (const [of, more] of [
    ["memory", 48 * MIB],
    ["threads", 6],
    ["files", files],
  ] as const)
    expect(most(of, needs.slice(half)), of).toBeLessThanOrEqual(most(of, needs.slice(0, half)) + more);
}

it.each(kinds)(`${pairs} saves and loads over %s`, { timeout: 180_000 + pairs * 200 }, async (kind) => {
  const { needs, end } = await flood("pairs", place(kind), pairs);
  if (isLong("FORKPOINT_FAULT_PAIRS")) show(kind, needs);
  // A folder of text files has some files open, to read them faster.
  expectFlat(needs, kind === "jsonl" ? 128 : 8);
  expect(end).toEqual({ what: "end", checkpoints: 64 * 5 });
});

it.each(kinds)(
  `${stores} stores over %s, closed, unused or forgotten`,
  { timeout: 180_000 + stores * 200 },
  async (kind) => {
    const { needs, end } = await flood("stores", place(kind), stores);
    if (isLong("FORKPOINT_FAULT_STORES")) show(kind, needs);
    expectFlat(needs, 16);
    expect(end.counts).toEqual(kind === "memory" ? [0, 0, 0] : [stores / 5, stores / 5, stores / 5]);
  },
);

it.each(kinds)(`${together} stores at once over %s`, { timeout: 180_000 + together * 200 }, async (kind) => {
  const { needs } = await flood("together", place(kind), together);
  if (isLong("FORKPOINT_FAULT_TOGETHER")) show(kind, needs);
  const [begin, used, closed] = needs as [Needs, Needs, Needs];
  // A store has up to three threads, and a few files.
  expect(used.threads).toBeLessThanOrEqual(begin.threads + together * 3);
  expect(used.memory).toBeLessThan(begin.memory + together * 2 * MIB);
  expect(closed.threads).toBeLessThanOrEqual(begin.threads + 1);
  expect(closed.files).toBeLessThanOrEqual(begin.files + 4);
});
