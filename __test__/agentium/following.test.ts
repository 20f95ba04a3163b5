// Tests two processes that run one Agentium run: one of them stops, and neither clears what the other has stored.
import { Workflow, type WorkflowCheckpointStoreOptions } from "forkpoint/agentium";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { amount } from "../faults/faults.js";
import { failure, place, sharedKinds } from "../helpers.js";
import { checkpoint, own } from "./helpers.js";

interface Trace {
  by: string[];
}

/** How often two starts of a new run meet. */
const ROUNDS = amount("FORKPOINT_TEST_ROUNDS", 10);

/** Two programs over one database. `pay` is called in the second step, with the name of the program. */
function programs(
  kind: (typeof sharedKinds)[number],
  pay: (who: string) => Promise<void>,
  options?: WorkflowCheckpointStoreOptions,
  before = async (): Promise<void> => {},
) {
  const target = place(kind);
  const program = (who: string) => {
    const store = own<Trace>(target, options);
    const add = async ({ by }: Trace) => ({ by: [...by, who] });
    const workflow = new Workflow<Trace>({
      name: "order",
      initialState: { by: [] },
      steps: [
        { name: "check", run: add },
        {
          name: "pay",
          run: async (state, context) => {
            await before();
            await context.once("charge", () => pay(who));
            return add(state);
          },
        },
        { name: "tell", run: add },
      ],
      checkpointStore: store,
    });
    return { store, workflow };
  };
  return [program("one"), program("two")] as const;
}

describe.each(sharedKinds)("on %s", (kind) => {
  it("of two starts of a new run one stops, and it is paid once", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const paid: string[] = [];
      const [one, two] = programs(kind, async (who) => void paid.push(who));
      const runId = `run ${round}`;
      const ends = await Promise.allSettled(
        [one, two].map(({ workflow }) => workflow.runWithCheckpoints({ runId, resume: true })),
      );
      const lost = ends.filter(({ status }) => status === "rejected");
      expect(ends.map(({ status }) => status)).toContain("fulfilled");
      for (const end of lost) expect((end as PromiseRejectedResult).reason).toMatchObject({ code: "CONFLICT" });
      expect(paid).toHaveLength(1);
      const steps = (await one.store.list(runId)).map(({ id }) => id);
      expect(steps).toEqual([`${runId}:initial`, `${runId}:step-1`, `${runId}:step-2`, `${runId}:step-3`]);
    }
  });

  it("a run that was begun again meanwhile stops, although the ids of its steps are the same", async () => {
    // The other program begins the run again, and comes to the same step.
    const begins = async () => {
      for (const [at, id] of ["run:initial", "run:step-1"].entries()) {
        const save = checkpoint({ id, runId: "run", stepIndex: at - 1, stepName: "check", state: { by: ["two"] } });
        await (at === 0 ? two.store.rewind(save) : two.store.save(save));
      }
    };
    const [one, two] = programs(kind, begins);
    const error = await failure(one.workflow.runWithCheckpoints({ runId: "run", resume: true }), "CONFLICT");
    expect(error.message).toContain('"run"');
    // The step of the other program is still there.
    expect(await two.store.latest("run")).toMatchObject({ id: "run:step-1", state: { by: ["two"] } });
  });

  it("a run that another program has continued meanwhile stops", async () => {
    const goesOn = async () => {
      for (const stepIndex of [1, 2])
        await two.store.save(checkpoint({ runId: "run", stepIndex, state: { by: ["two"] } }));
    };
    const [one, two] = programs(kind, goesOn);
    const error = await failure(one.workflow.runWithCheckpoints({ runId: "run", resume: true }), "CONFLICT");
    expect(error.message).toContain('"run:step-3"');
    expect((await two.store.load("run:step-2"))!.state).toEqual({ by: ["two"] });
  });

  it("a run that was deleted meanwhile stays deleted", async () => {
    const [one, two] = programs(kind, () => two.store.clear("run"));
    await failure(one.workflow.runWithCheckpoints({ runId: "run", resume: true }), "CONFLICT");
    expect(await two.store.list("run")).toEqual([]);
  });

  it("an effect of a run that was deleted does not run", async () => {
    const paid: string[] = [];
    const clear = () => two.store.clear("run");
    const [one, two] = programs(kind, async (who) => void paid.push(who), undefined, clear);
    const error = await failure(one.workflow.runWithCheckpoints({ runId: "run", resume: true }), "CONFLICT");
    expect(error.message).toContain('its effect "charge" did not run');
    expect([paid, await two.store.list("run")]).toEqual([[], []]);
  });

  it("retention by number keeps the last step, also of steps that were stored in one millisecond", async () => {
    const now = vi.spyOn(Date, "now").mockReturnValue(Date.now());
    onTestFinished(() => now.mockRestore());
    for (let round = 0; round < 5; round++) {
      const [one] = programs(kind, async () => {});
      await one.workflow.runWithCheckpoints({ runId: "run" });
      await one.store.prune({ keepLastN: 1 });
      expect((await one.store.list("run")).map(({ id }) => id)).toEqual(["run:step-3"]);
    }
  });

  it("with expectedParent: false, the processes overwrite each other's checkpoints", async () => {
    const [one, two] = programs(kind, () => two.store.clear("run"), { expectedParent: false });
    await one.workflow.runWithCheckpoints({ runId: "run", resume: true });
    expect((await two.store.list("run")).map(({ id }) => id)).toEqual(["run:step-2", "run:step-3"]);
  });
});
