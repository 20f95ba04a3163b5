// Tests forkpoint/testing with LangGraph's real graphs.
import { BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph-checkpoint";
import { withFaults } from "forkpoint/testing";
import { describe, expect, it } from "vitest";
import { Log, all, checkpoint, kinds, metadata, rejection, saver, says, sequence, thread } from "./helpers.js";

const graph = (checkpointer: BaseCheckpointSaver) =>
  sequence(Log, { one: says("one"), two: says("two") }).compile({ checkpointer });

const config = { ...thread(), durability: "sync" as const };

describe.each(kinds)("a saver with faults on %s", (kind) => {
  it("makes the graph fail, which continues after it", async () => {
    const inner = saver(kind);
    const faulty = withFaults(inner, [{ on: "put", nth: 3, reject: "FULL" }]);
    expect((await rejection(graph(faulty).invoke({ log: ["in"] }, config))).code).toBe("FULL");
    expect(await all(inner.list(thread()))).toHaveLength(2);
    expect(await graph(inner).invoke(null, config)).toEqual({ log: ["in", "one", "two"] });
  });

  it("fails in a listing before its first checkpoint, or after its last", async () => {
    const inner = saver(kind);
    await inner.put(thread(), checkpoint(), metadata(), {});
    const faulty = withFaults(inner, [
      { on: "list", nth: 1, reject: "CORRUPT" },
      { on: "list", nth: 2, when: "after", reject: "BUSY" },
    ]);
    expect((await rejection(all(faulty.list(thread())))).code).toBe("CORRUPT");
    expect((await rejection(all(faulty.list(thread())))).code).toBe("BUSY");
    expect(await all(faulty.list(thread()))).toHaveLength(1);
  });
});

it("LangGraph's own saver takes faults too", async () => {
  const faulty = withFaults(new MemorySaver(), [{ on: "putWrites", nth: 2, reject: new Error("no connection") }]);
  expect(faulty).toBeInstanceOf(BaseCheckpointSaver);
  expect((await rejection(graph(faulty).invoke({ log: [] }, config))).message).toBe("no connection");
});
