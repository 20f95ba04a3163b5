// `drainCheck` says before a deploy which threads `recover` of the new version would report as changed.
import { Annotation, interrupt } from "@langchain/langgraph";
import { openInspector } from "forkpoint/inspect";
import { ForkpointSaver, type SaverOptions, describe as describeGraph, recover } from "forkpoint/langgraph";
import { expect, it } from "vitest";
import { expectRecovered, programs } from "../../__test__/programs/drained.js";
import { openShared, sequence } from "./helpers.js";

const State = Annotation.Root({ ran: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }) });

const opened = () => openShared("memory:");

type Opened = Awaited<ReturnType<typeof opened>>;

function make(store: Opened, names: string[], options: SaverOptions, does: Record<string, () => void> = {}) {
  const saver = new ForkpointSaver(store, options);
  const nodes = Object.fromEntries(names.map((name) => [name, () => (does[name]?.(), { ran: [name] })]));
  return { saver, graph: sequence(State, nodes).compile({ checkpointer: saver }) as any };
}

/** Fills a store with threads of the first version, a b c. */
async function fill(store: Opened, options: SaverOptions): Promise<void> {
  const does: Record<string, () => void> = {};
  const { saver, graph } = make(store, ["a", "b", "c"], options, {
    b: () => does["b"]?.(),
    c: () => does["c"]?.(),
  });
  await recover(graph, saver);
  const invoke = (id: string, more = {}) =>
    graph.invoke({ ran: [] }, { configurable: { thread_id: id }, durability: "sync", ...more });
  for (const next of ["a", "b", "c"]) await invoke(`${next} is next`, { interruptBefore: [next] });
  does["b"] = () => void interrupt("go on?");
  await invoke("b waits");
  does["c"] = () => {
    throw new Error("c failed");
  };
  delete does["b"];
  await expect(invoke("c failed")).rejects.toThrow("c failed");
  delete does["c"];
  await invoke("finished");
}

it.each(programs)("says what recover says, for a program %s", async (_, first, second) => {
  for (const names of [
    ["a", "b", "c"],
    ["a", "b2", "c"],
    ["a", "b", "z", "c"],
    ["a", "b", "c", "z"],
  ]) {
    const store = await opened();
    await fill(store, first);
    const listed = (await make(store, names, second).saver.listThreads()).threads;
    const made = { version: first.version ?? null, shape: expect.any(String) };
    expect(listed.map(({ version }) => version)).toEqual(listed.map(() => made));
    const inspector = await openInspector(store);
    const described = { space: "langgraph", program: "trip", version: "3", fields: ["ran"] };
    expect(describeGraph(make(store, names, {}).graph, { program: "trip", version: "3" })).toMatchObject(described);
    expect(() => describeGraph({} as never)).toThrow(TypeError);
    const counted = { space: "langgraph", program: first.program ?? null, version: made, runs: 5, isEstimate: false };
    expect(await inspector.versions()).toMatchObject([
      { ...counted, statuses: { waiting: 1, failed: 1, unfinished: 3, stopped: 0, unknown: 0 } },
    ]);
    const { saver, graph } = make(store, names, second);
    const report = await inspector.drainCheck(describeGraph(graph));
    const changed = expectRecovered(report, (await recover(graph, saver, { dryRun: true })).runs);
    expect(report.fits).toBe(5 - changed.size);
    if (names.includes("b2")) expect(changed.get("b waits")).toContain("`b`, which is next, is gone; `b2` is new");
    else if (names.at(-1) === "z") expect(changed.size).toBe(first.program === undefined ? 5 : 0);
  }
});
