// Rules about age leave threads of TinyAgents that wait for an answer.
// The command line and the inspector take them when they are asked to.
import { setTimeout } from "node:timers/promises";
import { type StoreOptions, openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { Checkpointer, Graph, START } from "forkpoint/tinyagents";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { json } from "./cli/run.js";
import { expectSound, kinds, place, sharedKinds } from "./helpers.js";

const DAY = 86_400_000;
const LONG_AGO = Date.UTC(2001, 0, 1);

interface State {
  log: string[];
}

async function opened(target: string, options?: StoreOptions) {
  const store = await openStore(target, options);
  onTestFinished(() => store.close());
  const checkpointer = new Checkpointer<State>(store);
  const graph = new Graph<State>({
    reducer: (state, { log = [] }: Partial<State>) => ({ log: [...state.log, ...log] }),
    nodes: {
      draft: () => ({ log: ["drafted"] }),
      ask: (_: State, context: { interrupt(value: unknown): unknown }) => ({
        log: [String(context.interrupt("pay?"))],
      }),
    },
    edges: [
      [START, "draft"],
      ["draft", "ask"],
    ],
    checkpointer,
  });
  return { store, checkpointer, graph };
}

/** Does something long ago. */
async function longAgo<T>(work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ["Date"], now: LONG_AGO });
  try {
    return await work();
  } finally {
    vi.useRealTimers();
  }
}

describe.each(kinds)("%s", (kind) => {
  test("a question keeps the newest checkpoint of its thread until it is answered", async () => {
    const { store, checkpointer, graph } = await opened(place(kind));
    const olderThan = Date.now();
    await longAgo(() => graph.invoke({ log: [] }, { threadId: "waits" }));
    const newest = await checkpointer.get("waits");
    await store.prune({ olderThan });
    expect(await checkpointer.get("waits")).toEqual(newest);
    expect((await checkpointer.stats()).checkpoints).toBe(1);
    expect((await longAgo(() => graph.resume("waits", { resume: "yes" }))).state.log).toEqual(["drafted", "yes"]);
    await store.prune({ olderThan });
    expect(await checkpointer.get("waits")).toBeNull();
    await expectSound(store);
  });

  test("an inspector takes it when it is told to", async () => {
    const { store, checkpointer, graph } = await opened(place(kind));
    await longAgo(() => graph.invoke({ log: [] }, { threadId: "waits" }));
    const inspector = await openInspector(store, { write: true });
    onTestFinished(() => inspector.close());
    const olderThan = Date.now();
    await inspector.prune({ olderThan, space: "tinyagents" });
    expect(await checkpointer.get("waits")).not.toBeNull();
    expect(await inspector.prune({ olderThan, space: "tinyagents", waiting: true })).toMatchObject({ removed: 1 });
    expect(await checkpointer.get("waits")).toBeNull();
  });
});

// Another store has the limit, which would take what these graphs save long ago while they work.
test.each(sharedKinds)("the background leaves it on %s", async (kind) => {
  const target = place(kind);
  const { checkpointer, graph } = await opened(target);
  await longAgo(async () => {
    await graph.invoke({ log: [] }, { threadId: "waits" });
    // What is saved later goes later.
    await graph.invoke({ log: [] }, { threadId: "done" });
    await graph.resume("done", { resume: "yes" });
  });
  const limited = await opened(target, { ttlMs: DAY, pruneShare: 1 });
  for (let turn = 0; (await checkpointer.get("done")) !== null; turn++) {
    await limited.graph.invoke({ log: [] }, { threadId: `turn ${turn}` });
    await setTimeout(200);
  }
  expect(await checkpointer.get("waits")).not.toBeNull();
});

test("the command line takes it with --waiting", async () => {
  const target = place("sqlite");
  const { store, graph } = await opened(target);
  await longAgo(() => graph.invoke({ log: [] }, { threadId: "waits" }));
  await store.close();
  const prune = ["prune", "--older-than", "1d", "--yes", "--db", target];
  await json(prune);
  expect(await json(prune)).toMatchObject({ removed: 0, lineages: 0 });
  expect(await json([...prune, "--waiting", "--dry-run"])).toMatchObject({ removed: 1, lineages: 1 });
  expect(await json([...prune, "--waiting"])).toMatchObject({ removed: 1, lineages: 1 });
});
