// An answer is stored once, whoever stores it, and is recorded as it was used: inspectors and graphs answer one question.
import { setTimeout as delay } from "node:timers/promises";
import { openStore } from "forkpoint";
import { type CheckpointRef, type Inspector, openInspector } from "forkpoint/inspect";
import { Checkpointer, Graph, START } from "forkpoint/tinyagents";
import { describe, expect, it, onTestFinished } from "vitest";
import { Gate, failure, kinds, place } from "../helpers.js";

interface State {
  log: string[];
}

const of = (run: string, id?: string) => ({ space: "tinyagents", run, ...(id !== undefined && { id }) });

/** A graph whose nodes ask at the same time, or whose node asks two questions. `wait` holds a node that has its answers. */
async function opened(kind: (typeof kinds)[number], asked: Record<string, string[]> = { pay: ["pay?"] }) {
  const target = place(kind);
  const store = await openStore(target);
  const checkpointer = new Checkpointer<State>(store);
  const inspector = await openInspector(kind === "memory" ? store : target, { write: true });
  onTestFinished(async () => {
    await inspector.close();
    await store.close();
  });
  const ran: string[] = [];
  const held = { wait: async (): Promise<void> => {} };
  const node = (name: string) => async (_: State, context: { interrupt(value: unknown): unknown }) => {
    const answers = asked[name]!.map((question) => JSON.stringify(context.interrupt(question)));
    ran.push(`${name} ${answers.join(" ")}`);
    await held.wait();
    return { log: [`${name} ${answers.join(" ")}`] };
  };
  const graph = new Graph<State>({
    reducer: (state, { log = [] }: Partial<State>) => ({ log: [...state.log, ...log] }),
    nodes: Object.fromEntries(Object.keys(asked).map((name) => [name, node(name)])),
    edges: Object.keys(asked).map((name): [typeof START, string] => [START, name]),
    checkpointer,
  });
  return { graph, inspector, checkpointer, ran, held };
}

async function kept(inspector: Inspector, run: string) {
  const found = [];
  for (const { id } of (await inspector.checkpoints(of(run))).items)
    found.push(...(await inspector.questions(of(run, id))));
  return found.filter(({ answered }) => answered !== null).map(({ value, answered }) => [value, answered!.value]);
}

const openQuestions = async (inspector: Inspector, run: string) =>
  (await inspector.questions(of(run))).filter(({ answered }) => answered === null);

describe.each(kinds)("on %s", (kind) => {
  it("refuses an answer if the graph was resumed with one, and shows what it has used", async () => {
    const { graph, inspector, held } = await opened(kind);
    await graph.invoke({ log: [] }, { threadId: "t" });
    const [{ id }] = (await openQuestions(inspector, "t")) as unknown as [{ id: string }];
    const gate = new Gate();
    held.wait = gate.wait;
    const running = graph.resume("t", { resume: true });
    await gate.reached;
    for (const answer of [{ reject: true }, { id, reject: true }]) {
      const refused = await failure(inspector.answer(of("t"), answer), "CONFLICT");
      expect(refused.message).toContain("by the program");
      expect(refused.message).toContain("with true");
    }
    expect((await inspector.questions(of("t"))).map(({ answered }) => answered)).toMatchObject([
      { value: true, by: null, program: true },
    ]);
    gate.open();
    expect((await running).state.log).toEqual(["pay true"]);
    expect(await kept(inspector, "t")).toEqual([["pay?", true]]);
  });

  it("refuses another answer of the program before a node runs", async () => {
    const { graph, inspector, ran } = await opened(kind);
    await graph.invoke({ log: [] }, { threadId: "t" });
    const [{ id }] = (await openQuestions(inspector, "t")) as unknown as [{ id: string }];
    await inspector.answer(of("t"), { value: false, by: "Ana" });
    for (const command of [{ resume: true }, { answers: { [id]: true } }, { answers: { pay: true } }]) {
      const refused = await failure(graph.resume("t", command), "CONFLICT");
      expect(refused.message).toMatch(/"Ana".* with false/);
    }
    expect(ran).toEqual([]);
    // The same answer is no other one: a program may send it again after a crash.
    expect((await graph.resume("t", { resume: false })).status).toBe("done");
    expect([ran, await kept(inspector, "t")]).toEqual([["pay false"], [["pay?", false]]]);
  });

  it("gives no answer to a question that nobody has seen", async () => {
    const { graph, inspector, ran } = await opened(kind, { form: ["pay?", "delete everything?"] });
    await graph.invoke({ log: [] }, { threadId: "t" });
    await inspector.answer(of("t"), { value: true, by: "Ana" });
    expect((await graph.resume("t", { resume: true })).status).toBe("interrupted");
    expect(ran).toEqual([]);
    expect((await openQuestions(inspector, "t")).map(({ value }) => value)).toEqual(["delete everything?"]);
    await graph.resume("t", { resume: false });
    expect(ran).toEqual(["form true false"]);
    expect(await kept(inspector, "t")).toEqual([
      ["pay?", true],
      ["delete everything?", false],
    ]);
  });

  it("asks again if the state was changed after the answer", async () => {
    const { graph, inspector, ran } = await opened(kind);
    await graph.invoke({ log: [] }, { threadId: "t" });
    await inspector.answer(of("t"), { value: true, by: "Ana" });
    await graph.updateState("t", { log: ["changed"] });
    expect((await inspector.run(of("t")))!.status).toBe("waiting");
    expect((await graph.resume("t")).status).toBe("interrupted");
    expect(ran).toEqual([]);
    expect((await openQuestions(inspector, "t")).map(({ value }) => value)).toEqual(["pay?"]);
    await inspector.answer(of("t"), { value: "yes", by: "Ben" });
    expect((await graph.resume("t")).state.log).toEqual(["changed", 'pay "yes"']);
    expect(await kept(inspector, "t")).toEqual([["pay?", "yes"]]);
  });

  it("is not copied with a thread, and not forked", async () => {
    const { graph, inspector, checkpointer, ran } = await opened(kind);
    await graph.invoke({ log: [] }, { threadId: "t" });
    await inspector.answer(of("t"), { value: true, by: "Ana" });
    await checkpointer.copyThread("t", "copy");
    await graph.forkState("t", null, "fork");
    const { run: inspected } = await inspector.fork(
      of("t", (await graph.getState("t"))!.config.checkpointId!) as CheckpointRef,
    );
    for (const run of ["copy", "fork", inspected]) {
      expect((await inspector.run(of(run)))!.status).toBe("waiting");
      expect((await graph.resume(run)).status).toBe("interrupted");
      expect((await openQuestions(inspector, run)).map(({ value }) => value)).toEqual(["pay?"]);
    }
    expect(ran).toEqual([]);
    await graph.resume("t");
    await inspector.answer(of("copy"), { value: "own", by: "Ben" });
    await graph.resume("copy");
    expect(ran).toEqual(["pay true", 'pay "own"']);
  });

  it("keeps both answers to two questions at the same time", async () => {
    const { graph, inspector, ran } = await opened(kind, { a: ["a?"], b: ["b?"] });
    await graph.invoke({ log: [] }, { threadId: "t" });
    const [a, b] = (await openQuestions(inspector, "t")).map(({ id }) => id) as [string, string];
    await Promise.all([inspector.answer(of("t"), { id: a, value: 1 }), inspector.answer(of("t"), { id: b, value: 2 })]);
    expect((await inspector.run(of("t")))!.status).toBe("unfinished");
    expect((await graph.resume("t")).state.log).toEqual(["a 1", "b 2"]);
    expect(ran.toSorted()).toEqual(["a 1", "b 2"]);
  });

  const durabilities = ["sync", "async", "exit"] as const;

  it.each(durabilities)("durability %s: stores nothing of a run whose answer is refused", async (durability) => {
    const { graph, inspector, checkpointer, ran } = await opened(kind);
    await graph.invoke({ log: [] }, { threadId: "t" });
    const { putWrites } = checkpointer;
    checkpointer.putWrites = async function (...args) {
      checkpointer.putWrites = putWrites;
      await inspector.answer(of("t"), { value: false, by: "Ana" });
      return putWrites.apply(this, args);
    };
    const refused = await failure(graph.resume("t", { resume: true }, { durability }), "CONFLICT");
    expect(refused.message).toMatch(/"Ana".* with false/);
    expect((await graph.getState("t"))!.values).toEqual({ log: [] });
    ran.length = 0;
    expect((await graph.resume("t", undefined, { durability })).state.log).toEqual(["pay false"]);
    expect([ran, await kept(inspector, "t")]).toEqual([["pay false"], [["pay?", false]]]);
  });

  it.each(durabilities)("durability %s: a graph and an inspector answer at the same time", async (durability) => {
    const { graph, inspector } = await opened(kind);
    for (let at = 0; at < 15; at++) {
      const run = `t${at}`;
      await graph.invoke({ log: [] }, { threadId: run });
      const answers = [
        () => graph.resume(run, { resume: "program" }, { durability }),
        () => inspector.answer(of(run), { value: "inspector" }),
      ];
      const [one, other] = at % 2 === 0 ? answers : answers.toReversed();
      const first = one!();
      await delay(at % 5);
      const ended = await Promise.allSettled([first, other!()]);
      const refused = ended
        .filter((end) => end.status === "rejected")
        .map(({ reason }) => (reason as { code: string }).code);
      const { log } = (await graph.resume(run)).state;
      const stored = await kept(inspector, run);
      expect([log, stored, refused]).toEqual([
        [`pay "${String(stored[0]?.[1])}"`],
        [["pay?", stored[0]?.[1]]],
        ["CONFLICT"],
      ]);
    }
  });
});
