/** Helpers of the tests: temporary stores, tools that need no model, and graphs of such tools. */

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CheckpointStore, type EffectClass, type CheckpointStoreOptions } from "forkpoint";
import { onTestFinished } from "vitest";
import {
  AgentGraph,
  END,
  type GraphEvent,
  type GraphNode,
  type RuntimeDeps,
  START,
  humanNode,
  routerNode,
  toolNode,
} from "./framework.js";

/** Makes a new folder that is removed when the test ends. */
export function folder(): string {
  const path = realpathSync.native(mkdtempSync(join(tmpdir(), "forkpoint-agentos-")));
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));
  return path;
}

/**
 * Opens a store that is closed when the test ends. Cleanups run in reverse order, so the store is closed before its
 * folder is removed.
 */
export function open(target: string, options?: CheckpointStoreOptions): CheckpointStore {
  const store = new CheckpointStore(target, options);
  onTestFinished(() => store.close());
  return store;
}

/** Makes a database on a server. Only the project that runs these tests on Postgres has it: `../postgres/setup.ts`. */
const { makeDatabase } = globalThis as { makeDatabase?: () => string };

/** The backends that every graph is tested on, each with a function that makes a new target. */
export const backends: Array<[name: string, target: () => string]> = makeDatabase
  ? [["postgres", makeDatabase]]
  : [
      ["SQLite", () => join(folder(), "agent.db")],
      ["memory", () => "memory:"],
    ];

/** A function that returns a tool's result. If the function throws, the node fails. */
export type Handler = (state: { input?: unknown; scratch?: Record<string, unknown> }) => unknown;

/** A graph's tools by name, and a record of their calls. A tool without a handler returns `<name>!`. */
export class Tools {
  /** Every call, in order. */
  readonly calls: string[] = [];
  readonly #handlers: Record<string, Handler>;

  constructor(handlers: Record<string, Handler> = {}) {
    this.#handlers = handlers;
  }

  count(name: string): number {
    return this.calls.filter((call) => call === name).length;
  }

  readonly deps: RuntimeDeps = {
    toolOrchestrator: { processToolCall: ({ toolCallRequest }) => this.#call(toolCallRequest.toolName, {}) },
    extensionExecutor: (_extension, method, state) => this.#call(method, state as Parameters<Handler>[0]),
  };

  async #call(name: string, state: Parameters<Handler>[0]) {
    this.calls.push(name);
    try {
      return { success: true, output: this.#handlers[name] ? await this.#handlers[name](state) : `${name}!` };
    } catch (error) {
      return { success: false, error: String(error) };
    }
  }
}

/**
 * An empty schema. AgentOS converts Zod schemas. This object is not a Zod schema, so AgentOS accepts any value for it.
 */
export const schema = { input: {}, scratch: {}, artifacts: {} };

export const everyNode = { checkpointPolicy: "every_node" } as const;
type Config = { checkpointPolicy?: "every_node" };

export function tool(name: string, effectClass: EffectClass): GraphNode {
  return toolNode(name, {}, { effectClass });
}

/**
 * Makes a node that reads the state and whose output becomes scratch. The output of a tool does not become scratch.
 * AgentGraph has no builder for such nodes.
 */
export function extension(method: string, effectClass: EffectClass): GraphNode {
  return {
    id: method,
    type: "extension",
    executorConfig: { type: "extension", extensionId: "test", method },
    executionMode: "single_turn",
    effectClass,
    checkpoint: "none",
  };
}

/** Builds a graph of nodes, and of paths that lead through them: "START draft approve END" has three edges. */
export function graphOf(nodes: Record<string, GraphNode>, paths: string[], config: Config = everyNode) {
  const graph = new AgentGraph(schema, config);
  for (const [id, node] of Object.entries(nodes)) graph.addNode(id, node);
  for (const path of paths) {
    const ids = path.split(" ").map((id) => (id === "START" ? START : id === "END" ? END : id));
    for (const [at, to] of ids.slice(1).entries()) graph.addEdge(ids[at]!, to);
  }
  return graph;
}

/** Builds a graph of nodes that run one after the other. */
export const chain = (nodes: Record<string, GraphNode>, config?: Config) =>
  graphOf(nodes, [["START", ...Object.keys(nodes), "END"].join(" ")], config);

/** Nodes with effects, by their names. */
export const external = (names: string): Record<string, GraphNode> =>
  Object.fromEntries(names.split(" ").map((name) => [name, tool(name, "external")]));

/** The nodes of a refund that a human must approve: `approve`, a router, and `refund` or `decline`. */
export const refundNodes = () => ({
  approve: humanNode({ prompt: "Refund 480?" }),
  route: routerNode(({ artifacts }) => (artifacts.approve.approved === true ? "refund" : "decline")),
  ...external("refund decline"),
});

/**
 * Builds the ticket graph: `load` (read), `score` (external), `file` (write), the router `route`, `review` or `refund`
 * (both external), and `report` (pure). The router takes `review` for a risk above 0.5, and `refund` otherwise. Each
 * branch has only one node, because AgentOS skips only one node.
 */
export const ticket = () =>
  graphOf(
    {
      load: tool("load", "read"),
      score: tool("score", "external"),
      file: tool("file", "write"),
      route: routerNode(({ artifacts }) => (artifacts.score.risk > 0.5 ? "review" : "refund")),
      ...external("review refund"),
      report: tool("report", "pure"),
    },
    ["START load score file route review report END", "route refund report"],
  );

/** The tools of the ticket graph. Default risk: 0.9, so that the router takes `review`. */
export function ticketTools(handlers: Record<string, Handler> = {}): Tools {
  return new Tools({ score: () => ({ risk: 0.9 }), ...handlers });
}

/** Makes a handler that throws for the first `times` calls and returns `value` after that. */
export function failing(times: number, value: unknown): Handler {
  let left = times;
  return () => {
    if (left-- > 0) throw new Error("out of reach");
    return value;
  };
}

export interface Watched {
  runId: string;
  events: GraphEvent[];
  /** The saved checkpoints, in the order of the `checkpoint_saved` events. */
  saved: Array<{ checkpointId: string; nodeId: string }>;
  output: unknown;
  interrupted: string | undefined;
}

/** Reads a stream to its end. */
export async function watch(stream: AsyncIterable<GraphEvent>): Promise<Watched> {
  const watched: Watched = { runId: "", events: [], saved: [], output: undefined, interrupted: undefined };
  for await (const event of stream) {
    watched.events.push(event);
    if (event.type === "run_start") watched.runId = event.runId;
    if (event.type === "checkpoint_saved") watched.saved.push(event);
    if (event.type === "interrupt") watched.interrupted = event.nodeId;
    if (event.type === "run_end") watched.output = event.finalOutput;
  }
  return watched;
}

/** Returns the id of the checkpoint that the run saved at the node. */
export function savedAt(watched: Watched, nodeId: string): string {
  const found = watched.saved.find((saved) => saved.nodeId === nodeId);
  if (found === undefined) throw new Error(`no checkpoint at ${nodeId}: ${JSON.stringify(watched.saved)}`);
  return found.checkpointId;
}

/** Runs a graph until it has saved the checkpoint at `node`, or any, as if the process was killed then. Returns the run. */
export async function crashedAfter(graph: { stream(input: object): AsyncIterable<unknown> }, node?: string) {
  let runId = "";
  for await (const event of graph.stream({}) as AsyncIterable<{ type: string; runId: string; nodeId: string }>) {
    if (event.type === "run_start") runId = event.runId;
    if (event.type === "checkpoint_saved" && (node ?? event.nodeId) === event.nodeId) break;
  }
  return runId;
}
