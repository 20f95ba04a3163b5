// Tests the messages that interrupted answers leave: the SDK must accept each of them in the next turn.
import {
  type UIMessage,
  type UIMessageChunk,
  convertToModelMessages,
  simulateReadableStream,
  streamText,
  validateUIMessages,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
// @ts-expect-error: a program without types
import * as models from "./fixtures/model.mjs";
import { asking, chatsAt, user } from "./helpers.js";

const INTERRUPTED = "The answer was interrupted before this call returned a result. The call may have run.";
const provider = { openai: { itemId: "item-1" } };
const sse = (chunks: readonly object[]) => chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);

/** Runs the next turn of a chat as a handler does. The model's prompt must be complete, or `streamText` fails. */
async function nextTurn(messages: UIMessage[]): Promise<unknown[]> {
  const valid = await validateUIMessages({ messages });
  const prompts: unknown[] = [];
  const errors: unknown[] = [];
  const model = new MockLanguageModelV4({
    doStream: async ({ prompt }) => {
      prompts.push(prompt);
      return { stream: simulateReadableStream({ chunks: models.says("well"), initialDelayInMs: null }) };
    },
  });
  const result = streamText({
    model,
    messages: await convertToModelMessages(valid),
    onError: ({ error }) => void errors.push(error),
  });
  await result.consumeStream();
  expect(errors).toEqual([]);
  expect(prompts).toHaveLength(1);
  return prompts[0] as unknown[];
}

let made = 0;

/** Makes an answer whose process ends after these chunks. */
async function cutAnswer(chats: ReturnType<typeof chatsAt>, messages: UIMessage[], text: string[]) {
  const [chat, stream] = [`c${(made += 1)}`, `s${made}`];
  await chats.saveChat({ id: chat, messages, activeStreamId: stream });
  const source = new ReadableStream<string>({
    start: (controller) => {
      for (const part of text) controller.enqueue(part);
    },
  });
  const first = await chats.createNewResumableStream(stream, () => source);
  const reader = first.getReader();
  for (let left = text.length; left > 0; left--) await reader.read();
  return { chat, stream };
}

/** A stream with all kinds of chunks. */
const chunks: UIMessageChunk[] = [
  { type: "start", messageId: "a1", messageMetadata: { model: "m" } },
  { type: "start-step" },
  { type: "reasoning-start", id: "r1" },
  { type: "reasoning-delta", id: "r1", delta: "hm", providerMetadata: provider },
  { type: "reasoning-end", id: "r1" },
  { type: "text-start", id: "t1", providerMetadata: provider },
  { type: "text-delta", id: "t1", delta: " \n" },
  { type: "text-delta", id: "t1", delta: "Let me " },
  { type: "text-delta", id: "t1", delta: "look." },
  { type: "text-end", id: "t1" },
  { type: "tool-input-start", toolCallId: "c1", toolName: "look" },
  { type: "tool-input-delta", toolCallId: "c1", inputTextDelta: '{"at":' },
  { type: "tool-input-delta", toolCallId: "c1", inputTextDelta: '"home"}' },
  {
    type: "tool-input-available",
    toolCallId: "c1",
    toolName: "look",
    input: { at: "home" },
    providerMetadata: provider,
  },
  { type: "tool-input-start", toolCallId: "c2", toolName: "any", dynamic: true },
  { type: "tool-input-available", toolCallId: "c2", toolName: "any", input: {}, dynamic: true },
  { type: "tool-output-available", toolCallId: "c1", output: "so far", preliminary: true },
  { type: "tool-output-available", toolCallId: "c1", output: "a cat" },
  { type: "tool-output-error", toolCallId: "c2", errorText: "no" },
  { type: "tool-input-available", toolCallId: "c3", toolName: "search", input: { q: "x" }, providerExecuted: true },
  { type: "tool-output-available", toolCallId: "c3", output: [1], providerExecuted: true },
  { type: "finish-step" },
  { type: "start-step" },
  { type: "reasoning-start", id: "r2" },
  { type: "reasoning-delta", id: "r2", delta: "hm" },
  { type: "reasoning-end", id: "r2" },
  { type: "source-url", sourceId: "x", url: "https://x.test/" },
  { type: "file", mediaType: "text/plain", url: "data:text/plain,x" },
  { type: "data-part", id: "d", data: { n: 1 } },
  { type: "tool-input-available", toolCallId: "c4", toolName: "send", input: { to: "bob" } },
  { type: "tool-input-available", toolCallId: "c5", toolName: "send", input: { to: "eve" } },
  { type: "tool-approval-request", approvalId: "p4", toolCallId: "c4" },
  { type: "finish-step" },
  { type: "finish" },
];

test("an answer that is cut anywhere can be used in the next turn", async () => {
  const chats = chatsAt("memory:");
  const question = user("Where is it?", "u1");
  for (let length = 0; length <= chunks.length; length++) {
    const { chat, stream } = await cutAnswer(chats, [question], sse(chunks.slice(0, length)));
    const { message, ...rest } = await chats.stop(chat);
    expect(rest).toMatchObject({ outcome: "stopped", answer: "stopped", streamId: stream, saved: message !== null });
    const { messages, activeStreamId } = (await chats.readChat(chat))!;
    expect(messages).toEqual(message === null ? [question] : [question, message]);
    expect(activeStreamId).toBeNull();
    expect(await chats.partialMessage(stream)).toEqual(message);
    const prompt = await nextTurn([...(messages as UIMessage[]), user("And then?", "u2")]);
    expect(JSON.stringify(prompt)).not.toMatch(/"text":"\s*"/);
    expect(message === null).toBe(length < 8);
    if (message === null) continue;
    expect(message).toMatchObject({ id: "a1", role: "assistant", metadata: { model: "m" } });
    const states = message.parts.map(({ type, state }) => [type, state]);
    expect(JSON.stringify(states)).not.toMatch(/streaming|input-available|approval-responded/);
  }
});

test("each part of an interrupted answer is finished, or left out", async () => {
  const chats = chatsAt("memory:");
  const cut = async (length: number) => {
    const { chat } = await cutAnswer(chats, [user("?", "u1")], sse(chunks.slice(0, length)));
    return (await chats.stop(chat)).message!.parts;
  };
  // A text that goes on: without the reasoning and the data of an answer that the provider does not have.
  expect(await cut(9)).toEqual([{ type: "step-start" }, { type: "text", text: " \nLet me look.", state: "done" }]);
  const text = { type: "text", text: " \nLet me look.", state: "done", providerMetadata: provider };
  const reasoning = { type: "reasoning", id: "r1", text: "hm", state: "done", providerMetadata: provider };
  // A text that has ended.
  expect(await cut(10)).toEqual([{ type: "step-start" }, reasoning, text]);
  // The input of a call is not complete, so it has not run.
  const { providerMetadata: _, ...bare } = text;
  expect(await cut(13)).toEqual([{ type: "step-start" }, bare]);
  const call = { type: "tool-look", toolCallId: "c1", input: { at: "home" } };
  const failed = { state: "output-error", errorText: INTERRUPTED };
  expect(await cut(14)).toEqual([{ type: "step-start" }, bare, { ...call, ...failed }]);
  // A dynamic tool, and a result that is not the last one.
  const dynamic = { type: "dynamic-tool", toolName: "any", toolCallId: "c2", input: {} };
  expect(await cut(17)).toEqual([{ type: "step-start" }, bare, { ...call, ...failed }, { ...dynamic, ...failed }]);
  // Of two calls, one has its result.
  expect(await cut(18)).toEqual([
    { type: "step-start" },
    bare,
    { ...call, state: "output-available", output: "a cat" },
    { ...dynamic, ...failed },
  ]);
  // The provider's own call has no result.
  expect((await cut(20)).map(({ toolCallId }) => toolCallId)).toEqual([undefined, undefined, "c1", "c2"]);
  // A step that has ended stays as it is, and an empty one is left out.
  const first = await cut(22);
  expect(first.map(({ type, state }) => [type, state])).toEqual([
    ["step-start", undefined],
    ["reasoning", "done"],
    ["text", "done"],
    ["tool-look", "output-available"],
    ["dynamic-tool", "output-error"],
    ["tool-search", "output-available"],
  ]);
  expect(await cut(26)).toEqual(first);
  // An open approval stays, and the call beside it gets a result.
  expect((await cut(32)).slice(-5).map(({ type, state }) => [type, state])).toEqual([
    ["source-url", undefined],
    ["file", undefined],
    ["data-part", undefined],
    ["tool-send", "approval-requested"],
    ["tool-send", "output-error"],
  ]);
});

test("an answer that continues a message keeps its beginning", async () => {
  for (const keepVersions of [null, 1]) {
    const chats = chatsAt("memory:", { keepVersions });
    const messages = [user("send", "u1"), asking(1, true)];
    const { chat, stream } = await cutAnswer(chats, messages, sse([{ type: "start", messageId: "a-1" }]));
    // The tool was approved, and may have run.
    const [before] = messages[1]!.parts as unknown as [Record<string, unknown>];
    const interrupted = { ...before, state: "output-error", errorText: INTERRUPTED };
    expect(await chats.partialMessage(chat)).toEqual({ ...messages[1], parts: [interrupted] });

    const result = { type: "tool-output-available", toolCallId: "call-1", output: "sent" };
    const more = [{ type: "finish-step" }, { type: "start-step" }, { type: "text-start", id: "t" }];
    const text = [...more, { type: "text-delta", id: "t", delta: "I have" }];
    const second = await cutAnswer(chats, messages, sse([{ type: "start", messageId: "a-1" }, result, ...text]));
    // The app has saved the first step.
    const sent = { ...before, state: "output-available", output: "sent" };
    await chats.saveChat({
      id: second.chat,
      messages: [messages[0]!, { ...messages[1]!, parts: [sent] } as UIMessage],
    });
    const { message, saved } = await chats.stop(second.stream);
    expect(saved).toBe(true);
    expect(message).toMatchObject({
      id: "a-1",
      parts: [sent, { type: "step-start" }, { type: "text", text: "I have", state: "done" }],
    });
    expect(message!.parts).toHaveLength(3);
    expect(await chats.loadChat(second.chat)).toEqual([messages[0], message]);
    await nextTurn([messages[0]!, message as UIMessage, user("thanks", "u2")]);

    // A denied call is denied.
    const denied = [user("send", "u1"), asking(1, false)];
    const third = await cutAnswer(chats, denied, sse([{ type: "start", messageId: "a-1" }]));
    expect((await chats.stop(third.chat)).message!.parts).toMatchObject([
      { state: "output-denied", approval: { approved: false } },
    ]);
    await nextTurn([...((await chats.loadChat(third.chat)) as UIMessage[]), user("thanks", "u2")]);
    await chats.stop(stream);
  }
});

test("messages without an id from the app, and streams that are no messages", async () => {
  const chats = chatsAt("memory:");
  const question = user("?", "u1");
  const text = [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "Yes" },
  ];
  const nameless = await cutAnswer(chats, [question], sse([{ type: "start" }, ...text]));
  const { message } = await chats.stop(nameless.chat);
  expect(message).toMatchObject({ id: nameless.stream, parts: [{ type: "text", text: "Yes", state: "done" }] });
  // The SDK's own message has an empty id.
  const other = await cutAnswer(chats, [question], sse([{ type: "start" }, ...text]));
  const own = {
    id: "",
    role: "assistant" as const,
    parts: [{ type: "text" as const, text: "Yes, I", state: "streaming" }],
  };
  await chats.saveChat({ id: other.chat, messages: [question, own] });
  expect((await chats.stop(other.chat)).message).toEqual({
    ...own,
    parts: [{ type: "text", text: "Yes, I", state: "done" }],
  });
  expect(await chats.loadChat(other.chat)).toHaveLength(2);

  for (const lines of [["plain text"], ["data: nothing\n\n"], ['data: {"type":"new-thing"}\n\n'], []]) {
    const { chat } = await cutAnswer(chats, [question], lines);
    expect(await chats.stop(chat)).toMatchObject({ outcome: "stopped", message: null, saved: false });
    expect(await chats.readChat(chat)).toMatchObject({ messages: [question], activeStreamId: null });
  }
  // A chunk that is cut, and one that does not fit.
  const [, begun, delta] = sse([{ type: "start" }, ...text]);
  const wrong = sse([{ type: "text-delta", id: "other", delta: "?" }]);
  for (const end of [[delta!.slice(0, 30)], wrong]) {
    const { chat } = await cutAnswer(chats, [question], [begun!, delta!, ...end]);
    expect((await chats.stop(chat)).message!.parts).toMatchObject([{ text: "Yes" }]);
  }
});

test("a long answer is read in one go", async () => {
  const chats = chatsAt("memory:");
  const deltas = Array.from({ length: 20_000 }, (_, n) => ({ type: "text-delta", id: "t", delta: `word${n} ` }));
  const { chat } = await cutAnswer(chats, [user("?", "u1")], sse([{ type: "text-start", id: "t" }, ...deltas]));
  const { message } = await chats.stop(chat);
  expect((message!.parts[0] as { text: string }).text).toBe(deltas.map(({ delta }) => delta).join(""));
});
