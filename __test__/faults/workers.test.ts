// Terminates workers amid saves of small and large checkpoints, reads, prunes and vacuums.
import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { checkpoint, fixture, folder, ids, open } from "../helpers.js";
import { amount, durable, randomBelow, repeat, seed, targetIn } from "./faults.js";

const rounds = amount("FORKPOINT_FAULT_TERMINATIONS", 6);

/** The threads and open files of this process, on Linux. */
function needs(): { threads: number; files: number } {
  if (process.platform !== "linux") return { threads: 0, files: 0 };
  const [, threads] = /Threads:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))!;
  return { threads: Number(threads), files: readdirSync("/proc/self/fd").length };
}

it.each(durable)(`${rounds} workers are terminated, over %s`, { timeout: 60_000 + rounds * 5_000 }, async (kind) => {
  const where = repeat("__test__/faults/workers.test.ts", "FORKPOINT_FAULT_TERMINATIONS");
  const below = randomBelow(seed);
  const target = targetIn(folder(), kind);
  const store = open(target);
  await store.save(checkpoint({ id: "first", graphId: "graph" }));
  const begin = needs();
  for (let round = 0; round < rounds; round++) {
    const [after, waitMs] = [1 + below(20), below(10)];
    const saved: string[] = [];
    const worker = new Worker(fixture("faults/saver.mjs"), { workerData: { target, name: `w${round}` } });
    const failed = new Promise<never>((_, reject) => worker.once("error", reject));
    const enough = new Promise<void>((resolve) => {
      worker.on("message", (id: string) => saved.push(id) === after && resolve());
    });
    await Promise.race([enough, failed]);
    await sleep(waitMs);
    // The calls of this thread go on.
    await Promise.all([worker.terminate(), store.save(checkpoint({ id: `main-${round}`, graphId: "graph" }))]);
    const listed = new Set(ids(await store.list("graph")));
    expect(
      saved.filter((id) => !listed.has(id)),
      where,
    ).toEqual([]);
    expect(listed.has(`main-${round}`), where).toBe(true);
    for (const id of saved) expect((await store.get(id))!.id, where).toBe(id);
    // One round's checkpoints are enough for the next.
    await store.clear(`run w${round}`);
  }
  expect(await store.check(), where).toMatchObject({ ok: true, findings: [] });
  const end = needs();
  expect(end.threads, where).toBeLessThanOrEqual(begin.threads + 8);
  expect(end.files, where).toBeLessThanOrEqual(begin.files + (kind === "jsonl" ? 128 : 16));
});
