/** Checks the definition of a graph, and turns names into numbers. */

import { ForkpointError, quote, rangeError, show, typeError } from "../../../bridge/errors.js";
import { requireId } from "../../../store/ids.js";
import { type OptionParser, callback, object, oneOf, shown } from "../../../store/options.js";
import { readRetry } from "../../shared/retry.js";
import { readTimeLimit } from "../../shared/time-limit.js";
import { END, START, Send, type Goto } from "../command.js";
import type { GraphTool, Target } from "./wire.js";
import type { MaybePromise } from "../../../bridge/maybe-promise.js";
import type { MemoryConsistency, MemoryHooks, NodeOptions, Subgraph } from "./node.js";

/** The target of an edge: nodes, or a function of the state that chooses nodes. */
export type EdgeTarget<S> = string | readonly string[] | ((state: S) => MaybePromise<Goto | null | undefined>);

/**
 * An edge. From {@link START} or a node, to nodes or {@link END}. From several nodes: a barrier, whose target runs when
 * all of them have run.
 */
export type Edge<S> = readonly [from: string | readonly string[], to: EdgeTarget<S>];

/** The shape of a graph without its nodes. */
export interface GraphOutline<S> {
  /** Default: none. A node without edges leads to the end. */
  edges?: ReadonlyArray<Edge<S>>;
  /** The first node. The same as the edge `[START, entry]`. */
  entry?: string;
  /**
   * Where checkpoints are stored. A question is always stored, unless the policy is `"none"`. Default: `"every_node"`.
   *
   * - `"every_node"`: before the first superstep, and after every node without its own policy.
   * - `"explicit"`: where a node's policy asks for it.
   * - `"none"`: nowhere. No node may ask a question.
   */
  checkpoint?: "every_node" | "explicit" | "none";
  /** The hooks of the memory, and the default consistency (`"live"`). */
  memory?: Partial<MemoryHooks> & { consistency?: MemoryConsistency };
  /** The maximum number of supersteps of one run. After that, the run rejects. Default: 1,000. */
  maxSupersteps?: number;
  /** Default: `"graph"`. */
  name?: string;
}

/** The name of a graph without a name. It identifies no program. */
export const NAMELESS = "graph";

type Source = number | null;
type Route = (state: any) => unknown;

export interface GraphNode {
  name: string;
  options: NodeOptions<any, any> | Subgraph;
  timeoutMs: number | undefined;
}

/** A graph, checked and copied, so that later changes to the user's definition have no effect. */
export interface GraphDefinition {
  name: string;
  nodes: GraphNode[];
  routes: Map<Source, Route[]>;
  description: GraphTool["run"]["graph"];
  numberOf(name: string): number | undefined;
}

const effects = oneOf("pure", "read", "write", "external", "human");
const nodePolicies = oneOf("before", "after", "both", "none");
const policies = oneOf("every_node", "explicit", "none");
const consistencies = oneOf("live", "snapshot", "journaled");

function optional<T>(parse: OptionParser<T>, value: unknown, where: string): T | undefined {
  return value === undefined || value === null ? undefined : parse(value, where);
}

export function readDefinition(config: GraphOutline<any> & { nodes: Record<string, unknown> }): GraphDefinition {
  const { nodes, edges = [], entry, name = NAMELESS, checkpoint, maxSupersteps = 1000, memory } = config;
  object(nodes, "nodes");
  if (!Number.isSafeInteger(maxSupersteps) || maxSupersteps < 1)
    throw rangeError(`maxSupersteps must be a whole number of at least 1, but is ${show(maxSupersteps)}`);
  const graphMemory = optional(consistencies, memory?.consistency, "memory.consistency") ?? "live";
  const read: GraphNode[] = [];
  const nodeDescriptions: GraphDefinition["description"]["nodes"] = [];
  for (const [key, node] of Object.entries(nodes)) {
    const where = `nodes[${quote(key)}]`;
    const options = readNode(node, where);
    read.push({ name: nodeName(key), options, timeoutMs: readTimeLimit(options.timeoutMs, `${where}.timeoutMs`) });
    nodeDescriptions.push({
      name: key,
      effect: optional(effects, options.effectClass, `${where}.effectClass`),
      checkpoint: optional(nodePolicies, options.checkpoint, `${where}.checkpoint`),
      retry: readRetry(options.retry, `${where}.retry`) ?? { maxRetries: 0, backoffMs: 0 },
      memory: optional(consistencies, options.memory?.consistency, `${where}.memory.consistency`) ?? graphMemory,
    });
  }
  const numbers = new Map(read.map(({ name: node }, number) => [node, number]));
  const numberOf = (node: string) => numbers.get(node);
  const numberAt = (node: unknown, where: string): number => {
    const number = typeof node === "string" ? numberOf(node) : undefined;
    if (number !== undefined) return number;
    throw typeError(`${where} must be the name of a node, but is ${shown(node)}`);
  };
  if (!Array.isArray(edges)) throw typeError(`edges must be an array, but is ${show(edges)}`);
  const routes = new Map<Source, Route[]>();
  const statics: GraphDefinition["description"]["edges"] = [];
  const barriers: GraphDefinition["description"]["barriers"] = [];
  const all: Array<readonly [unknown, unknown]> = entry === undefined ? [...edges] : [[START, entry], ...edges];
  for (const [at, edge] of all.entries()) {
    const where = `edges[${entry === undefined ? at : at - 1}]`;
    if (!Array.isArray(edge) || edge.length !== 2) throw typeError(`${where} must be a pair [from, to]`);
    const [from, to] = edge as [unknown, EdgeTarget<any>];
    if (Array.isArray(from)) {
      const sources = from.map((source, index) => numberAt(source, `${where}[0][${index}]`));
      if (sources.length === 0) throw typeError(`${where}[0] must name the nodes to wait for`);
      for (const target of [to].flat()) barriers.push({ from: sources, to: numberAt(target, `${where}[1]`) });
      continue;
    }
    const source = from === START ? null : numberAt(from, `${where}[0]`);
    if (typeof to === "function") {
      routes.set(source, [...(routes.get(source) ?? []), to as Route]);
      continue;
    }
    for (const target of [to].flat()) {
      if (target !== END) statics.push({ from: source, to: numberAt(target, `${where}[1]`) });
    }
  }
  if (!routes.has(null) && !statics.some(({ from }) => from === null))
    throw typeError("the graph has no first node: pass entry, or add an edge from START");
  const graph = {
    nodes: nodeDescriptions,
    edges: statics,
    barriers,
    conditional: [...routes.keys()],
    checkpoint: optional(policies, checkpoint, "checkpoint") ?? "every_node",
    maxSupersteps,
  };
  return { name: requireId(name, "name"), nodes: read, routes, description: graph, numberOf };
}

function readNode(node: unknown, where: string): GraphNode["options"] {
  if (typeof node === "function") return { run: node as NodeOptions<any, any>["run"] };
  if (typeof node !== "object" || node === null)
    throw typeError(`${where} must be a function or an object, but is ${show(node)}`);
  const { run, subgraph } = node as Record<string, unknown>;
  if ((run === undefined) === (subgraph === undefined)) throw typeError(`${where} must have either run or subgraph`);
  if (run !== undefined) callback(run, `${where}.run`);
  return { ...(node as GraphNode["options"]) };
}

function nodeName(name: string): string {
  if (name === "" || name === START || name === END) throw typeError(`${quote(name)} cannot be the name of a node`);
  return requireId(name, "the name of a node");
}

/** A target of a command or of a conditional edge. `keep` stores the argument of a Send and returns its number. */
export function readTargets(
  { numberOf }: GraphDefinition,
  targets: unknown,
  what: string,
  keep: (arg: unknown) => number,
): Target[] {
  if (targets === undefined || targets === null) return [];
  const read: Target[] = [];
  for (const target of [targets].flat() as unknown[]) {
    if (target === END) continue;
    const send = target instanceof Send;
    const name = send ? target.node : target;
    const node = typeof name === "string" ? numberOf(name) : undefined;
    if (node === undefined) {
      throw new ForkpointError("INVALID_ARGUMENT", `${what} names ${shown(name)}, which is not a node of the graph`);
    }
    read.push({ node, arg: send ? keep(target.arg) : undefined });
  }
  return read;
}
