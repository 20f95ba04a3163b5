/** Calls the listeners of a session store for each new checkpoint. */

import { EventEmitter } from "node:events";
import { show, typeError } from "../../bridge/errors.js";
import { idOrNull } from "../../store/ids.js";
import { readRecord, signalOption } from "../../store/options.js";
import { Queue } from "../shared/queue.js";

/** A checkpoint was stored. */
export interface CheckpointCreatedEvent {
  type: "checkpoint_created";
  checkpointId: string;
  stepCount: number;
}

const CHECKPOINT_CREATED = "checkpoint_created";

type Listener = (event: CheckpointCreatedEvent, sessionId: string) => void;

export class Events {
  /** The number of listeners is unlimited, because each stream of events has one. */
  readonly #emitter = new EventEmitter().setMaxListeners(0);
  /** The functions that end the open streams of events. */
  readonly #streams = new Set<() => void>();

  on(event: unknown, listener: Listener): void {
    this.#emitter.on(requireEvent(event), listener);
  }

  off(event: unknown, listener: Listener): void {
    this.#emitter.off(requireEvent(event), listener);
  }

  /** Calls the listeners with `store` as their `this`. */
  emit({ id, stepCount, sessionId }: { id: string; stepCount: number; sessionId: string }, store: object): void {
    const event: CheckpointCreatedEvent = { type: CHECKPOINT_CREATED, checkpointId: id, stepCount };
    for (const listener of this.#emitter.listeners(CHECKPOINT_CREATED)) {
      try {
        Reflect.apply(listener, store, [event, sessionId]);
      } catch (error) {
        // The checkpoint is stored, so a listener's error must not fail the save.
        process.nextTick(() => {
          throw error;
        });
      }
    }
  }

  /** Returns the events of a session, or of all sessions. The stream ends immediately if the store is closed. */
  stream(sessionId: string | undefined, options: unknown, closed: boolean): AsyncGenerator<CheckpointCreatedEvent> {
    if (sessionId !== undefined) idOrNull(sessionId, "sessionId");
    const { signal } = readRecord(options, "options", { signal: signalOption });
    const queue = new Queue<CheckpointCreatedEvent>();
    const listener: Listener = (event, of) => {
      if (sessionId === undefined || of === sessionId) queue.push(event);
    };
    const end = () => {
      signal?.removeEventListener("abort", end);
      this.#emitter.off(CHECKPOINT_CREATED, listener);
      this.#streams.delete(end);
      queue.end();
    };
    // Listen immediately, before the first step of the iterator.
    this.#streams.add(end);
    this.#emitter.on(CHECKPOINT_CREATED, listener);
    signal?.addEventListener("abort", end);
    if (signal?.aborted || closed) end();
    return iterate(queue, end);
  }

  close(): void {
    for (const end of this.#streams) end();
  }
}

async function* iterate<T>(queue: Queue<T>, ended: () => void): AsyncGenerator<T> {
  try {
    yield* queue;
  } finally {
    ended();
  }
}

function requireEvent(event: unknown): string {
  if (event !== CHECKPOINT_CREATED) throw typeError(`event must be "${CHECKPOINT_CREATED}", but is ${show(event)}`);
  return CHECKPOINT_CREATED;
}
