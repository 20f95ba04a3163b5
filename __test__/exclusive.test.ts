// Work on a run alone: the policies for a busy run, stops, and what other writes get. With real processes that are killed.
// FORKPOINT_TEST_MEETINGS=500 npm test -- __test__/exclusive.test.ts lets ten processes with five stores each work on 500 runs.
// @module-tag slow
import { setTimeout as sleep } from "node:timers/promises";
import { CheckpointStore, type ExclusiveOptions, type WhenBusy } from "forkpoint";
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { effects } from "forkpoint/effects";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer, Graph } from "forkpoint/tinyagents";
import { describe, expect, it, onTestFinished } from "vitest";
import { opened } from "./contents.js";
import { Worker } from "./exclusive-worker.js";
import { amount, isLong, randomBelow, repeat, seed } from "./faults/faults.js";
import { append } from "./fixtures/append.mjs";
// @ts-expect-error: a program without types
import { leaseReader } from "./fixtures/killed.mjs";
import {
  Gate,
  closing,
  expectSound,
  failure,
  kinds,
  place,
  rejection,
  sharedKinds,
  windows,
  wrongType,
} from "./helpers.js";

const random = randomBelow(seed);

/** Rejects when the signal aborts. */
const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });

describe.each(kinds)("%s", (kind) => {
  const store = async () => {
    const shared = await opened(place(kind));
    return { shared, graphs: new CheckpointStore(shared) };
  };

  /** Works on the run until the gate is opened, or the signal aborts. */
  const holds = (graphs: CheckpointStore, gate: Gate, name: string, options?: ExclusiveOptions) =>
    graphs.exclusive(
      "run",
      async (signal) => {
        await append(graphs, "run", `${name} begins`);
        await Promise.race([gate.wait(), aborted(signal)]);
        return append(graphs, "run", `${name} ends`);
      },
      options,
    );

  it("wrong arguments are refused before anything is taken", async () => {
    const { graphs } = await store();
    await wrongType(graphs.exclusive(7 as never, () => 1));
    await wrongType(graphs.exclusive("", () => 1));
    await wrongType(graphs.exclusive({ space: "agentos", run: "run" } as never, () => 1));
    await wrongType(graphs.exclusive({ run: "run", ns: "sub" }, () => 1));
    await wrongType(graphs.exclusive("run", "work" as never));
    for (const options of [{ whenBusy: "wait" }, { maxWaitMs: -1 }, { ttlMs: 7 }, { by: 7 }, { other: 1 }, 7])
      expect(await rejection(graphs.exclusive("run", () => 1, options as never))).toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    await failure(
      new SessionStore(place(kind)).exclusive("run", () => 1, { whenBusy: "rollback" }),
      "UNSUPPORTED",
    );
    await wrongType(graphs.stop(7 as never));
    await rejection(graphs.stop("run", { waitMs: "long" as never }));
    expect(await graphs.exclusive("run", () => 1)).toBe(1);
    const reason = new Error("gone");
    expect(await rejection(graphs.exclusive("run", () => 1, { signal: AbortSignal.abort(reason) }))).toBe(reason);
  });

  it("the second call is refused, waits in its turn, or stops the first", async () => {
    const { graphs } = await store();
    const gates = [new Gate(), new Gate(), new Gate(), new Gate()] as const;
    const first = holds(graphs, gates[0], "first");
    await gates[0].reached;
    const busy = await failure(holds(graphs, gates[1], "refused"), "CONFLICT");
    expect(busy).toMatchObject({ retryable: true, lease: { holder: expect.stringContaining(`${process.pid}`) } });
    const late = await failure(holds(graphs, gates[1], "late", { whenBusy: "enqueue", maxWaitMs: 50 }), "CONFLICT");
    expect(late.message).toContain("50 ms");
    const gone = new AbortController();
    const left = holds(graphs, gates[1], "left", { whenBusy: "enqueue", signal: gone.signal });
    const queued = [1, 2, 3].map((n) => holds(graphs, gates[1], `queued ${n}`, { whenBusy: "enqueue" }));
    gone.abort(new Error("left"));
    expect((await rejection(left)).message).toBe("left");
    gates[1].open();
    gates[0].open();
    expect(await first).toEqual(["first begins", "first ends"]);
    const logs = await Promise.all(queued);
    expect(logs[2]).toEqual(
      ["first", "queued 1", "queued 2", "queued 3"].flatMap((name) => [`${name} begins`, `${name} ends`]),
    );
    const second = holds(graphs, gates[2], "second");
    await gates[2].reached;
    // Who queues waits longer than who stops the holder.
    const waits = holds(graphs, gates[1], "last", { whenBusy: "enqueue" });
    gates[3].open();
    const third = holds(graphs, gates[3], "third", { whenBusy: "interrupt", by: "Ana", reason: "a new message" });
    expect(await failure(second, "STOPPED")).toMatchObject({
      stopped: { kind: "interrupt", by: "Ana", reason: "a new message", at: expect.any(Number) },
    });
    expect((await third).slice(-3)).toEqual(["second begins", "third begins", "third ends"]);
    expect((await waits).slice(-2)).toEqual(["last begins", "last ends"]);
  });

  it("a rollback goes back to where the work began, and its effects stay", async () => {
    const { shared, graphs } = await store();
    const once = effects(shared);
    const of = { space: "agentos", run: "run" };
    let paid = 0;
    const pay = () => once(of, "pay", () => Promise.resolve(`paid ${++paid}`));
    const pays = (gate: Gate, name: string) =>
      graphs.exclusive("run", async (signal) => {
        await append(graphs, "run", `${name} begins`);
        await append(graphs, "run", await pay());
        await Promise.race([gate.wait(), aborted(signal)]);
      });
    const again = (name: string) => async () => append(graphs, "run", `${name} ${await pay()}`);
    for (const before of [[], ["earlier", "later"]]) {
      await graphs.clear("run");
      paid = 0;
      for (const line of before) await append(graphs, "run", line);
      const gate = new Gate();
      const first = failure(pays(gate, "first"), "STOPPED");
      await gate.reached;
      const options = { whenBusy: "rollback", by: "Ana", reason: "newer" } as const;
      expect(await new CheckpointStore(shared).exclusive("run", again("second"), options)).toEqual([
        ...before,
        "second paid 1",
      ]);
      expect(await first).toMatchObject({ stopped: { kind: "rollback", by: "Ana", reason: "newer" } });
      expect(await graphs.listByRun("run")).toHaveLength(before.length + 1);
      // A retry of the undone call in the same process, and one that another call undoes.
      expect(await graphs.exclusive("run", again("third"))).toEqual([...before, "second paid 1", "third paid 1"]);
      expect((await once.list(of)).map(({ key, state }) => [key, state])).toEqual([["pay", "done"]]);
    }
    await graphs.clear("run");
    expect(await once.list(of)).toEqual([]);
    await expectSound(shared);
  });

  it("a rollback of a workflow and of a graph with a subgraph runs the same steps again", async () => {
    const { shared } = await store();
    const rollback = { whenBusy: "rollback" } as const;
    const workflows = new WorkflowCheckpointStore<{ done: string[] }>(shared);
    const gate = new Gate();
    const ran: string[] = [];
    const step = (name: string) => ({
      name,
      run: async ({ done }: { done: string[] }) => {
        ran.push(name);
        if (name === "c" && ran.length === 3) await gate.wait();
        return { done: [...done, name] };
      },
    });
    const workflow = new Workflow({
      name: "w",
      initialState: { done: [] as string[] },
      steps: ["a", "b", "c"].map(step),
      checkpointStore: workflows,
      register: false,
    });
    const run = () => workflow.runWithCheckpoints({ runId: "run", resume: true });
    const first = workflows.exclusive("run", (signal) => {
      signal.addEventListener("abort", () => gate.open());
      return run();
    });
    const refused = failure(first, "STOPPED");
    await gate.reached;
    expect((await workflows.exclusive("run", run, rollback)).state).toEqual({ done: ["a", "b", "c"] });
    await refused;
    expect(ran).toEqual(["a", "b", "c", "a", "b", "c"]);

    const threads = new Checkpointer<{ n: number }>(shared);
    const put = (checkpointId: string, namespace: string[] = []) =>
      threads.put({ threadId: "run", checkpointId, namespace, state: { n: 1 } });
    const ids = async () => (await threads.list("run")).map(({ checkpointId }) => checkpointId);
    const once = effects(shared);
    const begins = { space: "tinyagents", run: "run", ns: ["begins"] };
    await put("root 1");
    await put("asks 1", ["asks"]);
    const before = await ids();
    const work = new Gate();
    const undone = threads.exclusive("run", async (signal) => {
      await put("asks 2", ["asks"]);
      await put("begins 1", ["begins"]);
      await once(begins, "pay", () => 1);
      await put("root 2");
      await put("root 2");
      await Promise.race([work.wait(), aborted(signal)]);
    });
    const stopped = failure(undone, "STOPPED");
    await work.reached;
    expect(await threads.exclusive("run", ids, rollback)).toEqual(before);
    await stopped;
    expect(await once.list(begins)).toHaveLength(1);
    await threads.deleteThread("run");
    expect(await once.list(begins)).toHaveLength(0);
    await expectSound(shared);
  });

  it("what cannot be undone is said: a lease without a scope, and a place that was removed", async () => {
    const { shared, graphs } = await store();
    const rollback = { whenBusy: "rollback", by: "Ana" } as const;
    const lease = await graphs.lease({ space: "agentos", run: "run" });
    const held = graphs.exclusive("run", () => 1, rollback);
    expect((await failure(held, "UNSUPPORTED")).message).toContain(`${process.pid}`);
    await lease.release();
    await append(graphs, "run", "earlier");
    const [place] = await graphs.listByRun("run");
    const gate = new Gate();
    const work = graphs.exclusive("run", async (signal) => {
      await append(graphs, "run", "first");
      await graphs.delete(place!.id);
      await Promise.race([gate.wait(), aborted(signal)]);
    });
    const first = failure(work, "STOPPED");
    await gate.reached;
    const second = new CheckpointStore(shared).exclusive("run", () => append(graphs, "run", "second"), rollback);
    expect((await failure(second, "NOT_FOUND")).message).toContain(place!.id);
    await first;
    // Nothing is lost, and the run goes on.
    expect(await graphs.exclusive("run", () => append(graphs, "run", "third"))).toEqual(["earlier", "first", "third"]);
  });

  it("a write from outside the scope is refused, and one inside carries the lease without being told", async () => {
    const { shared, graphs } = await store();
    const workflows = new WorkflowCheckpointStore<{ n: number }>(shared);
    const sessions = new SessionStore(shared);
    const threads = new Checkpointer<{ n: number }>(shared);
    const saved = { id: "c", runId: "run", stepIndex: 0, stepName: "a", state: { n: 1 }, createdAt: 1 };
    const write = { node: "n", taskId: "t", idx: 0, channel: "c", payload: 1 };
    const calls: Array<[{ exclusive: CheckpointStore["exclusive"] }, () => Promise<unknown>]> = [
      [graphs, () => append(graphs, "run", "line")],
      [workflows, () => workflows.save(saved)],
      [sessions, () => sessions.saveState("run", { customState: {}, messages: [{ role: "user" }] } as never)],
      [threads, () => threads.put({ threadId: "run", checkpointId: "c", state: { n: 1 } })],
      [threads, () => threads.putWrites({ threadId: "run", checkpointId: "c" }, [write])],
    ];
    for (const [of, call] of calls) {
      const gate = new Gate();
      const held = of.exclusive("run", () => gate.wait());
      await gate.reached;
      expect(await failure(call(), "CONFLICT")).toMatchObject({ lease: { until: expect.any(Number) } });
      // A run of the same name of another contract is another run.
      await graphs.exclusive("other", () => append(graphs, "other", "line"));
      gate.open();
      await held;
      await of.exclusive("run", call);
      await call();
    }
  });

  it("a workflow and a graph are refused before their first step, and run in a scope, with a lease of their own or without", async () => {
    const { shared } = await store();
    for (const lease of [false, true]) {
      let steps = 0;
      const workflows = new WorkflowCheckpointStore<{ n: number }>(shared);
      const workflow = new Workflow({
        name: "w",
        initialState: { n: 0 },
        steps: [{ name: "a", run: async () => ({ n: ++steps }) }],
        checkpointStore: workflows,
        register: false,
        lease,
      });
      const threads = new Checkpointer<{ n: number }>(shared);
      const graph = new Graph<{ n: number }, { n: number }>({
        nodes: { a: async () => ({ n: ++steps }) },
        edges: [],
        entry: "a",
        reducer: (state, update) => ({ ...state, ...update }),
        checkpointer: threads,
        lease,
      });
      const runs: Array<[{ exclusive: CheckpointStore["exclusive"] }, () => Promise<unknown>]> = [
        [workflows, () => workflow.runWithCheckpoints({ runId: "run" })],
        [threads, () => graph.invoke({ n: 0 }, { threadId: "run" })],
      ];
      for (const [of, run] of runs) {
        const gate = new Gate();
        const held = of.exclusive("run", () => gate.wait());
        await gate.reached;
        const before = steps;
        await failure(run(), "CONFLICT");
        expect(steps).toBe(before);
        gate.open();
        await held;
        await of.exclusive("run", run);
        expect(steps).toBe(before + 1);
      }
    }
  });

  it("the scope of a stream ends when it is read, closed, canceled or stopped", async () => {
    const { graphs } = await store();
    const isFree = () => graphs.exclusive("run", () => "free").catch(({ code }) => code as string);
    async function* lines() {
      yield await append(graphs, "run", "one");
      yield await append(graphs, "run", "two");
    }
    const streamOf = (signal: AbortSignal) =>
      new ReadableStream<number>({
        async pull(controller) {
          await append(graphs, "run", "pulled");
          signal.throwIfAborted();
          controller.enqueue(1);
        },
      });
    const read = await graphs.exclusive("run", () => lines());
    expect(await isFree()).toBe("CONFLICT");
    const all: unknown[] = [];
    for await (const each of read) all.push(each);
    expect(all).toHaveLength(2);
    expect(await isFree()).toBe("free");
    const closed = await graphs.exclusive("run", () => lines());
    for await (const _ of closed) break;
    expect(await isFree()).toBe("free");
    const canceled = await graphs.exclusive("run", streamOf);
    const reader = canceled.getReader();
    expect(await reader.read()).toEqual({ done: false, value: 1 });
    expect(await isFree()).toBe("CONFLICT");
    await reader.cancel();
    expect(await isFree()).toBe("free");
    const text = () =>
      new TransformStream<number, Uint8Array>({ transform: (_, to) => to.enqueue(Buffer.from("text")) });
    const respond = (signal: AbortSignal) => new Response(streamOf(signal).pipeThrough(text()), { status: 201 });
    const response = await graphs.exclusive("run", respond);
    expect(response.status).toBe(201);
    const body = response.body!.getReader();
    await body.read();
    expect((await graphs.stop("run", { by: "Ana" })).outcome).toBe("stopped");
    expect(await rejection(body.read())).toMatchObject({ code: "STOPPED", stopped: { by: "Ana" } });
    expect(await isFree()).toBe("free");
    const stopped = await graphs.exclusive("run", () => lines());
    await stopped[Symbol.asyncIterator]().next();
    expect((await graphs.stop("run")).outcome).toBe("stopped");
    expect(await rejection(stopped[Symbol.asyncIterator]().next())).toMatchObject({ code: "STOPPED" });
  });

  it("the work may delete its run, and others may not", async () => {
    const { graphs } = await store();
    const gate = new Gate();
    const work = graphs.exclusive("run", async () => {
      await append(graphs, "run", "line");
      await gate.wait();
      await graphs.clear("run");
      return graphs.latest("run");
    });
    await gate.reached;
    await failure(graphs.clear("run"), "CONFLICT");
    gate.open();
    expect(await work).toBeNull();
  });

  it("a stopped call ends after its effect, whose result is kept, and begins no other", async () => {
    const { shared, graphs } = await store();
    const once = effects(shared);
    const run = { space: "agentos", run: "run" };
    const gate = new Gate();
    let mailed!: Promise<unknown>;
    const first = graphs.exclusive("run", async (signal) => {
      const paid = once(run, "pay", () => gate.wait().then(() => "paid"));
      mailed = rejection(paid.then(() => once(run, "mail", () => "sent")));
      await new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => (gate.open(), reject(signal.reason)), { once: true });
      });
    });
    const stopped = failure(first, "STOPPED");
    await gate.reached;
    const again = () => once(run, "pay", () => "paid twice");
    expect(await new CheckpointStore(shared).exclusive("run", again, { whenBusy: "interrupt" })).toBe("paid");
    await stopped;
    expect(await mailed).toMatchObject({ code: "STOPPED" });
    expect((await once.list(run)).map(({ key, state }) => [key, state])).toEqual([["pay", "done"]]);
  });

  it("what a function does after its end is refused, also after the run was deleted and begun again", async () => {
    const { shared, graphs } = await store();
    const once = effects(shared);
    const gate = new Gate();
    let late!: Promise<Error[]>;
    await graphs.exclusive("run", async () => {
      await append(graphs, "run", "first");
      const save = gate.wait().then(() => append(graphs, "run", "late"));
      const pay = gate.wait().then(() => once({ space: "agentos", run: "run" }, "pay", () => "late"));
      const remove = gate.wait().then(async () => graphs.delete((await graphs.latest("run"))!.id));
      late = Promise.all([save, pay, remove].map((call) => failure(call, "CONFLICT")));
    });
    await graphs.clear("run");
    const log = await graphs.exclusive("run", async () => {
      await append(graphs, "run", "second");
      gate.open();
      await late;
      return append(graphs, "run", "third");
    });
    expect(log).toEqual(["second", "third"]);
    expect(await once.list({ space: "agentos", run: "run" })).toEqual([]);
  });

  it("a function that outlives its scope takes the run again", async () => {
    const { graphs } = await store();
    const gate = new Gate();
    let late!: Promise<unknown>;
    await graphs.exclusive("run", async () => {
      late = gate.wait().then(() => graphs.exclusive("run", () => append(graphs, "run", "late")));
    });
    await graphs.exclusive("run", async () => {
      gate.open();
      await failure(late, "CONFLICT");
    });
    const later = new Gate();
    await graphs.exclusive("run", async () => {
      const takes = () => graphs.exclusive("run", () => append(graphs, "run", "late"), { whenBusy: "enqueue" });
      late = later.wait().then(takes);
    });
    later.open();
    expect(await late).toEqual(["late"]);
  });

  it("a result that was read already ends the scope, and an iterable keeps its other members", async () => {
    const { graphs } = await store();
    const read = await graphs.exclusive("run", async () => {
      const response = new Response("text");
      await response.text();
      return response;
    });
    expect(read.bodyUsed).toBe(true);
    const teed = await graphs.exclusive("run", () => {
      const stream = new Response("text").body!;
      stream.tee();
      return stream;
    });
    expect(teed.locked).toBe(true);
    class Streamed {
      readonly finalOutput = "done";
      name(): string {
        return this.finalOutput;
      }
      async *[Symbol.asyncIterator]() {
        yield 1;
      }
    }
    const streamed = await graphs.exclusive("run", () => new Streamed());
    expect([streamed.finalOutput, streamed.name()]).toEqual(["done", "done"]);
    await failure(
      graphs.exclusive("run", () => 1),
      "CONFLICT",
    );
    expect(String(streamed)).toBe("[object Object]");
    for await (const item of streamed) expect(item).toBe(1);
    expect(await graphs.exclusive("run", () => 1)).toBe(1);
  });

  it("a rollback takes the place of a stop", async () => {
    const { shared, graphs } = await store();
    const rollback = { whenBusy: "rollback", by: "Ben" } as const;
    await append(graphs, "run", "earlier");
    const gate = new Gate();
    const work = graphs.exclusive("run", async () => {
      await append(graphs, "run", "first");
      await gate.wait();
    });
    const first = failure(work, "STOPPED");
    await gate.reached;
    const other = new CheckpointStore(shared);
    const stop = other.stop("run", { by: "Ana" });
    await expect.poll(async () => (await rejection(graphs.exclusive("run", () => 1))).message).toContain("leased");
    const second = other.exclusive("run", () => append(other, "run", "second"), rollback);
    await sleep(500);
    gate.open();
    expect(await second).toEqual(["earlier", "second"]);
    expect(await first).toMatchObject({ stopped: { by: expect.stringMatching("Ana|Ben") } });
    await stop;
  });

  it("a rollback that was left behind is made once, and not over what others have saved since", async () => {
    const { shared, graphs } = await store();
    const other = new CheckpointStore(shared);
    for (const goesOn of [false, true]) {
      await graphs.clear("run");
      await append(graphs, "run", "earlier");
      const [place] = await graphs.listByRun("run");
      const gate = new Gate();
      const work = graphs.exclusive("run", async (signal) => {
        await append(graphs, "run", "first");
        // The rollback of this work fails.
        await graphs.delete(place!.id);
        await Promise.all([gate.wait(), rejection(aborted(signal))]);
      });
      const first = failure(work, "STOPPED");
      await gate.reached;
      await failure(
        other.exclusive("run", () => 1, { whenBusy: "rollback", maxWaitMs: 1_000 }),
        "CONFLICT",
      );
      gate.open();
      await first;
      await sleep(5);
      if (goesOn) await append(graphs, "run", "plain");
      else
        await failure(
          other.exclusive("run", () => 1),
          "NOT_FOUND",
        );
      const log = await other.exclusive("run", () => append(other, "run", "last"));
      expect(log).toEqual(["earlier", "first", ...(goesOn ? ["plain"] : []), "last"]);
    }
  });

  it("a rollback of a namespace leaves the other ones", async () => {
    const { shared } = await store();
    const threads = new Checkpointer<{ n: number }>(shared);
    const put = (checkpointId: string, namespace: string[]) =>
      threads.put({ threadId: "run", checkpointId, namespace, state: { n: 1 } });
    const gates = [new Gate(), new Gate()] as const;
    const hold = (name: string, gate: Gate) =>
      threads.exclusive({ run: "run", ns: [name] as never }, async (signal) => {
        await put(`${name} 1`, [name]);
        await Promise.race([gate.wait(), aborted(signal)]);
        await put(`${name} 2`, [name]);
      });
    const a = failure(hold("a", gates[0]), "STOPPED");
    await gates[0].reached;
    const b = hold("b", gates[1]);
    await gates[1].reached;
    await threads.exclusive({ run: "run", ns: ["a"] as never }, () => put("a 3", ["a"]), { whenBusy: "rollback" });
    gates[1].open();
    await a;
    await b;
    expect((await threads.list("run")).map(({ checkpointId }) => checkpointId).toSorted()).toEqual([
      "a 3",
      "b 1",
      "b 2",
    ]);
  });

  it("a call that waits ends when its store is closed, and one whose signal has aborted begins nothing", async () => {
    const { shared, graphs } = await store();
    const gate = new Gate();
    const work = graphs.exclusive("run", () => gate.wait());
    await gate.reached;
    const waiting = new CheckpointStore(shared);
    const refused = failure(
      waiting.exclusive("run", () => "late", { whenBusy: "enqueue" }),
      "CLOSED",
    );
    await sleep(50);
    await waiting.close();
    await refused;
    gate.open();
    await work;
  });

  it("a call that is stopped while its store is closed is recorded", async () => {
    const { shared, graphs } = await store();
    const gate = new Gate();
    const work = failure(holds(graphs, gate, "first"), "STOPPED");
    await gate.reached;
    const closed = graphs.close();
    expect((await new CheckpointStore(shared).stop("run")).outcome).toBe("stopped");
    await work;
    await closed;
  });

  it("close waits for the work, and refuses to be called in it", async () => {
    const graphs = new CheckpointStore(place(kind));
    const gate = new Gate();
    const work = graphs.exclusive("run", async () => {
      await gate.wait();
      return append(graphs, "run", "the last line");
    });
    await gate.reached;
    const closed = graphs.close();
    await failure(append(graphs, "run", "too late"), "CLOSED");
    gate.open();
    expect(await work).toEqual(["the last line"]);
    await closed;
    const { graphs: other } = await store();
    expect(await rejection(other.exclusive("run", () => other.close()))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  it("a call in the scope of its run goes on in it, and one for another run takes that run too", async () => {
    const { graphs } = await store();
    const log = await graphs.exclusive("run", () =>
      graphs.exclusive("run", async () => {
        await graphs.exclusive("other", () => append(graphs, "other", "there"));
        return append(graphs, "run", "here");
      }),
    );
    expect(log).toEqual(["here"]);
    await graphs.exclusive("other", () => append(graphs, "other", "there"));
  });

  it("a stop says who, and what it found", async () => {
    const { graphs } = await store();
    expect(await graphs.stop("run")).toEqual({ outcome: "not running", holder: null });
    const gate = new Gate();
    const work = holds(graphs, gate, "first");
    await gate.reached;
    const stopped = graphs.stop("run", { by: "Ana", reason: "too late" });
    expect(await failure(work, "STOPPED")).toMatchObject({
      message: 'run "run" was stopped by Ana: too late',
      stopped: { kind: "stop", by: "Ana", reason: "too late" },
    });
    expect(await stopped).toMatchObject({ outcome: "stopped", holder: expect.stringContaining(`${process.pid}`) });
    const deaf = new Gate();
    const ignores = graphs.exclusive("run", () => deaf.wait());
    await deaf.reached;
    expect((await graphs.stop("run", { waitMs: 50 })).outcome).toBe("no answer");
    deaf.open();
    await ignores;
  });
});

describe.each(sharedKinds)("processes over %s", (kind) => {
  const start = () => {
    const target = place(kind);
    return { target, worker: () => new Worker(target) };
  };

  it("wait for each other, and go on when the holder ends, is stopped or is killed", async () => {
    const { worker } = start();
    const [one, two, three] = [worker(), worker(), worker()];
    await one.works("a", "run");
    two.tell("append", { name: "refused", run: "run" });
    expect(await two.says("refused")).toMatchObject({ code: "CONFLICT", lease: { holder: expect.any(String) } });
    two.tell("write", { name: "from outside", run: "run" });
    expect(await two.says("from outside")).toMatchObject({ code: "CONFLICT", lease: { holder: expect.any(String) } });
    two.tell("work", { name: "b", run: "run", options: { whenBusy: "enqueue" } });
    one.tell("open", { of: "a" });
    await two.says("b", "event");
    three.tell("stop", { name: "stop b", run: "run", options: { by: "Ana" } });
    expect(await three.says("stop b", "outcome")).toMatchObject({ outcome: "stopped" });
    expect(await two.says("b")).toMatchObject({ code: "STOPPED", stopped: { kind: "stop", by: "Ana" } });
    await two.works("c", "run");
    three.tell("append", { name: "d", run: "run", options: { whenBusy: "enqueue" } });
    two.program.kill();
    const { log } = await three.says("d");
    expect(log).toEqual(["a begins", "a ends", "b begins", "c begins", "d"]);
  });

  it("the queue goes on if a waiting process or a stopping one is killed", async () => {
    const { worker } = start();
    const [holder, waits, stops, last] = [worker(), worker(), worker(), worker()];
    await holder.works("a", "run");
    waits.tell("append", { name: "killed", run: "run", options: { whenBusy: "enqueue" } });
    last.tell("append", { name: "last", run: "run", options: { whenBusy: "enqueue" } });
    waits.program.kill();
    stops.tell("stop", { name: "stop", run: "run", options: { by: "Ana" } });
    // The request may be stored, or not. The holder ends in both cases.
    await sleep(random(20));
    stops.program.kill();
    holder.tell("open", { of: "a" });
    await holder.says("a");
    const { log } = await last.says("last");
    expect(log.at(-1)).toBe("last");
    expect(log.filter((line: string) => line === "last")).toHaveLength(1);
  });

  it.skipIf(windows)("a holder that slept for its lease can store nothing, and its signal is aborted", async () => {
    const { worker } = start();
    const [slow, next] = [worker(), worker()];
    await slow.works("slow", "run", { options: { ttlMs: 1_000 } });
    slow.program.kill("SIGSTOP");
    next.tell("append", { name: "next", run: "run", options: { whenBusy: "enqueue" } });
    const { log } = await next.says("next");
    expect(log).toEqual(["slow begins", "next"]);
    // Three times as long as its lease.
    await sleep(600);
    slow.program.kill("SIGCONT");
    expect(await slow.says("slow")).toMatchObject({ code: "CONFLICT", lease: null });
    await slow.works("deaf", "run", { ignores: true, options: { ttlMs: 1_000 } });
    slow.program.kill("SIGSTOP");
    next.tell("append", { name: "again", run: "run", options: { whenBusy: "enqueue" } });
    await next.says("again");
    slow.program.kill("SIGCONT");
    slow.tell("open", { of: "deaf" });
    expect(await slow.says("deaf")).toMatchObject({ code: "CONFLICT" });
    // The event loop is blocked for longer than the lease lasts.
    await slow.works("blocked", "run", { options: { ttlMs: 1_000 } });
    slow.tell("block", { ms: 2_000 });
    next.tell("append", { name: "after", run: "run", options: { whenBusy: "enqueue" } });
    const { log: last } = await next.says("after");
    expect(last).toEqual(["slow begins", "next", "deaf begins", "again", "blocked begins", "after"]);
    expect(await slow.says("blocked")).toMatchObject({ code: "CONFLICT" });
  });
});

describe.each(sharedKinds)("a holder on %s", (kind) => {
  it.each([1, -1])("whose own clock is set by %d h keeps the run, and others go on after it", async (hours) => {
    const target = place(kind);
    const [holder, next] = [new Worker(target), new Worker(target)];
    await holder.works("a", "run");
    next.tell("append", { name: "b", run: "run", options: { whenBusy: "enqueue" } });
    const of = { space: "agentos", run: "run" };
    const leases = closing(leaseReader(new URL("../", import.meta.url), target));
    const before = await leases.lease(of);
    holder.tell("clock", { ms: hours * 3_600_000 });
    // It renews its lease, by the clock of the store.
    let now = before;
    while (now.id === before.id && now.savedAt === before.savedAt) now = await leases.lease(of);
    expect(now.id).toBe(before.id);
    expect(Math.abs(now.savedAt - before.savedAt)).toBeLessThan(60_000);
    holder.tell("open", { of: "a" });
    expect(await holder.says("a")).toMatchObject({ log: ["a begins", "a ends"] });
    expect(await next.says("b")).toMatchObject({ log: ["a begins", "a ends", "b"] });
  });
});

/** The runs of the model. With 100 or more, there are more processes, each with several store objects. */
const runs = amount("FORKPOINT_TEST_MEETINGS", 4);
const [processes, objects] = runs < 100 ? [3, 1] : [10, 5];

it(
  "requests in random order, from several processes: each is answered, and each run's history is one line",
  async () => {
    const target = place(sharedKinds[0]!);
    const workers = Array.from({ length: processes }, () => new Worker(target, { stores: objects }));
    for (const worker of workers) await worker.program.until(1);
    const policies: WhenBusy[] = ["reject", "enqueue", "enqueue", "interrupt"];
    const asked: Array<{ worker: Worker; name: string; run: string; whenBusy: WhenBusy; said: Promise<any> }> = [];
    for (let at = 0; at < runs * 8; at++) {
      const worker = workers[random(workers.length)]!;
      const [run, whenBusy] = [`run-${random(runs)}`, policies[random(policies.length)]!];
      const name = `${whenBusy} ${at}`;
      // Some work long enough to be stopped.
      const ms = random(8) === 0 ? random(500) : 0;
      const given = { name, run, ms, store: random(objects), looks: true, options: { whenBusy, by: name } };
      worker.tell("append", given);
      asked.push({ worker, name, run, whenBusy, said: worker.says(name) });
      if (random(4) === 0) await sleep(random(10));
    }
    const answers = await Promise.all(asked.map(async ({ said, ...each }) => ({ ...each, said: await said })));
    const store = await opened(target);
    const graphs = new CheckpointStore(store);
    const told = repeat("exclusive", "FORKPOINT_TEST_MEETINGS");
    let ordered = 0;
    for (const run of new Set(asked.map((each) => each.run))) {
      const { log = [] } = ((await graphs.latest(run))?.state ?? {}) as { log?: string[] };
      const of = answers.filter((each) => each.run === run);
      // A line for each request that succeeded, and none twice. Work that was stopped may have its line, or not.
      const named = (code?: string) => new Set(of.filter(({ said }) => said.code === code).map(({ name }) => name));
      const [done, stopped] = [named(), named("STOPPED")];
      expect(new Set(log).size, told).toBe(log.length);
      expect(
        [...done].filter((name) => !log.includes(name)),
        told,
      ).toEqual([]);
      expect(
        log.filter((name) => !done.has(name) && !stopped.has(name)),
        told,
      ).toEqual([]);
      // A queued request is refused by nobody.
      const refused = of.filter(({ whenBusy, said }) => whenBusy !== "reject" && said.code === "CONFLICT");
      expect(
        refused.map(({ name, said }) => `${name}: ${said.message}`),
        told,
      ).toEqual([]);
      // The log is a history without branches: each line follows the one before.
      expect((await graphs.listByRun(run)).length, told).toBe(log.length);
      // No call that stops nobody goes before one that was in the queue before it began.
      const began = new Map(of.map(({ name, said }) => [name, said.began as number]));
      for (const { name, said } of of) {
        const waiting: string[] = said.waiting ?? [];
        for (const [at, waits] of waiting.entries()) {
          if (!log.includes(waits)) continue;
          const between = log.slice(log.indexOf(name) + 1, log.indexOf(waits));
          const isLater = (each: string) => waiting.indexOf(each) > at || began.get(each)! > said.at;
          const wrong = between.filter((each) => !each.startsWith("interrupt") && isLater(each));
          expect(wrong, `${told}: ${waits} waited while ${name} worked, in ${log.join(", ")}`).toEqual([]);
          ordered += 1;
        }
      }
    }
    expect(ordered).toBeGreaterThan(0);
    if (isLong("FORKPOINT_TEST_MEETINGS")) {
      const ends = answers.map(({ whenBusy, said }) => `${whenBusy}: ${said.code ?? "done"}`);
      const counts = [...new Set(ends)].map((end) => `${end} ${ends.filter((each) => each === end).length}`);
      console.log(`seed ${seed}, ${runs} runs: ${counts.join(", ")}; the order of ${ordered} was compared`);
    }
    await expectSound(graphs);
    onTestFinished(() => workers.forEach(({ program }) => program.kill()));
  },
  120_000 + runs * 2_000,
);
