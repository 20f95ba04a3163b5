/** `withEffects`: a graph whose runs are the current run of their code, and save before their first node. */

import { crypto } from "../../bridge/crypto.js";
import { readingArgument, show, typeError } from "../../bridge/errors.js";
import { handleOf } from "../../store/handle-of.js";
import { describeProgram } from "../../store/stored-programs.js";
import type { CheckpointStore } from "./checkpoint-store.js";
import { type CurrentRun, type RunEvent, eventsInRun, inRun } from "./current-run.js";
import { Graph, type RecoverableGraph, START } from "./graph.js";
import { makers } from "./maker.js";
import { agentos } from "./wire.js";

/** The graph that {@link withEffects} needs. Every `compile()` of AgentOS returns one. */
export interface EffectGraph extends RecoverableGraph {
  /** Starts a run and returns the artifacts. */
  invoke(input: unknown): Promise<unknown>;
  /** Starts a run and returns its events. */
  stream(input: unknown): AsyncIterable<{ type: string }>;
}

/** The graphs given to `withEffects`, by the graphs that it returned. */
const originals = new WeakMap<object, RecoverableGraph>();

/** Returns the graph given to `withEffects`, or the graph itself. */
export function originalOf<G extends RecoverableGraph>(graph: G): G {
  return (originals.get(graph) as G | undefined) ?? graph;
}

/** See effects.ts. */
export function withEffects<G extends EffectGraph>(graph: G, store: CheckpointStore): G {
  const original = originalOf(graph);
  const compiled = new Graph(original);
  if (readingArgument("graph", () => typeof original.stream) !== "function")
    throw typeError(`graph must be a compiled graph of AgentOS, with stream(), but is ${show(graph)}`);
  const handle = readingArgument("store", () => typeof store?.save) === "function" ? handleOf(store) : undefined;
  if (handle === undefined) throw typeError(`store must be a CheckpointStore of forkpoint, but is ${show(store)}`);
  const maker = makers.get(handle);
  const { program, shape, identity } = compiled.programFor(maker);
  maker?.learn(compiled.id, identity);

  const runOf = (runId: string): CurrentRun => ({
    runId,
    handle,
    compiled,
    incarnation: handle.seen.incarnation(runId),
  });

  const stream = (input: unknown): AsyncGenerator<RunEvent & { finalOutput?: unknown }> =>
    eventsInRun<RunEvent>(original.stream(input), async ({ runId, graphId }) => {
      await describeProgram(handle, agentos.name, shape, program);
      if (compiled.saves) await saveStart(store, runId!, graphId!, input);
      return runOf(runId!);
    });

  const methods = {
    stream,
    async invoke(input: unknown): Promise<unknown> {
      let output: unknown;
      for await (const { type, finalOutput } of stream(input)) if (type === "run_end") output = finalOutput;
      return output;
    },
    async resume(id: string, ...others: []): Promise<unknown> {
      const found = (await store.latest(id)) ?? (await store.get(id));
      const resume = () => original.resume(id, ...others);
      if (found === null) return resume();
      await handle.run(async (engine) => maker?.owner?.require(engine, found.runId));
      // A resume of AgentOS saves nothing, so that no save would be refused.
      await handle.refuseLeased({ space: agentos.name, run: found.runId, ns: "" });
      return inRun(runOf(found.runId), resume);
    },
  };
  const wrapped = new Proxy(original, {
    get: (target, key) => {
      const value: unknown = Object.hasOwn(methods, key)
        ? methods[key as keyof typeof methods]
        : Reflect.get(target, key);
      return typeof value === "function" && key !== "constructor" ? (value.bind(target) as unknown) : value;
    },
  });
  originals.set(wrapped, original);
  return wrapped;
}

/** Saves the state before the first node. */
async function saveStart(store: CheckpointStore, runId: string, graphId: string, input: unknown): Promise<void> {
  const diagnostics = {
    totalTokensUsed: 0,
    totalDurationMs: 0,
    nodeTimings: {},
    discoveryResults: {},
    guardrailResults: {},
    checkpointsSaved: 0,
    memoryReads: 0,
    memoryWrites: 0,
  };
  await store.save({
    id: crypto().randomUUID(),
    graphId,
    runId,
    nodeId: START,
    timestamp: Date.now(),
    state: { input, scratch: {}, artifacts: {}, diagnostics },
    nodeResults: {},
    visitedNodes: [],
    skippedNodes: [],
    pendingEdges: [],
  });
}
