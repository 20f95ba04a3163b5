// Descriptions of programs in a store: written once, kept by every limit, copied, and no run.
import { createRequire } from "node:module";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ProgramShape, shapeHash } from "../../ts/store/compare-programs.js";
import { checkpoint, everyKind, place } from "../helpers.js";

// The modules of one build, because a handle of another build is not an instance of this build's class.
const load = createRequire(new URL("../../dist/index.js", import.meta.url));
const { CheckpointStore, copyStore, openStore } = load("./index.js") as typeof import("forkpoint");
const { openInspector } = load("./inspect/index.js") as typeof import("forkpoint/inspect");
const { StoreHandle } = load("./inner/store/handle.js") as typeof import("../../ts/store/handle.js");
const programs = load("./inner/store/stored-programs.js") as typeof import("../../ts/store/stored-programs.js");
const ends = load("./inner/store/ended-runs.js") as typeof import("../../ts/store/ended-runs.js");

const shape = (version: string): ProgramShape => ({ version, nodes: [{ name: "a" }], edges: [{ from: "s", to: "a" }] });

type Opened = Awaited<ReturnType<typeof openStore>>;

const handleOf = (store: Opened) => new StoreHandle(store, undefined, { name: "agentos" });

describe.each(everyKind)("%s", (kind) => {
  async function open(options = {}): Promise<Opened> {
    const store = await openStore(place(kind), options);
    onTestFinished(() => store.close());
    return store;
  }

  it("writes a description once, and finds it by its hash", async () => {
    const store = await open();
    const [one, other] = [handleOf(store), handleOf(store)];
    const [first, second] = [shape("1"), shape("2")];
    // Two processes that start together describe the same program.
    await Promise.all([one, other].map((handle) => programs.describeProgram(handle, "agentos", first)));
    await programs.describeProgram(one, "agentos", second);
    const { checkpoints } = await store.stats();
    await Promise.all([one, other].map((handle) => programs.describeProgram(handle, "agentos", second)));
    expect((await store.stats()).checkpoints).toBe(checkpoints);
    expect(checkpoints).toBe(2);
    expect(await programs.programOf(other, "agentos", shapeHash(first))).toEqual(first);
    expect(await programs.programOf(other, "agentos", "unknown")).toBeNull();
    expect(await programs.programOf(other, "langgraph", shapeHash(first))).toBeNull();
    const listed = await programs.programsOf(other, "agentos");
    expect(listed.map(({ id, shape: { version } }) => [id, version])).toEqual([
      [shapeHash(first), "1"],
      [shapeHash(second), "2"],
    ]);
  });

  it("no limit removes a description, and it is no run", async () => {
    const store = await open({ keepLastN: 1, ttlMs: 1 });
    const handle = handleOf(store);
    const shapes = ["1", "2", "3"].map(shape);
    for (const each of shapes) await programs.describeProgram(handle, "agentos", each);
    await new CheckpointStore(store).save(checkpoint({ id: "one", runId: "run" }));
    await store.prune({ olderThan: Date.now() + 60_000, keepLastN: 1, maxBytes: 1 });
    expect(await programs.programsOf(handle, "agentos")).toHaveLength(3);
    expect(await store.check()).toMatchObject({ ok: true, findings: [] });
    // A store without limits: the background may remove an expired run at any time.
    const another = await open();
    for (const each of shapes) await programs.describeProgram(handleOf(another), "agentos", each);
    await new CheckpointStore(another).save(checkpoint({ id: "two", runId: "run" }));
    const inspector = await openInspector(another);
    expect((await inspector.runs({ allNs: true, sort: "size" })).items.map(({ run }) => run)).toEqual(["run"]);
    expect((await inspector.runs({ allNs: true })).items.map(({ run }) => run)).toEqual(["run"]);
    expect((await new CheckpointStore(another).runs()).runs).toHaveLength(1);
    expect(await another.check()).toMatchObject({ ok: true, findings: [] });
  });

  it("a copy has the programs, and what they have said of runs", async () => {
    const [source, whole, one] = [await open(), await open(), await open()];
    const handle = handleOf(source);
    await programs.describeProgram(handle, "agentos", shape("1"));
    const saved = new CheckpointStore(source);
    for (const runId of ["run-1", "run-2"]) await saved.save(checkpoint({ id: `id of ${runId}`, runId }));
    const lease = await source.lease({ space: "agentos", run: "run-1" });
    const ended = { space: "agentos", run: "run-1" };
    await handle.run(({ native }) => ends.endRun(native, ended, { at: "id of run-1" }), lease as never);
    await lease.release();
    await copyStore(source, whole);
    const chosen = { runs: [{ space: "agentos", run: "run-1" }] };
    const result = await copyStore(source, one, chosen);
    expect(await copyStore(source, one, chosen)).toEqual(result);
    for (const store of [source, whole, one]) {
      const there = handleOf(store);
      expect(await programs.programOf(there, "agentos", shapeHash(shape("1")))).toEqual(shape("1"));
      const endOf = async (run: string, newest: string) => {
        const at = { newest, status: "unfinished" };
        return (await there.run(({ native }) => ends.endOf(native, { space: "agentos", run }, at))).ended;
      };
      expect(await endOf("run-1", "id of run-1")).toEqual({ at: "id of run-1" });
      expect(await endOf("run-1", "a later checkpoint")).toBeNull();
      expect(await endOf("run-2", "id of run-2")).toBeNull();
      expect(await store.check()).toMatchObject({ ok: true, findings: [] });
    }
    expect((await new CheckpointStore(one).runs()).runs.map(({ runId }) => runId)).toEqual(["run-1"]);
  });

  it("only the holder of the lease ends a run", async () => {
    const store = await open();
    const of = { space: "agentos", run: "run" };
    const lease = await store.lease(of);
    await lease.release();
    const lost = handleOf(store).run(({ native }) => ends.endRun(native, of, { at: "id" }), lease as never);
    await expect(lost).rejects.toMatchObject({ code: "CONFLICT" });
    const at = { newest: "id", status: "unfinished" };
    const found = await handleOf(store).run(({ native }) => ends.endOf(native, of, at));
    expect(found).toEqual({ entry: null, ended: null });
  });
});
