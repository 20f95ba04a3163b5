// The labels of a new run cost no round trip. plans.test.ts looks for the index by which runs are found.
import { CheckpointStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { expect, it, onTestFinished } from "vitest";
import { checkpoint } from "../../__test__/helpers.js";
import { makeDatabase, onServer, startProxy } from "./faults.js";

onServer("newest", (server) => {
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
    const before = proxy.counted.roundTrips;
    await save(2);
    expect(proxy.counted.roundTrips - before).toBe(1);
    const inspector = await openInspector(server().url({ database }));
    onTestFinished(() => inspector.close());
    const { items } = await inspector.runs({ label: { service: "support" } });
    expect(items.map(({ run }) => run)).toEqual(["run 2", "run 1", "run 0"]);
  });
});
