// Several hosts in one URL. A host that is down, silent, unreachable, stalled or read only is passed over or left. No
// acknowledged save is lost, and nothing is stored twice.
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { isForkpointError, openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  amount,
  behindProxy,
  long,
  makeDatabase,
  type Message,
  onServer,
  saveStep,
  type Server,
  startServer,
  steps,
  stepsOf,
} from "./faults.js";
import { freePort, inMemory } from "./server.mjs";

/** How often a primary is killed. */
const failovers = amount("FORKPOINT_FAULT_FAILOVERS", 1);

/** The URL of a database on several ports, which are tried in this order. */
const onPorts = (ports: number[], database: string, query = "") =>
  `postgres://postgres@${ports.map((port) => `127.0.0.1:${port}`).join()}/${database}?sslmode=disable${query}`;

/** Opens a store, saves, and returns what another store finds on the server itself. */
async function saved(server: Server, database: string, url: string): Promise<string[]> {
  const store = await openStore(url);
  const runs = new WorkflowCheckpointStore(store);
  for (const n of [0, 1, 2]) await saveStep(runs, n);
  expect(await stepsOf(runs)).toEqual(steps(3));
  await store.close();
  return found(server.url({ database }));
}

/** The steps that a new store finds. */
async function found(url: string): Promise<string[]> {
  const store = await openStore(url);
  const ids = await stepsOf(new WorkflowCheckpointStore(store));
  expect((await store.check()).findings).toEqual([]);
  await store.close();
  return ids;
}

/** A port that accepts connections and never answers. */
async function silentPort(): Promise<number> {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => void sockets.add(socket.on("error", () => {})));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    sockets.forEach((socket) => socket.destroy());
    silent.close();
  });
  return (silent.address() as { port: number }).port;
}

/**
 * A port that drops the first packet of each connection, as a machine does that is gone: its queue of connections is full,
 * and its thread is asleep.
 */
async function droppingPort(): Promise<number> {
  const asleep = new Int32Array(new SharedArrayBuffer(4));
  const program = `const { parentPort, workerData } = require("node:worker_threads");
    const server = require("node:net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
      parentPort.postMessage(server.address().port);
      setImmediate(() => {
        Atomics.wait(workerData, 0, 0);
        process.exit();
      });
    });`;
  const worker = new Worker(program, { eval: true, workerData: asleep });
  const sockets: Socket[] = [];
  onTestFinished(async () => {
    sockets.forEach((socket) => socket.destroy());
    Atomics.store(asleep, 0, 1);
    Atomics.notify(asleep, 0);
    await worker.terminate();
  });
  const port = await new Promise<number>((resolve, reject) => worker.once("message", resolve).once("error", reject));
  await sleep(100);
  // Connections that the system accepts for the thread fill the queue.
  for (let n = 0; n < 2_000; n++) {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    sockets.push(socket);
    const connected = new Promise((resolve) => socket.once("connect", () => resolve(true)));
    if (!(await Promise.race([connected, sleep(500, false)]))) return port;
  }
  throw new Error("the queue of connections is never full");
}

/** Starts a standby. From now on, the commits of the primary wait for it. */
async function synchronous(primary: Server): Promise<Server> {
  const standby = await primary.replica();
  await primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await primary.query("SELECT pg_reload_conf()");
  const isSynchronous = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
  while ((await primary.query(isSynchronous)).length === 0) await sleep(20);
  return standby;
}

/** The first host of a URL, and options. The last one takes longer than the others. */
const firsts: Array<[name: string, first: () => Promise<number>, query: string]> = [
  ["it refuses the connection", freePort, ""],
  ["it accepts and stays silent", silentPort, ""],
  ["it accepts and stays silent, for a second", silentPort, "&connect_timeout=1"],
  ["it drops all packets, for a second", droppingPort, "&connect_timeout=1"],
  ["it drops all packets", droppingPort, ""],
];

onServer("newest", (server) => {
  describe("the first host is passed over", () => {
    it.each(long ? firsts : firsts.slice(0, -1))("%s", { timeout: 120_000 }, async (_, first, query) => {
      const database = await makeDatabase(server());
      const url = onPorts([await first(), server().port], database, query);
      expect(await saved(server(), database, url)).toEqual(steps(3));
    });
  });

  it.each([
    ["refuses the connection", freePort],
    ["stays silent", silentPort],
    ["drops all packets", droppingPort],
  ])("no host answers, the last one %s: the open is refused", { timeout: 120_000 }, async (_, last) => {
    const url = onPorts([await silentPort(), await last()], "postgres", "&connect_timeout=1");
    const opened = openStore(url, { busyTimeoutMs: 2_000 });
    await expect(opened).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
  });

  /** A store whose first host can be stalled: what these sides send does not arrive any more. */
  async function behindPrimary(from: Array<Message["from"]>) {
    let stalls = false;
    const { proxy, database } = await behindProxy(server(), {
      onMessage: (message) => (stalls && from.includes(message.from) ? "stall" : "pass"),
    });
    const store = await openStore(onPorts([proxy.port, server().port], database, "&connect_timeout=1"), {
      busyTimeoutMs: 8_000,
    });
    onTestFinished(() => store.close());
    return { store, database, stall: () => void (stalls = true) };
  }

  it.each<Message["from"]>(["client", "server"])(
    "a primary stalls in use, and nothing arrives from the %s",
    { timeout: 180_000 },
    async (from) => {
      const { store, database, stall } = await behindPrimary([from]);
      const sessions = new SessionStore(store);
      await sessions.createSession("session", { agentType: "agent", initialState: {} });
      const append = (n: number) => sessions.appendMessages("session", [{ role: "user", content: `${n}` }]);
      await append(0);
      stall();
      const [acknowledged, unknown] = [["0"], [] as string[]];
      const begun = performance.now();
      const first = await append(1).then(
        () => undefined,
        (error: unknown) => error,
      );
      const took = performance.now() - begun;
      if (first === undefined) acknowledged.push("1");
      else {
        expect(first).toMatchObject({ code: "UNAVAILABLE", retryable: true });
        if (isForkpointError(first) && "outcome" in first) unknown.push("1");
      }
      // The busy timeout is 8 s.
      expect(took).toBeLessThan(30_000);
      for (let n = 2; n < 8; n++) {
        await append(n);
        acknowledged.push(`${n}`);
      }
      const read = async (one: SessionStore) =>
        (await one.getMessages("session")).messages.map(({ content }) => content as string);
      const there = await read(sessions);
      expect(there.filter((text) => !unknown.includes(text))).toEqual(acknowledged);
      expect(new Set(there).size).toBe(there.length);
      const direct = await openStore(server().url({ database }));
      expect(await read(new SessionStore(direct))).toEqual(there);
      expect((await direct.check()).findings).toEqual([]);
      await direct.close();
      // A connection that was given up is closed, so that its transaction ends and keeps no lock.
      const open = "SELECT 1 FROM pg_stat_activity WHERE datname = $1 AND application_name = 'forkpoint'";
      const left = async () => (await server().query(open, [database])).length;
      await expect.poll(left, { timeout: 20_000 }).toBeLessThanOrEqual(2);
    },
  );

  it("a primary stalls while it is read", { timeout: 180_000 }, async () => {
    const { store, stall } = await behindPrimary(["client", "server"]);
    const runs = new WorkflowCheckpointStore(store);
    await saveStep(runs, 0);
    expect(await stepsOf(runs)).toEqual(steps(1));
    stall();
    // The first read finds out. It may reject, and it ends.
    await stepsOf(runs).catch((error: unknown) =>
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true }),
    );
    expect(await stepsOf(runs)).toEqual(steps(1));
  });

  describe("a server that is read only", () => {
    let other: Server;
    beforeAll(async () => {
      other = (await startServer({ version: "newest", ...inMemory }))!;
    });
    afterAll(() => other?.stop());

    const readOnly = async (value: "on" | "off") => {
      await server().query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
      await server().query("SELECT pg_reload_conf()");
      // A new process of the server reads the settings as soon as the server has read them.
      while ((await server().query("SHOW default_transaction_read_only"))[0].default_transaction_read_only !== value)
        await sleep(10);
    };

    /** Makes two databases of one name. Returns the name, which the first host lists in the tests. */
    const places = async () => {
      const database = await makeDatabase(server());
      await other.query(`CREATE DATABASE ${database}`);
      onTestFinished(async () => void (await other.query(`DROP DATABASE ${database} WITH (FORCE)`)));
      // The last callback runs first.
      onTestFinished(() => readOnly("off"));
      return { database, url: onPorts([server().port, other.port], database) };
    };

    it.each(["", "&target_session_attrs=read-write", "&target_session_attrs=primary"])(
      "is passed over at open%s",
      async (query) => {
        const { database, url } = await places();
        await readOnly("on");
        expect(await saved(other, database, url + query)).toEqual(steps(3));
      },
    );

    it("alone is refused at open, and the error says why", async () => {
      const { database } = await places();
      await readOnly("on");
      const opened = openStore(server().url({ database }), { busyTimeoutMs: 300 });
      await expect(opened).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
    });

    it("from now on is left in use", async () => {
      const { database, url } = await places();
      // The other server has the tables already.
      await (await openStore(other.url({ database }))).close();
      const store = await openStore(url);
      onTestFinished(() => store.close());
      const runs = new WorkflowCheckpointStore(store);
      const save = (id: string) =>
        runs.save({ id, runId: id, stepIndex: 0, stepName: "step", state: {}, createdAt: 0 });
      await save("before");
      await readOnly("on");
      for (const id of ["a", "b", "c"]) await save(id);
      const target = await openStore(other.url({ database }));
      const held = new WorkflowCheckpointStore(target);
      for (const id of ["a", "b", "c"]) expect((await held.list(id)).map((one) => one.id)).toEqual([id]);
      expect(await held.list("before")).toEqual([]);
      await target.close();
    });
  });

  it("a commit that no synchronous standby has is not acknowledged", { timeout: 120_000 }, async () => {
    const primary = (await startServer({ version: "newest", ...inMemory }))!;
    onTestFinished(() => primary.stop());
    const standby = await synchronous(primary);
    onTestFinished(() => standby.stop());
    const [first, impatient] = ["", "&options=-c%20statement_timeout%3D1000"].map((query) =>
      onPorts([standby.port, primary.port], "postgres", query),
    );
    const open = async (url: string) => {
      const store = await openStore(url, { busyTimeoutMs: 4_000 });
      onTestFinished(() => store.close());
      return new WorkflowCheckpointStore(store);
    };
    const save = (runs: WorkflowCheckpointStore<unknown>, id: string) =>
      runs.save({ id, runId: id, stepIndex: 0, stepName: "step", state: {}, createdAt: 0 });
    const stores = [await open(first!), await open(impatient!)] as const;
    for (const [at, runs] of stores.entries()) await save(runs, `before-${at}`);
    const [{ pid }] = await standby.query("SELECT pid FROM pg_stat_wal_receiver");
    process.kill(pid, "SIGSTOP");
    // The server ends the wait of the first store's commit when the store gives up, and of the second one's at its timeout.
    const late = stores.map((runs, at) => save(runs, `late-${at}`));
    const unknown = { code: "UNAVAILABLE", outcome: "unknown" };
    await Promise.all(late.map((saving) => expect(saving).rejects.toMatchObject(unknown)));
    process.kill(pid, "SIGCONT");
    // The standby has them now, so they may be saved again, and are there once.
    for (const [at, runs] of stores.entries()) await save(runs, `late-${at}`);
    await primary.kill();
    await standby.query("SELECT pg_promote()");
    for (const runs of stores) {
      const found = (await runs.runs()).runs.map(({ runId }) => runId);
      expect(found.toSorted()).toEqual(["before-0", "before-1", "late-0", "late-1"]);
    }
  });

  it.each(Array.from({ length: failovers }, (_, n) => n + 1))(
    "a standby is promoted after the primary was killed (%i)",
    { timeout: 180_000 },
    async () => {
      const primary = (await startServer({ version: "newest", ...inMemory }))!;
      onTestFinished(() => primary.stop());
      const standby = await synchronous(primary);
      onTestFinished(() => standby.stop());

      // A standby accepts no writes, so the first host is passed over.
      const url = onPorts([standby.port, primary.port], "postgres", "&connect_timeout=1");
      const store = await openStore(url);
      onTestFinished(() => store.close());
      const runs = new WorkflowCheckpointStore(store);
      const sessions = new SessionStore(store);
      await sessions.createSession("session", { agentType: "agent", initialState: {} });
      /** What the saver below has done, and whether it goes on. */
      const saver = { acknowledged: 0, over: false };
      /** Each save rejects with `CONFLICT` if it is stored twice, and each message would be there twice. */
      const work = (async () => {
        for (let n = 0; !saver.over; n++) {
          await saveStep(runs, n);
          await sessions.appendMessages("session", [{ role: "user", content: `${n}` }]);
          saver.acknowledged = n + 1;
        }
      })();
      work.catch(() => {});
      const until = async (count: number) => {
        while (saver.acknowledged < count) await Promise.race([sleep(5), work]);
      };
      await until(20);
      await primary.kill();
      const before = saver.acknowledged;
      await sleep(500);
      await standby.query("SELECT pg_promote()");
      await until(before + 20);
      saver.over = true;
      await work;
      const count = saver.acknowledged;
      expect(await stepsOf(runs)).toEqual(steps(count));
      const { messages } = await sessions.getMessages("session");
      expect(messages.map(({ content }) => content)).toEqual(Array.from({ length: count }, (_, n) => `${n}`));
      expect(await found(standby.url())).toEqual(steps(count));
    },
  );
});
