// Questions of threads, and answers that the inspector stores: the thread continues as after `new Command({ resume })`.
import { tool } from "@langchain/core/tools";
import { Command, INTERRUPT } from "@langchain/langgraph";
import { type Question, openInspector } from "forkpoint/inspect";
import { type ForkpointSaver, recover } from "forkpoint/langgraph";
import { type AgentMiddleware, createAgent, humanInTheLoopMiddleware } from "langchain";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { Child } from "./children.js";
// @ts-expect-error The fixture is JavaScript, because a process of its own runs it too.
import * as fixture from "./fixtures/answers.mjs";
// @ts-expect-error The fixture is JavaScript.
import { scripted } from "./fixtures/model.mjs";
import { type Kind, durable, open, place, sharedKinds, thread } from "./helpers.js";

const { compiled, functional, graphs } = fixture as {
  compiled(name: string, saver: ForkpointSaver): any;
  functional(saver: ForkpointSaver): any;
  graphs: Record<string, { answers: Array<[question: string, answer: unknown]> }>;
};

const of = (run: string, ns: string | null = null) => ({ space: "langgraph", run, ns });

async function inspect(target: string) {
  const inspector = await openInspector(target, { write: true });
  onTestFinished(() => inspector.close());
  return inspector;
}

const started = { log: ["in"] };

/** Runs a graph until it asks in the thread "asked". */
async function asked(kind: Kind, name: string) {
  const target = place(kind);
  const saver = open(target, { program: "answers" });
  const graph = compiled(name, saver);
  await graph.invoke(started, thread("asked"));
  return { graph, saver, inspector: await inspect(target) };
}

/** Answers with `Command` until the graph has finished. */
async function withCommand(graph: any, run: string, answers: Map<unknown, unknown>) {
  let result = await graph.invoke(started, thread(run));
  for (let round = 0; result[INTERRUPT] !== undefined && round < 10; round++) {
    const resume = Object.fromEntries(result[INTERRUPT].map(({ id, value }: any) => [id, answers.get(value)]));
    result = await graph.invoke(new Command({ resume }), thread(run));
  }
  return (await graph.getState(thread(run))).values;
}

describe.each(sharedKinds)("on %s", (kind) => {
  it.each(Object.keys(graphs))("continues %s as after a Command", async (name) => {
    const target = place(kind);
    const saver = open(target, { program: "answers" });
    const graph = compiled(name, saver);
    const answers = new Map<unknown, unknown>(graphs[name]!.answers);
    const inspector = await inspect(target);
    await graph.invoke(started, thread("asked"));
    let answered = 0;
    for (let round = 0; round < 10; round++) {
      const questions = await inspector.questions(of("asked"));
      const asked = questions.filter(({ answered: is }) => is === null);
      if (asked.length === 0) break;
      expect((await inspector.run(of("asked")))!.status).toBe("waiting");
      for (const [at, { id, value, canAnswer }] of asked.entries()) {
        expect(canAnswer).toBe(true);
        const stored = await inspector.answer(of("asked"), { id, value: answers.get(value), by: `person ${answered}` });
        expect(stored.answered).toMatchObject({ value: answers.get(value), by: `person ${answered}` });
        answered += 1;
        const status = at === asked.length - 1 ? "unfinished" : "waiting";
        expect((await inspector.run(of("asked")))!.status).toBe(status);
        expect((await saver.status("asked"))!.status).toBe(status);
        const left = (await inspector.questions(of("asked"))).filter((each) => each.answered === null);
        expect(left.map((each) => each.id)).toEqual(asked.slice(at + 1).map((each) => each.id));
      }
      await recover(graph, saver);
    }
    expect(answered).toBe(answers.size);
    const { values, next } = await graph.getState(thread("asked"));
    expect(next).toEqual([]);
    expect((await inspector.run(of("asked")))!.status).toBe("finished");
    const expected = await withCommand(graph, "commanded", answers);
    expect(values).toEqual(expected);
  });

  it("keeps who has answered what, and when, after the run has continued", async () => {
    const { graph, saver, inspector } = await asked(kind, "several");
    const began = Date.now();
    for (const [, value] of graphs["several"]!.answers) {
      await inspector.answer(of("asked"), { value, by: "Zoë \u202e" });
      await recover(graph, saver);
    }
    expect((await inspector.run(of("asked")))!.status).toBe("finished");
    expect(await inspector.questions(of("asked"))).toEqual([]);
    const steps = (await inspector.checkpoints(of("asked"))).items;
    const kept: Question[] = [];
    for (const { id } of steps) kept.push(...(await inspector.questions({ ...of("asked"), id })));
    expect(kept.map(({ value, answered }) => [value, answered!.value])).toEqual(graphs["several"]!.answers);
    for (const { answered, node } of kept) {
      expect(node).toBe("form");
      expect(answered!.by).toBe("Zoë \u202e");
      expect(answered!.at).toBeGreaterThanOrEqual(began);
      expect(answered!.at).toBeLessThanOrEqual(Date.now());
    }
    // LangGraph does not see what only Forkpoint reads.
    for await (const { pendingWrites = [] } of saver.list(thread("asked")))
      expect(pendingWrites.filter(([, channel]) => channel.includes("forkpoint"))).toEqual([]);
  });

  it.each([[false], [null], [0], [""], [{}], [[]], ["\u2028</script>\ud83d\ude00"], [{ lc: "x" }]])(
    "gives %j to the node",
    async (value) => {
      const { graph, saver, inspector } = await asked(kind, "one");
      await inspector.answer(of("asked"), { value });
      await recover(graph, saver);
      expect((await graph.getState(thread("asked"))).values.log[1]).toBe(`one: ${JSON.stringify(value)}`);
    },
  );

  it("is taken by another process within a second, while the one that asked is alive", async () => {
    const target = place(kind);
    const asking = new Child([target, "ask", "one", "asked"], {}, "answers.mjs");
    await asking.until("asked");
    const polling = new Child([target, "poll", "one"], {}, "answers.mjs");
    await polling.until("polling");
    const inspector = await inspect(target);
    expect((await inspector.run(of("asked")))!.status).toBe("waiting");
    const began = performance.now();
    await inspector.answer(of("asked"), { approve: true, by: "Ana" });
    const stored = performance.now();
    const { threadId, output } = await polling.until("finished");
    const ended = performance.now();
    expect(threadId).toBe("asked");
    expect(output).toEqual({ log: ["in", "one: true", "last"] });
    console.log(
      `stored in ${(stored - began).toFixed(0)} ms, finished in the other process ${(ended - stored).toFixed(0)} ms later (goal: 1,000 ms)`,
    );
    expect((await inspector.run(of("asked")))!.status).toBe("finished");
  });

  it("continues with the functional API", async () => {
    const target = place(kind);
    const saver = open(target, { program: "answers" });
    const graph = functional(saver);
    await graph.invoke("x", thread("asked"));
    const inspector = await inspect(target);
    const [question, ...others] = await inspector.questions(of("asked"));
    expect([question!.value, others]).toEqual(["x?", []]);
    await inspector.answer(of("asked"), { value: "why" });
    expect((await inspector.run(of("asked")))!.status).toBe("unfinished");
    const result = await graph.invoke(null, thread("asked"));
    expect(result).toEqual(["why", "done"]);
    await graph.invoke("x", thread("commanded"));
    expect(await graph.invoke(new Command({ resume: "why" }), thread("commanded"))).toEqual(result);
  });

  it("understands what humanInTheLoopMiddleware asks, and answers it with a decision", async () => {
    const target = place(kind);
    const saver = open(target, { program: "agent" });
    const ran: unknown[] = [];
    const pay = tool(async (args) => (ran.push(args), "paid"), {
      name: "pay",
      description: "Pays",
      schema: z.object({ amount: z.number() }),
    });
    const model = scripted((messages: any[]) =>
      messages.some((message) => message.getType() === "tool")
        ? { content: String(messages.at(-1).content) }
        : { calls: [{ name: "pay", args: { amount: 480 }, id: "call-1" }] },
    );
    const approvals = { interruptOn: { pay: { allowedDecisions: ["approve", "reject"] } } };
    const agent = createAgent({
      model,
      tools: [pay],
      checkpointer: saver,
      name: "agent",
      middleware: [
        // Its types don't fit `exactOptionalPropertyTypes`.
        humanInTheLoopMiddleware(approvals as never) as unknown as AgentMiddleware,
      ],
    });
    const inspector = await inspect(target);
    for (const run of ["approved", "rejected"]) {
      await agent.invoke({ messages: [{ role: "user", content: "Pay." }] }, thread(run));
      const [question] = await inspector.questions(of(run));
      expect(question).toMatchObject({ tool: "pay", args: { amount: 480 }, choices: ["approve", "reject"] });
      expect((await inspector.run(of(run), { withWhy: true }))!.question).toContain('pay({"amount":480})');
    }
    await inspector.answer(of("approved"), { approve: true });
    await inspector.answer(of("rejected"), { reject: "too much" });
    const { runs } = await recover(agent as Parameters<typeof recover>[0], saver);
    expect(runs.map(({ outcome }) => outcome)).toEqual(["finished", "finished"]);
    expect(ran).toEqual([{ amount: 480 }]);
    const { values } = await agent.graph.getState(thread("rejected"));
    expect((values as any).messages.at(-1).content).toBe("too much");
  });
});

it("refuses what it cannot store, and says why", async () => {
  const target = place(durable);
  const saver = open(target, { program: "answers" });
  const graph = compiled("parallel", saver);
  await graph.invoke(started, thread("asked"));
  const inspector = await inspect(target);
  const [{ id }] = (await inspector.questions(of("asked"))) as [Question];
  const code = (answer: unknown, run = "asked") =>
    inspector.answer(of(run), answer as { approve: true }).then(
      () => "stored",
      (error: { code?: string; name: string }) => error.code ?? error.name,
    );
  expect(await code({ approve: true })).toBe("INVALID_ARGUMENT"); // two questions
  expect(await code({ id })).toBe("INVALID_ARGUMENT");
  expect(await code({ id, approve: true, value: 1 })).toBe("INVALID_ARGUMENT");
  expect(await code({ id, approve: true, by: "" })).toBe("INVALID_ARGUMENT");
  expect(await code({ id, approve: true, by: "x".repeat(201) })).toBe("INVALID_ARGUMENT");
  expect(await code({ id: "nothing", approve: true })).toBe("NOT_FOUND");
  expect(await code({ approve: true }, "nobody")).toBe("NOT_FOUND");
  expect(await code({ id, value: { $type: "Date", value: "2026-01-01T00:00:00.000Z" } })).toBe("UNSUPPORTED");
  await using reading = await openInspector(target);
  await expect(reading.answer(of("asked"), { id, approve: true })).rejects.toMatchObject({ code: "UNSUPPORTED" });
  expect(await reading.questions(of("asked"))).toHaveLength(2);
  await using held = await saver.lease({ space: "langgraph", run: "asked" });
  expect(held.holder).not.toBe("");
  expect(await code({ id, approve: true })).toBe("CONFLICT");
  await held.release();
  const closed = await openInspector(target, { write: true });
  await closed.close();
  await expect(closed.answer(of("asked"), { id, approve: true })).rejects.toMatchObject({ code: "CLOSED" });
  await expect(closed.questions(of("asked"))).rejects.toMatchObject({ code: "CLOSED" });
  expect((await inspector.run(of("asked")))!.status).toBe("waiting");
  expect(await code({ id, approve: true })).toBe("stored");
});
