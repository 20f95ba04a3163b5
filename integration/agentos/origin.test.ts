// Tests whose runs recover() takes: those of its own program, and none that a living process works on.
import { CheckpointStore, type RecoveredRun, recover } from "forkpoint";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Child } from "./children.js";
import { Tools, backends, chain, crashedAfter, external, folder, open } from "./harness.js";

const [, target] = backends[0]!;

/** Starts programs that share a database. */
function programs(kind: string) {
  const [database, journal] = [target(), join(folder(), "effects.log")];
  const start = (name: string, command: string, env = {}) =>
    new Child("programs.mjs", [database, journal, kind, name, command], env);
  return {
    start,
    effects: () => readFileSync(journal, "utf8").trim().split("\n"),
    recovered: async (name: string) => (await start(name, "recover").end()) as RecoveredRun[],
  };
}

describe("two programs share a database", () => {
  it.each([
    ["program", [{ outcome: "skipped", why: "other program", program: "billing" }]],
    ["nameless", [{ outcome: "skipped", why: "other program", program: null }]],
    // The store lists the runs of graphs with the own name only.
    ["named", []],
  ])("%s: the start of one runs nothing of the other, which was killed", { timeout: 60_000 }, async (kind, report) => {
    const { start, effects, recovered } = programs(kind);
    const billing = start("billing", "start", { STOP: "1" });
    const { runId } = await billing.until(({ event }) => event === "run");
    await billing.until(({ event }) => event === "stopped");
    expect(await billing.kill()).toBe("SIGKILL");
    const before = ["billing draft", "billing charge"];
    expect(effects()).toEqual(before);

    expect(await recovered("support")).toMatchObject(report.map((one) => ({ runId, ...one })));
    expect(effects()).toEqual(before);
    const [own, ...others] = await recovered("billing");
    expect([own, others]).toMatchObject([{ runId, outcome: "finished" }, []]);
    expect(effects().slice(0, 3)).toEqual([...before, "billing charge"]);
    expect(await recovered("support")).toEqual([]);
  });

  it("a caller who names a run of another program gets an error", async () => {
    const database = target();
    const tools = new Tools();
    const graphs = ["billing", "support"].map((program) => {
      const store = open(database, { program });
      const graph = chain(external("one two"));
      return { store, graph: graph.compile({ checkpointStore: store, deps: tools.deps }) };
    });
    const runId = await crashedAfter(graphs[0]!.graph);
    const [named] = (await recover(graphs[1]!.graph, graphs[1]!.store, { runs: [runId] })).runs;
    expect(named).toMatchObject({ runId, outcome: "error", error: { code: "INVALID_ARGUMENT" } });
    expect(tools.calls).toEqual(["one"]);
    const unmarked = open(database);
    const graph = chain(external("one two"));
    const app = graph.compile({ checkpointStore: unmarked, deps: tools.deps });
    expect((await recover(app, unmarked)).runs).toMatchObject([{ runId, outcome: "skipped", program: "billing" }]);
  });

  it("a run that no one has marked is reported to a program with a name, and recovered when it is named", async () => {
    const database = target();
    const tools = new Tools();
    const [without, store] = [open(database), open(database, { program: "support" })];
    const [one, two] = [without, store].map((checkpointStore) =>
      chain(external("one two")).compile({
        checkpointStore,
        deps: tools.deps,
      }),
    );
    const runId = await crashedAfter(one!);
    const unknown = { runId, outcome: "skipped", why: "unknown origin", program: null };
    expect((await recover(two!, store!)).runs).toMatchObject([unknown]);
    expect(tools.calls).toEqual(["one"]);
    expect((await recover(two!, store!, { runs: [runId] })).runs).toMatchObject([{ runId, outcome: "finished" }]);
    expect(tools.calls).toEqual(["one", "two"]);
  });

  it("refuses a program without a name", () => {
    expect(() => new CheckpointStore("memory:", { program: "" })).toThrow('option "program" is empty');
    expect(() => new CheckpointStore("memory:", { program: 1 as never })).toThrow('option "program" must be a string');
  });
});

it(
  "a run of a living process is not run again, and is recovered when the process has ended",
  { timeout: 60_000 },
  async () => {
    const { start, effects, recovered } = programs("program");
    const living = start("billing", "start", { STOP: "1" });
    await living.until(({ event }) => event === "stopped");
    const [run, ...others] = await recovered("billing");
    expect([run, others]).toMatchObject([{ outcome: "skipped", why: "at work", program: "billing" }, []]);
    expect(run).toMatchObject({ message: expect.stringContaining(`process ${living.pid} is still running`) });
    expect(effects()).toEqual(["billing draft", "billing charge"]);
    expect(await living.kill()).toBe("SIGKILL");
    expect(await recovered("billing")).toMatchObject([{ outcome: "finished" }]);
    expect(effects()).toEqual(["billing draft", "billing charge", "billing charge"]);
  },
);
