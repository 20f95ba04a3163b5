// AgentOS: its own store keeps the checkpoints themselves in a map. It has no store with a file.
import { agentosMemory, agentosOrchestration } from "../../lib/peers.mjs";
import { LENGTH, NEWEST } from "../filling.mjs";
import { digitsOf } from "./ids.mjs";

const GRAPH = "graph-chat-1700000000000";
const BEGIN = 1_700_000_000_000;

/** A UUID, as AgentOS' ids. */
const idOf = (run, step) => digitsOf(`${run}:${step}`).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");

const messagesIn = (checkpoint) => checkpoint?.state.scratch.messages ?? [];

export const contract = {
  module: "agentos",
  className: "CheckpointStore",
  peers: {
    async memory() {
      return { store: await agentosMemory(), mode: "InMemoryCheckpointStore", close() {}, inMemory: true };
    },
  },
  save: (store, { run, number, step, messages }) =>
    store.save({
      id: idOf(run, step),
      graphId: GRAPH,
      runId: run,
      nodeId: `node-${step}`,
      timestamp: BEGIN + number * 10 + step,
      state: { input: { topic: "storage" }, scratch: { messages }, artifacts: {}, diagnostics: {} },
      nodeResults: {},
      visitedNodes: Array.from({ length: step }, (_, at) => `node-${at + 1}`),
      pendingEdges: [],
    }),
  calls: {
    latest: { work: "latest, of a run", call: async (store, run) => messagesIn(await store.latest(run)) },
    load: {
      work: "get, by id",
      call: async (store, run, step = LENGTH) => messagesIn(await store.get(idOf(run, step))),
    },
    list: { work: `list of a run of ${LENGTH}`, call: (store, run) => store.list(GRAPH, { runId: run }) },
    newest: { work: `list, newest ${NEWEST} of a graph`, call: (store, limit) => store.list(GRAPH, { limit }) },
    runs: {
      work: `runs, newest ${NEWEST}`,
      alone: true,
      call: async (store, limit) => (await store.runs({ limit })).runs,
    },
    remove: {
      work: `removal of a run of ${LENGTH}`,
      async call(store, run) {
        if (store.clear !== undefined) return store.clear(run);
        for (const { id } of await store.list(GRAPH, { runId: run })) await store.delete(id);
      },
    },
  },
  steps,
};

/** A graph of nodes that run one after the other. The output of each is a message in the state. */
async function steps(store, [first, ...messages]) {
  const { AgentGraph, END, START } = await agentosOrchestration();
  const builder = new AgentGraph({ input: {}, scratch: {}, artifacts: {} }, { checkpointPolicy: "every_node" });
  const names = messages.map((_, at) => `step-${at}`);
  for (const [at, id] of names.entries()) {
    builder.addNode(id, {
      id,
      type: "extension",
      executorConfig: { type: "extension", extensionId: "bench", method: id },
      executionMode: "single_turn",
      effectClass: "pure",
      checkpoint: "none",
    });
    builder.addEdge(names[at - 1] ?? START, id);
  }
  builder.addEdge(names.at(-1), END);
  const output = Object.fromEntries(names.map((name, at) => [name, { [name]: messages[at] }]));
  const extensionExecutor = async (_extension, method) => ({ success: true, output: output[method] });
  const graph = builder.compile({ checkpointStore: store, deps: { extensionExecutor } });
  return {
    async run() {
      // Only the events say which run it is. They name the last checkpoint too: of checkpoints of the same millisecond, the
      // framework's store finds the first one.
      let run, last, final;
      for await (const event of graph.stream({ message: first })) {
        if (event.type === "run_start") run = event.runId;
        if (event.type === "checkpoint_saved") last = event.checkpointId;
        if (event.type === "run_end") final = event.finalOutput;
      }
      return { run, last, messages: [first, ...names.map((name) => final[name][name])] };
    },
    async stored({ run, last }) {
      const { graphId, state } = await store.get(last);
      const found = [state.input.message, ...names.map((name) => state.scratch[name])];
      return { messages: found, missing: messages.length - (await store.list(graphId, { runId: run })).length };
    },
  };
}
