// Tests the lanes of the timeline: a drawing of each, as `git log --graph` would draw it, and what holds for any history.
import { describe, expect, test } from "vitest";
import { type Edge, type Layout, type Step, edgesBetween, layOut } from "../../../tools/studio/page/lanes.js";

/** Reads "c:b b:a a" as checkpoints, the newest first, each with its parent. "^" is a parent in another run. */
const steps = (text: string): Step[] =>
  text.split(" ").map((each) => {
    const [id, parent] = each.split(":");
    return { id: id!, parent: parent === undefined || parent === "^" ? null : parent, origin: parent === "^" };
  });

/** Draws a layout: a line a row, with a mark in its lane and a bar in each lane that passes. */
function drawing({ rows, edges, lanes }: Layout, all: Step[]): string[] {
  return rows.map((row, index) => {
    const cells = Array.from({ length: lanes }, (_, lane) => {
      if (lane === row.lane) return row.kind === "step" ? (lane === 0 ? "*" : "o") : row.kind === "origin" ? "^" : "<";
      return edges.some((edge) => !edge.gone && edge.lane === lane && edge.from < index && edge.to > index) ? "|" : " ";
    });
    return `${cells.join("")} ${row.kind === "step" ? all[row.index]!.id : row.kind}`.trimEnd();
  });
}

const draw = (text: string, forks: string[] = [], complete = true, opened?: Set<string>) => {
  const all = steps(text);
  return drawing(layOut(all, forks, complete, opened), all);
};

describe("a drawing", () => {
  test("of no checkpoint, of one, and of a line", () => {
    expect(layOut([], [], true)).toMatchObject({ rows: [], edges: [], lanes: 1 });
    expect(draw("a")).toEqual(["* a"]);
    expect(draw("c:b b:a a")).toEqual(["* c", "* b", "* a"]);
  });

  test("the trunk is the newest leaf's ancestors, and branches end in it", () => {
    // d and c are children of a; b is c's.
    expect(draw("e:d d:a c:b b:a a")).toEqual(["*  e", "*  d", "|o c", "|o b", "*  a"]);
    // A branch that is older than the trunk's own steps, and a branch of a branch.
    expect(draw("g:a f:c e:d d:b c:b b:a a")).toEqual(["*   g", "|o  f", "||o e", "||o d", "|o| c", "|o  b", "*   a"]);
  });

  test("a lane is used again when its branch has ended", () => {
    expect(draw("g:f x:f f:e y:e e:d z:d d")).toEqual(["*  g", "|o x", "*  f", "|o y", "*  e", "|o z", "*  d"]);
  });

  test("a fork to another run stands above its source, in a lane of its own", () => {
    expect(draw("c:b b:a a", ["b"])).toEqual(["*  c", "|< fork", "*  b", "*  a"]);
    expect(draw("c:b b:a a", ["c", "b", "b"])).toEqual([" <  fork", "*   c", "|<  fork", "||< fork", "*   b", "*   a"]);
  });

  test("many forks of one checkpoint are counted, until they are opened", () => {
    const many = Array.from({ length: 7 }, () => "a");
    const { rows } = layOut(steps("b:a a"), many, true);
    expect(rows.map(({ kind }) => kind)).toEqual(["step", "forks", "fork", "fork", "fork", "fork", "step"]);
    expect(rows[1]).toMatchObject({ of: "a", count: 3 });
    const open = layOut(steps("b:a a"), many, true, new Set(["a"]));
    expect(open.rows.filter(({ kind }) => kind === "fork")).toHaveLength(7);
  });

  test("a run that began elsewhere ends in a mark that leads there", () => {
    expect(draw("b:a a:^")).toEqual(["* b", "* a", "^ origin"]);
    const { edges } = layOut(steps("b:a a:^"), [], true);
    expect(edges.map(({ kind, from, to }) => [kind, from, to])).toEqual([
      ["parent", 0, 1],
      ["fork", 1, 2],
    ]);
  });

  test("several roots", () => {
    expect(draw("d:b c:a b a")).toEqual(["*  d", "|o c", "*| b", " o a"]);
  });
});

describe("edges", () => {
  test("one for each parent, and one for each fork", () => {
    const { edges, rowOf } = layOut(steps("e:d d:a c:b b:a a"), ["b", "e"], true);
    const parents = edges.filter(({ kind }) => kind === "parent");
    expect(parents.map(({ from, to }) => [from, to])).toEqual(
      ["e:d", "d:a", "c:b", "b:a"].map((pair) => pair.split(":").map((id) => rowOf.get(id))),
    );
    expect(edges.filter(({ kind }) => kind === "fork")).toHaveLength(2);
  });

  test("to a checkpoint that is not loaded yet go down without end", () => {
    const { edges } = layOut(steps("c:b b:a"), [], false);
    expect(edges.map(({ to, gone }) => [to, gone])).toEqual([
      [1, false],
      [Number.POSITIVE_INFINITY, false],
    ]);
  });

  test("to a checkpoint that was removed end below", () => {
    const { edges } = layOut(steps("c:b b:a"), [], true);
    expect(edges[1]).toMatchObject({ from: 1, to: 2, gone: true });
  });

  test("run up where the parent was saved later", () => {
    const { edges } = layOut(steps("a b:a"), [], true);
    expect(edges).toEqual([{ kind: "parent", from: 0, to: 1, lane: 1, into: 1, gone: false }]);
  });

  test("of a checkpoint to itself are none, and a circle ends", () => {
    expect(layOut(steps("a:a"), [], true).edges).toEqual([]);
    expect(layOut(steps("a:b b:a"), [], true).edges).toHaveLength(2);
  });

  test("between two rows are those that pass there", () => {
    const edge = (from: number, to: number): Edge => ({ kind: "parent", from, to, lane: 0, into: 0, gone: false });
    const all = [edge(0, 1), edge(2, 900), edge(50, 60), edge(1_000, 1_001)];
    expect(edgesBetween(all, 40, 55)).toEqual([all[1], all[2]]);
    expect(edgesBetween(all, 901, 999)).toEqual([]);
  });
});

describe("any history", () => {
  /** Makes a history of branches from a seed. */
  function history(seed: number, count: number): { all: Step[]; forks: string[] } {
    let state = seed;
    const random = (below: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state % below;
    };
    const all: Step[] = [];
    const forks: string[] = [];
    for (let n = 0; n < count; n++) {
      const back = random(4) === 0 ? random(n + 1) : 0;
      const parent = n === 0 || random(40) === 0 ? null : `${Math.max(0, n - 1 - back)}`;
      all.unshift({ id: `${n}`, parent, origin: false });
      if (random(9) === 0) forks.push(`${n}`);
    }
    return { all, forks };
  }

  test("no two lines and no mark share a lane in a row, every edge has its ends, and the trunk has the lane 0", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const { all, forks } = history(seed, 80);
      const { rows, edges, rowOf, lanes } = layOut(all, forks, true, new Set(all.map(({ id }) => id)));
      expect(rows).toHaveLength(all.length + forks.length);
      expect(edges.length).toBeGreaterThan(0);
      for (const [index, row] of rows.entries()) {
        const passing = edges.filter(({ from, to }) => from < index && to > index).map(({ lane }) => lane);
        expect(new Set(passing).size, `seed ${seed}, row ${index}`).toBe(passing.length);
        expect(passing).not.toContain(row.lane);
        expect(row.lane).toBeLessThan(lanes);
      }
      for (const { from, to, lane, into } of edges) {
        expect([rows[from]!.lane, rows[to]!.lane]).toEqual([lane, into]);
      }
      for (let at: string | null = all[0]!.id; at !== null; at = all.find(({ id }) => id === at)!.parent) {
        expect(rows[rowOf.get(at)!]!.lane, `seed ${seed}`).toBe(0);
      }
    }
  });

  test("of 10,000 checkpoints has a row each", () => {
    const { all, forks } = history(7, 10_000);
    const { rows, rowOf } = layOut(all, forks, true);
    expect(rowOf.size).toBe(10_000);
    expect(rows.filter(({ kind }) => kind === "step")).toHaveLength(10_000);
  });
});
