// Tests conversations: the messages of each framework and provider in one form, hostile values, pages, and what a step has added.
import { CheckpointStore, openStore } from "forkpoint";
import { ForkpointStorage } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { type Conversation, type ConversationMessage, type Inspector, openInspector } from "forkpoint/inspect";
import { describe, expect, onTestFinished, test } from "vitest";
import { opened } from "../contents.js";
import { checkpoint, rejection } from "../helpers.js";

/** Stores a value, and returns its conversation. */
async function read(value: unknown, query?: Parameters<Inspector["conversation"]>[1]): Promise<Conversation> {
  const store = await opened("memory:");
  await new ForkpointStorage(store).set("values", "value", value as never);
  await using inspector = await openInspector(store);
  return (await inspector.conversation({ space: "storage", run: "value", ns: "values" }, query))!;
}

const messagesOf = async (...messages: unknown[]) => (await read({ messages })).messages;

/** A part in words: everything that it has. The result of a call follows it, and says where it is. */
function shown(part: ConversationMessage["parts"][number]): string {
  const json = JSON.stringify;
  const resultIn = ({ path, parts, isError, added }: any) =>
    ` -> ${added ? "" : "old "}${isError ? "failed " : ""}${path} (${parts.map(shown).join("; ")})`;
  switch (part.type) {
    case "text":
    case "reasoning":
    case "error":
      return `${part.type} ${part.text}`;
    case "media":
      return `media ${part.mediaType} ${part.bytes} ${part.name} ${part.url}`;
    case "value":
      return `value ${part.name} ${json(part.value)}`;
    case "result":
      return `result ${part.id} ${part.name}${resultIn(part.result)}`;
    case "call": {
      const { id, name, args, state, result } = part;
      return `call ${id} ${name} ${json(args)} ${state}${result === null ? "" : resultIn(result)}`;
    }
  }
}

/** What most tests look at: the role and the parts of a message. */
const short = ({ role, parts }: ConversationMessage) => `${role}: ${parts.map(shown).join("; ")}`;

const text = (said: string) => ({ type: "text", text: said });

const lc = (kind: string, kwargs: object) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", `${kind}Message`],
  kwargs,
});

describe("messages of", () => {
  test("LangChain, as LangGraph stores them", async () => {
    const call = { id: "c1", name: "find", args: { city: "Lisbon" } };
    const found = await messagesOf(
      lc("System", { content: "Be kind." }),
      lc("Human", {
        content: [text("Hi"), { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }],
        id: "h",
      }),
      lc("AIChunk".replace("Chunk", ""), {
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "tool_use", id: "c1", name: "find", input: '{"city"' },
        ],
        tool_calls: [call],
        invalid_tool_calls: [{ id: "c2", name: "book", args: "{", error: "no JSON" }],
        usage_metadata: {
          input_tokens: 10,
          output_tokens: 2,
          total_tokens: 12,
          input_token_details: { cache_read: 4 },
        },
        response_metadata: { model_name: "gpt-5", total_duration: 1_500_000_000 },
        id: "a",
      }),
      lc("Tool", { content: "Grand Hotel", tool_call_id: "c1", name: "find" }),
      lc("Tool", { content: "lost", tool_call_id: "c9", name: "other", status: "error" }),
      lc("Chat", { content: "narrated", role: "narrator" }),
    );
    expect(found.map(short)).toEqual([
      "system: text Be kind.",
      "user: text Hi; media image/png 3 null null",
      'assistant: reasoning hm; call c1 find {"city":"Lisbon"} null -> messages[3] (text Grand Hotel); call c2 book "{" null -> failed messages[2] (error no JSON)',
      "tool: result c9 other -> failed messages[4] (text lost)",
      "narrator: text narrated",
    ]);
    expect(found[2]).toMatchObject({
      id: "a",
      model: "gpt-5",
      durationMs: 1_500,
      usage: { input: 10, output: 2, cached: 4, reasoning: null, total: 12 },
    });
  });

  test("LangChain, as plain objects and as stored messages", async () => {
    const found = await messagesOf(
      { type: "human", content: "Hi" },
      { type: "ai", data: { content: "Hello", additional_kwargs: { reasoning_content: "hm" }, id: "x" } },
      { type: "ai", content: "", tool_calls: [{ id: "1", name: "add", args: { a: 1 } }] },
      { type: "tool", content: "2", tool_call_id: "1" },
    );
    expect(found.map(short)).toEqual([
      "user: text Hi",
      "assistant: reasoning hm; text Hello",
      'assistant: call 1 add {"a":1} null -> messages[3] (text 2)',
    ]);
  });

  test("OpenAI's chat completions", async () => {
    const found = await messagesOf(
      { role: "developer", content: "Be kind." },
      {
        role: "user",
        content: [
          text("Hi"),
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAAAA==" } },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "1", type: "function", function: { name: "add", arguments: '{"a":1}' } }],
      },
      { role: "tool", tool_call_id: "1", content: "2" },
      { role: "assistant", content: null, refusal: "I can't.", reasoning_content: "hm" },
    );
    expect(found.map(short)).toEqual([
      "developer: text Be kind.",
      "user: text Hi; media application/pdf 4 a.pdf null",
      'assistant: call 1 add {"a":1} null -> messages[3] (text 2)',
      "assistant: reasoning hm; error refused: I can't.",
    ]);
  });

  test("OpenAI's Responses, and of its Agents SDK", async () => {
    const { list, messages } = await read({
      items: [
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "Hi" },
            { type: "input_image", image_url: "https://example.com/a.png" },
          ],
        },
        { type: "reasoning", id: "r", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "x" },
        { type: "function_call", id: "fc", call_id: "1", name: "add", arguments: '{"a":1}' },
        { type: "function_call_output", call_id: "1", output: "2" },
        { type: "function_call", callId: "2", name: "add", arguments: "{}" },
        { type: "function_call_result", callId: "2", name: "add", output: { type: "text", text: "3" } },
        { type: "web_search_call", id: "w", status: "completed", action: { query: "lamps" } },
        { type: "hosted_tool_call", id: "h", name: "search", arguments: "{}", output: "found" },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "Done" }] },
        { type: "tool_call_item", rawItem: { type: "function_call", callId: "3", name: "last", arguments: "{}" } },
      ],
    });
    expect(list).toBe("items");
    expect(messages.map(short)).toEqual([
      "user: text Hi; media image null null https://example.com/a.png",
      "assistant: reasoning hm",
      'assistant: call 1 add {"a":1} null -> items[3] (text 2)',
      "assistant: call 2 add {} null -> items[5] (text 3)",
      'assistant: call w web_search {"query":"lamps"} null',
      "assistant: call h search {} null -> items[7] (text found)",
      "assistant: text Done",
      "assistant: call 3 last {} null",
    ]);
  });

  test("Anthropic, and of the Claude Agent SDK", async () => {
    const answer = (content: unknown[]) => ({
      role: "assistant",
      type: "message",
      id: "msg",
      model: "claude-opus-4-1",
      content,
      usage: { input_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 9 },
    });
    const { messages } = await read({
      entries: [
        { type: "summary", summary: "About lamps", leafUuid: "u" },
        { type: "user", uuid: "u1", timestamp: "2026-01-31T12:00:00.000Z", message: { role: "user", content: "Hi" } },
        { type: "assistant", uuid: "u2", message: answer([{ type: "thinking", thinking: "hm", signature: "s" }]) },
        {
          type: "assistant",
          uuid: "u3",
          message: answer([
            { type: "redacted_thinking", data: "x" },
            { type: "tool_use", id: "t", name: "Read", input: { file: "a" } },
          ]),
        },
        {
          type: "user",
          uuid: "u4",
          message: {
            role: "user",
            content: [
              {
                type: "tool_result",
                tool_use_id: "t",
                is_error: true,
                content: [
                  text("no such file"),
                  { type: "image", source: { type: "base64", media_type: "image/webp", data: "AAAA" } },
                ],
              },
            ],
          },
        },
        { type: "queue-operation", operation: "enqueue" },
      ],
    });
    expect(messages.filter((message) => "marks" in message)).toEqual([]);
    const entry = (more: object) => ({ type: "user", uuid: "u", ...more, message: { role: "user", content: "Hi" } });
    const marked = await read({
      entries: [entry({ isMeta: true, isSidechain: false }), entry({ isSidechain: true }), entry({ isMeta: "no" })],
    });
    expect(marked.messages.map(({ marks }) => marks)).toEqual([["meta"], ["sidechain"], undefined]);
    expect(messages.map(short)).toEqual([
      "system: text About lamps",
      "user: text Hi",
      "assistant: reasoning hm",
      'assistant: reasoning ; call t Read {"file":"a"} null -> failed entries[4] (text no such file; media image/webp 3 null null)',
      'unknown: value queue-operation {"type":"queue-operation","operation":"enqueue"}',
    ]);
    expect(messages[1]).toMatchObject({ id: "u1", at: Date.UTC(2026, 0, 31, 12) });
    expect(messages[3]).toMatchObject({
      id: "u3",
      model: "claude-opus-4-1",
      usage: { input: 125, cached: 100, output: 9, reasoning: null, total: 134 },
    });
  });

  test("the AI SDK: of its user interface, of its models, and of Mastra", async () => {
    const found = await messagesOf(
      {
        id: "m",
        role: "assistant",
        metadata: {
          model: "gpt-5",
          totalUsage: { inputTokens: 3, outputTokens: 4, totalTokens: 7, outputTokenDetails: { reasoningTokens: 2 } },
        },
        parts: [
          { type: "step-start" },
          { type: "reasoning", text: "hm" },
          { type: "tool-add", toolCallId: "1", state: "output-available", input: { a: 1 }, output: { sum: 2 } },
          {
            type: "dynamic-tool",
            toolName: "sub",
            toolCallId: "2",
            state: "output-error",
            input: {},
            errorText: "down",
          },
          { type: "tool-send", toolCallId: "3", state: "approval-requested", input: {} },
          {
            type: "tool-send",
            toolCallId: "4",
            state: "output-denied",
            input: {},
            approval: { id: "x", approved: false, reason: "no" },
          },
          { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA", filename: "a.png" },
          { type: "data-weather", data: { sun: true } },
          { ...text("Done"), state: "done" },
        ],
      },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "5", toolName: "add", input: { a: 1 } }] },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "5", toolName: "add", output: { type: "json", value: { sum: 2 } } },
        ],
      },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "6", toolName: "add", input: { a: 1 } }] },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "6", toolName: "add", output: { type: "error-text", value: "down" } },
        ],
      },
      {
        role: "assistant",
        content: {
          format: 2,
          parts: [
            {
              type: "tool-invocation",
              toolInvocation: { state: "result", toolCallId: "7", toolName: "add", args: { a: 1 }, result: "2" },
            },
          ],
        },
      },
      { role: "user", content: { format: 2, content: "Thanks", parts: [] } },
    );
    expect(found.map(short)).toEqual([
      'assistant: reasoning hm; call 1 add {"a":1} output-available -> messages[0] (value null {"sum":2}); call 2 sub {} output-error -> failed messages[0] (text down); call 3 send {} approval-requested; call 4 send {} output-denied -> failed messages[0] (text denied: no); media image/png 3 a.png null; value data-weather {"type":"data-weather","data":{"sun":true}}; text Done',
      'assistant: call 5 add {"a":1} null -> messages[2] (value null {"sum":2})',
      'assistant: call 6 add {"a":1} null -> failed messages[4] (text down)',
      'assistant: call 7 add {"a":1} result -> messages[5] (text 2)',
      "user: text Thanks",
    ]);
    expect(found[0]).toMatchObject({
      model: "gpt-5",
      usage: { input: 3, output: 4, cached: null, reasoning: 2, total: 7 },
    });
  });

  test("Gemini, and of Helix", async () => {
    const found = await messagesOf(
      { role: "user", parts: [{ text: "Hi" }, { inlineData: { mimeType: "image/png", data: "AAAA" } }] },
      { role: "model", parts: [{ functionCall: { id: "g", name: "add", args: { a: 1 } } }] },
      { role: "user", parts: [{ functionResponse: { id: "g", name: "add", response: { sum: 2 } } }] },
      {
        role: "assistant",
        content: "",
        thinking: { content: "hm" },
        toolCalls: [{ id: "1", name: "sub", arguments: { a: 1 } }],
      },
      { role: "tool", toolCallId: "1", toolName: "sub", content: "0" },
    );
    expect(found.map(short)).toEqual([
      "user: text Hi; media image/png 3 null null",
      'assistant: call g add {"a":1} null -> messages[2] (value null {"sum":2})',
      'assistant: reasoning hm; call 1 sub {"a":1} null -> messages[4] (text 0)',
    ]);
  });

  test("a session of Helix", async () => {
    const store = await opened("memory:");
    const sessions = new SessionStore(store);
    await sessions.createSession("s", { agentType: "writer" });
    await sessions.appendMessages("s", [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Hello", thinking: "hm" },
    ]);
    await using inspector = await openInspector(store);
    const { messages } = (await inspector.conversation({ space: "helix", run: "s" }))!;
    expect(messages.map(short)).toEqual(["user: text Hi", "assistant: reasoning hm; text Hello"]);
  });
});

describe("values that are no usual messages", () => {
  test.each<[string, unknown]>([
    ["nothing", null],
    ["a text", "messages"],
    ["an empty list", { messages: [] }],
    ["people with roles", { users: ["admin", "user"].map((role) => ({ role, name: "Ada" })) }],
    ["parts without a message", { content: [text("a"), text("b")] }],
    ["a list of numbers", { messages: Array.from({ length: 100_000 }, (_, n) => n) }],
    ["a message that is too deep", { a: { b: { c: { d: { e: { messages: [{ role: "user", content: "x" }] } } } } } }],
  ])("%s has no conversation", async (_, value) => {
    expect(await read(value)).toMatchObject({ lists: [], list: null, total: 0, from: 0, messages: [] });
  });

  test("of any shape never throw, and nothing of them is lost", async () => {
    const shapes: unknown[] = [
      null,
      undefined,
      1,
      "a text",
      [],
      {},
      new Date(0),
      new Map([["role", "user"]]),
      { role: "user" },
      { role: 7, content: 7 },
      { role: "__proto__", content: { __proto__: null, constructor: 1 } },
      { role: "constructor", content: [{ type: "constructor" }, { type: "toString", a: 1 }, { type: 7 }] },
      {
        role: "assistant",
        content: [{ type: "text", text: { value: 5 } }, { type: "tool-", input: 1 }, null, undefined, 7, [[]]],
      },
      {
        role: "assistant",
        content: "x",
        tool_calls: [null, 1, "a", {}, { function: null }],
        usage: { input_tokens: -1, output_tokens: Number.NaN },
      },
      {
        role: "tool",
        content: [{ type: "tool_result" }, { type: "tool-result", output: { type: "content", value: [1] } }],
      },
      {
        role: "user",
        content: [
          { type: "image", source: { source: { source: {} } } },
          { type: "file", data: new Uint8Array(5), mediaType: "x/y" },
        ],
      },
      { lc: 1, type: "constructor", id: null, kwargs: { content: "x" } },
      { lc: 1, type: "constructor", id: ["AIMessage"], kwargs: null },
      { type: "message", message: { message: { message: 1 } } },
      { rawItem: { rawItem: { rawItem: {} } } },
      {
        role: "assistant",
        content: [
          { type: "tool_use", id: "same", name: "a" },
          { type: "tool_use", id: "same", name: "b" },
        ],
      },
    ];
    const good = Array.from({ length: 30 }, (_, n) => ({ role: "user", content: `message ${n}` }));
    const { messages, total } = await read({ messages: [...good, ...shapes, ...good] });
    expect(total).toBe(60 + shapes.length);
    expect(messages.every(({ parts, role }) => Array.isArray(parts) && typeof role === "string")).toBe(true);
    const all = messages.map(({ parts }) => parts.map(shown));
    expect(all[30 + 5]).toEqual(["value null {}"]);
    const odd = ['value constructor {"type":"constructor"}', 'value toString {"type":"toString","a":1}'];
    expect(all[30 + 11]).toEqual([...odd, 'value null {"type":7}']);
  });

  test("shared, in Maps and behind a cycle are found", async () => {
    const shared = { role: "user", content: "Hi" };
    const cycle: { messages: unknown[]; self?: unknown } = { messages: [shared, shared] };
    cycle.self = cycle;
    const { messages } = await read(cycle);
    expect(messages.map(short)).toEqual(["user: text Hi", "user: text Hi"]);
    const inMap = await read(new Map([["chat", [new Map(Object.entries(shared))]]]));
    expect(inMap.list).toBe("chat");
    expect(inMap.messages.map(short)).toEqual(["user: text Hi"]);
  });

  test("a part that refers to the message before it does not repeat forever", async () => {
    const message: { role: string; content: unknown[] } = { role: "assistant", content: [] };
    message.content.push({ type: "tool_result", tool_use_id: "x", content: message.content });
    const { messages } = await read({ messages: [{ role: "user", content: "Hi" }, message] });
    expect(messages).toHaveLength(2);
  });
});

describe("lists and pages", () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => ({ role: "user", content: `m ${n}` }));

  test("the key `messages` comes first, then the longest list, and each can be chosen", async () => {
    const state = { notes: many(9), messages: many(2), inner: { more: many(4) } };
    const { lists, list, total } = await read(state);
    expect({ lists, list, total }).toEqual({
      lists: [
        { path: "messages", entries: 2 },
        { path: "notes", entries: 9 },
        { path: "inner.more", entries: 4 },
      ],
      list: "messages",
      total: 2,
    });
    const chosen = await read(state, { list: "inner.more" });
    expect(chosen).toMatchObject({ list: "inner.more", total: 4 });
    expect(chosen.messages[1]).toMatchObject({ path: "inner.more[1]" });
    expect(await rejection(read(state, { list: "other" }))).toMatchObject({ code: "NOT_FOUND" });
    expect((await read(many(3))).list).toBe("");
  });

  test("2,000 messages come in pages, from both ends", async () => {
    const state = { messages: many(2_000) };
    const paths = async (query?: Parameters<Inspector["conversation"]>[1]) => {
      const { from, total, messages } = await read(state, query);
      return [from, total, messages.length, messages[0]?.path, messages.at(-1)?.path];
    };
    expect(await paths()).toEqual([1_900, 2_000, 100, "messages[1900]", "messages[1999]"]);
    expect(await paths({ from: 0 })).toEqual([0, 2_000, 100, "messages[0]", "messages[99]"]);
    expect(await paths({ from: -1_000, limit: 10 })).toEqual([1_000, 2_000, 10, "messages[1000]", "messages[1009]"]);
    expect(await paths({ from: -9_999, limit: 2 })).toEqual([0, 2_000, 2, "messages[0]", "messages[1]"]);
    expect(await paths({ from: 5_000 })).toEqual([2_000, 2_000, 0, undefined, undefined]);
    expect(await rejection(read(state, { limit: 1_001 }))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("a run or a checkpoint that does not exist has none", async () => {
    await using inspector = await openInspector(await openStore("memory:"));
    expect(await inspector.conversation({ space: "langgraph", run: "none" })).toBeNull();
    expect(await inspector.conversation({ space: "agentos", run: "none", id: "x" })).toBeNull();
    expect(await inspector.usage({ space: "langgraph", run: "none" })).toBeNull();
  });
});

describe("what a step has added", () => {
  const said = (n: number, more = {}) => ({ role: n % 2 === 0 ? "user" : "assistant", content: `m ${n}`, ...more });

  async function steps(...states: unknown[][]): Promise<Inspector> {
    const store = await opened("memory:");
    const graphs = new CheckpointStore(store);
    for (const [n, messages] of states.entries()) {
      const state = { ...checkpoint().state, scratch: { messages } };
      await graphs.save(checkpoint({ id: `s${n}`, runId: "run", timestamp: n, state }));
    }
    const inspector = await openInspector(store);
    onTestFinished(() => inspector.close());
    return inspector;
  }

  test("are new and changed messages, equal ones counted", async () => {
    const call = {
      role: "assistant",
      content: "",
      tool_calls: [{ id: "1", function: { name: "add", arguments: "{}" } }],
    };
    const inspector = await steps(
      [said(0)],
      [said(0), said(0), call],
      [said(0), said(0), call, { role: "tool", tool_call_id: "1", content: "2" }],
      [said(0), said(0, { id: "edited" })],
    );
    const added = async (step: number) => {
      const { messages, list } = (await inspector.conversation({ space: "agentos", run: "run", step }))!;
      expect(list).toBe("scratch.messages");
      return messages.map(({ added: own, parts }) =>
        [own].concat(parts.flatMap((part) => (part.type === "call" ? (part.result?.added ?? []) : []))),
      );
    };
    expect(await added(0)).toEqual([[true]]);
    expect(await added(1)).toEqual([[false], [true], [true]]);
    expect(await added(2)).toEqual([[false], [false], [false, true]]);
    expect(await added(3)).toEqual([[false], [true]]);
  });

  test("is compared with the parent, also if that belongs to another run", async () => {
    const store = await opened("memory:");
    const graphs = new CheckpointStore(store);
    const state = { ...checkpoint().state, scratch: { messages: [said(0), said(1)] } };
    await graphs.save(checkpoint({ id: "s0", runId: "run", timestamp: 0, state }));
    const fork = await graphs.fork("s0", { scratch: { messages: [said(0), said(3)] } });
    await using inspector = await openInspector(store);
    const { messages } = (await inspector.conversation({ space: "agentos", run: fork }))!;
    expect(messages.map((message) => message.added)).toEqual([false, true]);
  });
});
