// Kills real processes while they save, remove, fork, prune and vacuum. After each kill, a new process must find every
// acknowledged call, and every other call whole or not at all.
import { describe, expect, it } from "vitest";
import { folder } from "../helpers.js";
import { type Crashes, crash } from "./crash.js";
import { amount, contract, contracts, durable, isLong } from "./faults.js";

const file = "__test__/faults/crash.test.ts";

/** Each of the nine stores below is killed so often. The default is for `npm test`. */
const cycles = amount("FORKPOINT_FAULT_CYCLES", 1);

const timeout = 60_000 + cycles * 10_000;

function expectWork({ kills, acknowledged, pruned, cut }: Crashes, cyclesDone: number): void {
  if (isLong("FORKPOINT_FAULT_CYCLES")) console.log({ kills, acknowledged, pruned, cut });
  expect(kills).toBeGreaterThanOrEqual(cyclesDone);
  expect(acknowledged).toBeGreaterThan(0);
  // A few cycles may by chance not prune.
  if (cyclesDone >= 10) expect(Math.min(pruned, cut)).toBeGreaterThan(0);
}

describe.each(durable)("%s", (kind) => {
  it.each(contracts)("two writers of %s", { timeout }, async (name) => {
    expectWork(await crash(folder(), kind, [contract(name), contract(name)], cycles, file), cycles);
  });

  it("writers of all contracts", { timeout }, async () => {
    expectWork(await crash(folder(), kind, contracts.map(contract), cycles, file), cycles);
  });
});
