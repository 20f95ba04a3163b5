// Kills the processes that save to a server, again and again. After each kill, a new process must find every acknowledged
// call, and every other call whole or not at all.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { type Crashes, crash } from "../../__test__/faults/crash.js";
import { contract, contracts, isLong } from "../../__test__/faults/faults.js";
import { folder } from "../../__test__/helpers.js";
import { amount, emptyUrl, onServer } from "./faults.js";

const file = "integration/postgres/faults-kills.test.ts";

/** Each of the six stores below is killed so often. */
const cycles = amount("FORKPOINT_FAULT_CYCLES", 3);

const langgraph = new URL("../langgraph/fixtures/faults.mjs", import.meta.url).href;

onServer("oldest", (server, version) => {
  const timeout = 60_000 + cycles * 20_000;

  const databases = {
    make: () => emptyUrl(server()),
    // The server notices that a process has ended when it has done what the process had sent.
    settle: async () => {
      const working = "SELECT FROM pg_stat_activity WHERE application_name = 'forkpoint'";
      while ((await server().query(working)).length > 0) await sleep(10);
    },
  };

  function expectWork({ kills, acknowledged, pruned, cut }: Crashes, writers: number): void {
    if (isLong("FORKPOINT_FAULT_CYCLES")) console.log({ version, kills, acknowledged, pruned, cut });
    expect(kills).toBe(writers * cycles);
    expect(acknowledged).toBeGreaterThan(0);
    // A few cycles may by chance not prune.
    if (cycles >= 10) expect(Math.min(pruned, cut)).toBeGreaterThan(0);
  }

  const each = [...contracts.map((name) => [name, contract(name)] as const), ["langgraph", langgraph] as const];

  it.each(each)("two writers of %s", { timeout }, async (_, module) => {
    expectWork(await crash(folder(), databases, [module, module], cycles, file), 2);
  });

  it("writers of all contracts", { timeout }, async () => {
    const modules = each.map(([, module]) => module);
    expectWork(await crash(folder(), databases, modules, cycles, file), modules.length);
  });
});
