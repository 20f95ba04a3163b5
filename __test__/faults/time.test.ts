// A database goes back in time under living processes: it is restored, or an older version of its files is put back.
// @module-tag slow
import { describe, expect, it } from "vitest";
import { folder, rejection } from "../helpers.js";
import { amount, contract, contracts, isLong, targetIn } from "./faults.js";
import { describeFiles, machineFor } from "./machines.js";
import { callsOverTime } from "./time-calls.js";
import { timeGoesBack } from "./time.js";

const file = "__test__/faults/time.test.ts";

/** How often each database goes back. A folder has five ways. */
const rewinds = { sqlite: amount("FORKPOINT_FAULT_REWINDS", 2), jsonl: amount("FORKPOINT_FAULT_REWINDS", 2) };
const timeout = 60_000 + rewinds.jsonl * 20_000;

describeFiles((kind) => {
  it.each(contracts)("%s: what is read is what was saved and is not gone", { timeout }, async (name) => {
    const home = folder();
    const times = rewinds[kind];
    const journey = await timeGoesBack(targetIn(home, kind), contract(name), machineFor(kind, home), times, file);
    if (isLong("FORKPOINT_FAULT_REWINDS")) console.log({ kind, name, ...journey });
    expect(journey).toMatchObject({ rewinds: times, checks: 2 * times });
  });
});

describeFiles((kind) => {
  callsOverTime(() => {
    const home = folder();
    return { target: targetIn(home, kind), machine: machineFor(kind, home) };
  });
});

describe("the test itself fails", () => {
  describeFiles((kind) => {
    it("if a process believes what it knows of a place", async () => {
      const home = folder();
      const machine = machineFor(kind, home);
      const travel = timeGoesBack(targetIn(home, kind), contract("agentium"), machine, 3, file, "stale");
      expect((await rejection(travel)).message).toMatch(/newest of \S+ (is|has) /);
    });

    it("if nothing goes back", async () => {
      const home = folder();
      const machine = { ...machineFor(kind, home), goBack: () => {} };
      const travel = timeGoesBack(targetIn(home, kind), contract("agentium"), machine, 3, file);
      expect((await rejection(travel)).message).toMatch(/is rejected: |(newest|states) of \S+ is /);
    });
  });
});
