// Tests a thread that is deleted while a run works on it: it stays deleted, and nothing of the run is left.
import { AsyncResource } from "node:async_hooks";
import { tracingChannel } from "node:diagnostics_channel";
import { Annotation, interrupt } from "@langchain/langgraph";
import { effects } from "forkpoint/effects";
import { type Inspector, openInspector } from "forkpoint/inspect";
import { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { Gate } from "../../__test__/helpers.js";
import { all, checkpoint, kinds, metadata, place, rejection, saver, sequence, thread, openShared } from "./helpers.js";

const State = Annotation.Root({ receipt: Annotation<string>, tries: Annotation<number> });
const run = { space: "langgraph", run: "thread" };
const boom = new Error("boom");

/** A subgraph with a memory of its own. */
function innerGraph(wait: () => Promise<void>) {
  return sequence(State, { a: () => ({ tries: 2 }), b: async () => (await wait(), {}) }).compile({
    checkpointer: true,
  });
}

/** Returns what no list shows. */
async function lost(store: Pick<ForkpointSaver, "check">): Promise<unknown[]> {
  return (await store.check()).findings.filter(({ code }) => code === "ORPHAN");
}

describe.each(kinds)("on %s", (kind) => {
  it.each(["sync", "async", "exit"] as const)(
    "durability %s: a run whose thread was deleted is refused, and the thread stays deleted",
    async (durability) => {
      const checkpointer = saver(kind);
      let deletes = false;
      const graph = sequence(State, {
        first: () => ({ tries: 1 }),
        work: async () => {
          if (deletes) await checkpointer.deleteThread("thread");
          return { receipt: "r" };
        },
        after: () => ({ tries: 2 }),
      }).compile({ checkpointer });
      await graph.invoke({}, thread());
      deletes = true;
      const error = await rejection(graph.invoke({}, { ...thread(), durability }));
      expect(error).toMatchObject({ code: "CONFLICT" });
      expect(await all(checkpointer.list(thread()))).toEqual([]);
      expect((await checkpointer.listThreads()).threads).toEqual([]);
      // A new run of the same name begins with nothing.
      deletes = false;
      expect(await graph.invoke({}, thread())).toEqual({ receipt: "r", tries: 2 });
    },
  );

  it.each(["sync", "async", "exit"] as const)(
    "durability %s: a node that asks or fails after the delete leaves nothing",
    async (durability) => {
      const checkpointer = saver(kind);
      for (const [run, end] of Object.entries({ asks: () => interrupt("sure?"), fails: () => Promise.reject(boom) })) {
        let deletes = false;
        const graph = sequence(State, {
          first: () => ({ tries: 1 }),
          work: async () => {
            if (!deletes) return { receipt: "r" };
            await checkpointer.deleteThread(run);
            return end() as never;
          },
        }).compile({ checkpointer });
        await graph.invoke({}, thread(run));
        deletes = true;
        await rejection(graph.invoke({}, { ...thread(run), durability }));
        expect(await lost(checkpointer)).toEqual([]);
        expect((await checkpointer.listThreads()).threads).toEqual([]);
      }
    },
  );

  it("a branch from an older checkpoint brings no deleted thread back", async () => {
    const checkpointer = saver(kind);
    let deletes = false;
    const graph = sequence(State, {
      first: () => ({ tries: 1 }),
      work: async () => {
        if (deletes) await checkpointer.deleteThread("thread");
        return { receipt: "r" };
      },
    }).compile({ checkpointer });
    await graph.invoke({}, thread());
    const older = (await all(graph.getStateHistory(thread()))).find(({ next }) => next[0] === "work")!;
    deletes = true;
    for (const branch of [
      () => graph.invoke(null, { ...older.config, durability: "sync" }),
      () => graph.updateState(older.config, { tries: 7 }),
    ]) {
      await rejection(branch());
      expect((await checkpointer.listThreads()).threads).toEqual([]);
      expect(await lost(checkpointer)).toEqual([]);
    }
  });

  it("writes to a checkpoint that was deleted or pruned are refused", async () => {
    const checkpointer = saver(kind);
    const graph = sequence(State, { work: () => ({ receipt: "r" }) }).compile({ checkpointer });
    for (const run of ["pruned", "deleted"]) {
      await graph.invoke({}, thread(run));
      const [newest, before] = await all(checkpointer.list(thread(run)));
      if (run === "pruned") await checkpointer.prune([run], "keep_latest");
      else await checkpointer.deleteThread(run);
      const error = await rejection(checkpointer.putWrites(before!.config, [["receipt", "late"]], "task"));
      expect(error).toMatchObject({ code: "CONFLICT" });
      expect(error.message).toContain(
        `thread "${run}": checkpoint "${before!.config.configurable!["checkpoint_id"]}" was deleted`,
      );
      if (run === "pruned") await checkpointer.putWrites(newest!.config, [["receipt", "in time"]], "task");
      expect(await lost(checkpointer)).toEqual([]);
    }
  });

  it("a checkpoint that retention removes while its node works gets no writes", async () => {
    const store = await openShared(place(kind));
    const checkpointer = new ForkpointSaver(store);
    const graph = sequence(State, {
      work: async () => {
        await store.prune({ olderThan: Date.now() + 60_000 });
        return interrupt("sure?");
      },
    }).compile({ checkpointer });
    expect(await rejection(graph.invoke({}, { ...thread(), durability: "sync" }))).toMatchObject({ code: "CONFLICT" });
    expect(await lost(store)).toEqual([]);
  });

  const write = (on: ForkpointSaver, id = "thread") =>
    on.putWrites(thread(id, { checkpoint_ns: "", checkpoint_id: "to come" }), [["receipt", "early"]], "task");

  it("another saver's writes to a deleted thread are refused", async () => {
    const opened = await openShared(place(kind));
    const [one, two] = [new ForkpointSaver(opened), new ForkpointSaver(opened)];
    expect(await rejection(write(two))).toMatchObject({ code: "CONFLICT", message: expect.stringContaining("never") });
    const config = await one.put(thread(), checkpoint(), metadata(), {});
    await one.deleteThread("thread");
    expect(await rejection(write(two))).toMatchObject({ code: "CONFLICT" });
    const late = two.putWrites(config, [["receipt", "late"]], "task");
    expect(await rejection(late)).toMatchObject({ code: "CONFLICT" });
    expect(await lost(opened)).toEqual([]);
  });

  it.each([
    ["its deletion", (on: ForkpointSaver) => on.deleteThread("thread")],
    ["retention", (on: ForkpointSaver) => on.prune(["thread"], { olderThan: Date.now() + 60_000 })],
    [
      "the removal of its last checkpoint",
      (_: ForkpointSaver, inspector: Inspector, id: string) => inspector.remove(run, [id]),
    ],
  ] as const)("check() names writes whose checkpoint does not come, and %s removes them", async (_, remove) => {
    const opened = await openShared(place(kind));
    await using inspector = await openInspector(opened, { write: true });
    const checkpointer = new ForkpointSaver(opened);
    const strays = async () => {
      const { ok, findings } = await checkpointer.check();
      expect(ok).toBe(true);
      for (const finding of findings) expect(finding).toMatchObject({ code: "ORPHAN", severity: "note" });
      return findings.map(({ ref }) => ref?.run).toSorted();
    };
    const own = await checkpointer.put(thread(), checkpoint(), metadata(), {});
    await checkpointer.put(thread("thread2"), checkpoint(), metadata(), {});
    const inside = await checkpointer.put(thread("thread2", { checkpoint_ns: "sub:1" }), checkpoint(), metadata(), {});
    for (const config of [own, inside]) await checkpointer.putWrites(config, [["log", "kept"]], "task");
    for (const id of ["thread", "thread2"]) await write(checkpointer, id);
    expect(await strays()).toEqual(["thread", "thread2"]);
    const id = own.configurable!["checkpoint_id"] as string;
    await remove(checkpointer, inspector, id);
    expect(await strays()).toEqual(["thread2"]);
    expect((await checkpointer.getTuple(inside))!.pendingWrites).toEqual([["task", "log", "kept"]]);
    await write(checkpointer, "thread2");
  });

  it("a run that another process has leased is deleted only by force, which ends its lease", async () => {
    const target = await openShared(place(kind));
    const [one, two] = [new ForkpointSaver(target, { lease: true }), new ForkpointSaver(target)];
    const tried: unknown[] = [];
    let forces = false;
    const graph = sequence(State, {
      work: async () => {
        await using inspector = await openInspector(target, { write: true });
        for (const remove of [
          () => two.deleteThread("thread", { force: forces }),
          () => two.prune(["thread"], "delete", { force: forces }),
          () => inspector.remove({ space: "langgraph", run: "thread" }, undefined, { force: forces }),
        ]) {
          const error = await remove().then(
            () => undefined,
            (error: unknown) => error,
          );
          tried.push(error);
          if (error === undefined) break;
        }
        return { receipt: "r" };
      },
    }).compile({ checkpointer: one });
    expect(await graph.invoke({}, thread())).toEqual({ receipt: "r" });
    expect(tried).toMatchObject(
      Array.from({ length: 3 }, () => ({ code: "CONFLICT", lease: { holder: expect.any(String) } })),
    );
    expect((tried[0] as Error).message).toContain("{ force: true }");
    forces = true;
    expect(await rejection(graph.invoke({}, thread()))).toMatchObject({ code: "CONFLICT" });
    expect(tried[3]).toBeUndefined();
    expect((await two.listThreads()).threads).toEqual([]);
    expect(await lost(two)).toEqual([]);
    // The lease has ended, so the thread may begin again at once.
    forces = false;
    expect(await graph.invoke({}, thread())).toEqual({ receipt: "r" });
  });

  it("a leased thread is not removed whole by prune and deleteForRuns", async () => {
    const checkpointer = saver(kind);
    const metadata = { source: "loop", step: 0, parents: {}, run_id: "r" } as const;
    await checkpointer.put(thread(), checkpoint(), metadata, {});
    await using lease = await checkpointer.lease({ space: "langgraph", run: "thread" });
    const before = (await checkpointer.stats()).checkpoints;
    for (const removal of [
      () => checkpointer.prune(["thread"], { olderThan: Date.now() + 60_000 }),
      () => checkpointer.deleteForRuns(["r"]),
    ]) {
      expect(await rejection(removal())).toMatchObject({ code: "CONFLICT", lease: { holder: lease.holder } });
      expect((await checkpointer.stats()).checkpoints).toBe(before);
    }
    await checkpointer.prune(["thread"], { olderThan: Date.now() + 60_000 }, { force: true });
    expect(await all(checkpointer.list(thread()))).toEqual([]);
  });

  it("an effect that begins after the delete does not run, and a new run has its own", async () => {
    const checkpointer = saver(kind);
    const once = effects(checkpointer);
    const paid: string[] = [];
    let deletes = true;
    const graph = sequence(State, {
      first: () => ({ tries: 1 }),
      pay: async (_, config) => {
        if (deletes) await checkpointer.deleteThread("thread");
        return { receipt: await once(config, "charge", async ({ idempotencyKey }) => `${paid.push(idempotencyKey)}`) };
      },
    }).compile({ checkpointer });
    const error = await rejection(graph.invoke({}, { ...thread(), durability: "sync" }));
    expect(error).toMatchObject({ code: "CONFLICT" });
    expect(error.message).toContain('run "thread" was deleted while it ran, so its effect "charge" did not run');
    expect(await once.list(run)).toEqual([]);
    deletes = false;
    expect((await graph.invoke({}, thread())).receipt).toBe("1");
    expect(paid).toHaveLength(1);
  });

  // A thread that the run has begun itself, and one that it has found.
  it.each([
    ["sync", false],
    ["sync", true],
    ["async", false],
    ["async", true],
    ["exit", false],
    ["exit", true],
  ] as const)(
    "durability %s: an effect after the delete and a new start is not the new run's (thread found: %s)",
    async (durability, found) => {
      const checkpointer = saver(kind);
      const once = effects(checkpointer);
      const paid: string[] = [];
      const graphOf = (name: string, before: () => Promise<void>) =>
        sequence(State, {
          // With "exit", this is all that a new thread stores before the delete.
          first: async (_, config) => once(config, "first", () => ({ tries: 1 })),
          pay: async (_, config) => {
            await before();
            return { receipt: await once(config, "charge", () => `${name} ${paid.push(name)}`) };
          },
        }).compile({ checkpointer });
      if (found) await rejection(graphOf("earlier", () => Promise.reject(boom)).invoke({}, thread()));
      const [first, second] = [new Gate(), new Gate()];
      const late = rejection(graphOf("old", first.wait).invoke({}, { ...thread(), durability }));
      await first.reached;
      await checkpointer.deleteThread("thread");
      const fresh = graphOf("new", second.wait).invoke({}, thread());
      await second.reached;
      first.open();
      const error = await late;
      expect(error).toMatchObject({ code: "CONFLICT" });
      // With "async", a save may be refused before the effect.
      if (durability !== "async")
        expect(error.message).toContain('run "thread" was deleted while it ran, so its effect "charge" did not run');
      expect((await once.list(run)).map(({ key }) => key)).toEqual(["first"]);
      second.open();
      expect((await fresh).receipt).toBe("new 1");
    },
  );

  it.each(["sync", "async"] as const)(
    "durability %s: a branch of a thread that was deleted and begun again goes nowhere",
    async (durability) => {
      const checkpointer = saver(kind);
      let wait = async () => {};
      const graph = sequence(State, {
        first: () => ({ tries: 1 }),
        work: async () => (await wait(), { receipt: "r" }),
        inner: innerGraph(() => wait()),
      }).compile({ checkpointer });
      for (const node of ["work", "inner"]) {
        await checkpointer.deleteThread("thread");
        await graph.invoke({}, thread());
        const older = (await all(graph.getStateHistory(thread()))).find(({ next }) => next[0] === node)!;
        const gate = new Gate();
        wait = gate.wait;
        const late = rejection(graph.invoke(null, { ...older.config, durability }));
        await gate.reached;
        wait = async () => {};
        await checkpointer.deleteThread("thread");
        await graph.invoke({}, thread());
        const before = await all(checkpointer.list(thread()));
        gate.open();
        expect(await late).toMatchObject({ code: "CONFLICT" });
        expect(await all(checkpointer.list(thread()))).toEqual(before);
        expect((await graph.getState(thread())).values).toEqual({ receipt: "r", tries: 2 });
      }
    },
  );

  describe("durability exit: a new thread that is deleted after an effect of its run", () => {
    const exit = { ...thread(), durability: "exit" as const };

    type End = "pays" | "catches" | "asks" | "throws";

    /** Runs a graph whose thread is deleted after its first effect. `deletes` gets the saver of another process. */
    async function refuses(
      ends: End[],
      deletes: (other: ForkpointSaver) => unknown,
      left: string[] = [],
    ): Promise<void> {
      const store = await openShared(place(kind));
      const [own, other] = [new ForkpointSaver(store), new ForkpointSaver(store)];
      const once = effects(own);
      const paid: unknown[] = [];
      let end: End | undefined;
      const graph = sequence(State, {
        first: async (_, config) => once(config, "first", () => ({ tries: 1 })),
        pay: async (_, config) => {
          if (end !== undefined) await deletes(other);
          if (end === "asks") return interrupt("sure?") as never;
          if (end === "throws") throw boom;
          const receipt = once(config, "charge", () => `receipt ${paid.push(end)}`);
          return { receipt: await (end === "catches" ? receipt.catch(() => "none") : receipt) };
        },
      }).compile({ checkpointer: own });
      for (end of ends) {
        const error = await rejection(graph.invoke({}, exit));
        // LangGraph reports the error of a node, and not that of the save behind it.
        if (end !== "throws") expect(error).toMatchObject({ code: "CONFLICT" });
        expect(paid).toEqual([]);
        expect((await once.list(run)).map(({ key }) => key)).toEqual(left);
        expect(await all(other.list(thread()))).toHaveLength(left.length);
        expect(await lost(other)).toEqual([]);
        await other.deleteThread("thread");
      }
      end = undefined;
      expect(await graph.invoke({}, exit)).toEqual({ receipt: "receipt 1", tries: 1 });
    }

    it("stays deleted, and pays nothing", () =>
      refuses(["pays", "catches", "asks", "throws"], (other) => other.deleteThread("thread")));

    it("is not continued if it was begun again", () => {
      // In the context of a node, the graph would be a subgraph of the node's run.
      const begin = AsyncResource.bind((other: ForkpointSaver) => {
        const pay = (_: unknown, config: object) => effects(other)(config, "charge", () => ({ receipt: "new" }));
        return sequence(State, { pay }).compile({ checkpointer: other }).invoke({}, exit);
      });
      const deletes = async (other: ForkpointSaver) => {
        await other.deleteThread("thread");
        await begin(other);
      };
      return refuses(["pays", "catches", "asks", "throws"], deletes, ["charge"]);
    });

    it.each([
      ["the next effect begins", "effectBegin", ["pays", "catches"]],
      ["its first save", "put", ["asks"]],
    ] as const)("pays nothing if it is deleted just before %s", async (_, operation, ends) => {
      const { start } = tracingChannel("forkpoint:save");
      await refuses([...ends], (other) => {
        const deletes = (call: unknown) => {
          if ((call as { operation: string }).operation !== operation) return;
          start.unsubscribe(deletes);
          void other.deleteThread("thread");
        };
        start.subscribe(deletes);
      });
    });
  });

  it("durability exit: an effect that is forgotten is no deleted thread", async () => {
    const checkpointer = saver(kind);
    const once = effects(checkpointer);
    const paid: number[] = [];
    const graph = sequence(State, {
      first: async (_, config) => {
        await once(config, "charge", () => paid.push(1));
        expect(await once.forget(config, "charge")).toBe(1);
        await once(config, "charge", () => paid.push(2));
        return { tries: await once(config, "kept", () => 3) };
      },
      // Another process forgets one of several effects.
      second: async (_, config) => {
        expect(await once.forget(run, "kept")).toBe(1);
        return { receipt: await once(config, "last", () => "r") };
      },
    }).compile({ checkpointer });
    expect(await graph.invoke({}, { ...thread(), durability: "exit" })).toEqual({ receipt: "r", tries: 3 });
    expect(paid).toEqual([1, 2]);
    expect((await once.list(run)).map(({ key }) => key)).toEqual(["charge", "last"]);
  });

  it("an effect whose run is deleted while it runs is not stored", async () => {
    const checkpointer = saver(kind);
    const once = effects(checkpointer);
    let paid = 0;
    const graph = sequence(State, {
      pay: async (_, config) => {
        const receipt = await once(config, "charge", async () => {
          paid += 1;
          if (paid === 1) await checkpointer.deleteThread("thread");
          return `${paid}`;
        });
        return { receipt };
      },
    }).compile({ checkpointer });
    expect(await rejection(graph.invoke({}, thread()))).toMatchObject({ code: "CONFLICT" });
    expect(await once.list(run)).toEqual([]);
    expect(await all(checkpointer.list(thread()))).toEqual([]);
    expect((await graph.invoke({}, thread())).receipt).toBe("2");
  });

  it("an effect that runs is not forgotten", async () => {
    const checkpointer = saver(kind);
    const once = effects(checkpointer);
    let paid = 0;
    const receipt = await once(run, "charge", async () => {
      paid += 1;
      for (const key of ["charge", undefined]) {
        const error = await rejection(once.forget(run, key));
        expect(error).toMatchObject({ code: "CONFLICT" });
        expect(error.message).toContain('the effect "charge" of run "thread" runs in');
      }
      expect(await once.forget(run, "other")).toBe(0);
      return "1";
    });
    expect(await once(run, "charge", async () => `${++paid}`)).toBe(receipt);
    expect(await once.forget(run, "charge")).toBe(1);
    expect(await once(run, "charge", async () => `${++paid}`)).toBe("2");
  });
});
