// The index of the groups of runs: a database with many runs gets it, and a list of the runs of a graph is the same with it as without it.
import { CheckpointStore } from "forkpoint";
import { expect, it } from "vitest";
import { checkpoint, open } from "../../__test__/helpers.js";
import { makeDatabase, onServer } from "./faults.js";

/** A list looks at this many runs before it uses the index. */
const VISITS = 10_000;

onServer("newest", (server) => {
  it("a database with many runs gets it, one with few does not", async () => {
    const database = await makeDatabase(server());
    const opened = () => open(server().url({ database }));
    const save = (store: CheckpointStore, runId: string, graph: string) =>
      store.save(checkpoint({ id: `${runId}-0`, runId, graphId: `graph-${graph}-1` }));
    const runs = async (store: CheckpointStore, graph: string, limit: number) => {
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<CheckpointStore["runs"]>> = await store.runs({
          graphIdPrefix: `graph-${graph}-`,
          limit,
          cursor,
        });
        found.push(...page.runs.map(({ runId }) => runId));
        ({ cursor } = page);
      } while (cursor !== null);
      return found;
    };
    const query = (sql: string) => server().query(sql, undefined, { database });
    const scans = async () => {
      const found = await query(
        "SELECT idx_scan::int AS scans FROM pg_stat_user_indexes WHERE indexrelname = 'lineage_group'",
      );
      return found[0]?.["scans"] as number | undefined;
    };

    const first = opened();
    const rare = ["rare 0", "rare 1", "rare 2"];
    for (const runId of rare) await save(first, runId, "rare");
    expect(await runs(first, "rare", 2)).toEqual(rare.toReversed());
    for (let from = 0; from < VISITS; from += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, at) => save(first, `often ${from + at}`, "often")));
    }
    await save(first, "rare 3", "rare");
    await query("ANALYZE forkpoint.lineage");
    const expected = ["rare 3", ...rare.toReversed()];
    // This process has looked for the index a moment ago.
    expect(await runs(first, "rare", 2)).toEqual(expected);
    expect(await scans()).toBeUndefined();

    const second = opened();
    for (const limit of [1, 2, 3, 1_000]) expect(await runs(second, "rare", limit)).toEqual(expected);
    expect(await runs(second, "often", 1_000)).toHaveLength(VISITS);
    expect(await runs(second, "none", 1_000)).toEqual([]);
    await save(second, "rare 4", "rare");
    expect(await runs(second, "rare", 1_000)).toEqual(["rare 4", ...expected]);
    await second.close();
    await expect.poll(scans).toBeGreaterThan(0);
    // A process knows from its first statements on that the index is there.
    expect(await runs(opened(), "rare", 1_000)).toEqual(["rare 4", ...expected]);
  });
});
