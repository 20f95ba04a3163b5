// Tests the removal of checkpoints by each save, in the background and by prune(). Also tests statistics.
// @module-tag threads
import { randomBytes } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import {
  type Checkpoint,
  CheckpointStore,
  type PruneOptions,
  type RunPruneResult,
  type StoreOptions,
  type Sweep,
  openStore,
} from "forkpoint";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { opened as shared } from "./contents.js";
import { checkpoint, failure, ids, kinds, open, place, rejection, thrown } from "./helpers.js";

const HOUR = 3_600_000;
const LONG_AGO = Date.UTC(2001, 0, 1);

/** Makes text of this length that hardly compresses. */
function text(length: number, seed: number): string {
  let state = seed * 2_654_435_761 + 1;
  const next = () => String.fromCharCode(33 + ((state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % 90));
  return Array.from({ length }, next).join("");
}

/** Saves at the given time instead of now. */
async function saveAt(store: CheckpointStore, time: number, fields: Partial<Checkpoint>): Promise<Checkpoint> {
  vi.useFakeTimers({ toFake: ["Date"], now: time });
  try {
    const saved = checkpoint(fields);
    const saving = store.save(saved);
    vi.useRealTimers();
    await saving;
    return saved;
  } finally {
    vi.useRealTimers();
  }
}

const run = async (store: CheckpointStore, runId: string) => ids(await store.listByRun(runId));

describe("the options keepLastN, ttlMs and maxBytes", () => {
  const units = [
    ["keepLastN", "checkpoints"],
    ["ttlMs", "milliseconds"],
    ["waitingTtlMs", "milliseconds"],
    ["maxBytes", "bytes"],
  ] as const;

  test.each(units)("%s is a positive whole number", async (name, unit) => {
    for (const value of [-1, 0.5, 1.5, Number.NaN, Number.NEGATIVE_INFINITY, 2 ** 53]) {
      const error = thrown(() => new CheckpointStore("memory:", { [name]: value }));
      expect(error).toBeInstanceOf(RangeError);
      expect(error.message).toBe(`option "${name}" must be a positive whole number of ${unit}, but is ${value}`);
      expect((await rejection(openStore("memory:", { [name]: value }))).message).toBe(error.message);
    }
    for (const [value, shown] of [
      ["5", "a string"],
      [true, "true"],
      [5n, "a bigint"],
      [{}, "an object"],
    ] as const) {
      const error = thrown(() => new CheckpointStore("memory:", { [name]: value as unknown as number }));
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).toBe(`option "${name}" must be a number of ${unit}, or null for no limit, but is ${shown}`);
    }
  });

  test("waitingTtlMs needs ttlMs, and is not shorter", async () => {
    const wrong = [
      [{ waitingTtlMs: 1 }, TypeError, 'option "waitingTtlMs" needs "ttlMs"'],
      [{ waitingTtlMs: 1, ttlMs: null }, TypeError, 'option "waitingTtlMs" needs "ttlMs"'],
      [
        { waitingTtlMs: 1, ttlMs: 2 },
        RangeError,
        'option "waitingTtlMs" must be at least "ttlMs", which is 2, but is 1',
      ],
    ] as const;
    for (const [options, kind, message] of wrong) {
      for (const error of [
        thrown(() => new CheckpointStore("memory:", options)),
        await rejection(openStore("memory:", options)),
      ]) {
        expect(error).toBeInstanceOf(kind);
        expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message });
      }
    }
    for (const options of [{ ttlMs: 1, waitingTtlMs: 1 }, { ttlMs: 1, waitingTtlMs: null }, { waitingTtlMs: 0 }]) {
      expect(await open("memory:", options).prune()).toMatchObject({ removed: 0 });
    }
  });

  test.each(units)("%s is no limit when it is undefined, null, 0 or Infinity", async (name) => {
    for (const value of [undefined, null, 0, -0, Number.POSITIVE_INFINITY]) {
      const store = open("memory:", { [name]: value } as StoreOptions);
      for (let n = 0; n < 5; n++) await saveAt(store, LONG_AGO, {});
      expect(await store.prune()).toEqual({ removed: 0, bytes: 0, runs: 0 });
      expect(await run(store, "run-1")).toHaveLength(5);
    }
  });
});

test("a sweep that keeps failing is told once, as a warning of the process", { timeout: 30_000 }, async () => {
  const heard: Array<Error & { code?: string }> = [];
  const hear = (warning: Error) => heard.push(warning);
  process.on("warning", hear);
  onTestFinished(() => void process.off("warning", hear));
  const published: unknown[] = [];
  const note = (warning: unknown) => published.push(warning);
  subscribe("forkpoint:warning", note);
  onTestFinished(() => void unsubscribe("forkpoint:warning", note));
  const target = place("sqlite");
  const marker = randomBytes(4_096);
  const writer = open(target);
  await saveAt(writer, LONG_AGO, { id: "base", state: { ...checkpoint().state, scratch: marker } });
  await writer.save(checkpoint({ id: "kept", state: { ...checkpoint().state, scratch: marker } }));
  await writer.close();
  // The remaining checkpoint is stored as the difference from the checkpoint that is to be removed. Give the checkpoint
  // that is to be removed the format of a later version. In the file, the checkpoint's format byte comes before the
  // checksum, the length and the first part's name.
  const bytes = readFileSync(target);
  const at = bytes.indexOf("\u0002\u0005state\u0002v8") - 11;
  expect(bytes[at]).toBe(1);
  bytes[at] = 99;
  writeFileSync(target, bytes);

  const store = open(target, { ttlMs: HOUR });
  for (let n = 0; n < 5; n += 1) {
    await store.save(checkpoint({ runId: "other" }));
    await store.stats();
    // A sweep begins one second after the last one ended.
    await setTimeout(1_050);
  }
  const ours = heard.filter(({ name }) => name === "ForkpointWarning");
  expect(ours).toHaveLength(1);
  const [{ code, message }] = ours as [Error & { code?: string }];
  expect(code).toBe("FORKPOINT_SWEEP_FAILS");
  expect(message).toContain(target);
  expect(message).toContain("UNSUPPORTED: ");
  expect(message).toContain("prune()");
  expect(await run(store, "other")).toHaveLength(5);
  // The warning contains the message of the error with which prune() rejects.
  expect(message).toContain((await failure(store.prune(), "UNSUPPORTED")).message);
  expect(published).toEqual([{ code, message, target: expect.stringContaining(target) }]);
});

describe.each(kinds)("%s: in the background", (kind) => {
  test("checkpoints older than ttlMs are removed after a save, even the newest of a run, and it is published", async () => {
    const sweeps: Sweep[] = [];
    const target = place(kind);
    const hear = (message: unknown) => sweeps.push(message as Sweep);
    subscribe("forkpoint:sweep", hear);
    onTestFinished(() => void unsubscribe("forkpoint:sweep", hear));
    const store = open(target, { ttlMs: HOUR, pruneShare: 1 });
    await store.save(checkpoint({ id: "new" }));
    await saveAt(store, LONG_AGO, { id: "old", runId: "old", timestamp: Date.now() + HOUR });
    // The first sweep has found nothing, and the next one begins a second later.
    await setTimeout(1_100);
    await store.save(checkpoint({ id: "newer" }));
    await expect.poll(() => sweeps.length).toBeGreaterThan(0);
    const [sweep] = sweeps as [Sweep];
    expect(sweeps).toHaveLength(1);
    expect(sweep).toMatchObject({ removed: 1, lineages: 1, bytes: expect.any(Number) });
    expect(kind === "memory" || target.includes(sweep.target) || sweep.target.includes("database")).toBe(true);
    expect(sweep.bytes).toBeGreaterThan(0);
    expect(sweep.workMs).toBeGreaterThan(0);
    expect(sweep.tookMs).toBeGreaterThanOrEqual(sweep.workMs);
    expect(await store.get("old")).toBeNull();
  });
});

describe.each(kinds)("%s: prune()", (kind) => {
  test("applies what the store was opened with", async () => {
    const target = place(kind);
    const store = open(target, { ttlMs: HOUR });
    await store.save(checkpoint({ id: "new" }));
    for (let n = 0; n < 5; n++) await saveAt(store, LONG_AGO, { runId: `old-${n % 2}` });
    const { checkpoints } = await store.stats();
    expect(checkpoints).toBeGreaterThanOrEqual(1);
    expect(await store.prune()).toMatchObject({ removed: checkpoints - 1 });
    expect(await store.stats()).toMatchObject({ checkpoints: 1, runs: 1 });
    expect(await store.prune()).toEqual({ removed: 0, bytes: 0, runs: 0 });
  });

  test("olderThan is a Date or milliseconds, and goes by the time of saving", async () => {
    const store = open(place(kind));
    for (let n = 0; n < 10; n++) await saveAt(store, LONG_AGO + n, { id: `c${n}`, timestamp: 10 - n });
    expect((await store.prune({ olderThan: LONG_AGO + 2 })).removed).toBe(2);
    expect((await store.prune({ olderThan: new Date(LONG_AGO + 4) })).removed).toBe(2);
    expect((await store.prune({ olderThan: LONG_AGO + 4.5 })).removed).toBe(1);
    expect(await run(store, "run-1")).toEqual(["c9", "c8", "c7", "c6", "c5"]);
    expect(await store.prune({ olderThan: Date.now() + HOUR })).toMatchObject({ removed: 5, runs: 1 });
  });

  test("each option stands for itself, and null switches off what the store was opened with", async () => {
    const store = open(place(kind));
    for (let n = 0; n < 12; n++) await saveAt(store, LONG_AGO, { id: `c${n}`, runId: `r${n % 2}`, timestamp: n });
    expect((await store.prune({ keepLastN: 4 })).removed).toBe(4);
    expect(await run(store, "r0")).toEqual(["c10", "c8", "c6", "c4"]);
    const { storedBytes } = await store.stats();
    const less = await store.prune({ maxBytes: storedBytes - 1 });
    expect(less.removed).toBeGreaterThan(0);
    expect((await store.stats()).storedBytes).toBeLessThan(storedBytes);
    await store.prune({ maxBytes: 1 });
    expect([await run(store, "r0"), await run(store, "r1")]).toEqual([["c10"], ["c11"]]);
    const options: Array<PruneOptions<RunPruneResult>> = [
      {},
      { olderThan: null },
      { keepLastN: 0 },
      { maxBytes: Number.POSITIVE_INFINITY },
    ];
    for (const none of options) expect((await store.prune(none)).removed).toBe(0);
    const kept = open(place(kind), { ttlMs: 365_000 * 24 * HOUR, keepLastN: 2 });
    await saveAt(kept, LONG_AGO, {});
    expect((await kept.prune({ olderThan: null })).removed).toBe(0);
    expect((await kept.prune({ olderThan: Date.now() })).removed).toBe(1);
  });

  test("tells its progress, batch by batch, and saves go on in between", async () => {
    const store = open(place(kind));
    const saves = Array.from({ length: 1_200 }, (_, n) => store.save(checkpoint({ timestamp: n })));
    await Promise.all(saves);
    const seen: number[] = [];
    let during: Promise<void> | undefined;
    const onProgress = ({ removed }: RunPruneResult) => {
      seen.push(removed);
      during ??= store.save(checkpoint({ id: "meanwhile", runId: "other" }));
    };
    const done = await store.prune({ keepLastN: 1, onProgress });
    await during;
    expect(done.removed).toBe(1_199);
    expect(seen.slice(0, 3)).toEqual([500, 1_000, 1_199]);
    expect(seen.at(-1)).toBe(1_199);
    expect(await store.get("meanwhile")).not.toBeNull();
  });

  test("stops at a signal between two batches, with its reason", async () => {
    const store = open(place(kind));
    await Promise.all(Array.from({ length: 1_200 }, (_, n) => store.save(checkpoint({ timestamp: n }))));
    const reason = new Error("enough");
    const controller = new AbortController();
    const onProgress = () => controller.abort(reason);
    expect(await rejection(store.prune({ keepLastN: 1, signal: controller.signal, onProgress }))).toBe(reason);
    expect((await store.stats()).checkpoints).toBe(700);
    // An abort from a timer works too, because the event loop turns between two batches.
    const other = new AbortController();
    setImmediate(() => other.abort(reason));
    expect(await rejection(store.prune({ olderThan: Date.now() + HOUR, signal: other.signal }))).toBe(reason);
    expect(await rejection(store.prune({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    const left = (await store.stats()).checkpoints;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(700);
    // An error that `onProgress` throws stops the prune too.
    const throwing = () => {
      throw reason;
    };
    expect(await rejection(store.prune({ keepLastN: 1, onProgress: throwing }))).toBe(reason);
  });

  test("with a share of the time, it pauses between batches, and an abort ends the pause", async () => {
    const store = open(place(kind));
    await Promise.all(Array.from({ length: 1_200 }, (_, n) => store.save(checkpoint({ timestamp: n }))));
    const reason = new Error("enough");
    const controller = new AbortController();
    let batches = 0;
    const onProgress = () => {
      batches += 1;
      // The pause is 99 times as long as the batch.
      setImmediate(() => controller.abort(reason));
    };
    const { signal } = controller;
    expect(await rejection(store.prune({ keepLastN: 1, share: 0.01, signal, onProgress }))).toBe(reason);
    expect(batches).toBe(1);
    expect(await store.prune({ keepLastN: 1, share: 0.9 })).toMatchObject({ removed: 699 });
    for (const [share, error] of [
      [0, RangeError],
      [1.1, RangeError],
      [Number.NaN, RangeError],
      ["1", TypeError],
    ] as const) {
      expect(await rejection(store.prune({ keepLastN: 1, share: share as number }))).toBeInstanceOf(error);
      expect(() => new CheckpointStore("memory:", { pruneShare: share as number })).toThrow(error);
    }
  });

  test("closing ends it", async () => {
    const store = new CheckpointStore(place(kind));
    await Promise.all(Array.from({ length: 1_200 }, (_, n) => store.save(checkpoint({ timestamp: n }))));
    let closed: Promise<void> | undefined;
    const onProgress = () => (closed ??= store.close());
    await failure(store.prune({ keepLastN: 1, onProgress }), "CLOSED");
    await closed;
    for (const call of [() => store.prune(), () => store.stats(), () => store.vacuum()])
      await failure(call(), "CLOSED");
  });

  test("prune() of an open store is for all contracts, that of a view for its own", async () => {
    const store = await shared(place(kind));
    const view = new CheckpointStore(store);
    for (let n = 0; n < 3; n++) await view.save(checkpoint({ timestamp: n }));
    expect((await view.prune({ keepLastN: 2 })).removed).toBe(1);
    expect((await store.prune({ keepLastN: 1 })).removed).toBe(1);
    expect((await store.stats()).checkpoints).toBe(1);
    // A `Store` reports the number of lineages. A contract's store reports the number of runs.
    const all = { olderThan: Date.now() + HOUR, dryRun: true };
    expect(await view.prune(all)).toEqual({ removed: 1, bytes: expect.any(Number), runs: 1 });
    expect(await store.prune(all)).toEqual({ removed: 1, bytes: expect.any(Number), lineages: 1 });
    await store.close();
    for (const call of [() => store.prune(), () => store.stats(), () => store.vacuum()])
      await failure(call(), "CLOSED");
  });
});

test.each([
  [{ olderthan: 1 }, TypeError, 'Unknown option "olderthan". Did you mean "olderThan"?'],
  [{ ttl: 1 }, TypeError, 'Unknown option "ttl".'],
  [
    { olderThan: "1d" },
    TypeError,
    'option "olderThan" must be a Date or a number of milliseconds since the epoch, but is a string',
  ],
  [{ olderThan: Number.NaN }, RangeError, 'option "olderThan" must be a valid time, but is NaN'],
  [{ olderThan: Infinity }, RangeError, 'option "olderThan" must be a valid time, but is Infinity'],
  [{ olderThan: new Date(Number.NaN) }, RangeError, 'option "olderThan" must be a valid time, but is an invalid Date'],
  [{ keepLastN: 1.5 }, RangeError, 'option "keepLastN" must be a positive whole number of checkpoints, but is 1.5'],
  [
    { maxBytes: "1 MB" },
    TypeError,
    'option "maxBytes" must be a number of bytes, or null for no limit, but is a string',
  ],
  [{ waiting: "yes" }, TypeError, 'option "waiting" must be true or false, but is a string'],
  [{ waiting: true }, TypeError, 'option "waiting" needs "olderThan"'],
  [{ waiting: true, olderThan: null, keepLastN: 1 }, TypeError, 'option "waiting" needs "olderThan"'],
  [{ dryRun: 1 }, TypeError, 'option "dryRun" must be true or false, but is 1'],
  [{ signal: {} }, TypeError, 'option "signal" must be an AbortSignal, but is an object'],
  [{ onProgress: true }, TypeError, 'option "onProgress" must be a function, but is true'],
  [null, TypeError, "options must be an object, but is null"],
])("prune(%j) is refused", async (options, kind, message) => {
  const store = await shared("memory:");
  for (const pruning of [store, new CheckpointStore(store)]) {
    const error = await rejection(pruning.prune(options as {}));
    expect(error).toBeInstanceOf(kind);
    expect(error.message).toContain(message);
    expect(error.code).toBe("INVALID_ARGUMENT");
  }
});

describe.each(kinds)("%s: stats()", (kind) => {
  test("of an empty store", async () => {
    const store = open(place(kind));
    const { fileBytes, keptBytes, ...rest } = await store.stats();
    expect(keptBytes).toBeGreaterThanOrEqual(0);
    const nothing = {
      checkpoints: 0,
      runs: 0,
      logicalBytes: 0,
      storedBytes: 0,
      records: 0,
      recordBytes: 0,
      isEstimate: false,
    };
    expect(rest).toEqual({ ...nothing, effects: 0, effectBytes: 0, ratio: 1, largest: [] });
    expect(typeof fileBytes).toBe(kind === "memory" ? "undefined" : "number");
  });

  test("count the memory that makes saves of a growing state faster", async () => {
    const store = await shared(place(kind));
    const checkpoints = new CheckpointStore(store);
    const messages = Array.from({ length: 100 }, (_, n) => ({ n, text: "x".repeat(1_000) }));
    const { keptBytes: before } = await store.stats();
    for (let step = 0; step < 3; step++) {
      messages.push({ n: -1, text: "new" });
      await checkpoints.save(checkpoint({ id: `kept-${step}`, state: { messages } as never }));
    }
    const { keptBytes } = await store.stats();
    // Values of text files are serialised as a whole. What earlier tests have kept may be collected at any time.
    if (kind === "jsonl") expect(keptBytes).toBeLessThanOrEqual(before);
    else expect(keptBytes).toBeGreaterThan(100_000);
    expect((await checkpoints.get("kept-2"))?.state).toEqual({ messages });
  });

  test("adds up", async () => {
    const store = await shared(place(kind));
    const view = new CheckpointStore(store);
    for (let n = 0; n < 60; n++) {
      const state = { ...checkpoint().state, scratch: text(2_000, n % 12) };
      await view.save(checkpoint({ runId: `r${n % 12}`, timestamp: n, state }));
    }
    const [mine, all] = [await view.stats({ largest: 10 }), await store.stats({ largest: 10 })];
    expect(await store.stats()).toEqual({ ...all, largest: [] });
    const { logicalBytes, storedBytes } = all;
    expect(mine).toMatchObject({ checkpoints: 60, runs: 12, logicalBytes, storedBytes });
    expect(all).toMatchObject({ checkpoints: 60, lineages: 12 });
    expect(mine.ratio).toBe(mine.logicalBytes / mine.storedBytes);
    if (kind === "sqlite") expect(mine.ratio).toBeGreaterThan(2);
    expect(all.largest).toHaveLength(10);
    expect(mine.largest.map(({ runId: lineage, ...sizes }) => Object.assign(sizes, { lineage }))).toEqual(all.largest);
    const sizes = all.largest.map(({ storedBytes }) => storedBytes);
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    for (const { checkpoints } of all.largest) expect(checkpoints).toBe(5);
    expect((await store.stats({ largest: 1000 })).largest).toHaveLength(12);
  });

  test("refuse wrong options", async () => {
    const store = await shared(place(kind));
    const wrong = [{ largest: "10" }, { largest: -1 }, { largest: 1.5 }, { largest: 1001 }, { larges: 1 }, null];
    for (const options of wrong)
      expect((await rejection(store.stats(options as object))).code).toBe("INVALID_ARGUMENT");
  });
});
