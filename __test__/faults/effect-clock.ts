/** Sets the clock of a store while effects run: the machine's clock for files, and the server's clock for Postgres. */

import { openStore } from "forkpoint";
import { effects, type RunRef } from "forkpoint/effects";
import { expect, it } from "vitest";
import { askers } from "./effects.js";

const run: RunRef = { space: "agentos", run: "run" };

export interface Place {
  target: string;
  /** The variables of the processes. */
  env?: Record<string, string>;
  /** Sets the clock of the store, in days from the right time. */
  set(days: number): void;
}

/** The state of each effect, and how many attempts it had. */
async function list(target: string) {
  await using store = await openStore(target);
  return (await effects(store).list(run)).map(({ state, attempts }) => [state, attempts]);
}

/** `makePlace` makes a place for each test. */
export function clockTests(makePlace: () => Place | Promise<Place>): void {
  it("an effect runs once, and the process that waits for it gets its result", async () => {
    const { target, env, set } = await makePlace();
    const [first, second] = await askers(target, 2, { env });
    second!.tell("reads");
    const days = [1, -1, 365, -365, 0];
    for (const [n, shift] of days.entries()) {
      const key = `${n}:${shift}`;
      first!.tell(`slow ${key}`);
      await first!.more("runs", n + 1);
      second!.tell(`ask ${key}`);
      await second!.more("looked", second!.having("looked").length + 1);
      set(shift);
      // A look is two reads, and prints two lines. The second look has seen the new time.
      await second!.until(second!.lines.length + 4);
      first!.tell("end");
      for (const asker of [first!, second!]) expect((await asker.line("key", key)).result, key).toBe(first!.pid);
    }
    expect(second!.having("runs")).toEqual([]);
    expect(await list(target)).toEqual(days.map(() => ["done", 1]));
  });

  it("a process that sees an expired claim takes the effect over, and the earlier one cannot store its result", async () => {
    const { target, env, set } = await makePlace();
    const [first, second] = await askers(target, 2, { env });
    first!.tell("reads");
    const days = [1, -1, 365, -365];
    for (const [n, shift] of days.entries()) {
      const key = `${n}:${shift}`;
      first!.tell(`slow ${key}`);
      const { runs } = await first!.more("runs", n + 1);
      set(shift);
      second!.tell(`slow ${key}`);
      expect(await second!.more("runs", n + 1)).toEqual({ runs, attempt: 1 });
      first!.tell("end");
      // It has tried to store its result, and looks for the other one.
      await first!.until(first!.lines.length + 2);
      second!.tell("list");
      expect((await second!.more("states", n + 1)).states[key]).toBe("running");
      second!.tell("end");
      for (const asker of [first!, second!]) expect((await asker.line("key", key)).result, key).toBe(second!.pid);
      set(0);
    }
    expect(await list(target)).toEqual(days.map(() => ["done", 2]));
  });

  it("the next renewal makes the claim valid again", async () => {
    const { target, env, set } = await makePlace();
    const [first, second] = await askers(target, 2, { env, ttlMs: 3_000 });
    first!.tell("slow pay");
    await first!.line("runs");
    let asked = 0;
    for (const shift of [365, -365]) {
      set(shift);
      for (let state = ""; state !== "running";) {
        second!.tell("list");
        state = (await second!.more("states", ++asked)).states.pay;
      }
    }
    second!.tell("reads");
    second!.tell("ask pay");
    await second!.until(second!.lines.length + 4);
    first!.tell("end");
    for (const asker of [first!, second!]) expect((await asker.line("key")).result).toBe(first!.pid);
    expect(await list(target)).toEqual([["done", 1]]);
  });
}
