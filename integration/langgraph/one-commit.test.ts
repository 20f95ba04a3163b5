// A step of a graph is one commit: the writes of its tasks are stored together with the checkpoint that is made from
// them. Writes without a checkpoint are stored when the event loop turns.
import { Command, MemorySaver, interrupt } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { listen } from "../../__test__/listening.js";
import { Log, kinds, open, place, rejection, saver, says, sequence, sideBySide, thread, until } from "./helpers.js";

const NODES = { a: says("a"), b: says("b"), c: says("c"), d: says("d") };
const INPUT = { log: ["in"] };

/** The saves of a run, by the names of their calls. */
const operations = (saves: { operation: string }[]) => saves.map(({ operation }) => operation);

describe.each(kinds)("on %s", (kind) => {
  it.each(["sync", "async"] as const)("each step of a run is one save, with durability %s", async (durability) => {
    const listening = listen();
    const checkpointer = saver(kind);
    const graph = sequence(Log, NODES).compile({ checkpointer });
    const state = await graph.invoke(INPUT, { ...thread(), durability });
    expect(operations(listening.ended("save"))).toEqual(["put", "put", "put", "put", "put", "put"]);
    const reference = sequence(Log, NODES).compile({ checkpointer: new MemorySaver() });
    expect(state).toEqual(await reference.invoke(INPUT, thread()));
    expect(await checkpointer.check()).toMatchObject({ ok: true, findings: [] });
  });

  it("tasks side by side are one save", async () => {
    const listening = listen();
    const graph = sideBySide(Log, NODES).compile({ checkpointer: saver(kind) });
    await graph.invoke(INPUT, { ...thread(), durability: "sync" });
    expect(operations(listening.ended("save"))).toEqual(["put", "put", "put"]);
  });

  it("the result of a task is stored while another task of the step still works", async () => {
    const target = kind === "memory" ? saver(kind) : place(kind);
    const own = typeof target === "string" ? open(target) : target;
    const other = typeof target === "string" ? open(target) : target;
    let end!: () => void;
    const ends = new Promise<void>((resolve) => (end = resolve));
    const slow = () => ends.then(() => ({ log: ["slow"] }));
    const graph = sideBySide(Log, { quick: says("quick"), slow }).compile({ checkpointer: own });
    const run = graph.invoke(INPUT, { ...thread(), durability: "sync" });
    const stored = async () => (await other.getTuple(thread()))?.pendingWrites ?? [];
    await until(async () =>
      (await stored()).some(([, channel, value]) => channel === "log" && String(value) === "quick"),
    );
    end();
    expect((await run).log).toContain("slow");
  });

  it("a read sees the writes of a task before their checkpoint comes", async () => {
    const checkpointer = saver(kind);
    const seen: unknown[] = [];
    const putWrites = checkpointer.putWrites.bind(checkpointer);
    checkpointer.putWrites = (config, ...rest) => {
      const stored = putWrites(config, ...rest);
      const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable!;
      const read = checkpointer.getTuple({ configurable: { thread_id, checkpoint_ns, checkpoint_id } });
      return Promise.all([stored, read]).then(([, tuple]) => void seen.push(...tuple!.pendingWrites!));
    };
    const graph = sequence(Log, NODES).compile({ checkpointer });
    await graph.invoke(INPUT, { ...thread(), durability: "sync" });
    const values = (seen as [string, string, unknown][]).filter(([, channel]) => channel === "log");
    expect(values.map(([, , value]) => String(value))).toEqual(["in", "a", "b", "c", "d"]);
  });

  it.each(["sync", "async"] as const)("writes beside a question and an error are kept, with %s", async (durability) => {
    const checkpointer = saver(kind);
    let runs = 0;
    let broken = true;
    const paid = () => {
      runs += 1;
      return { log: ["paid"] };
    };
    const ask = () => ({ log: [String(interrupt("sure?"))] });
    const fails = () => {
      if (broken) throw new Error("broken");
      return { log: ["mended"] };
    };
    const graph = sideBySide(Log, { paid, ask, fails }).compile({ checkpointer });
    const config = { ...thread(), durability };
    await rejection(graph.invoke(INPUT, config));
    broken = false;
    await graph.invoke(null, config);
    const { log } = await graph.invoke(new Command({ resume: "yes" }), config);
    expect(log.toSorted()).toEqual(["in", "mended", "paid", "yes"]);
    expect(runs).toBe(1);
    expect(await checkpointer.check()).toMatchObject({ ok: true, findings: [] });
  });

  it("a checkpoint that is refused leaves the writes of its tasks", async () => {
    const target = kind === "memory" ? saver(kind) : place(kind);
    const own = typeof target === "string" ? open(target) : target;
    const other = typeof target === "string" ? open(target) : own;
    const overtake = async () => {
      const beside = sequence(Log, NODES).compile({ checkpointer: other });
      await beside.updateState(thread(), { log: ["beside"] });
      return { log: ["late"] };
    };
    const graph = sequence(Log, { a: says("a"), overtake }).compile({ checkpointer: own });
    expect((await rejection(graph.invoke(INPUT, { ...thread(), durability: "sync" }))).code).toBe("CONFLICT");
    const found = await other.getTuple(thread());
    const before = await other.getTuple(found!.parentConfig!);
    expect(before!.pendingWrites!.map(([, channel, value]) => [channel, String(value)])).toContainEqual([
      "log",
      "late",
    ]);
    expect((await sequence(Log, NODES).compile({ checkpointer: other }).getState(thread())).values.log).toEqual([
      "in",
      "a",
      "beside",
    ]);
  });
});

describe.each(kinds.filter((kind) => kind !== "memory"))("without I/O, on %s", (kind) => {
  const busy = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`n${at}`, says(`n${at}`)]));

  it("checkpoints do not wait for each other, and all are stored in their order", async () => {
    const listening = listen();
    const target = place(kind);
    const checkpointer = open(target);
    const graph = sequence(Log, busy).compile({ checkpointer });
    await graph.invoke(INPUT, { ...thread(), durability: "async", recursionLimit: 100 });
    let [now, most] = [0, 0];
    for (const { kind: heard, event } of listening.heard) {
      if (heard !== "save") continue;
      if (event === "start") now += 1;
      if (event === "asyncEnd") now -= 1;
      most = Math.max(most, now);
    }
    expect(most).toBeGreaterThan(1);
    const again = open(target);
    const steps = [];
    for await (const { metadata, parentConfig } of again.list(thread())) {
      steps.unshift([metadata!.step, parentConfig !== undefined]);
    }
    expect(steps).toEqual(Array.from({ length: 52 }, (_, at) => [at - 1, at > 0]));
    expect(await again.check()).toMatchObject({ ok: true, findings: [] });
  });

  it("nothing is stored behind a checkpoint that fails", async () => {
    const target = place(kind);
    const toJSON = () => {
      throw new Error("cannot be stored");
    };
    const bad = () => ({ log: [{ toJSON } as unknown as string] });
    const graph = sequence(Log, { ...busy, bad, after: says("after") }).compile({ checkpointer: open(target) });
    const error = await rejection(graph.invoke(INPUT, { ...thread(), durability: "async", recursionLimit: 100 }));
    expect(error.message).toContain("cannot be stored");
    const again = open(target);
    // LangGraph rejects at once, and hands over the other checkpoints meanwhile.
    const last = async () => (await sequence(Log, busy).compile({ checkpointer: again }).getState(thread())).values.log;
    await until(async () => (await last()).at(-1) === "n49");
    expect(await again.check()).toMatchObject({ ok: true, findings: [] });
  });
});
