// A database goes back in time under living processes: it is restored, or an older version of its files is put back.
import { type Store, openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { describe, expect, it, onTestFinished } from "vitest";
import { folder, rejection } from "../helpers.js";
import { amount, contract, contracts, isLong, targetIn } from "./faults.js";
import { kindsThatGoBack, machineFor } from "./machines.js";
import { timeGoesBack } from "./time.js";

const file = "__test__/faults/time.test.ts";

/** How often each database goes back. A folder has five ways. */
const rewinds = { sqlite: amount("FORKPOINT_FAULT_REWINDS", 3), jsonl: amount("FORKPOINT_FAULT_REWINDS", 5) };
const timeout = 60_000 + rewinds.jsonl * 20_000;

const kinds = kindsThatGoBack();

describe.each(kinds)("%s", (kind) => {
  it.each(contracts)("%s: what is read is what was saved and is not gone", { timeout }, async (name) => {
    const home = folder();
    const times = rewinds[kind];
    const journey = await timeGoesBack(targetIn(home, kind), contract(name), machineFor(kind, home), times, file);
    if (isLong("FORKPOINT_FAULT_REWINDS")) console.log({ kind, name, ...journey });
    expect(journey).toMatchObject({ rewinds: times, checks: 2 * times });
  });
});

const step = (run: string, n: number) => ({
  id: `${run}:step-${n + 1}`,
  runId: run,
  stepIndex: n,
  stepName: "step",
  state: { run, n },
  createdAt: n,
});

async function opened(target: string): Promise<Store> {
  const store = await openStore(target);
  onTestFinished(() => store.close());
  return store;
}

describe.each(kinds)("%s", (kind) => {
  const place = () => {
    const home = folder();
    return { target: targetIn(home, kind), machine: machineFor(kind, home) };
  };

  it("a lease that was taken after the copy is lost", async () => {
    const { target, machine } = place();
    const [a, b] = [await opened(target), await opened(target)];
    const [mine, others] = [new WorkflowCheckpointStore(a), new WorkflowCheckpointStore(b)];
    await mine.save(step("run", 0));
    let lost = 0;
    for (const { name } of machine.ways) {
      await machine.snapshot();
      const lease = await mine.lease({ space: "agentium", run: "run" });
      await mine.withLease(lease).save(step(`leased ${name}`, 0));
      await machine.goBack(name);
      // Several calls, so that none is taken for the first one that notices it.
      for (const n of [1, 2, 3])
        expect(await rejection(mine.withLease(lease).save(step(`fenced ${name}`, n))), name).toMatchObject({ code: "CONFLICT" });
      expect(await others.list(`fenced ${name}`), name).toEqual([]);
      const taken = await others.lease({ space: "agentium", run: "run" });
      await others.withLease(taken).save(step(`taken ${name}`, 0));
      expect(await rejection(mine.withLease(lease).save(step(`fenced ${name}`, 4))), name).toMatchObject({ code: "CONFLICT" });
      for (const store of [mine, others, new WorkflowCheckpointStore(await opened(target))]) {
        expect(await store.list(`fenced ${name}`), name).toEqual([]);
        expect(await store.list(`leased ${name}`), name).toEqual([]);
        expect(await store.list(`taken ${name}`), name).toEqual([step(`taken ${name}`, 0)]);
      }
      await lease.release().catch(() => {});
      await taken.release();
      lost += 1;
    }
    expect(lost).toBe(machine.ways.length);
  });
});
