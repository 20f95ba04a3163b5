// The effects of a thread go with it, whatever removes it, and stay as long as it has a checkpoint.
import { effects } from "forkpoint/effects";
import type { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { checkpoint, kinds, metadata, saver, thread } from "./helpers.js";

/** Puts two checkpoints of a thread, each of a run of its own, and runs two effects: of the thread, and of a subgraph. */
async function fill(checkpointer: ForkpointSaver, id: string): Promise<void> {
  const once = effects(checkpointer);
  for (const run_id of [`${id} 1`, `${id} 2`]) {
    const config = await checkpointer.put(thread(id), checkpoint(), metadata({ run_id }), {});
    await checkpointer.put(thread(id, { checkpoint_ns: "sub:1" }), checkpoint(), metadata({ run_id }), {});
    await once(config, "charge", () => id);
  }
  await once({ space: "langgraph", run: id, ns: "sub:1" }, "charge", () => id);
}

async function left(checkpointer: ForkpointSaver, ...ids: string[]): Promise<Array<[number, number]>> {
  const once = effects(checkpointer);
  const of = async (run: string): Promise<[number, number]> => {
    const [own, inner] = [
      { space: "langgraph", run },
      { space: "langgraph", run, ns: "sub:1" },
    ];
    return [(await once.list(own)).length, (await once.list(inner)).length];
  };
  return Promise.all(ids.map(of));
}

describe.each(kinds)("on %s", (kind) => {
  it("deleteThread and the strategy delete remove them, and those of no other thread", async () => {
    const checkpointer = saver(kind);
    for (const id of ["t", "t2", "t22"]) await fill(checkpointer, id);
    await checkpointer.deleteThread("t2");
    expect(await left(checkpointer, "t", "t2", "t22")).toEqual([
      [1, 1],
      [0, 0],
      [1, 1],
    ]);
    await checkpointer.prune(["t"], "delete");
    expect(await left(checkpointer, "t", "t22")).toEqual([
      [0, 0],
      [1, 1],
    ]);
  });

  it("deleteForRuns removes them with the last checkpoint of a namespace", async () => {
    const checkpointer = saver(kind);
    for (const id of ["t", "t2"]) await fill(checkpointer, id);
    await checkpointer.deleteForRuns(["t 1"]);
    expect(await left(checkpointer, "t", "t2")).toEqual([
      [1, 1],
      [1, 1],
    ]);
    await checkpointer.deleteForRuns(["t 2", "t2 2"]);
    expect(await left(checkpointer, "t", "t2")).toEqual([
      [0, 0],
      [1, 1],
    ]);
  });

  it("limits keep them while the thread has a checkpoint", async () => {
    const checkpointer = saver(kind);
    await fill(checkpointer, "t");
    await checkpointer.prune(["t"], "keep_latest");
    await checkpointer.prune(["t"], { keepLastN: 1 });
    expect(await left(checkpointer, "t")).toEqual([[1, 1]]);
    await checkpointer.prune(["t"], { olderThan: Date.now() + 10_000 });
    expect(await left(checkpointer, "t")).toEqual([[0, 0]]);
  });
});
