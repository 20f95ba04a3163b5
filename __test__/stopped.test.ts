// The status of runs that somebody has stopped, with real processes as holders: one that listens, one that does not, and
// one that is killed.
// @module-tag slow
import { CheckpointStore, copyStore, openStore } from "forkpoint";
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { type Status, openInspector } from "forkpoint/inspect";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer, Graph } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { opened } from "./contents.js";
import { Worker } from "./exclusive-worker.js";
import { append } from "./fixtures/append.mjs";
import { Gate, checkpoint, closing, failure, kinds, place, rejection, sharedKinds, wrongType } from "./helpers.js";

const ana = { by: "Ana", reason: "wrong customer" };
const stopped = { ...ana, at: expect.any(Number) };
const ref = (run: string, space = "agentos") => ({ space, run });

const statusOf = async (graphs: CheckpointStore, run: string) =>
  (await graphs.runs({ limit: 1_000 })).runs.find(({ runId }) => runId === run)!;

describe.each(sharedKinds)("processes over %s", (kind) => {
  const start = async () => {
    const target = place(kind);
    const graphs = new CheckpointStore(await opened(target));
    return { target, graphs, worker: () => new Worker(target) };
  };

  it("a stop of another process's run gives it a status of its own, until it continues", async () => {
    const { graphs, worker } = await start();
    const one = worker();
    await one.works("a", "run");
    expect(await graphs.stop("run", ana)).toMatchObject({
      outcome: "stopped",
      holder: expect.stringContaining(`${one.program.pid}`),
    });
    expect(await one.says("a")).toMatchObject({ code: "STOPPED", stopped: { kind: "stop", ...stopped } });
    expect(await statusOf(graphs, "run")).toMatchObject({ status: "stopped", stopped, lease: null });
    // Who stops it again has not stopped it.
    expect(await graphs.stop("run", { by: "Bob" })).toMatchObject({ outcome: "not running", holder: null });
    expect(await statusOf(graphs, "run")).toMatchObject({ status: "stopped", stopped });
    one.tell("append", { name: "b", run: "run" });
    await one.says("b");
    expect(await statusOf(graphs, "run")).toMatchObject({ status: "unfinished", stopped: null });
  });

  it("a process that does not listen is named, and its run is stopped when it ends", async () => {
    const { graphs, worker } = await start();
    const deaf = worker();
    await deaf.works("a", "run", { ignores: true });
    // The request has reached the process by then.
    expect(await graphs.stop("run", { ...ana, waitMs: 2_000 })).toEqual({
      outcome: "no answer",
      holder: expect.stringContaining(`${deaf.program.pid}`),
    });
    expect(await statusOf(graphs, "run")).toMatchObject({ status: "unfinished", stopped: null, lease: {} });
    deaf.tell("open", { of: "a" });
    await deaf.says("a");
    expect(await statusOf(graphs, "run")).toMatchObject({ status: "stopped", stopped, lease: null });
  });

  it("a killed process leaves an unfinished run, which counts as stopped when somebody stops it", async () => {
    const { graphs, worker } = await start();
    const killed = worker();
    await killed.works("a", "run");
    killed.program.kill();
    await killed.program.ended;
    expect(await statusOf(graphs, "run")).toMatchObject({ status: "unfinished", stopped: null });
    expect(await graphs.stop("run", ana)).toEqual({
      outcome: "not running",
      holder: expect.stringContaining(`${killed.program.pid}`),
    });
    expect(await statusOf(graphs, "run")).toMatchObject({ status: "stopped", stopped });
  });

  it("a process that is killed while it is asked to stop is noticed, and leaves no request", async () => {
    const { graphs, worker } = await start();
    const deaf = worker();
    await deaf.works("a", "run", { ignores: true });
    const stop = graphs.stop("run", { ...ana, waitMs: 60_000 });
    deaf.program.kill();
    expect((await stop).outcome).toMatch(/stopped|not running/);
    expect(await statusOf(graphs, "run")).toMatchObject({ status: "stopped", stopped });
  });

  it("a stopped run that is taken up again and killed is unfinished, and one that was only looked at is not", async () => {
    const { graphs, worker } = await start();
    const [one, two] = [worker(), worker()];
    await one.works("a", "run");
    await graphs.stop("run", ana);
    await two.works("looks", "run", { looks: true });
    expect(await statusOf(graphs, "run")).toMatchObject({ status: "unfinished", lease: {} });
    two.tell("open", { of: "looks" });
    await graphs.exclusive("other", () => append(graphs, "other", "line"));
    await two.says("looks");
    // It has saved a line at its end.
    expect(await statusOf(graphs, "run")).toMatchObject({ status: "unfinished", stopped: null });
    await graphs.stop("run", ana);
    await graphs.exclusive("run", () => graphs.latest("run"));
    expect(await statusOf(graphs, "run")).toMatchObject({ status: "stopped", stopped });
    await two.works("again", "run", { looks: true });
    two.program.kill();
    await two.program.ended;
    expect(await statusOf(graphs, "run")).toMatchObject({ status: "unfinished", stopped: null });
  });

  it("two stops at the same time both end, and the run has one of them", async () => {
    const { graphs, worker } = await start();
    const [one, two] = [worker(), worker()];
    await one.works("a", "run");
    two.tell("stop", { name: "bob", run: "run", options: { by: "Bob" } });
    expect(await graphs.stop("run", { by: "Ana" })).toMatchObject({
      outcome: expect.stringMatching(/stopped|not running/),
    });
    expect(await two.says("bob", "outcome")).toMatchObject({ outcome: expect.stringMatching(/stopped|not running/) });
    const { status, stopped: by } = await statusOf(graphs, "run");
    expect([status, ["Ana", "Bob"].includes(by!.by!)]).toEqual(["stopped", true]);
  });
});

describe.each(kinds)("%s", (kind) => {
  const start = async () => {
    const shared = await opened(place(kind));
    const inspector = await openInspector(shared, { write: true });
    return { shared, inspector, graphs: new CheckpointStore(shared) };
  };

  /** Works on the run until it is stopped. */
  const stopAt = async (
    of: Pick<CheckpointStore, "exclusive" | "stop">,
    run: string,
    work: () => Promise<unknown>,
    options = ana,
  ) => {
    const gate = new Gate();
    const held = of.exclusive(run, async (signal) => {
      const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      await work();
      await gate.wait();
      await aborted;
      throw new Error("of the work");
    });
    await gate.reached;
    gate.open();
    const error = failure(held, "STOPPED");
    expect(await of.stop(run, options)).toMatchObject({ outcome: "stopped" });
    expect((await error).cause).toMatchObject({ message: "of the work" });
  };

  it("runs that wait, have failed or have ended keep their status, whatever was stored", async () => {
    const { graphs, inspector } = await start();
    const open = { visitedNodes: [], nodeResults: {} };
    const saved = {
      finished: { visitedNodes: ["node-1"], pendingEdges: [] },
      waiting: { ...open, nodeResults: { ask: { effectClass: "human" } } },
      failed: { ...open, nodeResults: { pay: { effectClass: "write" } } },
    };
    for (const [status, fields] of Object.entries(saved)) {
      await graphs.save(checkpoint({ id: status, runId: status, ...(fields as object) }));
      expect(await graphs.stop(status, ana)).toEqual({ outcome: "not running", holder: null });
      expect(await statusOf(graphs, status)).toMatchObject({ status, stopped: null });
      expect(await inspector.run(ref(status))).toMatchObject({ status, stopped: null });
    }
    // Stopped, then continued at the same checkpoint, which is saved again.
    const again = (fields: object) => graphs.save(checkpoint({ id: "c", runId: "again", ...fields }));
    await stopAt(graphs, "again", () => again(open));
    expect(await statusOf(graphs, "again")).toMatchObject({ status: "stopped", stopped });
    for (const [status, fields] of Object.entries(saved)) {
      await again(fields);
      expect(await statusOf(graphs, "again")).toMatchObject({ status, stopped: null });
    }
    // A run that fails while it is stopped has failed because of that.
    await stopAt(graphs, "failed", () =>
      graphs.save(checkpoint({ id: "next", runId: "failed", ...(saved.failed as object) })),
    );
    expect(await statusOf(graphs, "failed")).toMatchObject({ status: "stopped", stopped });
  });

  it("the inspector finds stopped runs page by page, counts them, and says who and why", async () => {
    const { graphs, inspector, shared } = await start();
    const workflows = new WorkflowCheckpointStore<object>(shared);
    const step = { id: "w", runId: "workflow", stepIndex: 0, stepName: "a", state: {}, createdAt: 1 };
    await stopAt(workflows, "workflow", () => workflows.save(step, { steps: 2 }));
    expect((await workflows.runs()).runs).toMatchObject([{ status: "stopped", stopped }]);
    for (let n = 0; n < 7; n++) {
      const save = () => graphs.save(checkpoint({ runId: `run-${n}`, visitedNodes: [], nodeResults: {} }));
      if (n % 2 === 0) await stopAt(graphs, `run-${n}`, save, n === 0 ? ({ by: "Bob" } as never) : ana);
      else await save();
    }
    const listed = async (query: { status: Status; sort?: "active" | "began" | "size" }) => {
      const runs: string[] = [];
      let cursor: string | null | undefined;
      do {
        const page = await inspector.runs({ ...query, limit: 2, cursor });
        expect(
          page.items.every(
            ({ status, stopped: by }) => status === query.status && (by !== null) === (status === "stopped"),
          ),
        ).toBe(true);
        runs.push(...page.items.map(({ run }) => run));
        cursor = page.cursor;
      } while (cursor !== null);
      return runs;
    };
    const all = ["run-6", "run-4", "run-2", "run-0", "workflow"];
    expect(await listed({ status: "stopped" })).toEqual(all);
    expect(await listed({ status: "stopped", sort: "began" })).toEqual(all);
    expect((await listed({ status: "stopped", sort: "size" })).toSorted()).toEqual(all.toSorted());
    for (const sort of ["active", "began"] as const)
      expect(await listed({ status: "unfinished", sort })).toEqual(["run-5", "run-3", "run-1"]);
    const { items } = await inspector.runs({ match: "run-", withWhy: true });
    expect(items.map(({ statusWhy }) => statusWhy)).toEqual([
      "by Ana: wrong customer",
      null,
      "by Ana: wrong customer",
      null,
      "by Ana: wrong customer",
      null,
      "by Bob",
    ]);
    const { spaces } = await inspector.stats();
    expect(spaces["agentos"]!.statuses).toMatchObject({ unfinished: 3, stopped: 4, failed: 0 });
    expect(spaces["agentium"]!.statuses).toMatchObject({ unfinished: 0, stopped: 1 });
    const versions = await inspector.versions();
    expect(versions.map(({ space, runs, statuses }) => [space, runs, statuses.stopped])).toEqual([
      ["agentos", 7, 4],
      ["agentium", 1, 1],
    ]);
    const hits = [];
    for await (const { run } of inspector.search("Ana", { status: "stopped" })) hits.push(run);
    expect(hits).toEqual([]);
    for await (const { run } of inspector.search("why", { status: "stopped" })) hits.push(run);
    expect(hits).toEqual(["run-6", "run-4", "run-2", "run-0"]);
  });

  it("a session of Helix is stopped until its next message", async () => {
    const { shared, inspector } = await start();
    const sessions = new SessionStore(shared);
    const id = "session";
    await sessions.createSession(id, { agentType: "agent" } as never);
    await stopAt(sessions, id, () => sessions.appendMessages(id, [{ role: "user", content: "hello" }] as never));
    expect(await inspector.run(ref(id, "helix"))).toMatchObject({ status: "stopped", stopped });
    await sessions.appendMessages(id, [{ role: "user", content: "go on" }] as never);
    expect(await inspector.run(ref(id, "helix"))).toMatchObject({ status: "unfinished", stopped: null });
  });

  it("what was stored about a stop goes with its run, and a copy has it", async () => {
    const { graphs, shared } = await start();
    const save = () => graphs.save(checkpoint({ id: "c", runId: "run", visitedNodes: [], nodeResults: {} }));
    await stopAt(graphs, "run", save);
    for (const options of [undefined, { runs: [ref("run")] }, { space: "agentos" as const }]) {
      const copy = closing(await openStore(place(kind)));
      await copyStore(shared, copy, options);
      expect(await statusOf(new CheckpointStore(copy), "run")).toMatchObject({ status: "stopped", stopped });
      // Nothing is left to copy.
      await copyStore(shared, copy, { onConflict: "fail", ...options });
    }
    await graphs.clear("run");
    await save();
    expect(await statusOf(graphs, "run")).toMatchObject({ status: "unfinished", stopped: null });
  });

  it("a stop is refused before anything is stored", async () => {
    const { graphs, shared, inspector } = await start();
    const reading = await openInspector(shared);
    await graphs.save(checkpoint({ runId: "run", visitedNodes: [], nodeResults: {} }));
    await failure(reading.stop(ref("run")), "UNSUPPORTED");
    await failure(inspector.stop(ref("nobody")), "NOT_FOUND");
    await failure(inspector.stop(ref("key", "storage")), "UNSUPPORTED");
    await wrongType(inspector.stop({ space: "none", run: "run" } as never));
    expect(await rejection(inspector.stop(ref("")))).toMatchObject({ code: "INVALID_ARGUMENT" });
    for (const options of [
      { by: "" },
      { by: "x".repeat(201) },
      { reason: "x".repeat(1_001) },
      { by: "\ud800" },
      { waitMs: -1 },
      { other: 1 },
      7,
    ])
      expect(await rejection(inspector.stop(ref("run"), options as never))).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await statusOf(graphs, "run")).toMatchObject({ status: "unfinished", stopped: null });
    expect(await inspector.stop(ref("run"), { reason: "not needed" })).toEqual({
      outcome: "not running",
      holder: null,
    });
    expect(await inspector.run(ref("run"))).toMatchObject({
      status: "stopped",
      stopped: { by: null, reason: "not needed", at: expect.any(Number) },
    });
  });
});

describe.each(kinds)("%s: a workflow and a graph with leases of their own", (kind) => {
  it("that are stopped are so, although the caller doesn't wait", async () => {
    const shared = closing(await openStore(place(kind)));
    const inspector = await openInspector(shared);
    const [step, node] = [new Gate(), new Gate()];
    const checkpointStore = new WorkflowCheckpointStore<object>(shared);
    const workflow = new Workflow<object>({
      name: "trip",
      initialState: {},
      steps: [
        { name: "a", run: () => {} },
        { name: "b", run: () => step.wait() },
      ],
      checkpointStore,
      lease: true,
      register: false,
    });
    const checkpointer = new Checkpointer<object>(shared);
    const graph = new Graph<object>({
      nodes: { a: () => ({}), b: () => node.wait() as never },
      edges: [["a", "b"]] as never,
      entry: "a",
      reducer: (state) => state,
      checkpointer,
      lease: true,
    });
    const cases = [
      ["agentium", checkpointStore, step, workflow.runWithCheckpoints({ runId: "run" })],
      ["tinyagents", checkpointer, node, graph.invoke({}, { threadId: "run" })],
    ] as const;
    for (const [space, store, gate, running] of cases) {
      const ended = rejection(running);
      await gate.reached;
      expect(await store.stop("run", { ...ana, waitMs: 0 })).toMatchObject({ outcome: "no answer" });
      expect(await ended).toMatchObject({ code: "STOPPED" });
      expect(await inspector.run({ space, run: "run" })).toMatchObject({ status: "stopped", stopped, lease: null });
      gate.open();
    }
  });
});
