// Proves a suite: the reference of the contract meets every expectation, and each expectation names a store that is wrong in just
// that way.
import { describe, expect, it } from "vitest";
import { contracts } from "../dist/index.js";
import { oneOf } from "../../__test__/short.js";
import { address, mutantsOf, outcome } from "./helpers.js";

export function prove(name: keyof typeof contracts): void {
  const contract = contracts[name];
  const ids = contract.definition.expectations.map(({ id }) => id);

  describe(name, () => {
    it("has an id of its own for each expectation", () => {
      expect(ids.length).toBeGreaterThan(50);
      expect(new Set(ids).size).toBe(ids.length);
      for (const id of ids) expect(id).toMatch(new RegExp(`^${name}/[a-z0-9-]+$`));
    });

    it("has a mutant for each expectation", async () => {
      expect(Object.keys(await mutantsOf(name)).toSorted()).toEqual(ids.toSorted());
    });

    it("is met by its reference", { timeout: 300_000 }, async () => {
      const { results } = await contract({ module: address(name), target: "{dir}/store" }).run();
      expect(results.filter(({ status }) => status !== "passed")).toEqual([]);
      expect(results).toHaveLength(ids.length);
    });

    it.each(oneOf(3, ids))("names the mutant of %s", { timeout: 120_000 }, async (id) => {
      expect(await outcome(contract, name, id)).toBeUndefined();
    });
  });
}
