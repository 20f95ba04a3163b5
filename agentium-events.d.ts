/**
 * The events of Agentium's workflows. `agentium.d.ts` exports them.
 */

import type { WorkflowRunOutput } from "./agentium.js";

/** An event of a run. Each event has the run's id, and the number of the workflow's top-level steps. */
export type WorkflowEvent<TState> = { runId: string; steps: number } & (
  | {
      type: "run.start";
      workflow: string;
      /** How the run was called. */
      kind: "run" | "resume" | "replay" | "fork";
      /**
       * True if the run begins with its initial state, and not after a checkpoint. A resume is fresh if there was nothing
       * to resume.
       */
      fresh: boolean;
      /** The id of the checkpoint from which the run continues. */
      from?: string;
      /** The index of the next step. */
      stepIndex: number;
    }
  | {
      type: "workflow.step";
      stepIndex: number;
      stepName: string;
      path: readonly string[];
      status: "start" | "retry" | "done" | "skipped" | "error";
      /** The attempt that failed (`"retry"`), counted from 0. */
      attempt?: number;
      /** The wait before the next attempt, in ms (`"retry"`). */
      delayMs?: number;
      /** The error that the step threw (`"retry"`, `"error"`). */
      error?: unknown;
      /** The time since the step's start, in ms (`"done"`, `"skipped"`, `"error"`). */
      durationMs?: number;
    }
  | { type: "checkpoint.saved"; checkpointId: string; stepIndex: number; stepName: string }
  | { type: "run.complete"; output: WorkflowRunOutput<TState> }
  | { type: "run.error"; error: unknown }
);

/** The events of a workflow's runs. A listener that throws causes an uncaught exception. The run continues. */
export interface WorkflowEvents<TState> {
  /**
   * Calls the listener at each event of this type.
   * @example workflow.events.on("checkpoint.saved", ({ checkpointId }) => console.log(checkpointId));
   */
  on<K extends WorkflowEvent<TState>["type"]>(
    type: K,
    listener: (event: Extract<WorkflowEvent<TState>, { type: K }>) => void,
  ): this;
  /**
   * Calls the listener at the next event of this type only.
   * @example workflow.events.once("run.start", ({ runId }) => console.log(runId));
   */
  once<K extends WorkflowEvent<TState>["type"]>(
    type: K,
    listener: (event: Extract<WorkflowEvent<TState>, { type: K }>) => void,
  ): this;
  /**
   * Removes a listener.
   * @example workflow.events.off("run.error", listener);
   */
  off<K extends WorkflowEvent<TState>["type"]>(
    type: K,
    listener: (event: Extract<WorkflowEvent<TState>, { type: K }>) => void,
  ): this;
}

/** The events that a workflow emits on its {@link EventBus}, in the framework's shapes. */
export interface EventBusEvents {
  /** `agentName` is `"workflow:<name>"`. `input` is the initial state as JSON. */
  "run.start": { runId: string; agentName: string; input: string };
  /** A skipped step is `"done"`. A retry is not told. */
  "workflow.step": { runId: string; stepName: string; status: "start" | "done" | "error" };
  /** `text` is the final state as JSON. A workflow knows no tool calls and no usage: the list is empty, the numbers 0. */
  "run.complete": {
    runId: string;
    output: {
      text: string;
      toolCalls: unknown[];
      usage: { promptTokens: number; completionTokens: number; totalTokens: number };
    };
  };
  "run.error": { runId: string; error: Error };
}

/**
 * The framework's event bus. Several workflows may share one. It can carry other events too, such as those of the user's
 * own. {@link Workflow.events} tells more than the bus: retries, stored checkpoints, and durations.
 * @example
 * ```ts
 * const eventBus = new EventBus();
 * eventBus.on("workflow.step", ({ stepName, status }) => console.log(stepName, status));
 * const workflow = new Workflow({ name: "count", initialState: { n: 0 }, steps: [], eventBus });
 * ```
 */
export class EventBus {
  constructor();
  /**
   * Calls the handler at each event of this name.
   * @example eventBus.on("run.complete", ({ runId, output }) => console.log(runId, output.text));
   */
  on<K extends keyof EventBusEvents>(event: K, handler: (data: EventBusEvents[K]) => void): this;
  on(event: string, handler: (data: any) => void): this;
  /**
   * Calls the handler at the next event of this name only.
   * @example eventBus.once("run.start", ({ agentName }) => console.log(agentName));
   */
  once<K extends keyof EventBusEvents>(event: K, handler: (data: EventBusEvents[K]) => void): this;
  once(event: string, handler: (data: any) => void): this;
  /**
   * Removes a handler.
   * @example eventBus.off("run.error", listener);
   */
  off<K extends keyof EventBusEvents>(event: K, handler: (data: EventBusEvents[K]) => void): this;
  off(event: string, handler: (data: any) => void): this;
  /**
   * Calls the handlers of an event. If a handler throws, the exception is uncaught, and the other handlers are still
   * called. Returns false if the event has no handler.
   * @example eventBus.emit("import.row", { row: 7 });
   */
  emit<K extends keyof EventBusEvents>(event: K, data: EventBusEvents[K]): boolean;
  emit(event: string, data: unknown): boolean;
  /**
   * Removes all handlers of an event, or of all events.
   * @example eventBus.removeAllListeners("run.start");
   */
  removeAllListeners(event?: string): this;
}
