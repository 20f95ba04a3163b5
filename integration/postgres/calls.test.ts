// The round trips of each call of each framework, in the everyday case: one process writes a run.
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { CheckpointStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { effects } from "forkpoint/effects";
import { SessionStore } from "forkpoint/helix";
import { ForkpointSaver } from "forkpoint/langgraph";
import { Checkpointer } from "forkpoint/tinyagents";
import { expect, it, onTestFinished } from "vitest";
import { checkpoint as agentos } from "../../__test__/helpers.js";
import { behindProxy, onServer } from "./faults.js";

/** The calls of a framework in their order, with their round trips. */
type Calls = Record<string, [trips: number | [least: number, most: number], call: () => Promise<unknown>]>;

const thread = (thread_id: string, checkpoint_id?: string) => ({
  configurable: { thread_id, checkpoint_ns: "", ...(checkpoint_id !== undefined && { checkpoint_id }) },
});

const of = async (list: AsyncIterable<unknown>) => {
  for await (const _ of list);
};

const frameworks: Record<string, (url: string) => [store: { close(): Promise<void> }, calls: Calls]> = {
  AgentOS(url) {
    const store = new CheckpointStore(url);
    const save = (id: string, runId = "run") => store.save(agentos({ id, runId, timestamp: Number(id.slice(1)) }));
    return [
      store,
      {
        "save, the first of a run": [1, () => save("a1")],
        save: [1, () => save("a2")],
        // What is built on the old payload would have to be stored again first, so this looks step by step.
        "save, the same id again": [7, () => save("a2")],
        get: [1, () => store.get("a1")],
        load: [1, () => store.load("run")],
        "load, a node": [1, () => store.load("run", "node-1")],
        latest: [1, () => store.latest("run")],
        list: [1, () => store.list("graph-a-1700000000000")],
        listByRun: [1, () => store.listByRun("run")],
        // The runs, and then their leases.
        // And the stops of the unfinished ones.
        runs: [3, () => store.runs()],
        // It reads its source, whose question is asked again, and looks whether the new run exists, before it stores anything.
        fork: [4, () => store.fork("a2")],
        // Its lease is read, taken, read again, and released. The saves in it take as many as without it.
        exclusive: [5, () => store.exclusive("run", () => {})],
        "exclusive, with a save": [6, () => store.exclusive("run", () => save("a4"))],
        "exclusive, with three saves": [
          8,
          () => store.exclusive("run", async () => void (await save("a5"), await save("a6"), await save("a7"))),
        ],
        "delete, the newest": [1, () => store.delete("a7")],
        clear: [1, () => store.clear("run")],
        "save, the first of a run that was cleared": [1, () => save("a3")],
      },
    ];
  },
  Agentium(url) {
    const store = new WorkflowCheckpointStore<{ at: number }>(url);
    const save = (stepIndex: number) => {
      const id = stepIndex < 0 ? "run:initial" : `run:step-${stepIndex + 1}`;
      const stepName = stepIndex < 0 ? "initial" : `step-${stepIndex + 1}`;
      return store.save({ id, runId: "run", stepIndex, stepName, state: { at: stepIndex }, createdAt: 9 + stepIndex });
    };
    return [
      store,
      {
        "save, the first of a run": [1, () => save(-1)],
        save: [1, () => save(0)],
        load: [1, () => store.load("run:initial")],
        latest: [1, () => store.latest("run")],
        // Payloads may be many, so they are read after the rows. Here they are in memory, and the second one is the end.
        list: [2, () => store.list("run")],
        timeline: [1, () => store.timeline("run")],
        runs: [2, () => store.runs()],
        "delete, the newest": [1, () => store.delete("run:step-1")],
        clear: [1, () => store.clear("run")],
      },
    ];
  },
  LangGraph(url) {
    const saver = new ForkpointSaver(url);
    let latest: object = thread("a");
    const put = async (step: number, into = latest) => {
      const values = { channel_values: { step }, channel_versions: { step } };
      const checkpoint = { ...emptyCheckpoint(), ...values, id: uuid6(step) };
      latest = await saver.put(into, checkpoint, { source: "loop", step, parents: {} }, { step });
    };
    const writes = () => saver.putWrites(latest as ReturnType<typeof thread>, [["step", 1]], "task");
    return [
      saver,
      {
        "put, the first of a thread": [1, () => put(1)],
        "putWrites, the first": [1, writes],
        put: [1, () => put(2)],
        putWrites: [1, writes],
        "getTuple, the latest": [1, () => saver.getTuple(thread("a"))],
        "getTuple, by its id": [1, () => saver.getTuple(latest as ReturnType<typeof thread>)],
        "list, a thread": [1, () => of(saver.list(thread("a")))],
        "list, all threads": [1, () => of(saver.list({ configurable: {} }, { limit: 5, filter: { source: "loop" } }))],
        deleteThread: [1, () => saver.deleteThread("a")],
        "put, the first of a thread that was deleted": [1, () => put(3, thread("a"))],
      },
    ];
  },
  "AgentOS, with labels"(url) {
    const store = new CheckpointStore(url, { labels: { service: "support" } });
    const save = (id: string, runId = "run") => store.save(agentos({ id, runId, timestamp: Number(id.slice(1)) }));
    return [
      store,
      {
        // It makes the labels known.
        "save, the first of all": [[1, 9], () => save("a1")],
        "save, the first of a run": [1, () => save("b1", "another")],
        save: [1, () => save("b2", "another")],
      },
    ];
  },
  effects(url) {
    const store = new CheckpointStore(url);
    const once = effects(store);
    const pay = (run: string) => once({ space: "agentos", run }, "pay", () => "receipt");
    return [
      store,
      {
        // It looks for the effect, claims it, and stores its result.
        "the first of a run": [3, () => pay("a")],
        "again, which is stored": [1, () => pay("a")],
        "of another run": [3, () => pay("b")],
      },
    ];
  },
  TinyAgents(url) {
    const store = new Checkpointer<number>(url);
    const put = (state: number, parentCheckpointId: string | null = null) =>
      store.put({ threadId: "t", state, checkpointId: `c${state}`, parentCheckpointId, runId: "r" });
    const config = { threadId: "t", checkpointId: "c2", namespace: [] };
    return [
      store,
      {
        "put, the first of a thread": [1, () => put(1)],
        put: [1, () => put(2, "c1")],
        putWrites: [
          1,
          () => store.putWrites(config, [{ node: "n", taskId: "t", idx: 0, channel: "c", value: 1 } as never]),
        ],
        getWrites: [1, () => store.getWrites(config)],
        "get, the latest": [1, () => store.get("t", null, [])],
        getTuple: [1, () => store.getTuple(config)],
        list: [1, () => store.list("t")],
        listThreads: [1, () => store.listThreads()],
        // It looks for the checkpoints, to return how many it has deleted.
        deleteCheckpoints: [2, () => store.deleteCheckpoints("t", ["c2"])],
        deleteThread: [1, () => store.deleteThread("t")],
      },
    ];
  },
  Helix(url) {
    const store = new SessionStore<Record<string, unknown>>(url);
    const state = { sessionId: "s", agentType: "a", status: "active", stepCount: 1, customState: {} } as const;
    const checkpoint = { id: "s/1", sessionId: "s", stepCount: 1, timestamp: 9, state: { ...state, messages: [] } };
    // A read of a log takes one round trip. A change of a log looks at it first, under its lock.
    return [
      store,
      {
        // It reads whether the session exists.
        createSession: [2, () => store.createSession("s", { agentType: "a" })],
        exists: [1, () => store.exists("s")],
        loadState: [1, () => store.loadState("s")],
        // The version of the session is read first.
        saveState: [2, () => store.saveState("s", state as never)],
        "appendMessages, the first": [4, () => store.appendMessages("s", [{ role: "user", content: "a" }])],
        appendMessages: [3, () => store.appendMessages("s", [{ role: "user", content: "b" }])],
        getMessages: [1, () => store.getMessages("s")],
        // It reads first. The end of that is sent alone, or together with the beginning of the save.
        saveCheckpoint: [[4, 5], () => store.saveCheckpoint(checkpoint as never)],
        getCheckpoint: [1, () => store.getCheckpoint("s/1")],
        listCheckpoints: [1, () => store.listCheckpoints("s")],
        // The sessions, and then their leases.
        sessions: [2, () => store.sessions()],
        // With its effects, and what a program has said of it.
        deleteSession: [23, () => store.deleteSession("s")],
      },
    ];
  },
};

onServer("newest", (server) => {
  it.each(Object.keys(frameworks))("%s", async (name) => {
    const { proxy, url } = await behindProxy(server(), { delayMs: 20 });
    // The tables are made, and so are the indexes that the first list of a graph and of all threads builds.
    const other = new ForkpointSaver(url);
    await of(other.list({}));
    await other.close();
    const first = new CheckpointStore(url);
    await first.list("graph");
    await first.close();
    const [store, calls] = frameworks[name]!(url);
    onTestFinished(() => store.close());
    /** Waits until nothing is sent any more. Nobody waits for the end of a read that took several round trips. */
    const quiet = async () => {
      for (let before = -1; before !== proxy.counted.roundTrips;) {
        before = proxy.counted.roundTrips;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    // The connection is opened.
    await (store as unknown as { stats(): Promise<unknown> }).stats();
    await quiet();
    const counted: Record<string, unknown> = {};
    for (const [what, [trips, call]] of Object.entries(calls)) {
      const before = proxy.counted.roundTrips;
      await call();
      await quiet();
      const taken = proxy.counted.roundTrips - before;
      const isWithin = typeof trips === "object" && trips[0] <= taken && taken <= trips[1];
      counted[what] = isWithin ? trips : taken;
    }
    expect(counted).toEqual(Object.fromEntries(Object.entries(calls).map(([what, [trips]]) => [what, trips])));
  });
});
