/** Tells the user's listeners what happens in a run. */

import { EventEmitter } from "node:events";
import type { EventBus as Contract, WorkflowEvent } from "../../../agentium.js";

type Handler = (data: any) => void;

/** Events of a workflow's runs. */
export class Events extends EventEmitter {
  /**
   * Calls the listeners of an event. A listener that throws causes an uncaught exception, as with an EventTarget, and
   * the other listeners are still called. Returns false if the event has no listener.
   */
  tell(event: string, data: unknown): boolean {
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

/** As many listeners as the framework allows before Node.js warns of a leak. */
const MAX_LISTENERS = 200;

let listens: (bus: EventBus, event: string) => boolean;

export class EventBus implements Contract {
  readonly #events = new Events().setMaxListeners(MAX_LISTENERS);

  static {
    listens = (bus, event) => bus.#events.listenerCount(event) > 0;
  }

  on(event: string, handler: Handler): this {
    this.#events.on(event, handler);
    return this;
  }

  once(event: string, handler: Handler): this {
    this.#events.once(event, handler);
    return this;
  }

  off(event: string, handler: Handler): this {
    this.#events.off(event, handler);
    return this;
  }

  emit(event: string, data: unknown): boolean {
    return this.#events.tell(event, data);
  }

  removeAllListeners(event?: string): this {
    if (event === undefined) this.#events.removeAllListeners();
    else this.#events.removeAllListeners(event);
    return this;
  }
}

/** An event bus of this package, or the user's own. */
export type AnyBus = Pick<Contract, "emit">;

/** Emits an event of a run in the shape that the framework gives it. Events that the framework lacks are left out. */
export function forward(bus: AnyBus, event: WorkflowEvent<any>, initialState: unknown): void {
  const { type } = event;
  // The text of a state takes time to make, so it is made only if somebody may read it.
  if (bus instanceof EventBus && !listens(bus, type)) return;
  const data = frameworkEvent(event, initialState);
  if (data !== undefined) uncaught(() => void bus.emit(type, data));
}

function frameworkEvent(event: WorkflowEvent<any>, initialState: unknown): object | undefined {
  const { runId } = event;
  switch (event.type) {
    case "run.start":
      return { runId, agentName: `workflow:${event.workflow}`, input: textOf(initialState) };
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

/** Returns the state as JSON. A state can hold values that JSON lacks: a BigInt becomes a string, a cycle becomes null. */
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
