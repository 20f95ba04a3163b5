// Subgraphs: each keeps its checkpoints in its own namespace.
import { Annotation, interrupt } from "@langchain/langgraph";
import { type CheckpointListOptions } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import { Log, all, kinds, saver, says, sequence, thread } from "./helpers.js";

/** A graph with a subgraph between two nodes. The subgraph interrupts in its second node. */
function nested() {
  const ran: string[] = [];
  const node = (name: string) => () => {
    ran.push(name);
    return { log: [name] };
  };
  const inner = sequence(Log, {
    first: node("first"),
    ask: () => {
      ran.push("ask");
      return { log: [`answer: ${interrupt<string, string>("inside?")}`] };
    },
    last: node("last"),
  }).compile();
  const graph = sequence(Log, { before: node("before"), inner, after: node("after") });
  return { ran, graph };
}

describe.each(kinds)("on %s", (kind) => {
  it("a subgraph's state is read and edited while it waits", async () => {
    const { ran, graph } = nested();
    const app = graph.compile({ checkpointer: saver(kind) });
    await app.invoke({ log: ["in"] }, thread());
    const outer = await app.getState(thread(), { subgraphs: true });
    expect(outer.next).toEqual(["inner"]);
    const inner = outer.tasks[0]!.state as typeof outer;
    expect(inner.values).toEqual({ log: ["in", "before", "first"] });
    expect(inner.next).toEqual(["ask"]);
    expect(inner.metadata?.parents).toEqual({ "": outer.config.configurable?.["checkpoint_id"] });

    await app.updateState(inner.config, { log: ["edited"] }, "ask");
    const edited = (await app.getState(thread(), { subgraphs: true })).tasks[0]!.state as typeof outer;
    expect(edited.values).toEqual({ log: ["in", "before", "first", "edited"] });
    expect(edited.next).toEqual(["last"]);
    const { log } = await app.invoke(null, thread());
    expect(log.slice(-4)).toEqual(["first", "edited", "last", "after"]);
    expect(ran.filter((name) => name === "ask")).toHaveLength(1);
  });

  describe("a subgraph that remembers from one run to the next", () => {
    /** A subgraph that counts its runs in a state that the parent graph does not see. */
    function remembering() {
      const Memory = Annotation.Root({
        log: Annotation<string[]>,
        seen: Annotation<number>({ reducer: (before, more) => before + more, default: () => 0 }),
      });
      const inner = sequence(Memory, {
        count: () => ({ seen: 1 }),
        say: ({ seen }) => ({ log: [`seen ${seen}`] }),
      }).compile({ checkpointer: true });
      return sequence(Log, {
        before: says("before"),
        inner: async (state: typeof Log.State) => ({ log: (await inner.invoke({ log: state.log })).log }),
      });
    }

    it("time travel takes it back to what it knew then, by list with before and limit 1", async () => {
      const checkpointer = saver(kind);
      const asked: CheckpointListOptions[] = [];
      const list = checkpointer.list.bind(checkpointer);
      checkpointer.list = (config: Parameters<typeof list>[0], options?: CheckpointListOptions) => {
        if (options) asked.push(options);
        return list(config, options);
      };
      const app = remembering().compile({ checkpointer });
      for (const count of [1, 2, 3])
        expect((await app.invoke({ log: ["in"] }, thread())).log.at(-1)).toBe(`seen ${count}`);
      expect((await app.invoke({ log: ["in"] }, thread("other"))).log.at(-1)).toBe("seen 1");
      const history = await all(app.getStateHistory(thread()));
      // The state of the second run before its subgraph started.
      const old = history.filter(({ next }) => next[0] === "inner")[1]!;
      asked.length = 0;
      expect((await app.invoke(null, old.config)).log.at(-1)).toBe("seen 2");
      expect(asked).toContainEqual({ limit: 1, before: { configurable: { checkpoint_id: expect.any(String) } } });
    });
  });
});
