// Tests `expectedParent` of workflow checkpoints. If two writers continue the same run, one of them is refused.
import { Workflow, WorkflowCheckpointStore, type WorkflowCheckpointStoreOptions } from "forkpoint/agentium";
import { describe, expect, it } from "vitest";
import { failure, kinds, place, sharedKinds, wrongType } from "../helpers.js";
import { checkpoint, own } from "./helpers.js";
import { opened } from "../contents.js";

interface Trace {
  trace: string[];
}

function at(step: number) {
  const id = step < 0 ? "run:initial" : `run:step-${step + 1}`;
  return checkpoint({ id, runId: "run", stepIndex: step, state: { trace: [] as string[] } });
}

describe.each(kinds)("on %s, a single save", (kind) => {
  it("is stored where the run's latest checkpoint is the expected one", async () => {
    const store = own<Trace>(place(kind));
    await store.save(at(-1), { expectedParent: null });
    await store.save(at(0), { expectedParent: "run:initial" });
    // Send the same save again, as a caller does after an error whose outcome is unknown.
    await store.save(at(0), { expectedParent: "run:initial" });
    expect((await store.list("run")).map(({ id }) => id)).toEqual(["run:initial", "run:step-1"]);
  });

  it("rejects and stores nothing if another writer has continued the run", async () => {
    const store = own<Trace>(place(kind));
    const missing = await failure(store.save(at(0), { expectedParent: "run:initial" }), "CONFLICT");
    expect(missing.message).toContain('"run:initial"');
    await store.save(at(-1));
    await store.save(at(0));
    for (const expectedParent of ["run:initial", null]) {
      const error = await failure(store.save(at(1), { expectedParent }), "CONFLICT");
      expect(error.message).toContain('"run:step-1"');
      expect(error.message).toContain('"run:step-2"');
      await failure(store.rewind(at(-1), { expectedParent: "run:step-9" }), "CONFLICT");
    }
    expect((await store.list("run")).map(({ id }) => id)).toEqual(["run:initial", "run:step-1"]);
  });

  it("must name an id or null", async () => {
    const store = own<Trace>(place(kind));
    for (const expectedParent of [7, "", true])
      await wrongType(store.save(at(0), { expectedParent: expectedParent as never }));
    expect(() => own("memory:", { expectedParent: "yes" as never } as WorkflowCheckpointStoreOptions)).toThrow(
      TypeError,
    );
  });
});

describe.each(sharedKinds)("on %s, a workflow over a store with the option expectedParent", (kind) => {
  /** A workflow of three steps. `between` runs between the second step and the third. */
  function workflow(store: WorkflowCheckpointStore<Trace>, between: () => Promise<void> = async () => {}) {
    const step = (name: string) => ({
      name,
      run: async ({ trace }: Trace) => {
        if (name === "c") await between();
        return { trace: [...trace, name] };
      },
    });
    return new Workflow<Trace>({
      name: "w",
      initialState: { trace: [] },
      steps: ["a", "b", "c"].map(step),
      checkpointStore: store,
    });
  }

  function stores(options: WorkflowCheckpointStoreOptions) {
    const path = place(kind);
    return [own<Trace>(path, options), own<Trace>(path)] as const;
  }

  it("stops when another process has gone on with the run", async () => {
    const [store, others] = stores({ expectedParent: true });
    // Acts as the other process. Saves a checkpoint of the workflow's last step, and a checkpoint of a further step
    // that the workflow does not contain.
    const between = async () => {
      await others.save({ ...at(2), state: { trace: ["by another process"] } });
      await others.save({ ...at(3), state: { trace: ["one more"] } });
    };
    const error = await failure(workflow(store, between).runWithCheckpoints({ runId: "run" }), "CONFLICT");
    expect(error.message).toContain('"run:step-4"');
    expect((await others.load("run:step-3"))?.state).toEqual({ trace: ["by another process"] });
  });

  it("runs, resumes, replays and forks as without the option", async () => {
    const [store] = stores({ expectedParent: true });
    let fails = true;
    const failing = workflow(store, async () => {
      if (fails) throw new Error("not yet");
    });
    await expect(failing.runWithCheckpoints({ runId: "run" })).rejects.toThrow("not yet");
    fails = false;
    const resumed = await failing.runWithCheckpoints({ runId: "run", resume: true });
    expect(resumed.state.trace).toEqual(["a", "b", "c"]);
    expect((await failing.replay("run:step-1")).state.trace).toEqual(["a", "b", "c"]);
    const again = await failing.replay("run:step-1", { newRun: true });
    const fork = await failing.fork("run:step-2", (state) => ({ trace: [...state.trace, "patched"] }));
    expect(fork.state.trace).toEqual(["a", "b", "patched", "c"]);
    for (const { runId } of [resumed, again, fork]) {
      expect((await store.latest(runId))?.stepIndex).toBe(2);
    }
    // A run that is started again replaces its stored checkpoints.
    await failing.runWithCheckpoints({ runId: "run" });
    expect(await store.list("run")).toHaveLength(4);
  });

  it("shares an open store, which takes no other option", async () => {
    const open = await opened(place(kind));
    const store = new WorkflowCheckpointStore<Trace>(open, { expectedParent: true });
    expect((await workflow(store).runWithCheckpoints({ runId: "run" })).state.trace).toEqual(["a", "b", "c"]);
    expect(() => new WorkflowCheckpointStore(open, { expectedParent: true, keepLastN: 1 })).toThrow(TypeError);
    expect(() => new WorkflowCheckpointStore(open, { keepLastN: 1 })).toThrow(TypeError);
  });
});
