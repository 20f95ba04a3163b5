// Where the nodes of a graph and the bars of a waterfall are, without a browser.
import { describe, expect, test } from "vitest";
import type { GraphEdge, RunGraph } from "../../../ts/inspect/graph.js";
import type { WaterfallRow } from "../../../ts/inspect/waterfall.js";
import { HEIGHT, layOutGraph } from "../../../tools/studio/page/graph-layout.js";
import { scaleOf } from "../../../tools/studio/page/waterfall-scale.js";

function graph(text: string, names = [...new Set(text.split(/[ >]/))]): RunGraph {
  const edges = text.split(" ").map((each): GraphEdge => {
    const [from, to] = each.split(">") as [string, string];
    return { from, to, count: 1, conditional: false };
  });
  const kind = (name: string) => (name === "S" ? "start" : name === "E" ? "end" : "node");
  return { nodes: names.map((name) => ({ name, kind: kind(name), runs: 1, state: "done" })), edges, source: "run" };
}

const layers = (of: RunGraph) => {
  const { nodes } = layOutGraph(of, () => 80);
  const ys = [...new Set(nodes.map(({ y }) => y))].toSorted((a, b) => a - b);
  return Object.fromEntries(nodes.map(({ name, y }) => [name, ys.indexOf(y)]));
};

describe("the layout of a graph", () => {
  test("a node is below all that lead to it, and the end is last", () => {
    expect(layers(graph("S>a a>b a>c b>d c>d a>d d>E a>E"))).toEqual({ S: 0, a: 1, b: 2, c: 2, d: 3, E: 4 });
  });

  test("ways back make no circle, and are drawn beside the graph", () => {
    const of = graph("S>agent agent>tools tools>agent agent>agent agent>E");
    expect(layers(of)).toEqual({ S: 0, agent: 1, tools: 2, E: 2 });
    const { edges, width, height, nodes } = layOutGraph(of, () => 80);
    const right = Math.max(...nodes.map(({ x, width: wide }) => x + wide / 2));
    const back = edges.filter(({ edge }) => edge.from !== "S" && edge.to === "agent");
    expect(back.map(({ x }) => x > right && x < width)).toEqual([true, true]);
    expect(edges.every(({ y }) => y > 0 && y < height)).toBe(true);
  });

  test("no two nodes overlap, however many there are", () => {
    const wide = Array.from({ length: 40 }, (_, n) => `S>n${n} n${n}>m${n % 7} m${n % 7}>E`).join(" ");
    const { nodes, width } = layOutGraph(graph(wide), (name) => 60 + name.length * 9);
    expect(nodes).toHaveLength(49);
    for (const a of nodes) {
      expect(a.x - a.width / 2).toBeGreaterThanOrEqual(0);
      expect(a.x + a.width / 2).toBeLessThanOrEqual(width);
      for (const b of nodes) {
        if (a === b || a.y !== b.y) continue;
        expect(Math.abs(a.x - b.x)).toBeGreaterThanOrEqual((a.width + b.width) / 2);
      }
    }
    expect(new Set(nodes.map(({ y }) => y)).size).toBe(4);
    expect(HEIGHT).toBeGreaterThan(20);
  });

  test("no edges, and no nodes", () => {
    const alone: RunGraph = { nodes: graph("a>b").nodes, edges: [], source: "run" };
    expect(layOutGraph(alone, () => 80).nodes.map(({ y }) => y)).toEqual([29, 29]);
    expect(layOutGraph({ nodes: [], edges: [], source: "run" }, () => 80).nodes).toEqual([]);
  });
});

describe("the scale of a waterfall", () => {
  const row = (from: number, to: number | null, more: Partial<WaterfallRow> = {}): WaterfallRow => ({
    kind: "step",
    name: "a",
    depth: 0,
    from,
    to,
    waited: false,
    step: 0,
    id: "a",
    ns: null,
    state: null,
    ...more,
  });

  test("is even without pauses", () => {
    const { at } = scaleOf([row(0, 100), row(100, 400)], 0);
    expect([0, 100, 250, 400, 900, -5].map(at)).toEqual([0, 0.25, 0.625, 1, 1, 0]);
  });

  test("a long pause takes two fifths at most, and a short one its own length", () => {
    const day = 86_400_000;
    const { at } = scaleOf([row(0, 100), row(100, day, { kind: "wait", waited: true }), row(day, day + 50)], 0);
    expect(at(100)).toBeCloseTo(0.4);
    expect(at(day)).toBeCloseTo(0.8);
    expect(at(day + 50)).toBe(1);
    const short = scaleOf([row(0, 100), row(100, 110, { waited: true }), row(110, 200)], 0);
    expect(short.at(100)).toBeCloseTo(0.5);
  });

  test("an open pause ends now, and nested rows are within", () => {
    const { at, to } = scaleOf(
      [row(0, 60), row(10, 20, { depth: 1 }), row(60, null, { kind: "wait", waited: true })],
      100,
    );
    expect(to).toBe(100);
    expect(at(100)).toBe(1);
    expect(at(10)).toBeLessThan(at(20));
  });

  test("one point, and nothing", () => {
    expect(scaleOf([row(5, 5)], 0).at(5)).toBe(0);
    expect(scaleOf([], 0).at(5)).toBe(0);
  });
});
