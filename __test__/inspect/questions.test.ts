// Tests what threads of TinyAgents ask, and the answers that are stored.
import { type Inspector } from "forkpoint/inspect";
import { Checkpointer, Graph, START } from "forkpoint/tinyagents";
import { describe, expect, test } from "vitest";
import { inspected as opened } from "../contents.js";
import { failure, kinds, place } from "../helpers.js";

interface State {
  log: unknown[];
}

const reducer = (state: State, update: Partial<State>): State => ({ log: [...state.log, ...(update.log ?? [])] });

const asks = (question: unknown) => (_: State, context: { interrupt(value: unknown): unknown }) => ({
  log: [context.interrupt(question)],
});

/** A graph that asks: two nodes at the same time, one in a subgraph, and one twice. */
function graphOf(checkpointer: Checkpointer<State>) {
  const inner = new Graph<State>({
    nodes: { deep: asks({ question: "Deep?", choices: ["yes", "no"] }) },
    edges: [[START, "deep"]],
    reducer,
  });
  return new Graph<State>({
    nodes: {
      pay: asks({ question: "May I?", tool: "refund", args: { amount: 480 } }),
      inner: {
        subgraph: inner,
        input: () => ({ log: [] }),
        output: ({ log }: State) => ({ log: ["inner", ...log] }),
      } as never,
      form(_, context) {
        const [name, town] = [context.interrupt("name?"), context.interrupt("town?")];
        return { log: [`${String(name)} of ${String(town)}`] };
      },
    },
    edges: [
      [START, "pay"],
      [START, "inner"],
      ["pay", "form"],
    ],
    reducer,
    checkpointer,
  });
}

const of = (run: string) => ({ space: "tinyagents", run });

const open = async (inspector: Inspector, run: string) =>
  (await inspector.questions(of(run))).filter(({ answered }) => answered === null);

describe.each(kinds)("threads of TinyAgents in %s", (kind) => {
  test("continue with stored answers as with graph.resume()", async () => {
    const { store, inspector } = await opened(place(kind));
    const graph = graphOf(new Checkpointer<State>(store));
    await graph.invoke({ log: [] }, { threadId: "asked" });
    const asked = await open(inspector, "asked");
    expect(asked.map(({ node, tool, args, text, choices }) => [node, tool, args, text, choices])).toEqual([
      ["pay", "refund", { amount: 480 }, "May I?", []],
      ["inner", null, null, "Deep?", ["yes", "no"]],
    ]);
    expect((await inspector.run(of("asked"), { withWhy: true }))!.question).toBe(
      'refund({"amount":480}) May I? (and 1 more)',
    );
    expect(asked.map(({ approve, reject }) => [approve, reject])).toEqual([
      [true, false],
      ["yes", "no"],
    ]);
    const began = Date.now();
    for (const { id } of asked) {
      expect((await inspector.run(of("asked")))!.status).toBe("waiting");
      await inspector.answer(of("asked"), { id, approve: true, by: "Zoë" });
      await failure(inspector.answer(of("asked"), { id, approve: true }), "CONFLICT");
    }
    expect((await inspector.run(of("asked")))!.status).toBe("unfinished");
    const stored = (await inspector.questions(of("asked"))).map(({ answered }) => answered!);
    expect(stored.map(({ value, by }) => [value, by])).toEqual([
      [true, "Zoë"],
      ["yes", "Zoë"],
    ]);
    for (const { at } of stored) expect(at).toBeGreaterThanOrEqual(began);
    expect((await graphOf(new Checkpointer<State>(store)).resume("asked")).status).toBe("interrupted");
    const [name] = await open(inspector, "asked");
    expect([name!.node, name!.text]).toEqual(["form", "name?"]);
    await inspector.answer(of("asked"), { value: "Ada" });
    expect((await graph.resume("asked")).status).toBe("interrupted");
    const [town, ...others] = await open(inspector, "asked");
    expect([town!.text, others]).toEqual(["town?", []]);
    await inspector.answer(of("asked"), { value: null });
    const { status, state } = await graph.resume("asked");
    expect(status).toBe("done");

    await graph.invoke({ log: [] }, { threadId: "resumed" });
    const tasks = (await open(inspector, "resumed")).map(({ id }) => id);
    await graph.resume("resumed", { answers: { [tasks[0]!]: true, [tasks[1]!]: "yes" } });
    await graph.resume("resumed", { resume: "Ada" });
    expect((await graph.resume("resumed", { resume: null })).state).toEqual(state);
    // The answers stay at the checkpoints where they were given.
    const kept = [];
    for (const { id } of (await inspector.checkpoints(of("asked"))).items)
      kept.push(...(await inspector.questions({ ...of("asked"), id })));
    expect(kept.map(({ answered }) => answered!.value).toSorted()).toEqual(["Ada", null, true, "yes"].toSorted());
  });

  test("have code that answers, and take one of several answers", async () => {
    const { store, inspector } = await opened(place(kind));
    const graph = graphOf(new Checkpointer<State>(store));
    const run = 'a "quoted" \u2028 thread';
    await graph.invoke({ log: [] }, { threadId: run });
    const [first] = await open(inspector, run);
    const call = new Function("graph", `return (async () => {${first!.code}})()`) as (of: unknown) => Promise<void>;
    await call(graph);
    const [second, ...others] = await open(inspector, run);
    expect([second!.node, others]).toEqual(["inner", []]);
    const ended = await Promise.allSettled(
      [1, 2, 3, 4].map((value) => inspector.answer(of(run), { id: second!.id, value })),
    );
    expect(ended.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const end of ended) if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "CONFLICT" });
  });
});
