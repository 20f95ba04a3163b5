/**
 * A run: does what the engine's state machine says (`src/workflow`), and tells it what came of that. The user's functions, the
 * store, timers and signals are here; what happens next is decided there.
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
import { type Command, type NativeRun, direct } from "../native.js";
import { formatOf } from "../serializer.js";
import { checkpointNotFound } from "./checkpoint.js";
import { RunDrainedError, onDrain } from "./drain.js";
import { carrying, messageOf } from "./failure.js";
import type { Recorded, Recorder } from "./recorder.js";
import { reserve } from "./running.js";
import { Snapshot, applyResult, mergeBranches } from "./state.js";
import { type Definition, type Node, callTask } from "./steps.js";

/** What a run is to do. */
export interface Plan extends RunOptions {
  kind: "run" | "resume" | "replay" | "fork";
  mode: "plain" | "fresh" | "resume" | "replay" | "branch" | "mutate";
  runId: string;
  /** The checkpoint to go on from. */
  from?: string;
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
  readonly #run: NativeRun;
  readonly #cancelled = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** The states that are still needed: 0 is the one at the beginning, any other a step's result. */
  #slots = new Map<number, Snapshot>();
  readonly #errors = new Map<number, unknown>();
  readonly #attempts = new Map<number, number>();
  readonly #began = new Map<number, number>();
  readonly #results: StepResult[] = [];
  /** Undone when the run ends. */
  readonly #releases: Array<() => void> = [];
  #runId: string;
  #base: Recorded | undefined;
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
    this.#run = direct(
      (binding) => new binding.NativeRun(definition.native, plan.runId, plan.mode, plan.from, plan.force, onError),
    );
  }

  async start(): Promise<WorkflowRunOutput<any>> {
    const { signal, drain, mode, initialState } = this.#plan;
    const format = this.#recorder?.format ?? formatOf("v8");
    try {
      // A replay's run is known when its checkpoint is.
      if (this.#recorder !== undefined && mode !== "replay") this.#reserve();
      if (mode === "plain" || mode === "fresh" || mode === "resume") this.#slots.set(ENTRY, Snapshot.of(initialState, format));
      return await new Promise((resolve, reject) => {
        this.#settle = { resolve, reject };
        if (drain !== undefined) this.#listenToDrain(drain);
        if (signal !== undefined) this.#listenToAbort(signal);
        if (signal?.aborted) return;
        if (mode === "plain" || mode === "fresh") this.#tellStart(0);
        this.#on("started");
      });
    } catch (error) {
      this.#release();
      this.#tell({ type: "run.error", runId: this.#runId, error });
      throw error;
    }
  }

  /** Before anybody hears of the end: who does may begin the run anew. */
  #release(): void {
    for (const release of this.#releases.splice(0)) release();
  }

  #reserve(): void {
    this.#releases.push(reserve(this.#recorder!.identity, this.#runId));
  }

  #listenToDrain(drain: NonNullable<RunOptions["drain"]>): void {
    if (drain.drained) this.#on("drain");
    else this.#releases.push(onDrain(drain, () => this.#on("drain")));
  }

  #listenToAbort(signal: AbortSignal): void {
    const abort = () => this.#on("aborted");
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    this.#releases.push(() => signal.removeEventListener("abort", abort));
  }

  #on(event: string, node?: number, attempt?: number, yes?: boolean): void {
    this.#perform(() => this.#run.on(event, node, attempt, yes));
  }

  #perform(hear: () => string): void {
    if (this.#over) return;
    try {
      for (const command of JSON.parse(hear()) as Command[]) this.#do(command);
    } catch (error) {
      // Nothing here is meant to throw; whoever waits for the run must hear of it all the same.
      this.#over = true;
      this.#cancel();
      this.#settle.reject(error);
    }
  }

  #do([what, a, b, c, text, more, slots]: Command): void {
    switch (what) {
      case "load":
        return void this.#load(text ?? undefined);
      case "mutate":
        return this.#mutate();
      case "store":
        return void this.#store({ id: text!, stepIndex: a, stepName: more! }, b, c === 1);
      case "keep":
        return this.#keep(a, this.#slots.get(a)!);
      case "began":
        this.#began.set(a, performance.now());
        return this.#tellStep(a, "start");
      case "run":
        return void this.#call(a, b, c);
      case "evaluate":
        return void this.#evaluate(a, b, c);
      case "wait":
        this.#tellStep(a, "retry", { attempt: b, delayMs: c, error: this.#errors.get(a) });
        return this.#wait(a, c);
      case "ask":
        return void this.#ask(a);
      case "merge":
        return this.#merge(a, b, slots);
      case "ended":
        return this.#ended(a, text as StepResult["status"]);
      case "cancel":
        return this.#cancel();
      case "finish":
        return this.#finish(a);
      case "fail":
        return this.#settle.reject(this.#failure(text!, a, more ?? ""));
      default:
        throw new ForkpointError("UNAVAILABLE", `the engine asks for ${what}, which nobody knows: please report this`);
    }
  }

  async #load(id: string | undefined): Promise<void> {
    let found: Recorded | null;
    try {
      found = id === undefined ? await this.#recorder!.latest(this.#runId) : await this.#recorder!.load(id);
      if (found !== null && this.#plan.mode === "replay") {
        this.#runId = found.runId;
        this.#reserve();
      }
    } catch (error) {
      return this.#broke(error);
    }
    if (found === null) {
      if (this.#plan.mode === "resume") this.#tellStart(0);
      return this.#on("missing");
    }
    this.#base = found;
    this.#slots.set(ENTRY, found.state);
    this.#tellStart(found.stepIndex + 1, found.id);
    const { id: baseId, runId, stepIndex, stepName } = found;
    this.#perform(() => this.#run.loaded(baseId, runId, stepIndex, stepName));
  }

  #mutate(): void {
    let state: Snapshot;
    try {
      const mutated = this.#plan.mutator!(this.#slots.get(ENTRY)!.draft());
      if (isThenable(mutated)) {
        // Nobody else hears of what it comes to.
        mutated.then(undefined, () => {});
        throw typeError("the mutator of fork() must return the new state, and returned a promise: it is called synchronously");
      }
      if (typeof mutated !== "object" || mutated === null) {
        throw typeError(`the mutator of fork() must return the new state, and returned ${show(mutated)}`);
      }
      state = Snapshot.of(mutated, this.#recorder!.format);
    } catch (error) {
      return this.#broke(error);
    }
    this.#slots.set(ENTRY, state);
    this.#on("mutated");
  }

  async #store(place: { id: string; stepIndex: number; stepName: string }, slot: number, rewind: boolean): Promise<void> {
    const runId = this.#runId;
    // A fork is stored as the difference to what it was made from.
    const parent = this.#base !== undefined && this.#base.runId !== runId ? this.#base.id : undefined;
    this.#base = undefined;
    try {
      const state = this.#slots.get(slot)!;
      this.#keep(slot, await this.#recorder!.store({ ...place, runId, state, rewind, parent }));
    } catch (error) {
      return this.#broke(carrying(error, { runId, stepIndex: place.stepIndex, stepName: place.stepName }));
    }
    const { id: checkpointId, stepIndex, stepName } = place;
    this.#tell({ type: "checkpoint.saved", runId, checkpointId, stepIndex, stepName });
    this.#on("stored");
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
    this.#on("ran", id, attempt);
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
    this.#on("evaluated", id, attempt, holds);
  }

  #threw(id: number, attempt: number, error: unknown): void {
    this.#errors.set(id, error);
    this.#attempts.set(id, attempt + 1);
    this.#on("threw", id, attempt);
  }

  #wait(id: number, ms: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#on("waited", id);
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
      if (typeof answer !== "boolean") throw typeError(`onStepError must return true or false, and returned ${show(answer)}`);
      goOn = answer;
    } catch (error) {
      this.#errors.set(id, error);
    }
    this.#on("decided", id, undefined, goOn);
  }

  #merge(id: number, base: number, slots: number[]): void {
    const from = this.#slots.get(base)!;
    try {
      const branches = slots.map((slot) => ({ name: this.#node(slot - 1).name, state: this.#slots.get(slot)! }));
      this.#slots.set(id + 1, Snapshot.of(mergeBranches(from, branches), from.format));
    } catch (error) {
      this.#errors.set(id, error);
      return this.#on("conflicted", id);
    }
    this.#on("merged", id);
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
    this.#on("broke");
  }

  #failure(reason: string, id: number, text: string): unknown {
    switch (reason) {
      case "missing":
        return checkpointNotFound(text);
      case "mismatch":
        return new ForkpointError("CONFLICT", text);
      case "drained":
        return new RunDrainedError(this.#runId);
      case "aborted":
        return this.#plan.signal!.reason;
      case "step": {
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
