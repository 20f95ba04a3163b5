// Threads that somebody has stopped, with real graphs and real processes: their status, and who continues them.
// @module-tag slow
import { Command, interrupt } from "@langchain/langgraph";
import { openInspector } from "forkpoint/inspect";
import { effects } from "forkpoint/effects";
import { type ForkpointSaver, type LanggraphRecoverOptions, type ThreadStatus, recover } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { Gate } from "../../__test__/helpers.js";
import { Child } from "./children.js";
import {
  Log,
  kinds,
  open,
  openShared,
  place,
  rejection,
  saver,
  says,
  sequence,
  sharedKinds,
  thread,
} from "./helpers.js";

const ana = { by: "Ana", reason: "wrong customer" };
const stopped = { ...ana, at: expect.any(Number) };
const program = "waits";
const ref = (run = "thread") => ({ space: "langgraph", run });
const sync = { ...thread(), durability: "sync" as const };

type Second = (signal: AbortSignal) => unknown;

/** Two nodes. The second one does what it is told. */
const chain = (checkpointer: ForkpointSaver, second: Second) => {
  const graph = sequence(Log, {
    one: says("one"),
    two: async (_, { signal }) => ({ log: [String((await second(signal!)) ?? "two")] }),
  });
  return graph.compile({ checkpointer });
};

/** Waits until the signal aborts. */
const aborted: Second = (signal) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));

/** Runs the thread until it is stopped in its second node. `second` ends the node. */
async function stopAt(checkpointer: ForkpointSaver, second: Second = aborted, run = "thread", options = ana) {
  const gate = new Gate();
  const graph = chain(checkpointer, async (signal) => {
    const end = second(signal);
    await gate.wait();
    return end;
  });
  const config = { ...thread(run), durability: "sync" as const };
  const held = rejection(checkpointer.exclusive(run, (signal) => graph.invoke({ log: [] }, { ...config, signal })));
  await gate.reached;
  gate.open();
  expect(await checkpointer.stop(run, options)).toMatchObject({ outcome: "stopped" });
  expect(await held).toMatchObject({ code: "STOPPED" });
}

describe.each(kinds)("%s", (kind) => {
  const start = async () => {
    const store = await openShared(place(kind));
    return {
      saver: open(store as unknown as string, { program }),
      inspector: await openInspector(store, { write: true }),
    };
  };

  it("a stopped thread has a status of its own everywhere, and recover leaves it, unless it is named", async () => {
    const { saver, inspector } = await start();
    await stopAt(saver);
    const expected = { status: "stopped", stopped, next: ["two"] } satisfies Partial<ThreadStatus>;
    expect(await saver.status("thread")).toMatchObject(expected);
    expect((await saver.listThreads()).threads).toMatchObject([expected]);
    expect(await inspector.run(ref(), { withWhy: true })).toMatchObject({
      status: "stopped",
      stopped,
      statusWhy: "by Ana: wrong customer",
    });
    const graph = chain(saver, () => "resumed");
    expect(await recover(graph, saver, { dryRun: true })).toEqual({ runs: [], checked: 1 });
    expect(await recover(graph, saver)).toEqual({ runs: [], checked: 1 });
    expect(await saver.status("thread")).toMatchObject(expected);
    const named = { threads: ["thread"] };
    expect((await recover(graph, saver, { ...named, dryRun: true })).runs).toMatchObject([{ outcome: "would resume" }]);
    expect((await recover(graph, saver, named)).runs).toMatchObject([
      { outcome: "finished", output: { log: ["one", "resumed"] } },
    ]);
    expect(await saver.status("thread")).toMatchObject({ status: "finished", stopped: null });
  });

  it("a new message and a resume continue it", async () => {
    const { saver } = await start();
    await stopAt(saver);
    const graph = chain(saver, () => "again");
    const message = saver.exclusive("thread", (signal) => graph.invoke({ log: ["hello"] }, { ...sync, signal }));
    expect((await message).log).toEqual(["one", "hello", "one", "again"]);
    expect(await saver.status("thread")).toMatchObject({ status: "finished", stopped: null });
    await stopAt(saver, aborted, "resumed");
    const config = { ...thread("resumed"), durability: "sync" as const };
    expect((await graph.invoke(null, config)).log).toEqual(["one", "again"]);
    expect(await saver.status("resumed")).toMatchObject({ status: "finished", stopped: null });
  });

  it("a node that fails because of the stop is no failure; one that fails later is", async () => {
    const { saver } = await start();
    await stopAt(saver, async (signal) => {
      await (aborted(signal) as Promise<void>).catch(() => {});
      throw new Error("the request was aborted");
    });
    expect(await saver.status("thread")).toMatchObject({ status: "stopped", stopped });
    const fails = chain(saver, () => {
      throw new Error("no network");
    });
    expect((await recover(fails, saver)).runs).toEqual([]);
    await stopAt(saver, aborted, "fails");
    await rejection(saver.exclusive("fails", () => fails.invoke(null, { ...sync, ...thread("fails") })));
    expect(await saver.status("fails")).toMatchObject({ status: "failed", error: { message: "no network" } });
    const { runs } = await recover(fails, saver, { threads: ["fails"] });
    expect(runs).toMatchObject([{ outcome: "failed" }]);
  });

  /** Leaves an unfinished thread, recovers it, and calls `act` while its second node runs. Returns the results. */
  async function actInRecovery<T>(
    saver: ForkpointSaver,
    second: Second,
    act: () => Promise<T>,
    options: LanggraphRecoverOptions = {},
  ) {
    await chain(saver, () => "two").invoke({ log: [] }, { ...sync, interruptAfter: ["one"] as never });
    const gate = new Gate();
    const graph = chain(saver, async (signal) => {
      const end = second(signal);
      await gate.wait();
      return end;
    });
    const recovering = recover(graph, saver, { onFailed: () => expect.unreachable(), ...options });
    await gate.reached;
    gate.open();
    const acted = await act();
    return { acted, runs: (await recovering).runs };
  }

  const inRecovery = { threadId: "thread", outcome: "stopped", stopped: { kind: "stop", ...stopped } };

  it("a stop ends a node that recover runs, and the next recover leaves the thread", async () => {
    const { saver } = await start();
    const { acted, runs } = await actInRecovery(saver, aborted, () => saver.stop("thread", ana));
    expect(acted).toMatchObject({ outcome: "stopped" });
    expect(runs).toEqual([inRecovery]);
    expect(await saver.status("thread")).toMatchObject({ status: "stopped", stopped, next: ["two"] });
    const graph = chain(saver, () => "resumed");
    expect((await recover(graph, saver)).runs).toEqual([]);
    expect((await recover(graph, saver, { threads: ["thread"] })).runs).toMatchObject([
      { outcome: "finished", output: { log: ["one", "resumed"] } },
    ]);
    expect(await saver.status("thread")).toMatchObject({ status: "finished", stopped: null });
  });

  it("a stop while recover runs a node: no failure, no retry, and no new effect", async () => {
    const { saver } = await start();
    const paid: string[] = [];
    const effect = new Gate();
    const { runs } = await actInRecovery(
      saver,
      async (signal) => {
        await (aborted(signal) as Promise<void>).catch(() => {});
        const error = await rejection(effects(saver)(ref(), "pay", () => void paid.push("pay")));
        expect(error).toMatchObject({ code: "STOPPED" });
        void effect.wait();
        throw error;
      },
      async () => {
        await saver.stop("thread", ana);
        await effect.reached;
      },
    );
    expect(runs).toEqual([inRecovery]);
    expect(paid).toEqual([]);
    expect(await saver.status("thread")).toMatchObject({ status: "stopped", stopped });
  });

  it("a signal in the config of recover ends the nodes too, and is no stop", async () => {
    const { saver } = await start();
    const abort = new AbortController();
    const config = { signal: abort.signal };
    const { runs } = await actInRecovery(saver, aborted, async () => abort.abort(), { config });
    expect(runs).toMatchObject([{ outcome: "error" }]);
    expect(await saver.status("thread")).toMatchObject({ status: "unfinished", stopped: null });
    const wrong = recover(chain(saver, aborted), saver, { config: { signal: {} as AbortSignal } });
    await expect(wrong).rejects.toThrow("options.config.signal must be an AbortSignal");
  });

  it.each(["interrupt", "rollback"] as const)("a newer call takes the thread from recover: %s", async (whenBusy) => {
    const { saver } = await start();
    const graph = chain(saver, () => "newer");
    const newer = (signal: AbortSignal) => graph.invoke(null, { ...sync, signal });
    const { acted, runs } = await actInRecovery(saver, aborted, () =>
      saver.exclusive("thread", newer, { whenBusy, by: "Bob" }),
    );
    expect(acted.log).toEqual(["one", "newer"]);
    expect(runs).toMatchObject([{ outcome: "stopped", stopped: { kind: whenBusy, by: "Bob" } }]);
    expect(await saver.status("thread")).toMatchObject({ status: "finished", stopped: null });
  });

  it("a thread that waits when recover is stopped keeps waiting, and the answer is not used", async () => {
    const { saver } = await start();
    const asks = chain(saver, () => interrupt("who?"));
    await asks.invoke({ log: [] }, sync);
    const onWaiting = async () => {
      // The stop arrives meanwhile. It waits for this function.
      expect(await saver.stop("thread", { ...ana, waitMs: 2_000 })).toMatchObject({ outcome: "no answer" });
      return new Command({ resume: "me" });
    };
    const { runs } = await recover(asks, saver, { onWaiting });
    expect(runs).toMatchObject([{ outcome: "waiting", interrupts: [{ value: "who?" }] }]);
    expect(await saver.status("thread")).toMatchObject({ status: "waiting", stopped: null });
    const resume = new Command({ resume: "you" });
    expect((await recover(asks, saver, { onWaiting: () => resume })).runs).toMatchObject([
      { outcome: "finished", output: { log: ["one", "you"] } },
    ]);
  });

  it("a thread that asks after it was stopped waits, and continues with the answer", async () => {
    const { saver, inspector } = await start();
    await stopAt(saver);
    const asks = chain(saver, () => interrupt("who?"));
    await asks.invoke(null, sync);
    expect(await saver.status("thread")).toMatchObject({ status: "waiting", stopped: null });
    expect((await recover(asks, saver)).runs).toMatchObject([{ outcome: "waiting" }]);
    await inspector.answer(ref(), { value: "me" });
    expect(await saver.status("thread")).toMatchObject({ status: "unfinished", stopped: null });
    expect((await recover(asks, saver)).runs).toMatchObject([{ outcome: "finished", output: { log: ["one", "me"] } }]);
    // A thread that waits is not stopped, and its answer continues it.
    await asks.invoke({ log: [] }, { ...sync, ...thread("waits") });
    expect(await saver.stop("waits", ana)).toEqual({ outcome: "not running", holder: null });
    await asks.invoke(new Command({ resume: "you" }), { ...sync, ...thread("waits") });
    expect(await saver.status("waits")).toMatchObject({ status: "finished", stopped: null });
  });

  it("lists threads by this status, page by page", async () => {
    const { saver } = await start();
    for (let n = 0; n < 5; n++) {
      if (n % 2 === 0) await stopAt(saver, aborted, `stopped-${n}`);
      else {
        const graph = chain(saver, () => {
          throw new Error("no network");
        });
        await rejection(graph.invoke({ log: [] }, { ...sync, ...thread(`failed-${n}`) }));
      }
    }
    await chain(saver, () => "end").invoke({ log: [] }, { ...sync, ...thread("finished") });
    const listed = async (status: Parameters<ForkpointSaver["listThreads"]>[0]) => {
      const threads: string[] = [];
      let cursor: string | null | undefined;
      do {
        const page = await saver.listThreads({ limit: 1, withNext: false, cursor, ...status });
        threads.push(...page.threads.map(({ threadId }) => threadId));
        cursor = page.cursor;
      } while (cursor !== null);
      return threads;
    };
    expect(await listed({ status: "stopped" })).toEqual(["stopped-4", "stopped-2", "stopped-0"]);
    expect(await listed({ status: "stopped", order: "asc" })).toEqual(["stopped-0", "stopped-2", "stopped-4"]);
    expect(await listed({ status: ["failed", "unfinished"] })).toEqual(["failed-3", "failed-1"]);
    expect(await listed({ status: ["stopped", "finished"] })).toEqual([
      "finished",
      "stopped-4",
      "stopped-2",
      "stopped-0",
    ]);
    expect(await listed({ status: "stopped", filter: { source: "loop" } })).toHaveLength(3);
    expect(await listed({ status: "stopped", filter: { source: "input" } })).toEqual([]);
    expect(await listed({})).toHaveLength(6);
    await expect(saver.listThreads({ status: "paused" as never })).rejects.toThrow(/stopped/);
  });

  it("a deleted thread takes what was stored about its stop with it", async () => {
    const { saver } = await start();
    await stopAt(saver);
    const { checkpointId } = (await saver.status("thread"))!;
    const tuple = (await saver.getTuple(thread()))!;
    await saver.deleteThread("thread");
    const { checkpoint, metadata } = tuple;
    await saver.put(thread(), checkpoint, metadata!, checkpoint.channel_versions);
    expect(await saver.status("thread")).toMatchObject({ checkpointId, status: "unfinished", stopped: null });
  });
});

describe.each(sharedKinds)("processes over %s", (kind) => {
  it("a stop reaches the process, and the thread is killed in its second run: recover continues it", async () => {
    const target = place(kind);
    const args = (input: object | null) => [target, "thread", JSON.stringify(input)];
    const first = new Child(args({ log: [] }), {}, "stopped.mjs");
    await first.until("two");
    const checkpointer = open(target, { program });
    expect(await checkpointer.stop("thread", ana)).toMatchObject({ outcome: "stopped" });
    expect(await first.until("error")).toMatchObject({ code: "STOPPED", stopped: { kind: "stop", ...ana } });
    expect((await first.ended()).code).toBe(0);
    expect(await checkpointer.status("thread")).toMatchObject({ status: "stopped", stopped });
    // The second process has taken the thread, and has saved nothing yet.
    const second = new Child(args(null), {}, "stopped.mjs");
    await second.until("two");
    expect(await checkpointer.status("thread")).toMatchObject({ status: "unfinished", stopped: null });
    await second.kill();
    expect(await checkpointer.status("thread")).toMatchObject({ status: "unfinished", stopped: null });
    const graph = chain(checkpointer, () => "recovered");
    expect((await recover(graph, checkpointer)).runs).toMatchObject([
      { outcome: "finished", output: { log: ["one", "recovered"] } },
    ]);
  });

  it("a stop reaches a process that recovers the thread", async () => {
    const target = place(kind);
    const first = new Child([target, "thread", JSON.stringify({ log: [] })], {}, "stopped.mjs");
    await first.until("two");
    await first.kill();
    const second = new Child([target, "thread", "recover"], {}, "stopped.mjs");
    await second.until("two");
    const checkpointer = open(target, { program });
    expect(await checkpointer.status("thread")).toMatchObject({ status: "unfinished" });
    expect(await checkpointer.stop("thread", ana)).toMatchObject({ outcome: "stopped" });
    const { runs } = await second.until("recovered");
    expect(runs).toMatchObject([{ threadId: "thread", outcome: "stopped", stopped: { kind: "stop", ...ana } }]);
    expect((await second.ended()).code).toBe(0);
    expect(await checkpointer.status("thread")).toMatchObject({ status: "stopped", stopped });
    const graph = chain(checkpointer, () => "recovered");
    expect((await recover(graph, checkpointer)).runs).toEqual([]);
  });

  it("a killed process leaves an unfinished thread, which recover continues, unless somebody stops it", async () => {
    const target = place(kind);
    const checkpointer = open(target, { program });
    for (const run of ["thread", "stopped"]) {
      const child = new Child([target, run, JSON.stringify({ log: [] })], {}, "stopped.mjs");
      await child.until("two");
      await child.kill();
      expect(await checkpointer.status(run)).toMatchObject({ status: "unfinished", stopped: null });
      if (run === "stopped") {
        const holder = expect.stringContaining(`process ${child.pid} `);
        expect(await checkpointer.stop(run, ana)).toEqual({ outcome: "not running", holder });
      }
    }
    const graph = chain(checkpointer, () => "recovered");
    const { runs } = await recover(graph, checkpointer);
    expect(runs).toMatchObject([{ threadId: "thread", outcome: "finished" }]);
    expect(await checkpointer.status("stopped")).toMatchObject({ status: "stopped", stopped });
  });
});

it("a saver with leases of its own stops when it ends, and is named until then", async () => {
  const checkpointer = saver("sqlite", { lease: true });
  const gate = new Gate();
  const graph = chain(checkpointer, () => gate.wait());
  const running = graph.invoke({ log: [] }, sync);
  await gate.reached;
  expect(await checkpointer.stop("thread", { ...ana, waitMs: 100 })).toMatchObject({ outcome: "no answer" });
  gate.open();
  await running;
  expect(await checkpointer.status("thread")).toMatchObject({ status: "finished", stopped: null });
});
