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
