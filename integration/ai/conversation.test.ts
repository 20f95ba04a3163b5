// Conversations of the real AI SDK: chats of ForkpointChats with a tool and with tokens, and messages for models.
import { type ModelMessage, type UIMessage, convertToModelMessages } from "ai";
import { openStore } from "forkpoint";
import { ForkpointStorage } from "forkpoint/agentium";
import { openInspector } from "forkpoint/inspect";
import { expect, onTestFinished, test } from "vitest";
import { asking, chatsAt, user } from "./helpers.js";

const answer: UIMessage = {
  id: "a",
  role: "assistant",
  metadata: { model: "gpt-5", totalUsage: { inputTokens: 30, outputTokens: 4, totalTokens: 34 } },
  parts: [
    { type: "step-start" },
    { type: "reasoning", text: "I need the weather.", state: "done" },
    {
      type: "tool-weather",
      toolCallId: "c",
      state: "output-available",
      input: { city: "Lisbon" },
      output: { sun: true },
    },
    { type: "text", text: "It is sunny.", state: "done" },
  ],
};

const result = (path: string, output: unknown) => ({
  path,
  parts: [{ type: "value", name: null, value: output }],
  isError: false,
  added: true,
});

test("a chat has its messages, its calls with their results, its approvals and its tokens", async () => {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  const chats = chatsAt(store);
  await chats.saveChat({ chatId: "chat", messages: [user("How is the weather?")] });
  await chats.saveChat({ chatId: "chat", messages: [user("How is the weather?"), answer, asking(1)] });
  await using inspector = await openInspector(store);
  const { messages, list } = (await inspector.conversation({ space: "ai", run: "chat" }))!;
  expect(list).toBe("messages");
  expect(messages.map(({ role, parts, added }) => [role, parts, added])).toEqual([
    ["user", [{ type: "text", text: "How is the weather?" }], false],
    [
      "assistant",
      [
        { type: "reasoning", text: "I need the weather." },
        {
          type: "call",
          id: "c",
          name: "weather",
          args: { city: "Lisbon" },
          state: "output-available",
          result: result("messages[1]", { sun: true }),
        },
        { type: "text", text: "It is sunny." },
      ],
      true,
    ],
    [
      "assistant",
      [{ type: "call", id: "call-1", name: "send", args: { to: "bob 1" }, state: "approval-requested", result: null }],
      true,
    ],
  ]);
  const { total, steps } = (await inspector.usage({ space: "ai", run: "chat" }))!;
  expect(total).toMatchObject({ input: 30, output: 4, total: 34, models: [{ model: "gpt-5" }] });
  expect(steps.map(({ step }) => step)).toEqual([1]);
});

test("messages for models have the same calls and results", async () => {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  const messages: ModelMessage[] = await convertToModelMessages([user("How is the weather?"), answer]);
  await new ForkpointStorage(store).set("values", "state", { messages } as never);
  await using inspector = await openInspector(store);
  const found = (await inspector.conversation({ space: "storage", run: "state", ns: "values" }))!;
  const calls = found.messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "call"));
  expect(calls).toEqual([
    {
      type: "call",
      id: "c",
      name: "weather",
      args: { city: "Lisbon" },
      state: null,
      result: result("messages[2]", { sun: true }),
    },
  ]);
  expect(found.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
});
