// The compared savers, each with its default options, in a file or in a database of its own.
import { execFileSync } from "node:child_process";
import { startServer } from "../../integration/postgres/server.mjs";
import { sides as files } from "../langgraph/sides.mjs";
import { inFolder, onDisk } from "../lib/peers.mjs";
import { option } from "../lib/measure.mjs";
import { sizeOfTables } from "../postgres/database.mjs";
import { sides as databases } from "../postgres/sides.mjs";

const peers = new URL("../../integration/peers/", import.meta.url);
/** Copies the write-ahead log to the file, so that the size is that of the stored data alone. */
const EMPTY_LOG = 'new (require("better-sqlite3"))(process.argv[1]).pragma("wal_checkpoint(TRUNCATE)")';

/** Calls `work` with a saver, its mode, and a function that returns the size of what it has stored, in bytes. */
const inFile = (open) => (work) =>
  inFolder(async (path) => {
    const file = path("agent.db");
    const { saver, mode, close } = open(file);
    const size = () => {
      // Another process must do this, because a process loses its locks when it closes a file a second time.
      execFileSync(process.execPath, ["-e", EMPTY_LOG, file], { cwd: peers });
      return onDisk(file);
    };
    const result = await work({ saver, mode, size });
    await close();
    return result;
  });

const inDatabase = (open) => async (work) => {
  const version = option("server") ?? "newest";
  const server = await startServer({ version: /^\d+$/.test(version) ? Number(version) : version, sync: true });
  if (server === undefined) throw new Error(`no Postgres server (${version}) is installed`);
  try {
    await server.query("CREATE DATABASE agent");
    const [{ server_version: found }] = await server.query("SHOW server_version");
    const side = await open(server.url({ database: "agent", query: "?sslmode=disable" }));
    await side.setup?.();
    const mode = () => `Postgres ${found.split(" ")[0]}`;
    const size = () => sizeOfTables((sql) => server.query(sql, [], { database: "agent" }));
    const result = await work({ saver: side.saver, mode, size });
    await side.close();
    return result;
  } finally {
    await server.stop();
  }
};

export const sides = {
  PostgresSaver: inDatabase(databases.theirs),
  SqliteSaver: inFile(files.theirs),
  Postgres: inDatabase(databases.ours),
  SQLite: inFile(files.ours),
};
