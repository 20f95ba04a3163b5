// Effects in bad circumstances: keys, results, stores that close, clocks that are set, runs that are deleted.
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { CheckpointStore, openStore } from "forkpoint";
import { type EffectAttempt, effects, type RunRef } from "forkpoint/effects";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, it, onTestFinished } from "vitest";
import { opened as shared } from "./contents.js";
import { checkpoint, closing, failure, fixture, kinds, pairOf, place, rejection } from "./helpers.js";

const run: RunRef = { space: "agentos", run: "run-1" };

/** An effect that runs until it is told to end. */
class Slow {
  readonly keys: string[] = [];
  signal: AbortSignal | undefined;
  end!: (result: unknown) => void;
  #begin!: () => void;
  readonly began = new Promise<void>((resolve) => (this.#begin = resolve));
  readonly make = ({ idempotencyKey, signal }: EffectAttempt): Promise<unknown> => {
    this.keys.push(idempotencyKey);
    this.signal = signal;
    this.#begin();
    return new Promise((resolve) => (this.end = resolve));
  };
}

describe.each(kinds)("effects on %s", (kind) => {
  it("return every result as it was stored, and refuse what cannot be stored", async () => {
    const once = effects(await shared(place(kind)));
    const large = Buffer.alloc(10 << 20, "large");
    const circle: { self?: object } = {};
    circle.self = circle;
    class Money {
      constructor(readonly cents: number) {}
    }
    expect(Buffer.compare((await once(run, "large", () => large)) as Buffer, large)).toBe(0);
    expect(Buffer.compare((await once(run, "large", () => Buffer.alloc(0))) as Buffer, large)).toBe(0);
    for (let time = 0; time < 2; time++) {
      const own = await once(run, "circle", () => circle);
      expect(own.self).toBe(own);
      expect(await once(run, "class", () => new Money(5) as object)).toEqual({ cents: 5 });
      expect(await once(run, "error", () => new RangeError("no", { cause: 1 }))).toMatchObject({ message: "no" });
    }
    const unpaired = once(run, "\ud800", () => 1);
    await failure(unpaired, "INVALID_ARGUMENT");
    expect((await once.list(run)).map(({ key }) => key)).toEqual(["large", "circle", "class", "error"]);
  });

  it("with a result that cannot be stored are unknown, and nobody waits for them", async () => {
    const once = effects(await shared(place(kind)));
    const keys: string[] = [];
    const bad = ({ idempotencyKey }: EffectAttempt): unknown =>
      keys.push(idempotencyKey) > 1 ? "good" : { a: new WeakMap() };
    expect((await failure(once(run, "charge", bad), "INVALID_ARGUMENT")).message).toContain("result.a");
    expect(await once.list(run)).toMatchObject([{ state: "unknown", attempts: 1 }]);
    const unknown = await failure(once(run, "charge", bad, { effectClass: "external" }), "CONFLICT");
    expect(unknown.outcome).toBe("unknown");
    expect(await once(run, "charge", bad)).toBe("good");
    expect(new Set(keys).size).toBe(1);
  });

  it("say so if an effect asks for itself", async () => {
    const once = effects(await shared(place(kind)));
    const inner = () => once(run, "a", () => once(run, "b", () => once(run, "a", () => 1)));
    expect((await failure(inner(), "INVALID_ARGUMENT")).message).toContain('"a"');
    expect(await once(run, "c", () => once(run, "d", () => 1))).toBe(1);
  });

  it("whose run was deleted while they ran are not stored, and run again for the next caller", async () => {
    const store = await shared(place(kind));
    const [once, graphs] = [effects(store), new CheckpointStore(store)];
    await graphs.save(checkpoint({ runId: "run-1" }));
    const slow = new Slow();
    const first = once(run, "charge", slow.make, { ttlMs: 300 });
    await slow.began;
    await graphs.clear("run-1");
    // The next renewal finds out.
    await expect.poll(() => slow.signal!.aborted).toBe(true);
    slow.end("own");
    expect(await first).toBe("own");
    expect(await once.list(run)).toEqual([]);
    const next: string[] = [];
    expect(await once(run, "charge", ({ idempotencyKey, attempt }) => next.push(idempotencyKey) + attempt)).toBe(1);
    expect(next).not.toEqual(slow.keys);
  });

  it("of a run that is deleted while they run return their result, and leave nothing", async () => {
    const store = await shared(place(kind));
    const [once, graphs, threads] = [effects(store), new CheckpointStore(store), new Checkpointer<object>(store)];
    await graphs.save(checkpoint({ runId: "run-1" }));
    await threads.put({ threadId: "t", state: {} });
    const thread: RunRef = { space: "tinyagents", run: "t" };
    const [one, two] = [new Slow(), new Slow()];
    const both = [once(run, "charge", one.make), once(thread, "charge", two.make)];
    await Promise.all([one.began, two.began]);
    await graphs.clear("run-1");
    await threads.deleteThread("t");
    one.end(1);
    two.end(2);
    expect(await Promise.all(both)).toEqual([1, 2]);
    expect([...(await once.list(run)), ...(await once.list(thread))]).toEqual([]);
    expect([one.keys.length, two.keys.length]).toEqual([1, 1]);
    expect((await store.stats()).checkpoints).toBe(0);
  });

  it("end with CLOSED if the store closes: nothing is stored, and a call that waits rejects", async () => {
    const target = place(kind);
    const store = await openStore(target);
    const slow = new Slow();
    const first = rejection(effects(store)(run, "charge", slow.make, { ttlMs: 300 }));
    await slow.began;
    const waits = kind === "memory" ? undefined : await openStore(target);
    const second = waits && rejection(effects(waits)({ ...run }, "mail", () => effects(waits)(run, "charge", () => 2)));
    await store.close();
    await expect.poll(() => slow.signal!.aborted).toBe(true);
    slow.end(1);
    expect((await first).code).toBe("CLOSED");
    if (waits === undefined) return;
    await waits.close();
    expect((await second!).code).toBe("CLOSED");
    // The claim of a living process stays until it expires. Then the effect is unknown.
    const after = await shared(target);
    await expect
      .poll(async () => (await effects(after).list(run)).find(({ key }) => key === "charge")!.state)
      .toBe("unknown");
    expect(await effects(after)(run, "charge", ({ idempotencyKey }) => idempotencyKey)).toBe(slow.keys[0]);
  });

  it("write with their lease alone, and stop when it is lost", async () => {
    const store = await shared(place(kind));
    const graphs = new CheckpointStore(store);
    const lease = await graphs.lease(run);
    const once = effects(graphs.withLease(lease));
    expect(await once(run, "before", () => 1)).toBe(1);
    const slow = new Slow();
    const lost = rejection(once(run, "charge", slow.make, { ttlMs: 300 }));
    await slow.began;
    await lease.release();
    await expect.poll(() => slow.signal!.aborted).toBe(true);
    slow.end(1);
    const error = await lost;
    expect(error.code).toBe("CONFLICT");
    expect(error.message).toContain("lease");
    // Without an endless loop, also for a call that begins without the lease.
    expect((await rejection(once(run, "mail", () => 1))).code).toBe("CONFLICT");
    expect(await once(run, "before", () => 2)).toBe(1);
    expect(await effects(store)(run, "mail", () => 3)).toBe(3);
  });

  it("take results that are larger than the queue, many at the same time", async () => {
    const store = await shared(place(kind), { maxQueueBytes: 1 << 16 });
    const once = effects(store);
    const keys = Array.from({ length: 50 }, (_, n) => `key ${n}`);
    const results = await Promise.all(keys.map((key) => once(run, key, () => key.repeat(20_000))));
    for (const [n, result] of results.entries()) expect(result).toBe(keys[n]!.repeat(20_000));
    expect(await once.list(run)).toHaveLength(50);
  });

  it("run once for many callers at the same time, of one store and of two on the same data", async () => {
    const both = await pairOf(kind, (target) => effects(closing(new CheckpointStore(target))));
    const keys: string[] = [];
    for (let round = 0; round < 20; round++) {
      const effect = async ({ idempotencyKey }: EffectAttempt) => {
        await sleep(1);
        return keys.push(idempotencyKey);
      };
      const results = await Promise.all([...both, ...both].map((once) => once(run, `key ${round}`, effect)));
      expect(new Set(results).size).toBe(1);
    }
    expect(keys).toHaveLength(20);
  });

  it.runIf(kind === "sqlite")("have their results removed with secureDelete", async () => {
    const target = place(kind);
    const store = await shared(target, { secureDelete: true });
    const once = effects(store);
    await once(run, "charge", () => "very secret receipt");
    await once(run, "mail", () => "another one");
    await once.forget(run, "charge");
    expect((await store.check()).findings).toEqual([]);
    await store.close();
    for (const name of readdirSync(dirname(target)))
      expect(readFileSync(join(dirname(target), name)).includes("very secret receipt"), name).toBe(false);
  });
});

describe.each(kinds.filter((kind) => kind !== "memory"))("of a store on %s", (kind) => {
  it("that is read-only, results are returned and nothing runs", async () => {
    const target = place(kind);
    const writer = await openStore(target);
    await effects(writer)(run, "charge", () => 1);
    await writer.close();
    const once = effects(await shared(target, { readOnly: true }));
    expect(await once(run, "charge", () => 2)).toBe(1);
    const slow = new Slow();
    expect((await rejection(once(run, "mail", slow.make))).code).toBe("UNSUPPORTED");
    expect(slow.keys).toEqual([]);
    expect(await once.list(run)).toHaveLength(1);
  });

  it("that worker threads share, one effect runs", { timeout: 120_000 }, async () => {
    const target = place(kind);
    const workers = Array.from(
      { length: 3 },
      () => new Worker(fixture("effect-worker.mjs"), { workerData: { target } }),
    );
    onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.terminate()))));
    const said = await Promise.all(
      workers.map(
        (worker) =>
          new Promise<{ ran: string[]; results: number[] }>((resolve, reject) => {
            worker.once("message", resolve);
            worker.once("error", reject);
          }),
      ),
    );
    expect(said.flatMap(({ ran }) => ran).toSorted()).toEqual(
      Array.from({ length: 20 }, (_, n) => `key ${n}`).toSorted(),
    );
    for (const { results } of said) expect(results).toEqual(said[0]!.results);
  });
});
