// Sets the clock back and forward while a store is open. The order of saves and the numbers of a store do not come from
// the clock, and ages only remove what is old.
import { describe, expect, it } from "vitest";
import { fixture, folder } from "../helpers.js";
import { amount, durable, Program, randomBelow, repeat, seed, targetIn } from "./faults.js";

const file = "__test__/faults/clock.test.ts";

/** How often the clock is set. */
const times = amount("FORKPOINT_FAULT_CLOCK", 12);

const kinds = ["memory", ...durable] as const;
const place = (kind: (typeof kinds)[number]): string => (kind === "memory" ? "memory:" : targetIn(folder(), kind));

async function run(task: string, target: string, hours: number[]): Promise<any> {
  const program = new Program([fixture("faults/clock.mjs"), task, target, ...hours.map(String)], {
    nodeArgs: ["--import", new URL("../fixtures/faults/shift-clock.mjs", import.meta.url).href],
  });
  return (await program.success()).said[0];
}

describe.each(kinds)("%s", (kind) => {
  it("checkpoints, threads, workflows and messages stay in the order of their saves", async () => {
    const below = randomBelow(seed);
    const hours = Array.from({ length: times }, () => below(200) - 100);
    const all = hours.map((_, n) => `${n}`);
    const where = `${hours.join(" ")}; ${repeat(file, "FORKPOINT_FAULT_CLOCK")}`;
    expect(await run("order", place(kind), hours), where).toEqual({
      runs: all,
      latest: all.at(-1),
      // The run, and a fork at every other time. The run that began last comes first.
      listed: times,
      oldest: "run-1",
      workflows: all,
      threads: all,
      newest: times - 1,
      messages: all,
      steps: times,
      sound: true,
    });
  });

  it("a ttl removes what was saved more than a day ago, and nothing else", async () => {
    const below = randomBelow(seed + 1);
    // The background sweep uses the clock of the machine, which is not set.
    const hours = [-100, 100, ...Array.from({ length: times }, () => below(100) - 50)].map((n) =>
      n === -24 ? -23 : n,
    );
    const kept = hours.flatMap((hour, n) => (hour > -24 ? [`${n}`] : []));
    const where = `${hours.join(" ")}; ${repeat(file, "FORKPOINT_FAULT_CLOCK")}`;
    expect(await run("ttl", place(kind), hours), where).toEqual({ kept, sound: true });
  });
});
