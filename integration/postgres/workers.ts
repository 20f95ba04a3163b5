/** Processes that take leases, save, and run and resume threads while servers fail: see ../langgraph/fixtures/failover.mjs. */

import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { ForkpointSaver } from "forkpoint/langgraph";
import { expect } from "vitest";
import { Program } from "../../__test__/faults/faults.js";

const fixture = fileURLToPath(new URL("../langgraph/fixtures/failover.mjs", import.meta.url));

/** How many runs the workers share. */
const RUNS = 4;

interface Interval {
  who: string;
  from: number;
  to: number;
}

/** Returns two intervals of different owners at the same time, if there are any. */
function overlap(intervals: Interval[]): [Interval, Interval] | undefined {
  const sorted = intervals.toSorted((a, b) => a.from - b.from);
  for (const [at, next] of sorted.entries()) {
    const before = sorted[at - 1];
    if (before !== undefined && before.who !== next.who && next.from < before.to) return [before, next];
  }
  return undefined;
}

/** What the workers have done. */
export interface Work {
  workers: number;
  /** Acknowledged saves with a lease. */
  saves: number;
  leases: number;
  /** Threads that were finished, and those that a `recover` has finished. */
  finished: number;
  recovered: number;
  /** Acknowledged saves, and finished threads, that are not there any more. */
  lost: number;
}

export class Workers {
  readonly #url: string;
  readonly #ttlMs: number;
  readonly #deadlineMs: number;
  readonly #all: Program[] = [];
  #living: Program[] = [];

  constructor(url: string, { ttlMs, deadlineMs }: { ttlMs: number; deadlineMs: number }) {
    this.#url = url;
    this.#ttlMs = ttlMs;
    this.#deadlineMs = deadlineMs;
  }

  start(): Program {
    const name = `w${this.#all.length}`;
    const program = new Program([fixture, this.#url, name, String(this.#ttlMs), String(RUNS)], {
      deadlineMs: this.#deadlineMs,
    });
    this.#all.push(program);
    this.#living.push(program);
    return program;
  }

  /** Kills the oldest worker while it runs a thread, and starts another one. */
  async replace(): Promise<void> {
    const [oldest] = this.#living as [Program];
    while (!["one", "two"].includes(oldest.said.findLast((line) => "node" in line || "finished" in line)?.node))
      await Promise.race([oldest.until(oldest.lines.length + 1), sleep(5)]);
    this.#living.shift();
    oldest.kill();
    const { errors } = await oldest.ended;
    expect(errors).toBe("");
    this.start();
  }

  /** Lets the workers end what they do, and a last one resume what is left. */
  async stop(): Promise<void> {
    const living = this.#living.splice(0);
    for (const program of living) program.tell("stop");
    for (const program of living) await program.success();
    const last = this.start();
    this.#living = [];
    // The second `recover` comes after the leases of those that were killed have ended.
    while (last.said.filter((line) => "recovered" in line).length < 2) await last.until(last.lines.length + 1);
    last.tell("stop");
    await last.success();
  }

  /**
   * Compares what the workers have said with what a new store reads.
   *
   * @param keeps true if nothing that was acknowledged may be lost.
   * @param order the ids of a run's checkpoints, in the order of the store.
   */
  async check(keeps: boolean, order: (run: string) => Promise<string[]>): Promise<Work> {
    const work: Work = { workers: this.#all.length, saves: 0, leases: 0, finished: 0, recovered: 0, lost: 0 };
    const leases = new Map<string, Interval[]>();
    const nodes = new Map<string, Interval[]>();
    const saved = new Set<string>();
    const [finished, begun] = [new Set<string>(), new Set<string>()];
    const put = (map: Map<string, Interval[]>, key: string, interval: Interval) =>
      map.set(key, [...(map.get(key) ?? []), interval]);
    for (const [at, program] of this.#all.entries()) {
      const open = new Map<string, { run: string; from: number }>();
      for (const line of program.said) {
        if (line.saved !== undefined) saved.add(line.saved);
        if (line.run !== undefined) open.set(line.term, line);
        // The lease of a worker that was killed ends with it. It says nothing of that.
        if (line.to !== undefined && line.term !== undefined) {
          const { run, from } = open.get(line.term)!;
          put(leases, run, { who: line.term, from, to: line.to });
        }
        if (line.node !== undefined) put(nodes, line.thread, { who: `w${at}`, from: line.from, to: line.to });
        if (line.begun !== undefined) begun.add(line.begun);
        if (line.finished !== undefined) {
          finished.add(line.finished);
          expect(line.log).toEqual(["one", "two", "three"]);
        }
        for (const [thread, outcome] of line.recovered ?? []) {
          expect(["finished", "elsewhere", "error"], JSON.stringify(line)).toContain(outcome);
          if (outcome !== "finished") continue;
          finished.add(thread);
          work.recovered += 1;
        }
      }
      work.leases += open.size;
    }
    if (keeps) {
      for (const [run, intervals] of leases) expect(overlap(intervals), run).toBeUndefined();
      for (const [thread, intervals] of nodes) expect(overlap(intervals), thread).toBeUndefined();
    }
    work.saves = saved.size;
    work.finished = finished.size;

    const store = new WorkflowCheckpointStore<unknown>(await openStore(this.#url));
    const found = new Set<string>();
    for (let n = 0; n < RUNS; n++) {
      const run = `run-${n}`;
      for (const { id, state } of await store.list(run)) {
        const [term, place] = id.split(".") as [string, string];
        expect(state, id).toEqual({ term, n: Number(place), text: id.repeat(50) });
        found.add(id);
      }
      // Two never save at the same time: in the order of the store, each lease's checkpoints follow each other.
      const terms = (await order(run)).map((id) => id.split(".")[0]!);
      const changes = terms.filter((term, at) => term !== terms[at - 1]);
      expect(changes.length, `${run}: ${changes.join()}`).toBe(new Set(changes).size);
    }
    await store.close();
    const lostSaves = [...saved].filter((id) => !found.has(id));

    const saver = new ForkpointSaver(this.#url);
    const threads = new Set<string>();
    for (let cursor: string | null = null; ;) {
      const page = await saver.listThreads({ limit: 100, cursor });
      for (const { threadId, status } of page.threads) {
        const tuple = await saver.getTuple({ configurable: { thread_id: threadId, checkpoint_ns: "" } });
        const log = tuple?.checkpoint.channel_values["log"];
        expect({ threadId, status, log }).toEqual({ threadId, status: "finished", log: ["one", "two", "three"] });
        expect(begun, threadId).toContain(threadId);
        threads.add(threadId);
      }
      cursor = page.cursor;
      if (cursor === null) break;
    }
    await saver.close();
    const lostThreads = [...finished].filter((thread) => !threads.has(thread));
    work.lost = lostSaves.length + lostThreads.length;
    if (keeps) expect([lostSaves, lostThreads]).toEqual([[], []]);
    return work;
  }
}
