// Kills the server, or processes of it, while eight processes save, fork, remove, read, prune and vacuum. No call may
// fail: each goes on when the server answers again. Afterwards everything that was acknowledged must be there, once.
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "forkpoint";
import { expect, it, onTestFinished } from "vitest";
import { contend, race } from "../../__test__/faults/contention.js";
import { contract } from "../../__test__/faults/faults.js";
import { folder } from "../../__test__/helpers.js";
import { amount, answering, emptyUrl, killBackend, long, modules, onServer, type Server, terminate } from "./faults.js";

const file = "integration/postgres/faults-crash.test.ts";

/** How often the server is killed. */
const restarts = amount("FORKPOINT_FAULT_RESTARTS", 2);

/** What happens to the server. Returns how often it happened: not at all if nobody is connected at the moment. */
const accidents: Array<[name: string, happen: (server: Server) => Promise<number>]> = [
  [
    "the server is killed",
    async (server) => {
      await server.kill();
      await server.start();
      return 1;
    },
  ],
  ["a process of the server is killed", killBackend],
  ["the connections are ended", terminate],
];

onServer("oldest", (server, version) => {
  it.each(accidents)("%s during saves", { timeout: 120_000 + restarts * 20_000 }, async (name, happen) => {
    const work = [...modules.map(([, module]) => module), contract("agentium")];
    const tasks = work.map((module) => ({ task: "work" as const, module }));
    const others = [{ task: "read", module: contract("agentos") } as const, { task: "prune" } as const];
    const over = new AbortController();
    let happened = 0;
    const trouble = async () => {
      // A moment in which the processes work comes before each accident.
      for (await sleep(1_500); happened < restarts && !over.signal.aborted; await sleep(500 + Math.random() * 500)) {
        const happens = await happen(server());
        await answering(server());
        if (happens > 0) happened += 1;
      }
    };
    onTestFinished(async () => {
      over.abort();
      await answering(server());
    });
    const result = await contend(folder(), await emptyUrl(server()), [...tasks, ...others], 1, file, trouble);
    if (long) console.log({ version, name, happened, ...result });
    expect(happened).toBe(restarts);
    expect(Math.min(result.acknowledged, result.pruned)).toBeGreaterThan(0);
  });

  it("a vacuum that has taken longer than the busy timeout goes on after the server is killed", async () => {
    const url = await emptyUrl(server());
    const store = await openStore(url, { busyTimeoutMs: 3_000 });
    onTestFinished(() => store.close());
    await store.vacuum();
    const waits = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'VACUUM%' AND wait_event_type = 'Lock'";
    const locks = server().query("BEGIN; LOCK TABLE forkpoint.batch; SELECT pg_sleep(60)", undefined, {
      database: new URL(url).pathname.slice(1),
    });
    locks.catch(() => {});
    await sleep(200);
    const vacuum = store.vacuum();
    vacuum.catch(() => {});
    await sleep(4_000);
    expect(await server().query(waits)).toHaveLength(1);
    await server().kill();
    await server().start();
    expect(await vacuum).toBeUndefined();
  });

  it("the server is killed while eight processes continue after the same parent", { timeout: 600_000 }, async () => {
    const over = new AbortController();
    const racing = race(folder(), await emptyUrl(server()), contract("agentium"), 8, 15 * restarts, file);
    const trouble = async () => {
      let kills = 0;
      // The first kill comes as soon as a process is connected.
      for (; !over.signal.aborted; await sleep(kills > 0 ? 1_000 : 10)) kills += await killBackend(server());
      return kills;
    };
    const [kills] = await Promise.all([trouble(), racing.finally(() => over.abort())]);
    expect(kills).toBeGreaterThan(0);
  });
});
