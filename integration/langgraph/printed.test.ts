// Runs the code that is printed for threads of LangGraph, in each of their statuses.
import * as langgraph from "@langchain/langgraph";
import { openInspector } from "forkpoint/inspect";
import type { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Printed, printed, runPrinted } from "../../__test__/printed.js";
import { Log, open, place, says, sequence, sideBySide, thread } from "./helpers.js";

const { interrupt } = langgraph;

const ask = (name: string) => () => ({ log: [`${name}: ${JSON.stringify(interrupt(`${name}?`))}`] });

const fail = () => {
  throw new Error("out of paper");
};

/** The graphs, each with the number of its questions. */
const graphs: Record<string, [questions: number, make: (checkpointer: ForkpointSaver) => object]> = {
  "one question": [1, (checkpointer) => sequence(Log, { a: ask("a") }).compile({ checkpointer })],
  "two questions at once": [
    2,
    (checkpointer) => sideBySide(Log, { a: ask("a"), b: ask("b") }).compile({ checkpointer }),
  ],
  "two questions of a node": [
    2,
    (checkpointer) =>
      sequence(Log, { form: () => ({ log: ["a?", "b?"].map((each) => JSON.stringify(interrupt(each))) }) }).compile({
        checkpointer,
      }),
  ],
  "a question in a subgraph": [
    1,
    (checkpointer) => {
      const inner = sequence(Log, { a: ask("a") }).compile();
      return sequence(Log, { inner }).compile({ checkpointer });
    },
  ],
};

const hostile = `q"'\`\${1}\n\u2028</script>`;

async function start(graph: any, run: string): Promise<void> {
  await graph.invoke({ log: ["in"] }, { ...thread(run), durability: "sync" }).catch(() => {});
}

describe("the code that is printed for threads", () => {
  it.for(Object.keys(graphs))("answers %s", async (name) => {
    const [count, make] = graphs[name]!;
    const target = place("sqlite");
    const graph: any = make(open(target));
    await start(graph, hostile);
    const inspector = await openInspector(target);
    onTestFinished(() => inspector.close());
    const ref = { space: "langgraph", run: hostile, ns: "" };
    let ran = 0;
    for (let asked = await printed(inspector, ref); asked?.length !== 0; asked = await printed(inspector, ref)) {
      expect((await inspector.run(ref))!.status).toBe("waiting");
      const [{ code }] = asked as [Printed];
      await runPrinted(code, { graph }, { "@langchain/langgraph": langgraph });
      ran += 1;
      expect(ran).toBeLessThanOrEqual(count);
    }
    expect(ran).toBe(count);
    expect((await inspector.run(ref))!.status).toBe("finished");
    const { values, next } = await graph.getState(thread(hostile));
    expect(next).toEqual([]);
    expect(values.log.length).toBeGreaterThan(1);
  });

  it("is none for a thread that asks nothing: finished, failed, unfinished", async () => {
    const target = place("sqlite");
    const saver = open(target);
    const make = (node: () => object, stop: string[] = []) =>
      sequence(Log, { a: node, b: () => ({ log: ["b"] }) }).compile({
        checkpointer: saver,
        interruptBefore: stop as never,
      });
    await start(make(says("a")), "finished");
    await start(make(fail), "failed");
    await start(make(says("a"), ["b"]), "unfinished");
    const inspector = await openInspector(target);
    onTestFinished(() => inspector.close());
    for (const run of ["finished", "failed", "unfinished"]) {
      const ref = { space: "langgraph", run, ns: "" };
      expect((await inspector.run(ref))!.status).toBe(run);
      const asked = await printed(inspector, ref);
      expect(asked).toEqual([]);
    }
  });
});
