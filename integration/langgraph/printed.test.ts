// Runs the code that is printed for threads of LangGraph, in each of their statuses.
import * as langgraph from "@langchain/langgraph";
import { openInspector } from "forkpoint/inspect";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Printed, printed, runPrinted } from "../../__test__/printed.js";
// @ts-expect-error The fixture is JavaScript, because a process of its own runs it too.
import { compiled, graphs } from "./fixtures/answers.mjs";
import { Log, open, place, says, sequence, thread } from "./helpers.js";

const fail = () => {
  throw new Error("out of paper");
};

const hostile = `q"'\`\${1}\n\u2028</script>`;

async function start(graph: any, run: string): Promise<void> {
  await graph.invoke({ log: ["in"] }, { ...thread(run), durability: "sync" }).catch(() => {});
}

describe("the code that is printed for threads", () => {
  it.each(Object.keys(graphs))("answers %s", async (name) => {
    const count = graphs[name].answers.length;
    const target = place("sqlite");
    const graph = compiled(name, open(target));
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
