/** The shape of a compiled graph: its nodes, edges, branches and joins, including those of its subgraphs. */

import type { ProgramEdge, ProgramNode, ProgramShape } from "../../store/compare-programs.js";

/** The parts of a compiled graph that define its shape. An `entrypoint` has no builder. */
export interface ShapedGraph {
  nodes: object;
  builder?: Partial<Builder> | undefined;
}

interface Builder {
  nodes: Record<string, { ends?: unknown; defer?: unknown; errorHandlerNode?: unknown } | undefined>;
  edges: Iterable<[string, string]>;
  waitingEdges: Iterable<[string[], string]>;
  /** A branch without `ends` may lead to any node. */
  branches: Record<string, Record<string, { ends?: Record<string, string> | string[] | undefined }>>;
  channels: object;
}

/** Separates a node's name from the names in its subgraph. LangGraph allows it in no name. */
export const INSIDE = ":";

const END = "__end__";

/** Returns the shape of a graph. A subgraph's nodes are prefixed with the name of their node and a colon. */
export function shapeOfGraph(graph: ShapedGraph, version: string | undefined): ProgramShape {
  const nodes: ProgramNode[] = [];
  const edges: ProgramEdge[] = [];
  addGraph(graph, "", { nodes, edges }, new Set());
  const fields = graph.builder?.channels === undefined ? undefined : Object.keys(graph.builder.channels);
  return { ...(version !== undefined && { version }), nodes, edges, ...(fields && { fields }) };
}

/** `around` are the graphs that contain this one. A graph may contain itself. */
function addGraph(
  graph: ShapedGraph,
  prefix: string,
  shape: Pick<ProgramShape, "nodes" | "edges">,
  around: Set<unknown>,
): void {
  const { builder } = graph;
  const names = Object.keys(graph.nodes);
  for (const name of names) {
    const inner = subgraphOf(graph, name);
    const kind = builder?.nodes?.[name]?.defer === true ? "deferred" : inner === undefined ? undefined : "subgraph";
    shape.nodes.push({ name: prefix + name, ...(kind && { kind }) });
    if (inner === undefined || around.has(inner)) continue;
    addGraph(inner, prefix + name + INSIDE, shape, new Set([...around, graph, inner]));
  }
  for (const edge of edgesOf(builder ?? {}, names)) {
    const joins = edge.joins?.map((name) => prefix + name);
    shape.edges.push({ ...edge, from: prefix + edge.from, to: prefix + edge.to, ...(joins && { joins }) });
  }
}

function edgesOf({ nodes = {}, edges = [], waitingEdges = [], branches = {} }: Partial<Builder>, names: string[]) {
  const found: ProgramEdge[] = [...edges].map(([from, to]) => ({ from, to }));
  for (const [joins, to] of waitingEdges) for (const from of joins) found.push({ from, to, joins: [...joins] });
  const chosen = new Map<string, Set<string>>();
  const choose = (from: string, targets: Iterable<unknown>) => {
    const known = chosen.get(from) ?? new Set<string>();
    chosen.set(from, known);
    for (const to of targets) if (typeof to === "string") known.add(to);
  };
  for (const [from, each] of Object.entries(branches)) {
    for (const { ends } of Object.values(each)) choose(from, Object.values(ends ?? [...names, END]));
  }
  for (const [from, node] of Object.entries(nodes)) {
    if (Array.isArray(node?.ends)) choose(from, node.ends);
    choose(from, [node?.errorHandlerNode]);
  }
  for (const [from, targets] of chosen) for (const to of targets) found.push({ from, to, conditional: true });
  return found;
}

function subgraphOf({ nodes }: ShapedGraph, name: string): ShapedGraph | undefined {
  const { subgraphs } = ((nodes as Record<string, unknown>)[name] ?? {}) as { subgraphs?: unknown };
  const inner: unknown = Array.isArray(subgraphs) ? subgraphs[0] : undefined;
  const isGraph = typeof inner === "object" && inner !== null && typeof (inner as ShapedGraph).nodes === "object";
  return isGraph ? (inner as ShapedGraph) : undefined;
}
