// Several processes on one store. No call fails because of another process, and all processes see one order.
// @module-tag slow
import { describe, expect, it } from "vitest";
import { folder } from "../helpers.js";
import { contend, create, expectOneOrder, race } from "./contention.js";
import { amount, contract, contracts, durable, isLong } from "./faults.js";

const file = "__test__/faults/contention.test.ts";

/** How long the processes work. */
const ms = amount("FORKPOINT_FAULT_MS", 1_500);
/** How often processes race, and how often they create a store. */
const rounds = amount("FORKPOINT_FAULT_ROUNDS", 10);
const creations = Math.ceil(rounds / 10);

const agentos = contract("agentos");

describe.each(durable)("%s", (kind) => {
  it("eight processes write, fork, read, prune and vacuum", { timeout: ms + 180_000 }, async () => {
    const result = await contend(
      folder(),
      kind,
      [
        { task: "work", module: agentos, sharing: true },
        { task: "work", module: agentos, sharing: true, heavy: "fork" },
        { task: "work", module: contract("agentium") },
        { task: "work", module: contract("tinyagents"), heavy: "fork" },
        { task: "work", module: contract("helix") },
        { task: "read", module: agentos },
        { task: "prune" },
        { task: "vacuum" },
      ],
      ms,
      file,
    );
    if (isLong("FORKPOINT_FAULT_MS")) console.log(kind, result);
    for (const count of [result.acknowledged, result.vacuums, result.pruned, result.reads])
      expect(count, JSON.stringify(result)).toBeGreaterThan(0);
  });

  it("six writers and two readers of one run agree on its order", { timeout: ms + 180_000 }, async () => {
    const writers = Array.from({ length: 6 }, () => ({ task: "work", module: agentos, sharing: true }) as const);
    const watchers = [0, 1].map(() => ({ task: "watch", module: agentos }) as const);
    const { ordered } = await contend(folder(), kind, [...writers, ...watchers], Math.ceil(ms / 3), file);
    expect(ordered).toBeGreaterThan(0);
  });

  it("sixteen processes create one store", { timeout: 60_000 + creations * 20_000 }, async () => {
    for (let again = 0; again < creations; again++) await create(folder(), kind, agentos, 16, file);
  });

  it.each(contracts)(
    "of eight processes that continue %s after the same parent, one succeeds",
    { timeout: 60_000 + rounds * 1_000 },
    async (name) => race(folder(), kind, contract(name), 8, rounds, file),
  );
});

it("two orders are found", () => {
  const agreeing = [
    ["a", "b", "c"],
    ["b", "c", "d"],
    ["a", "d"],
  ];
  expect(expectOneOrder(agreeing, "")).toBe(4);
  expect(expectOneOrder([["a", "b"], ["c"], []], "")).toBe(0);
  expect(() =>
    expectOneOrder(
      [
        ["a", "b", "c"],
        ["c", "d", "a"],
      ],
      "",
    ),
  ).toThrow("a");
});
