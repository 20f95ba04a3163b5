// Fills a store with conversations of LangChain's own messages: a support chat with tools, and a very long one.
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { openStore } from "forkpoint";
import { ForkpointSaver } from "forkpoint/langgraph";
import { hostile } from "./contents.mjs";

const usage = (input_tokens, output_tokens, cache_read) => ({
  usage_metadata: {
    input_tokens,
    output_tokens,
    total_tokens: input_tokens + output_tokens,
    ...(cache_read !== undefined && { input_token_details: { cache_read } }),
  },
  response_metadata: { model_name: "gpt-5-2025-08-07" },
});

/** A text with all that light markdown has, and with what it must not have. */
export const markdown = `## Your order

The lamp **arrived broken**, *sorry* for that. Run \`orders 9001\`:

- one lamp
- one desk
  1. oak
  2. pine

> The policy covers it.

\`\`\`js
refund({ order: 9001 }); // <b>not bold</b>
\`\`\`

[a link](javascript:window.harm=4) <img src=x onerror="window.harm=5"> ${hostile}`;

const call = (id, name, args) => ({ id, name, args, type: "tool_call" });

/** The steps of the support chat: what each node returns. */
const steps = [
  new AIMessage({
    id: "answer-1",
    content: [
      { type: "thinking", thinking: "I have to find the order first." },
      { type: "text", text: "I look it up." },
    ],
    tool_calls: [call("call-1", "find_order", { id: 9001 }), call("call-2", "find_invoice", { order: 9001 })],
    ...usage(310, 58),
  }),
  [
    new ToolMessage({ content: '{"order":9001,"items":["lamp","desk"]}', tool_call_id: "call-1", name: "find_order" }),
    new ToolMessage({
      content: "the invoices are down",
      tool_call_id: "call-2",
      name: "find_invoice",
      status: "error",
    }),
  ],
  new AIMessage({ id: "answer-2", content: markdown, ...usage(1_420, 240, 256) }),
];

async function support(saver) {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", () => ({ messages: steps[0] }))
    .addNode("tools", () => ({ messages: steps[1] }))
    .addNode("reply", () => ({ messages: steps[2] }))
    .addEdge(START, "agent")
    .addEdge("agent", "tools")
    .addEdge("tools", "reply")
    .compile({ checkpointer: saver });
  const photo = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(4_000)}` } };
  const messages = [
    new SystemMessage("You help customers of a shop for furniture."),
    new HumanMessage({ content: [{ type: "text", text: "My lamp arrived broken." }, photo] }),
  ];
  await graph.invoke({ messages }, { configurable: { thread_id: "chat-support" }, durability: "sync" });
}

/** A conversation of many messages. Some have a long text, and one has a very long one. */
async function long(saver, count) {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", () => ({
      messages: Array.from({ length: count - 1 }, (_, n) => {
        const text =
          n === count - 3 ? "x".repeat(1_000_000) : `Message **${n + 1}**. ${"It has some words. ".repeat(n % 40)}`;
        return n % 2 === 0
          ? new AIMessage({ id: `m-${n}`, content: text, ...usage(100, 10) })
          : new HumanMessage({ id: `m-${n}`, content: text });
      }),
    }))
    .addEdge(START, "agent")
    .compile({ checkpointer: saver });
  const messages = [new HumanMessage("The first message.")];
  await graph.invoke({ messages }, { configurable: { thread_id: "chat-long" }, durability: "sync" });
}

/** Fills a store with both conversations. */
export async function fillChats(target, count = 2_000) {
  const store = await openStore(target);
  const saver = new ForkpointSaver(store);
  await support(saver);
  await long(saver, count);
  await store.close();
}
