// A database goes back in time under living processes: it is restored, or an older version of its files is put back.
// @module-tag slow
import { describe, expect, it } from "vitest";
import { folder, rejection } from "../helpers.js";
import { amount, contract, contracts, isLong, targetIn } from "./faults.js";
import { describeFiles, machineFor } from "./machines.js";
import { callsOverTime } from "./time-calls.js";
import { type Content, History, timeGoesBack } from "./time.js";

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

// The model must be able to fail: it finds whatever a store might do wrong after its database went back.
describe("the model", () => {
  const history = new History();
  const save = (name: string): Content => {
    const content = history.next(name);
    history.add(content);
    return content;
  };
  history.begin("alice");
  const first = save("alice");
  history.snapshot();
  const gone = [save("alice"), save("alice")] as const;
  const count = history.goBack();
  history.begin("bob");
  const after = [save("bob"), save("alice")] as const;
  const listed = (...contents: Content[]) => contents.map((content) => [content.n, content]);

  it("counts what is gone, and gives its numbers again", () => {
    expect(count).toBe(2);
    expect(after[1].n).toBe(gone[0].n);
    expect(after[1].save).not.toBe(gone[0].save);
  });

  it.each([
    ["newest", "alice", after[1]],
    ["newest", "bob", after[0]],
    ["newest", "carol", null],
    ["states", "alice", listed(first, after[1])],
    ["states", "carol", []],
    ["heard", "bob", []],
  ] as const)("accepts the right %s of %s", (op, name, value) =>
    expect(history.wrong(op, name, value)).toBeUndefined(),
  );

  it.each([
    ["another run's state", "newest", "bob", gone[1]],
    ["a state that is gone", "newest", "alice", gone[1]],
    ["the state of the same number that is gone", "newest", "alice", gone[0]],
    ["nothing", "newest", "alice", null],
    ["a lost save", "states", "alice", listed(first)],
    ["a save that is gone", "states", "alice", listed(first, gone[0])],
    ["one that is gone beside one that is there", "states", "alice", listed(first, after[1], gone[1])],
    ["a wrong order", "states", "alice", listed(after[1], first)],
    ["an inherited value that is gone", "states", "alice", listed(first, { ...after[1], slow: gone[0].save })],
    ["another number", "states", "bob", [[1, after[0]]]],
    ["a run that is gone", "states", "carol", listed(first)],
    ["a message that is gone", "heard", "bob", [1]],
  ] as const)("finds %s", (_, op, name, value) =>
    expect(history.wrong(op, name, value)).toMatch(`${op} of ${name} is `),
  );

  it("accepts both times while the database goes back, and no other", () => {
    expect(history.wrongMeanwhile("states", "alice", listed(first, after[1]))).toBeUndefined();
    expect(history.wrongMeanwhile("newest", "alice", null)).toBeUndefined();
    expect(history.wrongMeanwhile("newest", "alice", after[0])).toMatch("newest of alice has ");
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
