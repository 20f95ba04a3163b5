// What a rollback undoes: also the memory of a subgraph, which a thread has beside its own checkpoints.
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { Gate, rejection } from "../../__test__/helpers.js";
import { kinds, open, place, thread } from "./helpers.js";

describe.each(kinds)("on %s", (kind) => {
  it.each([false, true])(
    "a subgraph with a memory of its own forgets the undone call, begun before: %s",
    async (before) => {
      const saver = open(place(kind));
      const State = Annotation.Root({ input: Annotation<string>, seen: Annotation<string> });
      const Memory = Annotation.Root({
        input: Annotation<string>,
        seen: Annotation<string>,
        log: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
      });
      const memory = new StateGraph(Memory)
        .addNode("note", ({ input }) => ({ log: [input] }))
        .addNode("tell", ({ log }) => ({ seen: log.join(" ") }))
        .addEdge(START, "note")
        .addEdge("note", "tell")
        .compile({ checkpointer: true });
      const gate = new Gate();
      const graph = new StateGraph(State)
        .addNode("memory", memory)
        .addNode("wait", async ({ input }, { signal }) => {
          if (input !== "first") return {};
          signal?.addEventListener("abort", () => gate.open());
          await gate.wait();
          signal?.throwIfAborted();
          return {};
        })
        .addEdge(START, "memory")
        .addEdge("memory", "wait")
        .compile({ checkpointer: saver });
      const call = (input: string, options = {}) =>
        saver.exclusive("t", (signal) => graph.invoke({ input }, { ...thread("t"), signal }), options);
      if (before) expect((await call("earlier")).seen).toBe("earlier");
      const first = rejection(call("first"));
      await gate.reached;
      expect((await call("second", { whenBusy: "rollback" })).seen).toBe(before ? "earlier second" : "second");
      expect(await first).toMatchObject({ code: "STOPPED" });
      expect((await saver.check()).ok).toBe(true);
    },
  );
});
