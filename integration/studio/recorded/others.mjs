// Runs of the other contracts, each as its framework leaves it.
import { CheckpointStore } from "forkpoint";
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { ForkpointChats } from "forkpoint/ai";
import { effects } from "forkpoint/effects";
import { SessionStore } from "forkpoint/helix";
import { openInspector } from "forkpoint/inspect";
import { ForkpointSession } from "forkpoint/openai-agents";
import { Checkpointer, Graph, Send } from "forkpoint/tinyagents";
import { checkpoint } from "../contents.mjs";
import { control, hostile, turns, unicode } from "./words.mjs";

/** Steps of AgentOS. The last one waits for a person, or has failed. */
export async function recordAgentos(store, names) {
  const runs = new CheckpointStore(store);
  const save = async (runId, steps) => {
    for (let step = 0; step < steps; step++) await runs.save(checkpoint(runId, step));
  };
  await save(names.agentos, 7);
  await save(names.agentosWaiting, 4);
  const open = checkpoint(names.agentosWaiting, 4);
  open.visitedNodes = open.visitedNodes.slice(0, 4);
  open.nodeResults = {
    approve: { effectClass: "human", output: { prompt: "Book TP 753 to Lisbon for 341 €?" }, durationMs: 3 },
  };
  await runs.save(open);
  await save(names.agentosFailed, 3);
  const failed = checkpoint(names.agentosFailed, 3);
  await runs.save({ ...failed, visitedNodes: failed.visitedNodes.slice(0, 3) });
  // What would have been with another budget.
  const inspector = await openInspector(store, { write: true });
  const source = { space: "agentos", run: names.agentos, id: `${names.agentos}-2` };
  await inspector.fork(source, { set: [["scratch.confidence", 0.9]], as: names.agentosFork });
  await inspector.close();
  for (let step = 3; step < 5; step++) await runs.save(checkpoint(names.agentosFork, step));
}

async function graphs(store, names) {
  const checkpointer = new Checkpointer(store);
  const reducer = (state, update) => ({ ...state, ...update, facts: [...state.facts, ...(update.facts ?? [])] });
  const research = new Graph({
    name: "research",
    nodes: {
      plan: () => ({ cities: ["Lisbon", "Porto", "Faro"] }),
      read: (_state, { sendArg: city }) => ({ facts: [`${city} has ${city.length} letters`] }),
      write: ({ facts }) => ({ report: facts.join(", ") }),
    },
    entry: "plan",
    edges: [
      ["plan", ({ cities }) => cities.map((city) => new Send("read", city))],
      ["read", "write"],
    ],
    reducer,
    checkpointer,
  });
  await research.invoke({ cities: [], facts: [] }, { threadId: names.tinyagents });
  const refunds = new Graph({
    name: "refunds",
    nodes: {
      find_order: () => ({ customer: "Ben", amount: 480 }),
      settle: ({ amount, customer }, { interrupt }) => {
        const answer = interrupt({
          question: `Refund ${amount} € to ${customer}?`,
          tool: "refund_payment",
          arguments: { amount, customer },
          choices: ["yes", "no"],
        });
        return { outcome: answer === "yes" ? "refunded" : "declined" };
      },
    },
    entry: "find_order",
    edges: [["find_order", "settle"]],
    reducer,
    checkpointer,
  });
  await refunds.invoke({ facts: [] }, { threadId: names.tinyagentsWaiting });
  const failing = new Graph({
    name: "imports",
    nodes: {
      fetch: () => ({ rows: 48_213 }),
      load: () => {
        throw new RangeError("row 4,019 has no price");
      },
    },
    entry: "fetch",
    edges: [["fetch", "load"]],
    reducer,
    checkpointer,
  });
  await failing.invoke({ facts: [] }, { threadId: names.tinyagentsFailed }).then(
    () => Promise.reject(new Error("the failing graph has not failed")),
    () => {},
  );
}

/** A session of Helix: messages of a person, of the agent and of its tools, with a checkpoint after each turn. */
async function sessions(store, name) {
  const helix = new SessionStore(store);
  await helix.createSession(name, { agentType: "planner", initialState: { booked: [] } });
  for (const [step, { ask, think, tool, result, error, answer }] of turns.slice(0, 4).entries()) {
    const calls = [{ id: `call-${step}`, name: tool[0], arguments: tool[1] }];
    await helix.appendMessages(name, [
      { role: "user", content: ask },
      { role: "assistant", content: "", ...(think === undefined ? {} : { thinking: think }), toolCalls: calls },
      { role: "tool", toolCallId: calls[0].id, toolName: tool[0], content: error ?? result },
      { role: "assistant", content: answer },
    ]);
    await helix.incrementStepCount(name);
    await helix.mergeCustomState(name, { booked: [tool[0]] });
    const state = await helix.loadState(name);
    await helix.saveCheckpoint({
      id: `${name}-step-${step + 1}`,
      sessionId: name,
      stepCount: step + 1,
      timestamp: Date.now(),
      state,
    });
  }
}

/** A chat of the AI SDK, and one that waits for an approval. */
async function chats(store, names) {
  const all = new ForkpointChats(store);
  const user = (id, text) => ({ id, role: "user", parts: [{ type: "text", text }] });
  const messages = [];
  for (const [at, { ask, think, tool, result, error, answer }] of turns.slice(0, 7).entries()) {
    messages.push(user(`human-${at}`, ask));
    await all.saveChat({ id: names.ai, messages, metadata: { userId: "ada" } });
    const output =
      error === undefined ? { state: "output-available", output: result } : { state: "output-error", errorText: error };
    messages.push({
      id: `answer-${at}`,
      role: "assistant",
      metadata: {
        model: "example-large-2026-01",
        usage: { inputTokens: 300 + at * 40, outputTokens: 60, totalTokens: 360 + at * 40 },
      },
      parts: [
        { type: "step-start" },
        ...(think === undefined ? [] : [{ type: "reasoning", text: think, state: "done" }]),
        { type: `tool-${tool[0]}`, toolCallId: `call-${at}`, input: tool[1], ...output },
        { type: "text", text: answer, state: "done" },
      ],
    });
    await all.saveChat({ id: names.ai, messages });
  }
  const call = {
    type: "tool-send_mail",
    toolCallId: "call-mail",
    input: { to: "grace@example.com", subject: "Lisbon" },
  };
  await all.saveChat({
    id: names.aiWaiting,
    messages: [
      user("human-mail", "Mail the trip to Grace."),
      {
        id: "answer-mail",
        role: "assistant",
        parts: [{ type: "step-start" }, { ...call, state: "approval-requested", approval: { id: "approval-mail" } }],
      },
    ],
    metadata: { userId: "ada" },
  });
}

/** A session of the OpenAI Agents SDK. */
async function openai(store, name) {
  const session = new ForkpointSession(store, { sessionId: name });
  for (const [at, { ask, tool, result, error, answer }] of turns.slice(0, 3).entries()) {
    const call = { callId: `call-${at}`, name: tool[0] };
    await session.addItems([
      { type: "message", role: "user", content: ask },
      { type: "function_call", ...call, status: "completed", arguments: JSON.stringify(tool[1]) },
      {
        type: "function_call_result",
        ...call,
        status: error === undefined ? "completed" : "incomplete",
        output: { type: "text", text: error ?? result },
      },
      { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: answer }] },
    ]);
  }
}

/** A finished workflow, and one that failed in its third step: nothing is stored of it. */
async function workflows(store, names) {
  const checkpointStore = new WorkflowCheckpointStore(store);
  const workflow = (broken) =>
    new Workflow({
      name: "import",
      version: "2",
      register: false,
      initialState: { file: "orders.csv", rows: 0, rejected: [], note: `${unicode} ${control}` },
      checkpointStore,
      steps: [
        { name: "fetch", run: () => ({ rows: 48_213 }) },
        { name: "clean", run: ({ rows }) => ({ rows: rows - 12, rejected: [4, 19, 407] }) },
        {
          name: "load",
          run: () => {
            if (broken) throw new Error(hostile);
            return { table: "orders" };
          },
        },
        { name: "verify", run: () => ({ verified: true }) },
      ],
    });
  await workflow(false).runWithCheckpoints({ runId: names.agentium });
  await workflow(true)
    .runWithCheckpoints({ runId: names.agentiumUnfinished })
    .then(
      () => Promise.reject(new Error("the broken workflow has not failed")),
      () => {},
    );
}

/** What runs did to other systems: an effect that is done, and one that failed. */
async function outside(store, names) {
  const once = effects(store);
  const run = { space: "agentos", run: names.agentos };
  await once(run, "book TP753", () => ({ ticket: "TP753", seat: "14C", paid: 341, note: hostile }));
  await once(run, "mail the traveller", () => Promise.reject(new Error("no route to the mail server"))).catch(() => {});
}

export async function recordOthers(store, names) {
  await workflows(store, names);
  await recordAgentos(store, names);
  await outside(store, names);
  await graphs(store, names);
  await sessions(store, names.helix);
  await chats(store, names);
  await openai(store, names.openai);
}

/** Many small runs of AgentOS, with all statuses that it knows. */
export async function recordMany(store, count) {
  const runs = new CheckpointStore(store);
  const state = { input: {}, scratch: {}, artifacts: {}, diagnostics: {} };
  const saved = Array.from({ length: count }, (_, n) => {
    const runId = `small-${String(n).padStart(5, "0")}`;
    const at = checkpoint(runId, n % 7, state);
    if (n % 20 === 7)
      at.nodeResults = { [at.nodeId]: { effectClass: "human", output: { prompt: `Book flight ${n}?` } } };
    if (n % 20 === 7 || n % 20 === 13) at.visitedNodes = at.visitedNodes.slice(0, -1);
    return runs.save(at);
  });
  await Promise.all(saved);
}
