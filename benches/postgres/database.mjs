// The server of the benchmark. It syncs commits to the disk. Each side of each turn gets a database of its own.
import { startServer } from "../../integration/postgres/server.mjs";
import { sides } from "./sides.mjs";
import { startWire } from "./wire.mjs";

/** The names of the sides in the rows: `mode` for ours, `peer` for the others. */
export const names = { theirs: "PostgresSaver", plain: "INSERT with pg" };

const wanted = process.argv.find((argument) => argument.startsWith("--server="))?.slice("--server=".length);
const version = wanted === undefined || ["oldest", "newest"].includes(wanted) ? (wanted ?? "newest") : Number(wanted);

/** Starts a server and the proxy in front of it, calls `work`, and stops both. */
export async function onServer(work) {
  const server = await startServer({ version, sync: true });
  if (server === undefined) throw new Error(`no Postgres server (${version}) is installed`);
  const wire = await startWire(server.port);
  try {
    return await work(new Databases(server, wire, await described(server)));
  } finally {
    await wire.stop();
    await server.stop();
  }
}

/** Reads the modes from the server, so that the tables show the modes that it really had. */
async function described(server) {
  const read = async (name) => (await server.query(`SHOW ${name}`))[0][name];
  const number = (await read("server_version")).split(" ")[0];
  return `Postgres ${number}, fsync ${await read("fsync")}`;
}

class Databases {
  #count = 0;

  constructor(server, wire, mode) {
    this.server = server;
    this.wire = wire;
    this.mode = mode;
  }

  /** Makes a database, calls `work` with a side that is connected to it through the proxy, and drops it. */
  async with(name, work) {
    const database = `bench_${++this.#count}`;
    await this.server.query(`CREATE DATABASE ${database}`);
    await this.wire.reset(0);
    const url = this.server.url({ database, port: this.wire.port, query: "?sslmode=disable" });
    const side = await sides[name](url);
    try {
      await side.setup?.();
      return await work(side, { database, url });
    } finally {
      await side.close();
      await this.server.query(`DROP DATABASE ${database} WITH (FORCE)`);
    }
  }

  /** Writes what is still in memory, so that the work of one side does not slow the next side. */
  settle() {
    return this.server.query("CHECKPOINT");
  }

  /**
   * The bytes of a database. `stored` is what the tables take, with their indexes and their TOAST tables. `values` is
   * what the values in the rows take. `log` is what the server has written ahead, since it was made.
   */
  async sizes(database) {
    const query = (sql) => this.server.query(sql, [], { database });
    const tables = await query(TABLES);
    const values = tables
      .map(({ name, columns }) => `SELECT sum(${columns}) AS bytes FROM ${name}`)
      .join(" UNION ALL ");
    const [row] = await query(`SELECT coalesce(sum(bytes), 0) AS bytes FROM (${values}) AS each`);
    const [{ log }] = await query("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS log");
    const stored = tables.reduce((sum, { bytes }) => sum + Number(bytes), 0);
    return { stored, values: Number(row.bytes), log: Number(log) };
  }
}

/** The bytes that the tables of a database take, with their indexes and their TOAST tables. `query` asks the database. */
export async function sizeOfTables(query) {
  return (await query(TABLES)).reduce((sum, { bytes }) => sum + Number(bytes), 0);
}

/** The tables of a database: their names, their bytes on the disk, and a sum of the sizes of a row's values. */
const TABLES = `
  SELECT c.oid::regclass::text AS name, pg_total_relation_size(c.oid) AS bytes,
    string_agg(format('coalesce(pg_column_size(%I), 0)', a.attname), ' + ') AS columns
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    AND a.attnum > 0 AND NOT a.attisdropped
  GROUP BY c.oid`;
