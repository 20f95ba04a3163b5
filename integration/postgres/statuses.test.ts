// The index of statuses: the server uses it, and a question reads only the runs that it returns.
import { type Checkpoint, CheckpointStore } from "forkpoint/agentos";
import { type Status, openInspector } from "forkpoint/inspect";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { makeDatabase, onServer } from "./faults.js";

const COUNT = 1_500;

onServer("newest", (server) => {
  it("runs are found and counted by their status in an index", async () => {
    const database = await makeDatabase(server());
    const url = server().url({ database });
    const store = new CheckpointStore(url);
    onTestFinished(() => store.close());
    const save = (n: number, pendingEdges: string[]) => {
      const fields = { id: `c${n}`, runId: `run ${n}`, graphId: "g", nodeId: "a", timestamp: n, nodeResults: {} };
      return store.save({ ...fields, visitedNodes: ["a"], pendingEdges, state: {} } as unknown as Checkpoint);
    };
    await save(0, ["b"]);
    await Promise.all(Array.from({ length: COUNT }, (_, n) => save(n + 1, [])));
    const inspector = await openInspector(url);
    onTestFinished(() => inspector.close());
    // A short page visits fewer checkpoints than there are before it asks the index.
    const of = async (status: Status) => (await inspector.runs({ status, limit: 10 })).items.map(({ run }) => run);
    const unfinished = () => of("unfinished");
    expect(await unfinished()).toEqual(["run 0"]);
    expect(await of("waiting")).toEqual([]);
    expect((await inspector.info()).spaces[0]!.statuses).toMatchObject({ unfinished: 1, finished: COUNT, waiting: 0 });
    await save(0, []);
    expect(await unfinished()).toEqual([]);
    await inspector.close();
    await store.close();

    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query("ANALYZE");
    // So few rows are in a few pages. A larger table would be read by the index anyway.
    await client.query("SET enable_seqscan = off");
    // The condition that the engine's statements have.
    const { rows } = await client.query(
      "EXPLAIN SELECT lin FROM forkpoint.lineage WHERE contract = ANY('{1}') AND status = ANY('{1}') AND contract < 128 AND status <> 4",
    );
    expect(JSON.stringify(rows)).toContain("lineage_status");
    const scans = async () => {
      const found = await client.query(
        "SELECT idx_scan::int AS scans FROM pg_stat_user_indexes WHERE indexrelname = 'lineage_status'",
      );
      return found.rows[0]?.scans as number;
    };
    await expect.poll(scans).toBeGreaterThanOrEqual(3);
  });
});
