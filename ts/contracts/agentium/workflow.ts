/** `Workflow`: starts runs, resumes, replays and forks them. */

import { crypto } from "../../bridge/crypto.js";
import { ForkpointError, readingArgument, show, typeError } from "../../bridge/errors.js";
import { type Format, formatOf } from "../../bridge/serializer.js";
import { ownLeaseOption } from "../../store/lease.js";
import {
  type OptionParser,
  callback,
  flag,
  programOption,
  readRecord,
  refuseUnknown,
  signalOption,
  text,
} from "../../store/options.js";
import type { ProgramShape } from "../../store/compare-programs.js";
import { drainOption } from "../shared/drain.js";
import { noLeases } from "../shared/run-lease.js";
import { streamOf } from "../shared/stream.js";
import { checkpointNotFound, filled, sorted } from "./checkpoint.js";
import { EventBus, Events, forward, type WorkflowEvents, type WorkflowEvent } from "./events.js";
import { Execution, type Plan } from "./execution.js";
import { shapeOfWorkflow, shapes } from "./shape.js";
import { type Recorder, readStore, recorderOf } from "./recorder.js";
import { type Definition, readDefinition } from "./steps.js";
import { Snapshot } from "./state.js";
import { StorageBackedCheckpointStore } from "./storage.js";
import { ownStore } from "./store.js";
import type { Mode } from "./wire.js";
import type {
  ForkOptions,
  ReplayOptions,
  RunOptions,
  RunWithCheckpointsOptions,
  StartOptions,
  WorkflowConfig,
} from "./options.js";
import type { WorkflowCheckpoint, WorkflowRunOutput } from "./contract.js";

type Output<TState> = Promise<WorkflowRunOutput<TState>>;
type Emit = (event: WorkflowEvent<any>) => void;
type Begin = { recorder: Recorder | undefined; plan: Plan };
type Mutator<TState> = ((state: TState) => TState) | null;
type StreamOptions<TState> = RunWithCheckpointsOptions<TState> & {
  replay?: string;
  fork?: string;
  mutator?: Mutator<TState>;
};

/**
 * Runs steps over a state and stores a checkpoint after each step.
 *
 * A run that failed, was killed or was drained can be resumed with `runWithCheckpoints({ runId, resume: true })`.
 * Stored steps do not run again. Only the interrupted step can run a second time. If a step throws, the run rejects
 * with its error, to which `runId`, `stepIndex` and `stepName` are added.
 *
 * A run, replay or fork rejects with:
 *
 * - a TypeError for a wrong argument.
 * - `INVALID_ARGUMENT` if the workflow needs a store and has none.
 * - `CONFLICT` if the run is already running in this process, if a workflow with another name made the run, if another
 *   version of the workflow made the run and it does not fit this version (for both, see `force`), or if parallel steps
 *   changed the same value differently.
 * - {@link RunDrainedError} after a drain, and the signal's reason after an abort.
 * - the store's own error if the store fails.
 *
 * @example
 * ```ts
 * const workflow = new Workflow({
 *   name: "count",
 *   initialState: { n: 0 },
 *   steps: [{ name: "add", run: ({ n }) => ({ n: n + 1 }) }],
 *   checkpointStore: new WorkflowCheckpointStore<{ n: number }>("wf.db"),
 * });
 * ```
 */
export class Workflow<TState = Record<string, unknown>> {
  readonly kind = "workflow" as const;
  readonly name: string;
  /** The events of all runs of this workflow. */
  readonly events = new Events() as WorkflowEvents<TState>;
  /** The event bus of the constructor's option, or the workflow's own. Gets the framework's events. */
  readonly eventBus: EventBus;
  /** The option `version`. Undefined if it was not given. */
  readonly version: string | undefined;
  readonly #definition: Definition;
  readonly #shape: ProgramShape;
  readonly #initialState: TState;
  readonly #store: ReturnType<typeof readStore>;
  /** How long the lease of a run is valid, in ms. Undefined: runs take no leases. */
  readonly #leaseMs: number | undefined;

  /** @throws TypeError for a wrong definition. */
  constructor(config: WorkflowConfig<TState>) {
    if (typeof config !== "object" || config === null)
      throw typeError(`config must be an object, but is ${show(config)}`);
    const { name, initialState, checkpointStore, storage, eventBus, register, lease, version, definition } =
      readingArgument("config", () => {
        refuseUnknown(config, configKeys);
        const { name, initialState, checkpointStore, storage, eventBus, register = true, lease = false } = config;
        const { version } = config;
        const definition = readDefinition(config);
        return { name, initialState, checkpointStore, storage, eventBus, register, lease, version, definition };
      });
    this.name = filled(name, "name");
    this.version = version === undefined ? undefined : programOption(version, "version");
    this.#initialState = state(initialState, "initialState") as TState;
    const driver =
      storage === undefined || storage === null
        ? undefined
        : readingArgument("storage", () => new StorageBackedCheckpointStore<TState>(storage));
    this.#store = readingArgument("checkpointStore", () => readStore(checkpointStore)) ?? driver;
    this.#leaseMs = ownLeaseOption(lease, "lease");
    if (this.#leaseMs !== undefined && (this.#store === undefined || ownStore(this.#store) === undefined))
      throw noLeases('the option "lease"', "WorkflowCheckpointStore");
    this.eventBus = readingArgument("eventBus", () => readBus(eventBus));
    this.#definition = definition;
    this.#shape = shapeOfWorkflow(definition, this.name, this.version);
    shapes.set(this, this.#shape);
    if (flag(register, "register")) registry.add(this);
  }

  /**
   * Runs the steps and stores nothing.
   * @example const { state, stepResults } = await workflow.run({ initialState: { n: 5 } });
   */
  async run(options?: StartOptions<TState>): Promise<WorkflowRunOutput<TState>> {
    return this.#start(this.#plain(options));
  }

  /**
   * Runs the steps and stores a checkpoint before the first step and after each step.
   * @example const { state } = await workflow.runWithCheckpoints({ runId: "run-1", resume: true });
   */
  async runWithCheckpoints(options?: RunWithCheckpointsOptions<TState>): Promise<WorkflowRunOutput<TState>> {
    return this.#start(this.#recorded(options));
  }

  /**
   * Returns the run's checkpoints in ascending order, for any order of the store. The first is the initial checkpoint,
   * or the fork's source. The list is empty for an unknown run.
   * @throws ForkpointError `INVALID_ARGUMENT` if the workflow has no store.
   * @example const [initial, ...afterSteps] = await workflow.listCheckpoints("run-1");
   */
  async listCheckpoints(runId: string): Promise<Array<WorkflowCheckpoint<TState>>> {
    const store = this.#configured("checkpointStore not configured") as { listForRun?: unknown; list?: unknown };
    const list = (store.list ?? store.listForRun) as (runId: string) => Promise<Array<WorkflowCheckpoint<TState>>>;
    return sorted(await Reflect.apply(list, store, [runId]));
  }

  /**
   * Runs the steps after a checkpoint in the same run, and replaces the run's later checkpoints. After the last step's
   * checkpoint, no step runs.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint.
   * @example const { state } = await workflow.replay("run-1:step-2", { newRun: true });
   */
  async replay(checkpointId: string, options?: ReplayOptions): Promise<WorkflowRunOutput<TState>> {
    return this.#start(this.#replayed(checkpointId, options));
  }

  /**
   * Runs the steps after a checkpoint as a new run, with the result of `mutator` as its state. The parent run does not
   * change.
   * @param mutator called once with a copy of the state. Its result replaces the state. Default: the state stays as it
   *   is.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint. TypeError if the mutator returns a promise or
   *   undefined, or if the state is an object and the result is not.
   * @example const { runId } = await workflow.fork("run-1:step-2", (state) => ({ ...state, n: 7 }));
   */
  async fork(
    checkpointId: string,
    mutator?: ((state: TState) => TState) | null,
    options?: ForkOptions,
  ): Promise<WorkflowRunOutput<TState>> {
    return this.#start(this.#forked(checkpointId, mutator, options));
  }

  /**
   * Starts a run, a replay or a fork, and returns an iterator over its events. A run stores checkpoints if the workflow
   * has a store. The run never waits for the reader. If the reader leaves the loop early, the run is aborted. The
   * iterator throws the run's error.
   * @example for await (const event of workflow.stream({ runId: "run-1" })) console.log(event.type);
   */
  stream(
    options?:
      | RunWithCheckpointsOptions<TState>
      | ({ replay: string } & ReplayOptions)
      | ({ fork: string; mutator?: ((state: TState) => TState) | null } & ForkOptions),
  ): AsyncGenerator<WorkflowEvent<TState>, WorkflowRunOutput<TState>, void> {
    return streamOf(() => {
      const begin = this.#streamed(readingArgument("options", () => ({ ...options }) as StreamOptions<TState>));
      const { signal } = begin.plan;
      return {
        signal,
        start: (signal, emit: Emit) => this.#start({ ...begin, plan: { ...begin.plan, signal } }, emit),
      };
    });
  }

  #streamed({ replay, fork, mutator, ...others }: StreamOptions<TState>): Begin {
    if (fork !== undefined && replay !== undefined)
      throw typeError("stream() takes either fork or replay, because it runs one of them");
    if (fork === undefined && mutator !== undefined)
      throw typeError("mutator needs fork: the id of the checkpoint whose state it changes");
    if (replay !== undefined) return this.#replayed(replay, others as ReplayOptions);
    if (fork !== undefined) return this.#forked(fork, mutator, others as ForkOptions);
    return this.#store === undefined ? this.#plain(others) : this.#recorded(others);
  }

  #plain(options: StartOptions<TState> | undefined): Begin {
    const plan = this.#plan(options, startOptions, { kind: "run", mode: { kind: "plain" } }, formatOf("v8"));
    return { recorder: undefined, plan };
  }

  #recorded(options: RunWithCheckpointsOptions<TState> | undefined): Begin {
    const recorder = this.#recorder("Workflow.runWithCheckpoints requires checkpointStore to be configured");
    const { resume, runId } = readRecord(options, "options", runOptions);
    if (resume && runId === undefined) throw typeError("resume needs runId: the id of the run to continue");
    const begin = resume
      ? ({ kind: "resume", mode: { kind: "resume" } } as const)
      : ({ kind: "run", mode: { kind: "fresh" } } as const);
    return { recorder, plan: this.#plan(options, runOptions, begin, recorder.format) };
  }

  #replayed(checkpointId: string, options: ReplayOptions | undefined): Begin {
    const recorder = this.#recorder("checkpointStore not configured");
    const from = checkpointIdOf(checkpointId);
    const { newRun } = readRecord(options, "options", replayOptions);
    const mode: Mode = newRun ? { kind: "branch", from, mutate: false } : { kind: "replay", from };
    return { recorder, plan: this.#plan(options, replayOptions, { kind: "replay", mode }) };
  }

  #forked(checkpointId: string, mutator: Mutator<TState> | undefined, options: ForkOptions | undefined): Begin {
    const recorder = this.#recorder("checkpointStore not configured");
    const mutate = mutator !== undefined && mutator !== null;
    const mode: Mode = { kind: "branch", from: checkpointIdOf(checkpointId), mutate };
    const begin = {
      kind: "fork",
      mode,
      ...(mutate && { mutator: callback<typeof mutator>(mutator, "mutator") }),
    } as const;
    return { recorder, plan: this.#plan(options, forkOptions, begin) };
  }

  #start({ recorder, plan }: Begin, emit?: Emit): Output<TState> {
    const both: Emit = (event) => {
      (this.events as unknown as Events).dispatch(event.type, event);
      forward(this.eventBus, event, () => (plan.initial === undefined ? plan.initialState : plan.initial.draft()));
      emit?.(event);
    };
    return new Execution(this, this.#definition, recorder, plan, both).start();
  }

  /** Reads the arguments of a run. With a format, keeps the initial state as it is now: the caller may change it. */
  #plan(
    options: RunOptions | undefined,
    known: Record<string, OptionParser<unknown>>,
    begin: Pick<Plan, "kind" | "mode" | "mutator">,
    format?: Format,
  ): Plan {
    const read = readRecord(options, "options", known) as Partial<Plan>;
    const initialState = "initialState" in read ? read.initialState : this.#initialState;
    return {
      ...read,
      ...begin,
      isNamed: read.runId !== undefined,
      runId: read.runId ?? `run-${Date.now()}-${crypto().randomBytes(6).toString("hex")}`,
      force: read.force ?? false,
      initialState,
      initial: format && Snapshot.of(initialState, format),
    };
  }

  #configured(otherwise: string) {
    if (this.#store === undefined) throw new ForkpointError("INVALID_ARGUMENT", otherwise);
    return this.#store;
  }

  #recorder(otherwise: string): Recorder {
    return recorderOf(this.#configured(otherwise), this.#shape, this.#leaseMs);
  }
}

function state(value: unknown, what: string): unknown {
  if (value === undefined) throw typeError(`${what} is missing: pass the state before the first step`);
  return value;
}

function readBus(bus: unknown): EventBus {
  if (bus === undefined || bus === null) return new EventBus();
  if (typeof (bus as { emit?: unknown }).emit === "function") return bus as EventBus;
  throw typeError(`eventBus must be an EventBus, but is ${show(bus)}`);
}

/** Checks a checkpoint id. A stored id contains no lone surrogate. */
function checkpointIdOf(value: unknown): string {
  const id = text(value, "checkpointId");
  if (!id.isWellFormed()) throw checkpointNotFound(id);
  return id;
}

const configKeys: Array<keyof WorkflowConfig<any>> = [
  "name",
  "initialState",
  "steps",
  "checkpointStore",
  "storage",
  "retryPolicy",
  "eventBus",
  "register",
  "lease",
  "version",
];

const common = {
  signal: signalOption,
  drain: drainOption,
  onStepError: (value: unknown, name: string) => {
    if (value === "fail" || value === "continue" || typeof value === "function") return value;
    throw typeError(`${name} must be "fail", "continue" or a function, but is ${show(value)}`);
  },
  sessionId: text,
  userId: text,
} satisfies Record<keyof RunOptions, OptionParser<unknown>>;
const startOptions = { ...common, initialState: state };
const runOptions = { ...startOptions, runId: filled, resume: flag, force: flag };
const replayOptions = { ...common, newRun: flag, force: flag };
const forkOptions = { ...common, force: flag };

class Registry {
  readonly workflows = new Map<string, Workflow<any>>();

  /** Adds a workflow. It replaces a workflow with the same name. */
  add(workflow: Workflow<any>): void {
    this.workflows.set(workflow.name, workflow);
  }

  /** Removes the workflow with this name. Returns false if there is none. */
  remove(workflow: { name: string }): boolean {
    return this.workflows.delete(workflow.name);
  }

  /** Returns the workflow with this name. */
  getWorkflow(name: string): Workflow<any> | undefined {
    return this.workflows.get(name);
  }

  /** Returns the names of all workflows. */
  list(): { workflows: string[] } {
    return { workflows: [...this.workflows.keys()] };
  }

  /** Removes all workflows. */
  clear(): void {
    this.workflows.clear();
  }
}

/** The workflows that were made without `register: false`, by name. */
export interface WorkflowRegistry extends Registry {}

/**
 * The workflows of this process, by name. The last workflow with a name wins, as in the framework. Use `register:
 * false` for workflows that are made repeatedly under new names, because the registry keeps each of them.
 * @example const { state } = await registry.getWorkflow("count")!.run();
 */
export const registry: WorkflowRegistry = new Registry();
