/** Emits the events of a run, and collects the results of its steps. */

import { messageOf } from "../shared/failure.js";
import type { Definition } from "./steps.js";
import type { StepResult } from "./contract.js";
import type { WorkflowEvent } from "./events.js";

/** An event without the fields that the reporter adds. */
type EventFields =
  WorkflowEvent<any> extends infer Event ? (Event extends unknown ? Omit<Event, "runId" | "steps"> : never) : never;

export class Reporter {
  readonly results: StepResult[] = [];
  runId: string;
  readonly #definition: Definition;
  readonly #listener: (event: WorkflowEvent<any>) => void;
  readonly #began = new Map<number, number>();

  constructor(definition: Definition, runId: string, listener: (event: WorkflowEvent<any>) => void) {
    this.#definition = definition;
    this.runId = runId;
    this.#listener = listener;
  }

  emit(event: EventFields): void {
    const { type, ...fields } = event;
    const message = { type, runId: this.runId, ...fields, steps: this.#definition.names.length };
    this.#listener(message as WorkflowEvent<any>);
  }

  stepBegan(step: number): void {
    this.#began.set(step, performance.now());
    this.#tellStep(step, "start");
  }

  stepWaits(step: number, attempt: number, delayMs: number, error: unknown): void {
    this.#tellStep(step, "retry", { attempt, delayMs, error });
  }

  /** Emits the end of a step, and adds the step's result. `error` is the error of a step that failed. */
  stepEnded(step: number, status: StepResult["status"], error: unknown): void {
    const durationMs = this.#duration(step);
    const { name: stepName } = this.#definition.nodes[step]!;
    const failed = status === "error";
    this.results.push({ stepName, status, ...(failed && { error: messageOf(error) }), durationMs });
    this.#tellStep(step, status, { durationMs, ...(failed && { error }) });
  }

  /** Emits the failure of a step that ends the run. */
  stepFailed(step: number, error: unknown): void {
    this.#tellStep(step, "error", { error, durationMs: this.#duration(step) });
  }

  #duration(step: number): number {
    return performance.now() - this.#began.get(step)!;
  }

  #tellStep(step: number, status: "start" | "retry" | StepResult["status"], more: object = {}): void {
    const { name: stepName, stepIndex, path } = this.#definition.nodes[step]!;
    this.emit({ type: "workflow.step", stepIndex, stepName, path, status, ...more });
  }
}
