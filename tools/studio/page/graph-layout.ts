// Places the nodes of a graph in layers, from top to bottom, with lines between them.
import type { GraphEdge, RunGraph } from "../../../ts/inspect/graph.js";

/** The height of a node, and the gaps between nodes and between layers, in pixels. */
export const HEIGHT = 34;
const [GAP, LAYER] = [22, 76];
const MARGIN = 12;
/** The distance between two back lines, and the width of a line's slot between nodes. */
const [LANE, THROUGH] = [14, 10];
/** How many times the layers are sorted by neighbors. */
const SWEEPS = 6;

export interface PlacedNode {
  name: string;
  /** The center. */
  x: number;
  y: number;
  width: number;
}

export interface PlacedEdge {
  edge: GraphEdge;
  /** The line, as the attribute `d` of a path. */
  d: string;
  /** The middle of the line, for its number. */
  x: number;
  y: number;
}

export interface PlacedGraph {
  nodes: PlacedNode[];
  edges: PlacedEdge[];
  width: number;
  height: number;
}

/** A node, or the slot of a line in a layer that the line crosses. */
interface Slot {
  name: string | null;
  width: number;
  x: number;
  layer: number;
  above: Slot[];
  below: Slot[];
}

/** Lays out a graph. `widthOf` returns the width of a node. */
export function layOutGraph({ nodes, edges }: RunGraph, widthOf: (name: string) => number): PlacedGraph {
  const names = nodes.map(({ name }) => name);
  const back = backEdges(names, edges);
  const forward = edges.filter((edge) => !back.has(edge));
  const layerOf = layersOf(names, forward, nodes.find(({ kind }) => kind === "end")?.name);
  const slots = new Map<string, Slot>();
  const layers: Slot[][] = [];
  const add = (name: string | null, layer: number, width: number): Slot => {
    const slot: Slot = { name, width, x: 0, layer, above: [], below: [] };
    (layers[layer] ??= []).push(slot);
    return slot;
  };
  for (const name of names) slots.set(name, add(name, layerOf.get(name)!, widthOf(name)));
  const ways = new Map<GraphEdge, Slot[]>();
  for (const edge of forward) {
    const [from, to] = [slots.get(edge.from)!, slots.get(edge.to)!];
    const way = [from];
    for (let layer = from.layer + 1; layer < to.layer; layer++) way.push(add(null, layer, THROUGH));
    way.push(to);
    for (const [at, slot] of way.entries()) {
      const next = way[at + 1];
      if (next === undefined) break;
      slot.below.push(next);
      next.above.push(slot);
    }
    ways.set(edge, way);
  }
  const all = layers.filter((layer) => layer !== undefined);
  sortLayers(all);
  const inner = place(all);
  const lanes = [...back].length;
  const y = (layer: number) => MARGIN + HEIGHT / 2 + layer * LAYER;
  let lane = 0;
  const placed = edges.map((edge): PlacedEdge => {
    const way = ways.get(edge);
    if (way !== undefined) return { edge, ...downLine(way, y) };
    lane += 1;
    return { edge, ...backLine(slots.get(edge.from)!, slots.get(edge.to)!, y, inner + MARGIN + lane * LANE) };
  });
  return {
    nodes: names.map((name) => {
      const { x, layer, width } = slots.get(name)!;
      return { name, x, y: y(layer), width };
    }),
    edges: placed,
    width: inner + MARGIN * 2 + (lanes === 0 ? 0 : (lanes + 1) * LANE + 20),
    height: MARGIN * 2 + HEIGHT + Math.max(0, all.length - 1) * LAYER,
  };
}

/** Returns the edges that lead back to an earlier node of the path. The other edges form no circle. */
function backEdges(names: readonly string[], edges: readonly GraphEdge[]): Set<GraphEdge> {
  const out = new Map<string, GraphEdge[]>();
  for (const edge of edges) out.set(edge.from, [...(out.get(edge.from) ?? []), edge]);
  const back = new Set<GraphEdge>();
  const state = new Map<string, "open" | "done">();
  for (const root of names) {
    if (state.has(root)) continue;
    state.set(root, "open");
    const stack = [{ name: root, next: 0 }];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const edge = out.get(top.name)?.[top.next];
      top.next += 1;
      if (edge === undefined) {
        state.set(top.name, "done");
        stack.pop();
      } else if (state.get(edge.to) === "open") back.add(edge);
      else if (!state.has(edge.to)) {
        state.set(edge.to, "open");
        stack.push({ name: edge.to, next: 0 });
      }
    }
  }
  return back;
}

/** Returns the layer of each node: below all of its predecessors. The end is in the last layer. */
function layersOf(
  names: readonly string[],
  forward: readonly GraphEdge[],
  end: string | undefined,
): Map<string, number> {
  const layerOf = new Map(names.map((name) => [name, 0]));
  const into = new Map<string, number>();
  for (const { to } of forward) into.set(to, (into.get(to) ?? 0) + 1);
  const ready = names.filter((name) => !into.has(name));
  for (const name of ready) {
    for (const { from, to } of forward) {
      if (from !== name) continue;
      layerOf.set(to, Math.max(layerOf.get(to)!, layerOf.get(name)! + 1));
      const left = into.get(to)! - 1;
      into.set(to, left);
      if (left === 0) ready.push(to);
    }
  }
  if (end !== undefined) layerOf.set(end, Math.max(0, ...layerOf.values()));
  return layerOf;
}

/** Sorts the slots of each layer by the center of their neighbors, downwards and upwards alternately. */
function sortLayers(layers: Slot[][]): void {
  const sort = (layer: Slot[], side: "above" | "below") => {
    const middle = new Map(
      layer.map((slot, at) => {
        const near = slot[side];
        return [slot, near.length === 0 ? at : near.reduce((sum, { x }) => sum + x, 0) / near.length];
      }),
    );
    layer.sort((a, b) => middle.get(a)! - middle.get(b)!);
    for (const [at, slot] of layer.entries()) slot.x = at;
  };
  for (const layer of layers) for (const [at, slot] of layer.entries()) slot.x = at;
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : layers.toReversed()) sort(layer, isDown ? "above" : "below");
  }
}

/** Places the slots from left to right, with each layer centered. Returns the width. */
function place(layers: Slot[][]): number {
  const widthOf = (layer: Slot[]) => layer.reduce((sum, { width }) => sum + width + GAP, -GAP);
  const width = Math.max(0, ...layers.map(widthOf));
  for (const layer of layers) {
    let x = MARGIN + (width - widthOf(layer)) / 2;
    for (const slot of layer) {
      slot.x = x + slot.width / 2;
      x += slot.width + GAP;
    }
  }
  return width;
}

function downLine(way: readonly Slot[], y: (layer: number) => number): Omit<PlacedEdge, "edge"> {
  const first = way[0]!;
  let d = `M${first.x} ${y(first.layer) + HEIGHT / 2}`;
  for (const [at, slot] of way.entries()) {
    const next = way[at + 1];
    if (next === undefined) break;
    // A line's slot has no height, because the line crosses it.
    const top = y(slot.layer) + (slot.name === null ? 0 : HEIGHT / 2);
    const bottom = y(next.layer) - (next.name === null ? 0 : HEIGHT / 2 + 4);
    const bend = (bottom - top) / 2;
    d += `C${slot.x} ${top + bend} ${next.x} ${bottom - bend} ${next.x} ${bottom}`;
  }
  const second = way[1] ?? first;
  return { d, x: (first.x + second.x) / 2, y: (y(first.layer) + y(second.layer)) / 2 };
}

/** A line that leads back up, beside the graph. */
function backLine(from: Slot, to: Slot, y: (layer: number) => number, lane: number): Omit<PlacedEdge, "edge"> {
  const [left, top] = [to.x + to.width / 2 + 4, y(to.layer) + 5];
  const [right, bottom] = [from.x + from.width / 2, y(from.layer) - 5];
  const end = from === to ? top + 4 : top;
  const d = `M${right} ${bottom}H${lane - 8}Q${lane} ${bottom} ${lane} ${(bottom + end) / 2}Q${lane} ${end} ${lane - 8} ${end}H${left}`;
  return { d, x: lane, y: (bottom + end) / 2 };
}
