// Roles with few rights. See docs/postgres.md for the grants.
import { openStore } from "forkpoint";
import { expect, it } from "vitest";
import { contract } from "../../__test__/faults/faults.js";
import { checkpoint, failure, folder, open } from "../../__test__/helpers.js";
import { contend } from "../../__test__/faults/contention.js";
import { makeDatabase, onServer, type Server } from "./faults.js";

const file = "integration/postgres/faults-roles.test.ts";

/** The server names the table, or the sequence or function of it. */
const DENIED = /permission denied for (table|sequence|function) \w+.*42501/;

let made = 0;

/** Makes a database whose schema belongs to one role, and roles that may use it and read it. */
async function place(server: Server) {
  const database = await makeDatabase(server);
  const name = `${process.pid}_${made++}`;
  const roles = { owner: `owner_${name}`, app: `app_${name}`, reader: `reader_${name}`, nobody: `nobody_${name}` };
  for (const role of Object.values(roles)) await server.query(`CREATE ROLE ${role} LOGIN`);
  await server.query(`REVOKE ALL ON DATABASE ${database} FROM PUBLIC; GRANT CONNECT ON DATABASE ${database} TO ${Object.values(roles).join()};
    GRANT CREATE ON DATABASE ${database} TO ${roles.owner}`);
  const url = (role: keyof typeof roles) => server.url({ user: roles[role], database });
  /** The owner makes the schema and gives the others their rights. */
  const migrate = async () => {
    const store = await openStore(url("owner"));
    await store.stats();
    await store.close();
    const sql = `GRANT USAGE ON SCHEMA forkpoint TO ${roles.app}, ${roles.reader};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA forkpoint TO ${roles.app};
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA forkpoint TO ${roles.app};
      GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA forkpoint TO ${roles.app}, ${roles.reader};
      GRANT SELECT ON ALL TABLES IN SCHEMA forkpoint TO ${roles.reader}`;
    await server.query(sql, undefined, { database, user: roles.owner });
  };
  return { database, roles, url, migrate };
}

/** Expects that the call rejects, and that nobody should try it again. */
async function refused(call: Promise<unknown>, message: RegExp): Promise<void> {
  const error = await failure(call, "UNAVAILABLE");
  expect(error.retryable).toBe(false);
  expect(error.message).toMatch(message);
}

onServer("newest", (server) => {
  it("a role without the right to make tables uses a schema that its owner made", async () => {
    const { url, migrate } = await place(server());
    await migrate();
    // Two processes: all calls of AgentOS and of Helix.
    const tasks = ["agentos", "helix"].map((name) => ({ task: "work", module: contract(name as "agentos") }) as const);
    const { acknowledged } = await contend(folder(), url("app") as `postgres://${string}`, tasks, 300, file);
    expect(acknowledged).toBeGreaterThan(0);
    const store = await openStore(url("app"));
    await store.prune({ keepLastN: 1 });
    await store.vacuum();
    await store.close();
  });

  it("a role that may read only reads, and a save says which right is missing", async () => {
    const { url, roles, migrate } = await place(server());
    await migrate();
    const saved = checkpoint({ id: "one", runId: "run" });
    await open(url("app")).save(saved);
    const store = open(url("reader"));
    expect(await store.latest("run")).toEqual(saved);
    expect((await store.runs()).runs).toHaveLength(1);
    expect((await store.stats()).checkpoints).toBe(1);
    expect((await store.check()).findings).toEqual([]);
    await refused(store.save(checkpoint({ id: "two", runId: "run" })), DENIED);
    await refused(store.save(checkpoint({ id: "two", runId: "another" })), DENIED);
    await refused(store.delete("one"), DENIED);
    await refused(store.prune({ keepLastN: 1, olderThan: new Date() }), DENIED);
    expect(await store.get("one")).toEqual(saved);
    // With the right, the same store can save.
    const grant = `GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA forkpoint TO ${roles.reader};
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA forkpoint TO ${roles.reader}`;
    await server().query(grant, undefined, { database: url("owner").split("/").at(-1)! });
    await store.save(checkpoint({ id: "two", runId: "run" }));
    expect((await store.check()).findings).toEqual([]);
  });

  it("a role without any right, and a database without the schema, are told apart", async () => {
    const { url, migrate } = await place(server());
    await refused(open(url("app")).latest("run"), /permission denied for database .*42501/);
    await migrate();
    await refused(open(url("nobody")).latest("run"), /permission denied for schema forkpoint.*42501/);
    await refused(
      open(url("app").replace(/[^/]*$/, "no_such_database")).latest("run"),
      /"no_such_database" does not exist.*3D000/,
    );
  });
});
