// Interrupts and time travel, where most checkpointers have had bugs.
import { Annotation, Command, INTERRUPT, interrupt } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { Log, all, kinds, saver, says, sequence, thread } from "./helpers.js";

type Interrupted = { [INTERRUPT]?: Array<{ id?: string; value?: unknown }> };

/** Returns the values of the interrupts that stopped a run. */
const asked = (result: unknown) => ((result as Interrupted)[INTERRUPT] ?? []).map(({ value }) => value);

describe.each(kinds)("on %s", (kind) => {
  it("keeps its question's and its answer's values whatever they are made of", async () => {
    const seen: unknown[] = [];
    const app = sequence(Log, {
      ask: () => {
        seen.push(interrupt({ bytes: new Uint8Array([0, 255]), tags: new Set(["é"]) }));
        return { log: ["done"] };
      },
    }).compile({ checkpointer: saver(kind) });
    await app.invoke({ log: [] }, thread());
    const { tasks } = await app.getState(thread());
    expect(tasks[0]!.interrupts[0]!.value).toEqual({ bytes: new Uint8Array([0, 255]), tags: new Set(["é"]) });
    await app.invoke(new Command({ resume: { map: new Map([["k", [1]]]) } }), thread());
    expect(seen).toEqual([{ map: new Map([["k", [1]]]) }]);
  });

  it("__copy__ makes a sibling of any checkpoint that reads as that one, and runs as it would", async () => {
    const app = sequence(Log, { a: says("a"), b: says("b") }).compile({ checkpointer: saver(kind) });
    await app.invoke({ log: ["in"] }, thread());
    const history = await all(app.getStateHistory(thread()));
    expect(history.length).toBeGreaterThan(3);
    for (const { config, values, next, parentConfig, metadata } of history) {
      const copy = await app.getState(await app.updateState(config, null, "__copy__"));
      expect(copy).toMatchObject({ values, next, metadata: { source: "fork", step: metadata!.step + 1 } });
      expect(copy.parentConfig?.configurable?.["checkpoint_id"]).toBe(parentConfig?.configurable?.["checkpoint_id"]);
    }
    const copied = await app.updateState(history[1]!.config, null, "__copy__");
    expect(await app.invoke(null, copied)).toEqual({ log: ["in", "a", "b"] });
  });

  describe("time travel", () => {
    const State = Annotation.Root({
      topic: Annotation<string>,
      joke: Annotation<string>,
      grade: Annotation<string>,
      log: Annotation<string[]>({ reducer: (before, said) => [...before, ...said], default: () => [] }),
    });

    function jokes() {
      const ran: string[] = [];
      const node =
        (name: string, does: (state: typeof State.State) => typeof State.Update) => (state: typeof State.State) => {
          ran.push(name);
          return { ...does(state), log: [name] };
        };
      const graph = sequence(State, {
        find: node("find", ({ topic }) => ({ topic: topic ?? "cats" })),
        tell: node("tell", ({ topic }) => ({ joke: `a joke about ${topic}` })),
        rate: node("rate", ({ joke }) => ({ grade: `${joke}: good` })),
      });
      return { ran, graph };
    }

    it("a run from an old checkpoint repeats only what comes after it", async () => {
      const { ran, graph } = jokes();
      const app = graph.compile({ checkpointer: saver(kind) });
      const first = await app.invoke({ topic: "dogs" }, thread());
      const before = await all(app.getStateHistory(thread()));
      const old = before.find(({ next }) => next[0] === "tell")!;
      ran.length = 0;
      expect(await app.invoke(null, old.config)).toEqual(first);
      expect(ran).toEqual(["tell", "rate"]);
      // The old checkpoints are unchanged, and the end of the new branch is the latest.
      const after = await all(app.getStateHistory(thread()));
      expect(after.slice(-before.length)).toEqual(before);
      expect(after.length).toBeGreaterThan(before.length);
      expect((await app.getState(thread())).values).toEqual(first);
    });

    it("langgraphjs#1812: every branch reads its own values, though all count their versions alike", async () => {
      const { graph } = jokes();
      const checkpointer = saver(kind);
      const app = graph.compile({ checkpointer });
      await app.invoke({ topic: "dogs" }, thread());
      const base = (await all(app.getStateHistory(thread()))).find(({ next }) => next[0] === "tell")!;

      const branches: Array<{ topic: string; states: Array<Awaited<ReturnType<typeof app.getState>>> }> = [];
      for (const topic of ["cats", "birds", "fish"]) {
        const fork = await app.updateState(base.config, { topic });
        const result = await app.invoke(null, fork);
        expect(result).toMatchObject({ topic, joke: `a joke about ${topic}`, grade: `a joke about ${topic}: good` });
        const states: Array<Awaited<ReturnType<typeof app.getState>>> = [];
        let at = (await app.getState(thread())).config as typeof base.config | undefined;
        while (at && at.configurable?.["checkpoint_id"] !== base.config.configurable?.["checkpoint_id"]) {
          const state = await app.getState(at);
          states.push(state);
          at = state.parentConfig;
        }
        branches.push({ topic, states });
      }

      // The channels of both branches have the same versions, so a saver could confuse the values of the branches.
      const versions = await Promise.all(
        branches.map(
          async ({ states }) => (await checkpointer.getTuple(states[0]!.config))!.checkpoint.channel_versions,
        ),
      );
      expect(versions[1]).toEqual(versions[0]);
      expect(versions[2]).toEqual(versions[0]);

      for (const { topic, states } of branches) {
        expect(states.length).toBeGreaterThanOrEqual(3);
        for (const state of states) {
          expect(state.values.topic).toBe(topic);
          expect((await app.getState(state.config)).values).toEqual(state.values);
        }
        expect(states[0]!.values.grade).toBe(`a joke about ${topic}: good`);
      }
      expect((await app.getState(base.config)).values).toEqual(base.values);
    });

    it("an interrupt is answered anew in a branch from before it, whatever the first answer was", async () => {
      const app = sequence(Log, { a: says("a"), ask: () => ({ log: [interrupt<string, string>("well?")] }) }).compile({
        checkpointer: saver(kind),
      });
      await app.invoke({ log: [] }, thread());
      expect((await app.invoke(new Command({ resume: "first" }), thread())).log).toEqual(["a", "first"]);
      const before = (await all(app.getStateHistory(thread()))).find(({ next }) => next[0] === "ask")!;
      expect(asked(await app.invoke(null, before.config))).toEqual(["well?"]);
      expect((await app.invoke(new Command({ resume: "second" }), thread())).log).toEqual(["a", "second"]);
    });
  });
});
