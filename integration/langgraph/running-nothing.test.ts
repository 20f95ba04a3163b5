// A thread is resumed by a graph that has none of its next nodes. LangGraph then runs nothing, resolves, and takes the answer.
import { Command, MemorySaver, entrypoint, interrupt } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { openInspector } from "forkpoint/inspect";
import { type ForkpointSaver, type SaverOptions, recover } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { Log, all, kinds, open, openShared, place, rejection, says, sequence, sideBySide, thread } from "./helpers.js";

type Durability = "sync" | "async" | "exit";

const run = (durability: Durability = "sync", more = {}) => ({
  configurable: { ...thread().configurable, ...more },
  durability,
});
const yes = new Command({ resume: "yes" });
const asks = (text: string) => () => ({ log: [`${text} ${interrupt<string, string>(text)}`] });

const old = (saver: ForkpointSaver) =>
  sequence(Log, { check: says("check"), approve: asks("approve?") }).compile({ checkpointer: saver });
const fresh = (saver: ForkpointSaver) =>
  sequence(Log, { check: says("check"), review: asks("review?") }).compile({ checkpointer: saver });

const gone = {
  code: "CONFLICT",
  message:
    'thread "thread" cannot be resumed, because the graph has run none of the nodes that are next (`approve`): fork the thread, ' +
    "or use a graph that has these nodes",
};

/** Everything that a store holds of the thread. */
async function contents(on: ForkpointSaver) {
  const found = [];
  for await (const { checkpoint, metadata, pendingWrites } of on.list(thread()))
    found.push([checkpoint.id, metadata, pendingWrites]);
  return found;
}

describe.each(kinds)("%s", (kind) => {
  /** Two versions of a program on a store, and a thread that waits in a node that only the first has. */
  async function waiting(options: SaverOptions = {}) {
    const store = await openShared(place(kind));
    const savers = [open(store as never, options), open(store as never, options)] as const;
    const { __interrupt__: asked } = (await old(savers[0]).invoke({ log: [] }, run())) as never;
    return { savers, id: (asked as [{ id: string }])[0].id, before: await contents(savers[0]) };
  }

  const ways: Array<[string, (graph: any, id: string, durability: Durability) => Promise<unknown>]> = [
    ["an answer", (graph, _, durability) => graph.invoke(yes, run(durability))],
    [
      "an answer by id",
      (graph, id, durability) => graph.invoke(new Command({ resume: { [id]: "yes" } }), run(durability)),
    ],
    [
      "an answer at the newest checkpoint",
      async (graph, _, durability) => {
        const { checkpoint_id } = (await graph.getState(thread())).config.configurable;
        return graph.invoke(yes, run(durability, { checkpoint_id }));
      },
    ],
    ["a stream", async (graph, _, durability) => all(await graph.stream(yes, run(durability)))],
    [
      "a stream of subgraphs",
      async (graph, _, durability) =>
        all(await graph.stream(yes, { ...run(durability), subgraphs: true, streamMode: ["debug", "values"] })),
    ],
    ["events", async (graph, _, durability) => all(graph.streamEvents(yes, { ...run(durability), version: "v2" }))],
  ];

  describe.each(["sync", "async", "exit"] as const)("%s", (durability) => {
    it.each(ways)("%s rejects, and stores nothing", async (_, resume) => {
      const { savers, id, before } = await waiting();
      for (let time = 0; time < 2; time++)
        expect(await rejection(resume(fresh(savers[1]), id, durability))).toMatchObject(gone);
      expect(await contents(savers[0])).toEqual(before);
      expect(await savers[0].status("thread")).toMatchObject({ status: "waiting", next: ["approve"] });
      // The old version still takes the answer, and a new input starts the new version.
      await resume(old(savers[0]), id, durability);
      expect((await old(savers[0]).getState(thread())).values.log).toEqual(["check", "approve? yes"]);
      await fresh(savers[1]).invoke({ log: [] }, run(durability));
      expect((await savers[1].status("thread"))?.next).toEqual(["review"]);
    });
  });

  it("a new input goes on, because it drops the old nodes", async () => {
    const { savers } = await waiting();
    const { log } = await fresh(savers[1]).invoke({ log: ["again"] }, run());
    expect(log).toEqual(["check", "again", "check"]);
  });

  it("an answer that was stored stays for the version that has the node", async () => {
    const store = await openShared(place(kind));
    const savers = [open(store as never), open(store as never)] as const;
    await old(savers[0]).invoke({ log: [] }, run());
    const inspector = await openInspector(store, { write: true });
    await inspector.answer({ space: "langgraph", run: "thread" }, { value: "yes" });
    expect(await rejection(fresh(savers[1]).invoke(yes, run()))).toMatchObject(gone);
    expect((await old(savers[0]).invoke(yes, run())).log).toEqual(["check", "approve? yes"]);
  });

  it("frees the lease of the thread", async () => {
    const { savers } = await waiting({ lease: { ttlMs: 60_000 } });
    expect(await rejection(fresh(savers[1]).invoke(yes, run()))).toMatchObject(gone);
    expect((await old(savers[0]).invoke(yes, run())).log).toEqual(["check", "approve? yes"]);
  });
});

describe("without an answer", () => {
  /** A thread at a breakpoint before a node that the second version does not have. */
  async function stopped(on: BaseCheckpointSaver) {
    const graph = (name: string) =>
      sequence(Log, { check: says("check"), [name]: says(name) }).compile({ checkpointer: on }) as any;
    await graph("approve").invoke({ log: [] }, { ...run(), interruptBefore: ["approve"] });
    return graph;
  }

  it.each(["sync", "async"] as const)(
    "%s: the saver is told nothing, so LangGraph resolves as it always does",
    async (durability) => {
      for (const on of [open("memory:"), new MemorySaver()]) {
        const graph = await stopped(on);
        expect(await graph("review").invoke(null, run(durability))).toEqual({ log: ["check"] });
        // The thread has not changed.
        expect((await graph("approve").getState(thread())).next).toEqual(["approve"]);
        expect((await graph("approve").invoke(null, run(durability))).log).toEqual(["check", "approve"]);
        // A finished thread has nothing to run.
        expect((await graph("approve").invoke(null, run(durability))).log).toEqual(["check", "approve"]);
      }
    },
  );

  it("exit: rejects where LangGraph saves the end, and a finished thread resolves", async () => {
    const graph = await stopped(open("memory:"));
    // LangGraph 1.7 saves nothing if nothing has run.
    const end: unknown = await graph("review")
      .invoke(null, run("exit"))
      .catch((error: unknown) => error);
    expect(end).toEqual(end instanceof Error ? expect.objectContaining(gone) : { log: ["check"] });
    for (let time = 0; time < 2; time++)
      expect((await graph("approve").invoke(null, run("exit"))).log).toEqual(["check", "approve"]);
  });
});

it("a breakpoint before a node that is gone", async () => {
  const saver = open("memory:");
  const graph = (name: string) =>
    sequence(Log, { check: says("check"), [name]: says(name) }).compile({ checkpointer: saver }) as any;
  await graph("approve").invoke({ log: [] }, { ...run(), interruptBefore: ["approve"] });
  expect(await rejection(graph("review").invoke(yes, run()))).toMatchObject(gone);
  expect((await graph("approve").invoke(null, run())).log).toEqual(["check", "approve"]);
});

it("the only node of the functional API has no name in a thread", async () => {
  const saver = open("memory:");
  const flow = (name: string) => entrypoint({ name, checkpointer: saver }, async () => [name, interrupt(name)]);
  await flow("one").invoke(1, run());
  expect(await flow("two").invoke(yes, run())).toEqual(["two", "yes"]);
});

it("one of several next nodes is enough, and so is a node that is slow to begin", async () => {
  const saver = open("memory:");
  await sideBySide(Log, { a: asks("a?"), b: asks("b?") })
    .compile({ checkpointer: saver })
    .invoke({ log: [] }, run());
  const slow = async () => {
    const answer = interrupt<string, string>("a?");
    await new Promise((resolve) => setTimeout(resolve, 300));
    return { log: [answer] };
  };
  const { log } = await sideBySide(Log, { a: slow }).compile({ checkpointer: saver }).invoke(yes, run());
  expect(log).toEqual(["yes"]);
});

it("a finished thread resolves as before, and so does an empty one", async () => {
  const saver = open("memory:");
  const graph = sequence(Log, { check: says("check") }).compile({ checkpointer: saver });
  await graph.invoke({ log: [] }, run());
  expect(await graph.invoke(yes, run())).toEqual({ log: ["check"] });
});

it("the metadata of a run that LangGraph and its nodes see is that of the caller", async () => {
  const saver = open("memory:");
  const seen: unknown[] = [];
  const graph = sequence(Log, {
    ask: (_, { metadata }) => {
      seen.push(
        Object.keys(metadata ?? {}).filter((key) => key === "user"),
        structuredClone(metadata),
        JSON.stringify(metadata),
      );
      return { log: [interrupt<string, string>("q?")] };
    },
  }).compile({ checkpointer: saver });
  const metadata = { user: "ada" };
  await graph.invoke({ log: [] }, { ...run(), metadata });
  await graph.invoke(yes, { ...run(), metadata });
  expect(seen.slice(3)).toEqual(seen.slice(0, 3));
  expect(Reflect.ownKeys(metadata)).toEqual(["user"]);
  for await (const { metadata } of saver.list(thread())) expect(Object.getOwnPropertySymbols(metadata)).toEqual([]);
});

it("recover reports a thread that it was told to resume, if the graph has none of the next nodes", async () => {
  const store = await openShared("memory:");
  const saver = () => open(store as never, { program: "refunds" });
  await old(saver()).invoke({ log: [] }, run());
  const on = saver();
  const { runs } = await recover(fresh(on), on, { onChanged: () => "resume", onWaiting: () => yes });
  expect(runs).toMatchObject([{ outcome: "error", error: gone }]);
  expect(await on.status("thread")).toMatchObject({ status: "waiting" });
});
