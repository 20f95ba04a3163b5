import { CheckpointStore, openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { describe, expect, test } from "vitest";
import { checkpoint, kinds, place, rejection } from "./helpers.js";

describe.each(kinds)("%s: check()", (kind) => {
  test("an empty store is whole", async () => {
    const store = await openStore(place(kind));
    const checked = { checkpoints: 0, payloads: 0, writes: 0, records: 0 };
    expect(await store.check()).toEqual({ ok: true, checked, findings: [], next: null });
    await store.close();
  });

  test("everything is counted, and progress comes to its end", async () => {
    const store = await openStore(place(kind));
    const graphs = new CheckpointStore(store);
    const workflows = new WorkflowCheckpointStore<object>(store);
    const all = Array.from({ length: 1500 }, (_, n) => checkpoint({ id: `c${n}`, runId: `r${n % 7}`, timestamp: n }));
    await Promise.all(all.map((one) => graphs.save(one)));
    await workflows.save({ id: "w", runId: "w", stepIndex: 0, stepName: "s", state: {}, createdAt: 0 });
    const seen: Array<[number, number]> = [];
    const report = await graphs.check({ onProgress: (done, of) => seen.push([done, of]) });
    expect(report).toEqual({
      ok: true,
      checked: { checkpoints: 1501, payloads: 1501, writes: 0, records: 0 },
      findings: [],
      next: null,
    });
    expect(await workflows.check()).toEqual(report);
    // The text files count lines, and a checkpoint takes at least one.
    const [done, of] = seen.at(-1)!;
    expect(of).toBeGreaterThanOrEqual(1501);
    if (kind !== "jsonl") expect(of).toBe(1501);
    expect(done).toBe(of);
    expect(seen).toEqual(seen.toSorted(([a], [b]) => a - b));
    await store.close();
    expect((await rejection(store.check())).code).toBe("CLOSED");
  });

  test("an aborted check rejects with the reason", async () => {
    const store = await openStore(place(kind));
    const reason = new Error("enough");
    await expect(store.check({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const throws = () => {
      throw reason;
    };
    await expect(store.check({ onProgress: throws })).rejects.toBe(reason);
    const aborting = new AbortController();
    const checking = store.check({ signal: aborting.signal, onProgress: () => aborting.abort(reason) });
    // A store in memory is checked in one page, and so are these text files.
    if (kind === "sqlite" || kind === "postgres") await expect(checking).rejects.toBe(reason);
    else expect((await checking).ok).toBe(true);
    await store.close();
  });

  test.each([
    [{ signal: 1 }],
    [{ onProgress: 1 }],
    [{ rows: 0 }],
    [{ rows: "1" }],
    [{ after: 1 }],
    [{ sginal: 1 }],
    [null],
  ])("check(%j) is refused", async (options) => {
    const store = await openStore(place(kind));
    expect((await rejection(store.check(options as object))).code).toBe("INVALID_ARGUMENT");
    await store.close();
  });
});
