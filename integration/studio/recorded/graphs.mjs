// Runs of LangGraph that wait, fail, run in parallel, have subgraphs, and fork.
import { setTimeout as sleep } from "node:timers/promises";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Annotation, Command, END, MessagesAnnotation, START, Send, StateGraph, interrupt } from "@langchain/langgraph";
import { effects } from "forkpoint/effects";
import { hostile } from "./words.mjs";

const of = (thread_id) => ({ configurable: { thread_id }, durability: "sync" });

const list = () => Annotation({ reducer: (all, more) => [...all, ...more], default: () => [] });

/** What an agent asks before it pays money back. */
const refundQuestion = {
  question: "Refund 218.40 € to Grace for order 9004?",
  tool: "refund_payment",
  arguments: { order: 9004, amount: 218.4, currency: "EUR", reason: "The lamp arrived broken." },
  choices: ["approve", "reject"],
};

/** An agent that asks a person before it uses its tool. */
export function refund(checkpointer) {
  const once = effects(checkpointer);
  const State = Annotation.Root({ ...MessagesAnnotation.spec, order: Annotation(), outcome: Annotation() });
  const { tool, arguments: args } = refundQuestion;
  return new StateGraph(State)
    .addNode("read_order", async (_state, config) => {
      const order = await once(config, "read order 9004", () => ({ id: 9004, items: ["lamp", "desk"], paid: 218.4 }));
      const call = { type: "tool_call", id: "call-refund", name: tool, args };
      return {
        order,
        messages: [new AIMessage({ id: "ask-refund", content: "I need an approval.", tool_calls: [call] })],
      };
    })
    .addNode("refund", (_state) => {
      const answer = interrupt(refundQuestion);
      const outcome = answer === "approve" ? "refunded" : "declined";
      const result = new ToolMessage({ id: "tool-refund", tool_call_id: "call-refund", name: tool, content: outcome });
      return { outcome, messages: [result] };
    })
    .addEdge(START, "read_order")
    .addEdge("read_order", "refund")
    .addEdge("refund", END)
    .compile({ checkpointer, name: "refunds" });
}

const complaint = () =>
  new HumanMessage({ id: "human-refund", content: "My lamp arrived broken. Can I have my money back?" });

/** The form in which LangChain's `humanInTheLoopMiddleware` asks. */
const approvals = {
  actionRequests: [
    {
      name: "send_mail",
      args: { to: "grace@example.com", text: hostile },
      description: "Tool execution requires approval",
    },
    { name: "drop_table", args: { table: "orders" }, description: "Tool execution requires approval" },
  ],
  reviewConfigs: [
    { actionName: "send_mail", allowedDecisions: ["approve", "edit", "reject"] },
    { actionName: "drop_table", allowedDecisions: ["approve", "reject"] },
  ],
};

/** Two nodes of the same step ask, each a question of its own. */
function twoQuestions(checkpointer) {
  const State = Annotation.Root({ answers: list() });
  const ask = (value) => () => ({ answers: [interrupt(value)] });
  return new StateGraph(State)
    .addNode("budget", ask({ question: "May the trip cost 900 €?", options: ["yes", "no"] }))
    .addNode("dates", ask("When do you want to leave?"))
    .addNode("book", ({ answers }) => ({ answers: [`booked: ${answers.join(", ")}`] }))
    .addEdge(START, "budget")
    .addEdge(START, "dates")
    .addEdge(["budget", "dates"], "book")
    .addEdge("book", END)
    .compile({ checkpointer, name: "trips" });
}

/** Plans, reads three sources at the same time, reviews them in a subgraph, and writes. */
export function research(checkpointer, pace = 0) {
  // A subgraph gives back all that it has, so what is there already is left out.
  const facts = Annotation({ reducer: (all, more) => [...new Set([...all, ...more])], default: () => [] });
  const State = Annotation.Root({ topic: Annotation(), facts, score: Annotation(), report: Annotation() });
  const Review = Annotation.Root({ facts: Annotation(), score: Annotation(), checked: Annotation() });
  const review = new StateGraph(Review)
    .addNode("check", async ({ facts }) => {
      await sleep(pace);
      return { checked: facts.length };
    })
    .addNode("rate", async ({ checked }) => {
      await sleep(pace);
      return { score: checked * 30 };
    })
    .addEdge(START, "check")
    .addEdge("check", "rate")
    .addEdge("rate", END)
    .compile();
  return new StateGraph(State)
    .addNode("plan", async () => {
      await sleep(pace * 2);
      return {};
    })
    .addNode("read", async ({ source, wait }) => {
      await sleep(pace * wait);
      return { facts: [`${source} has ${source.length} letters`] };
    })
    .addNode("review", review)
    .addNode("write", ({ facts, score }) => ({ report: `${facts.length} facts, ${score} points` }))
    .addEdge(START, "plan")
    .addConditionalEdges(
      "plan",
      () => ["encyclopedia", "newspaper", "archive"].map((source, n) => new Send("read", { source, wait: n + 1 })),
      ["read"],
    )
    .addEdge("read", "review")
    .addEdge("review", "write")
    .addEdge("write", END)
    .compile({ checkpointer, name: "research" });
}

/** A node fails after another one has succeeded. */
function failing(checkpointer) {
  const State = Annotation.Root({ file: Annotation(), rows: Annotation() });
  return new StateGraph(State)
    .addNode("fetch", () => ({ rows: 48_213 }))
    .addNode("load", () => {
      throw new TypeError(`row 4,019 has no price: ${hostile}`);
    })
    .addEdge(START, "fetch")
    .addEdge("fetch", "load")
    .addEdge("load", END)
    .compile({ checkpointer, name: "import" });
}

/** Writes a text in three steps. Its thread goes on from two earlier checkpoints, each time with another state. */
async function forked(checkpointer, thread) {
  const State = Annotation.Root({ tone: Annotation(), draft: Annotation(), final: Annotation() });
  const graph = new StateGraph(State)
    .addNode("outline", ({ tone }) => ({ draft: `a ${tone} letter` }))
    .addNode("draft_letter", ({ draft }) => ({ draft: `${draft}, in three paragraphs` }))
    .addNode("finish", ({ draft, tone }) => ({
      final: `${draft}. Yours, ${tone === "formal" ? "Dr. Hopper" : "Grace"}`,
    }))
    .addEdge(START, "outline")
    .addEdge("outline", "draft_letter")
    .addEdge("draft_letter", "finish")
    .addEdge("finish", END)
    .compile({ checkpointer, name: "letters" });
  await graph.invoke({ tone: "friendly" }, of(thread));
  const history = [];
  for await (const state of graph.getStateHistory(of(thread))) history.push(state);
  for (const [node, values] of [
    ["outline", { tone: "formal" }],
    ["draft_letter", { draft: "a short letter" }],
  ]) {
    const source = history.find(({ next }) => next.includes(node === "outline" ? "outline" : "finish"));
    const config = await graph.updateState(source.config, values);
    await graph.invoke(null, { ...config, durability: "sync" });
  }
}

/** A chat with a state of 2 MB: documents beside its messages. */
export async function large(checkpointer, thread) {
  const State = Annotation.Root({ ...MessagesAnnotation.spec, documents: Annotation(), found: Annotation() });
  const graph = new StateGraph(State)
    .addNode("search", ({ documents }) => ({
      found: documents.filter(({ id }) => id % 500 === 0).map(({ title }) => title),
    }))
    .addNode("answer", ({ found }) => ({
      messages: [new AIMessage({ id: "answer-large", content: `${found.length} of them fit: ${found.join(", ")}.` })],
    }))
    .addEdge(START, "search")
    .addEdge("search", "answer")
    .addEdge("answer", END)
    .compile({ checkpointer, name: "library" });
  const documents = Array.from({ length: 4_000 }, (_, id) => ({
    id,
    title: `document ${id}`,
    body: "The quick brown fox jumps over the lazy dog. ".repeat(10),
    tags: ["a", "b", "c"],
    score: id / 7,
  }));
  await graph.invoke(
    { messages: [new HumanMessage({ id: "human-large", content: "Which documents fit?" })], documents },
    of(thread),
  );
}

/** Records the runs. `names` has the ids of their threads. */
export async function recordGraphs(checkpointer, names, pace = 0) {
  await large(checkpointer, names.large);
  await failing(checkpointer)
    .invoke({ file: "orders.csv" }, of(names.failed))
    .then(
      () => Promise.reject(new Error("the failing run has not failed")),
      () => {},
    );
  await research(checkpointer, pace).invoke({ topic: "Lisbon" }, of(names.parallel));
  await forked(checkpointer, names.forked);
  const refunds = refund(checkpointer);
  await refunds.invoke({ messages: [complaint()] }, of(names.refunded));
  await refunds.invoke(new Command({ resume: "approve" }), of(names.refunded));
  await refunds.invoke({ messages: [complaint()] }, of(names.waiting));
  const State = Annotation.Root({ mail: Annotation() });
  await new StateGraph(State)
    .addNode("review", () => ({ mail: interrupt(approvals) }))
    .addEdge(START, "review")
    .compile({ checkpointer, name: "mails" })
    .invoke({ mail: "" }, of(names.approvals));
  await twoQuestions(checkpointer).invoke({ answers: [] }, of(names.twoQuestions));
}
