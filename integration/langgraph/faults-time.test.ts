// The databases of LangGraph's threads go back in time: see __test__/faults/time.test.ts.
// @module-tag slow
import { expect, it } from "vitest";
import { amount, isLong, targetIn } from "../../__test__/faults/faults.js";
import { describeFiles, machineFor } from "../../__test__/faults/machines.js";
import { timeGoesBack } from "../../__test__/faults/time.js";
import { folder } from "./helpers.js";
import { recoverOverTime } from "./recover-over-time.js";

const file = "integration/langgraph/faults-time.test.ts";
const langgraph = new URL("fixtures/faults.mjs", import.meta.url).href;

/** How often each database goes back. A folder has five ways. */
const rewinds = { sqlite: amount("FORKPOINT_FAULT_REWINDS", 2), jsonl: amount("FORKPOINT_FAULT_REWINDS", 2) };
const timeout = 60_000 + rewinds.jsonl * 20_000;

describeFiles((kind) => {
  it("what is read is what was saved and is not gone", { timeout }, async () => {
    const home = folder();
    const times = rewinds[kind];
    const journey = await timeGoesBack(targetIn(home, kind), langgraph, machineFor(kind, home), times, file);
    if (isLong("FORKPOINT_FAULT_REWINDS")) console.log({ kind, ...journey });
    expect(journey).toMatchObject({ rewinds: times, checks: 2 * times });
  });

  recoverOverTime(() => {
    const home = folder();
    return { target: targetIn(home, kind), machine: machineFor(kind, home) };
  });
});
