import { EventEmitter } from "node:events";
import type { WorkflowEvent } from "../../agentium.js";

/** Events of a workflow's runs. */
export class Events extends EventEmitter {
  /**
   * Calls the listeners. A listener that throws causes an uncaught exception, as with an EventTarget, and the run
   * continues.
   */
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

/** Buffers events for a reader that takes them one by one. The run never waits for the reader. */
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
