/**
 * Stores the pending writes of a step together with the checkpoint that LangGraph makes from them, in one transaction.
 *
 * LangGraph hands over the writes when a task ends, and the checkpoint shortly afterwards. Until then the writes are
 * gathered here. If the event loop turns first, they are stored alone: another task of the step still works, or the
 * step fails or asks a question.
 */

import { isOvertaken, isOwnError } from "../../bridge/errors.js";
import { holdBack, holdNothingBack } from "../../bridge/held-back.js";
import type { NativeStore } from "../../bridge/native.js";
import { inThisScope } from "../../bridge/scope.js";
import type { CheckpointRef } from "./config.js";
import type { Handed } from "./early-writes.js";
import type { WriteCall } from "./writing.js";

/** The maximum size of the gathered writes of a checkpoint, in bytes. Larger ones gain nothing from one commit. */
const MOST_BYTES = 256 << 10;

/** The writes of a task. The saver makes this object before it knows whether they are gathered. */
export class TaskWrites {
  /** While this is true, a checkpoint takes the writes and does not wait for them. */
  areGathered = false;
  call!: WriteCall;
  /** Stores the writes alone. */
  send!: () => Promise<unknown>;
  settle!: (outcome: Promise<unknown> | undefined) => void;
  outcome!: Promise<unknown>;
}

/** The writes to a checkpoint that have no outcome yet. */
interface Step {
  gathered: TaskWrites[];
  /** The size of the gathered writes, in bytes. */
  bytes: number;
  /** Writes that were sent alone, or with the checkpoint. */
  sent: Set<TaskWrites>;
  /** The checkpoint of the writes, if it was not stored when they came. They must not be sent before it. */
  behind: Handed | undefined;
}

const nameOf = ({ threadId, namespace, id }: CheckpointRef): string => `${threadId}\0${namespace}\0${id}`;

/** The gathered writes of a saver. */
export class GatheredWrites {
  /** By the name of the checkpoint that the writes belong to. */
  readonly #steps = new Map<string, Step>();
  readonly #sendAll = () => {
    for (const step of this.#steps.values()) if (step.behind?.isSent !== false) sendAlone(step);
  };

  /**
   * Gathers writes until the event loop turns. `send` stores them alone. Resolves when they are stored, alone or with the
   * checkpoint that is made from them. If their own checkpoint is not stored yet, they wait until it is.
   */
  gather(
    writes: TaskWrites,
    to: CheckpointRef,
    call: WriteCall,
    send: () => Promise<unknown>,
    behind: Handed | undefined,
  ): Promise<unknown> {
    const name = nameOf(to);
    const step: Step = this.#steps.get(name) ?? { gathered: [], bytes: 0, sent: new Set(), behind };
    const bytes = call.buffers.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (step.bytes + bytes > MOST_BYTES && behind?.isSent !== false) {
      sendAlone(step);
      return send();
    }
    if (step.gathered.length === 0) {
      const turn = () => void setImmediate(() => sendAlone(step));
      if (behind === undefined) turn();
      else behind.stored.then(turn, turn);
      this.#steps.set(name, step);
      holdBack(this.#sendAll);
    }
    writes.areGathered = true;
    writes.call = call;
    writes.send = inThisScope(send);
    writes.outcome = new Promise((resolve) => (writes.settle = resolve));
    step.gathered.push(writes);
    step.bytes += bytes;
    const end = () => {
      step.sent.delete(writes);
      if (step.sent.size > 0 || step.gathered.length > 0) return;
      this.#steps.delete(name);
      if (this.#steps.size === 0) holdNothingBack(this.#sendAll);
    };
    writes.outcome.then(end, end);
    return writes.outcome;
  }

  /**
   * Stores a checkpoint with the gathered writes to its parent. If the store refuses that, stores the writes alone and
   * then the checkpoint, so that each caller gets its own error.
   */
  async storeWith<T>(
    parent: CheckpointRef | undefined,
    native: NativeStore,
    store: (writes: readonly WriteCall[]) => Promise<T>,
  ): Promise<T> {
    const step = parent && this.#steps.get(nameOf(parent));
    if (step === undefined) return store([]);
    // Writes under another lease, or under none, must not be stored under this one.
    if (step.gathered.some(({ call }) => call.native.fence !== native.fence)) sendAlone(step);
    if (step.sent.size > 0) await outcomesOf(step.sent);
    const writes = take(step);
    const stored = store(writes.map(({ call }) => call));
    if (writes.length === 0) return stored;
    try {
      const result = await stored;
      for (const { settle } of writes) settle(undefined);
      return result;
    } catch (error) {
      // A store that is busy or unavailable would refuse each of them too.
      const splits = isOwnError(error) && !error.retryable && error.outcome === undefined;
      for (const { settle, send } of writes) settle(splits ? send() : Promise.reject(error));
      await outcomesOf(writes);
      if (splits) return store([]);
      throw error;
    }
  }
}

/** Takes the gathered writes of a step. They are sent next. */
function take(step: Step): TaskWrites[] {
  const writes = step.gathered;
  step.gathered = [];
  step.bytes = 0;
  for (const each of writes) {
    each.areGathered = false;
    step.sent.add(each);
  }
  return writes;
}

function sendAlone(step: Step): void {
  for (const { settle, send } of take(step)) settle(send());
}

/** Waits until writes have their outcomes. Throws if the store has refused writes because another run was faster. */
async function outcomesOf(all: Iterable<TaskWrites>): Promise<void> {
  for (const { outcome } of all) {
    await outcome.catch((error: unknown) => {
      if (isOvertaken(error)) throw error;
    });
  }
}
