/**
 * Runs a workflow. The engine's state machine (`src/contract/agentium/workflow`) decides what happens next and sends
 * commands. This file executes the commands and reports each outcome to the state machine. It calls the user's
 * functions and the store, and handles timers and signals.
 */

import type {
  ConditionStep,
  FailedStep,
  RunOptions,
  StepContext,
  StepResult,
  WorkflowEvent,
  WorkflowRunOutput,
} from "../../agentium.js";
import { ForkpointError, show, typeError } from "../errors.js";
import { Tool } from "../native.js";
import { formatOf } from "../serializer.js";
import { parse } from "../wire.js";
import { checkpointNotFound } from "./checkpoint.js";
import { RunDrainedError, onDrain } from "../drain.js";
import { carrying, messageOf } from "../failure.js";
import type { Recorded, Recorder } from "./recorder.js";
import { reserve } from "../running.js";
import { Snapshot, applyResult, mergeBranches } from "./state.js";
import { type Definition, type Node, callTask } from "./steps.js";
import { type Command, type Mode, type RunEvent, type RunTool, type Why, agentium } from "./wire.js";

/** How to start a run. */
export interface Plan extends RunOptions {
  kind: "run" | "resume" | "replay" | "fork";
  mode: Mode;
  runId: string;
  force: boolean;
  initialState: object;
  mutator?: (state: any) => unknown;
}

const ENTRY = 0;

export class Execution {
  readonly #name: string;
  readonly #definition: Definition;
  readonly #recorder: Recorder | undefined;
  readonly #plan: Plan;
  readonly #tell: (event: WorkflowEvent<any>) => void;
  readonly #run: Tool;
  readonly #cancelled = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** The states that are still needed. Slot 0 holds the state at the start; every other slot holds a step's result. */
  #slots = new Map<number, Snapshot>();
  readonly #errors = new Map<number, unknown>();
  readonly #attempts = new Map<number, number>();
  readonly #began = new Map<number, number>();
  readonly #results: StepResult[] = [];
  /** The functions to call when the run ends. */
  readonly #releases: Array<() => void> = [];
  #runId: string;
  #base: Recorded | undefined;
  /** The id of the checkpoint that this run stored last, or null if it has stored none. */
  #previous: string | null = null;
  #hostError: unknown;
  #over = false;
  #settle!: { resolve: (output: WorkflowRunOutput<any>) => void; reject: (error: unknown) => void };

  constructor(
    name: string,
    definition: Definition,
    recorder: Recorder | undefined,
    plan: Plan,
    tell: (event: WorkflowEvent<any>) => void,
  ) {
    this.#name = name;
    this.#definition = definition;
    this.#recorder = recorder;
    this.#plan = plan;
    this.#tell = tell;
    this.#runId = plan.runId;
    const onError = typeof plan.onStepError === "function" ? "ask" : (plan.onStepError ?? "fail");
    const { runId, mode, force } = plan;
    const run: RunTool = { run: { ...definition.told, options: { runId, mode, force, onError } } };
    this.#run = new Tool(agentium.name, JSON.stringify(run));
  }

  async start(): Promise<WorkflowRunOutput<any>> {
    const {
      signal,
      drain,
      mode: { kind },
      initialState,
    } = this.#plan;
    const format = this.#recorder?.format ?? formatOf("v8");
    try {
      // A replay reads its run id from the checkpoint, so it reserves the run after it has loaded the checkpoint.
      if (this.#recorder !== undefined && kind !== "replay") this.#reserve();
      if (kind === "plain" || kind === "fresh" || kind === "resume")
        this.#slots.set(ENTRY, Snapshot.of(initialState, format));
      return await new Promise((resolve, reject) => {
        this.#settle = { resolve, reject };
        if (drain !== undefined) this.#listenToDrain(drain);
        if (signal !== undefined) this.#listenToAbort(signal);
        if (signal?.aborted) return;
        if (kind === "plain" || kind === "fresh") this.#tellStart(0);
        this.#on({ event: "started" });
      });
    } catch (error) {
      this.#release();
      this.#tell({ type: "run.error", runId: this.#runId, error });
      throw error;
    }
  }

  /**
   * Must be called before the run's promise settles, because the caller may start the same run again as soon as the
   * promise settles.
   */
  #release(): void {
    for (const release of this.#releases.splice(0)) release();
  }

  #reserve(): void {
    this.#releases.push(reserve(this.#recorder!.identity, this.#runId));
  }

  #listenToDrain(drain: NonNullable<RunOptions["drain"]>): void {
    const requested = () => this.#on({ event: "drainRequested" });
    if (drain.drained) requested();
    else this.#releases.push(onDrain(drain, requested));
  }

  #listenToAbort(signal: AbortSignal): void {
    const abort = () => this.#on({ event: "aborted" });
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    this.#releases.push(() => signal.removeEventListener("abort", abort));
  }

  #on(event: RunEvent): void {
    if (this.#over) return;
    try {
      for (const command of parse(this.#run.call(JSON.stringify(event))) as Command[]) this.#do(command);
    } catch (error) {
      // Commands should not throw. If a command throws, the run's promise must still reject.
      this.#over = true;
      this.#cancel();
      this.#settle.reject(error);
    }
  }

  #do(told: Command): void {
    switch (told.command) {
      case "load":
        return void this.#load(told.id ?? undefined);
      case "mutate":
        return this.#mutate();
      case "store": {
        const { id, stepIndex, stepName, slot, rewind } = told;
        return void this.#store({ id, stepIndex, stepName }, slot, rewind);
      }
      case "keep":
        return this.#keep(told.slot, this.#slots.get(told.slot)!);
      case "began":
        this.#began.set(told.step, performance.now());
        return this.#tellStep(told.step, "start");
      case "run":
        return void this.#call(told.step, told.attempt, told.slot);
      case "evaluate":
        return void this.#evaluate(told.step, told.attempt, told.slot);
      case "wait": {
        const { step, attempt, ms } = told;
        this.#tellStep(step, "retry", { attempt, delayMs: ms, error: this.#errors.get(step) });
        return this.#wait(step, ms);
      }
      case "ask":
        return void this.#ask(told.step);
      case "merge":
        return this.#merge(told.step, told.base, told.branches);
      case "ended":
        return this.#ended(told.step, told.how);
      case "cancel":
        return this.#cancel();
      case "finish":
        return this.#finish(told.slot);
      case "fail":
        return this.#settle.reject(this.#failure(told.why));
    }
  }

  async #load(id: string | undefined): Promise<void> {
    let found: Recorded | null;
    try {
      found = id === undefined ? await this.#recorder!.latest(this.#runId) : await this.#recorder!.load(id);
      if (found !== null && this.#plan.mode.kind === "replay") {
        this.#runId = found.runId;
        this.#reserve();
      }
    } catch (error) {
      return this.#broke(error);
    }
    if (found === null) {
      if (this.#plan.mode.kind === "resume") this.#tellStart(0);
      return this.#on({ event: "loaded", base: null });
    }
    this.#base = found;
    this.#slots.set(ENTRY, found.state);
    this.#tellStart(found.stepIndex + 1, found.id);
    const { id: baseId, runId, stepIndex, stepName } = found;
    this.#on({ event: "loaded", base: { id: baseId, runId, stepIndex, stepName } });
  }

  #mutate(): void {
    let state: Snapshot;
    try {
      const mutated = this.#plan.mutator!(this.#slots.get(ENTRY)!.draft());
      if (isThenable(mutated)) {
        // No other code handles this promise. The empty handler prevents an unhandled rejection.
        mutated.then(undefined, () => {});
        throw typeError(
          "the mutator of fork() must return the new state itself, and returned a promise: it cannot be async",
        );
      }
      if (typeof mutated !== "object" || mutated === null) {
        throw typeError(`the mutator of fork() must return the new state, and returned ${show(mutated)}`);
      }
      state = Snapshot.of(mutated, this.#recorder!.format);
    } catch (error) {
      return this.#broke(error);
    }
    this.#slots.set(ENTRY, state);
    this.#on({ event: "mutated" });
  }

  async #store(
    step: { id: string; stepIndex: number; stepName: string },
    slot: number,
    rewind: boolean,
  ): Promise<void> {
    const runId = this.#runId;
    // A fork's first checkpoint is stored as the difference from the checkpoint that the fork started from.
    const parent = this.#base !== undefined && this.#base.runId !== runId ? this.#base.id : undefined;
    const previous = this.#base?.runId === runId ? this.#base.id : this.#previous;
    this.#base = undefined;
    this.#previous = step.id;
    try {
      const state = this.#slots.get(slot)!;
      this.#keep(slot, await this.#recorder!.store({ ...step, runId, state, rewind, parent, previous }));
    } catch (error) {
      return this.#broke(carrying(error, { runId, stepIndex: step.stepIndex, stepName: step.stepName }));
    }
    const { id: checkpointId, stepIndex, stepName } = step;
    this.#tell({ type: "checkpoint.saved", runId, checkpointId, stepIndex, stepName });
    this.#on({ event: "stored" });
  }

  #keep(slot: number, state: Snapshot): void {
    this.#slots = new Map([[slot, state]]);
  }

  async #call(id: number, attempt: number, slot: number): Promise<void> {
    const node = this.#node(id);
    try {
      const before = this.#slots.get(slot)!;
      const draft = before.draft();
      const result = await callTask(node, draft, this.#context(node, attempt));
      this.#slots.set(id + 1, Snapshot.of(applyResult(draft, result, node.name), before.format));
    } catch (error) {
      return this.#threw(id, attempt, error);
    }
    this.#on({ event: "ran", step: id, attempt });
  }

  async #evaluate(id: number, attempt: number, slot: number): Promise<void> {
    const node = this.#node(id);
    let holds: boolean;
    try {
      holds = Boolean(
        await (node.step as ConditionStep<any>).condition(this.#slots.get(slot)!.draft(), this.#context(node, attempt)),
      );
    } catch (error) {
      return this.#threw(id, attempt, error);
    }
    this.#on({ event: "evaluated", step: id, attempt, holds });
  }

  #threw(id: number, attempt: number, error: unknown): void {
    this.#errors.set(id, error);
    this.#attempts.set(id, attempt + 1);
    this.#on({ event: "threw", step: id, attempt });
  }

  #wait(id: number, ms: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#on({ event: "waited", step: id });
    }, ms);
    this.#timers.add(timer);
  }

  async #ask(id: number): Promise<void> {
    const { name: stepName, stepIndex, path } = this.#node(id);
    const step: FailedStep = { runId: this.#runId, stepIndex, stepName, path, attempts: this.#attempts.get(id) ?? 0 };
    let goOn = false;
    try {
      const ask = this.#plan.onStepError as (error: unknown, step: FailedStep) => unknown;
      const answer = await ask(this.#errors.get(id), step);
      if (typeof answer !== "boolean")
        throw typeError(`onStepError must return true or false, and returned ${show(answer)}`);
      goOn = answer;
    } catch (error) {
      this.#errors.set(id, error);
    }
    this.#on({ event: "decided", step: id, goOn });
  }

  #merge(id: number, base: number, slots: number[]): void {
    const from = this.#slots.get(base)!;
    try {
      const branches = slots.map((slot) => ({ name: this.#node(slot - 1).name, state: this.#slots.get(slot)! }));
      this.#slots.set(id + 1, Snapshot.of(mergeBranches(from, branches), from.format));
    } catch (error) {
      this.#errors.set(id, error);
      return this.#on({ event: "conflicted", step: id });
    }
    this.#on({ event: "merged", step: id });
  }

  #ended(id: number, status: StepResult["status"]): void {
    const durationMs = performance.now() - this.#began.get(id)!;
    const error = status === "error" ? { error: this.#errors.get(id) } : {};
    this.#results.push({
      stepName: this.#node(id).name,
      status,
      ...(status === "error" && { error: messageOf(this.#errors.get(id)) }),
      durationMs,
    });
    this.#tellStep(id, status, { durationMs, ...error });
  }

  #cancel(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    const { signal } = this.#plan;
    this.#cancelled.abort(signal?.aborted ? signal.reason : undefined);
  }

  #finish(slot: number): void {
    const output = { runId: this.#runId, state: this.#slots.get(slot)!.draft(), stepResults: this.#results };
    this.#release();
    this.#tell({ type: "run.complete", runId: this.#runId, output });
    this.#settle.resolve(output);
  }

  #broke(error: unknown): void {
    this.#hostError = error;
    this.#on({ event: "broke" });
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
        this.#tellStep(id, "error", { error, durationMs: performance.now() - this.#began.get(id)! });
        return carrying(error, { runId: this.#runId, stepIndex, stepName: path[0]!, stepPath: path });
      }
      default:
        return this.#hostError;
    }
  }

  #node(id: number): Node {
    return this.#definition.nodes[id]!;
  }

  #context({ name: stepName, stepIndex, path }: Node, attempt: number): StepContext {
    const { sessionId, userId } = this.#plan;
    return {
      runId: this.#runId,
      workflow: this.#name,
      stepIndex,
      stepName,
      path,
      attempt,
      signal: this.#cancelled.signal,
      ...(sessionId !== undefined && { sessionId }),
      ...(userId !== undefined && { userId }),
    };
  }

  #tellStart(stepIndex: number, from?: string): void {
    const { kind } = this.#plan;
    const base = from === undefined ? {} : { from };
    this.#tell({ type: "run.start", runId: this.#runId, workflow: this.#name, kind, stepIndex, ...base });
  }

  #tellStep(id: number, status: "start" | "retry" | StepResult["status"], more: object = {}): void {
    const { name: stepName, stepIndex, path } = this.#node(id);
    this.#tell({ type: "workflow.step", runId: this.#runId, stepIndex, stepName, path, status, ...more });
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}
