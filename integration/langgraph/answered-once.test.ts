// An answer is stored once, whoever stores it, and is recorded as it was used: inspectors and programs answer one question.
import { setTimeout as delay } from "node:timers/promises";
import { Annotation, Command, INTERRUPT, START, StateGraph, interrupt } from "@langchain/langgraph";
import { effects } from "forkpoint/effects";
import { type Question, openInspector } from "forkpoint/inspect";
import { ForkpointSaver, type ThreadStatus, recover } from "forkpoint/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { Gate } from "../../__test__/helpers.js";
import { Child } from "./children.js";
import { attempt } from "./command.js";
import {
  type Kind,
  all,
  kinds,
  open,
  openShared,
  place,
  rejection,
  sequence,
  sharedKinds,
  sideBySide,
  thread,
} from "./helpers.js";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (before, said) => [...before, ...said], default: () => [] }),
  note: Annotation<string>(),
});

const of = (run: string, id?: string) => ({ space: "langgraph", run, ...(id !== undefined && { id }) });

async function inspect(target: string) {
  const inspector = await openInspector(target, { write: true });
  onTestFinished(() => inspector.close());
  return inspector;
}

type Inspector = Awaited<ReturnType<typeof inspect>>;

/** What a node has done with the answers that it got. */
interface Made {
  graph: any;
  ran: string[];
}

const compiled = (builder: { compile(options: object): unknown }, checkpointer: ForkpointSaver): any =>
  builder.compile({ checkpointer });

/** A graph whose node asks and then pays. `wait` holds the node after it has its answer. */
function paying(saver: ForkpointSaver, wait: () => Promise<unknown> = async () => {}): Made {
  const ran: string[] = [];
  const once = effects(saver);
  const builder = sequence(State, {
    approve: async (_, config) => {
      const answer = JSON.stringify(interrupt("pay?"));
      await once(config, "pay", () => ran.push(answer));
      await wait();
      return { log: [`paid ${answer}`] };
    },
  });
  return { graph: compiled(builder, saver), ran };
}

/** A graph whose node asks two questions, one after the other. */
function asking(saver: ForkpointSaver): Made {
  const ran: string[] = [];
  const builder = sequence(State, {
    form: async () => {
      const first = JSON.stringify(interrupt("pay?"));
      const second = JSON.stringify(interrupt("delete everything?"));
      ran.push(`${first} ${second}`);
      return { log: [`${first} ${second}`] };
    },
  });
  return { graph: compiled(builder, saver), ran };
}

/** A graph that asks two people at the same time. `inside` asks in subgraphs. */
function parallel(saver: ForkpointSaver, inside = false): Made {
  const ran: string[] = [];
  const node = (name: string) => async () => {
    const answer = JSON.stringify(interrupt(`${name}?`));
    ran.push(`${name}: ${answer}`);
    return { log: [`${name}: ${answer}`] };
  };
  const inner = (name: string) => (inside ? sequence(State, { [`${name}-inner`]: node(name) }).compile() : node(name));
  const builder = new StateGraph(State)
    .addNode("a", inner("a") as never)
    .addNode("b", inner("b") as never)
    .addNode("last", () => ({ log: ["last"] }))
    .addEdge(START, "a")
    .addEdge(START, "b")
    .addEdge(["a", "b"], "last");
  return { graph: compiled(builder, saver), ran };
}

/** Runs a graph until it asks in the thread "t". */
async function opened(kind: Kind, make: (saver: ForkpointSaver) => Made = paying) {
  const target = place(kind);
  const saver = open(target, { program: "answers" });
  const made = make(saver);
  await made.graph.invoke({ log: [] }, thread("t"));
  return { ...made, saver, inspector: await inspect(target) };
}

/** The answers that the steps of a thread have, by their questions. */
async function kept(inspector: Inspector, run: string): Promise<Array<[question: unknown, answer: unknown]>> {
  const found: Question[] = [];
  for (const { id } of (await inspector.checkpoints(of(run))).items)
    found.push(...(await inspector.questions(of(run, id))));
  return found.filter(({ answered }) => answered !== null).map(({ value, answered }) => [value, answered!.value]);
}

const openQuestions = async (inspector: Inspector, run: string) =>
  (await inspector.questions(of(run))).filter(({ answered }) => answered === null);

describe.each(sharedKinds)("on %s", (kind) => {
  it.each(["sync", "exit"] as const)(
    "of two programs that answer differently, one is used and recorded, and the other is told which (%s)",
    async (durability) => {
      const target = place(kind);
      const [ana, ben] = [paying(open(target)), paying(open(target))];
      const inspector = await inspect(target);
      for (let round = 0; round < 30; round++) {
        const config = { ...thread(`t${round}`), durability };
        await ana.graph.invoke({}, config);
        const ends = await Promise.allSettled([
          ana.graph.invoke(new Command({ resume: "yes" }), config),
          delay(round % 10).then(() => ben.graph.invoke(new Command({ resume: "no" }), config)),
        ]);
        const recorded: unknown[] = [];
        for (const { id } of (await inspector.checkpoints(of(`t${round}`))).items)
          for (const { answered } of await inspector.questions(of(`t${round}`, id))) recorded.push(answered?.value);
        const { log } = (await ana.graph.getState(config)).values;
        expect(recorded, `round ${round}`).toHaveLength(1);
        expect(log[0]).toBe(`paid ${JSON.stringify(recorded[0])}`);
        for (const end of ends) if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "CONFLICT" });
      }
      expect(ana.ran.length + ben.ran.length).toBe(30);
    },
  );

  it.each([
    ["for all questions", () => true],
    ["by the id of the question", (id: string) => ({ [id]: true })],
  ])("refuses an answer if the program has answered %s, and shows what it has used", async (_, resume) => {
    const gate = new Gate();
    const { graph, ran, inspector } = await opened(kind, (one) => paying(one, gate.wait));
    const [{ id }] = (await inspector.questions(of("t"))) as [Question];
    const running = graph.invoke(new Command({ resume: resume(id) }), thread("t"));
    await gate.reached;
    const refused = await rejection(inspector.answer(of("t"), { id, reject: true, by: "Ana" }));
    expect(refused).toMatchObject({ code: "CONFLICT" });
    expect(refused.message).toContain("with true");
    expect(refused.message).toContain("by the program");
    expect((await inspector.questions(of("t"))).map(({ answered }) => answered?.value)).toEqual([true]);
    gate.open();
    expect((await running).log).toEqual(["paid true"]);
    expect(ran).toEqual(["true"]);
    expect(await kept(inspector, "t")).toEqual([["pay?", true]]);
    await expect(inspector.answer(of("t"), { id, reject: true })).rejects.toMatchObject({ code: "CONFLICT" });
  });

  it.each([
    ["for all questions", () => true],
    ["by the id of the question", (id: string) => ({ [id]: true })],
  ])("refuses the answer of a program %s if another one is stored, before a node runs", async (_, resume) => {
    const { graph, ran, saver, inspector } = await opened(kind);
    const [{ id }] = (await inspector.questions(of("t"))) as [Question];
    await inspector.answer(of("t"), { value: false, by: "Ana" });
    const refused = await rejection(graph.invoke(new Command({ resume: resume(id) }), thread("t")));
    expect(refused).toMatchObject({ code: "CONFLICT" });
    expect(refused.message).toMatch(/"Ana".* with false/);
    expect(ran).toEqual([]);
    expect((await inspector.run(of("t")))!.status).toBe("unfinished");
    const { runs } = await recover(graph, saver);
    expect(runs.map(({ outcome }) => outcome)).toEqual(["finished"]);
    expect(ran).toEqual(["false"]);
    expect(await kept(inspector, "t")).toEqual([["pay?", false]]);
  });

  it("does not give a program's answer to the next question of the node", async () => {
    const target = place(kind);
    const saver = open(target, { program: "answers" });
    const { graph, ran } = asking(saver);
    const inspector = await inspect(target);
    for (const [run, resume] of [
      ["all", () => true],
      ["map", (id: string) => ({ [id]: true })],
    ] as const) {
      await graph.invoke({ log: [] }, thread(run));
      const [{ id }] = (await inspector.questions(of(run))) as [Question];
      await inspector.answer(of(run), { value: true, by: "Ana" });
      // The same answer is no other one: a program may send it again after a crash.
      const result = await graph.invoke(new Command({ resume: resume(id) }), thread(run));
      expect(result[INTERRUPT]).toHaveLength(1);
      expect(ran).toEqual([]);
      expect((await openQuestions(inspector, run)).map(({ value }) => value)).toEqual(["delete everything?"]);
      expect((await inspector.run(of(run)))!.status).toBe("waiting");
      expect((await recover(graph, saver, { threads: [run] })).runs[0]!.outcome).toBe("waiting");
      await inspector.answer(of(run), { value: false, by: "Ben" });
      await recover(graph, saver);
      expect(ran.splice(0)).toEqual(["true false"]);
      expect(await kept(inspector, run)).toEqual([
        ["pay?", true],
        ["delete everything?", false],
      ]);
    }
  });

  it("gives an answer of onWaiting to no question of a task that has another answer", async () => {
    const target = place(kind);
    const saver = open(target, { program: "answers" });
    const ran: string[] = [];
    const builder = sideBySide(State, {
      a: () => {
        ran.push(`a: ${String(interrupt("a1?"))} ${String(interrupt("a2?"))}`);
        return { log: ["a"] };
      },
      b: () => {
        ran.push(`b: ${String(interrupt("b?"))}`);
        return { log: ["b"] };
      },
    });
    const graph = compiled(builder, saver);
    const inspector = await inspect(target);
    await graph.invoke({ log: [] }, thread("t"));
    const question = (await inspector.questions(of("t"))).find(({ value }) => value === "a1?");
    await inspector.answer(of("t"), { id: question!.id, value: "one", by: "Ana" });
    const onWaiting = ({ interrupts }: Pick<ThreadStatus, "interrupts">) =>
      interrupts.some(({ value }) => value === "b?") ? new Command({ resume: "for b" }) : undefined;
    await recover(graph, saver, { onWaiting });
    expect(ran).toEqual(["b: for b"]);
    expect((await openQuestions(inspector, "t")).map(({ value }) => value)).toEqual(["a2?"]);
    await inspector.answer(of("t"), { value: "two", by: "Ana" });
    await recover(graph, saver);
    expect(ran).toEqual(["b: for b", "a: one two"]);
  });

  it("asks again if the state was changed after the answer, and skips no node", async () => {
    const { graph, ran, saver, inspector } = await opened(kind);
    await inspector.answer(of("t"), { approve: true, by: "Ana" });
    await graph.updateState(thread("t"), { note: "changed" });
    const asked: unknown[] = [];
    const onWaiting = ({ interrupts }: Pick<ThreadStatus, "interrupts">) => {
      asked.push(...interrupts.map(({ value }) => value as unknown));
      return undefined;
    };
    const { runs } = await recover(graph, saver, { onWaiting });
    expect([ran, asked]).toEqual([[], ["pay?"]]);
    expect(runs.map(({ outcome }) => outcome)).toEqual(["waiting"]);
    expect((await openQuestions(inspector, "t")).map(({ value }) => value)).toEqual(["pay?"]);
    await inspector.answer(of("t"), { value: "yes", by: "Ben" });
    await recover(graph, saver);
    expect(ran).toEqual(['"yes"']);
    // The answer that no node has used is not shown as one that was used.
    expect(await kept(inspector, "t")).toEqual([["pay?", "yes"]]);
  });

  it("is not copied with a thread", async () => {
    const { graph, ran, saver, inspector } = await opened(kind);
    await inspector.answer(of("t"), { approve: true, by: "Ana" });
    await saver.copyThread("t", "copy");
    expect((await saver.status("copy"))!.status).toBe("waiting");
    expect((await inspector.run(of("copy")))!.status).toBe("waiting");
    const { runs } = await recover(graph, saver);
    expect(runs.map(({ threadId, outcome }) => [threadId, outcome]).toSorted()).toEqual([
      ["copy", "waiting"],
      ["t", "finished"],
    ]);
    expect(ran).toEqual(["true"]);
    await inspector.answer(of("copy"), { value: "own", by: "Ben" });
    await recover(graph, saver);
    expect(ran).toEqual(["true", '"own"']);
  });

  it("is not shown to the framework before the run continues", async () => {
    const { graph, saver, inspector } = await opened(kind, (one) => parallel(one, true));
    const before = await graph.getState(thread("t"));
    const tuple = await saver.getTuple(thread("t"));
    for (const { id } of await inspector.questions(of("t"))) await inspector.answer(of("t"), { id, value: 1 });
    expect(await graph.getState(thread("t"))).toEqual(before);
    expect((await saver.getTuple(thread("t")))!.pendingWrites).toEqual(tuple!.pendingWrites);
  });

  it.each([false, true])("keeps both answers to two questions at the same time, in subgraphs: %s", async (inside) => {
    const target = place(kind);
    const savers = [0, 1].map(() => open(target, { program: "answers" })) as [ForkpointSaver, ForkpointSaver];
    const made = savers.map((saver) => parallel(saver, inside)) as [Made, Made];
    const inspectors = [await inspect(target), await inspect(target)] as const;
    let refusals = 0;
    for (const who of ["inspectors", "programs", "both"]) {
      await made[0].graph.invoke({ log: [] }, thread(who));
      const asked = await inspectors[0].questions(of(who));
      const [a, b] = ["a?", "b?"].map((value) => asked.find((each) => each.value === value)!.id) as [string, string];
      const byProgram = (at: 0 | 1, id: string, value: string) =>
        made[at].graph.invoke(new Command({ resume: { [id]: value } }), thread(who));
      const byInspector = (at: 0 | 1, id: string, value: string) => inspectors[at].answer(of(who), { id, value });
      const answer = {
        inspectors: [byInspector, byInspector],
        programs: [byProgram, byProgram],
        both: [byInspector, byProgram],
      };
      const [first, second] = answer[who as "both"] as [typeof byInspector, typeof byInspector];
      const ended = await Promise.allSettled([first(0, a, "for a"), second(1, b, "for b")]);
      // Two runs may save the same step of a subgraph: then one of them is refused, and both answers are stored all the same.
      const refused = ended
        .filter((end) => end.status === "rejected")
        .map(({ reason }) => (reason as { code: string }).code);
      refusals += refused.length;
      expect(refused).toEqual(inside && who === "programs" ? refused.map(() => "CONFLICT") : []);
      if (((await inspectors[0].run(of(who)))!.status as string) !== "finished") {
        if (refused.length === 0) {
          expect((await inspectors[0].run(of(who)))!.status).toBe("unfinished");
          expect((await savers[0].status(who))!.status).toBe("unfinished");
        }
        const { runs } = await recover(made[0].graph, savers[0], { onFailed: () => "retry" });
        expect(runs.map(({ outcome }) => outcome)).toEqual(["finished"]);
      }
      const { values, next } = await made[0].graph.getState(thread(who));
      expect([values.log, next]).toEqual([['a: "for a"', 'b: "for b"', "last"], []]);
      expect((await kept(inspectors[0], who)).toSorted()).toEqual([
        ["a?", "for a"],
        ["b?", "for b"],
      ]);
    }
    // A run that was refused has run its node, which then runs again.
    const ran = made.flatMap((each) => each.ran);
    for (const line of ['a: "for a"', 'b: "for b"']) {
      const times = ran.filter((each) => each === line).length;
      expect(times).toBeGreaterThanOrEqual(3);
      expect(times).toBeLessThanOrEqual(3 + refusals);
    }
  });

  it("has one answer if a program and an inspector answer at the same time", { timeout: 60_000 }, async () => {
    const target = place(kind);
    const saver = open(target, { program: "answers" });
    const { graph, ran } = paying(saver);
    const inspector = await inspect(target);
    for (let at = 0; at < 30; at++) {
      const run = `t${at}`;
      await graph.invoke({ log: [] }, thread(run));
      const answers = [
        () => graph.invoke(new Command({ resume: "program" }), thread(run)),
        () => inspector.answer(of(run), { value: "inspector" }),
      ];
      const [one, other] = at % 2 === 0 ? answers : answers.toReversed();
      const first = one!();
      await new Promise((resolve) => setTimeout(resolve, at % 7));
      const ended = await Promise.allSettled([first, other!()]);
      const refused = ended
        .filter((end) => end.status === "rejected")
        .map(({ reason }) => (reason as { code: string }).code);
      await recover(graph, saver);
      const { log } = (await graph.getState(thread(run))).values;
      const stored = await kept(inspector, run);
      const used = `"${String(stored[0]?.[1])}"`;
      expect([log, ran.splice(0), stored, refused]).toEqual([
        [`paid ${used}`],
        [used],
        [["pay?", stored[0]?.[1]]],
        ["CONFLICT"],
      ]);
    }
  });

  it.each(["sync", "exit"])(
    "keeps the program's answer if its process is killed, and refuses the command line (%s)",
    async (durability) => {
      const target = place(kind);
      const child = new Child([target, "hold", "paying", "t", durability], {}, "answers.mjs");
      await child.until("asked");
      await child.until("answered");
      const answer = () => attempt(["answer", "t", "--reject", "--by", "Ana", "--db", target]);
      expect(answer()).toMatchObject({ status: 5, stderr: expect.stringContaining("with true") });
      await child.kill();
      expect(answer().status).toBe(5);
      const saver = open(target, { program: "answers" });
      const { graph, ran } = paying(saver);
      const { runs } = await recover(graph, saver);
      expect(runs.map(({ outcome }) => outcome)).toEqual(["finished"]);
      expect(ran).toEqual(["true"]);
      const inspector = await inspect(target);
      expect(await kept(inspector, "t")).toEqual([["pay?", true]]);
    },
  );
});

const forms = [
  ["for all questions", (_id: string, value: unknown) => value],
  ["by the id of the question", (id: string, value: unknown) => ({ [id]: value })],
] as const;

// LangGraph hands over a program's answer only when the run ends.
describe.each(kinds)("with the durability exit, on %s", (kind) => {
  const exit = (run: string) => ({ ...thread(run), durability: "exit" as const });

  async function openedAtExit(make: (saver: ForkpointSaver) => Made) {
    const store = await openShared(place(kind));
    const saver = new ForkpointSaver(store, { program: "answers" });
    const inspector = await openInspector(store, { write: true });
    onTestFinished(() => inspector.close());
    const made = make(saver);
    await made.graph.invoke({ log: [] }, exit("t"));
    return { ...made, saver, inspector, asked: await inspector.questions(of("t")) };
  }

  /** What a run that is refused must leave as it is. */
  async function contents(saver: ForkpointSaver) {
    const tuples = await all(saver.list(thread("t")));
    return [tuples, (await saver.stats()).checkpoints, await saver.status("t")];
  }

  it.each(forms)("refuses a program's answer %s if another one is stored, before a node runs", async (_, form) => {
    for (const make of [paying, asking]) {
      const { graph, ran, saver, inspector, asked } = await openedAtExit(make);
      await inspector.answer(of("t"), { value: "no", by: "Ana" });
      const before = await contents(saver);
      const refused = await rejection(graph.invoke(new Command({ resume: form(asked[0]!.id, true) }), exit("t")));
      expect(refused).toMatchObject({ code: "CONFLICT" });
      expect(refused.message).toMatch(/"Ana".* with "no"/);
      expect(ran).toEqual([]);
      expect(await contents(saver)).toEqual(before);
      expect(await kept(inspector, "t")).toEqual([["pay?", "no"]]);
      // The same answer is no other one. It answers no other question, either.
      const result = await graph.invoke(new Command({ resume: form(asked[0]!.id, "no") }), exit("t"));
      expect(result[INTERRUPT]?.length ?? 0).toBe(make === asking ? 1 : 0);
      expect(ran).toEqual(make === asking ? [] : ['"no"']);
    }
  });

  it.each(forms)("stores a program's answer %s before a node uses it, and refuses others", async (_, form) => {
    const gate = new Gate();
    const { graph, ran, inspector, asked } = await openedAtExit((saver) => paying(saver, gate.wait));
    const { id } = asked[0]!;
    const running = graph.invoke(new Command({ resume: form(id, true) }), exit("t"));
    await gate.reached;
    const refused = await rejection(inspector.answer(of("t"), { id, reject: true, by: "Ana" }));
    expect(refused).toMatchObject({ code: "CONFLICT" });
    expect(refused.message).toMatch(/by the program .* with true/);
    gate.open();
    expect((await running).log).toEqual(["paid true"]);
    expect(ran).toEqual(["true"]);
    expect(await kept(inspector, "t")).toEqual([["pay?", true]]);
  });

  it.each(forms)("gives a program's answer %s to no later question of the node", async (_, form) => {
    const { graph, ran, saver, inspector, asked } = await openedAtExit(asking);
    const result = await graph.invoke(new Command({ resume: form(asked[0]!.id, true) }), exit("t"));
    expect([result[INTERRUPT], ran]).toMatchObject([[{ value: "delete everything?" }], []]);
    expect((await inspector.run(of("t")))!.status).toBe("waiting");
    expect(await graph.invoke(null, exit("t"))).toMatchObject({ [INTERRUPT]: [{ value: "delete everything?" }] });
    await inspector.answer(of("t"), { value: false, by: "Ben" });
    await recover(graph, saver);
    expect(ran).toEqual(["true false"]);
    expect(await kept(inspector, "t")).toEqual([
      ["pay?", true],
      ["delete everything?", false],
    ]);
  });

  it("stores none of several answers if one of them is refused", async () => {
    const { graph, ran, saver, inspector, asked } = await openedAtExit(parallel);
    const idOf = (value: string) => asked.find((each) => each.value === value)!.id;
    await inspector.answer(of("t"), { id: idOf("b?"), value: "no", by: "Ana" });
    const before = await contents(saver);
    const answers = new Command({ resume: { [idOf("a?")]: "yes", [idOf("b?")]: "yes" } });
    expect((await rejection(graph.invoke(answers, exit("t")))).message).toMatch(/"Ana".* with "no"/);
    expect([ran, await contents(saver)]).toEqual([[], before]);
    const result = await graph.invoke(new Command({ resume: { [idOf("a?")]: "yes" } }), exit("t"));
    expect(result.log).toEqual(['a: "yes"', 'b: "no"', "last"]);
    expect((await kept(inspector, "t")).toSorted()).toEqual([
      ["a?", "yes"],
      ["b?", "no"],
    ]);
  });

  it("stores no answer if the graph has none of the next nodes", async () => {
    const { saver, inspector } = await openedAtExit(paying);
    const other = sequence(State, { renamed: () => ({ log: [] }) }).compile({ checkpointer: saver });
    const before = await contents(saver);
    const refused = await rejection(other.invoke(new Command({ resume: true }), exit("t")));
    expect(refused.message).toContain("the graph has run none of the nodes that are next (`approve`)");
    await inspector.answer(of("t"), { value: "yes", by: "Ana" });
    expect(await kept(inspector, "t")).toEqual([["pay?", "yes"]]);
    expect((await contents(saver))[0]).toEqual(before[0]);
  });
});
