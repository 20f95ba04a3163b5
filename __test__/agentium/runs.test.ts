// Tests what a user needs to find the runs to resume: their status, fresh resumes, and lists in the right order.
import {
  DrainController,
  type ForkpointWorkflowStore,
  RunDrainedError,
  Workflow,
  type WorkflowCheckpoint,
  WorkflowCheckpointStore,
} from "forkpoint/agentium";
import { describe, expect, it } from "vitest";
import { closing, kinds, place, rejection, wrongType } from "../helpers.js";
import { type Counter, ForeignStore, checkpoint, counter, own, storeKinds, stores } from "./helpers.js";

describe.each(kinds)("the status of a run on %s", (kind) => {
  const statuses = async (store: ForkpointWorkflowStore<any>) => {
    const { runs } = await store.runs();
    return Object.fromEntries(runs.map(({ runId, status }) => [runId, status]));
  };

  it("is finished after all steps, and unfinished before", async () => {
    const store = own<Counter>(place(kind));
    const during: unknown[] = [];
    const look = async () => void during.push(await statuses(store));
    const workflow = counter(store, { steps: ["a", "b"].map((name) => ({ name, run: look })) });
    await workflow.runWithCheckpoints({ runId: "whole" });
    expect(during).toEqual([{ whole: "unfinished" }, { whole: "unfinished" }]);
    expect(await statuses(store)).toEqual({ whole: "finished" });
    const failing = counter(store, {
      steps: [
        { name: "a", run: () => {} },
        { name: "b", run: () => Promise.reject(new Error("b")) },
      ],
    });
    await rejection(failing.runWithCheckpoints({ runId: "failed" }));
    const drain = new DrainController();
    const drained = counter(store, {
      steps: [
        { name: "a", run: () => drain.requestDrain() },
        { name: "b", run: () => {} },
      ],
    });
    expect(await rejection(drained.runWithCheckpoints({ runId: "drained", drain }))).toBeInstanceOf(RunDrainedError);
    await counter(store, { steps: [] }).runWithCheckpoints({ runId: "empty" });
    expect(await statuses(store)).toEqual({
      whole: "finished",
      failed: "unfinished",
      drained: "unfinished",
      empty: "finished",
    });
    await drained.runWithCheckpoints({ runId: "drained", resume: true });
    expect(await statuses(store)).toMatchObject({ drained: "finished" });
  });

  it("follows a replay and a fork", async () => {
    const store = own<Counter>(place(kind));
    let broken = false;
    const workflow = counter(store, {
      steps: ["a", "b", "c"].map((name) => ({
        name,
        run: () => {
          if (broken && name === "c") throw new Error("c");
        },
      })),
    });
    await workflow.runWithCheckpoints({ runId: "r" });
    broken = true;
    await rejection(workflow.replay("r:step-1"));
    expect(await statuses(store)).toEqual({ r: "unfinished" });
    broken = false;
    const { runId } = await workflow.fork("r:step-2");
    expect(await statuses(store)).toEqual({ r: "unfinished", [runId]: "finished" });
  });

  it("is unknown if the checkpoint does not say how many steps there are", async () => {
    const target = place(kind);
    const store = closing(new WorkflowCheckpointStore<any>(target));
    await store.save(checkpoint({ runId: "unknown", stepIndex: 2 }));
    await store.save(checkpoint({ runId: "told", stepIndex: 2 }), { steps: 3 });
    await store.rewind(checkpoint({ runId: "more", stepIndex: 2 }), { steps: 4 });
    await store.save(checkpoint({ runId: "mixed", stepIndex: 0 }), { steps: 4 });
    await store.save(checkpoint({ runId: "mixed", stepIndex: 1 }));
    expect(await statuses(store)).toEqual({
      unknown: "unknown",
      told: "finished",
      more: "unfinished",
      mixed: "unknown",
    });
    expect(await store.load("told:step-3")).toEqual(checkpoint({ runId: "told", stepIndex: 2 }));
    expect((await store.timeline("told"))[0]).toMatchObject({ stepName: "step-3", stepIndex: 2 });
    for (const steps of [-1, 1.5, "3"]) {
      const error = await rejection(store.save(checkpoint({ runId: "wrong" }), { steps: steps as never }));
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    await wrongType(store.save(checkpoint({ runId: "wrong" }), { step: 3 } as never));
    expect(await store.list("wrong")).toEqual([]);
  });
});

describe.each(storeKinds)("over %s", (kind) => {
  it("a resume says whether there was something to resume", async () => {
    const workflow = counter(stores[kind]<Counter>());
    const starts: unknown[] = [];
    workflow.events.on("run.start", ({ kind: how, fresh }) => void starts.push([how, fresh]));
    const runs = [
      await workflow.runWithCheckpoints({ runId: "r", resume: true }),
      await workflow.runWithCheckpoints({ runId: "r", resume: true }),
      await workflow.runWithCheckpoints({ runId: "r" }),
      await workflow.replay("r:initial"),
      await workflow.fork("r:initial"),
      await workflow.run(),
    ];
    const fresh = [true, false, true, false, false, true];
    expect(runs.map((run) => run.fresh)).toEqual(fresh);
    const how = ["resume", "resume", "run", "replay", "fork", "run"];
    expect(starts).toEqual(how.map((each, at) => [each, fresh[at]]));
  });
});

describe("listCheckpoints", () => {
  /** A foreign store that returns what it was given, in that order. */
  function returning(checkpoints: object[]): Workflow<any> {
    const store = new ForeignStore<any>();
    store.list = async () => checkpoints as Array<WorkflowCheckpoint<any>>;
    return new Workflow<any>({ name: "w", initialState: {}, steps: [], checkpointStore: store });
  }

  it("sorts by step index, then by the time of creation", async () => {
    const at = (id: string, stepIndex: number, createdAt: unknown) => checkpoint({ id, stepIndex, createdAt } as never);
    const given = [at("d", 2, 5), at("c", 1, 9), at("a", -1, 100), at("b", 1, 3), at("e", 10, 1)];
    const order = async (list: object[]) => (await returning(list).listCheckpoints("run")).map(({ id }) => id);
    expect(await order(given)).toEqual(["a", "b", "c", "d", "e"]);
    expect(given.map(({ id }) => id)).toEqual(["d", "c", "a", "b", "e"]);
    const late = new Date(Date.UTC(2027, 0, 1));
    expect(await order([at("y", 1, late.toISOString()), at("x", 1, new Date(Date.UTC(2026, 0, 1)))])).toEqual([
      "x",
      "y",
    ]);
    const framework = (id: string, timestamp: number) => ({ ...at(id, 1, undefined), timestamp });
    expect(await order([framework("y", 2), framework("x", 1)])).toEqual(["x", "y"]);
  });
});
