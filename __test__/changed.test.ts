// Tests that the arguments of a call stay the caller's: they may change as soon as the call has returned its promise.
import { CheckpointStore, type Store, copyStore, openStore } from "forkpoint";
import { ForkpointStorage, Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { ForkpointChats } from "forkpoint/ai";
import { SessionStore as ClaudeSessions } from "forkpoint/claude-agent-sdk";
import { effects } from "forkpoint/effects";
import { SessionStore } from "forkpoint/helix";
import { type Inspector, openInspector } from "forkpoint/inspect";
import { ForkpointEventStore, ForkpointTaskMessageQueue, ForkpointTaskStore } from "forkpoint/mcp";
import { Checkpointer, Command, END, Graph, START, Send } from "forkpoint/tinyagents";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Call, KEPT, change, expectKeptAfter } from "./changed.js";
import { checkpoint, closing, failure, folder, kinds, place } from "./helpers.js";

const value = (): any => ({ text: KEPT, list: [1, { deep: KEPT }], bytes: Uint8Array.of(1, 2, 3) });

type Made = Call | Promise<Call>;

interface State {
  log: unknown[];
}

/** A graph whose node returns its state, its Send's argument or the answer that it gets. */
function graphOf(checkpointer: Checkpointer<any>, more: object = {}) {
  return new Graph<any, any, any>({
    reducer: (state: State, update: State) => ({ log: [...state.log, ...update.log] }),
    nodes: {
      see: ({ log }, { sendArg }) => ({ log: ["seen", sendArg ?? log[0]] }),
      ask: (_, { interrupt }) => ({ log: [interrupt("ok?")] }),
    },
    edges: [
      [START, "see"],
      ["see", ({ log }: State) => (log.includes("asks") ? "ask" : END)],
      ["ask", END],
    ],
    checkpointer,
    ...more,
  });
}

async function asking(store: Store) {
  const graph = graphOf(new Checkpointer(store));
  const { status } = await graph.invoke({ log: ["asks"] }, { threadId: "t" });
  expect(status).toBe("interrupted");
  return graph;
}

async function ended(store: Store) {
  const graph = graphOf(new Checkpointer(store));
  await graph.invoke({ log: [] }, { threadId: "t" });
  return graph;
}

const stateOf = (graph: Graph<any, any, any>) => async () => (await graph.getState("t"))?.values;

const tinyagents: Record<string, (store: Store, inspector: Inspector) => Made> = {
  "invoke()": (store) => {
    const graph = graphOf(new Checkpointer(store));
    return {
      args: () => [{ log: [value()] }],
      call: (input) => graph.invoke(input, { threadId: "t" }),
      read: stateOf(graph),
    };
  },
  "invoke(), the input of a thread": (store) => {
    const input = (current: State | null, given: unknown) => ({ log: [...(current?.log ?? []), given] });
    const graph = graphOf(new Checkpointer(store), { input });
    return { args: () => [value()], call: (given) => graph.invoke(given, { threadId: "t" }), read: stateOf(graph) };
  },
  "invoke() under a lease": (store) => {
    const graph = graphOf(new Checkpointer(store), { lease: true });
    return {
      args: () => [{ log: [value()] }],
      call: (input) => graph.invoke(input, { threadId: "t" }),
      read: stateOf(graph),
    };
  },
  "invoke(), its options": (store) => {
    const graph = graphOf(new Checkpointer(store));
    const args = () => [{ threadId: "t", runId: KEPT, durability: "sync" }];
    return {
      args,
      call: (options) => graph.invoke({ log: [] }, options),
      read: () => new Checkpointer(store).list("t"),
    };
  },
  "stream()": (store) => {
    const graph = graphOf(new Checkpointer(store));
    return {
      args: () => [{ log: [value()] }, { threadId: "t" }],
      call: (input, options) => graph.stream(input, options),
      read: stateOf(graph),
    };
  },
  "a subgraph's input": (store) => {
    const inner = new Graph<any>({
      nodes: { in: () => ({ log: [1] }) },
      edges: [[START, "in"]],
      reducer: (a, b) => ({ ...a, ...b, kept: a.kept }),
    });
    const given = { kept: value(), log: [] };
    // The function's object is changed while the subgraph begins.
    const input = () => {
      void Promise.resolve().then(() => setImmediate(() => change(given)));
      queueMicrotask(() => queueMicrotask(() => queueMicrotask(() => queueMicrotask(() => change(given)))));
      return given;
    };
    const nodes = { sub: { subgraph: inner, input, output: ({ kept }: any) => ({ log: [kept] }) } };
    const graph = graphOf(new Checkpointer(store), { nodes, edges: [[START, "sub"]] });
    return { args: () => [], call: () => graph.invoke({ log: [] }, { threadId: "t" }), read: stateOf(graph) };
  },
  "the memory of a boundary": (store) => {
    const reads: any[] = [value()];
    const nodes = { see: () => (change(reads), { log: [] }) };
    const memory = { capture: () => ({ reads, pendingWrites: [] }), restore: () => {}, consistency: "snapshot" };
    const more = { nodes, edges: [[START, "see"]], memory, durability: "async" };
    const graph = graphOf(new Checkpointer(store), more);
    return {
      args: () => [],
      call: () => graph.invoke({ log: [] }, { threadId: "t" }),
      read: async () => {
        const [{ checkpointId } = { checkpointId: "" }] = await new Checkpointer(store).list("t");
        return new Checkpointer(store).get("t", checkpointId);
      },
    };
  },
  "resume()": async (store) => {
    const graph = await asking(store);
    return { args: () => [{ resume: value() }], call: (command) => graph.resume("t", command), read: stateOf(graph) };
  },
  "resume(), the record of the answer": async (store, inspector) => {
    const graph = await asking(store);
    const read = async () => {
      const steps = (await inspector.checkpoints({ space: "tinyagents", run: "t" })).items;
      return Promise.all(steps.map(({ id }) => inspector.questions({ space: "tinyagents", run: "t", id })));
    };
    return { args: () => [new Command({ resume: value() })], call: (command) => graph.resume("t", command), read };
  },
  "resume(), answers": async (store) => {
    const graph = await asking(store);
    return {
      args: () => [{ answers: { ask: value() } }],
      call: (command) => graph.resume("t", command),
      read: stateOf(graph),
    };
  },
  "resume(), an update and a Send": async (store) => {
    const graph = await ended(store);
    const args = () => [new Command({ update: { log: [value()] }, goto: [new Send("see", value())] })];
    const read = async () => {
      const { log } = (await graph.getState("t"))!.values;
      expect(log.filter((each: any) => each?.text === KEPT)).toHaveLength(2);
      return log;
    };
    return { args, call: (command) => graph.invoke(command, { threadId: "t" }), read };
  },
  "updateState()": async (store) => {
    const graph = await ended(store);
    return { args: () => [{ log: [value()] }], call: (update) => graph.updateState("t", update), read: stateOf(graph) };
  },
  "bulkUpdateState()": async (store) => {
    const graph = await ended(store);
    const args = () => [[{ update: { log: [1] } }, { update: { log: [value()] }, asNode: "see" }], { force: false }];
    return { args, call: (updates, options) => graph.bulkUpdateState("t", updates, options), read: stateOf(graph) };
  },
  "getStateHistory(), its filter": async (store) => {
    const graph = graphOf(new Checkpointer(store));
    await graph.invoke({ log: [KEPT] }, { threadId: "t" });
    return { args: () => [{ filter: { source: "input" } }], call: (options) => graph.getStateHistory("t", options) };
  },
  "list(), its filter": async (store) => {
    const checkpointer = new Checkpointer<any>(store);
    await checkpointer.put({ threadId: "t", state: 1, metadata: { mine: { text: KEPT } } });
    return { args: () => [{ filter: { mine: { text: KEPT } } }], call: (options) => checkpointer.list("t", options) };
  },
  "put()": (store) => {
    const checkpointer = new Checkpointer<any>(store);
    const args = () => [
      { threadId: "t", state: value(), metadata: { mine: value() }, nextNodes: ["a"] },
      { expectedParent: false },
    ];
    return { args, call: (...given) => checkpointer.put(given[0], given[1]), read: () => checkpointer.get("t") };
  },
  "putWrites()": async (store) => {
    const checkpointer = new Checkpointer<any>(store);
    const checkpointId = await checkpointer.put({ threadId: "t", state: 1 });
    const args = () => [
      { threadId: "t", checkpointId, namespace: [] },
      [{ node: "n", taskId: "t1", idx: 0, channel: "c", payload: value() }],
    ];
    return {
      args,
      call: (...given) => checkpointer.putWrites(given[0], given[1]),
      read: () => checkpointer.getWrites({ threadId: "t" }),
    };
  },
};

const step = (state: unknown) => ({ id: "r:step-1", runId: "r", stepIndex: 0, stepName: "a", state, createdAt: 1 });

function workflowOf(checkpointStore: WorkflowCheckpointStore<any>, more: object = {}) {
  const steps = [{ name: "a", run: () => ({ n: 1 }) }];
  return new Workflow<any>({ name: "w", initialState: {}, steps, checkpointStore, register: false, ...more });
}

const others: Record<string, (store: Store, inspector: Inspector) => Made> = {
  "AgentOS, save()": (store) => {
    const made = new CheckpointStore(store);
    const given = () =>
      checkpoint({
        id: "c",
        runId: "r",
        state: { input: value(), scratch: { mine: value() }, artifacts: {}, diagnostics: {} } as never,
      });
    return { args: () => [given()], call: (saved) => made.save(saved), read: () => made.latest("r") };
  },
  "AgentOS, fork()": async (store) => {
    const made = new CheckpointStore(store);
    await made.save(checkpoint({ id: "c", runId: "r" }));
    return {
      args: () => [{ scratch: value() }],
      call: (patch) => made.fork("c", patch),
      read: (run) => made.latest(run),
    };
  },
  "Agentium, save()": (store) => {
    const made = new WorkflowCheckpointStore<any>(store);
    return {
      args: () => [step(value()), { steps: 1 }],
      call: (saved, options) => made.save(saved, options),
      read: () => made.latest("r"),
    };
  },
  "Agentium, runWithCheckpoints()": (store) => {
    const made = new WorkflowCheckpointStore<any>(store);
    const args = () => [{ runId: "r", initialState: value(), sessionId: "s" }];
    return { args, call: (options) => workflowOf(made).runWithCheckpoints(options), read: () => made.list("r") };
  },
  "Agentium, runWithCheckpoints() under a lease": (store) => {
    const made = new WorkflowCheckpointStore<any>(store);
    const args = () => [{ runId: "r", initialState: value(), resume: true }];
    return {
      args,
      call: (options) => workflowOf(made, { lease: true }).runWithCheckpoints(options),
      read: () => made.list("r"),
    };
  },
  "Agentium, the initial state of a workflow": (store) => {
    const made = new WorkflowCheckpointStore<any>(store);
    return {
      args: () => [value()],
      call: (initialState) => workflowOf(made, { initialState }).runWithCheckpoints({ runId: "r" }),
      read: () => made.list("r"),
    };
  },
  "Agentium, stream()": (store) => {
    const made = new WorkflowCheckpointStore<any>(store);
    const args = () => [{ runId: "r", initialState: value() }];
    return { args, call: (options) => workflowOf(made).stream(options), read: () => made.list("r") };
  },
  "Agentium, ForkpointStorage.set()": (store) => {
    const made = new ForkpointStorage(store);
    return { args: () => [value()], call: (stored) => made.set("n", "k", stored), read: () => made.get("n", "k") };
  },
  "AI SDK, createChat()": (store) => {
    const chats = new ForkpointChats(store);
    return {
      args: () => [{ id: "c", metadata: { mine: value() } }],
      call: (options) => chats.createChat(options),
      read: () => chats.listChats(),
    };
  },
  "AI SDK, saveChat()": (store) => {
    const chats = new ForkpointChats(store);
    const message = () => ({ id: "m", role: "user", parts: [{ type: "text", text: KEPT }] });
    const args = () => [{ id: "c", messages: [message()], metadata: { mine: value() } }];
    return {
      args,
      call: (chat) => chats.saveChat(chat),
      read: async () => [await chats.loadChat("c"), await chats.listChats()],
    };
  },
  "AI SDK, listChats(), its filter": async (store) => {
    const chats = new ForkpointChats(store);
    await chats.createChat({ metadata: { mine: { text: KEPT } } });
    return { args: () => [{ metadata: { mine: { text: KEPT } } }], call: (options) => chats.listChats(options) };
  },
  "Claude, append()": (store) => {
    const sessions = new ClaudeSessions(store);
    const key = { projectKey: "p", sessionId: "s" };
    const entry = () => ({
      type: "user",
      uuid: "u",
      timestamp: "2026-01-01T00:00:00Z",
      message: { role: "user", content: KEPT },
    });
    const args = () => [{ ...key }, [entry()]];
    return { args, call: (of, entries) => sessions.append(of, entries), read: () => sessions.load(key) };
  },
};

async function session(store: Store) {
  const sessions = new SessionStore<any>(store);
  await sessions.createSession("s", { agentType: "a", initialState: {} });
  return sessions;
}

const helix: Record<string, (store: Store, inspector: Inspector) => Made> = {
  "createSession()": (store) => {
    const sessions = new SessionStore<any>(store);
    const args = () => [{ agentType: "a", initialState: value() }];
    return { args, call: (options) => sessions.createSession("s", options), read: () => sessions.loadState("s") };
  },
  "saveState()": async (store) => {
    const sessions = await session(store);
    const args = () => [
      { status: "active", stepCount: 1, messages: [{ role: "user", content: KEPT }], customState: value() },
    ];
    return { args, call: (state) => sessions.saveState("s", state), read: () => sessions.loadState("s") };
  },
  "compareAndSetStatus()": async (store) => {
    const sessions = await session(store);
    const args = () => [["active"]];
    return {
      args,
      call: (expected) => sessions.compareAndSetStatus("s", expected, KEPT),
      read: () => sessions.loadState("s"),
    };
  },
  "mergeCustomState()": async (store) => {
    const sessions = await session(store);
    const args = () => [{ values: { mine: value() }, arrayReplacements: ["mine"] }];
    return { args, call: (changes) => sessions.mergeCustomState("s", changes), read: () => sessions.loadState("s") };
  },
  "stageChanges()": async (store) => {
    const sessions = await session(store);
    return {
      args: () => [{ mine: value() }],
      call: (changes) => sessions.stageChanges("s", changes),
      read: () => sessions.getStaging("s"),
    };
  },
  "appendMessages(), one after the other": async (store) => {
    const sessions = await session(store);
    const args = () => [[{ role: "user", content: KEPT }], [{ role: "user", content: KEPT, mine: value() }]];
    const call = (...all: any[]) => Promise.all(all.map((messages) => sessions.appendMessages("s", messages)));
    return { args, call, read: () => sessions.getMessages("s") };
  },
  "saveCheckpoint()": async (store) => {
    const sessions = await session(store);
    const state = () => ({
      status: "active",
      stepCount: 1,
      messages: [{ role: "user", content: KEPT }],
      customState: value(),
    });
    const args = () => [{ id: "c", sessionId: "s", stepCount: 1, timestamp: 5, state: state() }];
    return { args, call: (saved) => sessions.saveCheckpoint(saved), read: () => sessions.getLatestCheckpoint("s") };
  },
  "startRun() and endRun()": async (store) => {
    const sessions = await session(store);
    const args = () => [
      { runId: "r", mine: value() },
      { status: "completed", more: value() },
    ];
    const call = (...[start, end]: any[]) =>
      Promise.all([sessions.startRun("s", start), sessions.endRun("s", "r", end)]);
    return { args, call, read: () => sessions.listRuns("s") };
  },
  "addSubSession()": async (store) => {
    const sessions = await session(store);
    const args = () => [{ subSessionId: "other", mine: value() }];
    return { args, call: (ref) => sessions.addSubSession("s", ref), read: () => sessions.listSubSessions("s") };
  },
  "getMessages(), its options": async (store) => {
    const sessions = await session(store);
    await sessions.appendMessages("s", [{ role: "assistant", content: "a", thinking: KEPT }]);
    // The read waits for the change.
    const call = (options: any) =>
      Promise.all([sessions.updateStatus("s", "idle"), sessions.getMessages("s", options)]);
    return { args: () => [{ offset: 0, limit: 10, includeThinking: true }], call };
  },
  "sessions(), its options": async (store) => {
    const sessions = await session(store);
    await sessions.createSession(KEPT, { agentType: "b", initialState: {} });
    return {
      args: () => [{ agentType: ["b"], status: ["active"], limit: 10 }],
      call: (options) => sessions.sessions(options),
    };
  },
  "deleteSession(), its options": async (store) => {
    const sessions = await session(store);
    const lease = await store.lease({ space: "helix", run: "s" });
    const call = (options: any) => {
      const waits = sessions.withLease(lease).updateStatus("s", KEPT);
      return Promise.all([waits, failure(sessions.deleteSession("s", options), "CONFLICT")]);
    };
    return { args: () => [{ force: false }], call, read: () => sessions.loadState("s") };
  },
};

const agentium = { space: "agentium", run: "r" } as const;

async function saved(store: Store, state: unknown = { mine: 1 }) {
  const made = new WorkflowCheckpointStore<any>(store);
  await made.save(step(state));
  return made;
}

const tools: Record<string, (store: Store, inspector: Inspector) => Made> = {
  "an inspector's answer": async (store, inspector) => {
    await asking(store);
    const run = { space: "tinyagents", run: "t" };
    const args = () => [{ value: { text: KEPT, list: [1] }, by: KEPT }, { ...run }];
    return { args, call: (answer, of) => inspector.answer(of, answer), read: () => inspector.questions(run) };
  },
  "an inspector's fork, values at paths": async (store, inspector) => {
    const made = await saved(store);
    const args = () => [
      { ...agentium, id: "r:step-1" },
      { as: "fork", set: [["mine", { text: KEPT, date: { $type: "Date", value: "2026-01-01T00:00:00.000Z" } }]] },
    ];
    return { args, call: (of, edit) => inspector.fork(of, edit), read: () => made.latest("fork") };
  },
  "an inspector's fork, a patch": async (store, inspector) => {
    const made = await saved(store);
    const args = () => [
      { ...agentium, id: "r:step-1" },
      { as: "fork", patch: { mine: { text: KEPT, gone: null } } },
    ];
    return { args, call: (of, edit) => inspector.fork(of, edit), read: () => made.latest("fork") };
  },
  "an inspector's fork, a state": async (store, inspector) => {
    const made = await saved(store);
    const args = () => [
      { ...agentium, id: "r:step-1" },
      { as: "fork", state: { mine: [{ text: KEPT }] } },
    ];
    return { args, call: (of, edit) => inspector.fork(of, edit), read: () => made.latest("fork") };
  },
  "an inspector's settled effect": async (store, inspector) => {
    const made = await saved(store);
    await failure(
      effects(made)(agentium, "k", () => Promise.reject(new Error("no"))) as never,
      undefined as never,
    ).catch(() => {});
    const args = () => [{ ...agentium, key: "k" }, { text: KEPT }];
    return {
      args,
      call: (of, result) => inspector.settleEffect(of, result),
      read: () => inspector.effect({ ...agentium, key: "k" }),
    };
  },
  "an inspector's labels": async (store, inspector) => {
    await saved(store);
    return {
      args: () => [{ label: KEPT }],
      call: (labels) => inspector.setLabels(agentium, labels),
      read: () => inspector.run(agentium),
    };
  },
  "an inspector's comparison": async (store, inspector) => {
    const made = await saved(store);
    await made.save({ ...step({ mine: KEPT }), id: "r:step-2", stepIndex: 1 });
    const args = () => [{ ...agentium, id: "r:step-1" }, { ...agentium, id: "r:step-2" }, { limit: 10 }];
    return { args, call: (from, to, options) => inspector.diff(from, to, options) };
  },
  "the options of an effect": async (store) => {
    const made = await saved(store);
    const once = effects(made);
    const args = () => [{ ...agentium }, { ttlMs: 30_000, remember: "results", effectClass: "write" }];
    const read = () => once(agentium, "k", () => "again");
    return { args, call: (of, options) => once(of, "k", async () => KEPT, options), read };
  },
  "the run and the options of exclusive()": async (store) => {
    const made = await saved(store);
    const args = () => [{ run: "r" }, { whenBusy: "reject", ttlMs: 30_000, by: "Ana" }];
    return { args, call: (run, options) => made.exclusive(run, () => KEPT, options) };
  },
  "the run and the options of lease()": async (store) => {
    const made = await saved(store);
    const call = async (...[run, options]: any[]) => {
      await using lease = await made.lease(run, options);
      expect(lease.signal.aborted).toBe(false);
      await made.withLease(lease).save({ ...step({ mine: KEPT }), id: "r:step-2", stepIndex: 1 });
    };
    return { args: () => [{ ...agentium }, { ttlMs: 30_000 }], call, read: () => made.latest("r") };
  },
  "the options of stop()": async (store, inspector) => {
    const made = await saved(store);
    const args = () => [{ by: KEPT, reason: KEPT, waitMs: 5_000 }];
    return { args, call: (options) => inspector.stop(agentium, options), read: async () => [KEPT, await made.runs()] };
  },
  "the options of prune()": async (store) => {
    const made = await saved(store, { mine: KEPT });
    return {
      args: () => [{ keepLastN: 1, dryRun: false }],
      call: (options) => made.prune(options),
      read: () => made.list("r"),
    };
  },
  "the targets and the runs of a copy": async (store) => {
    await saved(store, { mine: KEPT });
    const path = join(folder(), "copy.db");
    const args = () => [pathToFileURL(path), { runs: [{ ...agentium }], onConflict: "fail" }];
    const read = async () => closing(new WorkflowCheckpointStore(path)).latest("r");
    return { args, call: (to, options) => copyStore(store, to, options), read };
  },
};

const json = () => ({ text: KEPT, list: [1, { deep: KEPT }] });

const mcp: Record<string, (store: Store) => Made> = {
  "storeEvent()": async (store) => {
    const events = new ForkpointEventStore(store, { sessionId: "s" });
    const first = await events.storeEvent("stream", {});
    const sent: object[] = [];
    const read = async () => {
      await events.replayEventsAfter(first, { send: async (_, message) => void sent.push(message) });
      return sent;
    };
    const args = () => [{ jsonrpc: "2.0", params: json() }];
    // The second call waits for the first.
    const call = (message: any) => Promise.all([events.storeEvent("stream", {}), events.storeEvent("stream", message)]);
    return { args, call, read };
  },
  "createTask()": (store) => {
    const tasks = new ForkpointTaskStore(store);
    const args = () => [{ ttl: 5_000, pollInterval: 7, context: json() }, { params: json() }];
    const read = async ({ taskId }: any) => [await tasks.getTask(taskId), await tasks.getTaskRequest(taskId)];
    return { args, call: (params, request) => tasks.createTask(params, 1, request), read };
  },
  "storeTaskResult()": async (store) => {
    const tasks = new ForkpointTaskStore(store);
    const { taskId } = await tasks.createTask({}, 1, {});
    const args = () => [{ content: [json()] }];
    return {
      args,
      call: (result) => tasks.storeTaskResult(taskId, "completed", result),
      read: () => tasks.getTaskResult(taskId),
    };
  },
  "enqueue()": (store) => {
    const queue = new ForkpointTaskMessageQueue(store);
    const call = (message: any) => Promise.all([queue.enqueue("t", {}), queue.enqueue("t", message)]);
    return { args: () => [json()], call, read: () => queue.dequeueAll("t") };
  },
};

const suites = { TinyAgents: tinyagents, Helix: helix, "other frameworks": others, MCP: mcp, tools: tools };

describe.each(kinds)("on %s, a caller changes its arguments after", (kind) => {
  describe.each(Object.entries(suites))("%s:", (_, cases) => {
    it.each(Object.entries(cases))("%s", async (_name, make) => {
      const store = closing(await openStore(place(kind)));
      const inspector = closing(await openInspector(store, { write: true }));
      await expectKeptAfter(await make(store, inspector));
    });
  });
});
