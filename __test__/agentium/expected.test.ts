// Tests `expectedParent` of workflow checkpoints. If two writers continue the same run, one of them is refused.
import { WorkflowCheckpointStore, type WorkflowCheckpointStoreOptions } from "forkpoint/agentium";
import { describe, expect, it } from "vitest";
import { failure, kinds, place, wrongType } from "../helpers.js";
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
    // It is the only option beside an open store.
    const open = await opened(place(kind));
    await new WorkflowCheckpointStore<Trace>(open, { expectedParent: true }).save(at(-1));
    for (const options of [{ expectedParent: true, keepLastN: 1 }, { keepLastN: 1 }])
      expect(() => new WorkflowCheckpointStore(open, options)).toThrow(TypeError);
  });
});
