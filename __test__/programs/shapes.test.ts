// Compares versions of a program: see ts/store/compare-programs.ts. workflow.test.ts and graph.test.ts have a table of changes.
import { expect, it } from "vitest";
import {
  type ProgramShape,
  compareShapes,
  hasSameParts,
  missingNodes,
  shapeHash,
} from "../../ts/store/compare-programs.js";
import { randomNumbers } from "../tinyagents/random.js";
import { Run, START, changed, randomProgram } from "./model.js";

/** A chain of nodes. `x!` has the effect class `write`. */
function chain(names: string, more: Partial<ProgramShape> = {}): ProgramShape {
  const all = names
    .split(" ")
    .map((name) => ({ name: name.replace("!", ""), effect: name.endsWith("!") ? "write" : "read" }));
  const path = [START, ...all.map(({ name }) => name), "end"];
  return { nodes: all, edges: path.slice(1).map((to, at) => ({ from: path[at]!, to })), ...more };
}

/** The differences for a run of `a b c d` that has run `a` and is at `b`. */
const atB = (to: ProgramShape, from = chain("a b c d")) => compareShapes(from, to, { done: [START, "a"], next: ["b"] });

it.each<[string, ProgramShape, string[]]>([
  ["a new field", chain("a b c d", { fields: ["x"] }), []],
  [
    "the next node removed",
    chain("a c d"),
    ["`b`, which is next, is gone", "`a`, which has run, is now followed by `c`"],
  ],
  [
    "a node before the next one",
    chain("a x b c d"),
    ["`a`, which has run, is no longer followed by `b`", "`a`, which has run, is now followed by `x`"],
  ],
  [
    "a node before a done one",
    chain("x a b c d"),
    ["`start`, which has run, is no longer followed by `a`", "`start`, which has run, is now followed by `x`"],
  ],
])("%s", (_, to, differences) => {
  expect(atB(to)).toEqual(differences);
});

it("compares fields, choices and joins", () => {
  const fields = (names: string[]) => chain("a b", { fields: names });
  expect(atB(fields(["x"]), fields(["x", "y"]))).toEqual(["the field `y` is gone, and its value would be lost"]);
  expect(atB(chain("a b"), fields(["x"]))).toEqual([]);

  const choosing = (...targets: string[]): ProgramShape => ({
    ...chain("a b c"),
    edges: [{ from: START, to: "a" }, ...targets.map((to) => ({ from: "a", to, conditional: true as const }))],
  });
  expect(atB(choosing("b", "c"), choosing("b"))).toEqual([]);
  expect(atB(choosing("b"), choosing("b", "c"))).toEqual([]);
  expect(atB(choosing("c"), choosing("b", "c"))).toEqual(["`a`, which has run, no longer leads to `b`"]);
  expect(atB(chain("a b c"), choosing("b"))).toEqual(["`a`, which has run, is now always followed by `b`"]);
  expect(atB(choosing("b"), { ...chain("a b c"), edges: chain("a b").edges })).toEqual([
    "`a`, which has run, is now followed only sometimes by `b`",
  ]);

  const joining = (...joins: string[]): ProgramShape => ({
    ...chain("a b c d"),
    edges: [{ from: START, to: "a" }, { from: START, to: "b" }, ...joins.map((from) => ({ from, to: "d", joins }))],
  });
  expect(atB(joining("a", "b"), joining("a", "b"))).toEqual([]);
  expect(atB(joining("a", "c"), joining("a", "b"))).toEqual([
    "`d` no longer waits for `a` and `b`",
    "`d` now waits for `a` and `c`",
  ]);
  // The order of a join may matter to a framework, which gives it as it matters.
  expect(atB(joining("b", "a"), joining("a", "b"))).toHaveLength(2);
});

it("counts what may be no node only if it is one", () => {
  const ran = (names: string[]) => compareShapes(chain("a b c"), chain("a b"), { done: [], next: ["b"], ran: names });
  expect(ran(["task"])).toEqual([]);
  expect(ran(["c"])).toEqual(["`c`, which has run, is gone"]);
  expect(missingNodes(chain("a b"), { done: ["a"], next: ["b"], ran: ["task"] })).toEqual([]);
});

it("names a few of many new nodes, and a node that an unknown program needs", () => {
  expect(atB(chain("a v w x y z"))[0]).toBe("`b`, which is next, is gone; `v`, `w`, `x` and 2 others are new");
  expect(missingNodes(chain("a c"), { done: ["__start__", "a", "x"], next: ["b", "b"] })).toEqual([
    "`b`, which is next, is not in this program",
    "`x`, which has run, is not in this program",
  ]);
});

it("compares versions where there are no edges", () => {
  const functional = (version?: string): ProgramShape => ({
    ...(version && { version }),
    nodes: [{ name: "b" }],
    edges: [],
  });
  const atStart = (from?: string, to?: string) =>
    compareShapes(functional(from), functional(to), { done: [], next: ["b"] });
  expect(atStart()).toEqual([]);
  expect(atStart("1", "1")).toEqual([]);
  expect(atStart("1", "2")).toEqual(['the version changed from "1" to "2", and the program has no edges to compare']);
  expect(atStart("1")).toEqual(['the version changed from "1" to none, and the program has no edges to compare']);
});

it("hashes a shape without the order of its parts", () => {
  const shape = chain("a b c", { fields: ["x", "y"] });
  const turned = {
    nodes: shape.nodes.toReversed(),
    edges: shape.edges.toReversed(),
    fields: shape.fields!.toReversed(),
  };
  expect(shapeHash(shape)).toMatch(/^[\w-]{12}$/);
  expect(shapeHash(turned)).toBe(shapeHash(shape));
  const others = [
    chain("a b d", { fields: ["x", "y"] }),
    chain("a! b c", { fields: ["x", "y"] }),
    chain("a b c", { fields: ["x"] }),
    chain("a b c"),
    chain("a b c", { fields: [] }),
    chain("a c b", { fields: ["x", "y"] }),
    chain("a b c", { fields: ["x", "y"], version: "1" }),
  ];
  expect(new Set([shape, ...others].map(shapeHash)).size).toBe(others.length + 1);
  expect(hasSameParts(shape, chain("c! b a", { fields: ["y", "x"], version: "2" }))).toBe(true);
  expect(hasSameParts(shape, chain("a b c"))).toBe(false);
});

it("a run that fits a changed program could have come to the same place on it", () => {
  let [fits, differs] = [0, 0];
  for (let seed = 0; seed < 20_000; seed++) {
    const random = randomNumbers(seed);
    const from = randomProgram(random);
    const to = changed(random, from);
    const run = new Run(from);
    const steps = [];
    for (let left = Math.floor(random() * 6); left > 0; left--) {
      const step = run.randomStep(random);
      if (step !== undefined) steps.push(step);
    }
    const position = { done: [...run.done], next: [...run.next] };
    if (compareShapes(from, to, position).length > 0) {
      differs += 1;
      continue;
    }
    fits += 1;
    const again = new Run(to);
    try {
      for (const step of steps) again.step(step);
      expect(again.place).toEqual(run.place);
      for (const name of [...run.done, ...run.next].filter((each) => each !== START)) {
        const [old, now] = [from, to].map(({ nodes }) => nodes.find((node) => node.name === name));
        expect(now, name).toEqual(old);
      }
    } catch (error) {
      throw new Error(`seed ${seed}: ${JSON.stringify({ from, to, steps, position })}`, { cause: error });
    }
  }
  // Both happen often, so the test says something.
  expect(fits).toBeGreaterThan(2_000);
  expect(differs).toBeGreaterThan(2_000);
});
