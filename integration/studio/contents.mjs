// Fills a store as real agents do: AgentOS runs with forks, LangGraph threads with branches and a question, Agentium
// workflows, and values that nobody should trust. `node contents.mjs <target> <pace in ms> [plain]` fills a database for a look.
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { Annotation, Command, END, START, StateGraph, interrupt } from "@langchain/langgraph";
import { CheckpointStore, openStore } from "forkpoint";
import { ForkpointStorage, Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { ForkpointSaver } from "forkpoint/langgraph";

/** A text that would do harm if a page took it for more than a text. */
export const hostile = `"><img src=x onerror="window.harm=1"><script>window.harm=2</script>`;

const nodes = ["plan", "search_flights", "rank_offers", "check_policy", "approve", "book", "send_report"];
const notes = [
  "The traveller wants to be in Lisbon before noon, has one bag, and may pay 400 € at most.",
  "Three airlines fly at the right time. Two of them need a stop in Frankfurt.",
  "The direct flight costs 341 €. It can be refunded until a day before.",
  "The policy of the company allows it: below 400 €, economy, booked nine days ahead.",
  "A human has approved the direct flight.",
  "Booked: TP 753, 3 March, 07:05. The ticket is in the mailbox.",
  "The report went to the traveller and to accounting.",
];

/** The state of a trip after a step. */
export function trip(step, to = "Lisbon") {
  const done = nodes.slice(0, step + 1);
  return {
    input: { question: `Find a refundable flight from Oslo to ${to}`, budget: 400, currency: "EUR" },
    scratch: {
      notes: notes.slice(0, step + 1),
      confidence: Math.round((0.42 + step * 0.08) * 100) / 100,
      offers: Array.from({ length: step === 0 ? 0 : 6 + step * 2 }, (_, n) => ({
        id: `offer-${n}`,
        carrier: ["TP", "SK", "KL", "LH"][n % 4],
        price: 181 + n * 23,
        refundable: n % 3 === 0,
      })),
    },
    artifacts: step > 4 ? { ticket: { number: "TP753", seat: "14C", paid: 341 } } : {},
    diagnostics: {
      totalTokensUsed: 812 * (step + 1),
      totalDurationMs: 1_533.25 * (step + 1),
      nodeTimings: Object.fromEntries(
        done.map((node, n) => [node, { startMs: n * 400, endMs: n * 400 + 220, tokensUsed: 812 }]),
      ),
      discoveryResults: {},
      guardrailResults: {},
      checkpointsSaved: step + 1,
      memoryReads: step,
      memoryWrites: 1,
    },
  };
}

/** A checkpoint as AgentOS makes it. */
export function checkpoint(runId, step, state = trip(step), fields = {}) {
  const done = nodes.slice(0, step + 1);
  const isLast = step === nodes.length - 1;
  return {
    id: `${runId}-${step}`,
    graphId: "travel",
    runId,
    nodeId: nodes[step],
    timestamp: Date.now(),
    state,
    nodeResults: { [nodes[step]]: { effectClass: "external", output: { ok: true }, durationMs: 180 + step * 40 } },
    visitedNodes: done,
    pendingEdges: isLast ? [] : [`${nodes[step]}->${nodes[step + 1]}`],
    ...fields,
  };
}

async function trips(store, pace) {
  const runs = new CheckpointStore(store);
  const save = async (run, steps, to) => {
    for (let step = 0; step < steps; step++) {
      await runs.save(checkpoint(run, step, trip(step, to)));
      await sleep(pace * (1 + (step % 3)));
    }
  };
  const cities = ["Lisbon", "Porto", "Rome", "Vienna", "Prague", "Milan", "Athens", "Dublin"];
  for (const [n, to] of cities.entries()) await save(`trip-${4100 + n * 7}-${to.toLowerCase()}`, 2 + ((n * 5) % 6), to);
  await save("trip-4711-lisbon", nodes.length, "Lisbon");
  // Two questions of what would have been: another budget, and another answer of the human.
  for (const [step, scratch] of [
    [2, { ...trip(2).scratch, confidence: 0.9 }],
    [4, { ...trip(4).scratch, approved: false }],
  ]) {
    const runId = await runs.fork(`trip-4711-lisbon-${step}`, { scratch });
    for (let next = step + 1; next < Math.min(step + 3, nodes.length); next++) {
      const state = { ...trip(next), scratch: { ...trip(next).scratch, ...scratch } };
      await runs.save(checkpoint(runId, next, state, { id: `${runId}-${next}` }));
      await sleep(pace);
    }
  }
  // The node that failed has a result, and was not completed.
  await save("trip-4801-paris", 3, "Paris");
  await runs.save(checkpoint("trip-4801-paris", 3, trip(3, "Paris"), { visitedNodes: nodes.slice(0, 3) }));
}

/** A graph with an agent, tools and a question to a human. */
export function support(checkpointer, pace = 0) {
  const State = Annotation.Root({
    messages: Annotation({ reducer: (all, more) => [...all, ...more], default: () => [] }),
    ticket: Annotation(),
  });
  const say = (role, content, more = {}) => ({ messages: [{ role, content, ...more }] });
  return new StateGraph(State)
    .addNode("agent", async ({ messages }) => {
      await sleep(pace * 2);
      return say("ai", `I look it up. This is step ${messages.length}, and I compare the order with the invoice.`, {
        usage: { input: 310 + messages.length * 45, output: 58 },
        calls: [{ name: "orders", args: { id: 9_000 + messages.length } }],
      });
    })
    .addNode("tools", async ({ messages }) => {
      await sleep(pace);
      return say("tool", JSON.stringify({ order: 9_000 + messages.length, items: ["lamp", "desk"], paid: 218.4 }));
    })
    .addNode("refund", ({ ticket }) => {
      const answer = interrupt({ question: `Refund 218.40 € for ticket ${ticket}?`, options: ["yes", "no"] });
      return say("ai", answer === "yes" ? "The refund is on its way." : "The refund was declined.");
    })
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) => (messages.length < 6 ? "tools" : "refund"), ["tools", "refund"])
    .addEdge("tools", "agent")
    .addEdge("refund", END)
    .compile({ checkpointer });
}

async function threads(store, pace) {
  const graph = support(new ForkpointSaver(store), pace);
  const of = (thread_id) => ({ configurable: { thread_id } });
  const ask = (thread, ticket) =>
    graph.invoke(
      { messages: [{ role: "human", content: "My lamp arrived broken. Can I have my money back?" }], ticket },
      of(thread),
    );
  for (const [n, thread] of ["customer-2201", "customer-2214", "customer-2290"].entries()) {
    await ask(thread, `T-${n + 1}`);
    if (n !== 1) await graph.invoke(new Command({ resume: "yes" }), of(thread));
    await sleep(pace);
  }
  // Time travel: the thread goes on from two of its earlier checkpoints, each time with another state.
  const thread = "customer-2317";
  await ask(thread, "T-9");
  for (const [back, ticket] of [
    [3, "T-9b"],
    [2, "T-9c"],
  ]) {
    const history = [];
    for await (const state of graph.getStateHistory(of(thread))) history.push(state);
    const loops = history.filter(({ metadata }) => metadata?.source === "loop").toReversed();
    const config = await graph.updateState(loops[back].config, { ticket });
    await sleep(pace);
    await graph.invoke(null, config);
    await sleep(pace);
  }
  await graph.invoke(null, of(thread));
}

async function workflows(store, pace) {
  const checkpointStore = new WorkflowCheckpointStore(store);
  const step = (name, change) => ({ name, run: async (state) => change(state) });
  const workflow = new Workflow({
    name: "import",
    initialState: { file: "orders.csv", rows: 0, rejected: [] },
    checkpointStore,
    steps: [
      step("fetch", () => ({ rows: 48_213 })),
      step("clean", ({ rows }) => ({ rows: rows - 12, rejected: [4, 19, 407] })),
      step("load", () => ({ table: "orders" })),
      step("verify", () => ({ verified: true })),
    ],
  });
  for (const runId of ["import-2026-02-27", "import-2026-02-28"]) {
    await workflow.runWithCheckpoints({ runId });
    await sleep(pace);
  }
}

/** Values of every kind, and texts that are none. */
export const unusual = {
  [hostile]: hostile,
  url: "javascript:window.harm=3",
  control: "\u0000\u001b[31mred\u001b[0m \u202edrow\u202c",
  lines: "first\nsecond\tthird",
  unicode: "👩‍👩‍👧‍👦 漢字 עברית",
  big: 12_345_678_901_234_567_890n,
  date: new Date(Date.UTC(2026, 0, 31)),
  map: new Map([
    ["a", 1],
    [{ key: true }, 2],
  ]),
  set: new Set(["x", "y"]),
  bytes: new Uint8Array(200).map((_, n) => n),
  error: new RangeError("too far"),
  pattern: /a+/gi,
  nothing: undefined,
  minusZero: -0,
};

async function odd(store) {
  const runs = new CheckpointStore(store);
  for (let step = 0; step < 2; step++) {
    const state = { ...trip(0), scratch: { ...unusual, step } };
    await runs.save(checkpoint(hostile, step, state, { id: `${hostile} ${step}`, graphId: hostile, nodeId: hostile }));
  }
}

async function values(store) {
  const storage = new ForkpointStorage(store);
  await storage.set("settings", "theme", { accent: "violet", dense: true });
  await storage.set("settings", hostile, hostile);
}

/** Fills a store. `pace` is the pause between two steps, in ms. `strange`: with values that nobody should trust. */
export async function fill(target, pace = 0, strange = true) {
  const store = await openStore(target);
  try {
    await workflows(store, pace);
    if (strange) await odd(store);
    if (strange) await values(store);
    await trips(store, pace);
    await threads(store, pace);
  } finally {
    await store.close();
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await fill(process.argv[2], Number(process.argv[3] ?? 0), process.argv[4] !== "plain");
}
