import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CheckpointStore, openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { describe, expect, test } from "vitest";
import { checkpoint, folder, kinds, place, rejection } from "./helpers.js";

/** The random text prevents compression, so that the marker can be found in the file. */
const noisy = (n: number) => ({ ...checkpoint().state, scratch: { text: `needle ${n}`, noise: randomBytes(4_000) } });

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

  test("a check goes on where another one has stopped", async () => {
    const store = await openStore(place(kind));
    const graphs = new CheckpointStore(store);
    const all = Array.from({ length: 1500 }, (_, n) => checkpoint({ id: `c${n}`, runId: `r${n % 7}`, timestamp: n }));
    await Promise.all(all.map((one) => graphs.save(one)));
    const whole = await store.check();
    const sum = { checkpoints: 0, payloads: 0, writes: 0, records: 0 };
    let parts = 0;
    let next: string | null | undefined;
    while (next !== null) {
      const part = await store.check({ rows: 400, ...(next !== undefined && { after: next }) });
      for (const rows of Object.keys(sum) as Array<keyof typeof sum>) sum[rows] += part.checked[rows];
      next = part.next;
      parts += 1;
    }
    expect(sum).toEqual(whole.checked);
    if (kind === "sqlite" || kind === "postgres") expect(parts).toBeGreaterThan(3);
    // The progress of a check that is stopped has the position too.
    const reason = new Error("enough");
    let at: string | null | undefined;
    const stop = (done: number, _of: number, position: string | null) => {
      // The first pages of a file are about the file itself.
      if (done === 0) return;
      at = position;
      throw reason;
    };
    await expect(store.check({ onProgress: stop })).rejects.toBe(reason);
    const rest = await store.check({ after: at ?? undefined } as object);
    expect(rest.next).toBeNull();
    if (kind === "sqlite" || kind === "postgres") {
      expect(rest.checked.checkpoints).toBeLessThan(1500);
      expect(await rejection(store.check({ after: "nonsense" }))).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
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

test("damage is told with the run, the checkpoint and what can be done, and the others are read", async () => {
  const file = join(folder(), "agent.db");
  const before = new CheckpointStore(file);
  for (let n = 0; n < 6; n++) {
    await before.save(checkpoint({ id: `c${n}`, runId: `r${n}`, timestamp: n, state: noisy(n) }));
  }
  await before.close();
  const bytes = readFileSync(file);
  const at = bytes.indexOf("needle 3");
  expect(at).toBeGreaterThan(0);
  bytes[at + 3]! ^= 1;
  writeFileSync(file, bytes);

  const store = new CheckpointStore(file);
  const { findings, ...report } = await store.check();
  expect(report).toMatchObject({ ok: false, checked: { checkpoints: 6 } });
  const finding = {
    code: "CORRUPT",
    severity: "error",
    message: expect.stringContaining('"c3"'),
    remedy: expect.stringContaining("backup"),
    ref: { space: "agentos", run: "r3", ns: null, id: "c3" },
  };
  expect(findings).toEqual([finding]);
  expect((await rejection(store.get("c3"))).code).toBe("CORRUPT");
  for (const n of [0, 1, 2, 4, 5])
    expect((await store.get(`c${n}`))!.state.scratch).toMatchObject({ text: `needle ${n}` });
  await store.delete("c3");
  expect((await store.check()).ok).toBe(true);
  await store.close();
});
