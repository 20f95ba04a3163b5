import { EventEmitter } from "node:events";
import type { WorkflowEvent } from "../../agentium.js";

/** Events of a workflow's runs. */
export class Events extends EventEmitter {
  /** Tells the listeners. One that throws is an uncaught exception, as with an EventTarget, and no matter of the run's. */
  tell(event: WorkflowEvent<any>): void {
    for (const listener of this.rawListeners(event.type)) {
      try {
        Reflect.apply(listener, this, [event]);
      } catch (error) {
        process.nextTick(() => {
          throw error;
        });
      }
    }
  }
}

/** Events for one who takes them one by one: they wait, and nobody waits for them. */
export class Queue<T> {
  readonly #items: T[] = [];
  #wake: (() => void) | undefined;
  #ended = false;

  push(item: T): void {
    this.#items.push(item);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    for (;;) {
      while (this.#items.length > 0) yield this.#items.shift()!;
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
