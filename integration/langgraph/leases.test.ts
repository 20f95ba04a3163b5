// A saver with `lease: true`: one process at a time runs a thread, with real graphs and real processes.
// @module-tag slow
import { setTimeout as sleep } from "node:timers/promises";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { Command, MemorySaver, START, Send, StateGraph, entrypoint, interrupt, task } from "@langchain/langgraph";
import { type Store } from "forkpoint";
import { effects } from "forkpoint/effects";
import { ForkpointSaver, type SaverOptions, recover } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { Gate, expectSound } from "../../__test__/helpers.js";
import { Child } from "./children.js";
import { Log, all, kinds, open, place, says, sequence, sharedKinds, thread, openShared } from "./helpers.js";

const root = { space: "langgraph", run: "thread" };
const run = { ...thread(), durability: "sync" as const };

/** A store, a saver with leases and one of another owner on the same data. */
async function setUp(target: string, options: SaverOptions = {}) {
  const store = await openShared(target);
  const saver = (lease: boolean) => open(store as unknown as string, { lease, ...options });
  return { store, saver: saver(true), other: saver(true), plain: saver(false) };
}

async function isFree(store: Store): Promise<boolean> {
  try {
    await (await store.lease(root)).release();
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: "CONFLICT" });
    return false;
  }
}

async function conflict(ended: Promise<unknown>): Promise<Error & { lease?: unknown }> {
  const error = await ended.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ name: "ForkpointError", code: "CONFLICT" });
  return error as Error;
}

/** Two nodes. The second one does what it is told. */
function chain(checkpointer: ForkpointSaver, second: () => unknown) {
  return sequence(Log, {
    one: says("one"),
    two: async () => {
      await second();
      return { log: ["two"] };
    },
  }).compile({ checkpointer });
}

describe.each(kinds)("%s", (kind) => {
  it.each(["sync", "async", "exit"] as const)(
    "with durability %s, a run holds the lease until it ends",
    async (durability) => {
      const { store, saver, other } = await setUp(place(kind));
      let ran = 0;
      const elsewhere = chain(other, () => (ran += 1));
      let gate: Gate;
      const app = chain(saver, () => gate.wait());
      for (let turn = 1; turn <= 2; turn++) {
        gate = new Gate();
        const ended = app.invoke({ log: [] }, { ...run, durability });
        await gate.reached;
        const error = await conflict(elsewhere.invoke({ log: [] }, run));
        expect(error.lease).toMatchObject({ holder: expect.stringContaining(`process ${process.pid} on `) });
        expect(error.message).toContain('run "thread" is leased by process');
        await conflict(elsewhere.invoke(null, run));
        // Reads need no lease.
        await elsewhere.getState(thread());
        const [listed] = (await other.listThreads()).threads;
        if (durability === "sync") expect(listed!.lease).toEqual(error.lease);
        gate.open();
        expect((await ended).log).toHaveLength(2 * turn);
        expect(await isFree(store)).toBe(true);
        expect((await other.listThreads()).threads[0]!.lease).toBeNull();
      }
      expect(ran).toBe(0);
      expect((await elsewhere.invoke({ log: [] }, run)).log).toHaveLength(6);
    },
  );

  it("a question frees the thread when the tasks beside it have ended, and the answer takes it again", async () => {
    const { store, saver } = await setUp(place(kind));
    const seen: boolean[] = [];
    const app = new StateGraph(Log)
      .addNode("asks", () => ({ log: [interrupt("go on?") as string] }))
      .addNode("slow", async () => {
        await sleep(200);
        seen.push(await isFree(store));
        return { log: ["slow"] };
      })
      .addNode("last", async () => {
        seen.push(await isFree(store));
        return { log: ["last"] };
      })
      .addEdge(START, "asks")
      .addEdge(START, "slow")
      .addEdge(["asks", "slow"], "last")
      .compile({ checkpointer: saver });
    for (const durability of ["sync", "exit"] as const) {
      await saver.deleteThread("thread");
      seen.length = 0;
      await app.invoke({ log: [] }, { ...run, durability });
      expect((await saver.status("thread"))!.status).toBe("waiting");
      expect(await isFree(store)).toBe(true);
      await app.invoke(new Command({ resume: "yes" }), { ...run, durability });
      expect(await isFree(store)).toBe(true);
      expect(seen).toEqual([false, false]);
    }
  });

  it("a failed run, a run that finds nothing to do and the functional API free the thread", async () => {
    const { store, saver } = await setUp(place(kind), { lease: { ttlMs: 3_000 } });
    let fails = true;
    const app = chain(saver, async () => {
      expect(await isFree(store)).toBe(false);
      if (fails) throw new Error("a bug");
    });
    await expect(app.invoke({ log: [] }, run)).rejects.toThrow("a bug");
    expect(await isFree(store)).toBe(true);
    fails = false;
    await app.invoke(null, run);
    expect(await isFree(store)).toBe(true);
    // Nothing is left to run, and nothing is written.
    await app.invoke(null, run);
    await expect.poll(() => isFree(store), { timeout: 10_000 }).toBe(true);
    const double = task("double", async (n: number) => 2 * n);
    const flow = entrypoint({ name: "flow", checkpointer: saver }, async (n: number) => {
      const twice = await double(n);
      expect(await isFree(store)).toBe(false);
      return twice;
    });
    await saver.deleteThread("thread");
    expect(await flow.invoke(4, run)).toBe(8);
    expect(await isFree(store)).toBe(true);
  });

  it("sends and subgraphs run under the lease of the thread", async () => {
    const { store, saver } = await setUp(place(kind));
    const held = async () => {
      expect(await isFree(store)).toBe(false);
      return { log: ["x"] };
    };
    const inner = sequence(Log, { in: held }).compile();
    const app = new StateGraph(Log)
      .addNode("inner", inner)
      .addNode("sent", held)
      .addNode("asks", () => ({ log: [interrupt("?") as string] }))
      .addEdge(START, "inner")
      .addConditionalEdges("inner", () => [new Send("sent", {}), new Send("sent", {}), new Send("asks", {})])
      .compile({ checkpointer: saver });
    await app.invoke({ log: [] }, run);
    expect(await isFree(store)).toBe(true);
    await app.invoke(new Command({ resume: "yes" }), run);
    expect((await saver.status("thread"))!.status).toBe("finished");
    expect(await isFree(store)).toBe(true);
  });

  it("updateState is refused while another process runs the thread, and leaves the lease free", async () => {
    const { store, saver, other } = await setUp(place(kind));
    const elsewhere = chain(other, () => {});
    const gate = new Gate();
    const ended = chain(saver, () => gate.wait()).invoke({ log: [] }, run);
    await gate.reached;
    await conflict(elsewhere.updateState(thread(), { log: ["x"] }, "one"));
    gate.open();
    expect((await ended).log).toEqual(["one", "two"]);
    await elsewhere.updateState(thread(), { log: ["x"] }, "one");
    expect((await saver.status("thread"))!.status).toBe("unfinished");
    expect(await isFree(store)).toBe(true);
    // Reading with the config of a run is no run.
    await elsewhere.getState({ ...run, recursionLimit: 30, signal: new AbortController().signal });
    for await (const _ of elsewhere.getStateHistory({ ...run, recursionLimit: 30 }));
    expect(await isFree(store)).toBe(true);
  });

  it("a run that writes nothing for ttlMs frees the thread, and is refused if another process runs it then", async () => {
    const { store, saver, other } = await setUp(place(kind), { lease: { ttlMs: 1_000 } });
    let wakeUp = () => {};
    let slow = false;
    const app = chain(saver, async () => {
      slow = true;
      await new Promise<void>((resolve) => (wakeUp = resolve));
    });
    const ended = app.invoke({ log: [] }, run);
    const refused = conflict(ended);
    await expect.poll(() => slow && isFree(store), { timeout: 10_000 }).toBe(true);
    const lease = await other.lease(root, { ttlMs: 60_000 });
    const before = (await saver.status("thread"))!.checkpointId;
    wakeUp();
    // The lease was released, or it ran out before that because this process was too slow.
    expect((await refused).message).toMatch(/is leased by|was lost, because/);
    expect((await saver.status("thread"))!.checkpointId).toBe(before);
    expect((await other.getTuple(thread()))!.pendingWrites).toEqual([]);
    await lease.release();
  });

  it("withLease: the writes of a graph carry a lease that its program took", async () => {
    const { store, plain } = await setUp(place(kind));
    const lease = await store.lease(root);
    const app = chain(plain.withLease(lease), () => {});
    expect((await app.invoke({ log: [] }, run)).log).toEqual(["one", "two"]);
    await lease.release();
    expect((await conflict(app.invoke({ log: [] }, run))).message).toContain("was released");
    expect((await plain.status("thread"))!.status).toBe("finished");
  });

  it("recover runs threads of a saver with leases, and waits for the process that runs one", async () => {
    const { saver, other } = await setUp(place(kind), { program: "tests" });
    let crash = true;
    const app = chain(saver, () => {
      if (crash) throw new Error("a crash");
    });
    await app.invoke({ log: [] }, run).catch(() => {});
    crash = false;
    const report = await recover(app, saver, { onFailed: () => "retry" });
    expect(report.runs).toMatchObject([{ threadId: "thread", outcome: "finished" }]);
    // A run that is in progress is not recovered.
    const again = { ...thread("again"), durability: "sync" as const };
    let wakeUp = () => {};
    const slow = chain(saver, () => new Promise<void>((resolve) => (wakeUp = resolve)));
    const ended = slow.invoke({ log: [] }, again);
    await expect.poll(async () => (await saver.status("again"))?.next, { timeout: 10_000 }).toEqual(["two"]);
    const recovering = recover(
      chain(other, () => {}),
      other,
      { threads: ["again"] },
    );
    await sleep(200);
    wakeUp();
    await ended;
    expect((await recovering).runs).toMatchObject([{ outcome: "elsewhere" }]);
  });
});

it("recover over another saver is UNSUPPORTED, because it needs leases", async () => {
  const memory = new MemorySaver();
  const app = sequence(Log, { one: says("one") }).compile({ checkpointer: memory });
  await expect(recover(app, memory as never)).rejects.toMatchObject({ name: "ForkpointError", code: "UNSUPPORTED" });
});

it("refuses wrong options", () => {
  for (const lease of ["yes", 1, null, [], { ttlMs: 1 }, { ttl: 500 }])
    expect(() => new ForkpointSaver("memory:", { lease: lease as never })).toThrow(/option "lease"|ttl/);
});

describe.each(sharedKinds)("processes over %s", (kind) => {
  it("retention leaves what a leased thread goes on from, in its subgraphs too", async () => {
    const { store, saver, plain } = await setUp(place(kind));
    const gate = new Gate();
    const once = effects(saver);
    let paid = 0;
    const inner = sequence(Log, {
      pay: async (_, config) => {
        await once(config, "charge", () => ++paid);
        await gate.wait();
        return { log: ["paid"] };
      },
    }).compile({ checkpointer: true });
    const graph = sequence(Log, {
      before: says("before"),
      inner,
      after: async (_, config) => ({
        log: [`receipt ${await once(config, "charge in after", () => ++paid)}`],
      }),
    });
    const running = graph.compile({ checkpointer: saver }).invoke({ log: [] }, run);
    await gate.reached;
    await plain.put(thread("old"), emptyCheckpoint(), { source: "input", step: -1, parents: {} }, {});
    await store.prune({ olderThan: Date.now() + 60_000 });
    const left = await all(plain.list({}));
    expect(new Set(left.map(({ config }) => config.configurable!["thread_id"]))).toEqual(new Set(["thread"]));
    gate.open();
    // The subgraph returns the log that it was given, too.
    const log = ["before", "before", "paid", "receipt 2"];
    expect((await running).log).toEqual(log);
    expect(paid).toBe(2);
    const after = await graph.compile({ checkpointer: plain }).getState(thread());
    expect(after.values.log).toEqual(log);
    await expectSound(store);
  });

  it("every kind of write of a lost lease is refused by the store, as the first one under its lease", async () => {
    const target = place(kind);
    const store = await openShared(target);
    // This process has no timers, and its clock stands still.
    const worker = new Child([target, "300", "thread"], {}, "lease-writes.mjs");
    const every = (await worker.next())["kinds"] as string[];
    const take = async (name: string) => {
      for (;;) {
        const taken = await store.lease({ space: "langgraph", run: `leased for ${name}` }).catch((error) => {
          expect(error).toMatchObject({ code: "CONFLICT" });
        });
        if (taken !== undefined) return taken;
        await sleep(20);
      }
    };
    const leases = [];
    for (const name of every) leases.push(await take(name));
    const reader = open(store as unknown as string);
    const content = async () => [await all(reader.list({})), { ...(await reader.stats()), fileBytes: 0 }];
    const before = await content();
    worker.goOn();
    for (const name of every)
      expect.soft(await worker.next(), name).toMatchObject({
        name,
        code: "CONFLICT",
        message: expect.stringContaining("was lost, because"),
      });
    expect(await content()).toEqual(before);
    // None of them was refused for another reason: all are stored under leases that are held.
    for (const lease of leases) await lease.release();
    worker.goOn();
    for (const name of every) expect(await worker.next()).toEqual({ name, stored: true });
  });
});
