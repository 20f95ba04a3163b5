// The model of the fault tests must be able to fail: it finds whatever a store might do wrong.
import { describe, expect, it } from "vitest";
import type { Entry, Found, FoundLineage } from "./faults.js";
import { World } from "./world.js";

const traits = { prunesAll: true, forked: (entries: Entry[]) => entries };

const entry = (n: number, name = "a"): Entry => [n, name, n];

function found(entries: Entry[], more: Partial<Found> = {}, ...others: FoundLineage[]): Found {
  const lineages = [{ name: "a", entries }, ...others];
  const checkpoints = lineages.reduce((sum, one) => sum + one.entries.length, 0);
  return { ok: true, findings: [], lineages, checkpoints, ...more };
}

const saves = (...numbers: number[]) => numbers.flatMap((n) => [{ b: n, op: "save", lane: 0, name: "a", n }, { d: n }]);

/** A world in which these calls were announced. */
function after(...lines: any[]): World {
  const world = new World(traits, 2);
  world.add([lines]);
  return world;
}

describe("the model", () => {
  const world = after(...saves(0, 1, 2), { b: 9, op: "save", lane: 0, name: "a", n: 3 });

  it.each([
    ["what was acknowledged", found([entry(0), entry(1), entry(2)])],
    ["with what was not", found([entry(0), entry(1), entry(2), entry(3)])],
  ])("accepts %s", (_, one) => expect(world.problems(one)).toEqual([]));

  it.each([
    ["a lost checkpoint", found([entry(0), entry(2)]), "a 1 is lost"],
    ["a lost lineage", { ...found([]), lineages: [] }, "a 0 is lost"],
    ["an unknown checkpoint", found([entry(0), entry(1), entry(2), entry(4)]), "a 4 must not be there"],
    ["an unknown lineage", found([], {}, { name: "b", entries: [entry(0, "b")] }), "b 0 must not be there"],
    ["a wrong order", found([entry(1), entry(0), entry(2)]), "a 0 is listed after 1"],
    ["a wrong content", found([entry(0), [1, "a", 0], entry(2)]), "a 1 has the content of a 0, not of a 1"],
    ["a wrong count", found([entry(0), entry(1), entry(2)], { checkpoints: 4 }), "stats() counts 4, and 3 were read"],
    ["damage", found([entry(0), entry(1), entry(2)], { ok: false, findings: ["x"] }), 'check() finds ["x"]'],
    ["writes of nobody", found([entry(0), entry(1), [2, "a", 2, 2]]), "a 2 has 2 writes, not 0"],
  ])("finds %s", (_, one, problem) => expect(world.problems(one)).toContain(problem));

  it("finds what a removal left, and half of a removal that was cut", () => {
    const removed = after(...saves(0, 1), { b: 9, op: "remove", lane: 0, name: "a", n: 0 }, { d: 9 });
    expect(removed.problems(found([entry(1)]))).toEqual([]);
    expect(removed.problems(found([entry(0), entry(1)]))).toEqual(["a 0 must not be there"]);
    const cut = after(...saves(0, 1), { b: 9, op: "drop", lane: 0, name: "a" });
    expect(cut.problems(found([entry(0), entry(1)]))).toEqual([]);
    expect(cut.problems(found([]))).toEqual([]);
    expect(cut.problems(found([entry(1)]))).toEqual(["of a,0; a,1, which one call removes, there are a,1"]);
  });

  it("knows what a prune removes and what it must keep", () => {
    const prune = { b: 9, op: "prune", lane: 0, owned: ["a"] };
    const cut = after(...saves(0, 1, 2), prune);
    expect(cut.problems(found([entry(1), entry(2)]))).toEqual([]);
    expect(cut.problems(found([entry(0), entry(1), entry(2)]))).toEqual([]);
    expect(cut.problems(found([entry(0), entry(2)]))).toEqual(["a 1 is lost"]);
    const done = after(...saves(0, 1, 2), prune, { d: 9 });
    expect(done.problems(found([entry(0), entry(1), entry(2)]))).toEqual(["a 0 must not be there"]);
  });
});
