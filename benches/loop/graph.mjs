// Runs a graph of LangGraph with a saver, and prints its figures. Run: `node graph.mjs <side> <target> <work> <count> <before> <durability>`.
// `chat`: a node appends `count` messages of 2 KB to `before` messages. `agent`: createAgent calls two tools in each of `count` turns.
import { strictEqual } from "node:assert/strict";
import { register } from "node:module";
import { setImmediate as immediate } from "node:timers/promises";
import { onDisk } from "../lib/peers.mjs";
import { prose } from "../lib/states.mjs";
import { syncs } from "../lib/sync.mjs";

const core = ["@langchain/core/messages", "@langchain/core/tools", "@langchain/core/utils/testing"];
const graphs = [...core, "@langchain/langgraph", "@langchain/langgraph-checkpoint", "langchain", "zod"];
const homes = {
  ...Object.fromEntries(graphs.map((name) => [name, "langgraph"])),
  "@langchain/langgraph-checkpoint-sqlite": "peers",
  "@langchain/langgraph-checkpoint-postgres": "postgres",
};
register(new URL("../lib/resolve.mjs", import.meta.url), { data: homes });

const { AIMessage, HumanMessage } = await import("@langchain/core/messages");
const { END, MessagesAnnotation, START, StateGraph } = await import("@langchain/langgraph");

const [side, target, what, ...numbers] = process.argv.slice(2);
const [count, before] = numbers.map(Number);
const durability = process.argv[7];

const opens = {
  async ours() {
    const { ForkpointSaver } = await import("../../dist/contracts/langgraph/index.mjs");
    const saver = new ForkpointSaver(target);
    return [saver, () => saver.close()];
  },
  async SqliteSaver() {
    const { SqliteSaver } = await import("@langchain/langgraph-checkpoint-sqlite");
    const saver = SqliteSaver.fromConnString(target);
    return [saver, () => saver.db.close()];
  },
  async PostgresSaver() {
    const { PostgresSaver } = await import("@langchain/langgraph-checkpoint-postgres");
    const saver = PostgresSaver.fromConnString(target);
    await saver.setup();
    return [saver, () => saver.end()];
  },
  async MemorySaver() {
    const { MemorySaver } = await import("@langchain/langgraph-checkpoint");
    return [new MemorySaver(), () => {}];
  },
  /** What the graph takes alone. */
  none: async () => [undefined, () => {}],
};

const human = (seed) => new HumanMessage({ content: prose(1_940, seed + 1), id: `m${seed}` });
const ai = (seed) => new AIMessage({ content: prose(1_940, seed + 1), id: `m${seed}` });
const message = (seed) => (seed % 2 === 0 ? human(seed) : ai(seed));

/** The first steps are not measured: the conversation is new to the saver. */
const WARM = Math.min(10, count >> 2);

let begun;
const begin = () => (begun = { ...performance.eventLoopUtilization(), at: performance.now(), syncs: syncCalls() });
const syncCalls = () => (process.env.FORKPOINT_SYNC_FILE === undefined ? 0 : syncs().syncs);

function chat() {
  // All texts are made before the run.
  const messages = Array.from({ length: before + count }, (_, seed) => message(seed));
  let [step, last] = [0, count];
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", async () => {
      // A model or a tool waits for an answer.
      await immediate();
      if (step === WARM) begin();
      return { messages: [messages[before + step++]] };
    })
    .addEdge(START, "agent")
    .addConditionalEdges("agent", () => (step < last ? "agent" : END));
  return {
    compile: (checkpointer) => graph.compile({ checkpointer }),
    input: messages.slice(0, before),
    length: before + count,
    steps: count - WARM,
    /** Runs another thread, so that the code is compiled. */
    async warm(app) {
      last = Math.min(50, count);
      await app.invoke({ messages: [message(0)] }, { ...config, configurable: { thread_id: "warm" } });
      [step, last] = [0, count];
    },
  };
}

async function agent() {
  const { tool } = await import("@langchain/core/tools");
  const { FakeListChatModel } = await import("@langchain/core/utils/testing");
  const { createAgent } = await import("langchain");
  const { z } = await import("zod");
  let turn = 0;
  class Model extends FakeListChatModel {
    bindTools() {
      return this;
    }
    async _generate() {
      await immediate();
      if (turn === WARM) begin();
      const calls = [1, 2].map((at) => ({ id: `call-${turn}-${at}`, name: "read", args: { at } }));
      const tool_calls = turn === count ? [] : calls;
      const message = new AIMessage({ content: prose(500, turn + 1), id: `ai-${turn++}`, tool_calls });
      return { generations: [{ text: "", message }] };
    }
  }
  const schema = z.object({ at: z.number() });
  const read = tool(({ at }) => prose(750, turn * 2 + at), { name: "read", description: "reads", schema });
  const compile = (checkpointer) => createAgent({ model: new Model({ responses: [""] }), tools: [read], checkpointer });
  return { compile, input: [human(0)], length: 1 + count * 3 + 1, steps: count - WARM, warm() {} };
}

/** The synchronous part of each `put`, in us. */
const puts = [];

function timed(saver) {
  const put = saver?.put.bind(saver);
  if (saver !== undefined)
    saver.put = (...args) => {
      const start = performance.now();
      const result = put(...args);
      puts.push((performance.now() - start) * 1000);
      return result;
    };
  return saver;
}

const config = { configurable: { thread_id: "thread" }, durability, recursionLimit: 4 * count + 10 };
const { compile, input, length, steps, warm } = await { chat, agent }[what]();
const [saver, close] = await opens[side]();
const graph = compile(timed(saver));
// The first call opens the database.
await saver?.getTuple({ configurable: { thread_id: "nobody" } });
await warm(graph);
let [gap, last] = [0, performance.now()];
const ticks = setInterval(() => {
  const now = performance.now();
  if (begun !== undefined) gap = Math.max(gap, now - Math.max(last, begun.at));
  last = now;
}, 1);
const { messages } = await graph.invoke({ messages: input }, config);
const [wall, { active }] = [performance.now() - begun.at, performance.eventLoopUtilization(begun)];
gap = Math.max(gap, performance.now() - Math.max(last, begun.at));
clearInterval(ticks);
strictEqual(messages.length, length);
const synced = syncCalls() - begun.syncs;
if (saver !== undefined) {
  const { values } = await graph.getState(config);
  strictEqual(values.messages.length, length);
}
await close();
const [, ...measured] = puts.slice(-steps).toSorted((a, b) => a - b);
const perStep = (ms) => (ms * 1000) / steps;
console.log(
  JSON.stringify({
    wall: perStep(wall),
    loop: perStep(active),
    gap: gap * 1000,
    put: measured[measured.length >> 1] ?? 0,
    syncs: synced / steps,
    size: onDisk(target),
  }),
);
process.exit(0);
