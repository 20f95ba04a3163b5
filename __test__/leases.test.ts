// Leases of runs, with real processes that are killed, and stopped for longer than their leases last.
// @module-tag slow
import { setTimeout as sleep } from "node:timers/promises";
import { CheckpointStore, type Lease, type RunRef, type Store, openStore } from "forkpoint";
import { effects } from "forkpoint/effects";
import { InMemoryStorage, StorageBackedCheckpointStore, Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer, Graph } from "forkpoint/tinyagents";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Program } from "./faults/faults.js";
import { contentOf, opened as shared } from "./contents.js";
import { flow } from "./agentium/helpers.js";
import { checkpoint as session } from "./helix/helpers.js";
import {
  checkpoint,
  durable,
  failure,
  fixture,
  kinds,
  place,
  rejection,
  sharedKinds,
  thrown,
  windows,
  wrongType,
} from "./helpers.js";
import { variants } from "./hostile-values.js";

const run: RunRef = { space: "agentium", run: "run" };
/** Contracts whose runs can be leased. */
const spaces = ["agentos", "agentium", "helix", "tinyagents"] as const;

/** What a worker can run, of which contract, and what it says at its second place. */
const runners = [
  ["workflow", "agentium", "in the second step"],
  ["graph", "tinyagents", "in the second node"],
] as const;

/** A program that works on leased runs, as it is told. */
class Worker {
  readonly program: Program;
  #heard = 0;

  constructor(target: string, ...more: string[]) {
    this.program = new Program([fixture("lease.mjs"), target, ...more]);
  }

  /** Waits for the next line. */
  async hears(): Promise<any> {
    await this.program.until(++this.#heard);
    return JSON.parse(this.program.lines[this.#heard - 1]!);
  }

  tell(command: string, given: object = {}): void {
    this.program.tell(JSON.stringify({ command, ...given }));
  }

  /** Stops the process, but not while it holds the lock of the store. */
  async stop(target: string): Promise<void> {
    const prober = await openStore(target, { busyTimeoutMs: 500 });
    for (let stopped = false; !stopped;) {
      this.program.kill("SIGSTOP");
      try {
        await (await prober.lease({ space: "agentos", run: `prober of ${this.program.pid}` })).release();
        stopped = true;
      } catch (error) {
        expect(error).toMatchObject({ code: "BUSY" });
        this.program.kill("SIGCONT");
      }
    }
    await prober.close();
  }

  ask(command: string, given: object = {}): Promise<any> {
    this.tell(command, given);
    return this.hears();
  }
}

/** Takes a lease as soon as it is free. */
async function whenFree(store: Store, of: RunRef, ttlMs = 30_000): Promise<Lease> {
  for (;;) {
    try {
      return await store.lease(of, { ttlMs });
    } catch (error) {
      expect(error).toMatchObject({ code: "CONFLICT" });
      await sleep(20);
    }
  }
}

/** The pending writes of every checkpoint of every thread. */
async function pendingWrites(store: Store) {
  const threads = new Checkpointer(store);
  const listed = await Promise.all((await threads.listThreads()).map((threadId) => threads.list(threadId)));
  return Promise.all(
    listed
      .flat()
      .map(async ({ threadId, checkpointId }) => [checkpointId, await threads.getWrites({ threadId, checkpointId })]),
  );
}

describe.each(kinds)("%s", (kind) => {
  it("a rule about age leaves the newest checkpoint of a leased run, and its effects", async () => {
    const store = await shared(place(kind));
    const graphs = new CheckpointStore(store);
    const workflows = new WorkflowCheckpointStore<object>(store);
    const sessions = new SessionStore(store);
    const threads = new Checkpointer<{ n: number }>(store);
    const once = effects(store);
    const runs = ["run", "run-2"];
    for (const id of runs) {
      await sessions.createSession(id, { agentType: "writer", initialState: {} });
      for (const n of [1, 2]) {
        await graphs.save(checkpoint({ id: `${id}/${n}`, runId: id, timestamp: n }));
        await workflows.save({ id: `${id}/${n}`, runId: id, stepIndex: n, stepName: "s", state: { n }, createdAt: n });
        await sessions.saveCheckpoint(session(n, { sessionId: id }));
        for (const namespace of [[], ["inner"]]) await threads.put({ threadId: id, namespace, state: { n } });
      }
      for (const space of spaces) await once({ space, run: id }, "charge", () => `paid for ${space}`);
    }
    const held = await Promise.all(spaces.map((space) => store.lease({ space, run: "run" })));
    const count = async (id: string) => ({
      agentos: (await graphs.listByRun(id)).length,
      agentium: (await workflows.list(id)).length,
      helix: (await sessions.listCheckpoints(id)).items.length,
      tinyagents: (await threads.list(id)).length,
      session: await sessions.exists(id),
      paid: await Promise.all(spaces.map((space) => once({ space, run: id }, "charge", () => "again"))),
    });
    const paid = spaces.map((space) => `paid for ${space}`);
    const olderThan = Date.now() + 60_000;
    const planned = await store.prune({ olderThan, dryRun: true });
    expect(await store.prune({ olderThan })).toMatchObject({ removed: planned.removed });
    const sessionsPlanned = await sessions.prune({ olderThan, dryRun: true });
    expect(await sessions.prune({ olderThan })).toMatchObject({ sessions: sessionsPlanned.sessions });
    expect(await count("run")).toEqual({ agentos: 1, agentium: 1, helix: 1, tinyagents: 2, session: true, paid });
    // Who works on the runs goes on.
    for (const [at, space] of spaces.entries()) expect(held[at]!.signal.aborted, space).toBe(false);
    await Promise.all(held.map((lease) => lease.release()));
    await store.prune({ olderThan });
    await sessions.prune({ olderThan });
    const nothing = { agentos: 0, agentium: 0, helix: 0, tinyagents: 0, session: false };
    for (const id of runs) expect(await count(id)).toEqual({ ...nothing, paid: spaces.map(() => "again") });
  });

  it("one of two gets the lease, and the other is told who has it, and until when", async () => {
    const store = await shared(place(kind));
    const before = Date.now();
    const lease = await store.lease(run);
    expect(lease.holder).toContain(`process ${process.pid} on `);
    expect(lease.until).toBeGreaterThanOrEqual(before + 30_000);
    const error = await failure(new WorkflowCheckpointStore(store).lease(run), "CONFLICT");
    expect(error.lease).toEqual({ holder: lease.holder, until: lease.until });
    expect(error.retryable).toBe(true);
    for (const part of ['run "run"', lease.holder, new Date(lease.until).toISOString(), "stop that process"])
      expect(error.message).toContain(part);
    // Other runs, other contracts and other namespaces have leases of their own.
    await Promise.all([
      store.lease({ space: "agentium", run: "another run" }),
      store.lease({ space: "agentos", run: "run" }),
      store.lease({ space: "langgraph", run: "run", ns: "a" }),
      store.lease({ space: "langgraph", run: "run", ns: "b" }),
      store.lease({ space: "langgraph", run: "3:runa" }),
      store.lease({ space: "tinyagents", run: "run", ns: ["a", "b"] }),
    ]);
    await store.lease({ space: "langgraph", run: "run", ns: "" });
    await failure(store.lease({ space: "langgraph", run: "run" }), "CONFLICT");
    await failure(store.lease({ space: "tinyagents", run: "run", ns: ["a", "b"] }), "CONFLICT");
    await lease.release();
    await lease.release();
    await (await store.lease(run)).release();
    expect(lease.signal.aborted).toBe(false);
  });

  it("a token only grows, also over releases, other runs and a new start of the store", async () => {
    const target = place(kind);
    let store = await shared(target);
    let last = 0;
    for (let round = 0; round < 12; round++) {
      const lease = await store.lease(run);
      expect(lease.token).toBeGreaterThan(last);
      expect(Number.isSafeInteger(lease.token)).toBe(true);
      last = lease.token;
      await store.lease({ space: "agentos", run: `other-${round}` });
      if (round % 3 > 0) await lease.release();
      else if (kind === "memory") await lease.release();
      else {
        // Closing releases the lease.
        await store.close();
        store = await shared(target);
      }
    }
  });

  it("it is renewed in the background, with the same token, and a clock of this process that is set does not matter", async () => {
    const store = await shared(place(kind));
    const lease = await store.lease(run, { ttlMs: 500 });
    const { until, token } = lease;
    onTestFinished(() => void vi.useRealTimers());
    for (const hours of [100, -100]) {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hours * 3_600_000 });
      await sleep(700);
      const error = await failure(store.lease(run), "CONFLICT");
      expect(Math.abs(error.lease!.until - until)).toBeLessThan(60_000);
      expect([lease.token, lease.signal.aborted]).toEqual([token, false]);
      vi.useRealTimers();
    }
    expect(lease.until).toBeGreaterThan(until + 1_000);
    await lease.release();
  });

  it("closing an object releases what was leased with it, and nothing else", async () => {
    const store = await shared(place(kind));
    const [one, two] = [new WorkflowCheckpointStore(store), new WorkflowCheckpointStore(store)];
    await one.lease({ ...run, run: "one" });
    const lease = await two.lease({ ...run, run: "two" });
    await one.close();
    await store.lease({ ...run, run: "one" });
    await failure(store.lease({ ...run, run: "two" }), "CONFLICT");
    expect(lease.signal.aborted).toBe(false);
    await failure(one.lease({ ...run, run: "three" }), "CLOSED");
    await store.close();
    // The store has released it already.
    await lease.release();
    await failure(store.lease(run), "CLOSED");
  });

  it("an aborted signal takes no lease", async () => {
    const store = await shared(place(kind));
    const reason = new Error("enough");
    expect(await rejection(store.lease(run, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    const abort = new AbortController();
    const late = store.lease(run, { signal: abort.signal });
    abort.abort(reason);
    expect(await rejection(late)).toBe(reason);
    await using lease = await store.lease(run, { signal: new AbortController().signal });
    expect(lease.token).toBeGreaterThan(0);
  });

  it("a released lease writes nothing, and no lease works on another store", async () => {
    const store = await shared(place(kind));
    const checkpoints = new CheckpointStore(store);
    const lease = await checkpoints.lease({ space: "agentos", run: "run-1" });
    const mine = checkpoints.withLease(lease);
    await mine.save(checkpoint({ id: "first" }));
    const threads = new Checkpointer(store);
    const other = new CheckpointStore("memory:");
    expect(thrown(() => other.withLease(lease))).toMatchObject({ code: "INVALID_ARGUMENT" });
    await other.close();
    const elsewhere = new Checkpointer("memory:");
    await wrongType(elsewhere.put({ threadId: "t", state: 1 }, { lease }));
    await elsewhere.close();
    // A lease may guard the writes of several contracts.
    await threads.put({ threadId: "t", state: 1 }, { lease });
    await lease.release();
    const error = await failure(mine.save(checkpoint({ id: "second" })), "CONFLICT");
    expect(error.message).toContain("was released");
    expect(error.lease).toBeNull();
    await failure(threads.put({ threadId: "t", state: 2 }, { lease }), "CONFLICT");
    expect((await checkpoints.listByRun("run-1")).map(({ id }) => id)).toEqual(["first"]);
    expect(await threads.list("t")).toHaveLength(1);
    // Reads need no lease, and the view's close leaves the store open.
    expect((await mine.get("first"))!.id).toBe("first");
    await mine.close();
    await checkpoints.save(checkpoint({ id: "third" }));
  });

  it("the lists of runs say who holds each lease", async () => {
    const store = await shared(place(kind));
    const [checkpoints, workflows] = [new CheckpointStore(store), new WorkflowCheckpointStore(store)];
    const [sessions, threads] = [new SessionStore(store), new Checkpointer(store)];
    for (const id of ["a", "b", "c"]) {
      await checkpoints.save(checkpoint({ id, runId: id }));
      await workflows.save({ id, runId: id, stepIndex: 0, stepName: "s", state: {}, createdAt: 1 });
      await sessions.saveState(id, { customState: {}, messages: [] } as never);
      await threads.put({ threadId: id, state: 1 });
    }
    const lists = {
      agentos: async () => (await checkpoints.runs({ limit: 2 })).runs.map(({ runId, lease }) => [runId, lease]),
      agentium: async () => (await workflows.runs({ limit: 2 })).runs.map(({ runId, lease }) => [runId, lease]),
      helix: async () => (await sessions.sessions({ limit: 2 })).sessions.map((each) => [each.sessionId, each.lease]),
      tinyagents: async () => (await threads.threads({ limit: 2 })).threads.map((each) => [each.threadId, each.lease]),
    };
    for (const [space, list] of Object.entries(lists)) {
      expect(await list()).toEqual([
        ["c", null],
        ["b", null],
      ]);
      const lease = await store.lease({ space, run: "b" });
      await store.lease({ space, run: "a" });
      expect(await list()).toEqual([
        ["c", null],
        ["b", { holder: lease.holder, until: lease.until }],
      ]);
      await lease.release();
      expect((await list())[1]).toEqual(["b", null]);
    }
  });

  it("a workflow and a graph hold their lease while they run, and release it however they end", async () => {
    const store = await shared(place(kind));
    const checkpointStore = new WorkflowCheckpointStore<{ n: number }>(store);
    const checkpointer = new Checkpointer<{ n: number }>(store);
    const seen: unknown[] = [];
    let fails = false;
    const work = (space: string) => async () => {
      seen.push((await failure(store.lease({ space, run: "r" }), "CONFLICT")).lease!.holder);
      if (fails) throw new Error("a bug");
      return { n: 1 };
    };
    const steps = [{ name: "a", run: work("agentium") }];
    const workflow = flow(checkpointStore, { n: 0 }, steps, { lease: true, register: false });
    const graph = new Graph<{ n: number }>({
      nodes: { a: work("tinyagents") },
      entry: "a",
      reducer: (state, update) => ({ ...state, ...update }),
      checkpointer,
      lease: { ttlMs: 5_000 },
    });
    const free = async () => {
      for (const space of ["agentium", "tinyagents"]) await (await store.lease({ space, run: "r" })).release();
    };
    const begin = () => [workflow.runWithCheckpoints({ runId: "r" }), graph.invoke({ n: 0 }, { threadId: "r" })];
    await Promise.all(begin());
    await free();
    fails = true;
    for (const ended of begin()) expect((await rejection(ended)).message).toContain("a bug");
    await free();
    // A replay learns its run from the checkpoint.
    fails = false;
    const [first] = await workflow.listCheckpoints("r");
    await workflow.replay(first!.id);
    await graph.updateState("r", { n: 7 });
    await free();
    const aborted = AbortSignal.abort(new Error("stop"));
    expect((await rejection(workflow.runWithCheckpoints({ runId: "r", signal: aborted }))).message).toBe("stop");
    expect((await rejection(graph.invoke({ n: 0 }, { threadId: "r", signal: aborted }))).message).toBe("stop");
    await free();
    expect(seen.every((holder) => holder === thisProcess(seen))).toBe(true);
    expect(seen.length).toBe(5);
    // A listener of the event that a run has ended can start the run again.
    const again = new Promise((resolve, reject) => {
      workflow.events.once("run.complete", () => workflow.runWithCheckpoints({ runId: "r" }).then(resolve, reject));
    });
    await workflow.runWithCheckpoints({ runId: "r" });
    await again;
    // Somebody else has the lease: nothing runs.
    seen.length = 0;
    for (const space of ["agentium", "tinyagents"]) await store.lease({ space, run: "r" });
    for (const ended of begin()) expect((await rejection(ended)).code).toBe("CONFLICT");
    await failure(workflow.replay(first!.id), "CONFLICT");
    await failure(graph.updateState("r", { n: 8 }), "CONFLICT");
    expect(seen).toEqual([]);
  });
});

function thisProcess([first]: unknown[]): unknown {
  expect(first).toContain(`process ${process.pid} on `);
  return first;
}

it("wrong references and options are refused", async () => {
  const store = await shared("memory:");
  const each = (space: string, field: string, values: unknown[]) =>
    values.map((value) => ({ space, run: "run", [field]: value }));
  const wrong: unknown[] = [
    undefined,
    null,
    "run",
    [],
    {},
    { space: "agentium" },
    { run: "run" },
    ...each("", "space", ["storage", "lease", "__proto__"]),
    ...each("agentium", "run", ["", 1, "\ud83d"]),
    ...each("agentium", "ns", ["a", ""]),
    ...each("langgraph", "ns", [["a"], "\ud83d"]),
    ...each("tinyagents", "ns", ["a", [1]]),
    ...each("agentium", "id", ["x"]),
  ];
  for (const ref of wrong) expect((await rejection(store.lease(ref as RunRef))).code).toBe("INVALID_ARGUMENT");
  expect((await rejection(store.lease({ ...run, run: "x".repeat(4_097) }))).code).toBe("INVALID_ARGUMENT");
  await (await store.lease({ ...run, run: "x".repeat(4_096) })).release();
  for (const options of [
    null,
    1,
    [],
    { ttlMs: 0 },
    { ttlMs: 99 },
    { ttlMs: "1" },
    { ttlMs: 1.5 },
    { ttl: 1 },
    { signal: 1 },
  ])
    expect((await rejection(store.lease(run, options as never))).code).toBe("INVALID_ARGUMENT");
  const checkpoints = new CheckpointStore(store);
  const error = await rejection(checkpoints.lease({ space: "agentium", run: "run" }));
  expect(error.message).toContain('run.space must be "agentos", but is "agentium"');
  for (const lease of [undefined, null, {}, { token: 1 }])
    expect(thrown(() => checkpoints.withLease(lease as never)).code).toBe("INVALID_ARGUMENT");
  const workflows = new WorkflowCheckpointStore(store);
  const saved = { id: "c", runId: "r", stepIndex: 0, stepName: "s", state: {}, createdAt: 1 };
  await wrongType(workflows.save(saved, { lease: {} as never }));
  expect(await workflows.load("c")).toBeNull();
  // None of the refused calls holds a lease.
  await (await store.lease(run)).release();
});

it("a workflow and a graph take leases only over a store of this package", () => {
  const steps = [{ name: "a", run: async () => ({}) }];
  const storage = new InMemoryStorage();
  const foreign = { put: async () => "", get: async () => null, getTuple: async () => null, putWrites: async () => {} };
  const workflow = (config: object) => () =>
    new Workflow({ name: "w", initialState: {}, steps, register: false, ...config } as never);
  const graph = (config: object) => () =>
    new Graph({ nodes: { a: () => {} }, entry: "a", reducer: (state: object) => state, ...config } as never);
  for (const make of [
    workflow({ lease: true }),
    workflow({ lease: true, storage }),
    workflow({ lease: { ttlMs: 500 }, checkpointStore: new StorageBackedCheckpointStore(storage) }),
    graph({ lease: true }),
    graph({ lease: true, checkpointer: foreign }),
  ])
    expect(thrown(make)).toMatchObject({ name: "ForkpointError", code: "UNSUPPORTED" });
  for (const lease of ["yes", 1, null, { ttlMs: 1 }, { ttl: 500 }, []])
    for (const make of [workflow({ lease }), graph({ lease })])
      expect(thrown(make).code, String(lease)).toBe("INVALID_ARGUMENT");
  workflow({ lease: false, storage })();
  graph({ lease: false, checkpointer: foreign })();
});

describe.each(sharedKinds)("processes over %s", (kind) => {
  it("the lease of a killed process is taken at once, and its token is smaller", async () => {
    const target = place(kind);
    const store = await shared(target);
    const worker = new Worker(target);
    const { token, holder } = await worker.ask("lease", { name: "a", run });
    expect(holder).toContain(`process ${worker.program.pid} on `);
    expect((await failure(store.lease(run), "CONFLICT")).lease!.holder).toBe(holder);
    worker.program.kill();
    await worker.program.ended;
    const lease = await store.lease(run);
    expect(lease.token).toBeGreaterThan(token);
  });

  it("of two racers, exactly one gets each lease, 50 times", async () => {
    const target = place(kind);
    await (await shared(target)).close();
    const racers = [new Worker(target), new Worker(target)];
    let last = 0;
    for (let round = 0; round < 50; round++) {
      const answers = await Promise.all(racers.map((racer) => racer.ask("lease", { name: "a", run })));
      const won = answers.filter(({ token }) => token !== undefined);
      expect(won, JSON.stringify(answers)).toHaveLength(1);
      const lost = answers.find(({ code }) => code === "CONFLICT");
      expect(lost.lease.holder).toBe(won[0].holder);
      expect(won[0].token).toBeGreaterThan(last);
      last = won[0].token;
      await racers[answers.indexOf(won[0])]!.ask("release", { name: "a" });
    }
  });

  it.skipIf(windows)("a process that slept through its lease stores nothing, in every contract", async () => {
    const target = place(kind);
    const store = await shared(target);
    const worker = new Worker(target);
    await worker.ask("lease", { name: "a", run, ttlMs: 2_000 });
    const contracts = ["writes", "agentos", "agentium", "helix", "tinyagents"];
    // Pending writes need a checkpoint of their thread.
    for (const contract of contracts.toReversed())
      expect(await worker.ask("write", { contract, id: `${contract} before`, name: "a" })).toEqual({
        stored: `${contract} before`,
      });
    await worker.stop(target);
    const lease = await whenFree(store, run);
    // These commands wait until the process wakes up. The first of them is there before any of its timers. Pending writes
    // come first: they change no run, so nothing else tells them that the lease is lost.
    for (const contract of contracts) worker.tell("write", { contract, id: `${contract} after`, name: "a" });
    worker.program.kill("SIGCONT");
    for (const _ of contracts) expect(await worker.hears()).toMatchObject({ code: "CONFLICT" });
    const { aborted, reason } = await worker.ask("signal", { name: "a" });
    expect([aborted, reason.code]).toEqual([true, "CONFLICT"]);
    expect((await new CheckpointStore(store).listByRun("run")).map(({ id }) => id)).toEqual(["agentos before"]);
    const workflows = new WorkflowCheckpointStore(store);
    expect((await workflows.list("run")).map(({ id }) => id)).toEqual(["agentium before"]);
    expect(await new SessionStore(store).exists("helix before")).toBe(true);
    expect(await new SessionStore(store).exists("helix after")).toBe(false);
    const threads = new Checkpointer(store);
    expect((await threads.list("run")).map(({ checkpointId }) => checkpointId)).toEqual(["tinyagents before"]);
    // The new holder writes, and keeps its lease.
    await workflows
      .withLease(lease)
      .save({ id: "mine", runId: "run", stepIndex: 1, stepName: "b", state: {}, createdAt: 2 });
    await worker.ask("release", { name: "a" });
    await failure(store.lease(run), "CONFLICT");
  });

  it("every kind of write of a lost lease is refused by the store, as the first one under its lease", async () => {
    const target = place(kind);
    const store = await shared(target);
    const worker = new Worker(target, "blind");
    const { kinds: every } = await worker.ask("prepare");
    const runOf = (name: string): RunRef => ({ space: "agentos", run: `leased for ${name}` });
    // A refusal tells the process that its lease is lost. So each kind has a lease of its own, of which it knows nothing.
    for (const name of every) await worker.ask("lease", { name, run: runOf(name), ttlMs: 300 });
    const taken = new Map<string, Lease>();
    for (const name of every) taken.set(name, await whenFree(store, runOf(name)));
    const [one] = every;
    expect(await worker.ask("signal", { name: one })).toEqual({ aborted: false });
    const content = async () => [await contentOf(store), await pendingWrites(store)];
    const before = await content();
    for (const name of every) {
      const told = await worker.ask("writeOfKind", { kind: name, name });
      // All that are stored by mistake are named.
      expect.soft(told, name).toMatchObject({
        code: "CONFLICT",
        lease: { holder: taken.get(name)!.holder },
        message: expect.stringContaining("was lost, because"),
      });
    }
    expect(await content()).toEqual(before);
    expect((await worker.ask("signal", { name: one })).aborted).toBe(true);
    // A late release removes nothing.
    await worker.ask("release", { name: one });
    await failure(store.lease(runOf(one)), "CONFLICT");
    // None of them was refused for another reason: all are stored under leases that are held.
    for (const name of every) {
      await taken.get(name)!.release();
      await worker.ask("lease", { name, run: runOf(name), ttlMs: 300 });
      expect(await worker.ask("writeOfKind", { kind: name, name })).toEqual({ stored: name });
    }
  });

  it.skipIf(windows)("a process that slept for its ttl has lost its lease, even if nobody took it", async () => {
    const target = place(kind);
    const store = await shared(target);
    const worker = new Worker(target);
    await worker.ask("lease", { name: "a", run, ttlMs: 1_000 });
    await worker.stop(target);
    await sleep(1_500);
    worker.tell("write", { contract: "agentium", id: "after", name: "a" });
    worker.program.kill("SIGCONT");
    expect(await worker.hears()).toMatchObject({ code: "CONFLICT", lease: null });
    expect(await new WorkflowCheckpointStore(store).load("after")).toBeNull();
  });

  it.each(runners)(
    "two processes resume one %s: the second is told, and goes on after a kill",
    async (what, space, place_) => {
      const target = place(kind);
      const [one, two] = [new Worker(target), new Worker(target)];
      const given = { runId: "r", threadId: "r", ttlMs: 20_000 };
      one.tell(what, given);
      expect(await one.hears()).toEqual({ event: place_ });
      const told = await two.ask(what, given);
      expect(told).toMatchObject({ code: "CONFLICT" });
      expect(told.lease.holder).toContain(`process ${one.program.pid} on `);
      expect(told.message).toContain(`process ${one.program.pid} on `);
      one.program.kill();
      await one.program.ended;
      two.tell(what, given);
      expect(await two.hears()).toEqual({ event: place_ });
      two.tell("goOn");
      const ends = [await two.hears(), await two.hears()];
      expect(ends).toContainEqual({ state: { n: 3 } });
      await (await (await shared(target)).lease({ space, run: "r" })).release();
    },
  );

  it.skipIf(windows).each(runners)(
    "a %s that slept through its lease stops with that error, and stores nothing",
    async (what, space, place_) => {
      const target = place(kind);
      const store = await shared(target);
      const count = async () =>
        (await new WorkflowCheckpointStore(store).list("r")).length + (await new Checkpointer(store).list("r")).length;
      const worker = new Worker(target);
      worker.tell(what, { runId: "r", threadId: "r", ttlMs: 2_000 });
      expect(await worker.hears()).toEqual({ event: place_ });
      const before = await count();
      expect(before).toBeGreaterThan(0);
      await worker.stop(target);
      const lease = await whenFree(store, { space, run: "r" });
      worker.tell("goOn");
      worker.program.kill("SIGCONT");
      const ends = [await worker.hears(), await worker.hears()];
      expect(ends).toContainEqual(expect.objectContaining({ code: "CONFLICT" }));
      expect(ends.find(({ code }) => code !== undefined).message).toContain("was lost");
      expect(await count()).toBe(before);
      expect(lease.signal.aborted).toBe(false);
    },
  );
});

describe.runIf(!windows)(`a leased run on ${durable}`, () => {
  it("has effects that belong to the process with the lease", async () => {
    const target = place(durable);
    const store = await shared(target);
    const lost = { code: "CONFLICT", message: expect.stringContaining("was lost") };
    /** A process whose lease is lost ends its effect. Returns what its run rejects with. */
    const ends = async (worker: Worker) => {
      worker.tell("goOn");
      worker.program.kill("SIGCONT");
      const said = [await worker.hears(), await worker.hears(), await worker.hears()];
      expect(said).toContainEqual({ event: "goes on" });
      expect(said).toContainEqual({ event: "once rejects", ...lost });
      const rejected = said.find(({ event }) => event === undefined);
      expect(rejected).toMatchObject(lost);
      return rejected;
    };
    const passes = async (what: string, space: string) => {
      const of = { space, run: "r" };
      const given = { runId: "r", threadId: "r", ttlMs: 1_200 };
      const runs = space === "agentium" ? new WorkflowCheckpointStore(store) : new Checkpointer(store);
      const stored = async () => [await runs.list("r"), await effects(store).list(of)];
      const [first, second, third] = [new Worker(target), new Worker(target, "blind"), new Worker(target)];
      const { idempotencyKey } = await first.ask(what, given);
      await first.stop(target);
      const lease = await whenFree(store, of);
      // Nobody has begun the effect again: only the lease keeps the first process from storing its result.
      const before = await stored();
      await ends(first);
      expect(await stored()).toEqual(before);
      await lease.release();
      expect(await second.ask(what, given)).toEqual({ event: "in the effect", idempotencyKey, attempt: 1 });
      // The second one notices nothing, until the store refuses its result.
      let told: any;
      // Nobody waits for the end of its lease.
      do told = await third.ask(what, { ...given, ttlMs: 20_000 });
      while (told.code === "CONFLICT");
      expect(told).toEqual({ event: "in the effect", idempotencyKey, attempt: 2 });
      const meanwhile = await stored();
      expect((await ends(second)).lease.holder).toContain(`process ${third.program.pid} on `);
      expect(await stored()).toEqual(meanwhile);
      third.tell("goOn");
      const end = [await third.hears(), await third.hears(), await third.hears()];
      expect(end).toContainEqual({ state: { n: 1, paid: third.program.pid } });
      const listed = await effects(store).list(of);
      expect(listed).toMatchObject([{ state: "done", attempts: 3, idempotencyKey }]);
    };
    await Promise.all([passes("payWorkflow", "agentium"), passes("payGraph", "tinyagents")]);
  });
});

it("hostile values in place of a lease are refused", async () => {
  const store = await shared("memory:");
  const checkpoints = new CheckpointStore(store);
  const threads = new Checkpointer(store);
  for (const [what, value] of variants({ token: 1, holder: "x" })) {
    expect([what, thrown(() => checkpoints.withLease(value as Lease)).code]).toEqual([what, "INVALID_ARGUMENT"]);
    if (value === undefined) continue;
    const error = await rejection(threads.put({ threadId: "t", state: 1 }, { lease: value as Lease }));
    expect([what, error.code]).toEqual([what, "INVALID_ARGUMENT"]);
  }
  expect(await threads.listThreads()).toEqual([]);
});
