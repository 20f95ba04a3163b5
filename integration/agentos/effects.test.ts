// Effects that run once, in the tools and extensions of AgentOS' real graphs.
import type { CheckpointStore } from "forkpoint";
import { once, recover, withEffects } from "forkpoint/agentos";
import { type EffectAttempt, effects } from "forkpoint/effects";
import { describe, expect, expectTypeOf, it } from "vitest";
import {
  AgentGraph,
  END,
  LoopController,
  type RuntimeDeps,
  gmiNode,
  type GraphNode,
  START,
  humanNode,
  mission,
  routerNode,
  toolNode,
  workflow,
} from "./framework.js";
import { type Handler, Tools, backends, chain, everyNode, extension, open, schema, tool, watch } from "./harness.js";

/** Counts the effects that arrive, by idempotency key. */
class Server {
  readonly keys: string[] = [];

  readonly charge = ({ idempotencyKey }: EffectAttempt): { receipt: number } => {
    this.keys.push(idempotencyKey);
    return { receipt: this.keys.length };
  };

  /** A tool that charges once for each key. */
  tool(key = "charge"): Handler {
    return () => once(key, this.charge);
  }
}

const of = (run: string) => ({ space: "agentos", run });
const write = (name: string) => tool(name, "write");

function fails(times: number): () => void {
  let left = times;
  return () => {
    if (left-- > 0) throw new Error("crash");
  };
}

/** A tool that has its effect, and whose process then seems to crash the first `times` times. */
function crashing(server: Server, times = 1, key = "charge"): Handler {
  const crash = fails(times);
  return async () => {
    const result = await once(key, server.charge);
    crash();
    return result;
  };
}

/** Unlike the tools of the harness, a tool that throws aborts the run, as a crash does. */
function aborting(handlers: Record<string, Handler>) {
  const processToolCall = async ({ toolCallRequest: { toolName } }: { toolCallRequest: { toolName: string } }) => ({
    success: true,
    output: await handlers[toolName]!({}),
  });
  return { toolOrchestrator: { processToolCall } };
}

describe.each(backends)("on %s", (_backend, target) => {
  const build = (store: CheckpointStore, nodes: Record<string, GraphNode>, deps: Tools["deps"]) =>
    withEffects(chain(nodes).compile({ checkpointStore: store, deps }), store);

  it("a node that runs again gets the stored result, also the first node of a run", async () => {
    const store = open(target());
    const server = new Server();
    const deps = aborting({ pay: crashing(server), mail: crashing(server, 1, "mail"), end: () => "end" });
    const graph = build(store, { pay: write("pay"), mail: write("mail"), end: write("end") }, deps);
    await expect(graph.invoke({ order: 7 })).rejects.toThrow("crash");
    const options = { idleMs: 0 };
    expect((await recover(graph, store, options)).runs).toMatchObject([{ outcome: "error" }]);
    const output = { pay: { receipt: 1 }, mail: { receipt: 2 }, end: "end" };
    expect((await recover(graph, store, options)).runs).toMatchObject([{ outcome: "finished", output }]);
    expect(new Set(server.keys).size).toBe(2);
    expect(server.keys).toHaveLength(2);
    expect((await recover(graph, store, options)).runs).toEqual([]);
  });

  it("recover needs no graph of withEffects", async () => {
    const store = open(target());
    const server = new Server();
    const deps = aborting({ begin: () => 1, pay: crashing(server, 2) });
    const graph = chain({ begin: write("begin"), pay: write("pay") }).compile({ checkpointStore: store, deps });
    await expect(withEffects(graph, store).invoke({})).rejects.toThrow("crash");
    const options = { idleMs: 0 };
    expect((await recover(graph, store, options)).runs).toMatchObject([{ outcome: "error" }]);
    expect((await recover(graph, store, options)).runs).toMatchObject([{ outcome: "finished" }]);
    expect(server.keys).toHaveLength(1);
  });

  it("resume works with the id of a run and of a checkpoint", async () => {
    const store = open(target());
    const server = new Server();
    const deps = aborting({ begin: () => 1, pay: crashing(server, 2) });
    const graph = build(store, { begin: write("begin"), pay: write("pay") }, deps);
    await expect(graph.invoke({})).rejects.toThrow("crash");
    const [run] = (await store.runs()).runs;
    await expect(graph.resume(run!.latest.id)).rejects.toThrow("crash");
    expect(await graph.resume(run!.runId)).toEqual({ begin: 1, pay: { receipt: 1 } });
    expect(server.keys).toHaveLength(1);
    await expect(graph.resume("other")).rejects.toThrow("No checkpoint found");
  });

  it("two runs at the same time have effects of their own", async () => {
    const store = open(target());
    const server = new Server();
    const seen: string[][] = [];
    const tools = new Tools({ one: server.tool(), two: server.tool() });
    const graph = build(store, { one: write("one"), two: extension("two", "write") }, tools.deps);
    const runs = await Promise.all(Array.from({ length: 5 }, () => watch(graph.stream({}))));
    for (const { runId, output } of runs) {
      const listed = await effects(store).list(of(runId));
      expect(listed.map(({ key, state }) => [key, state])).toEqual([["charge", "done"]]);
      const { one, two } = output as { one: object; two: object };
      expect(two).toEqual(one);
      seen.push([listed[0]!.idempotencyKey]);
    }
    expect(server.keys.toSorted()).toEqual(seen.flat().toSorted());
  });

  it("an effect of a run that was deleted and begun again does not run", async () => {
    const path = target();
    const store = open(path);
    const other = path.startsWith("memory:") ? store : open(path);
    const server = new Server();
    const deps = aborting({
      begin: () => 1,
      pay: async () => {
        const run = (await other.runs()).runs[0]!;
        const newest = (await other.get(run.latest.id))!;
        await other.clear(run.runId);
        await other.save({ ...newest, id: "begun again" });
        return server.tool()({});
      },
    });
    const graph = build(store, { begin: write("begin"), pay: write("pay") }, deps);
    await expect(graph.invoke({})).rejects.toThrow('was deleted while it ran, so its effect "charge" did not run');
    const [run] = (await other.runs()).runs;
    expect(run).toMatchObject({ latest: { id: "begun again" } });
    expect(await effects(other).list(of(run!.runId))).toEqual([]);
    expect(await effects(other)(of(run!.runId), "charge", server.charge)).toEqual({ receipt: 1 });
  });

  it("nodes that run at the same time share the keys of their run", async () => {
    const store = open(target());
    const server = new Server();
    const graph = new AgentGraph(schema, everyNode);
    for (const name of ["a", "b", "c"]) graph.addNode(name, write(name)).addEdge(START, name).addEdge(name, "join");
    graph.addNode("join", tool("join", "pure")).addEdge("join", END);
    const tools = new Tools({ a: server.tool(), b: server.tool(), c: server.tool("charge c"), join: server.tool() });
    const compiled = withEffects(graph.compile({ checkpointStore: store, deps: tools.deps }), store);
    const { runId } = await watch(compiled.stream({}));
    expect(server.keys).toHaveLength(2);
    expect((await effects(store).list(of(runId))).map(({ key }) => key).toSorted()).toEqual(["charge", "charge c"]);
  });

  it("a fork from before the effect has one of its own, and a fork from after it shares the result", async () => {
    const store = open(target());
    const server = new Server();
    const tools = new Tools({ pay: server.tool(), after: server.tool() });
    const nodes = { begin: write("begin"), pay: write("pay"), after: write("after") };
    const graph = build(store, nodes, tools.deps);
    const { runId } = await watch(graph.stream({}));
    const checkpoints = (await store.listByRun(runId)).toReversed();
    expect(checkpoints.map(({ nodeId }) => nodeId)).toEqual([START, "begin", "pay", "after"]);
    const forked = async (at: number) => {
      const fork = await store.fork(checkpoints[at]!.id);
      const { runs } = await recover(graph, store, { runs: [fork] });
      return (runs[0] as { output?: { after: { receipt: number } } }).output!.after.receipt;
    };
    expect(await forked(2)).toBe(1);
    expect(await forked(1)).toBe(2);
    expect(await forked(0)).toBe(3);
    expect(new Set(server.keys).size).toBe(3);
  });

  it("an effect before and after a human node happens once", async () => {
    const store = open(target());
    const server = new Server();
    const deps = aborting({ hold: crashing(server, 0, "hold"), pay: crashing(server) });
    const route = routerNode(() => "pay");
    const nodes = { hold: write("hold"), approve: humanNode({ prompt: "Pay?" }), route, pay: write("pay") };
    const graph = build(store, nodes, deps);
    const { interrupted, runId } = await watch(graph.stream({}));
    expect(interrupted).toBe("approve");
    const options = { idleMs: 0, onWaiting: () => ({ approved: true }) };
    expect((await recover(graph, store, options)).runs).toMatchObject([{ outcome: "error" }]);
    expect((await recover(graph, store, options)).runs).toMatchObject([{ outcome: "finished" }]);
    expect((await effects(store).list(of(runId))).map(({ key, attempts }) => [key, attempts])).toEqual([
      ["hold", 1],
      ["charge", 1],
    ]);
    expect(server.keys).toHaveLength(2);
  });

  it("works in a workflow and in a mission", async () => {
    const store = open(target());
    const server = new Server();
    const deps = aborting({ pay: crashing(server, 2), mail: () => "mail" });
    const steps = workflow("steps")
      .input({})
      .returns({})
      .step("pay", { tool: "pay" })
      .then("mail", { tool: "mail" })
      .compile({ checkpointStore: store, deps });
    const plan = { steps: [{ id: "pay", action: "tool_call", toolName: "pay", description: "", phase: "gather" }] };
    const planned = mission("planned")
      .input({})
      .returns({})
      .goal("pay")
      .planner({ strategy: "linear", maxSteps: 1, plan } as never)
      .anchor("mail", write("mail"), { required: true, phase: "deliver" })
      .compile({ checkpointStore: store, deps: aborting({ pay: crashing(server, 2), mail: () => "mail" }) });
    for (const [at, graph] of [steps, planned].entries()) {
      await expect(withEffects(graph as typeof steps, store).invoke({})).rejects.toThrow("crash");
      expect((await recover(graph, store, { idleMs: 0 })).runs).toMatchObject([{ outcome: "error" }]);
      expect((await recover(graph, store, { idleMs: 0 })).runs).toMatchObject([{ outcome: "finished" }]);
      expect(server.keys).toHaveLength(at + 1);
    }
  });

  it("the tools that a model calls have the effects of the run", async () => {
    const store = open(target());
    const server = new Server();
    const calls = ["a", "b", "a"].map((name, id) => ({ id: String(id), name, arguments: {} }));
    let answers = 0;
    async function* providerCall() {
      yield { type: "text_delta", content: await once("ask", () => "paid") };
      return { toolCalls: answers++ === 0 ? calls : [] };
    }
    const deps = {
      ...aborting({ a: server.tool("charge a"), b: server.tool("charge b") }),
      loopController: new LoopController(),
      providerCall,
    } as unknown as RuntimeDeps;
    const model = gmiNode({ instructions: "pay", parallelTools: true }, { effectClass: "read" });
    const { output, runId } = await watch(build(store, { model }, deps).stream({}));
    expect(output).toEqual({ model: "paidpaid" });
    const keys = (await effects(store).list(of(runId))).map(({ key }) => key);
    expect(keys.toSorted()).toEqual(["ask", "charge a", "charge b"]);
    expect(server.keys).toHaveLength(2);
  });

  it("a retry of AgentOS gets the stored result", async () => {
    const store = open(target());
    const server = new Server();
    const tools = new Tools({ pay: crashing(server, 2) });
    const retryPolicy = { maxAttempts: 3, backoff: "fixed", backoffMs: 1 } as const;
    const pay = toolNode("pay", { retryPolicy }, { effectClass: "write" });
    expect(await build(store, { pay }, tools.deps).invoke({})).toEqual({ pay: { receipt: 1 } });
    expect(tools.count("pay")).toBe(3);
    expect(server.keys).toHaveLength(1);
  });
});

describe("withEffects", () => {
  it("returns a graph with the type, the events and the methods of the graph", async () => {
    const store = open("memory:");
    const tools = new Tools();
    const graph = chain({ a: write("a"), b: write("b") }).compile({ checkpointStore: store, deps: tools.deps });
    const wrapped = withEffects(graph, store);
    expectTypeOf(wrapped).toEqualTypeOf(graph);
    expect(wrapped).toBeInstanceOf(graph.constructor);
    expect(wrapped.toIR()).toBe(graph.toIR());
    expect(await wrapped.inspect("run")).toEqual(await graph.inspect("run"));
    const shown = async (run: typeof graph) => {
      const { events, output } = await watch(run.stream({ n: 1 }));
      return { types: events.map(({ type }) => type), output };
    };
    expect(await shown(wrapped)).toEqual(await shown(graph));
    expect(await shown(withEffects(wrapped, store))).toEqual(await shown(graph));
  });

  it("saves the state before the first node once, which a resume starts from", async () => {
    const store = open("memory:");
    const tools = new Tools();
    const graph = withEffects(chain({ a: write("a") }).compile({ checkpointStore: store, deps: tools.deps }), store);
    for await (const event of graph.stream({ n: 1 })) if (event.type === "run_start") break;
    const [run] = (await store.runs()).runs;
    expect(run).toMatchObject({ checkpoints: 1, status: "unfinished", latest: { nodeId: START } });
    expect((await store.latest(run!.runId))!.state.input).toEqual({ n: 1 });
    expect(tools.calls).toEqual([]);
    expect(await graph.resume(run!.runId)).toEqual({ a: "a!" });
    expect((await store.listByRun(run!.runId)).length).toBe(1);
  });

  it("saves nothing before the first node if the graph saves nothing later", async () => {
    const store = open("memory:");
    const tools = new Tools();
    const compiled = chain({ a: write("a") }, {}).compile({ checkpointStore: store, deps: tools.deps });
    expect(await withEffects(compiled, store).invoke({})).toEqual({ a: "a!" });
    expect((await store.runs()).runs).toEqual([]);
  });

  it("ends the run of a loop that ends early", async () => {
    const store = open("memory:");
    let ended = false;
    const compiled = chain({ a: write("a") }).compile({ checkpointStore: store });
    const stream = async function* (input: unknown) {
      try {
        yield* compiled.stream(input);
      } finally {
        ended = true;
      }
    };
    const graph = withEffects(
      { ...compiled, stream, invoke: async () => {}, resume: async () => {}, toIR: () => compiled.toIR() },
      store,
    );
    for await (const { type } of graph.stream({})) {
      expect(type).toBe("run_start");
      break;
    }
    expect(ended).toBe(true);
  });

  it("checks its arguments", () => {
    const store = open("memory:");
    const graph = chain({ a: write("a") }).compile({ checkpointStore: store });
    expect(() => withEffects(undefined as never, store)).toThrow(TypeError);
    expect(() => withEffects({ toIR: graph.toIR.bind(graph), resume: () => {} } as never, store)).toThrow("stream()");
    expect(() => withEffects(graph, {} as never)).toThrow("CheckpointStore");
  });
});

describe("once", () => {
  it("rejects outside of a run, also between the events of one, and says what to do", async () => {
    const store = open("memory:");
    const outside = async () => once("charge", () => 1);
    const told = {
      name: "ForkpointError",
      code: "UNSUPPORTED",
      message: expect.stringContaining("withEffects(graph, store)") as unknown,
    };
    await expect(outside()).rejects.toMatchObject(told);
    const tools = new Tools({ a: outside });
    const plain = chain({ a: write("a") }).compile({ checkpointStore: store, deps: tools.deps });
    const { events } = await watch(plain.stream({}));
    expect(JSON.stringify(events)).toContain("withEffects(graph, store)");
    let between = 0;
    for await (const { type } of withEffects(plain, store).stream({})) {
      await expect(outside()).rejects.toMatchObject(told);
      if (type === "node_end") between++;
    }
    expect(between).toBe(1);
  });

  it("belongs to the run around a graph that is not from withEffects, and otherwise to the inner run", async () => {
    const store = open("memory:");
    const server = new Server();
    const inner = chain({ pay: write("pay") }).compile({
      checkpointStore: store,
      deps: new Tools({ pay: server.tool() }).deps,
    });
    const tools = new Tools({
      shared: () => inner.invoke({}),
      again: () => inner.invoke({}),
      own: () => withEffects(inner, store).invoke({}),
      last: server.tool(),
    });
    const nodes = { shared: write("shared"), again: write("again"), own: write("own"), last: write("last") };
    const graph = withEffects(chain(nodes).compile({ checkpointStore: store, deps: tools.deps }), store);
    expect(await graph.invoke({})).toEqual({
      shared: { pay: { receipt: 1 } },
      again: { pay: { receipt: 1 } },
      own: { pay: { receipt: 2 } },
      last: { receipt: 1 },
    });
  });
});
