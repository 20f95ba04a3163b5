// A rolling deploy: workers of the old and of the new version at the same time, and kills in the middle of it.
// @module-tag slow
import { CheckpointStore } from "forkpoint/agentos";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Child } from "./children.js";
import { backends, folder, open } from "./harness.js";

const [[, target]] = backends as [[string, () => string]];

/** The calls of tools, as `<version> <tool>`, of a database and its workers. */
function deployed() {
  const [database, journal] = [target(), join(folder(), "effects.log")];
  const worker = (version: string, ...rest: string[]) => new Child("deploy.mjs", [database, journal, version, ...rest]);
  return {
    database,
    calls: () => (existsSync(journal) ? readFileSync(journal, "utf8").trim().split("\n") : []),
    worker,
    /** Kills a worker that has stopped in a tool. */
    async kill(...args: [string, ...string[]]) {
      const child = worker(...args);
      await child.until(({ event }) => event === "stopped");
      expect(await child.kill()).toBe("SIGKILL");
    },
    async runs(...args: [string, ...string[]]) {
      const { runs } = await worker(...args).until(({ event }) => event === "end");
      return runs as Array<{ runId: string; outcome: string; decision?: string; fork?: string }>;
    },
  };
}

it("each worker takes the runs that fit its version, whichever is killed", { timeout: 120_000 }, async () => {
  const { calls, kill, runs } = deployed();
  await kill("1", "start", "b");
  await kill("1", "start", "c");
  const past = {
    outcome: "changed",
    differences: ["`b`, which has run, is no longer followed by `c`", "`b`, which has run, is now followed by `x`"],
  };
  const dry = await runs("2", "dry");
  expect(dry).toHaveLength(2);
  expect(dry).toMatchObject(
    expect.arrayContaining([expect.objectContaining(past), expect.objectContaining({ outcome: "would resume" })]),
  );
  expect(calls()).toEqual(["1 a", "1 a", "1 b"]);

  await kill("2", "recover", "x");
  expect(calls().slice(3)).toEqual(["2 b"]);
  // AgentOS saves nothing while a resumed run goes on, so the run is still where it was, and either version can take it.
  const [old, fresh] = await Promise.all([runs("1", "recover"), runs("2", "recover")]);
  const finished = [...old, ...fresh].filter(({ outcome }) => outcome === "finished");
  expect(new Set(finished.map(({ runId }) => runId)).size).toBe(2);
  expect(finished).toHaveLength(2);
  for (const version of ["1", "2"]) expect(await runs(version, "recover")).toEqual([]);
});

it.each(["b", "x"])("a fork whose process is killed in %s is made once", { timeout: 120_000 }, async (node) => {
  const { database, calls, kill, runs } = deployed();
  await kill("1", "start", "c");
  await kill("2", "recover", node, "fork");
  const before = calls().length;
  const report = await runs("2", "recover", "", "fork");
  expect(report.map(({ outcome }) => outcome).toSorted()).toEqual(["changed", "finished"]);
  const { fork } = report.find(({ outcome }) => outcome === "changed")!;
  expect(report).toContainEqual(expect.objectContaining({ runId: fork, outcome: "finished" }));
  expect(calls().slice(before)).toEqual(["2 b", "2 x", "2 c"]);
  const store = open(database);
  expect(store).toBeInstanceOf(CheckpointStore);
  expect((await store.runs()).runs).toHaveLength(2);
  for (const version of ["1", "2"]) expect(await runs(version, "recover", "", "resume")).toEqual([]);
});
