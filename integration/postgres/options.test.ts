// The options of a store on a server: the tables' names, migrations, and passwords that change.
import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CheckpointStore, copyStore, openStore, postgresSchema } from "forkpoint";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { checkpoint, folder, open } from "../../__test__/helpers.js";
import { makeDatabase, query } from "./databases.js";
import { type Server, inMemory, startServer } from "./server.mjs";

async function tablesOf(url: string): Promise<string[]> {
  const rows = await query(
    url,
    "SELECT schemaname || '.' || tablename AS name FROM pg_tables WHERE tablename LIKE '%checkpoint' ORDER BY 1",
  );
  return (rows as Array<{ name: string }>).map(({ name }) => name);
}

async function saveOne(url: string, options?: ConstructorParameters<typeof CheckpointStore>[1]): Promise<void> {
  const store = new CheckpointStore(url, options);
  await store.save(checkpoint({ id: "a" }));
  await store.close();
}

async function count(target: string, options?: Parameters<typeof openStore>[1]): Promise<number> {
  await using store = await openStore(target, options);
  return (await store.stats()).checkpoints;
}

/** An error that no other attempt ends, with this text in its message. */
const refusal = (code: string, text: string) => ({
  code,
  retryable: false,
  message: expect.stringContaining(text) as string,
});

describe("the tables", () => {
  it("are in the schema and have the prefix that the options or the URL name", async () => {
    const url = makeDatabase();
    await saveOne(url);
    await saveOne(url, { schema: "team_a" });
    await saveOne(`${url}?schema=team_b&prefix=x_`);
    await saveOne(`${url}?schema=team_b`, { schema: "public", prefix: "fp_" });
    expect(await tablesOf(url)).toEqual([
      "forkpoint.checkpoint",
      "public.fp_checkpoint",
      "team_a.checkpoint",
      "team_b.x_checkpoint",
    ]);
    expect(await count(`${url}?schema=team_a`)).toBe(1);
    expect(await count(`${url}?schema=team_c`)).toBe(0);
  });

  it("are copied from one schema to another", async () => {
    const url = makeDatabase();
    await saveOne(url);
    await copyStore(url, `${url}?schema=copy`);
    expect(await count(url, { schema: "copy" })).toBe(1);
    await expect(copyStore(url, `${url}?schema=forkpoint`)).rejects.toThrow(/the same store/);
  });

  it.each(["", "A", "1a", "a-b", 'a"b', "a".repeat(32), "ä", "a b"])("refuse the schema %j", (schema) => {
    const refused = expect.objectContaining(refusal("INVALID_ARGUMENT", '"schema"')) as Error;
    expect(() => new CheckpointStore("postgres://localhost/x", { schema })).toThrow(refused);
    expect(() => postgresSchema({ schema })).toThrow(/"schema"/);
  });

  it.each([{ schema: "a" }, { prefix: "a" }, { password: () => "a" }])("of a file refuse %o", (options) => {
    expect(() => new CheckpointStore("memory:", options)).toThrow(/for a Postgres server only/);
  });

  it("of another program are left alone", async () => {
    const url = makeDatabase();
    await query(url, "CREATE SCHEMA forkpoint; CREATE TABLE forkpoint.invoice (id int)");
    await expect(openStore(url)).rejects.toMatchObject({ code: "UNSUPPORTED", retryable: false });
    expect(await tablesOf(url)).toEqual([]);
    expect(await count(url, { prefix: "agents_" })).toBe(0);
  });

  it("of a newer version that accepts this one are used by open stores and by new ones", async () => {
    const url = makeDatabase();
    const [old, reader] = [open(url), open(url)];
    await old.save(checkpoint({ id: "before", runId: "run", timestamp: 1 }));
    expect((await reader.latest("run"))!.id).toBe("before");
    // Another worker migrates the tables. The columns that a later version adds have defaults.
    await query(
      url,
      `BEGIN; ALTER TABLE forkpoint.checkpoint ADD COLUMN later bigint NOT NULL DEFAULT 0;
       ALTER TABLE forkpoint.payload ADD COLUMN later bytea; CREATE TABLE forkpoint.later (id int);
       UPDATE forkpoint.setting SET value = 2 WHERE name = 'schema_version'; COMMIT`,
    );
    await old.save(checkpoint({ id: "after", runId: "run", timestamp: 2 }));
    expect((await reader.latest("run"))!.id).toBe("after");
    const young = open(url);
    await young.save(checkpoint({ id: "of a new store", runId: "run", timestamp: 3 }));
    const ids = ["of a new store", "after", "before"];
    for (const store of [old, reader, young]) expect((await store.listByRun("run")).map(({ id }) => id)).toEqual(ids);
    await old.delete("before");
    expect(await young.check()).toMatchObject({ ok: true, findings: [], checked: { checkpoints: 2 } });
    // Nobody has set the version back.
    expect(await query(url, "SELECT value FROM forkpoint.setting WHERE name = 'schema_version'")).toEqual([
      { value: "2" },
    ]);
  });

  it("of a newer version that does not accept this one get nothing from a new store", async () => {
    const url = makeDatabase();
    await saveOne(url);
    await query(url, "UPDATE forkpoint.setting SET value = 2");
    const stored = async () => [
      await query(url, "SELECT * FROM forkpoint.setting ORDER BY name"),
      await query(url, "SELECT * FROM forkpoint.checkpoint"),
      await query(url, "SELECT * FROM forkpoint.batch"),
      await query(url, "SELECT last_value FROM forkpoint.save_order"),
    ];
    const before = await stored();
    const refused = refusal("UNSUPPORTED", "format 2");
    const store = new CheckpointStore(url);
    await expect(store.save(checkpoint({ id: "refused" }))).rejects.toMatchObject(refused);
    await expect(store.get("a")).rejects.toMatchObject(refused);
    // A store that could not be opened has nothing to close.
    await store.close();
    await expect(openStore(url, { migrate: "never" })).rejects.toMatchObject(refused);
    await expect(copyStore(url, makeDatabase())).rejects.toMatchObject(refused);
    expect(await stored()).toEqual(before);
  });

  it("are not made with migrate: never, and postgresSchema() makes them", async () => {
    const url = makeDatabase();
    await expect(openStore(url, { migrate: "never" })).rejects.toMatchObject(refusal("NOT_FOUND", "postgresSchema()"));
    expect(await tablesOf(url)).toEqual([]);
    await query(url, postgresSchema());
    await saveOne(url, { migrate: "never" });
    await query(url, postgresSchema({ schema: "other", prefix: "p_" }));
    await saveOne(`${url}?migrate=never`, { schema: "other", prefix: "p_" });
    await expect(openStore(`${url}?migrate=now`)).rejects.toThrow('"create", "auto" or "never"');
  });

  it("of a newer format can be looked at, if they say so", async () => {
    const url = makeDatabase();
    await saveOne(url);
    await query(url, "UPDATE forkpoint.setting SET value = 2");
    const looking = new CheckpointStore(url, { readOnly: true });
    await expect(looking.get("a")).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await query(url, "INSERT INTO forkpoint.setting VALUES ('oldest_reader', 1)");
    expect(await count(url, { readOnly: true })).toBe(1);
    const writing = openStore(url);
    await expect(writing).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await expect(writing).rejects.toThrow("can only look at it");
  });

  it("have a format, which is the newest", async () => {
    const url = makeDatabase();
    await saveOne(url);
    await using store = await openStore(url, { migrate: "auto" });
    expect(await store.migrate()).toEqual({ from: 1, to: 1 });
  });
});

describe("a password", () => {
  let server: Server;

  beforeAll(async () => {
    server = (await startServer({ settings: { password_encryption: "scram-sha-256" }, ...inMemory }))!;
    await server.query("CREATE ROLE agent LOGIN PASSWORD 'first'; GRANT CREATE ON DATABASE postgres TO agent");
    await server.requirePasswords();
  });

  afterAll(() => server.stop());

  const url = (password?: string) => server.url({ user: "agent", ...(password === undefined ? {} : { password }) });

  it("comes from a function, which is called at each connect", async () => {
    let [password, calls] = ["first", 0];
    const store = new CheckpointStore(url(), {
      password: async () => {
        calls += 1;
        return password;
      },
    });
    onTestFinished(() => store.close());
    await expect(store.load("none")).resolves.toBeNull();
    const before = calls;
    expect(before).toBeGreaterThan(0);
    password = "second word";
    await server.query("ALTER ROLE agent PASSWORD 'second word'");
    await server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'agent'");
    await expect(store.load("none")).resolves.toBeNull();
    expect(calls).toBeGreaterThan(before);
    await server.query("ALTER ROLE agent PASSWORD 'first'");
  });

  it("of a function that fails is asked for again until busyTimeoutMs is over", async () => {
    const failing = { busyTimeoutMs: 300, password: () => Promise.reject(new Error("the vault is closed")) };
    await expect(openStore(url(), failing)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("the vault is closed") as string,
    });
    const wrong = { busyTimeoutMs: 300, password: () => 7 as unknown as string };
    await expect(openStore(url(), wrong)).rejects.toThrow(/did not return a string/);
    expect(() => new CheckpointStore(url(), { password: "first" as unknown as () => string })).toThrow(
      /must be a function/,
    );
  });

  describe("and the role come from the environment of the process", () => {
    const program = fileURLToPath(new URL("fixtures/connect.mjs", import.meta.url));
    /** What a process of its own prints. */
    const connect = (target: string, env: Record<string, string>) => {
      const { PGUSER: _user, PGPASSWORD: _password, PGPASSFILE: _file, ...others } = process.env;
      const clean = { ...others, NODE_OPTIONS: "", PGPASSFILE: "/no/such/file", ...env };
      const { stdout, stderr } = spawnSync(process.execPath, [program, target], { encoding: "utf8", env: clean });
      if (stdout === "") throw new Error(stderr);
      return JSON.parse(stdout) as object;
    };
    /** A role and its tables, which no other role may use. */
    const role = async (name: string) => {
      await server.query(`CREATE ROLE ${name} LOGIN PASSWORD '${name}:secret'`);
      await server.query(`CREATE DATABASE ${name} OWNER ${name}`);
      onTestFinished(async () => {
        await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
        await server.query(`DROP ROLE ${name}`);
      });
      return `${name}:secret`;
    };
    const saved = { saved: "a" };
    const anyone = (database: string, query = "") => server.url({ database, query }).replace("postgres@", "");

    it("PGPASSWORD", async () => {
      const PGPASSWORD = await role("environment");
      const target = server.url({ user: "environment", database: "environment" });
      expect(connect(target, { PGPASSWORD })).toEqual(saved);
      expect(connect(target, { PGPASSWORD: "wrong" })).toMatchObject({ code: "UNAVAILABLE", retryable: false });
      expect(connect(target, {})).toMatchObject(refusal("UNAVAILABLE", "PGPASSWORD"));
    });

    it("PGUSER, if the URL has no user", async () => {
      const PGPASSWORD = await role("someone");
      const env = { PGUSER: "someone", PGPASSWORD };
      expect(connect(anyone("someone"), env)).toEqual(saved);
      expect(connect(anyone("someone"), { ...env, USER: "nobody", LOGNAME: "nobody" })).toEqual(saved);
      expect(connect(anyone("someone", "?user=someone"), { ...env, PGUSER: "nobody" })).toEqual(saved);
      const named = server.url({ user: "someone", database: "someone" });
      expect(connect(named, { ...env, PGUSER: "nobody" })).toEqual(saved);
      const nobody = connect(anyone("someone"), { ...env, PGUSER: "nobody" });
      expect(nobody).toMatchObject(refusal("UNAVAILABLE", '"nobody"'));
    });

    it("PGUSER also names the database, if the URL has none", async () => {
      const PGPASSWORD = await role("pair");
      const target = server
        .url()
        .replace("postgres@", "")
        .replace(/\/postgres$/, "");
      expect(connect(target, { PGUSER: "pair", PGPASSWORD })).toEqual(saved);
    });

    it("the URL's password wins, and the password file comes last", async () => {
      const password = await role("first");
      const PGPASSFILE = join(folder(), "pgpass");
      const escaped = password.replaceAll(":", "\\:");
      writeFileSync(PGPASSFILE, `*:*:first:first:${escaped}\n`, { mode: 0o600 });
      const place = { user: "first", database: "first" };
      expect(connect(server.url({ ...place, password }), { PGPASSWORD: "wrong" })).toEqual(saved);
      expect(connect(server.url(place), { PGPASSFILE })).toEqual(saved);
      expect(connect(anyone("first"), { PGPASSFILE, PGUSER: "first" })).toEqual(saved);
      const wrong = connect(server.url(place), { PGPASSFILE, PGPASSWORD: "wrong" });
      expect(wrong).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    });
  });

  it("comes from the password file, if only its owner can read the file", async () => {
    const file = join(folder(), "pgpass");
    writeFileSync(file, `127.0.0.1:${server.port}:postgres:other:no\n*:*:postgres:agent:first\n`, { mode: 0o600 });
    process.env["PGPASSFILE"] = file;
    onTestFinished(() => void delete process.env["PGPASSFILE"]);
    expect(await count(url())).toBe(0);
    chmodSync(file, 0o644);
    await expect(openStore(url())).rejects.toMatchObject(refusal("UNAVAILABLE", "needs a password"));
  });

  it("that is wrong is no reason to try again", async () => {
    const opened = openStore(url("wrong"));
    await expect(opened).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: false });
    await expect(opened).rejects.not.toThrow(/wrong@/);
  });
});
