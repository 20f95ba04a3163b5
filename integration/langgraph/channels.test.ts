// The channels of `node:diagnostics_channel` tell the calls of the saver, and nothing of what a graph stores.
import { MemorySaver, interrupt } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { everything, listen } from "../../__test__/listening.js";
import { Log, all, checkpoint, kinds, metadata, rejection, saver, sequence, thread } from "./helpers.js";

const SECRET = "s3cret-value";

describe.each(kinds)("on %s", (kind) => {
  it("each call has the ids of its thread, namespace and checkpoint", async () => {
    const listening = listen();
    const store = saver(kind);
    const first = { ...checkpoint(), channel_values: { SECRET }, channel_versions: { SECRET: 1 } };
    const second = checkpoint();
    const config = await store.put(thread("t"), first, metadata(), { SECRET: 1 });
    await store.put(config, second, metadata(), {});
    await store.put(thread("t", { checkpoint_ns: "a|b" }), checkpoint({ id: "sub" }), metadata(), {});
    await store.putWrites(config, [["channel", SECRET]], "task");
    await store.getTuple(thread("t", { checkpoint_id: first.id }));
    await store.getTuple(thread("none"));
    await all(store.list(thread("t")));
    await store.listThreads();
    await store.status("t");
    await store.prune(["t"], "keep_latest");
    await store.deleteThread("t");
    const lines = listening.lines();
    for (const line of [
      `save put langgraph t||${first.id} bytes`,
      `save put langgraph t||${second.id} bytes`,
      "save put langgraph t|a|b|sub bytes",
      `save putWrites langgraph t||${first.id} bytes`,
      `read get langgraph t||${first.id} bytes -> found`,
      "read get langgraph none|| empty -> missing",
      "read outline langgraph t|| bytes -> found",
      "prune delete langgraph t|| -> 1",
      "prune deleteThread langgraph t||",
    ]) {
      expect(lines).toContain(line);
    }
    expect(
      lines.some((line) => /^read list langgraph t\|\| bytes -> \d$/.test(line)),
      lines.join("\n"),
    ).toBe(true);
    expect(
      lines.some((line) => /^read threads langgraph \|\| bytes -> 1$/.test(line)),
      lines.join("\n"),
    ).toBe(true);
  });

  it("a graph with a question tells its saves and no value of them", async () => {
    const listening = listen();
    const graph = (checkpointer: MemorySaver) =>
      sequence(Log, { ask: () => ({ log: [interrupt(SECRET) as string] }) }).compile({ checkpointer });
    await graph(saver(kind) as unknown as MemorySaver).invoke({ log: [SECRET] }, thread("t"));
    const saves = listening.ended("save");
    expect(saves.length).toBeGreaterThanOrEqual(2);
    for (const { space, run, bytes, error } of saves) {
      expect({ space, run, error }).toEqual({ space: "langgraph", run: "t", error: undefined });
      expect(bytes).toBeGreaterThan(0);
    }
    expect(everything(listening)).not.toContain(SECRET);
  });

  it("a put that fails has the error of the engine, which is the cause of the one that the caller gets", async () => {
    const listening = listen();
    const store = saver(kind, { expectedParent: true });
    const config = await store.put(thread("t"), checkpoint(), metadata(), {});
    await store.put(config, checkpoint(), metadata(), {});
    const late = checkpoint();
    const error = await rejection(store.put(config, late, metadata(), {}));
    expect(error.code).toBe("CONFLICT");
    const failed = listening.ended("save").filter((context) => context.error !== undefined);
    expect(failed).toMatchObject([{ operation: "put", run: "t", ns: "", id: late.id }]);
    expect(failed[0]!.error).toBe(error.cause);
  });
});
