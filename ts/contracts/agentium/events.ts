/** Calls the user's listeners at the events of a run. */

import { EventEmitter } from "node:events";
import type { WorkflowRunOutput } from "./contract.js";

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
  /** A skipped step is `"done"`. A retry emits no event. */
  "workflow.step": { runId: string; stepName: string; status: "start" | "done" | "error" };
  /**
   * `text` is the final state as JSON. A workflow records no tool calls and no usage: the list is empty, and the
   * numbers are 0.
   */
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

type Handler = (data: any) => void;

export class Events extends EventEmitter {
  /**
   * Calls the listeners of an event. A listener that throws causes an uncaught exception, as with an EventTarget, and
   * the other listeners are still called. Returns false if the event has no listener.
   */
  dispatch(event: string, data: unknown): boolean {
    const listeners = this.rawListeners(event);
    for (const listener of listeners) uncaught(() => Reflect.apply(listener, this, [data]));
    return listeners.length > 0;
  }
}

/** Runs the user's listeners. If one throws, the exception is uncaught, and the caller continues. */
function uncaught(call: () => void): void {
  try {
    call();
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}

/** The number of listeners per event at which Node.js warns of a leak, as in the framework. */
const MAX_LISTENERS = 200;

let listens: (bus: EventBus, event: string) => boolean;

/**
 * The framework's event bus. Workflows may share one. It also carries your own events. {@link Workflow.events} has more
 * than the bus: retries, stored checkpoints, and durations.
 * @example
 * ```ts
 * const eventBus = new EventBus();
 * eventBus.on("workflow.step", ({ stepName, status }) => console.log(stepName, status));
 * const workflow = new Workflow({ name: "count", initialState: { n: 0 }, steps: [], eventBus });
 * ```
 */
export class EventBus {
  readonly #events = new Events().setMaxListeners(MAX_LISTENERS);

  static {
    listens = (bus, event) => bus.#events.listenerCount(event) > 0;
  }

  /**
   * Calls the handler at each event of this name.
   * @example eventBus.on("run.complete", ({ runId, output }) => console.log(runId, output.text));
   */
  on<K extends keyof EventBusEvents>(event: K, handler: (data: EventBusEvents[K]) => void): this;
  on(event: string, handler: (data: any) => void): this;
  on(event: string, handler: Handler): this {
    this.#events.on(event, handler);
    return this;
  }

  /**
   * Calls the handler at the next event of this name only.
   * @example eventBus.once("run.start", ({ agentName }) => console.log(agentName));
   */
  once<K extends keyof EventBusEvents>(event: K, handler: (data: EventBusEvents[K]) => void): this;
  once(event: string, handler: (data: any) => void): this;
  once(event: string, handler: Handler): this {
    this.#events.once(event, handler);
    return this;
  }

  /**
   * Removes a handler.
   * @example eventBus.off("run.error", listener);
   */
  off<K extends keyof EventBusEvents>(event: K, handler: (data: EventBusEvents[K]) => void): this;
  off(event: string, handler: (data: any) => void): this;
  off(event: string, handler: Handler): this {
    this.#events.off(event, handler);
    return this;
  }

  /**
   * Calls the handlers of an event. If a handler throws, the exception is uncaught, and the other handlers are still
   * called. Returns false if the event has no handler.
   * @example eventBus.emit("import.row", { row: 7 });
   */
  emit<K extends keyof EventBusEvents>(event: K, data: EventBusEvents[K]): boolean;
  emit(event: string, data: unknown): boolean;
  emit(event: string, data: unknown): boolean {
    return this.#events.dispatch(event, data);
  }

  /**
   * Removes all handlers of an event, or of all events.
   * @example eventBus.removeAllListeners("run.start");
   */
  removeAllListeners(event?: string): this {
    if (event === undefined) this.#events.removeAllListeners();
    else this.#events.removeAllListeners(event);
    return this;
  }
}

/** Emits an event of a run in the framework's shape. Leaves out events that the framework lacks. */
export function forward(bus: Pick<EventBus, "emit">, event: WorkflowEvent<any>, initialState: () => unknown): void {
  const { type } = event;
  // Making the text of a state takes time, so stop if no listener reads it.
  if (bus instanceof EventBus && !listens(bus, type)) return;
  const data = frameworkEvent(event, initialState);
  if (data !== undefined) uncaught(() => void bus.emit(type, data));
}

function frameworkEvent(event: WorkflowEvent<any>, initialState: () => unknown): object | undefined {
  const { runId } = event;
  switch (event.type) {
    case "run.start":
      return { runId, agentName: `workflow:${event.workflow}`, input: textOf(initialState()) };
    case "workflow.step": {
      const { stepName, status } = event;
      return status === "retry" ? undefined : { runId, stepName, status: status === "skipped" ? "done" : status };
    }
    case "run.complete": {
      const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
      return { runId, output: { text: textOf(event.output.state), toolCalls: [], usage } };
    }
    case "run.error": {
      const { error } = event;
      return { runId, error: error instanceof Error ? error : new Error(String(error), { cause: error }) };
    }
    default:
      return undefined;
  }
}

/** Returns the state as JSON. A BigInt becomes a string, and a cycle becomes null, because JSON has neither. */
function textOf(state: unknown): string {
  const above: unknown[] = [];
  return JSON.stringify(state, function (this: unknown, _key, value: unknown) {
    if (typeof value === "bigint") return String(value);
    if (typeof value !== "object" || value === null) return value;
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    if (above.includes(value)) return null;
    above.push(value);
    return value;
  });
}
