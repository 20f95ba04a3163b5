// A pooler in transaction mode: each transaction may run on another connection to the server.
import { afterAll, beforeAll, expect, it } from "vitest";
import { contend, create, race } from "../../__test__/faults/contention.js";
import { contract, type Kind } from "../../__test__/faults/faults.js";
import { folder } from "../../__test__/helpers.js";
import { amount, long, makeDatabase, modules, onServer, startPooler, terminate } from "./faults.js";

const file = "integration/postgres/faults-pooler.test.ts";

/** How long the processes work together. */
const ms = amount("FORKPOINT_FAULT_MS", 1_000);
/** How often processes race. */
const rounds = amount("FORKPOINT_FAULT_ROUNDS", 10);

const timeout = 120_000 + 3 * ms + rounds * 1_000;

onServer("newest", (server, version) => {
  let pooler: Awaited<ReturnType<typeof startPooler>>;
  beforeAll(async () => {
    pooler = await startPooler(server());
  });
  afterAll(() => pooler?.stop());

  /** The URL of an empty database behind the pooler. */
  const emptyUrl = async () =>
    server().url({ database: await makeDatabase(server()), port: pooler!.port }) as Kind & string;

  it("eight processes save, fork, remove, read, prune and vacuum", { timeout }, async (test) => {
    // Only on a machine without pgbouncer, which is an error in CI.
    if (pooler === undefined) return test.skip();
    const work = modules.map(([, module]) => ({ task: "work", module }) as const);
    const others = [{ task: "read", module: contract("agentos") }, { task: "prune" }, { task: "vacuum" }] as const;
    const result = await contend(folder(), await emptyUrl(), [...work, ...others], ms, file);
    if (long) console.log({ version, ...result });
    expect(Math.min(result.acknowledged, result.pruned, result.reads)).toBeGreaterThan(0);
  });

  it("of eight processes that continue after the same parent, one succeeds", { timeout }, async (test) => {
    if (pooler === undefined) return test.skip();
    await race(folder(), await emptyUrl(), contract("agentium"), 8, rounds, file);
  });

  it("eight processes open an empty database, and the pooler's connections are ended", { timeout }, async (test) => {
    if (pooler === undefined) return test.skip();
    const url = await emptyUrl();
    await create(folder(), url, contract("agentos"), 8, file);
    expect(await terminate(server())).toBeGreaterThan(0);
    await contend(folder(), url, [{ task: "work", module: contract("agentium") }], 200, file);
  });
});
