// Tests the channels of `node:diagnostics_channel`: every contract tells its calls on them, and never what is stored.
// @module-tag threads
import { AsyncLocalStorage } from "node:async_hooks";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { tracingChannel } from "node:diagnostics_channel";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type CallContext, CheckpointStore, copyStore, openStore } from "forkpoint";
import { ForkpointStorage, StorageBackedCheckpointStore, Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { effects } from "forkpoint/effects";
import { SessionStore } from "forkpoint/helix";
import { openInspector } from "forkpoint/inspect";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkpoint, damage, failure, fixture, folder, holding, kinds, open, place, windows } from "./helpers.js";
import { everything, isQuiet, kinds as channelKinds, listen } from "./listening.js";
import { holdFile } from "./lock.js";

/** A text that is in every stored value of these tests, and must be in no context. */
const SECRET = "s3cret-value";

/** Closes a store when the running test ends. */
function closing<T extends { close(): Promise<void> }>(store: T): T {
  onTestFinished(() => store.close());
  return store;
}

describe.each(kinds)("%s: the calls of", (kind) => {
  test("AgentOS", async () => {
    const listening = listen();
    const store = open(place(kind));
    const one = { ...holding({ SECRET }), id: "c1", runId: "r1" };
    await store.save(one);
    await store.get("c1");
    await store.get("none");
    await store.load("r1", "node-1");
    await store.latest("r1");
    await store.list(one.graphId);
    await store.listByRun("r1");
    const { runs } = await store.runs();
    expect(runs).toHaveLength(1);
    const forked = await store.fork("c1");
    const fork = (await store.latest(forked))!;
    await store.delete(fork.id);
    await store.clear("r1");
    expect(listening.lines()).toEqual([
      "save save agentos r1||c1 bytes",
      "read get agentos ||c1 bytes -> found",
      "read get agentos ||none empty -> missing",
      "read load agentos r1|| bytes -> found",
      "read load agentos r1|| bytes -> found",
      "read list agentos || -> 1",
      "read list agentos r1|| -> 1",
      "read runs agentos || -> 1",
      "read get agentos ||c1 bytes -> found",
      `save fork agentos ${forked}||${fork.id}`,
      `read load agentos ${forked}|| bytes -> found`,
      `prune delete agentos ||${fork.id}`,
      "prune clear agentos r1||",
    ]);
  });

  test("every save, with what it has cost", async () => {
    const listening = listen();
    const store = closing(await openStore(place(kind)));
    const checkpoints = new CheckpointStore(store);
    const sessions = new SessionStore<{ SECRET: string }>(store);
    await checkpoints.save({ ...holding({ SECRET }), id: "c0", runId: "r" });
    const ids = Array.from({ length: 20 }, (_, n) => `c${n + 1}`);
    // A fast disk may commit each of 20 saves before the next one arrives. Then the saves are repeated under other ids.
    const most = () => Math.max(...listening.ended("save").map(({ batch }) => batch!));
    const limit = kind === "memory" ? 1 : 100;
    let rounds = 0;
    do {
      rounds += 1;
      const round = rounds === 1 ? "" : ` ${rounds}`;
      await Promise.all(
        ids.map((id) => checkpoints.save({ ...holding({ SECRET }), id: id + round, runId: `run ${id}${round}` })),
      );
    } while (most() === 1 && rounds < limit);
    await checkpoints.fork("c1");
    await sessions.createSession("s", { agentType: "a", initialState: { SECRET } });
    await checkpoints.get("c1");
    const saves = listening.ended("save");
    expect(saves).toHaveLength(1 + rounds * ids.length + 2);
    for (const { operation, storedBytes, queueMs, commitMs, batch } of saves) {
      expect(queueMs).toBeGreaterThanOrEqual(0);
      expect(commitMs).toBeGreaterThan(0);
      expect(batch).toBeGreaterThanOrEqual(1);
      expect(batch).toBeLessThanOrEqual(ids.length);
      // A session is no checkpoint of a run, but is stored as one.
      expect(storedBytes, operation).toBeGreaterThan(0);
    }
    expect(saves[0]!.batch).toBe(1);
    // A store in memory commits each save alone.
    if (kind === "memory") expect(most()).toBe(1);
    else expect(most()).toBeGreaterThan(1);
    const { storedBytes } = await store.stats();
    expect(saves.reduce((sum, save) => sum + save.storedBytes!, 0)).toBe(storedBytes);
    // Nobody measures a read, or a save that failed.
    await checkpoints.fork("none").catch(() => {});
    for (const call of [...listening.ended("read"), listening.ended("save").at(-1)!]) {
      expect(call).not.toHaveProperty("batch");
    }
    for (const { before, event } of listening.heard) {
      if (event === "start" || event === "end") expect(before).not.toHaveProperty("commitMs");
    }
  });

  test("Agentium's checkpoints, and of a workflow", async () => {
    const listening = listen();
    const store = closing(new WorkflowCheckpointStore<{ n: number; SECRET: string }>(place(kind)));
    const state = { n: 0, SECRET };
    await store.save({ id: "r:step-0", runId: "r", stepIndex: 0, stepName: "a", state, createdAt: 1 });
    await store.load("r:step-0");
    await store.load("none");
    await store.latest("r");
    await store.list("r");
    await store.timeline("r");
    await store.runs();
    await store.delete("r:step-0");
    await store.clear("r");
    expect(listening.lines()).toEqual([
      "save save agentium r||r:step-0 bytes",
      "read load agentium ||r:step-0 bytes -> found",
      "read load agentium ||none empty -> missing",
      "read latest agentium r|| bytes -> found",
      "read list agentium r|| bytes -> 1",
      "read timeline agentium r|| -> 1",
      "read runs agentium || -> 1",
      "prune delete agentium ||r:step-0",
      "prune clear agentium r||",
    ]);
    const steps = ["a", "b"].map((name) => ({ name, run: async ({ n }: { n: number }) => ({ n: n + 1 }) }));
    const workflow = new Workflow({ name: "w", initialState: state, checkpointStore: store, steps });
    const { runId } = await workflow.runWithCheckpoints();
    const saves = listening.lines().filter((line) => line.startsWith("save"));
    expect(saves.length).toBeGreaterThanOrEqual(2);
    for (const line of saves) expect(line).toContain(`save save agentium ${runId}||${runId}:`);
    expect(everything(listening)).not.toContain(SECRET);
  });

  test("Agentium's storage driver", async () => {
    const listening = listen();
    const driver = closing(new ForkpointStorage(place(kind)));
    await driver.set("ns", "key", { SECRET });
    await driver.get("ns", "key");
    await driver.get("ns", "none");
    await driver.list("ns", "k");
    await driver.delete("ns", "key");
    expect(listening.lines()).toEqual([
      "save set storage key|ns| bytes",
      "read get storage key|ns| bytes -> found",
      "read get storage none|ns| empty -> missing",
      "read list storage |ns| bytes -> 1",
      "prune delete storage key|ns|",
    ]);
    const store = new StorageBackedCheckpointStore<{ SECRET: string }>(driver);
    await store.save({ id: "r:step-0", runId: "r", stepIndex: 0, stepName: "a", state: { SECRET }, createdAt: 1 });
    const lines = listening.lines();
    expect(lines.some((line) => /^save set storage .+\|.+\| bytes$/.test(line))).toBe(true);
    expect(new Set(lines.map((line) => line.split(" ")[2]))).toEqual(new Set(["storage"]));
  });

  test("TinyAgents", async () => {
    const listening = listen();
    const store = closing(new Checkpointer<{ SECRET: string }>(place(kind)));
    const config = { threadId: "t", checkpointId: "c1" };
    await store.put({ threadId: "t", checkpointId: "c1", state: { SECRET } });
    await store.put({ threadId: "t", checkpointId: "c2", namespace: ["a"], state: { SECRET } });
    await store.putWrites(config, [{ node: "n", taskId: "task", idx: 0, channel: "c", payload: SECRET }]);
    await store.get("t");
    await store.get("t", "none");
    await store.list("t");
    await store.threads();
    await store.deleteCheckpoints("t", ["c1"]);
    await store.deleteThread("t");
    const lines = listening.lines();
    const wanted = [
      "save put tinyagents t||c1 bytes",
      'save put tinyagents t|["a"]|c2 bytes',
      "save putWrites tinyagents t||c1 bytes",
      "read last tinyagents t|| bytes -> found",
      "read last tinyagents t||none empty -> missing",
      "prune delete tinyagents t|| -> 1",
      "prune deleteThread tinyagents t||",
    ];
    expect(lines).toEqual(expect.arrayContaining(wanted));
    expect(lines).toContain("read list tinyagents t|| bytes -> 2");
    expect(lines).toContainEqual(expect.stringMatching(/^read namespaces tinyagents \|\| -> \d$/));
  });

  test("TinyAgents, whose keys name a thread in any script", async () => {
    const listening = listen();
    const store = closing(new Checkpointer<number>(place(kind)));
    const threadId = "12:Füße 👟\n|";
    await store.put({ threadId, checkpointId: "c1", state: 1 });
    await store.deleteCheckpoints(threadId, ["c1"]);
    expect(listening.ended("prune")).toMatchObject([{ operation: "delete", run: threadId, result: 1 }]);
  });

  test("effects, whose keys and results nobody hears", async () => {
    const listening = listen();
    const once = effects(closing(await openStore(place(kind))));
    const run = { space: "agentos", run: "r" };
    await once(run, `mail ${SECRET}`, () => ({ to: SECRET }));
    await once(run, `mail ${SECRET}`, () => 1);
    await once.list(run);
    await once.forget(run);
    const lines = listening.ended().map(({ operation, result }) => [operation, result]);
    expect(lines).toEqual([
      ["effectFind", "found"],
      ["effectBegin", undefined],
      ["effectWrite", undefined],
      ["effectFind", "found"],
      ["effectList", 1],
      ["effectList", 1],
      ["effectRemove", 1],
    ]);
    for (const context of listening.ended()) {
      expect(context).toMatchObject({ space: "agentos", run: "r", id: null });
      expect(JSON.stringify(context)).not.toContain(SECRET);
    }
    const [written] = listening.ended("save").slice(-1);
    expect(written!.bytes).toBeGreaterThan(0);
    expect(written!.commitMs).toBeGreaterThanOrEqual(0);
  });

  test("Helix", async () => {
    const listening = listen();
    const store = closing(new SessionStore<{ SECRET: string }>(place(kind)));
    await store.createSession("s", { agentType: "a", initialState: { SECRET } });
    await store.appendMessages("s", [{ role: "user", content: SECRET }]);
    await store.getMessages("s");
    const state = (await store.loadState("s"))!;
    await store.saveCheckpoint({ id: "c1", sessionId: "s", stepCount: 1, timestamp: 1, state, streamSequence: 0 });
    await store.getCheckpoint("c1");
    await store.getLatestCheckpoint("s");
    await store.listCheckpoints("s");
    await store.branchSession("c1", "s2");
    await store.sessions();
    await store.deleteSession("s2");
    const ended = listening.ended();
    expect(new Set(ended.map(({ space }) => space))).toEqual(new Set(["helix"]));
    const lines = listening.lines();
    const wanted = [
      "save change helix s|| bytes",
      "save append helix s|| bytes",
      "read messages helix s|| bytes -> 1",
      "read session helix s|| bytes -> found",
      "save save helix s||c1 bytes",
      "read load helix ||c1 bytes -> found",
      "read latest helix s|| bytes -> found",
      "read list helix s|| -> 1",
      "read sessions helix || -> 2",
      "prune delete helix s2||",
    ];
    expect(lines).toEqual(expect.arrayContaining(wanted));
    expect(
      lines.filter((line) => /^save branch helix s2\|\|.+ bytes$/.test(line)),
      lines.join("\n"),
    ).toHaveLength(1);
  });

  test("the store itself, and retention", async () => {
    const listening = listen();
    const store = closing(await openStore(place(kind)));
    const checkpoints = new CheckpointStore(store);
    for (let n = 0; n < 3; n++) await checkpoints.save(checkpoint({ id: `c${n}`, runId: "r", timestamp: n }));
    listening.heard.length = 0;
    await store.prune({ keepLastN: 2, dryRun: true });
    expect(await store.prune({ keepLastN: 2 })).toMatchObject({ removed: 1 });
    expect(await checkpoints.prune({ keepLastN: 1 })).toMatchObject({ removed: 1 });
    await store.stats();
    await store.check();
    await store.vacuum();
    // A check reads page by page.
    const lines = listening.lines().filter((line, at, all) => line !== all[at - 1]);
    expect(lines).toEqual([
      "read prunable - || -> 1",
      "prune prune - || -> 1",
      "prune prune agentos || -> 1",
      "read stats - || -> found",
      "read check - || -> 0",
      "prune vacuum - ||",
    ]);
  });

  test("the inspector, with the spaces that it looks at, and without the looks of a watch", async () => {
    const store = closing(await openStore(place(kind)));
    const checkpoints = new CheckpointStore(store);
    await checkpoints.save({ ...holding({ SECRET }), id: "c1", runId: "r1" });
    const listening = listen();
    const inspector = closing(await openInspector(store, { write: true }));
    const run = { space: "agentos", run: "r1" };
    expect((await inspector.runs()).items).toHaveLength(1);
    await inspector.checkpoint({ ...run, id: "c1" });
    for await (const event of inspector.watch({ last: 1 })) {
      expect(event).toMatchObject({ type: "saved" });
      break;
    }
    await inspector.remove(run);
    const told = listening.lines();
    expect(told).toContain("read recent - || -> 1");
    expect(told).toContain("read read agentos r1||c1 bytes -> found");
    expect(told.filter((line) => !line.startsWith("read"))).toEqual(["prune remove agentos r1||"]);
    expect(told.filter((line) => line.includes(" feed "))).toEqual([]);
    expect(everything(listening)).not.toContain(SECRET);
  });

  test("opening, with the place and the backend", async () => {
    const listening = listen();
    const target = place(kind);
    const store = closing(await openStore(target));
    const own = open(kind === "memory" ? "memory:" : place(kind));
    await own.latest("r");
    // A store that was given is not opened again.
    await new CheckpointStore(store).latest("r");
    const [first, second, ...more] = listening.ended("open");
    expect(more).toEqual([]);
    expect(first).toMatchObject({ operation: "open", space: null, run: null, id: null, bytes: null, backend: kind });
    expect(second).toMatchObject({ operation: "open", backend: kind });
    if (kind === "memory") expect(first!.target).toBe("memory:");
    else if (kind !== "postgres") expect(first!.target).toBe(target.replace(/^jsonl:/, ""));
    for (const { target: told, backend } of listening.ended("read")) {
      expect([first!.target, second!.target]).toContain(told);
      expect(backend).toBe(kind);
    }
  });

  test("all of them begin and end in order, with one context each, and with the error that the caller gets", async () => {
    const listening = listen();
    const store = open(place(kind));
    await Promise.all(Array.from({ length: 20 }, (_, n) => store.save(checkpoint({ id: `c${n}`, runId: `r${n}` }))));
    const error = await failure(store.fork("none"), "NOT_FOUND");
    const failed = listening.ended("save").at(-1)!;
    expect(failed).toMatchObject({ operation: "fork", space: "agentos", bytes: null });
    expect([failed.error, "result" in failed, listening.failures]).toEqual([error, false, []]);
    const contexts = new Map<CallContext, string[]>();
    for (const { context, event } of listening.heard) contexts.set(context, [...(contexts.get(context) ?? []), event]);
    expect(contexts.size).toBe(23);
    for (const [context, events] of contexts) {
      const errors = context.operation === "fork" ? ["error"] : [];
      expect(events).toEqual(["start", "end", ...errors, "asyncStart", "asyncEnd"]);
    }
    // What is only known at the end is not there at the start.
    for (const { event, before } of listening.heard) {
      if (event === "start") expect([before.result, before.error]).toEqual([undefined, undefined]);
    }
  });

  test("nothing that was stored is told, and nothing of it in errors", async () => {
    const listening = listen();
    const target = place(kind);
    const store = open(target, { maxPayloadBytes: 20_000 });
    const one = { ...holding({ SECRET, list: [SECRET] }), nodeResults: { n: { output: SECRET } as never } };
    await store.save(one);
    await store.fork(one.id, { scratch: { SECRET } as never });
    await store.get(one.id);
    await failure(store.save(holding({ SECRET, noise: randomBytes(30_000) })), "INVALID_ARGUMENT");
    await store.runs();
    const sessions = new SessionStore<any>(closing(await openStore(place(kind))));
    await sessions.createSession("s", { agentType: "a", initialState: { SECRET } });
    await sessions.stageChanges("s", { SECRET });
    await sessions.appendMessages("s", [{ role: "user", content: SECRET }]);
    expect(listening.heard.length).toBeGreaterThan(30);
    expect(everything(listening)).not.toContain(SECRET);
  });
});

describe("a password", () => {
  test("is in no context and no failure", async () => {
    const listening = listen();
    const login = `user:${SECRET}`;
    const url = `postgres://${login}@127.0.0.1:1/agents`;
    const busyTimeoutMs = 50;
    const errors = [
      await failure(openStore(url, { busyTimeoutMs }), "UNAVAILABLE"),
      await failure(
        openStore("postgres://127.0.0.1:1/agents", { busyTimeoutMs, password: () => SECRET }),
        "UNAVAILABLE",
      ),
      await failure(open(url, { busyTimeoutMs }).save(checkpoint()), "UNAVAILABLE"),
    ];
    const opened = listening.ended("open");
    expect(opened.slice(0, 2).map(({ error }) => error)).toEqual(errors.slice(0, 2));
    const saved = listening.ended("save");
    expect(saved.map(({ error }) => error)).toEqual([errors[2]]);
    for (const { target, backend } of [...opened, ...saved]) {
      expect(backend).toBe("postgres");
      expect(target).toContain("127.0.0.1:1/agents");
    }
    const all = everything(listening);
    expect(all).not.toContain(SECRET);
    expect(all).not.toContain(encodeURIComponent(SECRET));
  });
});

describe("forkpoint:busy", () => {
  test("a save that is refused while too many bytes wait, once", async () => {
    const listening = listen();
    const store = open(place(kinds[0]!), { maxQueueBytes: 1 });
    const first = store.save(checkpoint({ id: "a" }));
    const error = await failure(store.save(checkpoint({ id: "b" })), "BUSY");
    await first;
    const about = { operation: "save", space: "agentos", run: null, ns: null, id: null };
    expect(listening.failures).toEqual([
      { channel: "forkpoint:busy", ...about, target: expect.any(String), backend: kinds[0], error },
    ]);
    expect(listening.failures[0]!.error).toBe(error);
    // The refused save is one that failed, for those who count saves.
    expect(listening.ended("save").map((context) => [context.id, context.error])).toContainEqual([null, error]);
    expect(listening.ended("save")).toHaveLength(2);
  });

  test.skipIf(windows)("calls that wait too long for another process", { timeout: 60_000 }, async () => {
    const file = join(folder(), "agent.db");
    const holder = await holdFile(file);
    try {
      const listening = listen();
      const store = open(file, { busyTimeoutMs: 10 });
      const error = await failure(store.save(checkpoint({ id: "c", runId: "r" })), "BUSY");
      expect(error).toMatchObject({ retryable: true, cause: { code: "SQLITE_BUSY", errno: 5 } });
      expect("outcome" in error).toBe(false);
      const about = { operation: "save", space: "agentos", run: "r", ns: null, id: "c" };
      expect(listening.failures.filter(({ operation }) => operation === "save")).toEqual([
        { channel: "forkpoint:busy", ...about, target: file, backend: "sqlite", error },
      ]);
      // A call that is on no tracing channel. The opening of the store fails too, before or after this call.
      const lease = await failure(store.lease({ space: "agentos", run: "r2" }), "BUSY");
      const taken = listening.failures.filter(({ operation }) => operation === "take");
      expect(taken).toMatchObject([{ operation: "take", space: "agentos", run: "r2", error: lease }]);
    } finally {
      await holder.end();
    }
  });

  test("is heard without any tracing channel", async () => {
    const heard: unknown[] = [];
    const { subscribe, unsubscribe } = await import("node:diagnostics_channel");
    const hear = (message: unknown) => heard.push(message);
    subscribe("forkpoint:busy", hear);
    onTestFinished(() => void unsubscribe("forkpoint:busy", hear));
    const store = open("memory:", { maxQueueBytes: 1 });
    const first = store.save(checkpoint());
    await failure(store.save(checkpoint()), "BUSY");
    await first;
    expect(heard).toHaveLength(1);
  });
});

describe("forkpoint:corrupt", () => {
  test("damaged bytes, with the ids of the read", async () => {
    const file = join(folder(), "agent.db");
    const before = new CheckpointStore(file);
    await before.save({ ...holding({ text: "needle", noise: randomBytes(4_000) }), id: "c1", runId: "r1" });
    await before.close();
    damage(file, "needle");
    const listening = listen();
    const store = open(file);
    const error = await failure(store.latest("r1"), "CORRUPT");
    const about = { operation: "load", space: "agentos", run: "r1", ns: null, id: null };
    expect(listening.failures).toEqual([
      { channel: "forkpoint:corrupt", ...about, target: file, backend: "sqlite", error },
    ]);
    expect(listening.ended("read")).toMatchObject([{ operation: "load", error }]);
    // Two that are no calls of a contract. They are on no tracing channel.
    const copy = join(folder(), "copy.db");
    const copied = await failure(copyStore(file, copy), "CORRUPT");
    const whole = closing(await openStore(file));
    const backedUp = await failure(whole.backup(join(folder(), "backup.db")), "CORRUPT");
    expect(listening.failures.slice(1)).toMatchObject([
      { operation: "copy", space: null, target: copy, error: copied },
      { operation: "backup", space: null, target: file, error: backedUp },
    ]);
  });

  test("a file that is no database, when it is opened", async () => {
    const file = join(folder(), "agent.db");
    writeFileSync(file, randomBytes(8_192));
    const listening = listen();
    const error = await failure(openStore(file), "CORRUPT");
    expect(listening.failures).toMatchObject([{ operation: "open", space: null, target: file }]);
    expect(listening.failures[0]!.error).toBe(error);
    expect(listening.ended("open")).toMatchObject([{ target: file, error }]);
  });

  test("a value that its serializer cannot read, once", async () => {
    const target = place(kinds.at(-1)!);
    const broken = () => {
      throw new Error(SECRET);
    };
    const serializer = (deserialize: (bytes: Uint8Array) => unknown) => ({
      name: "mine",
      serialize: (value: unknown) => Buffer.from(JSON.stringify(value)),
      deserialize,
    });
    const writer = new CheckpointStore(target, {
      serializer: serializer((bytes) => JSON.parse(Buffer.from(bytes).toString())),
    });
    await writer.save({ ...checkpoint(), id: "c1", runId: "r1" });
    await writer.close();
    const listening = listen();
    const store = open(target, { serializer: serializer(broken) });
    const error = await failure(store.get("c1"), "CORRUPT");
    expect(listening.failures).toHaveLength(1);
    expect(listening.failures[0]).toMatchObject({ operation: "read", space: "agentos", run: null, id: null });
    expect(listening.failures[0]!.error).toBe(error);
    // The engine has found the bytes.
    expect(listening.ended("read")).toMatchObject([{ operation: "get", id: "c1", result: "found" }]);
  });
});

describe("subscribers", () => {
  test("see the asynchronous context of the caller, at the start and at the end", async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: Array<string | undefined> = [];
    const { start, asyncEnd } = tracingChannel("forkpoint:save");
    const look = () => void seen.push(storage.getStore());
    for (const channel of [start, asyncEnd]) {
      channel.subscribe(look);
      onTestFinished(() => void channel.unsubscribe(look));
    }
    const store = open(place(kinds.at(-1)!));
    await Promise.all(["a", "b"].map((id) => storage.run(id, () => store.save(checkpoint({ id, runId: id })))));
    expect(seen.toSorted()).toEqual(["a", "a", "b", "b"]);
  });

  test("may bind a store to the start of a call", async () => {
    const storage = new AsyncLocalStorage<{ of: string | null }>();
    const { start, asyncEnd } = tracingChannel<unknown, CallContext>("forkpoint:save");
    const seen: unknown[] = [];
    const look = () => void seen.push(storage.getStore());
    start.bindStore(storage as AsyncLocalStorage<unknown>, ({ id }) => ({ of: id }));
    asyncEnd.subscribe(look);
    onTestFinished(() => {
      start.unbindStore(storage as AsyncLocalStorage<unknown>);
      asyncEnd.unsubscribe(look);
    });
    const store = open(place(kinds.at(-1)!));
    await store.save(checkpoint({ id: "bound" }));
    expect(seen).toEqual([{ of: "bound" }]);
    expect(storage.getStore()).toBeUndefined();
  });

  test("that come during a call hear nothing of it, and those that go disturb nothing", async () => {
    const store = open(place(kinds.at(-1)!));
    await store.latest("r");
    const saving = store.save(checkpoint({ id: "a" }));
    const listening = listen();
    await saving;
    expect(listening.heard).toEqual([]);

    const { start } = tracingChannel("forkpoint:read");
    const leave = () => void start.unsubscribe(leave);
    start.subscribe(leave);
    expect((await store.get("a"))!.id).toBe("a");
  });

  test("that throw, or spoil the context, disturb no save: Node reports them", () => {
    const args = [pathToFileURL(fixture("throwing-subscriber.mjs")).pathname, join(folder(), "agent.db")];
    const env = { ...process.env, NODE_OPTIONS: "" };
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8", env });
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    expect(JSON.parse(stdout)).toEqual({
      saved: ["thrown", "frozen"],
      found: ["thrown", "frozen"],
      // One for each of the five events: `error` is not among those of a call that succeeds.
      reported: { start: 1, bindStore: 1, end: 1, asyncStart: 1, asyncEnd: 1, frozen: 1 },
    });
  });

  test("are all gone after each test", () => {
    for (const kind of channelKinds) expect(tracingChannel(`forkpoint:${kind}`).hasSubscribers).toBe(false);
    expect(isQuiet("forkpoint:busy") && isQuiet("forkpoint:corrupt")).toBe(true);
  });
});
