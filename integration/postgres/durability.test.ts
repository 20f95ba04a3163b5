// What a save asks of the server's log. A trigger notes the value of `synchronous_commit` in the transaction of each save
// and each removal: it is what the commit then waits for.
import { setTimeout as sleep } from "node:timers/promises";
import { CheckpointStore, openStore, type Store, type StoreOptions } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkpoint } from "../../__test__/helpers.js";
import { makeDatabase, onServer, type Server, startServer, warned } from "./faults.js";
import { inMemory } from "./server.mjs";

const NOTED = `CREATE TABLE noted (value text);
  CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO public.noted VALUES (current_setting('synchronous_commit'));
    RETURN NULL;
  END $$;
  CREATE TRIGGER note AFTER INSERT OR DELETE ON forkpoint.checkpoint FOR EACH ROW EXECUTE FUNCTION note()`;

let roles = 0;

/** A role in a database with tables that note the value. */
async function place(server: Server) {
  const database = await makeDatabase(server);
  const user = `durable_${process.pid}_${roles++}`;
  await server.query(`CREATE ROLE ${user} LOGIN SUPERUSER`);
  onTestFinished(async () => void (await server.query(`DROP ROLE ${user}`)));
  await (await openStore(server.url({ database }))).close();
  await server.query(NOTED, undefined, { database });
  return {
    database,
    user,
    url: (query = "") => server.url({ user, database, query }),
    /** The values since the last call, each once. */
    async noted(): Promise<string[]> {
      const rows = await server.query("DELETE FROM noted RETURNING value", undefined, { database });
      return [...new Set(rows.map(({ value }) => value as string))];
    },
  };
}

let saves = 0;

/** Calls everything that changes checkpoints: in one round trip, in more, and in the background. */
async function change(opened: Store): Promise<void> {
  const store = new CheckpointStore(opened);
  const runId = `run-${saves++}`;
  const one = (n: number) => checkpoint({ id: `${runId}:${n}`, runId, timestamp: n });
  for (let n = 0; n < 3; n++) await store.save(one(n));
  await Promise.all([3, 4, 5].map((n) => store.save(one(n))));
  await store.fork(`${runId}:5`, {} as never);
  await store.delete(`${runId}:0`);
  await opened.prune({ keepLastN: 1 });
  const runs = new WorkflowCheckpointStore(opened);
  const step = (n: number) => ({ id: `${runId}-${n}`, runId, stepIndex: n, stepName: "s", state: { n }, createdAt: n });
  await runs.save(step(0), { expectedParent: null });
  await runs.save(step(1), { expectedParent: `${runId}-0` });
}

async function changed(url: string, options: StoreOptions): Promise<void> {
  const store = await openStore(url, options);
  await change(store);
  await store.close();
}

/** What the commits wait for, by the role's setting and the option. */
const expected: Array<[setting: string, durability: "full" | "normal" | "off", value: string]> = [
  ...(["off", "local", "remote_write", "on"] as const).map((one): (typeof expected)[number] => [one, "full", "on"]),
  ["remote_apply", "full", "remote_apply"],
  ...["off", "local", "remote_write", "on", "remote_apply"].flatMap((one): typeof expected => [
    [one, "normal", "off"],
    [one, "off", "off"],
  ]),
];

onServer("newest", (server) => {
  it.each(expected)("a role with synchronous_commit = %s and durability %s: %s", async (setting, durability, value) => {
    const { user, url, noted } = await place(server());
    await server().query(`ALTER ROLE ${user} SET synchronous_commit = ${setting}`);
    await changed(url(), { durability });
    expect(await noted()).toEqual([value]);
  });

  it("the default is full", async () => {
    const { user, url, noted } = await place(server());
    await server().query(`ALTER ROLE ${user} SET synchronous_commit = off`);
    await changed(url(), {});
    expect(await noted()).toEqual(["on"]);
  });

  it.each(["off", "local", "remote_write"])("the database and the URL set it to %s", async (setting) => {
    const { database, url, noted } = await place(server());
    await changed(url(`?options=-c%20synchronous_commit=${setting}`), { durability: "full" });
    expect(await noted()).toEqual(["on"]);
    await server().query(`ALTER DATABASE ${database} SET synchronous_commit = ${setting}`);
    await changed(url(), { durability: "full" });
    expect(await noted()).toEqual(["on"]);
  });

  // Another server may take over, and its settings may be others.
  it.each([
    ["on", "off", "on"],
    ["on", "local", "on"],
    ["off", "remote_apply", "remote_apply"],
    ["off", "on", "on"],
  ])("the setting is %s at open, and %s after a lost connection", async (first, then, value) => {
    const { user, database, url, noted } = await place(server());
    await server().query(`ALTER ROLE ${user} SET synchronous_commit = ${first}`);
    const store = await openStore(url());
    onTestFinished(() => store.close());
    await change(store);
    await noted();
    await server().query(`ALTER ROLE ${user} SET synchronous_commit = ${then}`);
    const open = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1";
    await server().query(open, [database]);
    while ((await server().query("SELECT 1 FROM pg_stat_activity WHERE datname = $1", [database])).length > 0)
      await sleep(10);
    await change(store);
    expect(await noted()).toEqual([value]);
  });
});

describe("a server that does not sync", () => {
  it.each(["fsync", "full_page_writes"])("with %s off is told, unless nothing else is wanted", async (setting) => {
    const server = await startServer({ version: "newest", ...inMemory, settings: { [setting]: "off" } });
    onTestFinished(() => server?.stop());
    const found = await warned(server!.url({ query: "?application_name=x" }));
    expect(found.map(({ code }) => code)).toEqual(["FORKPOINT_SERVER_NOT_DURABLE"]);
    expect(found[0]!.message).toContain(setting);
    // These promise nothing that the server does not do.
    for (const durability of ["normal", "off"] as const)
      expect(await warned(server!.url(), { durability })).toEqual([]);
  });

  it("is not told of a server that syncs", async () => {
    const server = await startServer({ version: "newest", ...inMemory });
    onTestFinished(() => server?.stop());
    expect(await warned(server!.url())).toEqual([]);
  });
});
