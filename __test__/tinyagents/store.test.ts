// Tests what a checkpointer has in common with the other stores: parallel calls, several stores on the same data,
// sharing, statistics, checking, vacuuming and closing.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CheckpointStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { checkpoint, failure, folder, kinds, place, rejection, thrown } from "../helpers.js";
import { type Kind, at, chain, everything, idsOf, make, pair, write } from "./helpers.js";
import { opened } from "../contents.js";

describe.each(kinds)("on %s", (kind: Kind) => {
  describe("parallel calls", () => {
    it("a write and a checkpoint put in one turn are both there", async () => {
      const store = make(kind);
      await Promise.all(
        Array.from({ length: 50 }, (_, n) => {
          const config = { threadId: "t", checkpointId: `c${n}` };
          const calls = [store.put({ ...config, state: n }), store.putWrites(config, [write({ payload: n })])];
          return Promise.all(n % 2 === 0 ? calls : calls.toReversed());
        }),
      );
      for (let n = 0; n < 50; n++) {
        expect(await store.getTuple({ threadId: "t", checkpointId: `c${n}` })).toMatchObject({
          checkpoint: { state: n },
          pendingWrites: [write({ payload: n })],
        });
      }
    });

    it("append-once writes of one slot from many callers: exactly one stays", async () => {
      const store = make(kind);
      await store.put({ threadId: "t", checkpointId: "a", state: 0 });
      const config = { threadId: "t", checkpointId: "a" };
      await Promise.all(Array.from({ length: 50 }, (_, n) => store.putWrites(config, [write({ payload: n })])));
      expect(await store.getWrites(config)).toEqual([write({ payload: 0 })]);
    });
  });

  describe("two stores on the same data", () => {
    it("write at once without losing anything, each in its order", async () => {
      const stores = await pair(kind);
      await Promise.all(
        stores.flatMap((store, of) =>
          Array.from({ length: 100 }, async (_, n) => {
            const config = { threadId: "t", checkpointId: `${of}-${n}` };
            await Promise.all([store.put({ ...config, state: n }), store.putWrites(config, [write({ payload: n })])]);
          }),
        ),
      );
      const listed = idsOf(await stores[0].list("t"));
      expect(listed).toHaveLength(200);
      for (const of of [0, 1]) {
        const expected = Array.from({ length: 100 }, (_, n) => `${of}-${n}`);
        expect(listed.filter((id) => id.startsWith(`${of}-`))).toEqual(expected);
      }
      for (const checkpointId of listed) {
        expect(await stores[1].getWrites({ threadId: "t", checkpointId })).toHaveLength(1);
      }
    });

    it("put the same id at once: both are stored, and both read the same one", async () => {
      const stores = await pair(kind);
      for (let n = 0; n < 20; n++) {
        const config = { threadId: "t", checkpointId: `c${n}` };
        await Promise.all(stores.map((store, of) => store.put({ ...config, state: of })));
        const [a, b] = await Promise.all(stores.map((store) => store.get("t", `c${n}`)));
        expect(a).toEqual(b);
        expect([0, 1]).toContain(a!.state);
      }
      expect(await stores[0].list("t")).toHaveLength(40);
    });
  });

  describe("a store that several contracts share", () => {
    it("keeps their checkpoints apart, and stays open when one is closed", async () => {
      const shared = await opened(place(kind));
      const threads = at(shared);
      const [graphs, workflows, sessions] = [
        new CheckpointStore(shared),
        new WorkflowCheckpointStore<object>(shared),
        new SessionStore(shared),
      ];
      await chain(threads, 3);
      await threads.putWrites({ threadId: "t", checkpointId: "c0" }, [write()]);
      await graphs.save(checkpoint({ id: "c0", runId: "t" }));
      await workflows.save({ id: "c0", runId: "t", stepIndex: 0, stepName: "s", state: {}, createdAt: 1 } as never);
      await sessions.createSession("t", { agentType: "x" });
      expect(await threads.listThreads()).toEqual(["t"]);
      expect(await threads.stats()).toMatchObject({ checkpoints: 3, namespaces: 1 });
      expect((await graphs.stats()).checkpoints).toBe(1);
      expect(await graphs.latest("t")).toMatchObject({ id: "c0" });
      await graphs.delete("c0");
      await workflows.clear("t");
      await sessions.deleteSession("t");
      expect(idsOf(await threads.list("t"))).toEqual(["c0", "c1", "c2"]);
      await graphs.save(checkpoint({ id: "c0", runId: "t" }));
      await threads.deleteThread("t");
      expect(await graphs.get("c0")).not.toBeNull();
      await threads.close();
      await failure(threads.get("t"), "CLOSED");
      expect(await graphs.get("c0")).not.toBeNull();
    });

    it("takes expectedParent, and no option of a store", async () => {
      const shared = await opened(place(kind));
      const strict = at(shared, { expectedParent: true });
      await strict.put({ threadId: "t", checkpointId: "a", state: 0 });
      await failure(strict.put({ threadId: "t", checkpointId: "b", state: 0 }), "CONFLICT");
      await at(shared).put({ threadId: "t", checkpointId: "b", state: 0 });
      for (const options of [{ durability: "off" }, { expectedParent: true, keepLastN: 1 }] as const) {
        expect(thrown(() => new Checkpointer(shared, options))).toBeInstanceOf(TypeError);
      }
    });
  });

  describe("stats, check and vacuum", () => {
    it("stats counts checkpoints and namespaces, and names the largest", async () => {
      const store = make(kind);
      expect(await store.stats()).toMatchObject({ checkpoints: 0, namespaces: 0, largest: [] });
      await chain(store, 2);
      await chain(store, 3, { namespace: ["sub", "0"] });
      await store.put({ threadId: "née:1", namespace: ["[]"], state: randomBytes(160_000) });
      const found = await store.stats({ largest: 2 });
      expect(found).toMatchObject({ checkpoints: 6, namespaces: 3 });
      expect(found).not.toHaveProperty("lineages");
      expect(found.largest).toHaveLength(2);
      expect(found.largest[0]).toEqual({
        threadId: "née:1",
        namespace: ["[]"],
        checkpoints: 1,
        logicalBytes: expect.any(Number),
        storedBytes: expect.any(Number),
      });
      expect(found.largest[1]).toMatchObject({ threadId: "t", namespace: ["sub", "0"], checkpoints: 3 });
      expect(found.logicalBytes).toBeGreaterThan(160_000);
      await store.deleteThread("née:1");
      expect(await store.stats()).toMatchObject({ checkpoints: 5, namespaces: 2 });
      for (const options of [{ largest: -1 }, { largst: 1 }, null]) {
        expect((await rejection(store.stats(options as never))).code).toBe("INVALID_ARGUMENT");
      }
    });

    it("a fork is stored as the difference to its parent, and read whole", async () => {
      const store = make(kind);
      const text = Array.from({ length: 20_000 }, (_, n) => (n * 2_654_435_761).toString(36)).join("");
      await store.put({ threadId: "t", checkpointId: "a", state: { text } });
      const { storedBytes } = await store.stats();
      for (let n = 0; n < 5; n++) {
        await store.put({ threadId: "t", checkpointId: `b${n}`, parentCheckpointId: "a", state: { text, n } });
      }
      const more = (await store.stats()).storedBytes - storedBytes;
      if (kind === "sqlite") expect(more).toBeLessThan(storedBytes / 10);
      expect((await store.get("t", "b3"))!.state).toEqual({ text, n: 3 });
    });
  });

  describe("close", () => {
    it("waits for earlier calls, and may be called again", async () => {
      const store = make(kind);
      const puts = Array.from({ length: 20 }, (_, n) => store.put({ threadId: "t", checkpointId: `c${n}`, state: n }));
      const closed = store.close();
      expect(await Promise.all(puts)).toHaveLength(20);
      await closed;
      await store.close();
      await store[Symbol.asyncDispose]();
    });
  });
});

describe("a file", () => {
  it("has everything when it is opened again, by each kind of target", async () => {
    const file = join(folder(), "threads.db");
    const store = at(file);
    await chain(store, 3, { namespace: ["sub"] });
    await store.put({ threadId: "t", checkpointId: "c1", namespace: ["sub"], state: "again" });
    await store.putWrites({ threadId: "t", checkpointId: "c1", namespace: ["sub"] }, [write(), write({ idx: -1 })]);
    await store.put({ threadId: "a", state: 0 });
    const before = [await everything(store, "t"), await store.list("a"), await store.listThreads()];
    await store.close();
    for (const target of [file, `sqlite:${file}`, pathToFileURL(file), pathToFileURL(file).href]) {
      const again = at(target);
      expect([await everything(again, "t"), await again.list("a"), await again.listThreads()]).toEqual(before);
      await again.close();
    }
  });
});
