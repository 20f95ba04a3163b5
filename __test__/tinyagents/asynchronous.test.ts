// Tests that checkpoints which are written behind hold the same as those that are stored before the next superstep.
import { Checkpointer, END, Graph, START } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { kinds, place } from "../helpers.js";
import { path } from "./helpers.js";

type Update = { log: string[] };

/** Runs a chain of three nodes, then goes on from the checkpoint after the first one. */
async function history(kind: (typeof kinds)[number], durability: "sync" | "async") {
  await using checkpointer = new Checkpointer<Update>(place(kind));
  const nodes = Object.fromEntries(
    ["a", "b", "c"].map((name) => [name, ({ log }: Update) => ({ log: [...log, name] })]),
  );
  const graph = new Graph<Update, Update>({
    nodes,
    edges: path(START, "a", "b", "c", END),
    reducer: (_, update) => update,
    checkpointer,
    durability,
  });
  await graph.invoke({ log: [] }, { threadId: "t" });
  const snapshots = await graph.getStateHistory("t");
  const shown = snapshots.map(({ values, next, tasks }) => ({ values, next, tasks: tasks.map(({ node }) => node) }));
  const after = snapshots.find(({ values }) => values.log.length === 1)!;
  const again = await graph.resumeFrom("t", after.config.checkpointId!);
  return { shown, again: again.state };
}

describe.each(kinds)("a graph over %s", (kind) => {
  it("written behind, no checkpoint holds results of its own superstep", async () => {
    const expected = await history(kind, "sync");
    expect(expected.shown[0]).toMatchObject({ values: { log: ["a", "b", "c"] }, next: [] });
    expect(expected.again).toEqual({ log: ["a", "b", "c"] });
    expect(await history(kind, "async")).toEqual(expected);
  });
});
