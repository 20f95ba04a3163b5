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

describe.each(kinds)("on %s", (kind) => {
  it.each<[what: string, isLeft: boolean, remove: (checkpointer: ForkpointSaver) => Promise<unknown>]>([
    ["deleteThread removes", false, (one) => one.deleteThread("t2")],
    ["the strategy delete removes", false, (one) => one.prune(["t2"], "delete")],
    ["deleteForRuns of all runs removes", false, (one) => one.deleteForRuns(["t2 2", "t2 1"])],
    ["deleteForRuns of one run keeps", true, (one) => one.deleteForRuns(["t2 1"])],
    ["the strategy keep_latest keeps", true, (one) => one.prune(["t2"], "keep_latest")],
    ["a limit on the number keeps", true, (one) => one.prune(["t2"], { keepLastN: 1 })],
    [
      "a limit on the age of all checkpoints removes",
      false,
      (one) => one.prune(["t2"], { olderThan: Date.now() + 1e4 }),
    ],
  ])("%s them, and those of other threads stay", async (_, isLeft, remove) => {
    const checkpointer = saver(kind);
    for (const id of ["t", "t2", "t22"]) await fill(checkpointer, id);
    await remove(checkpointer);
    const once = effects(checkpointer);
    for (const [run, count] of [
      ["t", 1],
      ["t2", isLeft ? 1 : 0],
      ["t22", 1],
    ] as const)
      for (const ns of ["", "sub:1"])
        expect(await once.list({ space: "langgraph", run, ns }), `${run} ${ns}`).toHaveLength(count);
  });
});
