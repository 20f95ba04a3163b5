/** `ForkpointEventStore`: the events of a session, from which its client resumes streams. */

import { typeError } from "../../bridge/errors.js";
import { ContractStore } from "../../store/contract-store.js";
import type { StoreHandle } from "../../store/handle.js";
import { nonEmpty, text } from "../../store/ids.js";
import type { Lease } from "../../store/lease.js";
import { type Parsed, type StoreOptions, atMost } from "../../store/options.js";
import type { DeleteOptions } from "../../store/removing.js";
import type { Store } from "../../store/store.js";
import { Blocks } from "../shared/blocks.js";
import { Expiry } from "../shared/expiry.js";
import { Rows, clearRun, jsonCopy, openRows } from "../shared/rows.js";
import { Turns } from "../shared/turns.js";

export interface ForkpointEventStoreOptions extends Omit<StoreOptions, "keepLastN" | "ttlMs" | "waitingTtlMs"> {
  /** The session of the events. Create a store for each session: it cannot read the events of other sessions. */
  sessionId: string;
  /** How long an event is kept, in ms. Default: no limit. */
  ttlMs?: number | null;
  /** How many events to keep of each stream: the newest. Default: no limit. */
  maxEvents?: number | null;
}

const rows = new Rows("mcp");
const parsers = { sessionId: nonEmpty, ttlMs: atMost("milliseconds"), maxEvents: atMost("events") };

/**
 * The events of a session of an MCP server, in a database. A resolved `storeEvent` is durable.
 *
 * @example
 * ```ts
 * const eventStore = new ForkpointEventStore("mcp.db", { sessionId: user.id });
 * const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, eventStore });
 * ```
 */
export class ForkpointEventStore extends ContractStore {
  readonly #handle: StoreHandle;
  readonly #own: Parsed<typeof parsers>;
  readonly #blocks: Blocks;
  readonly #turns = new Turns();
  readonly #expiry = new Expiry();

  /**
   * @param target as for `openStore`, or an open store.
   * @param options `sessionId`, `ttlMs`, `maxEvents`, and the options of `openStore` unless the store is open.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options: ForkpointEventStoreOptions) {
    const { handle, own } = openRows(rows, parsers, target, options);
    super(handle);
    const { sessionId, ttlMs = null, maxEvents = null } = own;
    if (sessionId === undefined) throw typeError('option "sessionId" is missing: each session needs its own store');
    [this.#handle, this.#own] = [handle, own];
    this.#blocks = new Blocks(rows, sessionId, { ttlMs, keep: maxEvents });
  }

  /**
   * Stores an event after those that are already stored in its stream. Returns its id.
   * @throws TypeError if the message is not JSON. Nothing was stored then.
   * @example const eventId = await store.storeEvent(streamId, { jsonrpc: "2.0", method: "notifications/message" });
   */
  async storeEvent(streamId: string, message: object): Promise<string> {
    const id = await this.#handle.save((engine, held) => {
      const [stream, copy] = [nonEmpty(streamId, "streamId"), jsonCopy(message, "message", held)];
      return this.#turns.alone(stream, () => this.#blocks.append(engine, stream, copy));
    });
    const { ttlMs = null } = this.#own;
    const sweep = () => this.#handle.prune({ olderThan: Date.now() - ttlMs! });
    this.#expiry.sweepIfDue(this.#handle, { what: "expired events", ttlMs, sweep });
    return id;
  }

  #find = (eventId: string) => this.#handle.run((engine) => this.#blocks.find(engine, text(eventId, "eventId")));

  /**
   * Returns the stream of an event. Undefined: the session does not have the event.
   * @example const streamId = await store.getStreamIdForEventId(lastEventId);
   */
  async getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return (await this.#find(eventId))?.row.ns;
  }

  /**
   * Sends the later events of an event's stream, in order. Returns the id of the stream, or an empty string if the
   * session does not have the event. Rejects if `send` rejects.
   * @example await store.replayEventsAfter(lastEventId, { send: async (id, message) => write(id, message) });
   */
  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (eventId: string, message: any) => Promise<void> },
  ): Promise<string> {
    const found = await this.#find(lastEventId);
    if (found === undefined) return "";
    for await (const [id, message] of this.#blocks.after(this.#handle, found)) {
      // An empty object is the place before the first message.
      if (Object.hasOwn(message as object, "jsonrpc")) await send(id, message);
    }
    return found.row.ns;
  }

  /**
   * Removes all events of the session.
   * @throws ForkpointError `CONFLICT` if a process holds the lease of the session, unless `force` is true.
   * @example await store.deleteSession();
   */
  async deleteSession(options?: DeleteOptions): Promise<void> {
    await clearRun(this.#handle, rows, this.#own.sessionId!, options);
  }

  withLease(lease: Lease): ForkpointEventStore {
    return new ForkpointEventStore(this.#handle.withLease(lease).asStore, this.#own as ForkpointEventStoreOptions);
  }
}
