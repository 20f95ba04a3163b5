// Tests that the compiler accepts correct code and rejects wrong code:
// `npx tsc -p __test__ --noEmit`.
import {
  type AgentStep,
  type ConditionStep,
  DrainController,
  EventBus,
  type FunctionStep,
  InMemoryStorage,
  type ParallelStep,
  type RunContext,
  RunDrainedError,
  type StepDef,
  StorageBackedCheckpointStore,
  type StorageDriver,
  Workflow,
  type WorkflowCheckpoint,
  WorkflowCheckpointStore,
  type WorkflowResult,
} from "forkpoint/agentium";
import { expect, expectTypeOf, test } from "vitest";

interface State {
  count: number;
  phase: "begin" | "end";
  note?: string;
}

/** The document's interface, as a user implements it. */
class Mine<TState> implements WorkflowCheckpointStore<TState> {
  async save(checkpoint: WorkflowCheckpoint<TState>): Promise<void> {
    void checkpoint;
  }
  async load(): Promise<WorkflowCheckpoint<TState> | null> {
    return null;
  }
  async list(): Promise<Array<WorkflowCheckpoint<TState>>> {
    return [];
  }
  async latest(): Promise<WorkflowCheckpoint<TState> | null> {
    return null;
  }
  async clear(): Promise<void> {}
}

/** Steps with the framework's types. */
const typed: StepDef<State>[] = [
  { name: "f", run: async (_, context: RunContext) => ({ note: context.sessionId }) } satisfies FunctionStep<State>,
  { name: "c", condition: () => true, steps: [] } satisfies ConditionStep<State>,
  { name: "p", parallel: [] } satisfies ParallelStep<State>,
  { name: "a", agent: { run: async () => ({ text: "" }) }, timeoutMs: 5 } satisfies AgentStep<State>,
];

/** Tested by the compiler; this function never runs. */
async function uses(foreign: WorkflowCheckpointStore<State>, driver: StorageDriver): Promise<void> {
  const initialState: State = { count: 0, phase: "begin" };
  const workflow = new Workflow<State>({
    name: "w",
    initialState,
    // The state's type is inferred here.
    checkpointStore: new WorkflowCheckpointStore("wf.db", { keepLastN: 50 }),
    steps: [
      {
        name: "part",
        run: async (state, context) => {
          expectTypeOf(state).toEqualTypeOf<State>();
          expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
          return { phase: "end" };
        },
      },
      { name: "whole", run: (state) => ({ ...state, count: 1 }) },
      { name: "edit", run: (state) => void (state.count += 1) },
      { name: "if", condition: (state) => state.count > 1, steps: [{ name: "x", run: async () => {} }] },
      { name: "all", parallel: [{ name: "y", run: () => ({ note: "y" }) }] },
      {
        name: "agent",
        agent: { run: async (input: string) => ({ text: input, tokens: 7 }) },
        inputFrom: ({ phase }) => phase,
      },
    ],
  });
  const output = await workflow.runWithCheckpoints({ runId: "r", resume: true, drain: new DrainController() });
  expectTypeOf(output.state).toEqualTypeOf<State>();
  await workflow.fork("x", (state) => ({ ...state, count: 100 }));
  await workflow.replay("x", { newRun: true });
  await workflow.run({ onStepError: async (error, { stepName }) => error instanceof Error && stepName === "x" });
  for await (const event of workflow.stream({ fork: "x", mutator: (state) => state })) {
    if (event.type === "run.complete") expectTypeOf(event.output.state).toEqualTypeOf<State>();
    if (event.type === "checkpoint.saved") expectTypeOf(event.checkpointId).toEqualTypeOf<string>();
  }
  workflow.events.on("workflow.step", ({ status }) => expectTypeOf(status).toExtend<string>());

  const stores: Array<WorkflowCheckpointStore<State>> = [
    foreign,
    new WorkflowCheckpointStore<State>("memory:"),
    new StorageBackedCheckpointStore<State>(driver, { keepLastN: 50 }),
    new StorageBackedCheckpointStore(new InMemoryStorage()),
    new Mine<State>(),
  ];
  const eventBus = new EventBus();
  eventBus.on("workflow.step", ({ status }) => expectTypeOf(status).toEqualTypeOf<"start" | "done" | "error">());
  eventBus.on("mine", (data) => void data.anything).emit("mine", 7);
  const served = new Workflow<State>({
    name: "w",
    initialState,
    steps: typed,
    eventBus,
    storage: driver,
    register: false,
    retryPolicy: { maxRetries: 1 },
  });
  expectTypeOf(await served.run()).toExtend<WorkflowResult<State>>();
  void new RunDrainedError("r", "stop now");
  // @ts-expect-error -- a misspelt option of a step
  void new Workflow<State>({ name: "w", initialState, steps: [{ name: "s", run: () => {}, timeout: 5 }] });
  // @ts-expect-error -- a misspelt option of a workflow
  void new Workflow<State>({ name: "w", initialState, steps: [], retries: 5 });
  const config = { name: "w", initialState, steps: [], checkpointStore: stores[0]! };
  void new Workflow<State>(config);

  const other = new WorkflowCheckpointStore<{ other: string }>("memory:");
  // @ts-expect-error -- the store has another state type
  void new Workflow<State>({ ...config, checkpointStore: other });
  // @ts-expect-error -- the store has no load()
  void new Workflow<State>({ ...config, checkpointStore: { save: async () => {} } });
  // @ts-expect-error -- a mutator must return a whole state
  await workflow.fork("x", () => ({ count: 1 }));
  // @ts-expect-error -- a mutator must be synchronous
  await workflow.fork("x", async (state) => state);
  // @ts-expect-error -- a mutator must not return undefined
  await workflow.fork("x", (state) => void (state.count = 1));
  // @ts-expect-error -- a step must return a part of the state
  void new Workflow<State>({ ...config, steps: [{ name: "s", run: () => ({ phase: "middle" }) }] });
  // @ts-expect-error -- a step must not return a number
  void new Workflow<State>({ ...config, steps: [{ name: "s", run: () => 7 }] });
  // @ts-expect-error -- a step must have a function, an agent or nested steps
  void new Workflow<State>({ ...config, steps: [{ name: "s" }] });
  // @ts-expect-error -- an agent's answer must be a text
  void new Workflow<State>({ ...config, steps: [{ name: "s", agent: { run: async () => 7 } }] });
  // @ts-expect-error -- the initial state must be a whole state
  void new Workflow<State>({ ...config, initialState: { count: 0 } });
  void new Workflow<number>({ name: "w", initialState: 7, steps: [{ name: "s", run: (count) => count + 1 }] });
  void new Workflow<string[]>({ name: "w", initialState: [], steps: [{ name: "s", run: (list) => [...list, "x"] }] });
  void new Workflow<string | null>({
    name: "w",
    initialState: null,
    steps: [{ name: "s", run: (text) => text ?? "" }],
  });
  // @ts-expect-error -- a number must be followed by a number
  void new Workflow<number>({ name: "w", initialState: 7, steps: [{ name: "s", run: () => "8" }] });
  // @ts-expect-error -- a misspelt option
  await workflow.runWithCheckpoints({ runid: "r" });
  // @ts-expect-error -- a replay takes no runId
  await workflow.replay("x", { runId: "r" });
  // @ts-expect-error -- an unknown event
  workflow.events.on("run.started", () => {});
  // @ts-expect-error -- the driver has no list()
  void new StorageBackedCheckpointStore({
    get: driver.get,
    set: driver.set,
    delete: driver.delete,
    close: driver.close,
  });
  // @ts-expect-error -- the checkpoint lacks a field
  await new WorkflowCheckpointStore<State>("memory:").save({
    id: "x",
    runId: "r",
    stepIndex: 0,
    stepName: "s",
    state: initialState,
  });
  // @ts-expect-error -- the result can be null
  void (await foreign.latest("r")).id;
}

test("types are checked by the compiler", () => {
  expect(typeof uses).toBe("function");
});
