// The fault tests of __test__/faults, for LangGraph's threads.
// @module-tag slow
import { describe, expect, it } from "vitest";
import { crash } from "../../__test__/faults/crash.js";
import { contend, race } from "../../__test__/faults/contention.js";
import { amount, durable } from "../../__test__/faults/faults.js";
import { folder } from "./helpers.js";

const file = "integration/langgraph/faults.test.ts";
const langgraph = new URL("fixtures/faults.mjs", import.meta.url).href;

/** Each of the two stores is killed so often. The default is for `npm test`. */
const cycles = amount("FORKPOINT_FAULT_CYCLES", 1);
/** How long the processes work together. */
const ms = amount("FORKPOINT_FAULT_MS", 1_500);
/** How often processes race. */
const rounds = amount("FORKPOINT_FAULT_ROUNDS", 10);

describe.each(durable)("%s", (kind) => {
  it(
    "two writers of threads that are killed leave what they acknowledged",
    { timeout: 60_000 + cycles * 10_000 },
    async () => void (await crash(folder(), kind, [langgraph, langgraph], cycles, file)),
  );

  it("four writers, a reader, a pruner and two processes that vacuum", { timeout: ms + 180_000 }, async () => {
    const work = (heavy?: "fork") => ({ task: "work", module: langgraph, ...(heavy ? { heavy } : {}) }) as const;
    const others = ["prune", "vacuum", "vacuum"].map((task) => ({ task: task as "prune" | "vacuum" }));
    const reader = { task: "read", module: langgraph } as const;
    const tasks = [work(), work(), work("fork"), work("fork"), reader, ...others];
    const { acknowledged, vacuums } = await contend(folder(), kind, tasks, ms, file);
    expect(Math.min(acknowledged, vacuums)).toBeGreaterThan(0);
  });

  it("of eight processes that continue after the same parent, one succeeds", { timeout: 60_000 + rounds * 1_000 }, () =>
    race(folder(), kind, langgraph, 8, rounds, file),
  );
});
