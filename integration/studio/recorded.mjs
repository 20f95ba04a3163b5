// One store with every kind of run: real graphs of LangGraph, and runs of the other contracts. It needs no network and no
// model. `node recorded.mjs <target> [pace in ms] [number of small runs]` makes it. The runs, their states and their order are
// always the same. Times and the ids of LangGraph's checkpoints are not.
import { pathToFileURL } from "node:url";
import { openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { ForkpointSaver } from "forkpoint/langgraph";
import { recordChat } from "./recorded/chat.mjs";
import { recordGraphs } from "./recorded/graphs.mjs";
import { recordMany, recordOthers } from "./recorded/others.mjs";

export { control, hostile, turns, unicode } from "./recorded/words.mjs";

/** The ids of the runs, by what they show. */
export const names = {
  /** LangGraph: a chat of 75 steps with tools. */
  chat: "chat-lisbon",
  /** A refund that waits for its approval, and one that has it. */
  waiting: "refund-9004",
  refunded: "refund-9001",
  /** A question in the form of LangChain's middleware: two tools wait. */
  approvals: "mail-17",
  /** Two nodes ask at once. */
  twoQuestions: "trip-two-questions",
  failed: "import-failed",
  /** Three tasks at once, and a subgraph. */
  parallel: "research-lisbon",
  /** A thread with two branches. */
  forked: "letter-to-ada",
  /** A state of 2 MB. */
  large: "library-2mb",
  agentos: "trip-4711-lisbon",
  agentosFork: "trip-4711-lisbon-again",
  agentosWaiting: "trip-4720-rome",
  agentosFailed: "trip-4801-paris",
  agentium: "import-2026-02-27",
  agentiumUnfinished: "import-2026-02-28",
  tinyagents: "cities-1",
  tinyagentsWaiting: "refund-480",
  tinyagentsFailed: "import-4019",
  helix: "plan-lisbon",
  ai: "chat-ai-1",
  aiWaiting: "chat-ai-mail",
  openai: "user-7",
};

const labels = {
  chat: { customer: "ada", plan: "pro" },
  waiting: { customer: "grace", plan: "free" },
  failed: { service: "import" },
};

/** Records the store. `pace`: how long a node of LangGraph takes, in ms. `small`: how many small runs there are. */
export async function record(target, { pace = 0, small = 2_000 } = {}) {
  const store = await openStore(target);
  try {
    await recordMany(store, small);
    await recordOthers(store, names);
    const saver = new ForkpointSaver(store);
    await recordGraphs(saver, names, pace);
    await recordChat(saver, names.chat, pace);
    const inspector = await openInspector(store, { write: true });
    for (const [name, pairs] of Object.entries(labels))
      await inspector.setLabels({ space: "langgraph", run: names[name], ns: "" }, pairs);
    await inspector.close();
  } finally {
    await store.close();
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , target, pace = "0", small = "2000"] = process.argv;
  if (target === undefined)
    throw new Error("which database? node recorded.mjs <target> [pace in ms] [number of small runs]");
  await record(target, { pace: Number(pace), small: Number(small) });
}
