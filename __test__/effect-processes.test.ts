// Effects that several processes ask for at the same time, and processes that sleep or die while they run one.
import { effects, type RunRef } from "forkpoint/effects";
import { CheckpointStore } from "forkpoint";
import { describe, expect, it } from "vitest";
import { askers } from "./faults/effects.js";
import { amount } from "./faults/faults.js";
import { place, sharedKinds, windows } from "./helpers.js";
import { opened } from "./contents.js";

const run: RunRef = { space: "agentos", run: "run" };

/** How often two processes race. */
const ROUNDS = amount("FORKPOINT_TEST_ROUNDS", 200);

async function list(target: string) {
  const store = await opened(target);
  return effects(store).list(run);
}

describe.each(sharedKinds)("on %s", (kind) => {
  it(`of two processes that race ${ROUNDS} times, one runs the effect and both get its result`, async () => {
    const target = place(kind);
    const both = await askers(target, 2);
    for (let round = 0; round < ROUNDS; round++) {
      for (const asker of both) asker.tell(`ask key-${round}`);
      const [one, other] = await Promise.all(both.map((asker) => asker.line("key", `key-${round}`)));
      expect(one.result).toBe(other.result);
    }
    const ran = both.map((asker) => asker.said.filter((line) => "runs" in line).map((line) => line.runs as string));
    expect(ran.flat()).toHaveLength(ROUNDS);
    expect(new Set(ran.flat()).size).toBe(ROUNDS);
    for (const { state, attempts } of await list(target))
      expect({ state, attempts }).toEqual({ state: "done", attempts: 1 });
  });

  it("a killed process's effect is taken over immediately, with the same idempotency key", async () => {
    const target = place(kind);
    // Nobody waits for the end of such a claim.
    const [first, second] = await askers(target, 2, { ttlMs: 2 ** 31 - 1 });
    first!.tell("slow pay");
    const { runs } = await first!.line("runs");
    first!.kill();
    await first!.ended;
    second!.tell("ask pay");
    expect(await second!.line("key")).toEqual({ key: "pay", result: second!.pid });
    expect((await second!.line("runs")).runs).toBe(runs);
    expect(await list(target)).toMatchObject([{ key: "pay", state: "done", attempts: 2, idempotencyKey: runs }]);
  });

  it("an effect whose run was deleted, and that was begun again elsewhere, is not stored over it", async () => {
    const target = place(kind);
    const [first, second] = await askers(target, 2);
    first!.tell("slow pay");
    const { runs } = await first!.line("runs");
    const store = await opened(target);
    const once = effects(store);
    await expect(once.forget(run, "pay")).rejects.toMatchObject({ code: "CONFLICT" });
    await new CheckpointStore(store).clear(run.run);
    second!.tell("slow pay");
    expect((await second!.line("runs")).runs).not.toBe(runs);
    first!.tell("end");
    expect((await first!.line("key")).result).toBe(first!.pid);
    expect(await list(target)).toMatchObject([{ state: "running", attempts: 1 }]);
    second!.tell("end");
    expect((await second!.line("key")).result).toBe(second!.pid);
    expect(await once(run, "pay", () => 0)).toBe(second!.pid);
  });
});

// Windows has no signals.
describe.runIf(!windows).each(sharedKinds)("on %s", (kind) => {
  it("a process that slept past its claim cannot store its result, and returns the stored one", async () => {
    const target = place(kind);
    const [sleeper, next] = await askers(target, 2, { ttlMs: 150 });
    for (const key of ["a", "b", "c"]) {
      sleeper!.tell(`sleep ${key}`);
      await expect
        .poll(() => sleeper!.said.filter((line) => "runs" in line).length)
        .toBe(["a", "b", "c"].indexOf(key) + 1);
      next!.tell(`ask ${key}`);
      expect((await next!.line("key", key)).result).toBe(next!.pid);
      sleeper!.kill("SIGCONT");
      expect((await sleeper!.line("key", key)).result).toBe(next!.pid);
    }
    const [slept, ran] = [sleeper!, next!].map((asker) => asker.said.flatMap(({ runs }) => runs ?? []));
    expect(slept).toEqual(ran);
    for (const { state, attempts } of await list(target))
      expect({ state, attempts }).toEqual({ state: "done", attempts: 2 });
  });
});
