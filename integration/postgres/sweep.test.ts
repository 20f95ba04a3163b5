// Retention in the background on a server: beside the saves, and by one worker at a time.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setTimeout as sleep } from "node:timers/promises";
import { type Sweep } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { checkpoint, open } from "../../__test__/helpers.js";
import { makeDatabase, onServer } from "./faults.js";

onServer("newest", (server) => {
  /** An empty database with its URL, and a function that runs SQL in it. */
  async function prepared() {
    const database = await makeDatabase(server());
    const sql = (text: string) => server().query(text, undefined, { database });
    return { url: server().url({ database }), sql };
  }

  function saving(url: string, options: object) {
    const store = open(url, options);
    let saved = 0;
    const save = (runId: string) => store.save(checkpoint({ id: `${runId} ${saved}`, runId, timestamp: saved++ }));
    return { store, save };
  }

  it("a sweep that waits for a lock holds up no save", async () => {
    const { url, sql } = await prepared();
    const first = saving(url, {});
    await first.save("old");
    await sql("UPDATE forkpoint.checkpoint SET saved_at = 1");
    const sweeps: Sweep[] = [];
    const hear = (message: unknown) => sweeps.push(message as Sweep);
    subscribe("forkpoint:sweep", hear);
    onTestFinished(() => void unsubscribe("forkpoint:sweep", hear));
    // Someone else holds the run that has expired.
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query("BEGIN; SELECT FROM forkpoint.lineage FOR UPDATE");
    const waits = async () =>
      (await sql("SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))[0]!.n as number;
    const { save } = saving(url, { ttlMs: 3_600_000, busyTimeoutMs: 60_000 });
    await save("a");
    await expect.poll(waits, { timeout: 10_000 }).toBe(1);
    await save("b");
    await save("a");
    expect(await waits(), "the sweep still waits").toBe(1);
    expect(sweeps).toEqual([]);
    await other.query("COMMIT");
    await expect.poll(() => sweeps, { timeout: 10_000 }).toMatchObject([{ removed: 1, lineages: 1 }]);
  });

  it("one worker of several sweeps, and another one when it has gone", async () => {
    const { url, sql } = await prepared();
    const [one, two] = [saving(url, { ttlMs: 3_600_000 }), saving(url, { ttlMs: 3_600_000 })];
    const expire = () => sql("UPDATE forkpoint.checkpoint SET saved_at = 1");
    const left = async () => (await inspector.runs()).items.map(({ run }) => run);
    const worker = async () => (await sql("SELECT worker FROM forkpoint.sweeper"))[0]?.worker as string;
    await one.save("a");
    const inspector = await openInspector(url);
    onTestFinished(() => inspector.close());
    await expect.poll(worker).toBeDefined();
    const first = await worker();
    await two.save("b");
    await expire();
    // The first one has the row, so the second one stays away whatever it saves.
    for (let n = 0; n < 5; n++) await two.save("c");
    expect(await worker()).toBe(first);
    await expect.poll(async () => (await one.save("a"), left()), { timeout: 10_000, interval: 300 }).not.toContain("b");
    expect(await worker()).toBe(first);
    // A store that is closed leaves the row to the next one.
    await one.store.close();
    expect(await worker()).toBeUndefined();
    await two.save("d");
    await expire();
    const three = saving(url, { ttlMs: 3_600_000 });
    await three.save("e");
    await expect.poll(left, { timeout: 10_000 }).toEqual(["e"]);
    const second = await worker();
    expect(second).not.toBe(first);
    // One that was killed keeps it for half a minute. As if that had passed:
    await sql("UPDATE forkpoint.sweeper SET worker = 7, until = now() - interval '1 second'");
    await expire();
    const four = saving(url, { ttlMs: 3_600_000 });
    await four.save("f");
    await expect.poll(left, { timeout: 10_000 }).toEqual(["f"]);
    expect(await worker()).not.toBe("7");
  });

  it("a sweep vacuums what it has removed, and reads no table through", { timeout: 60_000 }, async () => {
    const { url, sql } = await prepared();
    // The server neither vacuums nor analyzes these tables by itself.
    const { save, store } = saving(url, { ttlMs: 3_600_000, migrate: "auto" });
    await save("first");
    for (const table of ["lineage", "checkpoint", "payload"]) {
      await sql(`ALTER TABLE forkpoint.${table} SET (autovacuum_enabled = false)`);
    }
    const each = "FROM generate_series(1, 100000) AS n";
    await sql(`INSERT INTO forkpoint.lineage (lin, contract, name, grp, age_offset, status)
      SELECT 1000 + n, 1, convert_to('run ' || n, 'UTF8'), '', 0, 2 ${each}`);
    await sql(`INSERT INTO forkpoint.checkpoint (seq, lin, contract, call, saved_at, sum, flags, id, grp, label, sort_key, meta)
      SELECT 1000 + n, 1000 + n, 1, 0, CASE WHEN n <= 80000 THEN 1 ELSE 9e12 END, 0, 0, convert_to('run ' || n, 'UTF8'),
        '', '', '', '' ${each}`);
    await sql(
      `INSERT INTO forkpoint.payload (seq, call, depth, budget, size, body) SELECT 1000 + n, 0, 0, 0, 1, 'b' ${each}`,
    );
    const counts = async () => {
      const rows = await sql(
        "SELECT relname, vacuum_count::int AS n FROM pg_stat_user_tables WHERE relname IN ('checkpoint', 'payload')",
      );
      return Math.min(...rows.map(({ n }) => n as number));
    };
    // Longer than the pause after a sweep: the sweeper waits for a save.
    await sleep(1_500);
    await save("another");
    await expect.poll(counts, { timeout: 30_000 }).toBeGreaterThan(0);
    await store.close();
    const [read] =
      await sql(`SELECT sum(seq_tup_read)::int AS rows, sum(n_tup_del)::int AS removed FROM pg_stat_user_tables
      WHERE relname IN ('lineage', 'checkpoint', 'payload')`);
    expect(read!.removed).toBeGreaterThanOrEqual(30_000);
    expect(read!.rows).toBeLessThan(100_000);
  });
});
