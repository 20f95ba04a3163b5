// The inspector on LangGraph's threads: statuses, channels, what is next, writes, branches, and forks that a graph goes on from.
import { Annotation, Command, interrupt } from "@langchain/langgraph";
import { type Store, copyStore } from "forkpoint";
import { type Inspector, openInspector } from "forkpoint/inspect";
import { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { Log, checkpoint, kinds, metadata, place, rejection, says, sequence, thread, openShared } from "./helpers.js";

describe.each(kinds)("on %s", (kind) => {
  async function opened(): Promise<{ checkpointer: ForkpointSaver; inspector: Inspector; store: Store }> {
    const store = await openShared(place(kind));
    return { checkpointer: new ForkpointSaver(store), inspector: await openInspector(store, { write: true }), store };
  }

  const ref = { space: "langgraph", run: "thread", ns: "" };

  it("the status is that of the saver, and the nodes that are next are those of the graph", async () => {
    const { checkpointer, inspector } = await opened();
    let fails = true;
    const app = sequence(Log, {
      first: says("first"),
      asks: () => ({ log: [interrupt<string, string>("go on?")] }),
      fails: () => {
        if (fails) throw new Error("no network");
        return { log: ["done"] };
      },
    }).compile({ checkpointer });
    const shown = async () => (await inspector.run(ref, { withWhy: true }))!;
    await app.invoke({ log: [] }, thread());
    expect(await shown()).toMatchObject({ status: "waiting", statusWhy: "it asks a question" });
    const asking = (await inspector.checkpoint(ref))!;
    expect(asking.next).toEqual(["asks"]);
    expect(asking.writes).toMatchObject([{ channel: "__interrupt__", owner: null }]);
    // LangGraph 1.7 stores a list of questions, and older versions store one.
    expect([asking.writes[0]!.value].flat()).toMatchObject([{ value: "go on?" }]);
    expect(asking.state).toMatchObject({ log: ["first"] });
    await rejection(app.invoke(new Command({ resume: "yes" }), thread()));
    expect(await shown()).toMatchObject({ status: "failed" });
    fails = false;
    await app.invoke(null, thread());
    expect(await shown()).toMatchObject({ status: "finished", statusWhy: null, checkpoints: 5 });
    expect((await inspector.checkpoint(ref))!.next).toEqual([]);
    const history = [];
    for await (const snapshot of app.getStateHistory(thread())) history.push(snapshot);
    const listed = (await inspector.checkpoints(ref, { order: "desc" })).items;
    expect(listed.map(({ id }) => id)).toEqual(history.map(({ config }) => config.configurable!["checkpoint_id"]));
    expect(listed.map(({ label }) => label)).toEqual(history.map(({ metadata }) => metadata!.source));
    expect(listed.map(({ parent }) => parent && { ...parent, kind: parent.kind })).toEqual(
      listed.map((_, at) =>
        listed[at + 1] === undefined ? null : { ...ref, id: listed[at + 1]!.id, kind: "recorded" },
      ),
    );
    for (const [at, { id }] of listed.entries()) {
      const { next, state } = (await inspector.checkpoint({ ...ref, id }))!;
      expect(next).toEqual(history[at]!.next);
      expect((state as { log?: string[] }).log ?? []).toEqual(history[at]!.values.log ?? []);
    }
  });

  it("a fork is a branch from which the graph goes on with the other value", async () => {
    const { checkpointer, inspector } = await opened();
    const Numbers = Annotation.Root({ n: Annotation<number>, text: Annotation<string> });
    const app = sequence(Numbers, { double: ({ n }) => ({ n: n * 2 }), add: ({ n }) => ({ n: n + 1 }) }).compile({
      checkpointer,
    });
    expect(await app.invoke({ n: 5, text: "kept" }, thread())).toMatchObject({ n: 11 });
    const listed = (await inspector.checkpoints(ref)).items;
    const source = listed.at(-2)!;
    const before = await inspector.checkpoint({ ...ref, id: source.id });
    const branch = await inspector.fork({ ...ref, id: source.id }, { set: [["n", 100]] });
    expect(branch).toMatchObject(ref);
    expect(branch.id > source.id).toBe(true);
    expect(await inspector.checkpoint({ ...ref, id: source.id })).toEqual(before);
    const forked = (await inspector.checkpoint({ ...ref, id: branch.id }))!;
    expect(forked.checkpoint).toMatchObject({ label: "fork", parent: { id: source.id, kind: "recorded" } });
    expect(forked.state).toMatchObject({ n: 100, text: "kept" });
    expect(forked.next).toEqual(["add"]);
    const config = thread("thread", { checkpoint_id: branch.id });
    expect((await app.getState(config)).metadata).toMatchObject({ source: "fork", step: 2 });
    expect(await app.invoke(null, config)).toMatchObject({ n: 101, text: "kept" });
    expect((await app.getState(thread("thread", { checkpoint_id: listed.at(-1)!.id }))).values).toMatchObject({
      n: 11,
    });

    const elsewhere = await inspector.fork({ ...ref, id: source.id }, { patch: { n: 7 }, as: "another thread" });
    expect(elsewhere).toMatchObject({ run: "another thread" });
    expect(await app.invoke(null, thread("another thread"))).toMatchObject({ n: 8, text: "kept" });
    expect((await inspector.run(ref))!.checkpoints).toBe(listed.length + 2);
    const same = await inspector.fork({ ...ref, id: source.id });
    expect((await inspector.diff({ ...ref, id: source.id }, same, { parts: ["state"] })).changes).toEqual([]);

    const refused = async (edit: object) => rejection(inspector.fork({ ...ref, id: source.id }, edit));
    expect(await refused({ set: [["n", { $type: "BigInt", value: "1" }]] })).toMatchObject({ code: "UNSUPPORTED" });
    expect(await refused({ state: [1] })).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await refused({ as: "another thread" })).toMatchObject({ code: "CONFLICT" });
  });

  it("subgraphs are namespaces, and removing a thread removes them", async () => {
    const { checkpointer, inspector } = await opened();
    const sub = sequence(Log, { inner: () => ({ log: [interrupt<string, string>("inner?")] }) }).compile();
    const app = sequence(Log, { sub }).compile({ checkpointer });
    await app.invoke({ log: [] }, thread());
    await app.invoke({ log: [] }, thread("thread 2"));
    const main = (await inspector.runs()).items;
    expect(main.map(({ run, ns }) => [run, ns])).toEqual([
      ["thread 2", ""],
      ["thread", ""],
    ]);
    const all = (await inspector.runs({ allNs: true, match: "thread", withWhy: true })).items;
    expect(all.filter(({ ns }) => ns!.startsWith("sub:"))).toHaveLength(2);
    expect(all.every(({ status }) => status === "waiting")).toBe(true);
    const inner = all.find(({ run, ns }) => run === "thread" && ns !== "")!;
    expect((await inspector.runs({ ns: inner.ns! })).items).toHaveLength(1);
    expect((await inspector.checkpoint(inner))!.next).toEqual(["inner"]);
    const total = all.filter(({ run }) => run === "thread").reduce((sum, { checkpoints }) => sum + checkpoints, 0);
    expect(await inspector.remove(ref)).toEqual({ removed: total });
    expect((await inspector.runs({ allNs: true })).items.map(({ run }) => run)).toEqual(["thread 2", "thread 2"]);
  });

  it("a copy of the thread holds the paths of tasks exactly", async () => {
    const { checkpointer, store } = await opened();
    const config = await checkpointer.put(thread(), checkpoint(), metadata(), {});
    // The path is in a slot with the lowest number of 64 bits. Only the newest LangGraph gives a path by itself.
    const [path, task] = ["~__pregel_pull, asks", "task"];
    await checkpointer.putWrites(config, [["log", "written"]], task, path);
    const other = await opened();
    const result = await copyStore(store, other.store, { runs: [ref] });
    expect(result).toMatchObject({ lineages: 1, checkpoints: 1, writes: 2 });
    expect(await copyStore(store, other.store, { runs: [ref] })).toEqual(result);
    expect((await other.checkpointer.getTuple(config))!.pendingWrites).toEqual([[task, "log", "written"]]);
  });

  it("the newest checkpoint is removed, and the writes of the one before are pending again", async () => {
    const { checkpointer, inspector } = await opened();
    const app = sequence(Log, { one: says("one"), two: says("two") }).compile({ checkpointer });
    await app.invoke({ log: [] }, thread());
    const listed = (await inspector.checkpoints(ref)).items;
    expect((await inspector.checkpoint({ ...ref, step: -2 }))!.writes[0]!.owner).toBe(listed.at(-1)!.id);
    expect(await inspector.remove(ref, [listed.at(-1)!.id])).toEqual({ removed: 1 });
    expect((await inspector.checkpoint(ref))!.writes[0]!.owner).toBeNull();
    expect(await app.invoke(null, thread())).toMatchObject({ log: ["one", "two"] });
  });
});
