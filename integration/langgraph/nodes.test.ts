// The names of the nodes that made a checkpoint: those that the graph itself tells when it runs them.
import { Annotation, Command, END, START, Send, StateGraph, interrupt } from "@langchain/langgraph";
import { copyStore, type Store } from "forkpoint";
import { type CheckpointInfo, type Inspector, openInspector, stepName } from "forkpoint/inspect";
import { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { Log, kinds, place, says, sequence, thread, openShared } from "./helpers.js";

async function opened(
  kind: (typeof kinds)[number],
): Promise<{ store: Store; inspector: Inspector; checkpointer: ForkpointSaver }> {
  const store = await openShared(place(kind));
  return { store, inspector: await openInspector(store, { write: true }), checkpointer: new ForkpointSaver(store) };
}

const ref = { space: "langgraph", run: "thread", ns: "" };

interface TaskEvent {
  type: string;
  step: number;
  payload: { name: string };
}

/** Runs a graph, and notes the nodes of each step as LangGraph tells them. A step that is continued begins again. */
async function run(app: any, input: unknown, steps: Map<number, string[]>, config = thread()): Promise<void> {
  const told = new Map<number, string[]>();
  for await (const event of await app.stream(input, { ...config, streamMode: "debug", recursionLimit: 200 })) {
    const { type, step, payload } = event as TaskEvent;
    if (type === "task") told.set(step, [...(told.get(step) ?? []), payload.name]);
  }
  for (const [step, nodes] of told) steps.set(step, nodes);
}

const all = async (inspector: Inspector, run = ref) => {
  const items: CheckpointInfo[] = [];
  for (let cursor: string | null = null; ;) {
    const page = await inspector.checkpoints(run, { cursor, limit: 3 });
    items.push(...page.items);
    if (page.cursor === null) return items;
    cursor = page.cursor;
  }
};

function agree(items: CheckpointInfo[], steps: Map<number, string[]>): void {
  for (const { label, nodes, meta } of items) {
    // LangGraph hides the tasks of `__start__`.
    const told = label === "loop" ? (steps.get(Number(meta["step"])) ?? ["__start__"]).toSorted() : null;
    expect(nodes?.toSorted() ?? null, `step ${meta["step"]}`).toEqual(told);
  }
}

describe.each(kinds)("on %s", (kind) => {
  it("edges, joins, sends and loops", async () => {
    const { inspector, checkpointer } = await opened(kind);
    const app = new StateGraph(Log)
      .addNode("plan", says("plan"))
      .addNode("read", says("read"))
      .addNode("left", says("left"))
      .addNode("right", says("right"))
      .addNode("join", says("join"), { defer: false })
      .addNode("ask", () => ({ log: [interrupt<string, string>("go on?")] }))
      .addEdge(START, "plan")
      .addConditionalEdges("plan", () => ["read", "read", "read"].map((node) => new Send(node, { log: [] })), ["read"])
      .addConditionalEdges("read", () => ["left", "right"], ["left", "right"])
      .addEdge(["left", "right"], "join")
      .addConditionalEdges("join", ({ log }) => (log.length < 20 ? "plan" : "ask"), ["plan", "ask"])
      .addEdge("ask", END)
      .compile({ checkpointer });
    const steps = new Map<number, string[]>();
    await run(app, { log: [] }, steps);
    await run(app, new Command({ resume: "yes" }), steps);
    await app.updateState(thread(), { log: ["by hand"] }, "left");
    await run(app, null, steps);
    await run(app, { log: ["once more"] }, steps);
    const items = await all(inspector);
    expect(items.length).toBeGreaterThan(15);
    expect(items.filter(({ label }) => label === "loop").every(({ nodes }) => nodes !== null)).toBe(true);
    agree(items, steps);
    expect(items.map(stepName)).toEqual(
      expect.arrayContaining(["input", "__start__", "plan", "read x3", "left, right", "update"]),
    );
    // The newest in a listing, one alone, and the same in the other direction.
    expect((await inspector.runs({})).items[0]!.latest).toEqual(items.at(-1));
    expect((await inspector.checkpoints(ref, { order: "desc", limit: 1000 })).items).toEqual(items.toReversed());
    const sent = items.find((item) => stepName(item) === "read x3")!;
    expect((await inspector.checkpoint({ ...ref, id: sent.id }))!.checkpoint).toEqual(sent);
  });

  it("random graphs", async () => {
    const { inspector, checkpointer } = await opened(kind);
    let seed = 7;
    const random = (most: number) => (seed = (seed * 48_271) % 2_147_483_647) % most;
    for (let graph = 0; graph < 6; graph++) {
      const names = ["a", "b", "c", "d"];
      const builder: any = new StateGraph(Log);
      for (const name of names) builder.addNode(name, says(name));
      builder.addConditionalEdges(START, () => names.filter((_, at) => at === 0 || random(2) === 0), names);
      for (const name of names) {
        const leads = () =>
          names.flatMap((to): unknown[] => {
            if (random(4) !== 0) return [];
            return random(2) === 0 ? [to] : Array.from({ length: 1 + random(3) }, () => new Send(to, { log: [] }));
          });
        builder.addConditionalEdges(name, ({ log }: { log: string[] }) => (log.length > 30 ? [] : leads()), names);
      }
      const run_ = { ...ref, run: `graph-${graph}` };
      const config = { configurable: { thread_id: run_.run } };
      const steps = new Map<number, string[]>();
      const app = builder.compile({ checkpointer });
      for (let turn = 0; turn < 3; turn++) await run(app, { log: [] }, steps, config);
      agree(await all(inspector, run_), steps);
    }
  });

  it("subgraphs, forks, copies, and checkpoints without their parent", async () => {
    const { inspector, checkpointer, store } = await opened(kind);
    const inner = sequence(Log, { inner: says("inner") }).compile({ checkpointer: true });
    const app = sequence(Log, { before: says("before"), graph: inner }).compile({ checkpointer });
    await app.invoke({ log: [] }, thread());
    const inside = (await inspector.runs({ allNs: true })).items.find(({ ns }) => ns !== "")!;
    expect(inside.latest.nodes).toEqual(["inner"]);
    const items = await all(inspector);
    expect(items.map(stepName)).toEqual(["input", "__start__", "before", "graph"]);
    const forked = await inspector.fork({ ...ref, id: items[2]!.id }, { as: "fork" });
    const branch = await all(inspector, { ...ref, run: forked.run });
    expect(branch.map(stepName)).toEqual(["input", "__start__", "before", "fork"]);
    const target = await openShared(place(kind));
    await copyStore(store, target);
    expect((await all(await openInspector(target))).map(({ nodes }) => nodes)).toEqual(items.map(({ nodes }) => nodes));
    await store.prune({ keepLastN: 1 });
    expect((await inspector.runs({ match: "thread" })).items[0]!.latest.nodes).toEqual(["graph"]);
  });

  it("a name may be anything", async () => {
    const { inspector, checkpointer } = await opened(kind);
    const name = 'a "\u0001\u202e\\ x2, 💥';
    const app = new StateGraph(Annotation.Root({ n: Annotation<number>() }))
      .addNode(name, () => ({ n: 1 }))
      .addEdge(START, name as never)
      .compile({ checkpointer });
    await app.invoke({ n: 0 }, thread());
    expect((await inspector.run(ref))!.latest.nodes).toEqual([name]);
  });
});
