// Rules about age leave a thread that waits for an answer: with its subgraphs, their memory and its effects.
import { setTimeout as sleep } from "node:timers/promises";
import { Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import { type Store } from "forkpoint";
import { effects } from "forkpoint/effects";
import { openInspector } from "forkpoint/inspect";
import { ForkpointSaver, type SaverPruneResult } from "forkpoint/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { DAY, LONG_AGO, at } from "../../__test__/at-time.js";
import { expectSound } from "../../__test__/helpers.js";
import { Log, all, kinds, open, openShared, place, says, sequence, sharedKinds, thread } from "./helpers.js";

/** A graph whose subgraph pays and asks. A subgraph with its own memory has worked before. */
function asking(saver: ForkpointSaver) {
  const once = effects(saver);
  const ran: string[] = [];
  const pay = async (_: unknown, config: Parameters<typeof once>[0]) => {
    await once(config, "charge", () => void ran.push("charge"));
    const answer: string = interrupt("ship it?");
    ran.push(answer);
    return { log: [answer] };
  };
  const remembers = sequence(Log, { note: says("noted") }).compile({ checkpointer: true });
  const inner = new StateGraph(Log)
    .addNode("pay", pay as never)
    .addEdge(START, "pay")
    .compile();
  const graph = sequence(Log, { remembers, inner, after: says("after") } as never).compile({ checkpointer: saver });
  return { graph, ran };
}

const isLeft = async (saver: ForkpointSaver, id: string) => (await saver.getTuple(thread(id))) !== undefined;

/** The number of the thread's namespaces. */
async function namespaces(saver: ForkpointSaver, id: string): Promise<number> {
  const found = await all(saver.list(thread(id)));
  return new Set(found.map(({ config }) => config.configurable!["checkpoint_ns"])).size;
}

describe.each(kinds)("%s", (kind) => {
  async function setUp() {
    const store = await openShared(place(kind));
    const saver = new ForkpointSaver(store);
    onTestFinished(() => saver.close());
    return { store, saver };
  }

  const prunes: Array<[string, (store: Store, saver: ForkpointSaver) => Promise<unknown>]> = [
    ["prune() of an open store", (store) => store.prune({ olderThan: Date.now() })],
    ["prune() of the thread", (_, saver) => saver.prune(["waits"], { olderThan: Date.now() })],
  ];

  it.each(prunes)("%s leaves it, and takes it after the answer", async (_, prune) => {
    const { store, saver } = await setUp();
    const { graph, ran } = asking(saver);
    await at(LONG_AGO, () => graph.invoke({ log: ["in"] }, thread("waits")));
    expect(ran).toEqual(["charge"]);
    const before = (await graph.getState(thread("waits"), { subgraphs: true })).tasks;
    const spaces = await namespaces(saver, "waits");
    expect(spaces).toBe(3);
    await prune(store, saver);
    expect(await namespaces(saver, "waits")).toBe(spaces);
    expect((await graph.getState(thread("waits"), { subgraphs: true })).tasks).toEqual(before);
    expect((await saver.listThreads({ status: "waiting" })).threads).toHaveLength(1);
    // The answer comes long ago, too: the effect is there, so that nothing is paid twice.
    const { log } = await at(LONG_AGO + DAY, () => graph.invoke(new Command({ resume: "yes" }), thread("waits")));
    expect(log).toContain("yes");
    expect(ran).toEqual(["charge", "yes"]);
    await prune(store, saver);
    expect(await isLeft(saver, "waits")).toBe(false);
    await store.prune({ olderThan: Date.now() });
    expect(await all(saver.list({}))).toEqual([]);
    expect((await store.stats()).checkpoints).toBe(0);
    await expectSound(store);
  });

  it("an answer that nobody has used yet ends the wait", async () => {
    const { store, saver } = await setUp();
    const { graph } = asking(saver);
    await at(LONG_AGO, async () => {
      await graph.invoke({ log: ["in"] }, thread("waits"));
      const inspector = await openInspector(store, { write: true });
      await inspector.answer({ space: "langgraph", run: "waits" }, { value: "yes", by: "Ana" });
      await inspector.close();
    });
    await store.prune({ olderThan: Date.now() });
    expect((await store.stats()).checkpoints).toBe(0);
  });

  it("a question of a subgraph that its graph has left behind keeps nothing", async () => {
    const { store, saver } = await setUp();
    const { graph } = asking(saver);
    await at(LONG_AGO, async () => {
      await graph.invoke({ log: ["in"] }, thread("waits"));
      await graph.updateState(thread("waits"), { log: ["by hand"] }, "after");
    });
    await store.prune({ olderThan: Date.now() });
    expect((await store.stats()).checkpoints).toBe(0);
  });

  it("prune({ waiting: true }) takes it", async () => {
    const { store, saver } = await setUp();
    const { graph } = asking(saver);
    for (const id of ["one", "two", "three"]) await at(LONG_AGO, () => graph.invoke({ log: ["in"] }, thread(id)));
    const olderThan = Date.now();
    const { removed }: SaverPruneResult = await saver.prune(["one"], { olderThan, waiting: true });
    expect(removed).toBeGreaterThan(3);
    expect([await isLeft(saver, "one"), await isLeft(saver, "two")]).toEqual([false, true]);
    const planned = await store.prune({ olderThan, waiting: true, dryRun: true });
    expect(await store.prune({ olderThan: LONG_AGO - DAY, waiting: true })).toMatchObject({ removed: 0 });
    expect(await store.prune({ olderThan, waiting: true })).toMatchObject({ removed: planned.removed });
    expect((await store.stats()).checkpoints).toBe(0);
  });

  it("number and size leave the newest checkpoint, so that it can be answered", async () => {
    const { store, saver } = await setUp();
    const { graph, ran } = asking(saver);
    await graph.invoke({ log: ["in"] }, thread("waits"));
    await store.prune({ keepLastN: 1 });
    await store.prune({ maxBytes: 1 });
    await graph.invoke(new Command({ resume: "yes" }), thread("waits"));
    expect(ran).toEqual(["charge", "yes"]);
  });
});

// Another store has the limits: they would take what these runs save long ago while they work.
describe.each(sharedKinds)("the limits of a store over %s", (kind) => {
  it("leave it until waitingTtlMs has passed", async () => {
    const target = place(kind);
    const saver = open(target);
    const [now, waitingTtlMs] = [Date.now(), 60 * DAY];
    const { graph } = asking(saver);
    const chain = sequence(Log, { one: says("one") }).compile({ checkpointer: saver });
    await at(now - waitingTtlMs - DAY, () => graph.invoke({ log: ["in"] }, thread("too long")));
    await at(now - waitingTtlMs + DAY, () => graph.invoke({ log: ["in"] }, thread("waits")));
    // What is saved after them goes last.
    await at(now - waitingTtlMs + DAY, () => chain.invoke({ log: ["in"] }, thread("done")));
    const limited = await openShared(target, { ttlMs: DAY, waitingTtlMs, pruneShare: 1 });
    const sweeping = new ForkpointSaver(limited);
    for (let turn = 0; (await isLeft(saver, "done")) || (await isLeft(saver, "too long")); turn++) {
      await sequence(Log, { one: says("one") })
        .compile({ checkpointer: sweeping })
        .invoke({ log: [] }, thread(`turn ${turn}`));
      await sleep(200);
    }
    expect(await namespaces(saver, "waits")).toBe(3);
    expect((await graph.getState(thread("waits"))).tasks[0]!.interrupts).toHaveLength(1);
    // An explicit prune goes by the same time.
    await limited.prune();
    expect(await namespaces(saver, "waits")).toBe(3);
    await limited.prune({ olderThan: Date.now(), waiting: false });
    expect(await namespaces(saver, "waits")).toBe(3);
    await limited.prune({ waiting: true });
    expect(await isLeft(saver, "waits")).toBe(false);
  });
});
