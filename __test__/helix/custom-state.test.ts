// Tests merges into the custom state, and changes that wait to be merged.
import type { CustomStateChanges, SessionStore } from "forkpoint/helix";
import { describe, expect, it } from "vitest";
import { expectSame, kinds } from "../helpers.js";
import { make, pair, stateOf } from "./helpers.js";

/** Opens a store and creates the session "s" with this custom state. */
async function holding(kind: (typeof kinds)[number], initialState: Record<string, unknown>): Promise<SessionStore> {
  const store = make(kind);
  await store.createSession("s", { agentType: "a", initialState });
  return store;
}

async function customState(store: SessionStore): Promise<Record<string, unknown>> {
  return (await store.loadState("s"))!.customState;
}

describe.each(kinds)("the custom state over %s", (kind) => {
  describe("mergeCustomState", () => {
    it("replaces the values of its keys, and keeps the other keys and the rest of the state", async () => {
      const store = make(kind);
      await store.saveState("s", stateOf({ customState: { kept: 1, old: { a: 1, b: 2 }, list: [1] }, extra: true }));
      expect(await store.mergeCustomState("s", { old: { c: 3 }, list: [2], fresh: null })).toEqual({ warnings: [] });
      expect(await store.loadState("s")).toEqual(
        stateOf({ customState: { kept: 1, old: { c: 3 }, list: [2], fresh: null }, extra: true }),
      );
    });

    it.each<[string, () => Iterable<string>]>([
      ["a Set", () => new Set(["replaced"])],
      ["an array", () => ["replaced"]],
      ["the keys of a Map", () => new Map([["replaced", 1]]).keys()],
    ])("the framework's form appends arrays, but not those of arrayReplacements, given as %s", async (_, keys) => {
      const store = await holding(kind, { notes: ["a"], replaced: ["b"], count: 1, kept: true });
      const changes = {
        values: { notes: ["c", "d"], replaced: ["e"], count: 2, fresh: ["f"], text: "g" },
        arrayReplacements: keys(),
        warnings: [],
      };
      expect(await store.mergeCustomState("s", changes)).toEqual({ warnings: [] });
      expect(await customState(store)).toEqual({
        notes: ["a", "c", "d"],
        replaced: ["e"],
        count: 2,
        kept: true,
        fresh: ["f"],
        text: "g",
      });
    });

    it("warns when an array replaces a value that is no array", async () => {
      const store = await holding(kind, { notes: "text", count: 1, other: [1] });
      const values = { notes: ["a"], count: ["b"], other: 7 };
      const { warnings } = await store.mergeCustomState("s", { values, arrayReplacements: ["count"] });
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain("customState.notes");
      expect(await customState(store)).toEqual(values);
    });

    it("changes whose own keys are called values and arrayReplacements are taken as they are", async () => {
      const store = await holding(kind, {});
      const all = [{ values: [1], arrayReplacements: [] }, { values: { a: 1 }, arrayReplacements: "a" }, { values: 1 }];
      for (const changes of all) {
        await store.mergeCustomState("s", changes as CustomStateChanges);
        expect(await customState(store)).toMatchObject(changes);
      }
    });

    it("keys of Object.prototype are keys like others", async () => {
      const store = await holding(kind, {});
      const changes = JSON.parse('{"__proto__":{"polluted":1},"constructor":[1],"toString":"text"}');
      await store.mergeCustomState("s", changes);
      expectSame(await customState(store), changes);
      const values = JSON.parse('{"__proto__":[2],"constructor":[2],"hasOwnProperty":[3],"valueOf":[4]}');
      const { warnings } = await store.mergeCustomState("s", { values, arrayReplacements: new Set() });
      expect(warnings).toHaveLength(1);
      const merged = JSON.parse(
        '{"__proto__":[2],"constructor":[1,2],"toString":"text","hasOwnProperty":[3],"valueOf":[4]}',
      );
      expectSame(await customState(store), merged);
      expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    });

    it("loses none of 40 parallel merges from two stores", async () => {
      const stores = await pair(kind);
      await stores[0].createSession("s", { agentType: "a", initialState: { list: [] } });
      const calls = Array.from({ length: 40 }, (_, i) =>
        stores[i % 2]!.mergeCustomState("s", { values: { [`key${i}`]: i, list: [i] }, arrayReplacements: [] }),
      );
      await Promise.all(calls);
      const { list, ...keys } = await customState(stores[1]);
      expect(keys).toEqual(Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`key${i}`, i])));
      expect((list as number[]).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i));
    });
  });

  describe("staging", () => {
    it("holds changes beside the state until they are merged, in their order", async () => {
      const store = await holding(kind, { a: 1, list: [0] });
      expect(await store.stageChanges("s", { a: 2, b: 2 })).toBeUndefined();
      await store.stageChanges("s", { values: { list: [1] }, arrayReplacements: new Set() });
      await store.stageChanges("s", { b: 3 });
      expect(await customState(store)).toEqual({ a: 1, list: [0] });
      expect(await store.getStaging("s")).toEqual([
        { a: 2, b: 2 },
        { values: { list: [1] }, arrayReplacements: [] },
        { b: 3 },
      ]);
      expect(await store.promoteStaging("s")).toEqual({ warnings: [] });
      expect(await customState(store)).toEqual({ a: 2, b: 3, list: [0, 1] });
      expect(await store.getStaging("s")).toEqual([]);
      expect(await store.promoteStaging("s")).toEqual({ warnings: [] });
      expect(await customState(store)).toEqual({ a: 2, b: 3, list: [0, 1] });
    });

    it("is dropped on request", async () => {
      const store = await holding(kind, { a: 1 });
      await store.stageChanges("s", { a: 2 });
      expect(await store.discardStaging("s")).toBeUndefined();
      await store.discardStaging("s");
      expect(await store.getStaging("s")).toEqual([]);
      await store.promoteStaging("s");
      expect(await customState(store)).toEqual({ a: 1 });
    });

    it("gives the warnings of all merges", async () => {
      const store = await holding(kind, { a: 1 });
      await store.stageChanges("s", { values: { a: [1] }, arrayReplacements: [] });
      await store.stageChanges("s", { b: 1 });
      await store.stageChanges("s", { values: { b: [1] }, arrayReplacements: [] });
      const { warnings } = await store.promoteStaging("s");
      expect(warnings.map((text) => /customState\.\w+/.exec(text)?.[0])).toEqual(["customState.a", "customState.b"]);
    });

    it("takes copies, and gives copies", async () => {
      const store = await holding(kind, {});
      const changes = { list: [1] };
      const pending = [store.mergeCustomState("s", changes), store.stageChanges("s", changes)];
      changes.list.push(2);
      await Promise.all(pending);
      const first = await customState(store);
      (first["list"] as number[]).push(3);
      expect(await customState(store)).toEqual({ list: [1] });
      const [staged] = (await store.getStaging("s")) as Array<typeof changes>;
      staged!.list.push(3);
      await store.promoteStaging("s");
      expect(await customState(store)).toEqual({ list: [1] });
    });

    it("merges each change once, if several callers promote while others stage", async () => {
      const stores = await pair(kind);
      await stores[0].createSession("s", { agentType: "a", initialState: { list: [] } });
      const calls = Array.from({ length: 20 }, async (_, i) => {
        await stores[i % 2]!.stageChanges("s", { values: { list: [i] }, arrayReplacements: [] });
        await stores[(i + 1) % 2]!.promoteStaging("s");
      });
      await Promise.all(calls);
      const list = (await customState(stores[0]))["list"] as number[];
      expect(list.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i));
      expect(await stores[0].getStaging("s")).toEqual([]);
    });
  });
});
