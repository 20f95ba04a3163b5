// Questions of threads, and answers that the inspector stores: the thread continues as after `new Command({ resume })`.
import { Command, INTERRUPT } from "@langchain/langgraph";
import { type Question, openInspector } from "forkpoint/inspect";
import { type ForkpointSaver, recover } from "forkpoint/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { Child } from "./children.js";
// @ts-expect-error The fixture is JavaScript, because a process of its own runs it too.
import * as fixture from "./fixtures/answers.mjs";
import { durable, kinds, open, place, sharedKinds, thread } from "./helpers.js";

type Interrupted = { [INTERRUPT]?: Array<{ id?: string; value?: unknown }> };

interface Runnable {
  invoke(input: unknown, config?: unknown): Promise<{ log: string[] } & Interrupted>;
  getState(config: unknown): Promise<{ values: { log: string[] }; next: string[] }>;
}

const { compiled, functional, graphs } = fixture as {
  compiled(name: string, saver: ForkpointSaver): Parameters<typeof recover>[0] & Runnable;
  functional(saver: ForkpointSaver): Parameters<typeof recover>[0] & Runnable;
  graphs: Record<string, { answers: Array<[question: string, answer: unknown]> }>;
};

const of = (run: string, ns: string | null = null) => ({ space: "langgraph", run, ns });

async function inspect(target: string) {
  const inspector = await openInspector(target, { write: true });
  onTestFinished(() => inspector.close());
  return inspector;
}

const started = { log: ["in"] };

/** Answers with `Command` until the graph has finished. */
async function withCommand(graph: Runnable, run: string, answers: Map<unknown, unknown>) {
  let result = await graph.invoke(started, thread(run));
  for (let round = 0; result[INTERRUPT] !== undefined && round < 10; round++) {
    const resume = Object.fromEntries(result[INTERRUPT].map(({ id, value }) => [id!, answers.get(value)]));
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
});
