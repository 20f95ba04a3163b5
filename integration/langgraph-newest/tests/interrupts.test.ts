// Interrupts and time travel, where most checkpointers have had bugs.
import { Annotation, Command, END, INTERRUPT, START, StateGraph, interrupt } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { Log, all, kinds, open, place, saver, says, thread } from "./helpers.js";

type Interrupted = { [INTERRUPT]?: Array<{ id?: string; value?: unknown }> };

/** Returns the values of the interrupts that stopped a run. */
const asked = (result: unknown) => ((result as Interrupted)[INTERRUPT] ?? []).map(({ value }) => value);

describe.each(kinds)("on %s", (kind) => {
  describe("interrupt()", () => {
    /** A graph with one interrupt, between two nodes that count their runs. */
    function approval() {
      const ran = { draft: 0, review: 0, send: 0 };
      const graph = new StateGraph(Log)
        .addNode("draft", () => {
          ran.draft += 1;
          return { log: ["draft"] };
        })
        .addNode("review", () => {
          ran.review += 1;
          return { log: [`review: ${interrupt<unknown, string>({ question: "send it?" })}`] };
        })
        .addNode("send", () => {
          ran.send += 1;
          return { log: ["sent"] };
        })
        .addEdge(START, "draft")
        .addEdge("draft", "review")
        .addEdge("review", "send")
        .addEdge("send", END);
      return { ran, graph };
    }

    it("stops the run, and Command({ resume }) answers it without repeating what was done", async () => {
      const { ran, graph } = approval();
      const app = graph.compile({ checkpointer: saver(kind) });
      expect(asked(await app.invoke({ log: ["in"] }, thread()))).toEqual([{ question: "send it?" }]);
      const stopped = await app.getState(thread());
      expect(stopped.values).toEqual({ log: ["in", "draft"] });
      expect(stopped.next).toEqual(["review"]);
      expect(stopped.tasks).toHaveLength(1);
      expect(stopped.tasks[0]!.interrupts.map(({ value }) => value)).toEqual([{ question: "send it?" }]);

      const result = await app.invoke(new Command({ resume: "yes" }), thread());
      expect(result).toEqual({ log: ["in", "draft", "review: yes", "sent"] });
      expect(ran).toEqual({ draft: 1, review: 2, send: 1 });
      const ended = await app.getState(thread());
      expect(ended.values).toEqual(result);
      expect(ended.next).toEqual([]);
    });

    it("is resumed by a graph that was compiled anew, on the same saver", async () => {
      const checkpointer = saver(kind);
      await approval()
        .graph.compile({ checkpointer })
        .invoke({ log: ["in"] }, thread());
      const { ran, graph } = approval();
      const result = await graph.compile({ checkpointer }).invoke(new Command({ resume: "yes" }), thread());
      expect(result.log).toEqual(["in", "draft", "review: yes", "sent"]);
      expect(ran).toEqual({ draft: 0, review: 1, send: 1 });
    });

    it("keeps threads apart: each is answered for itself", async () => {
      const app = approval().graph.compile({ checkpointer: saver(kind) });
      for (const id of ["a", "b"]) await app.invoke({ log: [id] }, thread(id));
      expect((await app.invoke(new Command({ resume: "no" }), thread("b"))).log).toContain("review: no");
      expect((await app.getState(thread("a"))).next).toEqual(["review"]);
      expect((await app.invoke(new Command({ resume: "yes" }), thread("a"))).log).toContain("review: yes");
      expect((await app.getState(thread("b"))).values.log).toEqual(["b", "draft", "review: no", "sent"]);
    });

    it("several times in one node: the answers come back in the order of the questions", async () => {
      const app = new StateGraph(Log)
        .addNode("form", () => {
          const name = interrupt<string, string>("name?");
          const town = interrupt<string, string>("town?");
          const sure = interrupt<string, string>("sure?");
          return { log: [name, town, sure] };
        })
        .addEdge(START, "form")
        .compile({ checkpointer: saver(kind) });
      expect(asked(await app.invoke({ log: [] }, thread()))).toEqual(["name?"]);
      expect(asked(await app.invoke(new Command({ resume: "Ada" }), thread()))).toEqual(["town?"]);
      expect(asked(await app.invoke(new Command({ resume: "London" }), thread()))).toEqual(["sure?"]);
      expect(await app.invoke(new Command({ resume: "yes" }), thread())).toEqual({ log: ["Ada", "London", "yes"] });
    });

    it("in parallel nodes: all are answered at once, by their ids", async () => {
      const asks = (name: string) => () => ({ log: [`${name}: ${interrupt<string, string>(`${name}?`)}`] });
      const app = new StateGraph(Log)
        .addNode("a", asks("a"))
        .addNode("b", asks("b"))
        .addNode("quiet", says("quiet"))
        .addEdge(START, "a")
        .addEdge(START, "b")
        .addEdge(START, "quiet")
        .compile({ checkpointer: saver(kind) });
      const result = (await app.invoke({ log: [] }, thread())) as Interrupted;
      expect(asked(result).toSorted()).toEqual(["a?", "b?"]);
      const answers = Object.fromEntries(result[INTERRUPT]!.map(({ id, value }) => [id!, `${String(value)} yes`]));
      const { log } = await app.invoke(new Command({ resume: answers }), thread());
      expect(log.toSorted()).toEqual(["a: a? yes", "b: b? yes", "quiet"]);
    });

    it("keeps its question's and its answer's values whatever they are made of", async () => {
      const seen: unknown[] = [];
      const app = new StateGraph(Log)
        .addNode("ask", () => {
          seen.push(interrupt({ bytes: new Uint8Array([0, 255]), tags: new Set(["é"]) }));
          return { log: ["done"] };
        })
        .addEdge(START, "ask")
        .compile({ checkpointer: saver(kind) });
      await app.invoke({ log: [] }, thread());
      const { tasks } = await app.getState(thread());
      expect(tasks[0]!.interrupts[0]!.value).toEqual({ bytes: new Uint8Array([0, 255]), tags: new Set(["é"]) });
      await app.invoke(new Command({ resume: { map: new Map([["k", [1]]]) } }), thread());
      expect(seen).toEqual([{ map: new Map([["k", [1]]]) }]);
    });
  });

  describe("static interrupts", () => {
    const chain = () =>
      new StateGraph(Log)
        .addNode("a", says("a"))
        .addNode("b", says("b"))
        .addNode("c", says("c"))
        .addEdge(START, "a")
        .addEdge("a", "b")
        .addEdge("b", "c")
        .addEdge("c", END);

    it("interruptBefore stops before the node, every time, and null goes on", async () => {
      const app = chain().compile({ checkpointer: saver(kind), interruptBefore: ["b", "c"] });
      await app.invoke({ log: ["in"] }, thread());
      expect((await app.getState(thread())).next).toEqual(["b"]);
      await app.invoke(null, thread());
      expect((await app.getState(thread())).next).toEqual(["c"]);
      expect(await app.invoke(null, thread())).toEqual({ log: ["in", "a", "b", "c"] });
    });

    it("interruptAfter stops after it", async () => {
      const app = chain().compile({ checkpointer: saver(kind), interruptAfter: ["a"] });
      await app.invoke({ log: ["in"] }, thread());
      const { values, next } = await app.getState(thread());
      expect({ values, next }).toEqual({ values: { log: ["in", "a"] }, next: ["b"] });
      expect(await app.invoke(null, thread())).toEqual({ log: ["in", "a", "b", "c"] });
    });

    it("the state may be edited while it waits", async () => {
      const app = chain().compile({ checkpointer: saver(kind), interruptBefore: ["b"] });
      await app.invoke({ log: ["in"] }, thread());
      await app.updateState(thread(), { log: ["edited"] });
      expect((await app.getState(thread())).next).toEqual(["b"]);
      expect(await app.invoke(null, thread())).toEqual({ log: ["in", "a", "edited", "b", "c"] });
    });
  });

  describe("history", () => {
    const chain = () =>
      new StateGraph(Log)
        .addNode("a", says("a"))
        .addNode("b", says("b"))
        .addEdge(START, "a")
        .addEdge("a", "b")
        .addEdge("b", END);

    it("lists every step, the newest first, each with its values, its next nodes and its parent", async () => {
      const app = chain().compile({ checkpointer: saver(kind) });
      await app.invoke({ log: ["in"] }, thread());
      const history = await all(app.getStateHistory(thread()));
      expect(history.map(({ values, next, metadata }) => [values, next, metadata?.source, metadata?.step])).toEqual([
        [{ log: ["in", "a", "b"] }, [], "loop", 2],
        [{ log: ["in", "a"] }, ["b"], "loop", 1],
        [{ log: ["in"] }, ["a"], "loop", 0],
        [{ log: [] }, ["__start__"], "input", -1],
      ]);
      const id = (config: (typeof history)[number]["config"] | undefined) => config?.configurable?.["checkpoint_id"];
      expect(history.map(({ parentConfig }) => id(parentConfig))).toEqual([
        ...history.slice(1).map(({ config }) => id(config)),
        undefined,
      ]);
      for (const { config, values } of history) expect((await app.getState(config)).values).toEqual(values);
    });

    it("takes limit, before and filter", async () => {
      const app = chain().compile({ checkpointer: saver(kind) });
      await app.invoke({ log: ["in"] }, thread());
      const history = await all(app.getStateHistory(thread()));
      const steps = async (options: Parameters<typeof app.getStateHistory>[1]) =>
        (await all(app.getStateHistory(thread(), options))).map(({ metadata }) => metadata?.step);
      expect(await steps({ limit: 2 })).toEqual([2, 1]);
      expect(await steps({ before: history[1]!.config })).toEqual([0, -1]);
      expect(await steps({ before: history[1]!.config, limit: 1 })).toEqual([0]);
      expect(await steps({ filter: { source: "input" } })).toEqual([-1]);
      expect(await steps({ filter: { source: "loop", step: 1 } })).toEqual([1]);
    });

    it("updateState adds a checkpoint, as the node that it is told, and goes on after that node", async () => {
      const app = chain().compile({ checkpointer: saver(kind) });
      const config = await app.updateState(thread(), { log: ["as a"] }, "a");
      const state = await app.getState(thread());
      expect(state.config.configurable?.["checkpoint_id"]).toBe(config.configurable?.["checkpoint_id"]);
      expect(state).toMatchObject({ values: { log: ["as a"] }, next: ["b"], metadata: { source: "update" } });
      expect(await app.invoke(null, thread())).toEqual({ log: ["as a", "b"] });
      await app.updateState(thread(), { log: ["again"] }, "a");
      expect((await app.getState(thread())).next).toEqual(["b"]);
      expect(await app.invoke(null, thread())).toEqual({ log: ["as a", "b", "again", "b"] });
    });

    it("updateState with nothing, or with the end, keeps every value", async () => {
      const app = chain().compile({ checkpointer: saver(kind), interruptBefore: ["b"] });
      await app.invoke({ log: ["in"] }, thread());
      await app.updateState(thread(), null);
      expect(await app.getState(thread())).toMatchObject({ values: { log: ["in", "a"] }, next: ["b"] });
      await app.updateState(thread(), null, END);
      expect(await app.getState(thread())).toMatchObject({ values: { log: ["in", "a"] }, next: [] });
    });

    it("__copy__ makes a sibling of any checkpoint that reads as that one, and runs as it would", async () => {
      const app = chain().compile({ checkpointer: saver(kind) });
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
      const node = (name: string, does: (state: typeof State.State) => typeof State.Update) =>
        [
          name,
          (state: typeof State.State) => {
            ran.push(name);
            return { ...does(state), log: [name] };
          },
        ] as const;
      const graph = new StateGraph(State)
        .addNode(...node("find", ({ topic }) => ({ topic: topic ?? "cats" })))
        .addNode(...node("tell", ({ topic }) => ({ joke: `a joke about ${topic}` })))
        .addNode(...node("rate", ({ joke }) => ({ grade: `${joke}: good` })))
        .addEdge(START, "find" as never)
        .addEdge("find" as never, "tell" as never)
        .addEdge("tell" as never, "rate" as never)
        .addEdge("rate" as never, END);
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

    it("a new input at an old checkpoint begins a branch there", async () => {
      const { graph } = jokes();
      const app = graph.compile({ checkpointer: saver(kind) });
      await app.invoke({ topic: "dogs" }, thread());
      const history = await all(app.getStateHistory(thread()));
      const old = history.find(({ next }) => next[0] === "rate")!;
      const result = await app.invoke({ topic: "birds" }, old.config);
      expect(result).toEqual({
        topic: "birds",
        joke: "a joke about birds",
        grade: "a joke about birds: good",
        log: ["find", "tell", "find", "tell", "rate"],
      });
      for (const { config, values } of history) expect((await app.getState(config)).values).toEqual(values);
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

    it("langgraphjs#1812: a branch that is continued later inherits from itself, not from its sibling", async () => {
      const { graph } = jokes();
      const app = graph.compile({ checkpointer: saver(kind), interruptBefore: ["rate" as never] });
      await app.invoke({ topic: "dogs" }, thread());
      const base = (await all(app.getStateHistory(thread()))).find(({ next }) => next[0] === "tell")!;
      const tips = new Map<string, typeof base.config>();
      for (const topic of ["cats", "birds"]) {
        await app.invoke(null, await app.updateState(base.config, { topic }));
        tips.set(topic, (await app.getState(thread())).config);
      }
      // Continue with the older branch first, and with the newer branch after that. `rate` reads a joke that neither
      // branch writes again.
      for (const [topic, tip] of tips) {
        const fork = await app.updateState(tip, { log: ["again"] }, "tell");
        expect((await app.getState(fork)).values).toMatchObject({ topic, joke: `a joke about ${topic}` });
        expect(await app.invoke(null, fork)).toMatchObject({ grade: `a joke about ${topic}: good` });
      }
    });

    it("langgraphjs#1812: a copy of either branch reads that branch's values", async () => {
      const { graph } = jokes();
      const app = graph.compile({ checkpointer: saver(kind) });
      await app.invoke({ topic: "dogs" }, thread());
      const base = (await all(app.getStateHistory(thread()))).find(({ next }) => next[0] === "tell")!;
      const tips = new Map<string, typeof base.config>();
      for (const topic of ["cats", "birds", "fish"]) {
        await app.invoke(null, await app.updateState(base.config, { topic }));
        tips.set(topic, (await app.getState(thread())).config);
      }
      for (const [topic, tip] of tips) {
        const copy = await app.getState(await app.updateState(tip, null, "__copy__"));
        expect(copy.values).toMatchObject({ topic, grade: `a joke about ${topic}: good` });
      }
    });

    it("an interrupt is answered anew in a branch from before it, whatever the first answer was", async () => {
      const app = new StateGraph(Log)
        .addNode("a", says("a"))
        .addNode("ask", () => ({ log: [interrupt<string, string>("well?")] }))
        .addEdge(START, "a")
        .addEdge("a", "ask")
        .compile({ checkpointer: saver(kind) });
      await app.invoke({ log: [] }, thread());
      expect((await app.invoke(new Command({ resume: "first" }), thread())).log).toEqual(["a", "first"]);
      const before = (await all(app.getStateHistory(thread()))).find(({ next }) => next[0] === "ask")!;
      expect(asked(await app.invoke(null, before.config))).toEqual(["well?"]);
      expect((await app.invoke(new Command({ resume: "second" }), thread())).log).toEqual(["a", "second"]);
    });
  });
});

it("an interrupt waits in the file: a saver that opens it later resumes", async () => {
  const target = place("sqlite");
  const graph = () =>
    new StateGraph(Log)
      .addNode("a", says("a"))
      .addNode("ask", () => ({ log: [interrupt<string, string>("well?")] }))
      .addEdge(START, "a")
      .addEdge("a", "ask");
  const first = open(target);
  await graph().compile({ checkpointer: first }).invoke({ log: [] }, thread());
  await first.close();
  const app = graph().compile({ checkpointer: open(target) });
  expect((await app.getState(thread())).tasks[0]!.interrupts[0]!.value).toBe("well?");
  expect(await app.invoke(new Command({ resume: "yes" }), thread())).toEqual({ log: ["a", "yes"] });
});
