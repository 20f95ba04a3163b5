// `drainCheck` says before a deploy which runs `recover` of the new version would report as changed.
import { openStore } from "forkpoint";
import { CheckpointStore, type CheckpointStoreOptions, describe as describeGraph, recover } from "forkpoint/agentos";
import { openInspector } from "forkpoint/inspect";
import { expect, it, onTestFinished } from "vitest";
import { Tools, chain, tool } from "./harness.js";

it.each<[string, CheckpointStoreOptions, CheckpointStoreOptions]>([
  ["with a name", { program: "trip", version: "1" }, { program: "trip", version: "2" }],
  ["without a name", {}, {}],
])("says what recover says, for a program %s", async (_, first, second) => {
  for (const names of [
    ["search", "book", "mail"],
    ["search", "reserve", "mail"],
    ["search", "book", "check", "mail"],
    ["search", "book", "mail", "log"],
  ]) {
    const store = await openStore("memory:");
    onTestFinished(() => store.close());
    const compiled = (checkpoints: CheckpointStore, nodes: string[]) => {
      const { deps } = new Tools();
      const all = Object.fromEntries(nodes.map((name) => [name, tool(name, "external")]));
      return chain(all).compile({ checkpointStore: checkpoints, deps });
    };
    const old = new CheckpointStore(store, first);
    const graph = compiled(old, ["search", "book", "mail"]);
    await recover(graph, old);
    // Each run ends after another node, as if the process had crashed.
    for (const last of [1, 2, 3]) {
      let saved = 0;
      for await (const event of graph.stream({}) as AsyncIterable<{ type: string }>) {
        if (event.type === "checkpoint_saved" && ++saved === last) break;
      }
    }
    const next = new CheckpointStore(store, second);
    const changed = compiled(next, names);
    const made = { version: first.version ?? null, shape: expect.any(String) };
    expect((await next.runs()).runs.map(({ version }) => version)).toEqual([made, made, made]);
    const inspector = await openInspector(store);
    const report = await inspector.drainCheck(describeGraph(changed, second));
    const differing = new Map(report.runs.map(({ run, differences }) => [run, differences.join("; ")]));
    const { runs } = await recover(changed, next, { dryRun: true, idleMs: 0 });
    const expected = runs.flatMap((run) => {
      if (run.outcome === "changed") return [[run.runId, run.differences.join("; ")] as const];
      return run.outcome === "skipped" ? [[run.runId, differing.get(run.runId)] as const] : [];
    });
    expect([...differing].toSorted()).toEqual(expected.toSorted());
    expect(report).toMatchObject({ ok: differing.size === 0, other: 0, unknown: 0 });
    const isAdded = names.at(-1) === "log" && first.program === undefined;
    expect(differing.size > 0).toBe(isAdded || names.includes("reserve") || names.includes("check"));
  }
});
