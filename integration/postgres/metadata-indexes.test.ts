// The indexes of metadata keys: when they are built and used, and what happens if they cannot be built. That a list finds the same
// with them as without them is tested for every backend (engine/tests/suite/backend_contract/pages.rs, langgraph/list.test.ts).
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { openStore } from "forkpoint";
import { ForkpointSaver } from "forkpoint/langgraph";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { makeDatabase, onServer, startPooler } from "./faults.js";

const COUNT = 600;
/** One in this number of checkpoints is of the user "ada". */
const EACH = 30;

onServer("newest", (server) => {
  /** A database with checkpoints of many users, the newest of which is of "ada". */
  async function place() {
    const database = await makeDatabase(server());
    const url = server().url({ database });
    const open = (options: object = {}, at = url) => {
      const saver = new ForkpointSaver(at, { metadataIndexes: ["user"], ...options });
      onTestFinished(() => saver.close());
      return saver;
    };
    const put = async (saver: ForkpointSaver, n: number) => {
      const config = { configurable: { thread_id: `thread ${n}`, checkpoint_ns: "" } };
      const user = n % EACH === 0 ? "ada" : `user ${n}`;
      await saver.put(config, { ...emptyCheckpoint(), id: uuid6(n) }, { source: "loop", step: n, user } as never, {});
    };
    const filling = open();
    for (let n = COUNT; n > 0; n--) await put(filling, n - 1);
    await filling.close();
    const query = (sql: string) => server().query(sql, undefined, { database });
    /** The indexes of metadata keys: whether they are usable, how often they were read, and how many entries of them. */
    const indexes = () =>
      query(`SELECT i.indisvalid AS usable, s.idx_scan::int AS scans, s.idx_tup_read::int AS entries FROM pg_index i
        JOIN pg_stat_user_indexes s USING (indexrelid) WHERE s.indexrelname LIKE 'checkpoint_meta_%'`);
    return { database, url, open, put, query, indexes };
  }

  /** Lists the newest checkpoints of a user. Returns how many there are. */
  const list = async (saver: ForkpointSaver, user: string, limit = 1_000) => {
    const users: unknown[] = [];
    for await (const { metadata } of saver.list({}, { filter: { user }, limit })) users.push((metadata as any).user);
    expect(users.every((each) => each === user)).toBe(true);
    return users.length;
  };

  it("the first list builds the index, and every list reads only what it returns", async () => {
    const { open, put, indexes } = await place();
    const saver = open();
    expect(await list(saver, "ada")).toBe(COUNT / EACH);
    await put(saver, COUNT);
    for (const limit of [1, 5]) expect(await list(saver, "ada", limit)).toBe(limit);
    expect(await list(saver, "nobody")).toBe(0);
    await saver.close();
    // Each page looks for the value, and for checkpoints that may have it in another form. The server counts when a connection ends.
    await expect.poll(async () => (await indexes())[0]!["scans"]).toBeGreaterThanOrEqual(8);
    const [found] = await indexes();
    expect(found).toMatchObject({ usable: true });
    // An index of 600 entries. Postgres 14 and 15 count one entry more than 18.
    expect(found!["entries"]).toBeLessThan(3 * (COUNT / EACH) + 20);
  });

  it("processes that build it at the same time", async () => {
    const { open, indexes } = await place();
    const found = await Promise.all([open(), open(), open()].map((saver) => list(saver, "ada")));
    expect(found).toEqual(Array.from({ length: 3 }, () => COUNT / EACH));
    // If the builds have hindered each other, the next list builds it.
    const later = async () => (await list(open(), "ada"), indexes());
    await expect.poll(later, { timeout: 10_000, interval: 500 }).toMatchObject([{ usable: true }]);
  });

  it("what a build has left behind is built again", async () => {
    const { open, query, indexes } = await place();
    await list(open(), "ada");
    await query("UPDATE pg_index SET indisvalid = false WHERE indexrelid::regclass::text LIKE '%checkpoint_meta_%'");
    expect(await list(open(), "ada")).toBe(COUNT / EACH);
    expect(await indexes()).toMatchObject([{ usable: true }]);
  });

  it("a build that waits too long is given up, and saves go on", async () => {
    const { url, open, put, query, indexes } = await place();
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query("BEGIN; INSERT INTO forkpoint.batch VALUES (1); LOCK forkpoint.checkpoint IN ROW EXCLUSIVE MODE");
    const saver = open({ busyTimeoutMs: 3_000 });
    // The first page of a list has no filter in a saver that has done nothing yet.
    await put(saver, COUNT);
    const listed = list(saver, "ada");
    const waits = "SELECT FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%' AND wait_event_type = 'Lock'";
    await expect.poll(() => query(waits)).toHaveLength(1);
    await put(saver, COUNT + EACH);
    expect(await query(waits)).toHaveLength(1);
    expect(await listed).toBe(COUNT / EACH + 2);
    await other.query("COMMIT");
    // Another process builds it.
    expect(await list(open(), "ada")).toBe(COUNT / EACH + 2);
    expect(await indexes()).toMatchObject([{ usable: true }]);
  });

  it("a role that may not build it does without, or uses what the owner has built", async () => {
    const { database, url, open, put, query, indexes } = await place();
    const role = `app_${database}`;
    await server().query(`CREATE ROLE ${role} LOGIN`);
    onTestFinished(async () => {
      await query(`DROP OWNED BY ${role}`);
      await server().query(`DROP ROLE ${role}`);
    });
    await query(`GRANT USAGE ON SCHEMA forkpoint TO ${role};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA forkpoint TO ${role};
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA forkpoint TO ${role}`);
    const app = () => open({}, server().url({ database, user: role }));
    expect(await list(app(), "ada")).toBe(COUNT / EACH);
    expect(await indexes()).toEqual([]);
    expect(await list(open({}, url), "ada")).toBe(COUNT / EACH);
    const [{ scans }] = (await indexes()) as [{ scans: number }];
    const saver = app();
    await put(saver, COUNT);
    expect(await list(saver, "ada")).toBe(COUNT / EACH + 1);
    await saver.close();
    await expect.poll(async () => (await indexes())[0]!["scans"]).toBeGreaterThan(scans);
  });

  it("a store that only reads builds none", async () => {
    const { url, indexes } = await place();
    const store = await openStore(url, { readOnly: true });
    onTestFinished(() => store.close());
    expect(await list(new ForkpointSaver(store, { metadataIndexes: ["user"] }), "ada")).toBe(COUNT / EACH);
    expect(await indexes()).toEqual([]);
  });

  it("behind a pooler", async () => {
    const { database, open, indexes } = await place();
    const pooler = await startPooler(server());
    if (pooler === undefined) return;
    onTestFinished(() => pooler.stop());
    const saver = open({}, server().url({ database, port: pooler.port }));
    for (let n = 0; n < 3; n++) expect(await list(saver, "ada")).toBe(COUNT / EACH);
    expect(await indexes()).toMatchObject([{ usable: true }]);
  });
});
