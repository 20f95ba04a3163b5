// No password, no id and no value of the server's details appears in a message, a warning, or an inspected object.
import diagnostics from "node:diagnostics_channel";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { CheckpointStore, copyStore, openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { ForkpointSaver } from "forkpoint/langgraph";
import { expect, it, onTestFinished } from "vitest";
import { Program } from "../../__test__/faults/faults.js";
import { checkpoint, folder, open } from "../../__test__/helpers.js";
import { emptyUrl, makeDatabase, onServer, type Server } from "./faults.js";

/** A part of every password. Other parts of a password must not appear either. */
const SECRET = "hunter2secret";

/** Everything that a program could print of a value. */
function shown(value: unknown): string {
  const all = [inspect(value, { depth: 20, showHidden: true, getters: true }), inspect(value), String(value)];
  try {
    all.push(JSON.stringify(value) ?? "");
  } catch {
    // It has no JSON.
  }
  for (let one: any = value; one instanceof Error; one = one.cause)
    all.push(one.message, one.stack ?? "", inspect(one));
  return all.join("\n");
}

/** Collects what the calls reject with or throw, and what is shown of what they return. */
async function collect(calls: Array<() => unknown>): Promise<string[]> {
  const texts: string[] = [];
  for (const call of calls) {
    let value: any;
    try {
      value = await call();
    } catch (error) {
      texts.push(shown(error));
      continue;
    }
    texts.push(shown(value));
    await value?.close?.().catch((error: unknown) => texts.push(shown(error)));
  }
  return texts;
}

/** All ways to open a store. */
const ways = (target: string, options: object = {}): Array<() => unknown> => [
  () => openStore(target, options),
  () => new CheckpointStore(target, options),
  () => new CheckpointStore(target, options).latest("run"),
  () => new CheckpointStore(target, options).save(checkpoint()),
  () => new WorkflowCheckpointStore(target, options).list("run"),
  () => new SessionStore(target, options).loadState("session"),
  () => new ForkpointSaver(target, options).getTuple({ configurable: { thread_id: "thread" } }),
];

/** Collects what the running test warns about. */
function warnings(): string[] {
  const texts: string[] = [];
  const onWarning = (warning: Error) => texts.push(shown(warning));
  const onPublished = (warning: unknown) => void texts.push(shown(warning));
  process.on("warning", onWarning);
  diagnostics.subscribe("forkpoint:warning", onPublished);
  onTestFinished(() => {
    process.off("warning", onWarning);
    diagnostics.unsubscribe("forkpoint:warning", onPublished);
  });
  return texts;
}

/** Lets a role log in with a password only. */
async function roleWithPassword(server: Server, password: string): Promise<string> {
  const role = `secret_${process.pid}_${Math.floor(Math.random() * 1e9)}`;
  await server.query(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD '${password}'`);
  const rules = join(server.data, "pg_hba.conf");
  const old = readFileSync(rules, "utf8");
  writeFileSync(rules, `host all ${role} 127.0.0.1/32 scram-sha-256\n`);
  appendFileSync(rules, old);
  await server.query("SELECT pg_reload_conf()");
  // A new process of the server reads the rules as soon as the server has read them.
  for (;;) {
    const refused = await server.query("SELECT 1", undefined, { user: role, password: "x" }).then(
      () => false,
      () => true,
    );
    if (refused) break;
    await sleep(20);
  }
  return role;
}

onServer("newest", (server) => {
  it("passwords that are wrong, and right ones", async () => {
    const password = `${SECRET}:/?#[]@!$&'()*+,;=% ü`.replaceAll("'", "");
    const user = await roleWithPassword(server(), password);
    const database = await makeDatabase(server());
    const url = (password: string) => server().url({ user, password, database });
    const warned = warnings();
    const copies = [`${SECRET}-no`, password].flatMap((one) => [
      () => copyStore(url(one), "memory:"),
      () => copyStore("memory:", url(one)),
    ]);
    const right = new CheckpointStore(url(password));
    await right.save(checkpoint({ id: "one" }));
    expect((await right.get("one"))?.id).toBe("one");
    const texts = [shown(right), ...(await collect([...ways(url(password)), ...ways(url(`${SECRET}-no`)), ...copies]))];
    await right.close();
    expect(texts.join("\n")).toMatch(/password authentication failed.*28P01/);
    process.env["PGPASSWORD"] = `${SECRET}-environment`;
    onTestFinished(() => void delete process.env["PGPASSWORD"]);
    texts.push(...(await collect(ways(server().url({ user, database })))));
    for (const text of [...texts, ...warned]) expect(text).not.toContain(SECRET);
  });

  it("servers that cannot be reached, and databases and options that do not exist", async () => {
    const query = (text: string) => `postgres://user:${SECRET}@127.0.0.1:${server().port}/postgres?${text}`;
    const targets = [
      `postgres://user:${SECRET}@127.0.0.1:1/postgres`,
      `postgresql://user:${SECRET}@no-such-host.invalid/postgres`,
      `postgres://user:${SECRET}@127.0.0.1:1,no-such-host.invalid:2/postgres`,
      query("sslmode=require"),
      query("sslmode=verify-full&sslrootcert=/no/such/file"),
      query(`sslmode=${SECRET}`),
      query(`password=${SECRET}&sslmode=no`),
      query(`password=${SECRET}`),
      query(`unknown=${SECRET}`),
      query(`connect_timeout=${SECRET}`),
      query(`options=${SECRET}`),
      query("dbname=no_such_database"),
      `postgres://user:${SECRET}@127.0.0.1:${server().port}/no_such_database`,
    ];
    const calls = targets.flatMap((target) => ways(target, { busyTimeoutMs: 20 }));
    const options: any[] = [{ busyTimeoutMs: -1 }, { nothing: 1 }, { durability: "none" }, { cacheBytes: "x" }, 7];
    calls.push(...options.flatMap((one) => ways(targets[0]!, one)));
    const urls = targets.filter((target) => URL.canParse(target)).map((target) => new URL(target));
    calls.push(...urls.map((url) => () => new CheckpointStore(url, { busyTimeoutMs: 20 }).latest("run")));
    for (const text of await collect(calls)) expect(text).not.toContain(SECRET);
  });

  // A user may put a whole URL, or a user and a password, where only a name is expected.
  it.each([
    `host=user:${SECRET}@127.0.0.1`,
    `host=${SECRET}@127.0.0.1`,
    `host=postgres://user:${SECRET}@127.0.0.1/postgres`,
    `host=127.0.0.1,user:${SECRET}@127.0.0.1`,
    `host=127.0.0.1:${SECRET}`,
    `host=/${SECRET}@127.0.0.1`,
    `host=127.0.0.1&port=${SECRET}`,
    `hostaddr=user:${SECRET}@127.0.0.1`,
    `hostaddr=${SECRET}`,
    `dbname=postgres://user:${SECRET}@127.0.0.1/postgres`,
    `dbname=postgres%3A%2F%2Fuser%3A${SECRET}%40127.0.0.1%2Fpostgres`,
    `dbname=host=127.0.0.1 user=user password=${SECRET}`,
    `dbname=host=127.0.0.1%20password=${SECRET}`,
    `dbname=user:${SECRET}@127.0.0.1`,
    `user=user:${SECRET}`,
    `user=user%3A${SECRET}`,
    `user=user:${SECRET}@127.0.0.1`,
    `user=postgres://user:${SECRET}@127.0.0.1/postgres`,
    `application_name=postgres://user:${SECRET}@127.0.0.1/postgres`,
    `options=postgres://user:${SECRET}@127.0.0.1/postgres`,
    `options=${SECRET}`,
    `options=-c%20${SECRET}=1`,
    `options=-c%20search_path%20${SECRET}`,
    `options=--password=${SECRET}`,
    `options=-c%20work_mem=${SECRET}`,
    `sslrootcert=postgres://user:${SECRET}@127.0.0.1/postgres`,
    `schema=${SECRET}@`,
    `prefix=postgres://user:${SECRET}@127.0.0.1/postgres`,
    `migrate=${SECRET}`,
    `channel_binding=${SECRET}`,
    `target_session_attrs=${SECRET}`,
    `load_balance_hosts=${SECRET}`,
    `${SECRET}`,
    `user:${SECRET}@127.0.0.1`,
    `password:${SECRET}`,
  ])("a secret where it does not belong: %s", async (query) => {
    const warned = warnings();
    const beginnings = ["postgres:///?", "postgres://127.0.0.1:1/postgres?", server().url({ query: "?" })];
    const targets = beginnings.map((beginning) => beginning + query);
    const texts = await collect(targets.flatMap((target) => ways(target, { busyTimeoutMs: 20 }).slice(0, 3)));
    for (const text of [...texts, ...warned]) expect(text).not.toContain(SECRET);
  });

  // A user who forgets to encode a character of the password must not find the rest of it in a log.
  it.each([..."@:/?#[]%&=+, \\\"'<>|^`{}ü\t\n\0"])("a password with %j that was not encoded", async (character) => {
    const [one, two, three] = ["hunter", "zebra", "12"];
    const warned = warnings();
    const passwords = [
      one + character + two,
      character + two,
      three + character + two,
      one + character.repeat(2) + two,
    ];
    const targets = passwords.flatMap((password) => [
      `postgres://user:${password}@127.0.0.1:1/postgres`,
      `postgres://user:${password}@127.0.0.1:1/postgres?sslmode=disable`,
      `postgres://:${password}@127.0.0.1:1`,
      `postgres://user:${password}@127.0.0.1:1`,
      `postgres:user:${password}@127.0.0.1:1/postgres`,
      `Postgres://user:${password}@127.0.0.1:1/postgres`,
    ]);
    const texts = await collect(targets.flatMap((target) => ways(target, { busyTimeoutMs: 20 }).slice(1, 3)));
    for (const text of [...texts, ...warned]) expect(text).not.toMatch(/hunter|zebra/);
  });

  // An environment variable may have a space or a quotation mark before its value.
  it.each([" ", "\n", '"', "'", "url=", "postgres:", "\ufeff"])("a URL that begins with %j", async (beginning) => {
    const targets = ["postgres", "postgresql", "POSTGRES", "postgres+tls"].flatMap((scheme) => [
      `${beginning}${scheme}://user:${SECRET}@127.0.0.1:1/postgres`,
      `${beginning}${scheme}://user:${SECRET}@127.0.0.1:1/postgres${beginning}`,
      `${beginning}${scheme}:user:${SECRET}@127.0.0.1:1/postgres`,
    ]);
    const texts = await collect(targets.flatMap((target) => ways(target, { busyTimeoutMs: 20 }).slice(0, 3)));
    for (const text of texts) expect(text).not.toContain(SECRET);
  });

  it("details, contexts and hints of the server, and the statement", async () => {
    const url = await emptyUrl(server());
    const store = open(url);
    await store.save(checkpoint({ id: "first" }));
    const sql = `CREATE FUNCTION hunter2secret() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'refused' USING ERRCODE = '23514', DETAIL = 'hunter2secret ' || encode(NEW.id, 'escape'), HINT = 'hunter2secret',
          COLUMN = 'hunter2secret', CONSTRAINT = 'hunter2secret', TABLE = 'hunter2secret';
      END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON forkpoint.checkpoint FOR EACH ROW EXECUTE FUNCTION hunter2secret()`;
    await server().query(sql, undefined, { database: url.split("/").at(-1)! });
    const one = checkpoint({
      id: "hunter2secret-id",
      state: { input: {}, scratch: SECRET, artifacts: {}, diagnostics: {} as any },
    });
    const [text] = await collect([() => store.save(one)]);
    expect(text).toMatch(/refused.*23514/);
    // The message names the checkpoint. It is the caller's own.
    expect(text!.replaceAll("hunter2secret-id", "")).not.toContain(SECRET);
    expect(text).not.toMatch(/INSERT|SELECT/);
  });

  it("the warning of a sweep that fails", async () => {
    const warned = warnings();
    const password = `${SECRET}1`;
    const role = await roleWithPassword(server(), password);
    const database = await makeDatabase(server());
    const url = server().url({ user: role, password, database });
    const store = open(url, { ttlMs: 1 });
    await store.save(checkpoint({ id: "0" }));
    const sql = `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no removal'; END $$;
      CREATE TRIGGER refuse BEFORE DELETE ON forkpoint.checkpoint FOR EACH ROW EXECUTE FUNCTION refuse()`;
    await server().query(sql, undefined, { database });
    for (let n = 1; warned.length < 2; n++) {
      await store.save(checkpoint({ id: `${n}` }));
      await sleep(20);
    }
    expect(warned.join("\n")).toContain("FORKPOINT_SWEEP_FAILS");
    for (const text of warned) expect(text).not.toContain(SECRET);
  });

  it("an error that nobody handles", async () => {
    const script = join(folder(), "unhandled.mjs");
    writeFileSync(
      script,
      `import { CheckpointStore } from ${JSON.stringify(new URL("../../dist/index.js", import.meta.url).href)};
       const store = new CheckpointStore(process.argv[2], { busyTimeoutMs: 200 });
       console.log(store, [store]);
       await store.latest("run");`,
    );
    const program = new Program([script, `postgres://user:${SECRET}@127.0.0.1:1/postgres`]);
    const { code, lines, errors } = await program.ended;
    expect(code).toBe(1);
    expect(errors).toContain("UNAVAILABLE");
    expect(lines.join("\n") + errors).not.toContain(SECRET);
  });
});
