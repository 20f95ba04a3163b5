// Tests the operations on whole threads where they take several transactions, and what they refuse. model.test.ts
// states what they remove, keep and copy.
import { describe, expect, it } from "vitest";
import { failure, kinds, rejection, wrongType } from "../helpers.js";
import { type Kind, chain, everything, idsOf, make, write } from "./helpers.js";

/** Puts two namespaces with five checkpoints each. Each checkpoint has a write. */
async function fill(store: ReturnType<typeof make>, threadId: string): Promise<void> {
  for (const namespace of [[], ["sub"]]) {
    for (const checkpointId of await chain(store, 5, { threadId, namespace, runId: "run" })) {
      await store.putWrites({ threadId, checkpointId, namespace }, [
        write({ payload: [threadId, namespace, checkpointId] }),
      ]);
    }
  }
}

describe.each(kinds)("on %s", (kind: Kind) => {
  describe("listThreads", () => {
    it("lists more threads than fit in one page", async () => {
      const store = make(kind, { durability: "off" });
      const threads = Array.from({ length: 1_001 }, (_, n) => `thread-${n}`);
      await Promise.all(threads.map((threadId) => store.put({ threadId, state: 0 })));
      await store.put({ threadId: "thread-0", state: 0, namespace: ["late"] });
      expect(await store.listThreads()).toEqual(threads);
    });
  });

  describe("deleteCheckpoints", () => {
    it("removes more than fit in one transaction", async () => {
      const store = make(kind, { durability: "off" });
      const made = await chain(store, 1_201);
      expect(await store.deleteCheckpoints("t", made.slice(1))).toBe(1_200);
      expect(idsOf(await store.list("t"))).toEqual(["c0"]);
    });

    it("leaves a descendant readable", async () => {
      const store = make(kind);
      const state = { text: "x".repeat(50_000) };
      for (let n = 0; n < 6; n++) {
        const parentCheckpointId = n === 0 ? null : `c${n - 1}`;
        await store.put({ threadId: "t", checkpointId: `c${n}`, parentCheckpointId, state: { ...state, n } });
      }
      await store.deleteCheckpoints("t", ["c0", "c2", "c4"]);
      expect((await store.get("t"))!.state).toEqual({ ...state, n: 5 });
      expect((await store.get("t", "c3"))!.state).toEqual({ ...state, n: 3 });
      expect((await store.getTuple({ threadId: "t" }))!.parentConfig!.checkpointId).toBe("c4");
      expect(idsOf(await store.stateHistory("t"))).toEqual(["c5"]);
    });
  });

  describe("copyThread", () => {
    const moved = (all: object[], to: string): object[] =>
      JSON.parse(JSON.stringify(all).replaceAll('"threadId":"t"', `"threadId":"${to}"`)) as object[];

    it("keeps ids, parents, order, namespaces and writes, and leaves the source as it is", async () => {
      const store = make(kind);
      await store.put({
        threadId: "t",
        checkpointId: "root",
        state: 0,
        nextNodes: ["n"],
        metadata: { step: 1 },
        ours: 1,
      } as never);
      await fill(store, "t");
      await store.put({
        threadId: "t",
        checkpointId: "end",
        state: 9,
        interrupts: [{ node: "n" }],
        parentCheckpointId: "c2",
      });
      const before = await everything(store, "t");
      expect(await store.copyThread("t", "copy")).toBeUndefined();
      expect(await everything(store, "t")).toEqual(before);
      expect(await everything(store, "copy")).toEqual(moved(before, "copy"));
      expect(idsOf(await store.stateHistory("copy"))).toEqual(idsOf(await store.stateHistory("t")));
      expect(await store.listThreads()).toEqual(["t", "copy"]);
      // The copy goes on by itself.
      await store.put({ threadId: "copy", checkpointId: "more", state: 1 });
      await store.putWrites({ threadId: "copy", checkpointId: "c1" }, [write({ idx: 1 })]);
      expect(await everything(store, "t")).toEqual(before);
      await store.deleteThread("t");
      expect((await store.get("copy", "c4", ["sub"]))!.state).toBe(4);
    });

    it("copies large states, and more checkpoints than fit in one transaction", async () => {
      const store = make(kind, { durability: "off" });
      await chain(store, 600);
      await store.put({ threadId: "t", checkpointId: "large", state: "0123456789abcdef".repeat(2 ** 16) });
      await store.copyThread("t", "copy");
      expect(idsOf(await store.list("copy"))).toEqual(idsOf(await store.list("t")));
      expect((await store.get("copy"))!.state).toEqual((await store.get("t"))!.state);
    });

    it("to a thread that cannot be, leaves nothing behind", async () => {
      const store = make(kind);
      await fill(store, "t");
      for (const target of ["", "x".repeat(5_000), "\ud83d"]) {
        await failure(store.copyThread("t", target), "INVALID_ARGUMENT");
      }
      // The short ids fit, and the last one does not.
      await store.put({ threadId: "t", checkpointId: "y".repeat(100), state: 0 });
      await failure(store.copyThread("t", "x".repeat(4_000)), "INVALID_ARGUMENT");
      expect(await store.listThreads()).toEqual(["t"]);
      for (const wrong of [undefined, null, 7, {}]) {
        await wrongType(store.copyThread("t", wrong as never));
        await wrongType(store.copyThread(wrong as never, "copy"));
      }
    });
  });

  describe("prune", () => {
    const dependencies = { protect: "dependencies" } as const;

    it("a retention rule keeps the parent of a checkpoint that depends on it", async () => {
      const store = make(kind, { keepLastN: 2 });
      await chain(store, 3, { name: "free" });
      expect(idsOf(await store.list("t"))).toEqual(["free1", "free2"]);
      await chain(store, 4, { dependsOnParent: true });
      expect(idsOf(await store.list("t"))).toEqual(["c0", "c1", "c2", "c3"]);
    });

    it.each([
      [2, "ancestors", "c0 c1 m0 m1 m2"],
      [4, "ancestors", "c0 c1 x1 m0 m1 m2"],
      [0, "dependencies", "m2"],
      [4, "dependencies", "x1 m0 m1 m2"],
    ] as const)("of branches, keepLast %i and %s leave %s", async (keepLast, protect, left) => {
      const store = make(kind);
      // c0 <- c1 <- m0 <- m1 <- m2 is the lineage of the latest checkpoint. x0 and x1 are other branches of c1.
      const puts = ["c0 null", "c1 c0", "x0 c1", "x1 c1", "m0 c1", "m1 m0", "m2 m1"].map((put) => put.split(" "));
      for (const [checkpointId, parent] of puts) {
        const parentCheckpointId = parent === "null" ? null : parent!;
        await store.put({ threadId: "t", checkpointId: checkpointId!, parentCheckpointId, state: 0 });
      }
      expect(await store.prune("t", keepLast, { protect })).toBe(puts.length - left.split(" ").length);
      expect(idsOf(await store.list("t")).join(" ")).toBe(left);
    });

    it("leaves what is put meanwhile", async () => {
      const store = make(kind, { durability: "off" });
      await chain(store, 30);
      const [removed] = await Promise.all([store.prune("t", 1, dependencies), chain(store, 10, { name: "d" })]);
      expect(removed).toBeGreaterThanOrEqual(29);
      const left = idsOf(await store.list("t"));
      const all = [...Array.from({ length: 30 }, (_, n) => `c${n}`), ...Array.from({ length: 10 }, (_, n) => `d${n}`)];
      expect(left).toEqual(all.slice(removed));
    });

    it("ends between two transactions: by an error, a signal or close(), and tells the progress after each", async () => {
      const store = make(kind, { durability: "off" });
      // A prune to one checkpoint removes 500 in a transaction.
      const add = (count: number, name: string) =>
        Promise.all(
          Array.from({ length: count }, (_, n) => store.put({ threadId: "t", checkpointId: `${name}${n}`, state: n })),
        );
      await add(1_201, "a");
      const [reason, controller] = [new Error("enough"), new AbortController()];
      const fails = () => {
        throw reason;
      };
      await expect(store.prune("t", 1, { ...dependencies, onProgress: fails })).rejects.toBe(reason);
      expect(await store.list("t")).toHaveLength(701);
      const { signal } = controller;
      const abort = () => controller.abort(reason);
      await expect(store.prune("t", 1, { ...dependencies, signal, onProgress: abort })).rejects.toBe(reason);
      for (const threadId of ["t", "none"])
        await expect(store.prune(threadId, 1, { ...dependencies, signal })).rejects.toBe(reason);
      expect(await store.list("t")).toHaveLength(201);
      await add(1_000, "b");
      const seen: number[] = [];
      const onProgress = (removed: number) => void seen.push(removed);
      expect(await store.prune("t", 1, { ...dependencies, onProgress })).toBe(1_200);
      // Nothing to remove: there is no progress.
      await store.prune("t", 1, { ...dependencies, onProgress });
      expect(seen).toEqual([500, 1_000, 1_200]);
      expect(idsOf(await store.list("t"))).toEqual(["b999"]);
      await add(1_200, "c");
      let closed: Promise<void> | undefined;
      const close = (removed: number) => {
        seen.push(removed);
        closed ??= store.close();
      };
      await failure(store.prune("t", 1, { ...dependencies, onProgress: close }), "CLOSED");
      await closed;
      expect(seen.slice(3)).toEqual([500]);
    });

    it("refuses a number and options that are none", async () => {
      const store = make(kind);
      await fill(store, "t");
      const wrong: Array<[unknown, unknown, string]> = [
        ...[-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "1", undefined, null].map(
          (keepLast): [unknown, unknown, string] => [keepLast, undefined, "keepLast"],
        ),
        [1, { protect: "all" }, "protect"],
        [1, { dryRun: 1 }, "dryRun"],
        [1, { signal: {} }, "signal"],
        [1, { onProgress: true }, "onProgress"],
        [1, { dryrun: true }, 'Did you mean "dryRun"?'],
        [1, null, "options must be an object"],
      ];
      for (const [keepLast, options, message] of wrong) {
        const error = await rejection(store.prune("t", keepLast as never, options as never));
        expect(error instanceof TypeError || error instanceof RangeError, String(error)).toBe(true);
        expect(error.code).toBe("INVALID_ARGUMENT");
        expect(error.message).toContain(message);
      }
      expect(await store.list("t")).toHaveLength(10);
    });
  });
});
