/** `ForkpointTaskMessageQueue`: the messages of tasks that wait for their clients. */

import { ForkpointError, quote } from "../../bridge/errors.js";
import { ContractStore } from "../../store/contract-store.js";
import type { StoreHandle } from "../../store/handle.js";
import { nonEmpty } from "../../store/ids.js";
import type { Lease } from "../../store/lease.js";
import type { StoreOptions } from "../../store/options.js";
import type { Store } from "../../store/store.js";
import { Rows, jsonCopy, newId, openRows, repeated, valueOf } from "../shared/rows.js";
import { Turns } from "../shared/turns.js";

const rows = new Rows("mcp-queues");

/**
 * The queues of MCP tasks, in a database. A message is given at most once. The SDK's interface is experimental.
 * @example const taskMessageQueue = new ForkpointTaskMessageQueue("mcp.db");
 */
export class ForkpointTaskMessageQueue extends ContractStore {
  readonly #handle: StoreHandle;
  readonly #turns = new Turns();

  /** @param target as for `openStore`, or an open store. */
  constructor(target: string | URL | Store, options?: StoreOptions) {
    const { handle } = openRows(rows, {}, target, options);
    super(handle);
    this.#handle = handle;
  }

  /**
   * Appends a message. As in the SDK, `sessionId` has no effect, because the id of a task is unique.
   * @throws ForkpointError `BUSY` if the queue has `maxSize` messages. TypeError if the message is not JSON.
   * @example await queue.enqueue(taskId, { type: "notification", message, timestamp: Date.now() });
   */
  enqueue(taskId: string, message: object, _sessionId?: string, maxSize = Number.POSITIVE_INFINITY): Promise<void> {
    return this.#handle.save((engine, held) => {
      const [run, copy] = [nonEmpty(taskId, "taskId"), jsonCopy(message, "message", held)];
      const attempt = async () => {
        const newest = (await rows.newest(engine, run))?.place;
        const number = newest === undefined ? 0 : newest.number + 1;
        // The numbers of a queue have no gaps. An enqueue in between changes the newest message.
        const [oldest] = (await rows.page(engine, { run, limit: 1 })).rows;
        const size = oldest === undefined ? 0 : number - oldest.place.number;
        if (size >= maxSize) {
          throw new ForkpointError("BUSY", `the queue of task ${quote(run)} is full: it has ${size} messages`);
        }
        const expect = newest ? { newest } : "none";
        await rows.put(engine, { run, ns: "", number, id: newId(), expect, label: "", lasting: false }, copy);
      };
      return this.#turns.alone(run, () => repeated(attempt));
    });
  }

  /**
   * Takes the first message. Undefined: the queue is empty.
   * @example const message = await queue.dequeue(taskId);
   */
  async dequeue(taskId: string, _sessionId?: string): Promise<any> {
    return (await this.#take(taskId, 1))[0];
  }

  /**
   * Takes all messages.
   * @example const messages = await queue.dequeueAll(taskId);
   */
  dequeueAll(taskId: string, _sessionId?: string): Promise<any[]> {
    return this.#take(taskId, Number.POSITIVE_INFINITY);
  }

  #take(taskId: string, most: number): Promise<unknown[]> {
    return this.#handle.run(async (engine) => {
      const [run, taken]: [string, unknown[]] = [nonEmpty(taskId, "taskId"), []];
      const attempt = async () => {
        const page = await rows.page(engine, { run, limit: Math.min(most, 256) });
        const values = page.rows.map((row) => valueOf(engine, row));
        const places = page.rows.map(({ place }) => place);
        if (places.length > 0) await rows.call(engine.native, "remove", { rows: places });
        taken.push(...values);
        return page.more;
      };
      while ((await repeated(attempt)) && taken.length < most);
      return taken;
    });
  }

  withLease(lease: Lease): ForkpointTaskMessageQueue {
    return new ForkpointTaskMessageQueue(this.#handle.withLease(lease).asStore);
  }
}
