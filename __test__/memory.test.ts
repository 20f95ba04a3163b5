// The memory that a store takes, as the operating system and V8 count it: saves that wait, and kept bytes.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { CheckpointStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer } from "forkpoint/tinyagents";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { fixture, folder, holding, open, windows } from "./helpers.js";
import { type Holder, holdFile } from "./lock.js";

const MIB = 1 << 20;
/** What a store may take besides `maxQueueBytes` and `cacheBytes`: see docs/guarantees.md. */
const BESIDE = 100 * MIB;

interface Flooded {
  saved: number;
  /** By how many bytes the process has grown, and the most bytes that it had. */
  grown: number;
  most: number;
}

/** Runs fixtures/flood.mjs. Calls `full` when the store refuses saves. */
async function flood(args: string[], full: (child: ChildProcess) => void = () => {}): Promise<Flooded> {
  const child = spawn(process.execPath, ["--expose-gc", fixture("flood.mjs"), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "exit");
  let last = "";
  for await (const line of createInterface(child.stdout)) {
    last = line;
    if (line === "full") full(child);
  }
  expect(await ended).toEqual([0, null]);
  return JSON.parse(last) as Flooded;
}

describe.skipIf(process.platform !== "linux")("the memory of a process", () => {
  let holder: Holder | undefined;
  afterEach(() => holder?.end());

  const [maxQueueBytes, cacheBytes] = [64 * MIB, 16 * MIB];
  const options = JSON.stringify({ maxQueueBytes, cacheBytes });

  test.each([100, 10_000, MIB])(
    "grows by maxQueueBytes while saves of %i bytes wait for a lock",
    { timeout: 120_000 },
    async (bytes) => {
      const file = join(folder(), "agent.db");
      holder = await holdFile(file);
      const { saved, grown } = await flood([file, options, String(bytes)], (child) => {
        holder!.release();
        child.stdin!.write("go\n");
      });
      expect(saved * bytes).toBeGreaterThan(1 * MIB);
      expect(grown).toBeLessThan(maxQueueBytes + cacheBytes + BESIDE);
    },
  );

  // Of 256 MiB, 40 are left for the garbage of the program, which V8 lets grow as it likes: the flood collects its own.
  test("fits a container of 256 MiB in a flood of saves of 1 MiB", { timeout: 120_000 }, async () => {
    const small = JSON.stringify({ maxQueueBytes: 16 * MIB, cacheBytes: 8 * MIB });
    const { saved, most } = await flood([join(folder(), "agent.db"), small, String(MIB), "4000"]);
    expect(saved).toBeGreaterThan(8);
    expect(most).toBeLessThan((256 - 40) * MIB);
  });
});

describe("kept bytes", () => {
  const messagesOf = (session: number) =>
    Array.from({ length: 300 }, (_, n) => ({ role: "user", n, content: `${session} ${n} `.padEnd(1_000, "text ") }));

  const ways: Array<[name: string, open: () => (n: number, step: number, messages: object[]) => Promise<void>]> = [
    [
      "AgentOS",
      () => {
        const store = open(join(folder(), "agent.db"));
        return (n, step, messages) => store.save({ ...holding({ messages }), id: `c-${n}-${step}`, runId: `run-${n}` });
      },
    ],
    [
      "Helix",
      () => {
        const store = new SessionStore(join(folder(), "agent.db"));
        onTestFinished(() => store.close());
        return (n, step, messages) =>
          store.saveCheckpoint({
            id: `c-${n}-${step}`,
            sessionId: `s-${n}`,
            stepCount: step,
            timestamp: step,
            state: { messages } as never,
          });
      },
    ],
  ];

  test.each(ways)("%s: what 300 live conversations keep is freed without a garbage collection", async (_, make) => {
    const save = make();
    const stats = open(join(folder(), "stats.db"));
    const live = Array.from({ length: 300 }, (_, n) => messagesOf(n));
    const before = process.memoryUsage().arrayBuffers;
    let garbage = 0;
    for (let step = 1; step <= 3; step++) {
      await Promise.all(
        live.map((messages, n) => {
          messages.push({ role: "assistant", n: step, content: "new" });
          return save(n, step, messages);
        }),
      );
      const { keptBytes } = await stats.stats();
      // Without the limit, they would keep about 100 MiB.
      expect(keptBytes).toBeLessThanOrEqual(64 * MIB);
      garbage = Math.max(garbage, process.memoryUsage().arrayBuffers - before - keptBytes);
    }
    expect((await stats.stats()).keptBytes).toBeGreaterThan(32 * MIB);
    expect(garbage).toBeLessThan(24 * MIB);
  });
});

describe.skipIf(windows)("the caller's object", () => {
  let holder: Holder;
  afterEach(() => holder.end());

  const ways: Array<
    [name: string, open: (file: string) => { save(state: object): Promise<unknown>; close(): Promise<void> }]
  > = [
    [
      "AgentOS",
      (file) => {
        const store = new CheckpointStore(file);
        return { save: (scratch) => store.save(holding(scratch)), close: () => store.close() };
      },
    ],
    [
      "Agentium",
      (file) => {
        const store = new WorkflowCheckpointStore(file);
        const step = { id: "c", runId: "r", stepIndex: 0, stepName: "s", createdAt: 1 };
        return { save: (state) => store.save({ ...step, state }), close: () => store.close() };
      },
    ],
    [
      "TinyAgents",
      (file) => {
        const store = new Checkpointer(file);
        return { save: (state) => store.put({ threadId: "t", state } as never), close: () => store.close() };
      },
    ],
  ];

  test.each(ways)("%s: is not kept in memory by a save that waits", async (_, make) => {
    const file = join(folder(), "agent.db");
    holder = await holdFile(file);
    const store = make(file);
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    // The object is only known inside this function.
    const [ref, saved] = (() => {
      const state = { text: "x".repeat(1_000) };
      return [new WeakRef(state), store.save(state)] as const;
    })();
    let settled = false;
    void saved.then(() => (settled = true));
    for (let turn = 0; ref.deref() !== undefined; turn++) {
      expect(turn).toBeLessThan(200);
      await setTimeout(10);
      collect();
    }
    expect(settled).toBe(false);
    holder.release();
    await saved;
    await store.close();
  });
});
