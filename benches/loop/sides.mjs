// The stores whose event loop is measured. `opens.<name>(target)` opens one: `thread(id)` returns a function that saves
// the next state of a thread, given all of its messages.
import { WorkflowCheckpointStore } from "../../dist/contracts/agentium/index.js";
import { SessionStore, generateCheckpointId } from "../../dist/contracts/helix/index.js";
import { CheckpointStore } from "../../dist/index.js";
import { Checkpointer } from "../../dist/contracts/tinyagents/index.js";
import { uuid6 } from "../langgraph/packages.mjs";
import { sides as savers } from "../langgraph/sides.mjs";
import { putsTo } from "../lib/puts.mjs";

/** A LangGraph saver: the messages are one channel, and a counter is another. */
function puts(saver) {
  return (id) => {
    const put = putsTo(saver, uuid6, id);
    let step = 0;
    return (messages) => put({ messages, step: ++step }, ["messages", "step"]);
  };
}

function saver(name) {
  return (file) => {
    const { saver, close } = savers[name](file);
    return { thread: puts(saver), close };
  };
}

function agentos(file) {
  const store = new CheckpointStore(file);
  return {
    thread(runId) {
      const scratch = { messages: [], step: 0 };
      const state = { input: { topic: "storage" }, scratch, artifacts: {}, diagnostics: { tokens: 0 } };
      return (messages) => {
        // AgentOS passes the same state at every step.
        scratch.messages = messages;
        const step = ++scratch.step;
        return store.save({
          id: `${runId}-${step}`,
          graphId: "graph",
          runId,
          nodeId: "agent",
          timestamp: 1_700_000_000_000 + step,
          state,
          nodeResults: {},
          visitedNodes: [],
          pendingEdges: [],
        });
      };
    },
    close: () => store.close(),
  };
}

function agentium(file) {
  const store = new WorkflowCheckpointStore(file);
  return {
    thread(runId) {
      let step = 0;
      return (messages) => {
        const stepIndex = step++;
        const id = `${runId}:step-${stepIndex + 1}`;
        return store.save({
          id,
          runId,
          stepIndex,
          stepName: "agent",
          state: { messages, step },
          createdAt: 1_700_000_000_000,
        });
      };
    },
    close: () => store.close(),
  };
}

function tinyagents(file) {
  const store = new Checkpointer(file);
  return {
    thread(threadId) {
      let parentCheckpointId = null;
      let step = 0;
      return async (messages) => {
        const state = { messages, step: ++step };
        parentCheckpointId = await store.put({ threadId, parentCheckpointId, state, nextNodes: ["agent"] });
      };
    },
    close: () => store.close(),
  };
}

function helix(file) {
  const store = new SessionStore(file);
  return {
    thread(sessionId) {
      let stepCount = 0;
      return (messages) => {
        stepCount += 1;
        return store.saveCheckpoint({
          id: generateCheckpointId(sessionId, stepCount),
          sessionId,
          stepCount,
          timestamp: 1_700_000_000_000 + stepCount,
          state: { status: "active", stepCount, customState: { topic: "storage" }, messages },
          messageCount: messages.length,
          streamSequence: stepCount,
        });
      };
    },
    close: () => store.close(),
  };
}

/** On a server: its packages are loaded only when there is a server. */
async function postgres(url) {
  const { Pool, PostgresSaver } = await import("../postgres/packages.mjs");
  const pool = new Pool({ connectionString: url, idleTimeoutMillis: 0 });
  // The database is dropped after the turn. Then a connection that still closes is an error that nothing waits for.
  pool.on("error", () => {});
  const saver = new PostgresSaver(pool);
  await saver.setup();
  return { thread: puts(saver), close: () => saver.end() };
}

export const opens = {
  CheckpointStore: agentos,
  ForkpointSaver: saver("ours"),
  WorkflowCheckpointStore: agentium,
  Checkpointer: tinyagents,
  SessionStore: helix,
  SqliteSaver: saver("theirs"),
  PostgresSaver: postgres,
  MemorySaver: saver("memory"),
};

/** The framework of each store, and what stores of LangGraph store in. */
export const DESCRIBED = {
  CheckpointStore: "AgentOS",
  ForkpointSaver: "LangGraph",
  WorkflowCheckpointStore: "Agentium",
  Checkpointer: "TinyAgents",
  SessionStore: "Helix",
  SqliteSaver: "WAL, NORMAL",
  PostgresSaver: "local server",
  MemorySaver: "no disk",
};
