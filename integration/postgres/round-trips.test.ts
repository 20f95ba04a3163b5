// Counts the round trips of saves and reads with a proxy between the store and the server.
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { ForkpointSaver, ForkpointStore } from "forkpoint/langgraph";
import { expect, it, onTestFinished } from "vitest";
import { behindProxy, onServer } from "./faults.js";

const thread = (thread_id: string) => ({ configurable: { thread_id, checkpoint_ns: "" } });

onServer("newest", (server) => {
  /** Opens a saver behind a proxy that adds `delayMs` to each round trip. */
  async function delayed(delayMs: number) {
    const { proxy, database, url } = await behindProxy(server(), { delayMs });
    const saver = new ForkpointSaver(url);
    onTestFinished(() => saver.close());
    /** Saves the next checkpoints of a thread, one after the other. */
    const save = async (threadId: string, from: number, count: number, into = saver) => {
      let config: object = thread(threadId);
      for (let n = from; n < from + count; n++) {
        const values = { channel_values: { n, text: `step ${n} `.repeat(50) }, channel_versions: { n, text: n } };
        const checkpoint = { ...emptyCheckpoint(), ...values, id: uuid6(n) };
        config = await into.put(config, checkpoint, { source: "loop", step: n, parents: {} }, { n, text: n });
      }
    };
    /** The round trips of this work. */
    const counted = async (work: () => Promise<unknown>) => {
      const before = proxy.counted.roundTrips;
      await work();
      return proxy.counted.roundTrips - before;
    };
    return { database, saver, save, counted };
  }

  it("writes take one, which looks for their checkpoint, also under a lease, and a deletion asks for the lease in one", async () => {
    const { saver, save, counted } = await delayed(0);
    await save("a", 0, 2);
    await save("b", 0, 1);
    const at = (await saver.getTuple(thread("a")))!.config;
    const write = (to: ForkpointSaver, task: string) => to.putWrites(at, [["n", task]], task);
    await write(saver, "first");
    expect(await counted(() => write(saver, "second"))).toBe(1);
    await using lease = await saver.lease({ space: "langgraph", run: "a" });
    const mine = saver.withLease(lease);
    expect(await counted(() => write(mine, "third"))).toBe(1);
    expect((await saver.getTuple(at))!.pendingWrites).toHaveLength(3);
    expect(await counted(() => saver.deleteThread("b"))).toBe(1);
    await expect(saver.deleteThread("a")).rejects.toMatchObject({ code: "CONFLICT" });
  });

  it("64 first saves of threads take a few, and so does the deletion of the threads", async () => {
    const { database, saver, save, counted } = await delayed(10);
    await save("other", 0, 1);
    const threads = Array.from({ length: 64 }, (_, n) => `thread ${n}`);
    expect(await counted(() => Promise.all(threads.map((id) => save(id, 0, 1))))).toBeLessThan(4);
    expect(await counted(() => Promise.all(threads.map((id) => saver.deleteThread(id))))).toBeLessThan(4);
    expect(await saver.getTuple(thread("thread 1"))).toBeUndefined();
    const left =
      "SELECT (SELECT count(*) FROM forkpoint.lineage)::int AS lineages, count(*)::int AS rows FROM forkpoint.payload";
    expect(await server().query(left, undefined, { database })).toEqual([{ lineages: 1, rows: 1 }]);
  });

  it("saves that wait for each other share theirs", async () => {
    const { save, counted } = await delayed(10);
    const threads = Array.from({ length: 64 }, (_, n) => `thread ${n}`);
    await Promise.all(threads.map((id) => save(id, 0, 1)));
    // 320 saves.
    expect(await counted(() => Promise.all(threads.map((id) => save(id, 1, 5))))).toBeLessThan(32);
  });

  it("a save with a lease takes one, also after the lease was renewed", async () => {
    const { saver, save, counted } = await delayed(0);
    const lease = await saver.lease({ space: "langgraph", run: "a" }, { ttlMs: 900 });
    const leased = saver.withLease(lease);
    const renewed = async () => {
      const { until } = lease;
      while (lease.until === until) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    await save("a", 0, 1, leased);
    await renewed();
    await save("a", 1, 1, leased);
    // A renewal, a look for requests, or a new connection may come in between, and takes a few.
    const trips: number[] = [];
    for (const n of [2, 22, 42]) trips.push(await counted(() => save("a", n, 20, leased)));
    expect(Math.min(...trips)).toBeLessThan(30);
    await lease.release();
    await expect(save("a", 62, 1, leased)).rejects.toMatchObject({ code: "CONFLICT" });
  });

  it("a prune asks for many checkpoints at once", async () => {
    const { saver, save, counted } = await delayed(0);
    for (const id of ["a", "b"]) await save(id, 0, 150);
    const removed = counted(async () => {
      expect(await saver.prune(["a", "b"], { keepLastN: 1 })).toMatchObject({ removed: 298 });
    });
    expect(await removed).toBeLessThan(60);
  });

  it("a list asks for many states at once", async () => {
    const { saver, save, counted } = await delayed(10);
    await save("a", 0, 100);
    const found: unknown[] = [];
    const list = counted(async () => {
      for await (const { checkpoint } of saver.list(thread("a"))) found.push(checkpoint.channel_values["n"]);
    });
    // The end of a read is sent by itself, and nobody waits for it.
    expect(await list).toBeLessThan(50);
    expect(found).toEqual(Array.from({ length: 100 }, (_, n) => 99 - n));
    // One state: the page of the list, and the state.
    const first = counted(async () => {
      for await (const { checkpoint } of saver.list(thread("a"))) {
        expect(checkpoint.channel_values["n"]).toBe(99);
        break;
      }
    });
    expect(await first).toBeLessThan(6);
  });

  it("a search takes two, and reads the values of the items that it finds only", async () => {
    const bytes = { received: 0 };
    const { proxy, url } = await behindProxy(server(), {
      onMessage: ({ from, bytes: { length } }) => void (bytes.received += from === "server" ? length : 0),
    });
    const store = new ForkpointStore(url);
    onTestFinished(() => store.close());
    // The engine reads small values in the metadata of an item, and the last one here in its payload.
    const text = "x".repeat(100_000);
    const value = (n: number) => (n === 1_999 ? { n, text } : { n });
    const put = (n: number) => ({ namespace: ["users", `${n % 100}`], key: `${n}`, value: value(n) });
    await store.batch(Array.from({ length: 2_000 }, (_, n) => put(n)));
    const keys = async (filter: object) => (await store.search(["users"], { filter, limit: 10 })).map(({ key }) => key);
    expect(await keys({ n: -1 })).toEqual([]);
    const { roundTrips } = proxy.counted;
    const { received } = bytes;
    expect(await keys({ n: { $gt: 1_995 } })).toEqual(["1996", "1997", "1998", "1999"]);
    // The end of a read is sent by itself, and nobody waits for it.
    expect(proxy.counted.roundTrips - roundTrips).toBeLessThan(4);
    expect(bytes.received - received).toBeGreaterThan(100_000);
    expect(bytes.received - received).toBeLessThan(400_000);
  });
});
