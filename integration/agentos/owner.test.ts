// A run belongs to the program that made it. Another program's save is refused, unless it takes the run over.
import { type Checkpoint, CheckpointStore, type CheckpointStoreOptions } from "forkpoint";
import { withEffects } from "forkpoint/agentos";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Child } from "./children.js";
import { Tools, backends, chain, crashedAfter, external, folder, open, refundNodes, graphOf } from "./harness.js";

const refused = (runId: string) => ({
  code: "CONFLICT",
  message:
    `run "${runId}" belongs to the program "billing", and this is "support": nothing was stored. Continue it with "billing". To take ` +
    'it over, create the store with program: { name: "support", force: true }: it then belongs to "support"',
});

const copyOf = (checkpoint: Checkpoint, id: string): Checkpoint => ({ ...checkpoint, id });

async function failureOf(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  return promise.then(
    () => expect.fail("it was not refused"),
    (error: Error) => error,
  );
}

describe.each(backends.filter(([name]) => name !== "memory"))("%s", (_backend, target) => {
  /** The graph of a program over a store, and the calls of its tools. */
  function program(database: string, options: CheckpointStoreOptions, names = "one two") {
    const store = open(database, options);
    const tools = new Tools();
    return { store, tools, graph: chain(external(names)).compile({ checkpointStore: store, deps: tools.deps }) };
  }

  it("a save of another program is refused: as the first one, after a read, and after one that was stored", async () => {
    const database = target();
    const billing = program(database, { program: "billing" });
    const runId = await crashedAfter(billing.graph);
    const newest = (await billing.store.latest(runId))!;
    const read = open(database, { program: "support" });
    await read.latest(runId);
    const stores = [open(database, { program: "support" }), read];
    for (const store of stores) {
      for (let time = 0; time < 2; time++)
        expect(await failureOf(store.save(copyOf(newest, `other-${time}`)))).toMatchObject(refused(runId));
    }
    expect((await billing.store.listByRun(runId)).length).toBe(1);
    // Another run of the same store is not concerned, and neither is its own program.
    await stores[0]!.save({ ...newest, id: "own", runId: "own" });
    await billing.store.save(copyOf(newest, "own-2"));
  });

  it("a graph of another program that resumes a run gets the error at its first save", async () => {
    const database = target();
    const billing = program(database, { program: "billing" });
    const runId = await crashedAfter(billing.graph);
    const store = open(database, { program: "support" });
    const gate = graphOf(refundNodes(), ["START approve route refund END", "route decline END"]);
    const other = gate.compile({ checkpointStore: store, deps: new Tools().deps });
    expect(await failureOf(other.resume(runId))).toMatchObject(refused(runId));
    // With withEffects, no node runs at all.
    const tools = new Tools();
    const graph = chain(external("one two")).compile({ checkpointStore: store, deps: tools.deps });
    expect(await failureOf(withEffects(graph, store).resume(runId))).toMatchObject(refused(runId));
    expect(tools.calls).toEqual([]);
    expect((await billing.store.listByRun(runId)).length).toBe(1);
  });

  it("takes a run over with force, and the first program's next save is refused", { timeout: 60_000 }, async () => {
    const [database, journal] = [target(), join(folder(), "effects.log")];
    const child = new Child("programs.mjs", [database, journal, "program", "billing", "start"], { STOP: "1" });
    const { runId } = (await child.until(({ event }) => event === "run")) as unknown as { runId: string };
    await child.until(({ event }) => event === "stopped");
    const support = open(database, { program: { name: "support", force: true } });
    const newest = (await support.latest(runId))!;
    await support.save(copyOf(newest, "taken"));
    child.goOn();
    const failed = await child.until(({ event }) => event === "failed");
    expect(failed).toMatchObject({ code: "CONFLICT" });
    expect(failed["message"]).toContain(`run "${runId}" belongs to the program "support", and this is "billing"`);
    await child.end();
    expect((await support.latest(runId))!.id).toBe("taken");
    expect((await support.listByRun(runId)).map(({ id }) => id)).toHaveLength(2);
    // It is no longer another program's run.
    await open(database, { program: "support" }).save(copyOf(newest, "more"));
  });

  it("saves that were called together keep their order, whatever is read between them", async () => {
    const database = target();
    const [one, two] = [open(database, { program: "billing" }), open(database, { program: "billing" })];
    const first = program(database, { program: "billing" });
    const newest = (await first.store.latest(await crashedAfter(first.graph)))!;
    const save = (store: CheckpointStore, id: string) => store.save({ ...newest, runId: "r", id });
    await Promise.all(["1", "2", "3"].map((id) => save(one, id)));
    await save(two, "4");
    // The last save of `one` is not the newest any more, but it is the same program's.
    const unserializable = one.save({ ...newest, runId: "r", id: "x", state: { bad: Promise.resolve() } as never });
    const all = [save(one, "5"), save(one, "6"), save(one, "7")];
    expect(await failureOf(unserializable)).toMatchObject({ code: "INVALID_ARGUMENT" });
    await Promise.all(all);
    await save(one, "7");
    expect((await two.listByRun("r")).map(({ id }) => id)).toEqual(["7", "6", "5", "4", "3", "2", "1"]);
    await one.clear("r");
    await save(one, "8");
    expect((await two.listByRun("r")).map(({ id }) => id)).toEqual(["8"]);
  });

  it("a program without a name, and the name of a workflow", async () => {
    const database = target();
    const nameless = program(database, {});
    const runId = await crashedAfter(nameless.graph);
    const newest = (await nameless.store.latest(runId))!;
    const store = open(database, { program: "support" });
    await store.save(copyOf(newest, "named"));
    await nameless.store.save(copyOf(newest, "nameless"));
    await store.save({ ...newest, id: "flow", runId: "flow", graphId: "graph-trip-1" });
    await open(database).save({ ...newest, id: "trip", runId: "trip", graphId: "graph-trip-1" });
    const error = await failureOf(store.save({ ...newest, id: "trip-2", runId: "trip" }));
    expect(error.message).toContain('run "trip" belongs to the program "trip", and this is "support"');
  });
});
