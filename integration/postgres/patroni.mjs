// Starts clusters of Postgres servers that Patroni manages, with etcd: each in a folder of its own, on free loopback ports.
// A cluster ends with the process that started it.
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, guarded, inMemory, installed, killProcess, Server, user } from "./server.mjs";

/** How long a cluster may take for anything. */
const PATIENCE_MS = 120_000;

/** The folder of the oldest installed version that can copy a server. The packages of npm cannot. */
const programs = () => [...installed().values()].find((folder) => existsSync(join(folder, "pg_basebackup")));

/** True if this machine has Patroni and etcd. Without them, the tests do nothing, which is an error in CI. */
export function hasPatroni() {
  const missing = ["patroni", "etcd"].filter((name) => spawnSync(name, ["--version"]).error !== undefined);
  if (programs() === undefined) missing.push("pg_basebackup");
  if (missing.length === 0) return true;
  if (process.env.CI) throw new Error(`not installed: ${missing.join(", ")}`);
  console.warn(`SKIPPED: not installed: ${missing.join(", ")} (Debian's packages are patroni and etcd-server)`);
  return false;
}

/**
 * Starts etcd and three servers under Patroni.
 *
 * @param {object} options
 * @param {boolean} options.synchronous True: a commit waits for one of the replicas.
 * @param {number} [options.ttl] The time after which a leader that is silent is replaced, in seconds. Patroni's default: 30. Newer
 *   versions than 3.0 take at least 20.
 * @param {number} [options.loopWait] How often Patroni looks at its server, in seconds. Patroni's default: 10.
 * @param {number} [options.retryTimeout] How long Patroni tries an operation again, in seconds. Patroni's default: 10.
 */
export async function startCluster({ synchronous, ttl = 5, loopWait = 1, retryTimeout = 3 }) {
  const as = user();
  const home = mkdtempSync(join(inMemory.folder ?? tmpdir(), "patroni-"));
  chmodSync(home, 0o755);
  const folderOf = (name) => {
    const folder = join(home, name);
    mkdirSync(folder);
    if (as.uid !== undefined) chownSync(folder, as.uid, as.gid);
    chmodSync(folder, 0o700);
    return folder;
  };
  const [clients, peers] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`);
  const etcd = guarded(
    [
      "etcd",
      "--name=one",
      `--data-dir=${folderOf("etcd")}`,
      `--initial-cluster=one=${peers}`,
      `--listen-client-urls=${clients}`,
      `--advertise-client-urls=${clients}`,
      `--listen-peer-urls=${peers}`,
      `--initial-advertise-peer-urls=${peers}`,
      "--log-level=error",
    ],
    as,
    "TERM",
  );
  await until("etcd answers", async () => (await fetch(`${clients}/health`)).ok);
  const dcs = {
    ttl,
    loop_wait: loopWait,
    retry_timeout: retryTimeout,
    synchronous_mode: synchronous,
    // The tests want a replica promoted that lags by more than Patroni's default of 1 MiB.
    maximum_lag_on_failover: 2 ** 30,
    postgresql: {
      use_pg_rewind: true,
      parameters: { max_connections: 100, wal_keep_size: "64MB", max_wal_size: "256MB", wal_receiver_timeout: "5s" },
    },
  };
  const bin = programs();
  const nodes = [];
  for (const name of ["a", "b", "c"]) {
    const [port, rest] = [await freePort(), await freePort()];
    const folder = folderOf(name);
    const config = {
      scope: "forkpoint",
      name,
      etcd3: { host: clients.slice("http://".length) },
      restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${rest}` },
      bootstrap: { dcs, initdb: [{ encoding: "UTF8" }, { locale: "C" }] },
      postgresql: {
        listen: `127.0.0.1:${port}`,
        connect_address: `127.0.0.1:${port}`,
        data_dir: join(folder, "data"),
        bin_dir: bin,
        pgpass: join(folder, "pgpass"),
        authentication: { superuser: { username: "postgres" }, replication: { username: "replicator" } },
        pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
        parameters: { unix_socket_directories: "" },
        remove_data_directory_on_rewind_failure: true,
        remove_data_directory_on_diverged_timelines: true,
      },
    };
    // Each JSON is YAML.
    const file = join(folder, "patroni.yml");
    writeFileSync(file, JSON.stringify(config), { mode: 0o644 });
    nodes.push(new Node(name, file, rest, bin, as, home, config.postgresql.data_dir, port));
  }
  const cluster = new Cluster(nodes, etcd, home, synchronous);
  for (const node of nodes) await node.start();
  await cluster.healthy();
  return cluster;
}

/** Waits until a function returns something. A function that throws has not yet. */
async function until(what, look) {
  let last;
  for (const begun = Date.now(); Date.now() - begun < PATIENCE_MS; await sleep(50)) {
    try {
      const found = await look();
      if (found) return found;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`not within ${PATIENCE_MS} ms: ${what}`, { cause: last });
}

/** A server that Patroni manages. */
class Node extends Server {
  #file;
  #rest;
  #as;
  #started;

  constructor(name, file, rest, bin, as, home, data, port) {
    super(bin, as, home, data, port, {});
    this.name = name;
    this.#file = file;
    this.#rest = rest;
    this.#as = as;
  }

  /** True if Patroni runs. */
  get runs() {
    return this.#started !== undefined && this.#started.shell.exitCode === null;
  }

  /** What Patroni has logged. */
  get log() {
    return this.#started?.log ?? "";
  }

  /** Starts Patroni, which starts the server. */
  async start() {
    await this.halt();
    this.#started = guarded(["patroni", this.#file], this.#as, "TERM");
  }

  /** A URL of Patroni. */
  rest(path) {
    return `http://127.0.0.1:${this.#rest}/${path}`;
  }

  /** Asks Patroni, or tells it something. */
  async ask(path, body) {
    const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(this.rest(path), options);
    return { status: response.status, text: await response.text() };
  }

  /** Kills Patroni with SIGKILL, and leaves its server alone. */
  killPatroni() {
    const children = spawnSync("ps", ["-o", "pid=,args=", "--ppid", String(this.#started.shell.pid)], {
      encoding: "utf8",
    });
    const lines = children.stdout.split("\n").filter((line) => line.includes(this.#file));
    for (const line of lines) killProcess(Number.parseInt(line, 10));
  }

  /** Kills Patroni and its server with SIGKILL. */
  async kill() {
    this.killPatroni();
    await super.kill();
  }

  /** Stops Patroni, which stops the server. */
  async halt() {
    await this.#started?.halt();
    this.#started = undefined;
  }

  /** Stops Patroni, and the server if Patroni was killed. */
  async stop() {
    await this.halt();
    if (existsSync(join(this.data, "postmaster.pid"))) await super.kill();
  }
}

/** Three servers, one of which is the leader. */
export class Cluster {
  #etcd;
  #home;
  #synchronous;
  /** The last node that was seen to lead. */
  #led;
  /** Ends `hold`. */
  #release = async () => {};

  constructor(nodes, etcd, home, synchronous) {
    this.nodes = nodes;
    this.#etcd = etcd;
    this.#home = home;
    this.#synchronous = synchronous;
  }

  /** The URL of a database on all three servers. */
  url({ database = "postgres", query = "" } = {}) {
    const hosts = this.nodes.map(({ port }) => `127.0.0.1:${port}`).join();
    return `postgres://postgres@${hosts}/${database}?sslmode=disable&target_session_attrs=read-write${query}`;
  }

  /** The node that leads, as soon as one accepts writes. */
  async leader() {
    return until("a leader", async () => {
      for (const node of this.nodes.filter(({ runs }) => runs)) {
        const asked = await node.ask("primary").catch(() => undefined);
        if (asked?.status !== 200) continue;
        const [row] = await node.query("SELECT pg_is_in_recovery() AS replica");
        if (row.replica === false) return (this.#led = node);
      }
      return undefined;
    });
  }

  /** Runs SQL on the leader. */
  async query(sql, values, options) {
    return (await this.leader()).query(sql, values, options);
  }

  /** Starts the nodes that were killed, and waits until both replicas follow the leader. */
  async healthy() {
    await this.#release();
    for (const node of this.nodes) if (!node.runs) await node.start();
    const sync = this.#synchronous ? 1 : 0;
    await until("both replicas follow the leader", async () => {
      const leader = await this.leader();
      const streams = await leader.query("SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'");
      const { text } = await leader.ask("cluster");
      const { members } = JSON.parse(text);
      const timelines = new Set(members.map(({ timeline }) => timeline));
      const synced = members.filter(({ role }) => role === "sync_standby").length;
      return (
        streams.length === 2 &&
        streams.filter(({ sync_state }) => sync_state === "sync").length === sync &&
        members.length === 3 &&
        timelines.size === 1 &&
        synced === sync
      );
    });
  }

  /** Kills the leader, Patroni and server, with SIGKILL. */
  async killLeader() {
    await (await this.leader()).kill();
  }

  /** Kills the leader, and waits until another node leads, while this thread waits. */
  killLeaderNow() {
    // All of it happens before the first thing that is waited for.
    void this.#led.kill();
    const program = `const urls = ${JSON.stringify(this.nodes.filter(({ runs }) => runs).map((node) => node.rest("primary")))};
      const look = async () => {
        for (const url of urls) if ((await fetch(url).catch(() => ({}))).status === 200) return;
        setTimeout(look, 50);
      };
      void look();`;
    execFileSync(process.execPath, ["-e", program], { timeout: PATIENCE_MS });
  }

  /** Makes a replica the leader, in an orderly way. */
  async switchOver() {
    const leader = await this.leader();
    const { members } = JSON.parse((await leader.ask("cluster")).text);
    const follows = members.find(({ role }) => role === (this.#synchronous ? "sync_standby" : "replica"));
    const { status, text } = await leader.ask("switchover", { leader: leader.name, candidate: follows.name });
    if (status !== 200) throw new Error(`the switch-over is refused: ${status} ${text}`);
    const now = await this.leader();
    if (now === leader) throw new Error(`the leader is the same: ${text}`);
  }

  /** From now on until `healthy`, the replicas have what they have now, and get nothing more. */
  async hold() {
    const leader = await this.leader();
    // Patroni writes this file again when it starts the server.
    const file = join(leader.data, "pg_hba.conf");
    const rules = readFileSync(file, "utf8");
    this.#release = async () => {
      this.#release = async () => {};
      if (!leader.runs) return;
      writeFileSync(file, rules);
      await leader.query("SELECT pg_reload_conf()");
    };
    writeFileSync(file, `host replication all 127.0.0.1/32 reject\n${rules}`);
    await leader.query("SELECT pg_reload_conf()");
    const [{ lsn }] = await leader.query("SELECT pg_current_wal_lsn() AS lsn");
    const count = async (sql, ...values) =>
      (await leader.query(`SELECT 1 FROM pg_stat_replication ${sql}`, values)).length;
    await until("both replicas have all", async () => (await count("WHERE flush_lsn >= $1", lsn)) === 2);
    // The server reads its rules a moment later.
    for (let none = 0; none < 3; none = (await count("")) === 0 ? none + 1 : 0) {
      await leader.query("SELECT pg_terminate_backend(pid) FROM pg_stat_replication");
      await sleep(100);
    }
  }

  /** Stops everything and removes the folder. */
  async stop() {
    await Promise.all(this.nodes.map((node) => node.stop()));
    await this.#etcd.halt();
    rmSync(this.#home, { recursive: true, force: true });
  }
}
