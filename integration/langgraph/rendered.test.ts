// How often a message is serialized, in graphs that LangGraph itself runs: once, however long the conversation is.
import { Serializable } from "@langchain/core/load/serializable";
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  trimMessages,
} from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Annotation,
  DeltaChannel,
  END,
  MessagesAnnotation,
  START,
  Send,
  StateGraph,
  messagesStateReducer,
} from "@langchain/langgraph";
import { createAgent } from "langchain";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
// @ts-expect-error The fixture is JavaScript.
import { scripted } from "./fixtures/model.mjs";
import { kinds, open, place, saver, sequence } from "./helpers.js";

/** How often each message was serialized since the last call of `rendered`. */
const counts = new Map<object, number>();
const { toJSON } = Serializable.prototype;

// Whatever serializes a message calls its toJSON once.
beforeEach(() => {
  counts.clear();
  vi.spyOn(Serializable.prototype, "toJSON").mockImplementation(function (this: Serializable) {
    counts.set(this, (counts.get(this) ?? 0) + 1);
    return toJSON.call(this);
  });
});
afterEach(() => vi.restoreAllMocks());

/** Returns how often messages were serialized since the last call. */
function rendered(): number {
  const sum = [...counts.values()].reduce((all, each) => all + each, 0);
  counts.clear();
  return sum;
}

let made = 0;
const content = () => `message ${++made} ${"x".repeat(300)}`;
const ai = () => new AIMessage({ content: content(), id: `id-${made}` });
const human = () => new HumanMessage({ content: content(), id: `id-${made}` });

const STEPS = 30;

interface State {
  messages: BaseMessage[];
}

type Reducer = (before: BaseMessage[], more: BaseMessage[]) => BaseMessage[];
const channel = (reducer: Reducer) => Annotation<BaseMessage[]>({ reducer, default: () => [] });
const messagesWith = (reducer: Reducer) => Annotation.Root({ messages: channel(reducer) });

/** A graph whose node runs `STEPS` times. */
function loop(node: (state: State) => object, state: object = MessagesAnnotation) {
  let left = STEPS;
  return new StateGraph(state as typeof MessagesAnnotation)
    .addNode("agent", node)
    .addEdge(START, "agent")
    .addConditionalEdges("agent", () => (--left % STEPS === 0 ? END : "agent"));
}

const one = () => ({ messages: [ai()] });
const input = () => ({ messages: [human()] });

const config = (thread_id = "1", durability: "sync" | "async" | "exit" = "sync") => ({
  configurable: { thread_id },
  durability,
  recursionLimit: 500,
});

/** A graph that calls a subgraph of two nodes ten times. */
function nested() {
  let left = 10;
  return new StateGraph(MessagesAnnotation)
    .addNode("inner", sequence(MessagesAnnotation, { first: one, second: one }).compile())
    .addEdge(START, "inner")
    .addConditionalEdges("inner", () => (--left === 0 ? END : "inner"));
}

/** A graph that starts three nodes nine times, each with something of the state. */
function sends(given: (state: State) => object) {
  let left = 10;
  return new StateGraph(MessagesAnnotation)
    .addNode("work", one)
    .addNode("plan", () => ({}))
    .addEdge(START, "plan")
    .addConditionalEdges("plan", (state) => (--left === 0 ? END : [1, 2, 3].map(() => new Send("work", given(state)))))
    .addEdge("work", "plan");
}

const twoChannels = Annotation.Root({ messages: channel(messagesStateReducer), others: channel(messagesStateReducer) });
const both = () => {
  const shared = ai();
  return { messages: [shared, ai()], others: [shared] };
};
const replacing = ({ messages }: State) => {
  const middle = messages[messages.length >> 1]!.id!;
  return { messages: [new AIMessage({ content: content(), id: middle }), ai()] };
};
const trimming = async ({ messages }: State) => {
  const some = await trimMessages(messages, { maxTokens: 5, tokenCounter: (list) => list.length });
  expect(some.length).toBeLessThanOrEqual(5);
  return one();
};
const trimmed = messagesWith((before, more) => messagesStateReducer(before, more).slice(-20));
const delta = () => new DeltaChannel<BaseMessage[], BaseMessage[]>((before, more) => [...before, ...more.flat()]);

/** Graphs, how many messages they have at the end, and how many they have made. */
const graphs: Array<[what: string, make: () => { compile(options: object): any }, messages: number, all: number]> = [
  ["in a subgraph with the same channel", nested, 21, 21],
  ["by nodes that Send starts with nothing", () => sends(() => ({})), 28, 28],
  ["by nodes that Send starts with all messages", () => sends((state) => ({ ...state })), 28, 28],
  ["in two channels, of which one lacks some", () => loop(both, twoChannels), 2 * STEPS + 1, 2 * STEPS + 1],
  ["where the list begins otherwise: trimmed at each step", () => loop(one, trimmed), 20, STEPS + 1],
  ["where trimMessages selects what the model reads", () => loop(trimming), STEPS + 1, STEPS + 1],
  ["where a message in the middle is replaced", () => loop(replacing), STEPS + 1, 2 * STEPS + 1],
  ["in a DeltaChannel", () => loop(one, Annotation.Root({ messages: delta as never })), STEPS + 1, STEPS + 1],
];

describe.each(kinds)("on %s, each message is serialized once", (kind) => {
  it.each(graphs)("%s", async (_, make, count, all) => {
    const { messages } = await make()
      .compile({ checkpointer: saver(kind) })
      .invoke(input(), config());
    expect(messages).toHaveLength(count);
    expect(rendered()).toBe(all);
  });

  it.each(["sync", "async", "exit"] as const)("with the durability %s", async (durability) => {
    const graph = loop(one).compile({ checkpointer: saver(kind) });
    await graph.invoke(input(), config("1", durability));
    expect(rendered()).toBe(STEPS + 1);
  });

  it("by an agent that calls two tools a turn, and once more if a message got its id after the node", async () => {
    const turns = 10;
    const look = tool(({ at }: { at: number }) => `${at} ${"x".repeat(200)}`, {
      name: "look",
      description: "looks",
      schema: z.object({ at: z.number() }),
    });
    let turn = -1;
    const model = scripted(() => {
      turn += 1;
      const calls = [1, 2].map((at) => ({ id: `call-${turn}-${at}`, name: "look", args: { at } }));
      return { content: content(), calls: turn === turns ? [] : calls };
    });
    const agent = createAgent({ model, tools: [look], checkpointer: saver(kind) });
    const { messages } = await agent.invoke(input(), config());
    expect(messages).toHaveLength(1 + turns * 3 + 1);
    // The agent sends all messages to each tool. A tool's message has no id in its pending write.
    for (const message of messages) expect(counts.get(message)).toBe(message.getType() === "tool" ? 2 : 1);
    expect(counts.size).toBe(messages.length);
  });

  it("where a summary takes the place of all but the last messages", async () => {
    let [removed, summaries] = [0, 0];
    const node = ({ messages }: State) => {
      if (messages.length <= 20) return one();
      const old = messages.slice(0, -4).map((message) => new RemoveMessage({ id: message.id! }));
      removed += old.length;
      summaries += 1;
      return { messages: [...old, new SystemMessage({ content: content(), id: `id-${made}` })] };
    };
    const graph = loop(node).compile({ checkpointer: saver(kind) });
    await graph.invoke(input(), config());
    expect(removed).toBeGreaterThan(10);
    // A pending write with orders to remove messages is serialized as a whole, and the summary in it too.
    expect(rendered()).toBe(STEPS + 1 + removed + summaries);
  });

  it("by two threads in turn", async () => {
    const checkpointer = saver(kind);
    const streams = ["1", "2"].map((thread) => loop(one).compile({ checkpointer }).stream(input(), config(thread)));
    const [first, second] = await Promise.all(streams);
    for (let step = 0; step < STEPS; step++) {
      for (const stream of [first!, second!]) expect((await stream.next()).done).toBe(false);
    }
    for (const stream of [first!, second!]) expect((await stream.next()).done).toBe(true);
    expect(rendered()).toBe(2 * (STEPS + 1));
  });

  it("by updateState and a later turn, which read all messages first", async () => {
    const checkpointer = saver(kind);
    const app = loop(one).compile({ checkpointer });
    await app.invoke(input(), config());
    rendered();
    await app.updateState(config(), one());
    // What was read are new objects.
    expect(rendered()).toBe(STEPS + 2);
    // The update has decided what runs next, as the node does, so the node runs once less.
    const { messages } = await app.invoke(input(), config());
    expect(messages).toHaveLength(2 * STEPS + 2);
    expect(rendered()).toBe(2 * STEPS + 2);
  });
});

it("a new process serializes all messages that it has read once, and then only the new ones", async () => {
  const target = place("sqlite");
  const before = open(target);
  await loop(one).compile({ checkpointer: before }).invoke(input(), config());
  await before.close();
  rendered();
  const app = loop(one).compile({ checkpointer: open(target) });
  const { messages } = await app.invoke(input(), config());
  expect(messages).toHaveLength(2 * STEPS + 2);
  expect(rendered()).toBe(2 * STEPS + 2);
});

it("a reducer that copies all messages lets each step serialize all of them", async () => {
  const copied: Reducer = (before, more) =>
    messagesStateReducer(before, more).map((message) => new AIMessage({ content: message.content, id: message.id! }));
  const graph = loop(one, messagesWith(copied)).compile({ checkpointer: saver("memory") });
  await graph.invoke(input(), config());
  const lists = Array.from({ length: STEPS + 1 }, (_, at) => at + 1);
  // The pending writes have the messages that the copies are made of.
  expect(rendered()).toBe(lists.reduce((sum, each) => sum + each, 0) + STEPS + 1);
});
