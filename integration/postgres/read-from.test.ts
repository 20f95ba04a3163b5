// A replica that answers what is only shown, with the option `readFrom`. The store reads what it wrote, never goes back in time,
// and the primary answers whatever the replica cannot.
import { execFile } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CheckpointStore, openStore, type Store, type StoreWarning } from "forkpoint";
import { effects } from "forkpoint/effects";
import { openInspector } from "forkpoint/inspect";
import { ForkpointSaver } from "forkpoint/langgraph";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { checkpoint } from "../../__test__/helpers.js";
import { type Proxy, type Server, startPooler, startProxy, startServer } from "./faults.js";
import { inMemory } from "./server.mjs";

const cli = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

let primary: Server;
let replica: Server;
let toPrimary: Proxy;
let toReplica: Proxy;
let warned: StoreWarning[] = [];

const listen = (warning: unknown) => void warned.push(warning as StoreWarning);

beforeAll(async () => {
  primary = (await startServer({ version: "newest", ...inMemory }))!;
  replica = await primary.replica();
  toPrimary = await startProxy(primary.port);
  toReplica = await startProxy(replica.port);
}, 60_000);

afterAll(async () => {
  await Promise.all([toPrimary?.stop(), toReplica?.stop()]);
  await replica?.stop();
  await primary?.stop();
});

beforeEach(() => {
  warned = [];
  subscribe("forkpoint:warning", listen);
});
afterEach(() => void unsubscribe("forkpoint:warning", listen));

const url = (proxy: Proxy, query = "") =>
  `postgres://postgres@127.0.0.1:${proxy.port}/postgres?sslmode=disable${query}`;

/** Opens a store in a schema of its own, whose tables the replica has. `readFrom` is the replica unless given. */
async function open(schema: string, readFrom = url(toReplica)): Promise<Store> {
  const store = await openStore(url(toPrimary), { schema, readFrom });
  onTestFinished(() => store.close());
  return store;
}

/** Waits until the replica has everything. */
async function caughtUp(of = replica) {
  // A commit flushes what was written to the log before it.
  await primary.query("SELECT pg_logical_emit_message(true, 'test', 'flush')");
  const [{ lsn }] = await primary.query("SELECT pg_current_wal_flush_lsn() AS lsn");
  await expect
    .poll(async () => (await of.query("SELECT pg_last_wal_replay_lsn() >= $1 AS yes", [lsn]))[0]!.yes)
    .toBe(true);
}

/** Keeps the replica where it is. */
async function pause() {
  await replica.query("SELECT pg_wal_replay_pause()");
  onTestFinished(resume);
  await expect
    .poll(async () => (await replica.query("SELECT pg_get_wal_replay_pause_state() AS state"))[0]!.state)
    .toBe("paused");
}
const resume = async () => void (await replica.query("SELECT pg_wal_replay_resume()"));

/** Runs a call and says who was asked, by what went over the wire. */
async function asked<T>(call: () => Promise<T>): Promise<[result: T, flights: { primary: number; replica: number }]> {
  // The answer to the end of a transaction may still be under way.
  for (let [then, now] = [-1, 0]; then !== now; await sleep(20)) {
    [then, now] = [now, toPrimary.counted.received + toReplica.counted.received];
  }
  const before = [toPrimary.counted.flights, toReplica.counted.flights];
  const result = await call();
  const flights = { primary: toPrimary.counted.flights - before[0]!, replica: toReplica.counted.flights - before[1]! };
  return [result, flights];
}

const ids = async (runs: CheckpointStore, run = "run") => (await runs.listByRun(run)).map(({ id }) => id);
const save = (runs: CheckpointStore, n: number, runId = "run") =>
  runs.save(checkpoint({ id: `${runId}-${n}`, runId, timestamp: n }));

it("answers what is only shown, and nothing that a program decides by", async () => {
  const store = await open("shown");
  const [runs, saver] = [new CheckpointStore(store), new ForkpointSaver(store)];
  await save(runs, 1);
  await using inspector = await openInspector(store);
  // The connections are opened, and an index that the lists of a graph need is built.
  await runs.list("graph-a-1700000000000");
  for await (const _ of saver.list({ configurable: {} }));
  await runs.listByRun("run");
  await runs.latest("run");
  await caughtUp();
  const run = { space: "agentos", run: "run" } as const;
  const shown = {
    runs: () => inspector.runs(),
    run: () => inspector.run(run),
    checkpoints: () => inspector.checkpoints(run),
    checkpoint: () => inspector.checkpoint(run),
    info: () => inspector.info(),
    stats: () => store.stats(),
    check: () => store.check(),
    listByRun: () => runs.listByRun("run"),
    list: () => runs.list("graph-a-1700000000000"),
    "list of a saver": async () => {
      for await (const _ of saver.list({ configurable: { thread_id: "none" } }));
    },
  };
  for (const [name, call] of Object.entries(shown)) {
    const [, flights] = await asked<unknown>(call);
    expect({ name, ...flights }).toEqual({ name, primary: 0, replica: expect.any(Number) as number });
    expect({ name, asks: flights.replica > 0 }).toEqual({ name, asks: true });
  }
  const decided = {
    load: () => runs.load("run"),
    latest: () => runs.latest("run"),
    get: () => runs.get("run-1"),
    getTuple: () => saver.getTuple({ configurable: { thread_id: "none" } }),
    runs: () => runs.runs(),
    lease: async () => (await store.lease(run)).release(),
    effect: () => effects(runs)(run, "pay", () => "receipt"),
  };
  for (const [name, call] of Object.entries(decided)) {
    const [, flights] = await asked<unknown>(call);
    expect({ name, replica: flights.replica, asks: flights.primary > 0 }).toEqual({ name, replica: 0, asks: true });
  }
  expect(warned).toEqual([]);
});

it("is asked in one round trip, and costs a save no round trip", async () => {
  const store = await open("trips");
  const runs = new CheckpointStore(store);
  await save(runs, 1);
  await ids(runs);
  await caughtUp();
  await ids(runs);
  expect((await asked(() => ids(runs)))[1]).toEqual({ primary: 0, replica: 1 });
  expect((await asked(() => save(runs, 2)))[1]).toEqual({ primary: 1, replica: 0 });
  await caughtUp();
  // The replica is asked first whether it is far enough, because the store has saved since.
  const [found, flights] = await asked(() => ids(runs));
  expect(found).toEqual(["run-2", "run-1"]);
  expect(flights).toEqual({ primary: 0, replica: 2 });
  expect((await asked(() => ids(runs)))[1]).toEqual({ primary: 0, replica: 1 });
});

it("is not asked for what this store has saved until it has it, and still answers another store", async () => {
  const [mine, others] = [new CheckpointStore(await open("lags")), new CheckpointStore(await open("lags"))];
  await save(mine, 1);
  await caughtUp();
  expect([await ids(mine), await ids(others)]).toEqual([["run-1"], ["run-1"]]);
  await pause();
  await save(mine, 2);
  const [own, ownFlights] = await asked(() => ids(mine));
  expect(own).toEqual(["run-2", "run-1"]);
  // The list itself was not sent to the replica.
  expect(ownFlights).toEqual({ primary: expect.any(Number) as number, replica: 1 });
  expect(ownFlights.primary).toBeGreaterThan(0);
  const [old, otherFlights] = await asked(() => ids(others));
  expect(old).toEqual(["run-1"]);
  expect(otherFlights).toEqual({ primary: 0, replica: 1 });
  // A removal counts as a save does.
  await mine.delete("run-2");
  expect(await ids(mine)).toEqual(["run-1"]);
  await resume();
  await caughtUp();
  expect(await asked(() => ids(mine))).toEqual([["run-1"], { primary: 0, replica: 2 }]);
  expect(warned).toEqual([]);
});

it("never answers with less than the store has seen before", async () => {
  const [mine, others] = [new CheckpointStore(await open("monotonic")), new CheckpointStore(await open("monotonic"))];
  await save(mine, 1);
  await caughtUp();
  expect(await ids(others)).toEqual(["run-1"]);
  await pause();
  await save(mine, 2);
  // The replica may still answer the other store. Once the primary has, it may not.
  expect(await ids(others)).toEqual(["run-1"]);
  expect((await others.latest("run"))?.id).toBe("run-2");
  const [found, flights] = await asked(() => ids(others));
  expect(found).toEqual(["run-2", "run-1"]);
  expect(flights.primary).toBeGreaterThan(0);
  await resume();
  await caughtUp();
  expect((await asked(() => ids(others)))[1].primary).toBe(0);
});

it("has everything at the end of a file of the log, where the primary counts a header", async () => {
  const runs = new CheckpointStore(await open("switched"));
  await save(runs, 1);
  await ids(runs);
  await primary.query("SELECT pg_switch_wal()");
  // The store learns the position that an answer needs.
  await runs.latest("run");
  await caughtUp();
  expect((await asked(() => ids(runs)))[1]).toMatchObject({ primary: 0 });
});

it("never goes back while the replica stops and goes on", async () => {
  const [mine, others] = [new CheckpointStore(await open("back")), new CheckpointStore(await open("back"))];
  await save(mine, 0);
  await caughtUp();
  onTestFinished(resume);
  const before = toReplica.counted.flights;
  const write = async () => {
    for (let n = 1; n <= 60; n++) {
      await save(mine, n);
      if (n % 10 === 3) await replica.query("SELECT pg_wal_replay_pause()");
      if (n % 10 === 8) await resume();
    }
  };
  const read = async () => {
    for (let [turn, seen] = [0, 0]; turn < 100; turn++) {
      const own = await ids(others);
      expect(own.length).toBeGreaterThanOrEqual(seen);
      seen = own.length;
      // What the primary has answered counts too.
      if (turn % 8 === 0) seen = Math.max(seen, Number((await others.latest("run"))!.id.slice(4)) + 1);
    }
  };
  await Promise.all([write(), read()]);
  expect(toReplica.counted.flights).toBeGreaterThan(before);
});

it("is left alone while it is down, and is used again", async () => {
  const behind = await startProxy(replica.port);
  onTestFinished(() => behind.stop());
  const store = await open("down", url(behind));
  const runs = new CheckpointStore(store);
  await save(runs, 1);
  await caughtUp();
  expect(await ids(runs)).toEqual(["run-1"]);
  await replica.halt();
  try {
    for (let n = 0; n < 20; n++) expect(await ids(runs)).toEqual(["run-1"]);
    expect(warned).toEqual([
      expect.objectContaining({
        code: "FORKPOINT_REPLICA_NOT_USED",
        message: expect.stringMatching(/the primary answers instead of the replica in "readFrom"/) as string,
      }),
    ]);
    // A query does not try to connect each time.
    expect(behind.counted.connections).toBeLessThanOrEqual(3);
  } finally {
    await replica.start();
  }
  await caughtUp();
  const before = behind.counted.flights;
  await expect
    .poll(async () => (await ids(runs), behind.counted.flights), { timeout: 15_000 })
    .toBeGreaterThan(before + 2);
  expect(warned).toHaveLength(1);
});

it("does not keep a store waiting that finds it silent", async () => {
  const silent = await startProxy(replica.port, { onMessage: ({ from }) => (from === "server" ? "stall" : "pass") });
  onTestFinished(() => silent.stop());
  const runs = new CheckpointStore(await open("silent", url(silent, "&connect_timeout=1")));
  await save(runs, 1);
  for (let n = 0; n < 5; n++) expect(await ids(runs)).toEqual(["run-1"]);
  expect(silent.counted.connections).toBe(1);
  expect(warned).toHaveLength(1);
});

it("keeps no other call waiting if it falls silent", async () => {
  let stalls = false;
  const behind = await startProxy(replica.port, {
    onMessage: ({ from }) => (stalls && from === "server" ? "stall" : "pass"),
  });
  onTestFinished(() => behind.stop());
  const store = await openStore(url(toPrimary), { schema: "stalled", readFrom: url(behind), busyTimeoutMs: 500 });
  onTestFinished(() => store.close());
  const runs = new CheckpointStore(store);
  await save(runs, 1);
  await caughtUp();
  await ids(runs);
  const before = behind.counted.flights;
  await ids(runs);
  expect(behind.counted.flights).toBe(before + 1);
  stalls = true;
  const settled: string[] = [];
  const list = ids(runs).then((found) => settled.push(`list of ${found.length}`));
  await save(runs, 2).then(() => settled.push("save"));
  await runs.latest("run").then(() => settled.push("latest"));
  await list;
  expect(settled.slice(0, 2)).toEqual(["save", "latest"]);
  expect(settled[2]).toMatch(/^list of [12]$/);
  expect(warned).toHaveLength(1);
});

it("is not asked if it is no replica of the primary", async () => {
  const other = (await startServer({ version: "newest", ...inMemory }))!;
  onTestFinished(() => other.stop());
  await primary.query("CREATE DATABASE second");
  onTestFinished(async () => void (await primary.query("DROP DATABASE second")));
  await primary.query("CREATE ROLE stranger LOGIN");
  await caughtUp();
  const cases = {
    cluster: [other.url(), /does not belong to the cluster/],
    primary: [url(toPrimary), /accepts writes/],
    database: [url(toReplica).replace("/postgres?", "/second?"), /names another database/],
    role: [url(toReplica).replace("postgres@", "stranger@"), /permission denied/],
    password: [url(toReplica).replace("postgres@", "nobody:seCret@"), /role "nobody" does not exist/],
  } as const;
  for (const [name, [readFrom, why]] of Object.entries(cases)) {
    warned = [];
    const runs = new CheckpointStore(await open("refused", readFrom));
    await save(runs, 1, name);
    await caughtUp();
    expect(await ids(runs, name)).toEqual([`${name}-1`]);
    expect(await ids(runs, name)).toEqual([`${name}-1`]);
    expect(warned.map(({ code }) => code)).toEqual(["FORKPOINT_REPLICA_NOT_USED"]);
    expect(warned[0]!.message).toMatch(why);
    expect(warned[0]!.message).not.toContain("seCret");
  }
});

it("is not used if the primary does not tell its place, which stops no save", async () => {
  await primary.query(`CREATE ROLE plain LOGIN; GRANT CREATE ON DATABASE postgres TO plain;
    REVOKE EXECUTE ON FUNCTION pg_control_system FROM PUBLIC`);
  onTestFinished(async () => void (await primary.query("GRANT EXECUTE ON FUNCTION pg_control_system TO PUBLIC")));
  const store = await openStore(url(toPrimary).replace("postgres@", "plain@"), {
    schema: "plain",
    readFrom: url(toReplica),
  });
  onTestFinished(() => store.close());
  const runs = new CheckpointStore(store);
  await save(runs, 1);
  expect(await ids(runs)).toEqual(["run-1"]);
  expect(warned.map(({ message }) => message)).toEqual([
    expect.stringMatching(/does not tell its position.*pg_control_system.*grant the right to the role/),
  ]);
});

it("works behind a pooler, which may use several connections", async () => {
  const [pooledPrimary, pooledReplica] = [await startPooler(primary), await startPooler(replica)];
  if (pooledPrimary === undefined || pooledReplica === undefined) return void expect(process.env["CI"]).toBeUndefined();
  onTestFinished(async () => {
    await pooledPrimary.stop();
    await pooledReplica.stop();
  });
  const pooled = (port: number) => `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable`;
  const counted = await startProxy(pooledReplica.port);
  onTestFinished(() => counted.stop());
  const store = await openStore(pooled(pooledPrimary.port), { schema: "pooled", readFrom: pooled(counted.port) });
  onTestFinished(() => store.close());
  const runs = new CheckpointStore(store);
  for (const n of [1, 2, 3]) {
    await save(runs, n);
    if (n > 1) await caughtUp();
    expect(await ids(runs)).toHaveLength(n);
  }
  const before = counted.counted.flights;
  expect(await ids(runs)).toHaveLength(3);
  expect(counted.counted.flights).toBe(before + 1);
  expect(warned).toEqual([]);
});

it("is asked by the command line", async () => {
  const runs = new CheckpointStore(await open("cli"));
  await save(runs, 1, "from-the-replica");
  await caughtUp();
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, [cli, ...args, "--db", url(toPrimary, "&schema=cli")]);
  const before = toReplica.counted.flights;
  const { stdout, stderr } = await run("ls", "--read-from", url(toReplica));
  expect({ stdout, stderr }).toEqual({ stdout: expect.stringContaining("from-the-replica") as string, stderr: "" });
  expect(toReplica.counted.flights).toBeGreaterThan(before);
  await expect(run("ls", "--read-from", "https://me:seCret@replica/x")).rejects.toMatchObject({
    stderr: expect.stringMatching(/^(?![^]*seCret)[^]*readFrom/) as string,
  });
});

it("takes only the URL of a Postgres server, and shows no password", async () => {
  await expect(openStore("memory:", { readFrom: url(toReplica) })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: 'option "readFrom" is for a Postgres server only',
  });
  for (const open of [
    () => new CheckpointStore("agent.db", { readFrom: url(toReplica) }),
    () => new ForkpointSaver("memory:", { readFrom: url(toReplica) }),
    () => new ForkpointSaver(url(toPrimary), { readFrom: "replica.example" }),
  ]) {
    expect(open).toThrow(/readFrom/);
  }
  for (const wrong of ["", "replica.example", "https://me:seCret@replica/x", "postgres:me:seCret@replica"]) {
    const opened = openStore(url(toPrimary), { readFrom: wrong });
    await expect(opened).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(opened).rejects.toThrow(/readFrom/);
    await expect(opened).rejects.not.toThrow(/seCret/);
  }
  for (const query of ["&schema=other", "&target_session_attrs=read-write", "&seCret=1x"]) {
    const opened = openStore(url(toPrimary), { readFrom: url(toReplica, query) });
    await expect(opened).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  }
});

// The last test: the replica is none any more.
it("never answers after its promotion", async () => {
  const [mine, others] = [new CheckpointStore(await open("promoted")), new CheckpointStore(await open("promoted"))];
  await save(mine, 1);
  await caughtUp();
  expect([await ids(mine), await ids(others)]).toEqual([["run-1"], ["run-1"]]);
  await replica.query("SELECT pg_promote()");
  const away = new CheckpointStore(await openStore(url(toReplica), { schema: "promoted" }));
  await save(away, 2);
  await away.close();
  for (const runs of [mine, others]) expect(await ids(runs)).toEqual(["run-1"]);
  const refused = Date.now();
  await save(mine, 3);

  // A replica of the promoted server is on another timeline than the primary.
  const follower = await replica.replica();
  onTestFinished(() => follower.stop());
  const through = await startProxy(follower.port);
  const hosts = [primary, replica].map(({ port }) => `127.0.0.1:${port}`).join();
  const store = await openStore(`postgres://postgres@${hosts}/postgres?sslmode=disable`, {
    schema: "promoted",
    readFrom: url(through),
  });
  onTestFinished(async () => {
    await store.close();
    await through.stop();
  });
  const runs = new CheckpointStore(store);
  expect(await ids(runs)).toEqual(["run-3", "run-1"]);
  const promoted = expect.stringMatching(/accepts writes, so it is the primary or was promoted/) as string;
  const elsewhere = expect.stringMatching(/is on timeline 2, and the primary is on/) as string;
  expect(warned.map(({ message }) => message)).toEqual([promoted, promoted, elsewhere]);

  // The promoted server is tried again, and refused again.
  await sleep(Math.max(0, refused + 3_200 - Date.now()));
  for (const either of [mine, others, mine, others]) expect(await ids(either)).toEqual(["run-3", "run-1"]);

  // When the primary is gone, the store uses the promoted server, and its replica is the right one.
  await primary.halt();
  await save(runs, 4);
  const list = async () => {
    const before = through.counted.flights;
    for (let n = 0; n < 5; n++) expect(await ids(runs)).toEqual(["run-4", "run-2", "run-1"]);
    return through.counted.flights - before;
  };
  await expect.poll(list, { timeout: 15_000 }).toBeGreaterThanOrEqual(5);
  expect(warned).toHaveLength(3);
});
