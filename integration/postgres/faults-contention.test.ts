// Several processes on one server. No call fails because of another process, and none hears of a conflict with itself.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { contend, create, race } from "../../__test__/faults/contention.js";
import { contract, type Task } from "../../__test__/faults/faults.js";
import { folder } from "../../__test__/helpers.js";
import { amount, emptyUrl, langgraph, long, modules, onServer, type Server, terminate } from "./faults.js";

const file = "integration/postgres/faults-contention.test.ts";

/** How long the processes work together. */
const ms = amount("FORKPOINT_FAULT_MS", 1_000);
/** How often processes race. */
const rounds = amount("FORKPOINT_FAULT_ROUNDS", 10);
const creations = Math.ceil(rounds / 25);

const agentos = contract("agentos");
const work = (module: string, more: Partial<Task> = {}) => ({ task: "work", module, ...more }) as const;

/** Cuts all connections again and again until there were enough cuts. Returns how many connections were cut, at least 1. */
async function cutting(server: Server, enough: () => boolean, pause: number): Promise<number> {
  for (let cut = 0; ; await sleep(pause)) {
    if (cut > 0 && enough()) return cut;
    cut += await terminate(server);
  }
}

onServer("newest", (server, version) => {
  const timeout = 120_000 + 3 * ms + rounds * 1_000;

  it.each(long ? modules : modules.filter(([name]) => ["agentium", "langgraph"].includes(name)))(
    "of eight processes that continue %s after the same parent, one succeeds",
    { timeout },
    async (_, module) => race(folder(), await emptyUrl(server()), module, 8, rounds, file),
  );

  it.each(long ? ["repeatable read", "serializable"] : ["repeatable read"])(
    "the default isolation %s makes no forks in 320 saves of eight processes",
    { timeout: 120_000 },
    async (isolation) => {
      const url = await emptyUrl(server());
      const [database] = url.split("/").slice(-1);
      await server().query(`ALTER DATABASE ${database} SET default_transaction_isolation = '${isolation}'`);
      await race(folder(), url, contract("agentium"), 8, 40, file);
    },
  );

  it("savers, removers, readers and sweepers, and connections that are cut", { timeout }, async () => {
    const url = await emptyUrl(server());
    const tasks = [
      work(agentos, { sharing: true }),
      work(agentos, { sharing: true, heavy: "fork" }),
      work(contract("agentium")),
      work(contract("tinyagents"), { heavy: "fork" }),
      work(contract("helix")),
      work(langgraph),
      { task: "read", module: agentos } as const,
      { task: "prune" } as const,
      { task: "prune" } as const,
      { task: "vacuum" } as const,
    ];
    const end = performance.now() + ms;
    const trouble = () => cutting(server(), () => performance.now() > end, 250);
    const result = await contend(folder(), url, tasks, ms, file, trouble);
    if (long) console.log({ version, ...result });
    for (const count of [result.acknowledged, result.pruned, result.vacuums, result.reads])
      expect(count, JSON.stringify(result)).toBeGreaterThan(0);
    await expectNothingDangles(url);
  });

  it("eight processes open an empty database at the same moment", { timeout }, async () => {
    for (let again = 0; again < creations; again++) await create(folder(), await emptyUrl(server()), agentos, 8, file);
  });

  /** Looks into the tables: no payload without a checkpoint, no payload whose base is missing, nothing of a lineage that is gone. */
  async function expectNothingDangles(url: string): Promise<void> {
    const database = url.split("/").at(-1)!;
    const counts = await server().query(
      `SELECT (SELECT count(*) > 0 FROM forkpoint.checkpoint) AS some,
              (SELECT count(*) FROM forkpoint.payload p WHERE base IS NOT NULL AND NOT EXISTS (SELECT 1 FROM forkpoint.payload b WHERE b.seq = p.base))::int AS bases,
              (SELECT count(*) FROM forkpoint.checkpoint c WHERE NOT EXISTS (SELECT 1 FROM forkpoint.payload p WHERE p.seq = c.seq))::int AS bodies,
              (SELECT count(*) FROM forkpoint.checkpoint c WHERE NOT EXISTS (SELECT 1 FROM forkpoint.lineage l WHERE l.lin = c.lin))::int AS lineages`,
      undefined,
      { database },
    );
    expect(counts).toEqual([{ some: true, bases: 0, bodies: 0, lineages: 0 }]);
  }
});
