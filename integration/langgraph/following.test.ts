// Tests that a run that names no checkpoint begins no branch: each of its saves follows its own last save, or is refused.
import { Annotation } from "@langchain/langgraph";
import { effects } from "forkpoint/effects";
import { describe, expect, it } from "vitest";
import { Gate } from "../../__test__/helpers.js";
import { all, kinds, rejection, saver, sequence, thread } from "./helpers.js";

const State = Annotation.Root({
  who: Annotation<string>,
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});
const modes = ["async", "sync", "exit"] as const;

/** A graph of two nodes. The first one waits until `open` is called for its run. */
function gated(checkpointer: ReturnType<typeof saver>) {
  const gates = new Map<string, Gate>();
  const gate = (who: string) => {
    if (!gates.has(who)) gates.set(who, new Gate());
    return gates.get(who)!;
  };
  const ran: string[] = [];
  const graph = sequence(State, {
    work: async ({ who }) => {
      await gate(who).wait();
      return { log: [`${who} worked`] };
    },
    after: ({ who }) => {
      ran.push(who);
      return { log: [`${who} after`] };
    },
  }).compile({ checkpointer });
  return { graph, gate, ran };
}

describe.each(kinds)("on %s", (kind) => {
  it("an updateState that has found no thread does not save over a run that has begun it meanwhile", async () => {
    const checkpointer = saver(kind);
    const { graph, gate } = gated(checkpointer);
    gate("one").open();
    const getTuple = checkpointer.getTuple.bind(checkpointer);
    checkpointer.getTuple = async (config) => {
      const found = await getTuple(config);
      checkpointer.getTuple = getTuple;
      await graph.invoke({ who: "one" }, thread());
      return found;
    };
    const error = await rejection(graph.updateState(thread(), { who: "two" }));
    expect(error).toMatchObject({ code: "CONFLICT" });
    expect((await graph.getState(thread())).values).toEqual({ who: "one", log: ["one worked", "one after"] });
    // Read again, it follows the run. A thread that is empty is begun.
    await graph.updateState(thread(), { who: "two" });
    expect((await graph.getState(thread())).values.who).toBe("two");
    await graph.updateState(thread("new"), { who: "three" });
    expect((await graph.getState(thread("new"))).values.who).toBe("three");
  });

  it("a run whose writes are refused does not go on", async () => {
    const checkpointer = saver(kind);
    const { graph, gate } = gated(checkpointer);
    gate("one").open();
    await graph.invoke({ who: "one" }, thread());
    const older = (await all(graph.getStateHistory(thread()))).find(({ next }) => next[0] === "work")!;
    const count = async () => (await all(checkpointer.list(thread()))).length;
    const before = await count();
    const gates = gated(checkpointer);
    const branch = rejection(gates.graph.invoke(null, { ...older.config, durability: "async" }));
    await gates.gate("one").reached;
    await expect.poll(count).toBe(before + 1);
    // The checkpoint that the branch works on goes.
    const edited = await graph.updateState(thread(), { who: "three" });
    await checkpointer.prune(["thread"], "keep_latest");
    gates.gate("one").open();
    expect(await branch).toMatchObject({ code: "CONFLICT" });
    expect((await all(checkpointer.list(thread()))).map(({ config }) => config)).toEqual([edited]);
  });

  it.each(modes)(
    "durability %s: of two starts of a thread one is refused, and its later nodes don't run",
    async (durability) => {
      const checkpointer = saver(kind);
      const { graph, gate, ran } = gated(checkpointer);
      gate("zero").open();
      await graph.invoke({ who: "zero" }, thread());
      const refused = new Promise((resolve) => {
        const put = checkpointer.put.bind(checkpointer);
        checkpointer.put = (...given) => {
          const stored = put(...given);
          stored.catch(resolve);
          return stored;
        };
      });
      const runs = ["one", "two"].map((who) => {
        const run = graph.invoke({ who }, { ...thread(), durability });
        run.catch(() => {});
        return run;
      });
      // Both runs work, unless the save of one was refused before.
      await Promise.all(["one", "two"].map((who, at) => Promise.race([gate(who).reached, rejection(runs[at]!)])));
      // The save of one run is refused while both work. With "exit", they save only at their ends.
      if (durability !== "exit") await refused;
      for (const who of ["one", "two"]) gate(who).open();
      const ends = await Promise.allSettled(runs);
      expect(ends.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      const [won, lost] = ends[0]!.status === "fulfilled" ? ["one", "two"] : ["two", "one"];
      for (const end of ends) {
        if (end.status === "rejected") {
          expect(end.reason).toMatchObject({ name: "ForkpointError", code: "CONFLICT" });
          expect(end.reason.message).toContain('another run has continued thread "thread"');
        } else expect(end.value.log.slice(-2)).toEqual([`${won} worked`, `${won} after`]);
      }
      if (durability !== "exit") expect(ran).not.toContain(lost);
      expect((await graph.getState(thread())).values.log.slice(-1)).toEqual([`${won} after`]);
      const parents = (await all(checkpointer.list(thread()))).map(
        ({ parentConfig }) => parentConfig?.configurable?.["checkpoint_id"],
      );
      expect(new Set(parents).size).toBe(parents.length);
    },
  );

  it.each(modes)("durability %s: an update beside a run is not lost, and the run is told", async (durability) => {
    const checkpointer = saver(kind);
    const { graph, gate } = gated(checkpointer);
    const run = rejection(graph.invoke({ who: "one" }, { ...thread(), durability }));
    await gate("one").reached;
    const isStored = async () => durability === "exit" || (await graph.getState(thread())).next[0] === "work";
    await expect.poll(isStored).toBe(true);
    await graph.updateState(thread(), { log: ["from a person"] }, "after");
    gate("one").open();
    expect(await run).toMatchObject({ code: "CONFLICT" });
    expect((await graph.getState(thread())).values.log).toEqual(["from a person"]);
  });

  it("an update that read the thread before a run saved is refused", async () => {
    const checkpointer = saver(kind);
    const { graph, gate } = gated(checkpointer);
    gate("zero").open();
    await graph.invoke({ who: "zero" }, thread());
    gate("one").open();
    checkpointer.put = async (...given) => {
      // The update has read the thread. A run comes before its save.
      Reflect.deleteProperty(checkpointer, "put");
      await graph.invoke({ who: "one" }, thread());
      return checkpointer.put(...given);
    };
    expect(await rejection(graph.updateState(thread(), { log: ["late"] }, "after"))).toMatchObject({
      code: "CONFLICT",
    });
    expect((await graph.getState(thread())).values.log.at(-1)).toBe("one after");
  });

  it("a caller that names a checkpoint makes a branch", async () => {
    const checkpointer = saver(kind);
    const { graph, gate, ran } = gated(checkpointer);
    gate("one").open();
    await graph.invoke({ who: "one" }, thread());
    const history = await all(graph.getStateHistory(thread()));
    const old = history.find(({ next }) => next[0] === "after")!;
    expect((await graph.invoke(null, old.config)).log).toEqual(["one worked", "one after"]);
    const updated = await graph.updateState(old.config, { log: ["edited"] }, "work");
    expect((await graph.invoke(null, updated)).log).toEqual(["one worked", "edited", "one after"]);
    expect(ran).toEqual(["one", "one", "one"]);
    expect((await graph.getState(thread())).values.log).toEqual(["one worked", "edited", "one after"]);
  });

  it.each([true, undefined])(
    "a replay of an edited step begins its subgraph again, with a memory of its own: %s",
    async (own) => {
      const checkpointer = saver(kind);
      const fails = { inner: false };
      const inner = sequence(State, {
        one: ({ who }) => ({ log: [`inner of ${who}`] }),
        two: () => {
          if (fails.inner) throw new Error("the service is down");
          return {};
        },
      }).compile(own === undefined ? {} : { checkpointer: own });
      const graph = sequence(State, { before: () => ({}), sub: inner }).compile({ checkpointer });
      await graph.invoke({ who: "first" }, thread());
      const old = (await all(graph.getStateHistory(thread()))).find(({ next }) => next[0] === "sub")!;
      const edited = await graph.updateState(old.config, { who: "second" });
      fails.inner = true;
      for (let retry = 0; retry < 2; retry++) {
        expect((await rejection(graph.invoke(null, edited))).message).toBe("the service is down");
      }
      fails.inner = false;
      expect((await graph.invoke(null, edited)).log.at(-1)).toBe("inner of second");
    },
  );

  it("a node may call a graph of another thread, with effects of its own", async () => {
    const checkpointer = saver(kind);
    const once = effects(checkpointer);
    const other = sequence(State, {
      pay: async (_, config) => ({ log: [await once(config, "charge", async () => "paid")] }),
    }).compile({ checkpointer });
    const graph = sequence(State, {
      first: () => ({}),
      call: async () => ({ log: (await other.invoke({}, thread("other"))).log }),
    }).compile({ checkpointer });
    expect((await graph.invoke({}, thread())).log).toEqual(["paid"]);
    expect((await graph.invoke({}, thread())).log.slice(0, 1)).toEqual(["paid"]);
  });

  it("a node that handles the error of a subgraph goes on, also if a save of the subgraph has failed", async () => {
    const checkpointer = saver(kind);
    const inner = sequence(State, { one: () => ({ log: [10n as never] }) }).compile();
    const graph = sequence(State, {
      call: async (state) => {
        try {
          return await inner.invoke(state);
        } catch {
          return { log: ["fallback"] };
        }
      },
      after: () => ({ log: ["after"] }),
    }).compile({ checkpointer });
    const config = { ...thread(), durability: "sync" as const };
    expect((await graph.invoke({}, config)).log).toEqual(["fallback", "after"]);
  });

  it("expectedParent: false lets both runs save", async () => {
    const checkpointer = saver(kind, { expectedParent: false });
    const { graph, gate } = gated(checkpointer);
    const runs = ["one", "two"].map((who) => graph.invoke({ who }, thread()));
    await Promise.all(["one", "two"].map((who) => gate(who).reached));
    for (const who of ["one", "two"]) gate(who).open();
    for (const { log } of await Promise.all(runs)) expect(log).toHaveLength(2);
  });
});
