// The clock of the machine is set while a process works on a run alone and others wait for it. The defect: a waiting process
// took the run from the one that worked on it.
// @module-tag slow
import { describe, expect, it } from "vitest";
import { Worker } from "../exclusive-worker.js";
// @ts-expect-error: a program without types
import { leaseReader } from "../fixtures/killed.mjs";
import { closing, place } from "../helpers.js";
import { SetClock, canSet } from "./set-clock.js";

const root = new URL("../../", import.meta.url);
const HOUR = 1 / 24;
const of = { space: "agentos", run: "run" };

describe.runIf(canSet).each(["sqlite", "jsonl"] as const)("%s", (kind) => {
  const start = () => {
    const [target, clock] = [place(kind), new SetClock()];
    const worker = (env = clock.env) => new Worker(target, { env });
    return { clock, worker, target };
  };
  /** Reads the leases with the right clock. */
  const reader = (target: string) => closing(leaseReader(root, target));

  it.each([
    ["forward", [1]],
    ["back", [-1]],
    ["forward, back and right again", [1, -1, 0]],
  ])("set %s", async (_, hours) => {
    const { clock, worker, target } = start();
    const [one, two, three] = [worker(), worker(), worker()];
    await one.works("a", "run");
    const leases = reader(target);
    const requests = (): Promise<Array<{ by: string; savedAt: number }>> => leases.requests(of);
    const names = async () => (await requests()).map(({ by }) => by);
    for (const [at, waiting] of [two, three].entries()) {
      const name = ["b", "c"][at];
      waiting.tell("append", { name, run: "run", options: { whenBusy: "enqueue", by: name } });
      while ((await requests()).length <= at);
    }
    for (const hour of hours) {
      const before = await leases.lease(of);
      clock.set(hour * HOUR);
      // The holder renews its lease, unless another process takes it, and those that wait renew their requests.
      let now = before;
      while (now?.id === before.id && now.savedAt === before.savedAt) now = await leases.lease(of);
      expect(now?.id).toBe(before.id);
      while ((await requests()).some(({ savedAt }) => Math.abs(savedAt - now.savedAt) > 60_000));
      expect(await names()).toEqual(["b", "c"]);
    }
    one.tell("open", { of: "a" });
    expect(await one.says("a")).toMatchObject({ log: ["a begins", "a ends"] });
    expect(await two.says("b")).toMatchObject({ log: ["a begins", "a ends", "b"] });
    expect(await three.says("c")).toMatchObject({ log: ["a begins", "a ends", "b", "c"] });
    expect([await leases.lease(of), await requests()]).toEqual([null, []]);
  });
});
