// Tests the list of threads with their status.
import { Graph } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { kinds } from "../helpers.js";
import { make } from "./helpers.js";

interface Log {
  log: string[];
}

describe.each(kinds)("on %s", (kind) => {
  it("a thread is finished, waiting, failed or unfinished, as its latest checkpoint tells it", async () => {
    const store = make<Log>(kind);
    const broken = new Set(["failed"]);
    const graph = new Graph<Log, Log>({
      nodes: {
        begin: () => ({ log: ["begin"] }),
        end: (_state, context) => {
          if (broken.has(context.threadId)) throw new Error("no");
          return { log: [context.threadId === "waiting" ? String(context.interrupt("well?")) : "end"] };
        },
      },
      edges: [["begin", "end"]],
      entry: "begin",
      reducer: (state, update) => ({ log: [...state.log, ...update.log] }),
      checkpointer: store,
    });
    for (const threadId of ["finished", "waiting", "failed", "unfinished"]) {
      await graph.invoke({ log: [] }, { threadId }).catch(() => {});
    }
    // As if the process was killed after the first superstep.
    const [, first] = await store.stateHistory("unfinished");
    await store.deleteCheckpoints("unfinished", [(await store.get("unfinished"))!.checkpointId]);
    const { threads, cursor } = await store.threads();
    expect(cursor).toBeNull();
    const version = { version: null, shape: expect.any(String) };
    const others = { checkpointId: expect.any(String), next: ["end"], version, stopped: null, lease: null };
    expect(threads).toEqual([
      { ...others, threadId: "unfinished", checkpointId: first!.checkpointId, status: "unfinished" },
      { ...others, threadId: "failed", status: "failed" },
      { ...others, threadId: "waiting", status: "waiting" },
      { ...others, threadId: "finished", status: "finished", next: [] },
    ]);

    await graph.resume("waiting", { resume: "yes" });
    expect((await store.threads()).threads[2]).toMatchObject({ threadId: "waiting", status: "finished" });
  });

  it("pages follow each other", async () => {
    const store = make<Log>(kind);
    const graph = new Graph<Log, Log>({
      nodes: { only: () => ({ log: [] }) },
      entry: "only",
      reducer: (state) => state,
      checkpointer: store,
    });
    for (let i = 0; i < 7; i++) await graph.invoke({ log: [] }, { threadId: `thread-${i}` });
    const seen: string[] = [];
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const page = await store.threads({ limit: 3, cursor });
      expect(page.threads.length).toBeLessThanOrEqual(3);
      seen.push(...page.threads.map(({ threadId }) => threadId));
      cursor = page.cursor;
    }
    expect(seen).toEqual([6, 5, 4, 3, 2, 1, 0].map((i) => `thread-${i}`));
    await expect(store.threads({ limt: 3 } as never)).rejects.toThrow('Did you mean "limit"?');
  });
});
