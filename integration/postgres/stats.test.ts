// Statistics of a large database: estimates that read some pages, and exact numbers where they are few.
import { type Checkpoint, CheckpointStore } from "forkpoint/agentos";
import { openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { openInspector } from "forkpoint/inspect";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { makeDatabase, onServer } from "./faults.js";

/** So many runs that their table has more than the pages that are read. */
const RUNS = 120_000;
const SIZE = 100;
const STORED = 60;

/** Runs of AgentOS with one checkpoint each, all of them failed. Their ids are not those of real runs. */
const FILL = [
  `INSERT INTO forkpoint.lineage (lin, contract, name, grp, age_offset, status)
   SELECT 1000 + n, 1, convert_to('many ' || n, 'UTF8'), '', 0, 2 FROM generate_series(1, ${RUNS}) AS n`,
  `INSERT INTO forkpoint.checkpoint (seq, lin, contract, call, saved_at, sum, flags, id, grp, label, sort_key, meta)
   SELECT 1000 + n, 1000 + n, 1, 0, 0, 0, 0, convert_to('many ' || n, 'UTF8'), '', '', '', convert_to(repeat('m', 80), 'UTF8')
   FROM generate_series(1, ${RUNS}) AS n`,
  `INSERT INTO forkpoint.payload (seq, call, depth, budget, size, body)
   SELECT 1000 + n, 0, 0, 0, ${SIZE}, convert_to(repeat('b', ${STORED}), 'UTF8') FROM generate_series(1, ${RUNS}) AS n`,
];

onServer("newest", (server) => {
  it("a large database is estimated, and what is rare in it is counted", async () => {
    const url = server().url({ database: await makeDatabase(server()) });
    const store = await openStore(url);
    onTestFinished(() => store.close());
    const agents = new CheckpointStore(store);
    const workflows = new WorkflowCheckpointStore(store);
    const fields = { id: "a", runId: "waits", graphId: "g", nodeId: "a", timestamp: 1, nodeResults: {}, state: {} };
    await agents.save({ ...fields, visitedNodes: ["a"], pendingEdges: ["b"] } as unknown as Checkpoint);
    const state = { note: "x".repeat(50) };
    await workflows.save({ id: "w", runId: "rare", stepIndex: 0, stepName: "add", state, createdAt: 1 });
    const inspector = await openInspector(store);
    const exact = await store.stats();
    expect(exact).toMatchObject({ checkpoints: 2, lineages: 2, isEstimate: false });
    expect((await inspector.info()).spaces.map(({ isEstimate }) => isEstimate)).toEqual([false, false]);

    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    for (const statement of FILL) await client.query(statement);
    // The counts come from an index without looks into the table.
    await client.query("VACUUM ANALYZE");

    const before = await readRows(client);
    const found = await store.stats();
    const { spaces } = await inspector.info();
    expect(found.isEstimate).toBe(true);
    expect(found.lineages).toBeGreaterThan(RUNS * 0.8);
    expect(found.lineages).toBeLessThan(RUNS * 1.2);
    expect(found.checkpoints).toBeGreaterThan(RUNS * 0.8);
    expect(found.checkpoints).toBeLessThan(RUNS * 1.2);
    // The sizes are those of the checkpoints that were read.
    expect(Math.round(found.logicalBytes / found.checkpoints)).toBe(SIZE);
    expect(Math.round(found.storedBytes / found.checkpoints)).toBe(STORED);

    const [agentos, agentium] = ["agentos", "agentium"].map((name) => spaces.find(({ space }) => space === name)!);
    expect(agentos).toMatchObject({ statuses: { unfinished: 1, waiting: 0 }, isEstimate: true });
    expect(agentos!.statuses.failed).toBeGreaterThan(100_000);
    expect(agentium!.runs).toBe(1);
    expect(Object.values(agentium!.statuses).reduce((sum, runs) => sum + runs)).toBe(1);
    expect(agentium!.checkpoints).toBeGreaterThan(0);

    // Three questions, each about a part of the table.
    // A server that is busy tells its numbers late.
    const read = await vi.waitFor(
      async () => {
        const now = (await readRows(client)) - before;
        expect(now).toBeGreaterThan(0);
        return now;
      },
      { timeout: 30_000 },
    );
    expect(read).toBeLessThan(RUNS);
    expect(await store.stats()).toEqual(found);

    // A save to a run that exists finds and locks it by an index, among all these runs. So does a write to a checkpoint.
    const runsRead = await readRows(client, ["lineage"]);
    for (let n = 2; n < 12; n++) {
      const next = { ...fields, id: `a ${n}`, timestamp: n, visitedNodes: ["a"], pendingEdges: [] };
      await agents.save(next as unknown as Checkpoint);
    }
    expect((await readRows(client, ["lineage"])) - runsRead).toBeLessThan(RUNS / 10);
  });

  it("some runs stand for all open ones, if there are many", async () => {
    const store = await openStore(server().url({ database: await makeDatabase(server()) }));
    onTestFinished(() => store.close());
    const agents = new CheckpointStore(store);
    const fields = { graphId: "g", nodeId: "a", nodeResults: {}, state: {}, visitedNodes: ["a"] };
    const save = (n: number) => {
      // Every sixth run is finished.
      const run = { id: `${n}`, runId: `run ${n}`, timestamp: n, pendingEdges: n % 6 === 0 ? [] : ["b"] };
      return agents.save({ ...fields, ...run } as unknown as Checkpoint);
    };
    const inspector = await openInspector(store);
    const expected = { space: "agentos", program: null, version: null };
    let saved = 0;
    // The server counts in an index, and from 10,000 on in the table.
    for (const upTo of [480, 12_600]) {
      await Promise.all(Array.from({ length: upTo - saved }, (_, n) => save(saved + n)));
      saved = upTo;
      const open = (upTo / 6) * 5;
      const statuses = { waiting: 0, failed: 0, unfinished: open, stopped: 0, unknown: 0 };
      expect(await inspector.versions()).toEqual([{ ...expected, runs: open, statuses, isEstimate: open > 500 }]);
    }
  });
});

/** The rows of tables that the server has read, by any way. */
async function readRows(client: InstanceType<typeof pg.Client>, tables = ["checkpoint", "payload"]): Promise<number> {
  // A connection tells its numbers when it is idle for a second.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const { rows } = await client.query(
    "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_user_tables WHERE relname = ANY($1)",
    [tables],
  );
  return rows[0].read as number;
}
