import * as main from "forkpoint";
import * as agentos from "forkpoint/agentos";
import { expect, test } from "vitest";

// scripts/api.mjs compares the types with those in etc/api.
test("what is exported", () => {
  const shared = "CheckpointStore describe once recover resumePlan withEffects";
  expect(Object.keys(agentos).toSorted().join(" ")).toBe(shared);
  for (const name of Object.keys(agentos) as Array<keyof typeof agentos>) expect(main[name]).toBe(agentos[name]);
  const own = "ContractStore ForkpointError RunStore Store copyStore isForkpointError openStore postgresSchema";
  expect(Object.keys(main).toSorted()).toEqual(`${shared} ${own}`.split(" ").toSorted());
});

test("nothing of a store is reachable from outside", () => {
  const store = new main.CheckpointStore("memory:");
  expect(Reflect.ownKeys(store)).toEqual([]);
  expect(JSON.stringify(store)).toBe("{}");
});
