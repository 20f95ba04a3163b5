// Conversations and tokens of real LangChain messages in LangGraph's threads, with branches, a removed message and another channel.
import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { openInspector } from "forkpoint/inspect";
import { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { kinds, place, thread, openShared } from "./helpers.js";

const usage = (input_tokens: number, output_tokens: number): object => ({
  usage_metadata: { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens },
  response_metadata: { model_name: "gpt-5" },
});

describe.each(kinds)("on %s", (kind) => {
  async function opened() {
    const store = await openShared(place(kind));
    const inspector = await openInspector(store, { prices: { "gpt-5": { input: 1, output: 10 } } });
    return { checkpointer: new ForkpointSaver(store), inspector };
  }

  const ref = { space: "langgraph", run: "thread", ns: "" };

  it("an agent with a tool, whose call has its result, and whose tokens belong to its steps", async () => {
    const { checkpointer, inspector } = await opened();
    let answers = 0;
    const app = new StateGraph(MessagesAnnotation)
      .addNode("agent", () => {
        answers += 1;
        if (answers > 1)
          return { messages: [new AIMessageChunk({ id: "a2", content: "It is sunny.", ...usage(200, 20) })] };
        const tool_calls = [{ id: "c1", name: "weather", args: { city: "Lisbon" }, type: "tool_call" as const }];
        return { messages: [new AIMessage({ id: "a1", content: "", tool_calls, ...usage(100, 10) })] };
      })
      .addNode("tools", () => ({
        messages: [new ToolMessage({ content: "sun", tool_call_id: "c1", name: "weather" })],
      }))
      .addEdge(START, "agent")
      .addConditionalEdges("agent", ({ messages }) => (messages.length < 3 ? "tools" : END), ["tools", END])
      .addEdge("tools", "agent")
      .compile({ checkpointer });
    await app.invoke({ messages: [new HumanMessage("How is the weather?")] }, thread());
    const { messages, list, total } = (await inspector.conversation(ref))!;
    expect({ list, total }).toEqual({ list: "messages", total: 3 });
    expect(messages.map(({ role, parts, added }) => [role, parts, added])).toEqual([
      ["user", [{ type: "text", text: "How is the weather?" }], false],
      [
        "assistant",
        [
          {
            type: "call",
            id: "c1",
            name: "weather",
            args: { city: "Lisbon" },
            state: null,
            result: { path: "messages[2]", parts: [{ type: "text", text: "sun" }], isError: false, added: false },
          },
        ],
        false,
      ],
      ["assistant", [{ type: "text", text: "It is sunny." }], true],
    ]);
    const used = (await inspector.usage(ref))!;
    expect(used.total).toMatchObject({ input: 300, output: 30, total: 330, messages: 2, models: [{ model: "gpt-5" }] });
    expect(used.total!.cost).toBeCloseTo(0.0006);
    const steps = (await inspector.checkpoints(ref)).items;
    expect(
      used.steps.map(({ id, usage: { total: tokens } }) => [steps.findIndex((step) => step.id === id), tokens]),
    ).toEqual([
      [2, 110],
      [4, 220],
    ]);
  });
});
