// `drainCheck` says before a deploy which runs `recover` of the new version would report as changed.
import { openStore } from "forkpoint";
import { CheckpointStore, describe as describeGraph, recover } from "forkpoint/agentos";
import { openInspector } from "forkpoint/inspect";
import { expect, it, onTestFinished } from "vitest";
import { expectRecovered, programs } from "../../__test__/programs/drained.js";
import { Tools, chain, crashedAfter, external } from "./harness.js";

it.each(programs)("says what recover says, for a program %s", async (_, first, second) => {
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
      return chain(external(nodes.join(" "))).compile({ checkpointStore: checkpoints, deps });
    };
    const old = new CheckpointStore(store, first);
    const graph = compiled(old, ["search", "book", "mail"]);
    await recover(graph, old);
    // Each run ends after another node, as if the process had crashed.
    for (const last of ["search", "book", "mail"]) await crashedAfter(graph, last);
    const next = new CheckpointStore(store, second);
    const changed = compiled(next, names);
    const made = { version: first.version ?? null, shape: expect.any(String) };
    expect((await next.runs()).runs.map(({ version }) => version)).toEqual([made, made, made]);
    const inspector = await openInspector(store);
    // The run that ended after the last node counts as finished.
    const counted = { space: "agentos", program: first.program ?? null, version: made, runs: 2, isEstimate: false };
    expect(await inspector.versions()).toMatchObject([counted]);
    const report = await inspector.drainCheck(describeGraph(changed, second));
    const differing = expectRecovered(report, (await recover(changed, next, { dryRun: true })).runs);
    const isAdded = names.at(-1) === "log" && first.program === undefined;
    expect(differing.size > 0).toBe(isAdded || names.includes("reserve") || names.includes("check"));
    // After the start of the new version, the store knows by itself what the check has said.
    expect((await inspector.runs({ stranded: true })).items).toEqual([]);
    await recover(changed, next);
    const stranded = (await inspector.runs({ stranded: true })).items;
    const told = new Map(stranded.map(({ run, stranded }) => [run, stranded!.differences.join("; ")]));
    expect(told).toEqual(first.program === undefined ? new Map() : differing);
  }
});
