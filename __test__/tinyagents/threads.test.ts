// Tests the operations on whole threads: listing, deleting, copying and pruning.
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
    it("lists the thread that began first first, however it goes on", async () => {
      const store = make(kind);
      expect(await store.listThreads()).toEqual([]);
      for (const threadId of ["z", "a", "m", "a", "z"]) await store.put({ threadId, state: 0 });
      await store.put({ threadId: "z", state: 0, namespace: ["sub"] });
      expect(await store.listThreads()).toEqual(["z", "a", "m"]);
      await store.deleteThread("z");
      await store.put({ threadId: "z", state: 0 });
      expect(await store.listThreads()).toEqual(["a", "m", "z"]);
    });

    it("lists a thread once, also if only its subgraphs have checkpoints", async () => {
      const store = make(kind);
      for (const namespace of [["x"], ["y"], [], ["x", "y"]]) await store.put({ threadId: "t", state: 0, namespace });
      await store.put({ threadId: "u", state: 0, namespace: ["only"] });
      await store.putWrites({ threadId: "w", checkpointId: "a" }, [write()]);
      expect(await store.listThreads()).toEqual(["t", "u"]);
    });

    it("lists more threads than fit in one page", async () => {
      const store = make(kind, { durability: "off" });
      const threads = Array.from({ length: 1_001 }, (_, n) => `thread-${n}`);
      await Promise.all(threads.map((threadId) => store.put({ threadId, state: 0 })));
      await store.put({ threadId: "thread-0", state: 0, namespace: ["late"] });
      expect(await store.listThreads()).toEqual(threads);
    });
  });

  describe("deleteThread", () => {
    it("takes all namespaces along, with their writes", async () => {
      const store = make(kind);
      await fill(store, "t");
      await fill(store, "u");
      await store.putWrites({ threadId: "t", checkpointId: "early", namespace: ["never"] }, [write()]);
      const other = await everything(store, "u");
      expect(await store.deleteThread("t")).toBeUndefined();
      expect(await store.listThreads()).toEqual(["u"]);
      expect(await store.list("t")).toEqual([]);
      expect(await store.get("t")).toBeNull();
      expect(await store.get("t", null, ["sub"])).toBeNull();
      expect(await everything(store, "u")).toEqual(other);
      // What is put later under the same ids has none of the old writes.
      for (const namespace of [[], ["sub"]]) await chain(store, 5, { namespace });
      await store.put({ threadId: "t", checkpointId: "early", namespace: ["never"], state: 0 });
      for (const { checkpointId, namespace } of await store.list("t")) {
        expect(await store.getWrites({ threadId: "t", checkpointId, namespace })).toEqual([]);
      }
    });

    it("of an unknown thread does nothing", async () => {
      const store = make(kind);
      await fill(store, "t");
      for (const threadId of ["u", "", "T", "t ", "%", "1:t"]) {
        expect(await store.deleteThread(threadId)).toBeUndefined();
      }
      expect(await store.list("t")).toHaveLength(10);
    });

    it("takes the checkpoints of a repeated id along", async () => {
      const store = make(kind);
      for (const state of [1, 2, 3]) await store.put({ threadId: "t", checkpointId: "a", state });
      await store.deleteThread("t");
      expect([await store.get("t", "a"), await store.list("t")]).toEqual([null, []]);
    });
  });

  describe("deleteCheckpoints", () => {
    it("removes the ids from all namespaces, with their writes, and counts the checkpoints", async () => {
      const store = make(kind);
      await fill(store, "t");
      await fill(store, "u");
      const other = await everything(store, "u");
      expect(await store.deleteCheckpoints("t", ["c1", "c4", "unknown", "c1"])).toBe(4);
      expect(idsOf(await store.list("t"))).toEqual(["c0", "c2", "c3", "c0", "c2", "c3"]);
      expect((await store.get("t"))!.checkpointId).toBe("c3");
      expect(await everything(store, "u")).toEqual(other);
      await store.put({ threadId: "t", checkpointId: "c1", state: 0 });
      expect(await store.getWrites({ threadId: "t", checkpointId: "c1" })).toEqual([]);
      expect(await store.deleteCheckpoints("t", ["c4"])).toBe(0);
    });

    it("removes and counts each checkpoint of a repeated id", async () => {
      const store = make(kind);
      for (const id of ["a", "b", "a", "a"]) await store.put({ threadId: "t", checkpointId: id, state: 0 });
      expect(await store.deleteCheckpoints("t", ["a"])).toBe(3);
      expect(idsOf(await store.list("t"))).toEqual(["b"]);
      expect(await store.get("t", "a")).toBeNull();
    });

    it("of nothing, or of an unknown thread, removes nothing", async () => {
      const store = make(kind);
      await fill(store, "t");
      expect(await store.deleteCheckpoints("t", [])).toBe(0);
      expect(await store.deleteCheckpoints("none", ["c1"])).toBe(0);
      expect(await store.list("t")).toHaveLength(10);
    });

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

    it("refuses ids that are none", async () => {
      const store = make(kind);
      await fill(store, "t");
      for (const ids of [undefined, null, "c1", 7, {}, [7], ["c1", null]]) {
        await wrongType(store.deleteCheckpoints("t", ids as never));
      }
      expect(await store.list("t")).toHaveLength(10);
    });
  });

  describe("deleteByRun", () => {
    it("removes the checkpoints of a run from all namespaces, and null matches none", async () => {
      const store = make(kind);
      const runs = ["one", "two", null, undefined, "one", "null"];
      for (const namespace of [[], ["sub"]]) {
        for (const [n, runId] of runs.entries()) {
          const checkpoint = { threadId: "t", checkpointId: `c${n}`, state: 0, namespace };
          await store.put(runId === undefined ? checkpoint : { ...checkpoint, runId });
          await store.putWrites({ threadId: "t", checkpointId: `c${n}`, namespace }, [write()]);
        }
      }
      await store.put({ threadId: "u", state: 0, runId: "one" });
      expect(await store.deleteByRun("t", null)).toBe(0);
      expect(await store.deleteByRun("t", "three")).toBe(0);
      expect(await store.deleteByRun("t", "ONE")).toBe(0);
      expect(await store.list("t")).toHaveLength(12);
      expect(await store.deleteByRun("t", "one")).toBe(4);
      expect(idsOf(await store.list("t"))).toEqual(["c1", "c2", "c3", "c5", "c1", "c2", "c3", "c5"]);
      expect(await store.deleteByRun("t", "null")).toBe(2);
      expect(await store.list("u")).toHaveLength(1);
      await store.put({ threadId: "t", checkpointId: "c0", state: 0 });
      expect(await store.getWrites({ threadId: "t", checkpointId: "c0" })).toEqual([]);
      expect(await store.getWrites({ threadId: "t", checkpointId: "c1" })).toEqual([write()]);
    });

    it("of an unknown thread removes nothing, and refuses what is no run", async () => {
      const store = make(kind);
      await fill(store, "t");
      expect(await store.deleteByRun("none", "run")).toBe(0);
      for (const runId of [undefined, 7, {}, ["run"]]) await wrongType(store.deleteByRun("t", runId as never));
      expect(await store.list("t")).toHaveLength(10);
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

    it("keeps each checkpoint of a repeated id, and the writes once", async () => {
      const store = make(kind);
      for (const [state, checkpointId] of ["a", "b", "a", "a"].entries()) {
        await store.put({ threadId: "t", checkpointId, state });
      }
      await store.putWrites({ threadId: "t", checkpointId: "a" }, [write(), write({ idx: -1 })]);
      await store.copyThread("t", "copy");
      expect(await everything(store, "copy")).toEqual(moved(await everything(store, "t"), "copy"));
      expect((await store.get("copy", "a"))!.state).toBe(3);
    });

    it("keeps dependsOnParent", async () => {
      const store = make(kind);
      await chain(store, 3, { dependsOnParent: true });
      await chain(store, 3, { name: "d" });
      await store.copyThread("t", "copy");
      for (const threadId of ["t", "copy"]) {
        expect(await store.prune(threadId, 4, { protect: "dependencies" })).toBe(0);
        expect(await store.prune(threadId, 3, { protect: "dependencies" })).toBe(3);
      }
    });

    it("copies large states, and more checkpoints than fit in one transaction", async () => {
      const store = make(kind, { durability: "off" });
      await chain(store, 600);
      await store.put({ threadId: "t", checkpointId: "large", state: "0123456789abcdef".repeat(2 ** 16) });
      await store.copyThread("t", "copy");
      expect(idsOf(await store.list("copy"))).toEqual(idsOf(await store.list("t")));
      expect((await store.get("copy"))!.state).toEqual((await store.get("t"))!.state);
    });

    it("refuses a target that has checkpoints, in whatever namespace, and the source itself", async () => {
      const store = make(kind);
      await fill(store, "t");
      await store.put({ threadId: "sub only", state: 0, namespace: ["sub"] });
      for (const target of ["sub only", "t"]) {
        const before = await everything(store, target);
        const error = await failure(store.copyThread("t", target), "CONFLICT");
        expect(error.message).toContain(JSON.stringify(target));
        expect(await everything(store, target)).toEqual(before);
      }
    });

    it("copies to a thread that was deleted", async () => {
      const store = make(kind);
      await fill(store, "t");
      await fill(store, "old");
      await store.deleteThread("old");
      await store.copyThread("t", "old");
      expect(await everything(store, "old")).toEqual(moved(await everything(store, "t"), "old"));
    });

    it("of an unknown source copies nothing", async () => {
      const store = make(kind);
      await fill(store, "t");
      for (const source of ["none", "", "T", "t ", "\ud83d"]) {
        expect(await store.copyThread(source, "copy")).toBeUndefined();
      }
      expect(await store.listThreads()).toEqual(["t"]);
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

    it("ancestors, the default: a thread without branches keeps all of its checkpoints", async () => {
      const store = make(kind);
      await fill(store, "t");
      const before = await everything(store, "t");
      for (const keepLast of [0, 1, 3, 99]) {
        expect(await store.prune("t", keepLast)).toBe(0);
        expect(await store.prune("t", keepLast, {})).toBe(0);
        expect(await store.prune("t", keepLast, { protect: "ancestors" })).toBe(0);
      }
      expect(await everything(store, "t")).toEqual(before);
    });

    it("dependencies: keeps the last of each namespace, with their writes, unchanged", async () => {
      const store = make(kind);
      await fill(store, "t");
      await fill(store, "u");
      const [before, other] = [await everything(store, "t"), await everything(store, "u")];
      expect(await store.prune("t", 2, dependencies)).toBe(6);
      expect(await everything(store, "t")).toEqual([...before.slice(3, 5), ...before.slice(8, 10)]);
      expect(await everything(store, "u")).toEqual(other);
      expect(await store.prune("t", 2, dependencies)).toBe(0);
      // The writes of the removed checkpoints are gone.
      await store.put({ threadId: "t", checkpointId: "c0", state: 0 });
      expect(await store.getWrites({ threadId: "t", checkpointId: "c0" })).toEqual([]);
    });

    it("keepLast 0 becomes 1", async () => {
      const store = make(kind);
      await fill(store, "t");
      expect(await store.prune("t", 0, dependencies)).toBe(8);
      expect(idsOf(await store.list("t"))).toEqual(["c4", "c4"]);
    });

    it.each([
      [1, "ancestors", "c0 c1 m0 m1 m2"],
      [2, "ancestors", "c0 c1 m0 m1 m2"],
      [4, "ancestors", "c0 c1 x1 m0 m1 m2"],
      [5, "ancestors", "c0 c1 x0 x1 m0 m1 m2"],
      [1, "dependencies", "m2"],
      [2, "dependencies", "m1 m2"],
      [4, "dependencies", "x1 m0 m1 m2"],
    ] as const)("of branches, keepLast %i and %s leave %s", async (keepLast, protect, left) => {
      const store = make(kind);
      // c0 <- c1 <- m0 <- m1 <- m2 is the lineage of the latest checkpoint. x0 and x1 are other branches of c1.
      const puts = [
        ["c0", null],
        ["c1", "c0"],
        ["x0", "c1"],
        ["x1", "c1"],
        ["m0", "c1"],
        ["m1", "m0"],
        ["m2", "m1"],
      ] as const;
      for (const [checkpointId, parentCheckpointId] of puts) {
        await store.put({ threadId: "t", checkpointId, parentCheckpointId, state: checkpointId });
      }
      const removed = puts.length - left.split(" ").length;
      expect(await store.prune("t", keepLast, { protect, dryRun: true })).toBe(removed);
      expect(await store.prune("t", keepLast, { protect })).toBe(removed);
      expect(idsOf(await store.list("t")).join(" ")).toBe(left);
      for (const id of left.split(" ")) expect((await store.get("t", id))!.state).toBe(id);
    });

    it("dependsOnParent: the ancestors that a kept checkpoint cannot be read without stay", async () => {
      const store = make(kind);
      for (let n = 0; n < 8; n++) {
        // c3 and c6 can be read by themselves.
        await store.put({
          threadId: "t",
          checkpointId: `c${n}`,
          parentCheckpointId: n === 0 ? null : `c${n - 1}`,
          state: n,
          dependsOnParent: n % 3 !== 0,
        });
      }
      expect(await store.prune("t", 3, dependencies)).toBe(3);
      expect(idsOf(await store.list("t"))).toEqual(["c3", "c4", "c5", "c6", "c7"]);
      expect(await store.prune("t", 1, dependencies)).toBe(3);
      expect(idsOf(await store.list("t"))).toEqual(["c6", "c7"]);
    });

    it("a retention rule keeps the parent of a checkpoint that depends on it", async () => {
      const store = make(kind, { keepLastN: 2 });
      await chain(store, 3, { name: "free" });
      expect(idsOf(await store.list("t"))).toEqual(["free1", "free2"]);
      await chain(store, 4, { dependsOnParent: true });
      expect(idsOf(await store.list("t"))).toEqual(["c0", "c1", "c2", "c3"]);
    });

    it("survives circles, and parents that are not stored", async () => {
      const store = make(kind);
      for (const [id, parent] of [
        ["x", null],
        ["a", "c"],
        ["b", "a"],
        ["c", "b"],
        ["d", "gone"],
      ] as const) {
        await store.put({
          threadId: "t",
          checkpointId: id,
          parentCheckpointId: parent,
          state: 0,
          dependsOnParent: "abc".includes(id),
        });
      }
      expect(await store.prune("t", 2, dependencies)).toBe(1);
      expect(idsOf(await store.list("t"))).toEqual(["a", "b", "c", "d"]);
      expect(await store.prune("t", 1)).toBe(3);
      expect(idsOf(await store.list("t"))).toEqual(["d"]);
    });

    it("an id that was put again keeps its writes", async () => {
      const store = make(kind);
      for (const [state, checkpointId] of ["a", "b", "a", "c", "a"].entries()) {
        await store.put({ threadId: "t", checkpointId, state });
      }
      await store.putWrites({ threadId: "t", checkpointId: "a" }, [write()]);
      const before = await store.getTuple({ threadId: "t" });
      // The first checkpoint of the id has its writes, and stays.
      expect(await store.prune("t", 1, { protect: "dependencies", dryRun: true })).toBe(3);
      expect(await store.prune("t", 1, dependencies)).toBe(3);
      expect(idsOf(await store.list("t"))).toEqual(["a", "a"]);
      expect(await store.getTuple({ threadId: "t" })).toEqual(before);
      expect(before).toMatchObject({ checkpoint: { state: 4 }, pendingWrites: [write()] });
    });

    it("dryRun removes nothing", async () => {
      const store = make(kind);
      await fill(store, "t");
      const before = await everything(store, "t");
      const seen: number[] = [];
      const options = { ...dependencies, dryRun: true, onProgress: (removed: number) => void seen.push(removed) };
      expect(await store.prune("t", 1, options)).toBe(8);
      expect(seen).toEqual([8]);
      expect(await everything(store, "t")).toEqual(before);
    });

    it("of an unknown thread removes nothing", async () => {
      const store = make(kind);
      await fill(store, "t");
      for (const threadId of ["none", "", "T", "%", "\ud83d"]) {
        expect(await store.prune(threadId, 1, dependencies)).toBe(0);
      }
      expect(await store.list("t")).toHaveLength(10);
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

    describe("in several transactions", () => {
      /** Puts 1,201 checkpoints, of which a prune to 1 removes 1,200 in three transactions. */
      async function long() {
        const store = make(kind, { durability: "off" });
        await Promise.all(
          Array.from({ length: 1_201 }, (_, n) => store.put({ threadId: "t", checkpointId: `c${n}`, state: n })),
        );
        return store;
      }

      it("onProgress is called after each with the number so far", async () => {
        const store = await long();
        const seen: number[] = [];
        expect(await store.prune("t", 1, { ...dependencies, onProgress: (removed) => void seen.push(removed) })).toBe(
          1_200,
        );
        expect(seen).toEqual([500, 1_000, 1_200]);
        expect(idsOf(await store.list("t"))).toEqual(["c1200"]);
        // Nothing to remove: there is no progress.
        await store.prune("t", 1, { ...dependencies, onProgress: (removed) => void seen.push(removed) });
        expect(seen).toHaveLength(3);
      });

      it("a signal stops between two of them, with its reason", async () => {
        const store = await long();
        const [reason, controller] = [new Error("enough"), new AbortController()];
        const onProgress = (removed: number) => {
          if (removed === 1_000) controller.abort(reason);
        };
        const options = { ...dependencies, signal: controller.signal, onProgress };
        await expect(store.prune("t", 1, options)).rejects.toBe(reason);
        expect(await store.list("t")).toHaveLength(201);
        for (const threadId of ["t", "none"]) {
          const aborted = store.prune(threadId, 1, { ...dependencies, signal: AbortSignal.abort(reason) });
          await expect(aborted).rejects.toBe(reason);
        }
        expect(await store.list("t")).toHaveLength(201);
      });

      it("an error of onProgress stops it", async () => {
        const store = await long();
        const reason = new Error("no");
        const onProgress = () => {
          throw reason;
        };
        await expect(store.prune("t", 1, { ...dependencies, onProgress })).rejects.toBe(reason);
        expect(await store.list("t")).toHaveLength(701);
      });

      it("an abort after the last one has no effect", async () => {
        const store = await long();
        const controller = new AbortController();
        const onProgress = (removed: number) => {
          if (removed === 1_200) controller.abort();
        };
        expect(await store.prune("t", 1, { ...dependencies, signal: controller.signal, onProgress })).toBe(1_200);
      });

      it("closing ends it", async () => {
        const store = await long();
        let closed: Promise<void> | undefined;
        const seen: number[] = [];
        const onProgress = (removed: number) => {
          seen.push(removed);
          closed ??= store.close();
        };
        await failure(store.prune("t", 1, { ...dependencies, onProgress }), "CLOSED");
        await closed;
        expect(seen).toEqual([500]);
      });
    });

    it.each<[unknown, unknown, string]>([
      [-1, undefined, "keepLast"],
      [1.5, undefined, "keepLast"],
      [Number.NaN, undefined, "keepLast"],
      [Number.POSITIVE_INFINITY, undefined, "keepLast"],
      ["1", undefined, "keepLast"],
      [undefined, undefined, "keepLast"],
      [null, undefined, "keepLast"],
      [1, { protect: "all" }, "protect"],
      [1, { protect: null }, "protect"],
      [1, { dryRun: 1 }, "dryRun"],
      [1, { signal: {} }, "signal"],
      [1, { onProgress: true }, "onProgress"],
      [1, { dryrun: true }, 'Did you mean "dryRun"?'],
      [1, { olderThan: 5 }, "Unknown option"],
      [1, null, "options must be an object"],
    ])("refuses keepLast %s with the options %j", async (keepLast, options, message) => {
      const store = make(kind);
      await fill(store, "t");
      const error = await rejection(store.prune("t", keepLast as never, options as never));
      expect(error instanceof TypeError || error instanceof RangeError, String(error)).toBe(true);
      expect(error.code).toBe("INVALID_ARGUMENT");
      expect(error.message).toContain(message);
      expect(await store.list("t")).toHaveLength(10);
    });
  });
});
