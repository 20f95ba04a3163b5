/** The shape of a graph and its subgraphs, and the position of a thread in it. */

import type { Format } from "../../../bridge/serializer.js";
import type { ProgramEdge, ProgramPosition, ProgramShape } from "../../../store/compare-programs.js";
import { pathOf } from "../../shared/fit.js";
import { END, START } from "../command.js";
import type { GraphDefinition } from "./definition.js";
import type { GraphParts } from "./plan.js";
import { type GraphCheckpointer, type Loaded, type ThreadRef, loadCheckpoint, ranIn } from "./recorder.js";

type Parts = Pick<ProgramShape, "nodes" | "edges">;

/**
 * Returns the shape of a graph. A subgraph's node has its outer node's name, a colon, and its own name. `partsOf`
 * returns the parts of a subgraph.
 */
export function shapeOfGraph(
  definition: GraphDefinition,
  version: string | undefined,
  partsOf: (subgraph: object) => GraphParts,
): ProgramShape {
  const shape: Parts = { nodes: [], edges: [] };
  addGraph(definition, [], shape, partsOf);
  return { program: definition.name, ...(version !== undefined && { version }), ...shape };
}

function addGraph(
  { nodes, description }: GraphDefinition,
  around: string[],
  shape: Parts,
  partsOf: (subgraph: object) => GraphParts,
): void {
  for (const [at, { name, options }] of nodes.entries()) {
    const { effect } = description.nodes[at]!;
    const inner = "subgraph" in options && options.subgraph !== undefined ? partsOf(options.subgraph) : undefined;
    const path = [...around, name];
    shape.nodes.push({ name: pathOf(path), ...(effect && { effect }), ...(inner && { kind: "subgraph" }) });
    if (inner !== undefined) addGraph(inner.definition, path, shape, partsOf);
  }
  const named = (number: number | null) => pathOf([...around, number === null ? START : nodes[number]!.name]);
  const found: ProgramEdge[] = description.edges.map(({ from, to }) => ({ from: named(from), to: named(to) }));
  for (const { from, to } of description.barriers) {
    // A barrier opens when all of its nodes have run, in any order.
    const joins = from.map(named).toSorted();
    for (const source of joins) found.push({ from: source, to: named(to), joins });
  }
  // A function chooses the targets of a conditional edge, so it may lead to any node.
  const targets = [...nodes.keys()].map(named).concat(pathOf([...around, END]));
  for (const source of description.conditional) {
    for (const to of targets) found.push({ from: named(source), to, conditional: true });
  }
  shape.edges.push(...found);
}

/** Returns the position of a thread in its program, including the started subgraphs. */
export async function positionOf(
  checkpointer: GraphCheckpointer<any>,
  thread: ThreadRef,
  { checkpoint, activations, latest }: Loaded,
  shape: ProgramShape,
  format: Format,
  around: string[] = [],
): Promise<ProgramPosition> {
  const nodes = new Map(shape.nodes.map((node) => [node.name, node]));
  const path = (name: string) => pathOf([...around, name]);
  /** A node without an effect runs again, even if its result is recorded. */
  const runsAgain = (name: string) => ["pure", "read"].includes(nodes.get(path(name))?.effect ?? "");
  const done = new Set([...ranIn(checkpoint), ...checkpoint.barrierArrivals.flatMap(({ arrived }) => arrived)]);
  const next = new Set<string>();
  for (const { node, record } of activations) {
    (record.result === undefined || runsAgain(node) ? next : done).add(node);
    for (const to of record.result?.goto ?? []) next.add(typeof to === "string" ? to : to.node);
  }
  next.delete(END);
  const position: ProgramPosition = {
    // The thread may have run on other versions before.
    done: [path(START), ...[...done].map(path).filter((name) => nodes.has(name))],
    next: [...next].map(path),
  };
  // A run from an older checkpoint restarts its subgraphs.
  if (!latest) return position;
  for (const { node, task, record } of activations) {
    if (record.result !== undefined) continue;
    const inside = { threadId: thread.threadId, namespace: [...thread.namespace, task] };
    const loaded = await loadCheckpoint(checkpointer, inside, undefined, format);
    if (loaded === null) continue;
    const inner = await positionOf(checkpointer, inside, loaded, shape, format, [...around, node]);
    position.done.push(...inner.done);
    position.next.push(...inner.next);
  }
  return position;
}
