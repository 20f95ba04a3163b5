// The long chat: 15 turns with a tool each, which are 75 steps of LangGraph.
import { setTimeout as sleep } from "node:timers/promises";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { pixel, turns } from "./words.mjs";

const MODEL = "example-large-2026-01";

/** What the provider tells about a call. The sizes follow from the texts, so that each recording has the same. */
function usage(prompt, answer, { reasoning = 0, cached = 0 } = {}) {
  const [input, output] = [Math.ceil(prompt / 4), Math.ceil(answer / 4) + reasoning];
  return {
    usage_metadata: {
      input_tokens: input,
      output_tokens: output,
      total_tokens: input + output,
      input_token_details: { cache_read: cached },
      output_token_details: { reasoning },
    },
    response_metadata: {
      model_provider: "example",
      model_name: MODEL,
      finish_reason: "stop",
      latency_ms: 180 + output * 4,
    },
  };
}

const sizeOf = (messages) => messages.reduce((sum, { content }) => sum + JSON.stringify(content).length, 0);

/** Returns the turn that a conversation is in, and how often the person has written. */
function turnOf(messages) {
  const asked = messages.filter((message) => message.getType() === "human").length;
  return [turns[(asked - 1) % turns.length], asked - 1];
}

/** The message of the person in a turn. */
export function question(at, { ask, image }) {
  if (!image) return new HumanMessage({ id: `human-${at}`, content: ask });
  return new HumanMessage({
    id: `human-${at}`,
    content: [
      { type: "text", text: ask },
      { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } },
    ],
  });
}

/** The agent that answers as the turns say. It needs no model. `pace`: how long a node takes, in ms. */
export function chat(checkpointer, pace = 0) {
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    profile: Annotation(),
    calls: Annotation({ reducer: (sum, more) => sum + more, default: () => 0 }),
  });
  return new StateGraph(State)
    .addNode("agent", async ({ messages }) => {
      await sleep(pace * 2);
      const [{ answer, think, tool }, at] = turnOf(messages);
      const size = sizeOf(messages);
      if (messages.at(-1).getType() === "tool") {
        const facts = usage(size, answer.length, { cached: Math.floor(size / 8) });
        return { messages: [new AIMessage({ id: `answer-${at}`, content: answer, ...facts })] };
      }
      const [name, args] = tool;
      const facts = usage(size, JSON.stringify(args).length, { reasoning: think === undefined ? 0 : think.length });
      const text = { type: "text", text: `I use ${name}.` };
      const content = think === undefined ? "" : [{ type: "reasoning", reasoning: think }, text];
      facts.response_metadata.finish_reason = "tool_calls";
      const call = { type: "tool_call", id: `call-${at}`, name, args };
      return { messages: [new AIMessage({ id: `ask-${at}`, content, tool_calls: [call], ...facts })] };
    })
    .addNode("tools", async ({ messages }) => {
      await sleep(pace);
      const [{ result, error }, at] = turnOf(messages);
      const { id, name } = messages.at(-1).tool_calls[0];
      const status = error === undefined ? "success" : "error";
      const answer = { id: `tool-${at}`, tool_call_id: id, name, content: error ?? result, status };
      return { messages: [new ToolMessage(answer)], calls: 1 };
    })
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) => (messages.at(-1).tool_calls?.length > 0 ? "tools" : END), [
      "tools",
      END,
    ])
    .addEdge("tools", "agent")
    .compile({ checkpointer, name: "travel-chat" });
}

/** Records the chat: 5 steps a turn. */
export async function recordChat(checkpointer, thread, pace = 0) {
  const graph = chat(checkpointer, pace);
  const config = { configurable: { thread_id: thread }, durability: "sync" };
  for (const [at, turn] of turns.entries()) {
    const profile = at === 0 ? { profile: { name: "Ada", home: "OSL", languages: ["no", "en"] } } : {};
    await graph.invoke({ messages: [question(at, turn)], ...profile }, config);
  }
}
