// Tests that the store gives the order of a thread's checkpoints, whatever the clock says. LangGraph makes ids of the time.
import { Annotation, Command, interrupt } from "@langchain/langgraph";
import { effects } from "forkpoint/effects";
import { openInspector } from "forkpoint/inspect";
import { recover } from "forkpoint/langgraph";
import { afterEach, describe, expect, it, vi } from "vitest";
import { all, checkpoint, kinds, metadata, open, place, saver, sequence, sharedKinds, thread } from "./helpers.js";

const HOUR = 3_600_000;

/** Sets the clock back from now on. */
function setBack(ms: number) {
  const now = Date.now();
  vi.useRealTimers();
  vi.useFakeTimers({ toFake: ["Date"], now: now - ms, shouldAdvanceTime: true });
}

afterEach(() => void vi.useRealTimers());

const State = Annotation.Root({
  n: Annotation<number>,
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const turn = (checkpointer: ReturnType<typeof saver>) =>
  sequence(State, { work: ({ n }) => ({ log: [`turn ${n}`] }) }).compile({ checkpointer });

describe.each(kinds)("on %s", (kind) => {
  it("a later turn is the latest one, although the clock was set back by an hour", async () => {
    const checkpointer = saver(kind);
    const graph = turn(checkpointer);
    await graph.invoke({ n: 1 }, thread());
    setBack(HOUR);
    for (const n of [2, 3]) await graph.invoke({ n }, thread());
    const state = await graph.getState(thread());
    expect(state.values).toEqual({ n: 3, log: ["turn 1", "turn 2", "turn 3"] });
    const history = await all(graph.getStateHistory(thread()));
    expect(history.map(({ metadata: made }) => made!.step)).toEqual(
      [7, 6, 5, 4, 3, 2, 1, 0, -1].slice(-history.length),
    );
    // Each checkpoint is listed once, page by page, and the parents follow their children.
    for (const [at, { parentConfig }] of history.slice(0, -1).entries())
      expect(parentConfig).toEqual(history[at + 1]!.config);
    for (const limit of [1, 2, 4]) {
      const paged = [];
      let before: (typeof history)[number]["config"] | undefined;
      for (;;) {
        const page = await all(graph.getStateHistory(thread(), { limit, ...(before && { before }) }));
        paged.push(...page);
        if (page.length < limit) break;
        before = page.at(-1)!.config;
      }
      expect(paged.map(({ config }) => config)).toEqual(history.map(({ config }) => config));
    }
    for (const { config } of history) {
      const [found, ...more] = await all(checkpointer.list(config));
      expect(found!.config).toEqual(config);
      expect(more).toEqual([]);
    }
    const { threads } = await checkpointer.listThreads();
    expect(threads[0]!.latest.checkpointId).toBe(state.config.configurable!["checkpoint_id"]);
    await checkpointer.prune(["thread"], { keepLastN: 2 });
    expect((await graph.getState(thread())).values.log).toEqual(["turn 1", "turn 2", "turn 3"]);
    expect(await all(checkpointer.list(thread()))).toHaveLength(2);
  });

  it("effects of a run happen once, and it ends with its own state, although the clock steps back in it", async () => {
    const checkpointer = saver(kind);
    const once = effects(checkpointer);
    const calls: string[] = [];
    const node = (key: string) => async (_: unknown, config: any) => {
      const log = [await once(config, key, async () => `${key}${calls.push(key)}`)];
      if (key === "a") setBack(1_000);
      return { log };
    };
    const graph = sequence(State, {
      a: node("a"),
      b: node("b"),
      c: async (state, config) => ({
        log: [...(await node("a")(state, config)).log, ...(await node("b")(state, config)).log],
      }),
    }).compile({ checkpointer });
    const { log } = await graph.invoke({ n: 1 }, thread());
    expect(log).toEqual(["a1", "b2", "a1", "b2"]);
    expect(calls).toEqual(["a", "b"]);
    expect((await graph.getState(thread())).values.log).toEqual(log);
  });

  it("a question of a subgraph is found and answered, although the clock was set back before it", async () => {
    const target = place(kind);
    const checkpointer = open(target);
    const inner = sequence(State, { ask: () => ({ log: [interrupt("ok?") as string] }) }).compile();
    const graph = sequence(State, {
      first: () => {
        setBack(HOUR);
        return {};
      },
      inner,
    }).compile({ checkpointer });
    await graph.invoke({ n: 1 }, thread());
    expect(await checkpointer.status("thread")).toMatchObject({ status: "waiting", interrupts: [{ value: "ok?" }] });
    expect((await graph.invoke(new Command({ resume: "yes" }), thread())).log).toEqual(["yes"]);
    expect((await checkpointer.status("thread"))!.status).toBe("finished");
  });

  it("a repeated put stays at its place", async () => {
    const checkpointer = saver(kind);
    const [first, second] = [checkpoint(), checkpoint()];
    const root = await checkpointer.put(thread(), first, metadata(), {});
    await checkpointer.put(root, second, metadata(), {});
    await checkpointer.put(thread(), first, metadata(), {});
    expect((await checkpointer.getTuple(thread()))!.checkpoint.id).toBe(second.id);
  });
});

describe.each(sharedKinds)("on %s", (kind) => {
  it("a turn that failed after the clock was set back is recovered, and an answer finds its question", async () => {
    const target = place(kind);
    const checkpointer = open(target, { program: "turns" });
    let fails = true;
    const graph = sequence(State, {
      work: ({ n }) => {
        if (n === 2 && fails) throw new Error("the service is down");
        return { log: [`turn ${n}`] };
      },
      ask: ({ n }) => (n === 3 ? { log: [interrupt("ok?") as string] } : {}),
    }).compile({ checkpointer, name: "turns" });
    await graph.invoke({ n: 1 }, thread());
    setBack(HOUR);
    await expect(graph.invoke({ n: 2 }, thread())).rejects.toThrow("the service is down");
    expect((await checkpointer.status("thread"))!.status).toBe("failed");
    fails = false;
    await graph.invoke(null, thread());
    expect((await graph.getState(thread())).values.log).toEqual(["turn 1", "turn 2"]);
    await graph.invoke({ n: 3 }, thread());
    const inspector = await openInspector(target, { write: true });
    await inspector.answer({ space: "langgraph", run: "thread" }, { value: "yes" });
    await inspector.close();
    expect((await recover(graph, checkpointer, { idleMs: 0 })).runs).toMatchObject([{ threadId: "thread" }]);
    expect((await graph.getState(thread())).values.log).toEqual(["turn 1", "turn 2", "turn 3", "yes"]);
  });
});
