// Labels of runs: the server finds runs by an index, and the labels of a new run cost no round trip.
import { CheckpointStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { checkpoint } from "../../__test__/helpers.js";
import { makeDatabase, onServer, startProxy } from "./faults.js";

const COUNT = 1_500;

onServer("newest", (server) => {
  it("runs are found by their labels in an index", async () => {
    const database = await makeDatabase(server());
    const url = server().url({ database });
    const store = new CheckpointStore(url);
    const inspector = await openInspector(url, { write: true });
    onTestFinished(async () => {
      await inspector.close();
      await store.close();
    });
    const save = (n: number) => store.save(checkpoint({ id: `c${n}`, runId: `run ${n}`, timestamp: n }));
    await save(0);
    await inspector.setLabels({ space: "agentos", run: "run 0" }, { customer: "acme", plan: "free" });
    await Promise.all(Array.from({ length: COUNT }, (_, n) => save(n + 1)));
    // A short page visits fewer checkpoints than there are before it asks the index.
    const of = async (label: Record<string, string>) =>
      (await inspector.runs({ label, limit: 10 })).items.map(({ run }) => run);
    expect(await of({ customer: "acme" })).toEqual(["run 0"]);
    expect(await of({ customer: "acme", plan: "free" })).toEqual(["run 0"]);
    expect(await of({ customer: "acme", plan: "paid" })).toEqual([]);
    await inspector.close();
    await store.close();

    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    // Runs without labels are not in the index. It finds the run and no other row.
    const size = await client.query("SELECT count(*)::int AS labelled FROM forkpoint.lineage WHERE labels IS NOT NULL");
    expect(size.rows).toEqual([{ labelled: 1 }]);
    await client.query("SET enable_seqscan = off");
    // The condition that the engine's statements have.
    const { rows } = await client.query(
      "EXPLAIN SELECT lin FROM forkpoint.lineage WHERE labels @> ARRAY['customer\\000acme'::bytea] AND labels IS NOT NULL OFFSET 0",
    );
    expect(JSON.stringify(rows)).toContain("Bitmap Index Scan on lineage_labels");
    const scans = async () => {
      const found = await client.query(
        "SELECT idx_scan::int AS scans FROM pg_stat_user_indexes WHERE indexrelname = 'lineage_labels'",
      );
      return found.rows[0]?.scans as number;
    };
    await expect.poll(scans).toBeGreaterThanOrEqual(3);
  });

  it("a run begins with labels in the round trip of its first save", async () => {
    const proxy = await startProxy(server().port, { delayMs: 20 });
    const database = await makeDatabase(server());
    const url = server().url({ database, port: proxy.port, query: "?sslmode=disable" });
    const store = new CheckpointStore(url, { labels: { service: "support" } });
    onTestFinished(async () => {
      await store.close();
      await proxy.stop();
    });
    const save = (n: number) => store.save(checkpoint({ id: `c${n}`, runId: `run ${n}`, timestamp: n }));
    await save(0);
    await save(1);
    const before = proxy.counted.flights;
    await save(2);
    expect(proxy.counted.flights - before).toBe(1);
    const inspector = await openInspector(server().url({ database }));
    onTestFinished(() => inspector.close());
    const { items } = await inspector.runs({ label: { service: "support" } });
    expect(items.map(({ run }) => run)).toEqual(["run 2", "run 1", "run 0"]);
  });
});
