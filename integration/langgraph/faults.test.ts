// The fault tests of __test__/faults, for LangGraph's threads.
import { describe, expect, it } from "vitest";
import { crash } from "../../__test__/faults/crash.js";
import { amount, durable } from "../../__test__/faults/faults.js";
import { folder } from "./helpers.js";

const file = "integration/langgraph/faults.test.ts";
const langgraph = new URL("fixtures/faults.mjs", import.meta.url).href;

/** Each of the two stores is killed so often. The default is for `npm test`. */
const cycles = amount("FORKPOINT_FAULT_CYCLES", 1);

describe.each(durable)("%s", (kind) => {
  it("two writers of threads that are killed leave what they acknowledged", { timeout: 60_000 + cycles * 10_000 }, async () => {
    const { kills, acknowledged } = await crash(folder(), kind, [langgraph, langgraph], cycles, file);
    expect(kills).toBe(2 * cycles);
    expect(acknowledged).toBeGreaterThan(0);
  });
});
