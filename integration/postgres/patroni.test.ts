// Three servers that Patroni manages, with etcd. The leader is killed, or gives its place to another server, while processes
// save, take leases and recover. With synchronous replication nothing that was acknowledged is lost. Without it, what is lost is
// reported, and nothing is mixed up.
import { setTimeout as sleep } from "node:timers/promises";
import { isForkpointError, openStore, type StoreOptions } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { contend } from "../../__test__/faults/contention.js";
import { amount, contract, isLong, type Kind } from "../../__test__/faults/faults.js";
import { callsOverTime } from "../../__test__/faults/time-calls.js";
import { type Machine, timeGoesBack } from "../../__test__/faults/time.js";
import { folder } from "../../__test__/helpers.js";
import { recoverOverTime } from "../langgraph/recover-over-time.js";
import { makeDatabase as makePlainDatabase } from "./databases.js";
import { idOf, modules, saveStep } from "./faults.js";
import { type Cluster, hasPatroni, startCluster } from "./patroni.mjs";
import { Workers } from "./workers.js";

const file = "integration/postgres/patroni.test.ts";
const long = isLong("FORKPOINT_FAULT_PATRONI");

/** How often a leader is killed. */
const kills = amount("FORKPOINT_FAULT_PATRONI", 1);

/** What one kill takes at most: the leader's lock ends, and the killed server follows again. */
const KILL_MS = 30_000;
const timeout = 90_000 + kills * KILL_MS;

// A database goes back within half a minute here.
vi.setConfig({ testTimeout: 240_000 });

/** Saves one step after the other, and knows what was acknowledged, and what is gone. */
class Saver {
  acknowledged = 0;
  lost = 0;
  /** How often a save was rejected because the step before it is gone. */
  reported = 0;
  /** The longest time between two acknowledged saves. */
  pauseMs = 0;
  readonly #work: Promise<void>;
  #over = false;
  /** The steps that must be there, by their number. A step that is gone is saved again with the next number. */
  #steps: string[] = [];

  /** @param keeps true if no acknowledged save may be lost. */
  constructor(url: string, keeps: boolean, options: StoreOptions = {}) {
    this.#work = this.#save(url, keeps, options);
    this.#work.catch(() => {});
  }

  async #save(url: string, keeps: boolean, options: StoreOptions): Promise<void> {
    const store = await openStore(url, options);
    const runs = new WorkflowCheckpointStore(store);
    let last = performance.now();
    let n = 0;
    let parent = -1;
    while (!this.#over) {
      try {
        await saveStep(runs, n, parent);
        this.#steps.push(idOf(n));
        parent = n;
        this.acknowledged += 1;
        this.pauseMs = Math.max(this.pauseMs, performance.now() - last);
        last = performance.now();
      } catch (error) {
        // Without synchronous replication, the step before this one may be gone: the error says so.
        if (keeps || !isForkpointError(error) || error.code !== "CONFLICT") throw error;
        this.reported += 1;
        const there = (await runs.list("run")).map(({ id }) => id);
        expect(there).toEqual(this.#steps.slice(0, there.length));
        this.lost += this.#steps.length - there.length;
        expect(this.#steps.length).toBeGreaterThan(there.length);
        this.#steps.length = there.length;
        parent = there.length === 0 ? -1 : Number(there.at(-1)!.split("-")[1]);
      }
      n += 1;
    }
    const there = (await runs.list("run")).map(({ id }) => id);
    expect(there).toEqual(this.#steps);
    await store.close();
  }

  /** Waits until so many more saves were acknowledged. */
  async more(count: number): Promise<void> {
    const wanted = this.acknowledged + count;
    while (this.acknowledged < wanted) await Promise.race([sleep(10), this.#work]);
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#work;
  }
}

let databases = 0;

/** Makes an empty database on the cluster. Returns its name. */
async function makeDatabase(cluster: Cluster): Promise<string> {
  const database = `patroni_${databases++}`;
  await cluster.query(`CREATE DATABASE ${database}`);
  return database;
}

/** The ids of a run's checkpoints, in the order of the store. */
const orderOf = (cluster: Cluster, database: string) => async (run: string) => {
  const rows = await cluster.query(
    `SELECT convert_from(c.id, 'UTF8') AS id FROM forkpoint.checkpoint AS c JOIN forkpoint.lineage AS l USING (lin)
     WHERE l.name = convert_to($1, 'UTF8') ORDER BY c.seq`,
    [run],
    { database },
  );
  return rows.map(({ id }: { id: string }) => id);
};

describe.skipIf(!hasPatroni())("Patroni", () => {
  describe("with synchronous replication", () => {
    let cluster: Cluster;
    beforeAll(async () => {
      // Other tests keep CI's machine busy, and a leader that is silent for so long is replaced.
      cluster = await startCluster({ synchronous: true, ttl: long ? 5 : 10 });
    }, 120_000);
    afterAll(() => cluster?.stop());

    it.runIf(long)("a leader whose Patroni alone is killed loses nothing", { timeout }, async () => {
      const url = cluster.url({ database: await makeDatabase(cluster) });
      const saver = new Saver(url, true);
      await saver.more(30);
      // Its server lives on, and accepts connections. The replica that its commits wait for becomes the leader.
      (await cluster.leader()).killPatroni();
      await sleep(1_000);
      await cluster.leader();
      await saver.more(30);
      await cluster.healthy();
      await saver.more(30);
      await saver.stop();
      console.log({ acknowledged: saver.acknowledged, lost: saver.lost, pauseMs: saver.pauseMs });
      expect(saver.lost).toBe(0);
    });

    it("a leader that is killed, and one that gives up its place, lose nothing", { timeout }, async () => {
      const database = await makeDatabase(cluster);
      const url = cluster.url({ database });
      const saver = new Saver(url, true);
      await saver.more(5);
      const workers = new Workers(url, { ttlMs: 6_000, deadlineMs: timeout });
      workers.start();
      if (long) workers.start();
      const trouble = async () => {
        for (let kill = 0; kill < kills; kill++) {
          await saver.more(30);
          await workers.replace();
          await cluster.killLeader();
          await saver.more(30);
          if (kill < kills - 1 || long) await cluster.healthy();
        }
      };
      const chosen = modules.filter(([name]) => long || ["agentos", "langgraph"].includes(name));
      const tasks = chosen.map(([, module]) => ({ task: "work" as const, module }));
      const others = [{ task: "read", module: contract("agentos") } as const, { task: "prune" } as const];
      const ms = long ? kills * 15_000 : 1;
      // The contracts' processes check all that is in their database.
      const other = cluster.url({ database: await makeDatabase(cluster) }) as Kind;
      const contended = await contend(folder(), other, [...tasks, ...(long ? others : [])], ms, file, trouble);
      await workers.stop();
      const killed = saver.pauseMs;
      saver.pauseMs = 0;
      await cluster.healthy();
      await cluster.switchOver();
      await saver.more(30);
      await saver.stop();
      const work = await workers.check(true, orderOf(cluster, database));
      const switched = saver.pauseMs;
      console.log({ kills, acknowledged: saver.acknowledged, lost: saver.lost, killed, switched, contended, work });
      expect(saver.lost).toBe(0);
      expect(Math.min(contended.acknowledged, work.saves, work.leases, work.recovered)).toBeGreaterThan(0);
    });
  });

  it.runIf(long)("with its default times, a leader that is killed loses nothing", { timeout: 300_000 }, async () => {
    const cluster = await startCluster({ synchronous: true, ttl: 30, loopWait: 10, retryTimeout: 10 });
    try {
      const saver = new Saver(cluster.url(), true, { busyTimeoutMs: 120_000 });
      await saver.more(30);
      await cluster.killLeader();
      await saver.more(30);
      await saver.stop();
      console.log({ acknowledged: saver.acknowledged, lost: saver.lost, pauseMs: saver.pauseMs });
      expect(saver.lost).toBe(0);
    } finally {
      await cluster.stop();
    }
  });

  describe.runIf(long)("without synchronous replication", () => {
    let cluster: Cluster;
    beforeAll(async () => {
      cluster = await startCluster({ synchronous: false });
    }, 120_000);
    afterAll(() => cluster?.stop());

    it("what the replicas did not have is lost, and reported", { timeout }, async () => {
      const database = await makeDatabase(cluster);
      const url = cluster.url({ database });
      const saver = new Saver(url, false);
      await saver.more(5);
      const workers = new Workers(url, { ttlMs: 6_000, deadlineMs: timeout });
      workers.start();
      workers.start();
      for (let kill = 0; kill < kills; kill++) {
        await cluster.healthy();
        await cluster.hold();
        await saver.more(30);
        await workers.replace();
        await cluster.killLeader();
        await saver.more(30);
      }
      await workers.stop();
      await saver.stop();
      const work = await workers.check(false, orderOf(cluster, database));
      const { acknowledged, lost, reported, pauseMs } = saver;
      console.log({ kills, acknowledged, lost, reported, pauseMs, work });
      // Each kill loses the saves that came after the replicas were held.
      expect(reported).toBe(kills);
      expect(Math.min(lost, work.lost)).toBeGreaterThan(0);
    });

    it("a leader that gives up its place loses nothing", async () => {
      const saver = new Saver(cluster.url({ database: await makeDatabase(cluster) }), true);
      await cluster.healthy();
      await saver.more(30);
      await cluster.switchOver();
      await saver.more(30);
      await saver.stop();
      expect([saver.lost, saver.reported]).toEqual([0, 0]);
    });

    /** The database goes back to what the replicas had when they were held. */
    const lagging = (): Machine => ({
      ways: [{ name: "a replica that lags is promoted", atomic: true }],
      once: true,
      async snapshot() {
        await cluster.healthy();
        await cluster.hold();
      },
      async goBack() {
        await cluster.killLeader();
        await cluster.leader();
      },
      goBackNow: () => cluster.killLeaderNow(),
    });

    it.each(modules.filter(([name]) => ["agentos", "langgraph"].includes(name)))(
      "%s: what is read is what was saved and is not gone",
      { timeout },
      async (name, module) => {
        const rewinds = Math.ceil(kills / 2);
        const url = cluster.url({ database: await makeDatabase(cluster) });
        const journey = await timeGoesBack(url, module, lagging(), rewinds, file);
        console.log({ name, ...journey });
        expect(journey).toMatchObject({ rewinds, checks: 2 * rewinds });
        expect(journey.gone).toBeGreaterThan(0);
      },
    );

    /** The first place of a test is on the cluster, the others are not. */
    const places = new Set<string>();
    const place = async () => {
      const test = expect.getState().currentTestName!;
      const target = places.has(test) ? makePlainDatabase() : cluster.url({ database: await makeDatabase(cluster) });
      places.add(test);
      return { target, machine: lagging() };
    };
    callsOverTime(place, true);
    recoverOverTime(place);
  });
});
