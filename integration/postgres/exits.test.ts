// A process ends, or a store is closed, while the server does not answer. Nothing waits longer than the patience at exit,
// which is 5 s. The defect took 30 s, or for ever.
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { CheckpointStore, ForkpointError } from "forkpoint";
import { describe, expect, it } from "vitest";
import { Program } from "../../__test__/faults/faults.js";
import { checkpoint } from "../../__test__/helpers.js";
import { behindProxy, long, makeDatabase, onServer, type Server, terminate } from "./faults.js";

const program = fileURLToPath(new URL("fixtures/exit.mjs", import.meta.url));

/** Three times the patience at exit, and half of the busy timeout. */
const LIMIT_MS = 15_000;

/**
 * A database behind a proxy that passes nothing any more when it is told so. The sockets stay open. `held` resolves when
 * the proxy has kept back the first message.
 */
async function stalling(server: Server) {
  let stalled = false;
  const { promise: held, resolve: hold } = promiseWithResolvers();
  const onMessage = () => {
    if (!stalled) return "pass";
    hold();
    return "stall";
  };
  const { url, direct } = await behindProxy(server, { onMessage });
  return { url, direct, stall: () => void (stalled = true), held };
}

/** `Promise.withResolvers`, which Node.js 20 lacks. */
function promiseWithResolvers() {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** Runs the program until it ends. Returns its errors and how long it took to end. */
async function ended(url: string, ending: string, stall: () => unknown) {
  const child = new Program([program, url, ending]);
  await child.until(1);
  await stall();
  child.tell("go");
  await child.until(2);
  const begun = performance.now();
  const { code, errors } = await child.ended;
  return { code, errors, took: performance.now() - begun };
}

/** What the program does, and the calls of it that fail. Opening is a call too. */
const endings: Array<[ending: string, failed: number]> = [
  ["a save under way", 1],
  ["a save just called", 1],
  ["opening", 2],
  ["a save under way, and saves that wait for it", 3],
  ["a read under way", 1],
  ["a prune under way", 1],
  ["a vacuum under way", 1],
  ["a check under way", 1],
];

onServer("newest", (server) => {
  describe("process.exit() while the server stalls", () => {
    it.each(long ? endings : endings.slice(0, 3))("%s", { timeout: 90_000 }, async (ending, failed) => {
      const { url, direct, stall } = await stalling(server());
      const { code, errors, took } = await ended(url, ending, stall);
      expect(took).toBeLessThan(LIMIT_MS);
      expect(code).toBe(0);
      const lines = errors.split("\n").filter((line) => line.startsWith("forkpoint: "));
      const counts = lines.map((line) => Number(/^forkpoint: (\d+) calls? failed/.exec(line)?.[1]));
      expect(
        counts.reduce((sum, count) => sum + count, 0),
        errors,
      ).toBe(failed);
      expect(errors).toContain("UNAVAILABLE");
      const store = new CheckpointStore(direct);
      expect((await store.check()).findings).toEqual([]);
      await store.close();
    });
  });

  it.each(["a save under way", "a save just called"])(
    "process.exit() while the server is gone, and %s",
    { timeout: 90_000 },
    async (ending) => {
      const database = await makeDatabase(server());
      try {
        const { code, errors, took } = await ended(server().url({ database }), ending, () => server().halt());
        expect(took).toBeLessThan(LIMIT_MS);
        expect(code).toBe(0);
        expect(errors).toMatch(/^forkpoint: 1 call failed while the process ended: UNAVAILABLE/m);
      } finally {
        await server().start();
      }
    },
  );

  // The last password is used then.
  it("process.exit() while the function for the password does not answer", { timeout: 90_000 }, async () => {
    const database = await makeDatabase(server());
    const { code, errors, took } = await ended(server().url({ database }), "reconnecting", () => terminate(server()));
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(took).toBeLessThan(LIMIT_MS);
    const store = new CheckpointStore(server().url({ database }));
    expect(await store.get("b")).not.toBeNull();
    await store.close();
  });

  // close() waits for the calls under way, which have their own time.
  describe("close() while the server stalls", () => {
    const options = { busyTimeoutMs: 3_000 };

    /** The end of a call: undefined, or its error. */
    const end = (call: Promise<unknown>) =>
      call.then(
        () => undefined,
        (error: unknown) => error,
      );

    it.each([0, 1_000])("a save that was called %i ms before", { timeout: 90_000 }, async (ms) => {
      const { url, direct, stall, held } = await stalling(server());
      const store = new CheckpointStore(url, options);
      await store.save(checkpoint({ id: "a", runId: "run" }));
      stall();
      const saved = end(store.save(checkpoint({ id: "b", runId: "run" })));
      // Otherwise both saves may be sent as one batch, whose first message only asks.
      await held;
      const waiting = end(store.save(checkpoint({ id: "c", runId: "another" })));
      await sleep(ms);
      const begun = performance.now();
      await end(store.close());
      expect(performance.now() - begun).toBeLessThan(LIMIT_MS);
      // It was sent.
      const error = await saved;
      expect(error).toBeInstanceOf(ForkpointError);
      expect(error).toMatchObject({ code: "UNAVAILABLE", outcome: "unknown" });
      expect(await waiting).toMatchObject({ code: "UNAVAILABLE" });
      const other = new CheckpointStore(direct);
      expect(await other.get("a")).not.toBeNull();
      expect((await other.check()).findings).toEqual([]);
      await other.close();
    });

    it("a read and a prune under way", { timeout: 90_000 }, async () => {
      const { url, stall } = await stalling(server());
      const store = new CheckpointStore(url, options);
      await store.save(checkpoint({ id: "a" }));
      await store.get("a");
      stall();
      const calls = [store.get("a"), store.prune({ keepLastN: 1 })].map(end);
      await sleep(1_000);
      const begun = performance.now();
      await end(store.close());
      for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: "UNAVAILABLE" });
      expect(performance.now() - begun).toBeLessThan(LIMIT_MS);
    });

    it("nothing under way", { timeout: 90_000 }, async () => {
      const { url, stall } = await stalling(server());
      const store = new CheckpointStore(url, options);
      await store.save(checkpoint({ id: "a" }));
      stall();
      const begun = performance.now();
      await store.close();
      expect(performance.now() - begun).toBeLessThan(LIMIT_MS);
    });
  });
});
