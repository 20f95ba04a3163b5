// Kills the processes that save to a server, again and again. After each kill, a new process must find every acknowledged
// call, and every other call whole or not at all.
import { setTimeout as sleep } from "node:timers/promises";
import { it } from "vitest";
import { crash } from "../../__test__/faults/crash.js";
import { isLong } from "../../__test__/faults/faults.js";
import { folder } from "../../__test__/helpers.js";
import { amount, emptyUrl, modules, onServer } from "./faults.js";

const file = "integration/postgres/faults-kills.test.ts";

/** Each of the six stores below is killed so often. */
const cycles = amount("FORKPOINT_FAULT_CYCLES", 2);

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

  async function killed(...killing: string[]): Promise<void> {
    const crashes = await crash(folder(), databases, killing, cycles, file);
    if (isLong("FORKPOINT_FAULT_CYCLES")) console.log({ version, ...crashes });
  }

  it.each(modules)("two writers of %s", { timeout }, (_, module) => killed(module, module));

  it("writers of all contracts", { timeout }, () => killed(...modules.map(([, module]) => module)));
});
