/**
 * Runs a workflow. The engine's state machine (`engine/src/contract/agentium/workflow`) decides the next action and
 * sends commands. This file executes them with the user's functions and the store, and reports each outcome.
 */

import { RunDrainedError } from "../shared/drain.js";
import { Driver } from "../shared/driver.js";
import { ForkpointError, quote, show, typeError } from "../../bridge/errors.js";
import { carrying } from "../shared/failure.js";
import { alone } from "../shared/run-lease.js";
import type { RunKey } from "../../bridge/native.js";
import { within } from "../shared/time-limit.js";
import { checkpointNotFound } from "./checkpoint.js";
import { type SharedContext, contextOf } from "./context.js";
import type { Recorded, Recorder } from "./recorder.js";
import { Reporter } from "./reporter.js";
import { Snapshot, applyResult, mergeBranches, mutate } from "./state.js";
import {
  type Definition,
  type Node,
  callTask,
  type ConditionStep,
  type FailedStep,
  type StepContext,
} from "./steps.js";
import { type Command, type Mode, type RunEvent, type RunTool, type Why, agentium } from "./wire.js";
import type { RunOptions } from "./options.js";
import type { EventBus, WorkflowEvent } from "./events.js";
import type { WorkflowRunOutput } from "./contract.js";

export interface Plan extends RunOptions {
  kind: "run" | "resume" | "replay" | "fork";
  mode: Mode;
  runId: string;
  /** True if the caller gave the id of the run, so that the run may exist. */
  isNamed: boolean;
  force: boolean;
  initialState: unknown;
  /** The initial state at the call. Undefined: a replay or a fork, which has none. */
  initial: Snapshot | undefined;
  mutator?: (state: any) => unknown;
}

const ENTRY = 0;

export class Execution {
  readonly #definition: Definition;
  readonly #recorder: Recorder | undefined;
  readonly #plan: Plan;
  readonly #reporter: Reporter;
  readonly #context: SharedContext;
  readonly #driver: Driver<RunEvent, Command, WorkflowRunOutput<any>>;
  /** The states that are still needed. Slot 0 holds the start state. Every other slot holds a step's result. */
  #slots = new Map<number, Snapshot>();
  readonly #errors = new Map<number, unknown>();
  readonly #attempts = new Map<number, number>();
  /** True if the run begins with its initial state, and not after a checkpoint. */
  #fresh: boolean;
  #base: Recorded | undefined;
  /** True if the run has a stored checkpoint. */
  #stored = false;
  #hostError: unknown;
  /**
   * Settles when a replay no longer locks its run. The lock begins after the checkpoint is loaded, because the
   * checkpoint has the id of the run.
   */
  #replay: Promise<unknown> | undefined;

  constructor(
    { name, eventBus }: { name: string; eventBus: EventBus },
    definition: Definition,
    recorder: Recorder | undefined,
    plan: Plan,
    emit: (event: WorkflowEvent<any>) => void,
  ) {
    const { runId, mode, force, sessionId = runId, userId } = plan;
    this.#definition = definition;
    this.#recorder = recorder;
    const lease = recorder?.lease;
    this.#plan = lease === undefined ? plan : { ...plan, signal: lease.with(plan.signal) };
    this.#reporter = new Reporter(definition, runId, emit);
    const empty = { metadata: {}, dependencies: {}, sessionState: {} };
    const effects = {
      handle: recorder && recorder.handle,
      store: "WorkflowCheckpointStore",
      place: () => {
        const incarnation = this.#stored ? recorder?.incarnation : undefined;
        return { of: this.#key, stored: this.#stored, incarnation };
      },
      lease: () => lease?.held,
    };
    this.#context = { runId, workflow: name, sessionId, userId, eventBus, effects, ...empty };
    this.#fresh = mode.kind === "plain" || mode.kind === "fresh";
    const onError = typeof plan.onStepError === "function" ? "ask" : (plan.onStepError ?? "fail");
    const run: RunTool = { run: { ...definition.description, options: { runId, mode, force, onError } } };
    this.#driver = new Driver(agentium.name, run, (command) => this.#do(command));
  }

  /** Emits the end of the run after the lease is released, so that a listener can start the same run again. */
  async start(): Promise<WorkflowRunOutput<any>> {
    const isReplay = this.#plan.mode.kind === "replay";
    try {
      const run = this.#recorder === undefined || isReplay ? this.#run() : this.#alone(() => this.#run());
      const output = await run.finally(() => this.#replay?.catch(() => {}));
      this.#reporter.emit({ type: "run.complete", output });
      return output;
    } catch (error) {
      this.#reporter.emit({ type: "run.error", error });
      throw error;
    }
  }

  async #run(): Promise<WorkflowRunOutput<any>> {
    const { mode, isNamed, force, initial } = this.#plan;
    if (initial !== undefined) this.#slots.set(ENTRY, initial);
    // The first checkpoint of this run replaces those of an earlier run with its id.
    if (mode.kind === "fresh" && isNamed && !force) await this.#recorder!.requireOwn?.(this.#runId);
    return this.#driver.start(this.#plan, () => {
      if (this.#fresh) this.#tellStart(0);
    });
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const recorder = this.#recorder!;
    return alone(recorder.identity, this.#key, "run", recorder, work);
  }

  get #key(): RunKey {
    return { space: agentium.name, run: this.#runId, ns: "" };
  }

  /** Sets the id of the run to replay. Without a session id, the session has the run's id, as in the original call. */
  #rename(runId: string): void {
    this.#reporter.runId = runId;
    Object.assign(this.#context, { runId, sessionId: this.#plan.sessionId ?? runId });
  }

  get #runId(): string {
    return this.#reporter.runId;
  }

  #do(order: Command): void {
    switch (order.command) {
      case "load":
        return void this.#load(order.id ?? undefined);
      case "mutate":
        return this.#mutate();
      case "store": {
        const { id, stepIndex, stepName, slot, rewind } = order;
        return void this.#store({ id, stepIndex, stepName }, slot, rewind);
      }
      case "keep":
        return this.#keep(order.slot, this.#slots.get(order.slot)!);
      case "began":
        return this.#reporter.stepBegan(order.step);
      case "run":
        return void this.#call(order.step, order.attempt, order.slot);
      case "evaluate":
        return void this.#evaluate(order.step, order.attempt, order.slot);
      case "wait": {
        const { step, attempt, ms } = order;
        this.#reporter.stepWaits(step, attempt, ms, this.#errors.get(step));
        return this.#driver.wait(ms, { event: "waited", step });
      }
      case "ask":
        return void this.#ask(order.step);
      case "merge":
        return this.#merge(order.step, order.base, order.branches);
      case "ended":
        return this.#reporter.stepEnded(order.step, order.how, this.#errors.get(order.step));
      case "cancel":
        return this.#driver.cancel();
      case "finish":
        return this.#finish(order.slot);
      case "fail":
        return this.#driver.reject(this.#failure(order.why));
    }
  }

  async #load(id: string | undefined): Promise<void> {
    let found: Recorded | null;
    try {
      found = id === undefined ? await this.#recorder!.latest(this.#runId) : await this.#recorder!.load(id);
    } catch (error) {
      return this.#broke(error);
    }
    if (this.#driver.over) return;
    if (found === null) {
      if (this.#plan.mode.kind === "resume") {
        this.#fresh = true;
        this.#tellStart(0);
      }
      return this.#driver.on({ event: "loaded", base: undefined });
    }
    const misfit = this.#plan.force ? undefined : await this.#misfit(found).catch((error: unknown) => error);
    if (this.#driver.over) return;
    if (this.#plan.mode.kind !== "replay") return this.#loaded(found, misfit);
    this.#rename(found.runId);
    this.#replay = this.#alone(() => {
      if (!this.#driver.over) this.#loaded(found, misfit);
      return this.#driver.result;
    });
    this.#replay.catch((error) => this.#broke(error));
  }

  /** Returns the error for a checkpoint that this workflow may not continue. Any workflow may branch from it. */
  async #misfit(found: Recorded): Promise<unknown> {
    // The newest checkpoint tells to whom the run belongs. A resume has found it.
    const { kind } = this.#plan.mode;
    if (kind === "replay") await this.#recorder!.requireOwn?.(found.runId);
    const other = kind === "resume" ? await this.#recorder!.otherMaker?.(found) : undefined;
    return other ?? this.#recorder!.misfit?.(found);
  }

  /** `misfit` is the error for a checkpoint that does not fit the workflow. */
  #loaded(found: Recorded, misfit: unknown): void {
    this.#base = found;
    this.#stored = found.runId === this.#runId;
    this.#slots.set(ENTRY, found.state);
    this.#tellStart(found.stepIndex + 1, found.id);
    if (misfit !== undefined) return this.#broke(misfit);
    const { id: baseId, runId, stepIndex, stepName } = found;
    this.#driver.on({ event: "loaded", base: { id: baseId, runId, stepIndex, stepName } });
  }

  #mutate(): void {
    let state: Snapshot;
    try {
      state = Snapshot.of(mutate(this.#slots.get(ENTRY)!.draft(), this.#plan.mutator!), this.#recorder!.format);
    } catch (error) {
      return this.#broke(error);
    }
    this.#slots.set(ENTRY, state);
    this.#driver.on({ event: "mutated" });
  }

  async #store(
    step: { id: string; stepIndex: number; stepName: string },
    slot: number,
    rewind: boolean,
  ): Promise<void> {
    const runId = this.#runId;
    // A fork's first checkpoint is stored as a delta of the checkpoint that it was forked from.
    const parent = this.#base !== undefined && this.#base.runId !== runId ? this.#base.id : undefined;
    this.#base = undefined;
    try {
      const state = this.#slots.get(slot)!;
      const steps = this.#definition.names.length;
      this.#keep(slot, await this.#recorder!.store({ ...step, runId, state, steps, rewind, parent }));
    } catch (error) {
      return this.#broke(carrying(error, { runId, stepIndex: step.stepIndex, stepName: step.stepName }));
    }
    this.#stored = true;
    const { id: checkpointId, stepIndex, stepName } = step;
    this.#reporter.emit({ type: "checkpoint.saved", checkpointId, stepIndex, stepName });
    this.#driver.on({ event: "stored" });
  }

  #keep(slot: number, state: Snapshot): void {
    this.#slots = new Map([[slot, state]]);
  }

  async #call(id: number, attempt: number, slot: number): Promise<void> {
    const node = this.#node(id);
    try {
      const before = this.#slots.get(slot)!;
      const draft = before.draft();
      const result = await this.#attempt(node, attempt, (context) => callTask(node, draft, context));
      this.#slots.set(id + 1, Snapshot.of(applyResult(draft, result, node.name), before.format));
    } catch (error) {
      return this.#threw(id, attempt, error);
    }
    this.#driver.on({ event: "ran", step: id, attempt });
  }

  async #evaluate(id: number, attempt: number, slot: number): Promise<void> {
    const node = this.#node(id);
    let holds: boolean;
    try {
      const { condition } = node.step as ConditionStep<any>;
      const draft = this.#slots.get(slot)!.draft();
      holds = Boolean(
        await this.#attempt(node, attempt, async (context) => Reflect.apply(condition, node.step, [draft, context])),
      );
    } catch (error) {
      return this.#threw(id, attempt, error);
    }
    this.#driver.on({ event: "evaluated", step: id, attempt, holds });
  }

  #threw(id: number, attempt: number, error: unknown): void {
    this.#errors.set(id, error);
    this.#attempts.set(id, attempt + 1);
    this.#driver.on({ event: "threw", step: id, attempt });
  }

  async #ask(id: number): Promise<void> {
    const { name: stepName, stepIndex, path } = this.#node(id);
    const step: FailedStep = { runId: this.#runId, stepIndex, stepName, path, attempts: this.#attempts.get(id) ?? 0 };
    let goOn = false;
    try {
      const ask = this.#plan.onStepError as (error: unknown, step: FailedStep) => unknown;
      const answer = await ask(this.#errors.get(id), step);
      if (typeof answer !== "boolean")
        throw typeError(`onStepError must return true or false, but returned ${show(answer)}`);
      goOn = answer;
    } catch (error) {
      this.#errors.set(id, error);
    }
    this.#driver.on({ event: "decided", step: id, goOn });
  }

  #merge(id: number, base: number, slots: number[]): void {
    const from = this.#slots.get(base)!;
    try {
      const branches = slots.map((slot) => ({ name: this.#node(slot - 1).name, state: this.#slots.get(slot)! }));
      this.#slots.set(id + 1, Snapshot.of(mergeBranches(from, branches), from.format));
    } catch (error) {
      this.#errors.set(id, error);
      return this.#driver.on({ event: "conflicted", step: id });
    }
    this.#driver.on({ event: "merged", step: id });
  }

  #finish(slot: number): void {
    const state = this.#slots.get(slot)!.draft();
    this.#driver.resolve({ runId: this.#runId, state, stepResults: this.#reporter.results, fresh: this.#fresh });
  }

  #broke(error: unknown): void {
    this.#hostError = error;
    this.#driver.on({ event: "broke" });
  }

  #failure(why: Why): unknown {
    switch (why.reason) {
      case "notFound":
        return checkpointNotFound(why.id);
      case "mismatch":
        return new ForkpointError("CONFLICT", why.message);
      case "drained":
        return new RunDrainedError(this.#runId);
      case "aborted":
        return this.#plan.signal!.reason;
      case "step": {
        const { step: id } = why;
        const { stepIndex, path } = this.#node(id);
        const error = this.#errors.get(id);
        this.#reporter.stepFailed(id, error);
        return carrying(error, { runId: this.#runId, stepIndex, stepName: path[0]!, stepPath: path });
      }
      default:
        return this.#hostError;
    }
  }

  #node(id: number): Node {
    return this.#definition.nodes[id]!;
  }

  /** Calls a function of the user with the context of an attempt, within the step's time limit. */
  #attempt<T>(node: Node, attempt: number, call: (context: StepContext) => Promise<T>): Promise<T> {
    return within(node.timeoutMs, this.#driver, `step ${quote(node.name)}`, (signal) =>
      call(contextOf(this.#context, node, attempt, signal, this.#driver)),
    );
  }

  #tellStart(stepIndex: number, from?: string): void {
    const { workflow } = this.#context;
    const base = from === undefined ? {} : { from };
    this.#reporter.emit({ type: "run.start", workflow, kind: this.#plan.kind, fresh: this.#fresh, stepIndex, ...base });
  }
}
