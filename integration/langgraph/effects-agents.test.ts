// Effects that run once, in the tools and the middleware of LangChain's agents.
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import { MessagesAnnotation, entrypoint, task } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { createAgent, createMiddleware } from "langchain";
import { type EffectAttempt, type Once, effects } from "forkpoint/effects";
import { recover } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
// @ts-expect-error The fixture is JavaScript.
import { scripted } from "./fixtures/model.mjs";
import { type Kind, kinds, open, place, sequence } from "./helpers.js";

interface Call {
  id: string;
  name: string;
  args: object;
}

/** A model that calls the tools of each list in one step, and ends after the last list. `asked` counts its messages. */
function calling(steps: Call[][], asked: unknown[] = []) {
  return scripted((messages: BaseMessage[]) => {
    asked.push(messages);
    const calls = steps[messages.filter((message) => message.getType() === "ai").length];
    return calls === undefined ? { content: "done" } : { calls };
  });
}

const pay = (id: string, order = 7): Call => ({ id, name: "charge", args: { order } });
const question = { messages: [new HumanMessage("Pay the order")] };
const config = (thread = "thread") => ({ configurable: { thread_id: thread }, durability: "sync" as const });
const thread = (run = "thread") => ({ space: "langgraph", run });

class Server {
  readonly keys: string[] = [];

  readonly charge = ({ idempotencyKey }: EffectAttempt): string => {
    this.keys.push(idempotencyKey);
    return `receipt ${this.keys.length}`;
  };
}

/** A tool that charges an order once, and whose process then seems to crash the first `times` times. */
function charging(once: Once, { charge }: Server, keyOf: (order: number, runtime: ToolRuntime) => string, times = 0) {
  let left = times;
  return tool(
    async ({ order }: { order: number }, runtime: ToolRuntime) => {
      const receipt = await once(runtime, keyOf(order, runtime), charge);
      if (left-- > 0) throw new Crash("crash");
      return receipt;
    },
    { name: "charge", description: "Charges an order", schema: z.object({ order: z.number() }) },
  );
}

function opened(kind: Kind) {
  const saver = open(place(kind));
  return { saver, server: new Server(), once: effects(saver) };
}

class Crash extends Error {}

/** Ends the run with the error of a tool, as a crash does. Agents otherwise tell the error to the model. */
const crashing = createMiddleware({
  name: "crashing",
  wrapToolCall: async (request, handler) => handler(request),
});

const byOrder = (order: number) => `charge order ${order}`;
const byCall = (_order: number, { toolCallId }: ToolRuntime) => `charge ${toolCallId}`;

function answers({ messages }: { messages: BaseMessage[] }): unknown[] {
  return messages.filter((message) => message.getType() === "tool").map(({ content }) => content);
}

describe.each(kinds)("effects of an agent on %s", (kind) => {
  it("a tool that runs again gets the stored result", async () => {
    const saver = open(place(kind), { program: "agent" });
    const server = new Server();
    const once = effects(saver);
    const asked: unknown[] = [];
    const model = calling([[pay("call-1")], [pay("call-2", 8)]], asked);
    const tools = [charging(once, server, byOrder, 1)];
    const agent = createAgent({ model, tools, checkpointer: saver, middleware: [crashing] });
    await expect(agent.invoke(question, config())).rejects.toThrow("crash");
    expect((await recover(agent, saver, { idleMs: 0, onFailed: () => "retry" })).runs).toMatchObject([
      { outcome: "finished" },
    ]);
    const { values } = await agent.graph.getState(config());
    expect(answers(values as never)).toEqual(["receipt 1", "receipt 2"]);
    expect(server.keys).toHaveLength(2);
    expect(asked).toHaveLength(3);
    const listed = await once.list(thread());
    expect(listed.map(({ key, state, attempts }) => [key, state, attempts])).toEqual([
      ["charge order 7", "done", 1],
      ["charge order 8", "done", 1],
    ]);
  });

  it("calls of one step share a key, or have one each by the id of the call", async () => {
    for (const [keyOf, receipts] of [
      [byOrder, ["receipt 1", "receipt 1"]],
      [byCall, ["receipt 1", "receipt 2"]],
    ] as const) {
      const saver = open(place(kind));
      const server = new Server();
      const model = calling([[pay("call-1"), pay("call-2")]]);
      const agent = createAgent({
        model,
        tools: [charging(effects(saver), server, keyOf)],
        checkpointer: saver,
      });
      expect(answers((await agent.invoke(question, config())) as never).toSorted()).toEqual(receipts);
    }
  });

  it("middleware has the effects of the thread", async () => {
    const { saver, server, once } = opened(kind);
    const middleware = createMiddleware({
      name: "mails",
      beforeAgent: async (_state, runtime) => {
        await once(runtime, "greet", server.charge);
      },
      wrapToolCall: async (request, handler) => {
        await once(request.runtime, `tell ${request.toolCall.id}`, server.charge);
        return handler(request);
      },
    });
    const model = calling([[pay("call-1")]]);
    const tools = [charging(once, server, byOrder)];
    const agent = createAgent({ model, tools, checkpointer: saver, middleware: [middleware] });
    for (let time = 0; time < 2; time++) await agent.invoke(question, config());
    expect((await once.list(thread())).map(({ key }) => key)).toEqual(["greet", "tell call-1", "charge order 7"]);
    expect(server.keys).toHaveLength(3);
  });

  it("an agent in a tool of an agent shares the thread of the outer one", async () => {
    const { saver, server, once } = opened(kind);
    const inner = createAgent({
      model: calling([[pay("inner-1")]]),
      tools: [charging(once, server, byOrder)],
    });
    const ask = tool(async () => answers((await inner.invoke(question)) as never).join(), {
      name: "ask",
      description: "Asks another agent",
      schema: z.object({}),
    });
    const call = (id: string) => ({ id, name: "ask", args: {} });
    const model = calling([[call("call-1")], [call("call-2")]]);
    const agent = createAgent({ model, tools: [ask], checkpointer: saver });
    expect(answers((await agent.invoke(question, config())) as never)).toEqual(["receipt 1", "receipt 1"]);
    expect((await once.list(thread())).map(({ key }) => key)).toEqual(["charge order 7"]);
  });

  it("a ToolNode, a tool that a node calls, and a tool in a task have the effects of the thread", async () => {
    const { saver, server, once } = opened(kind);
    const charge = charging(once, server, byOrder);
    const message = new AIMessage({ content: "", tool_calls: [pay("call-1"), pay("call-2", 8)] });
    const graph = sequence(MessagesAnnotation, {
      tools: new ToolNode([charge]),
      node: async (_state, runnable) => {
        await charge.invoke({ order: 9 }, runnable);
        return {};
      },
    }).compile({ checkpointer: saver });
    expect(answers(await graph.invoke({ messages: [message] }, config()))).toHaveLength(2);
    const charges = task("charges", async (order: number) => charge.invoke({ order }) as Promise<string>);
    const program = entrypoint({ name: "program", checkpointer: saver }, async (order: number) => charges(order));
    expect(await program.invoke(10, config("task"))).toBe(await program.invoke(10, config("task")));
    const orders = (await once.list(thread())).map(({ key }) => key);
    expect(orders.toSorted()).toEqual([7, 8, 9].map(byOrder));
    expect((await once.list(thread("task"))).map(({ key }) => key)).toEqual([byOrder(10)]);
    expect(server.keys).toHaveLength(4);
  });

  it("a tool that is called outside of a thread rejects, and says why", async () => {
    const server = new Server();
    const charge = charging(effects(open(place(kind))), server, byOrder);
    await expect(charge.invoke({ order: 7 })).rejects.toThrow("configurable.thread_id");
    await expect(charge.invoke({ order: 7 }, { configurable: {} })).rejects.toThrow("configurable.thread_id");
    expect(server.keys).toEqual([]);
  });
});
