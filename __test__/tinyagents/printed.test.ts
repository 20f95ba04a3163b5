// Runs the code that is printed for threads of TinyAgents, in each of their statuses.
import { openInspector } from "forkpoint/inspect";
import { Checkpointer, Graph } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { place } from "../helpers.js";
import { type Printed, printed, runPrinted } from "../printed.js";

interface Log {
  log: string[];
}

type Node = (state: Log, context: { interrupt<T>(question: unknown): T }) => Log;

const ask =
  (name: string): Node =>
  (_, { interrupt }) => ({ log: [`${name}: ${JSON.stringify(interrupt(`${name}?`))}`] });

const say: Node = () => ({ log: ["said"] });

const reducer = (state: Log, update: Partial<Log>): Log => ({ log: [...state.log, ...(update.log ?? [])] });

const graphs: Record<string, Record<string, Node>> = {
  "one question": { a: ask("a") },
  "two questions at once": { a: ask("a"), b: ask("b") },
  "a question beside a task that asks nothing": { a: ask("a"), b: say },
};

describe("the code that is printed for threads", () => {
  it.for(Object.entries(graphs))("answers %s", async ([, nodes]) => {
    const target = place("sqlite");
    await using checkpointer = new Checkpointer<Log>(target);
    const graph = new Graph<Log>({ nodes, edges: [["__start__", Object.keys(nodes)]], reducer, checkpointer });
    const run = `q"'\`\${1}\n\u2028`;
    const ref = { space: "tinyagents", run, ns: "" };
    await graph.invoke({ log: ["in"] }, { threadId: run });
    await using inspector = await openInspector(target);
    const count = Object.values(nodes).filter((node) => node !== say).length;
    for (let left = count; left > 0; left--) {
      expect((await inspector.run(ref))!.status).toBe("waiting");
      const asked = await printed(inspector, ref);
      expect(asked).toHaveLength(left);
      const [{ code }] = asked as [Printed];
      await runPrinted(code, { graph });
    }
    expect(await printed(inspector, ref)).toEqual([]);
    expect((await inspector.run(ref))!.status).toBe("finished");
    expect((await graph.getState(run))!.values.log).toHaveLength(1 + Object.keys(nodes).length);
  });

  it("is none for a thread that asks nothing: finished, failed", async () => {
    const target = place("sqlite");
    await using checkpointer = new Checkpointer<Log>(target);
    const fail: Node = () => {
      throw new Error("out of paper");
    };
    for (const [run, node] of Object.entries({ finished: say, failed: fail })) {
      const graph = new Graph<Log>({ nodes: { node }, entry: "node", reducer, checkpointer });
      await graph.invoke({ log: [] }, { threadId: run }).catch(() => {});
      await using inspector = await openInspector(target);
      const ref = { space: "tinyagents", run, ns: "" };
      expect((await inspector.run(ref))!.status).toBe(run);
      const asked = await printed(inspector, ref);
      expect(asked).toEqual([]);
    }
  });
});
