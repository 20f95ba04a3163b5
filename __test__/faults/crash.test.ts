// Kills real processes while they save, remove, fork, prune and vacuum. After each kill, a new process must find every
// acknowledged call, and every other call whole or not at all.
import { describe, it } from "vitest";
import { folder } from "../helpers.js";
import { crash } from "./crash.js";
import { amount, contract, contracts, durable, isLong } from "./faults.js";

const file = "__test__/faults/crash.test.ts";

/** Each of the nine stores below is killed so often. The default is for `npm test`. */
const cycles = amount("FORKPOINT_FAULT_CYCLES", 1);

const timeout = 60_000 + cycles * 10_000;

async function killed(kind: (typeof durable)[number], modules: string[]): Promise<void> {
  const crashes = await crash(folder(), kind, modules, cycles, file);
  if (isLong("FORKPOINT_FAULT_CYCLES")) console.log(crashes);
}

describe.each(durable)("%s", (kind) => {
  it.each(contracts)("two writers of %s", { timeout }, (name) => killed(kind, [contract(name), contract(name)]));

  it("writers of all contracts", { timeout }, () => killed(kind, contracts.map(contract)));
});
