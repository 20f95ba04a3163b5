/** `Workflow`: starts runs, resumes, replays and forks them. */

import { randomBytes } from "node:crypto";
import type {
  ForkOptions,
  ReplayOptions,
  RunOptions,
  RunWithCheckpointsOptions,
  StartOptions,
  Workflow as Contract,
  WorkflowCheckpoint,
  WorkflowConfig,
  WorkflowEvent,
  WorkflowEvents,
  WorkflowRunOutput,
} from "../../../agentium.js";
import { ForkpointError, readingArgument, show, typeError } from "../../bridge/errors.js";
import { ownLeaseOption } from "../../store/lease.js";
import { type OptionParser, readRecord, refuseUnknown, signalOption } from "../../store/options.js";
import { noLeases } from "../shared/run-lease.js";
import { streamOf } from "../shared/stream.js";
import { checkpointNotFound, filled, sorted } from "./checkpoint.js";
import { EventBus, Events, forward } from "./events.js";
import { Execution, type Plan } from "./execution.js";
import { type Recorder, readStore, recorderOf } from "./recorder.js";
import { registry } from "./registry.js";
import { type Definition, readDefinition } from "./steps.js";
import { StorageBackedCheckpointStore } from "./storage.js";
import { ownStore } from "./store.js";
import type { Mode } from "./wire.js";

type Output<TState> = Promise<WorkflowRunOutput<TState>>;
type Tell = (event: WorkflowEvent<any>) => void;
type Mutator<TState> = ((state: TState) => TState) | null;
type StreamOptions<TState> = NonNullable<Parameters<Contract<any>["stream"]>[0]> & {
  replay?: string;
  fork?: string;
  mutator?: Mutator<TState>;
};

export class Workflow<TState> implements Contract<TState> {
  readonly kind = "workflow";
  readonly name: string;
  readonly events = new Events() as WorkflowEvents<TState>;
  readonly eventBus: EventBus;
  readonly #definition: Definition;
  readonly #initialState: TState;
  readonly #store: ReturnType<typeof readStore>;
  /** How long the lease of a run is valid, in ms. Undefined: runs take no leases. */
  readonly #leaseMs: number | undefined;

  constructor(config: WorkflowConfig<TState>) {
    if (typeof config !== "object" || config === null)
      throw typeError(`config must be an object, and is ${show(config)}`);
    const { name, initialState, checkpointStore, storage, eventBus, register, lease, definition } = readingArgument(
      "config",
      () => {
        refuseUnknown(config, configKeys);
        const { name, initialState, checkpointStore, storage, eventBus, register = true, lease = false } = config;
        const definition = readDefinition(config);
        return { name, initialState, checkpointStore, storage, eventBus, register, lease, definition };
      },
    );
    this.name = filled(name, "name");
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
    if (flag(register, "register")) registry.add(this);
  }

  async run(options?: StartOptions<TState>): Output<TState> {
    return this.#start(undefined, this.#plan(options, startOptions, { kind: "run", mode: { kind: "plain" } }));
  }

  async runWithCheckpoints(options?: RunWithCheckpointsOptions<TState>): Output<TState> {
    return this.#runWithCheckpoints(options);
  }

  async listCheckpoints(runId: string): Promise<Array<WorkflowCheckpoint<TState>>> {
    const store = this.#configured("checkpointStore not configured") as { listForRun?: unknown; list?: unknown };
    const list = (store.list ?? store.listForRun) as (runId: string) => Promise<Array<WorkflowCheckpoint<TState>>>;
    return sorted(await Reflect.apply(list, store, [runId]));
  }

  async replay(checkpointId: string, options?: ReplayOptions): Output<TState> {
    return this.#replay(checkpointId, options);
  }

  async fork(checkpointId: string, mutator?: Mutator<TState>, options?: ForkOptions): Output<TState> {
    return this.#fork(checkpointId, mutator, options);
  }

  async *stream(
    options?: StreamOptions<TState>,
  ): AsyncGenerator<WorkflowEvent<TState>, WorkflowRunOutput<TState>, void> {
    const {
      replay,
      fork,
      mutator,
      signal: given,
      ...others
    } = readingArgument("options", () => ({ ...options }) as StreamOptions<TState>);
    if (fork !== undefined && replay !== undefined)
      throw typeError("stream() takes either fork or replay, because it runs one of them");
    if (fork === undefined && mutator !== undefined)
      throw typeError("mutator needs fork: the id of the checkpoint whose state it changes");
    return yield* streamOf(given, (signal, tell: Tell) => {
      const all = { ...others, signal };
      if (replay !== undefined) return this.#replay(replay, all as ReplayOptions, tell);
      if (fork !== undefined) return this.#fork(fork, mutator, all as ForkOptions, tell);
      if (this.#store !== undefined) return this.#runWithCheckpoints(all, tell);
      return this.#start(undefined, this.#plan(all, startOptions, { kind: "run", mode: { kind: "plain" } }), tell);
    });
  }

  async #runWithCheckpoints(options: RunWithCheckpointsOptions<TState> | undefined, tell?: Tell): Output<TState> {
    const recorder = this.#recorder("Workflow.runWithCheckpoints requires checkpointStore to be configured");
    const { resume, runId } = readRecord(options, "options", runOptions) as RunWithCheckpointsOptions<TState>;
    if (resume && runId === undefined) throw typeError("resume needs runId: the id of the run to continue");
    const begin = resume
      ? ({ kind: "resume", mode: { kind: "resume" } } as const)
      : ({ kind: "run", mode: { kind: "fresh" } } as const);
    return this.#start(recorder, this.#plan(options, runOptions, begin), tell);
  }

  async #replay(checkpointId: string, options: ReplayOptions | undefined, tell?: Tell): Output<TState> {
    const recorder = this.#recorder("checkpointStore not configured");
    const from = checkpointIdOf(checkpointId);
    const { newRun } = readRecord(options, "options", replayOptions) as ReplayOptions;
    const mode: Mode = newRun ? { kind: "branch", from, mutate: false } : { kind: "replay", from };
    return this.#start(recorder, this.#plan(options, replayOptions, { kind: "replay", mode }), tell);
  }

  async #fork(
    checkpointId: string,
    mutator: Mutator<TState> | undefined,
    options: ForkOptions | undefined,
    tell?: Tell,
  ): Output<TState> {
    const recorder = this.#recorder("checkpointStore not configured");
    const from = checkpointIdOf(checkpointId);
    if (mutator === undefined || mutator === null) {
      return this.#start(
        recorder,
        this.#plan(options, forkOptions, { kind: "fork", mode: { kind: "branch", from, mutate: false } }),
        tell,
      );
    }
    if (typeof mutator !== "function") throw typeError(`mutator must be a function, and is ${show(mutator)}`);
    const begin = { kind: "fork", mode: { kind: "branch", from, mutate: true }, mutator } as const;
    return this.#start(recorder, this.#plan(options, forkOptions, begin), tell);
  }

  #start(recorder: Recorder | undefined, plan: Plan, tell?: Tell): Output<TState> {
    const both: Tell = (event) => {
      (this.events as unknown as Events).tell(event.type, event);
      forward(this.eventBus, event, plan.initialState);
      tell?.(event);
    };
    return new Execution(this, this.#definition, recorder, plan, both).start();
  }

  #plan(
    options: RunOptions | undefined,
    known: Record<string, OptionParser<unknown>>,
    begin: Pick<Plan, "kind" | "mode" | "mutator">,
  ): Plan {
    const read = readRecord(options, "options", known) as Partial<Plan>;
    return {
      ...read,
      ...begin,
      runId: read.runId ?? `run-${Date.now()}-${randomBytes(6).toString("hex")}`,
      force: read.force ?? false,
      initialState: "initialState" in read ? read.initialState : this.#initialState,
    };
  }

  #configured(otherwise: string) {
    if (this.#store === undefined) throw new ForkpointError("INVALID_ARGUMENT", otherwise);
    return this.#store;
  }

  #recorder(otherwise: string): Recorder {
    return recorderOf(this.#configured(otherwise), this.#leaseMs);
  }
}

function state(value: unknown, what: string): unknown {
  if (value === undefined) throw typeError(`${what} is missing: give the state before the first step`);
  return value;
}

function readBus(bus: unknown): EventBus {
  if (bus === undefined || bus === null) return new EventBus();
  if (typeof (bus as { emit?: unknown }).emit === "function") return bus as EventBus;
  throw typeError(`eventBus must be an EventBus, and is ${show(bus)}`);
}

/** Checks a checkpoint id. No stored checkpoint's id contains half of a surrogate pair. */
function checkpointIdOf(value: unknown): string {
  const id = text(value, "checkpointId");
  if (!id.isWellFormed()) throw checkpointNotFound(id);
  return id;
}

function text(value: unknown, what: string): string {
  if (typeof value !== "string") throw typeError(`${what} must be a string, and is ${show(value)}`);
  return value;
}

const flag: OptionParser<boolean> = (value, name) => {
  if (typeof value !== "boolean") throw typeError(`${name} must be true or false, and is ${show(value)}`);
  return value;
};

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
];

const common: Record<keyof RunOptions, OptionParser<unknown>> = {
  signal: signalOption,
  drain: (value, name) => {
    const { waitForDrain } = (value ?? {}) as { waitForDrain?: unknown };
    if (typeof waitForDrain !== "function") throw typeError(`${name} must be a DrainController, and is ${show(value)}`);
    return value;
  },
  onStepError: (value, name) => {
    if (value === "fail" || value === "continue" || typeof value === "function") return value;
    throw typeError(`${name} must be "fail", "continue" or a function, and is ${show(value)}`);
  },
  sessionId: text,
  userId: text,
};
const startOptions = { ...common, initialState: state };
const runOptions = { ...startOptions, runId: filled, resume: flag, force: flag };
const replayOptions = { ...common, newRun: flag, force: flag };
const forkOptions = { ...common, force: flag };
