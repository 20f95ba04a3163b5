/** `ForkpointResumableStreamStore`: the store of `assistant-stream`, over the streams of this folder. */

import { ForkpointError, isOvertaken, quote, typeError } from "../../bridge/errors.js";
import { ContractStore } from "../../store/contract-store.js";
import { StoreHandle } from "../../store/handle.js";
import { type HeldLease, type Lease, fenced } from "../../store/lease.js";
import { type StoreOptions, oneOf, text } from "../../store/options.js";
import { removing } from "../../store/removing.js";
import type { Store } from "../../store/store.js";
import { packRecords } from "../shared/records.js";
import { idOption } from "./options.js";
import {
  PAGE,
  PAUSE,
  failureOf,
  hasMaker,
  headOf,
  isOver,
  noteOf,
  packNote,
  readStream,
  runOf,
} from "./stream-store.js";
import { Streams } from "./streams.js";
import { streamCalls } from "./wire.js";

const endOf = oneOf<"done" | "error">("done", "error");

/**
 * The resumable streams of `assistant-stream`, in a database. The producer holds a lease, so a stream whose process has
 * died ends with an error. A stream is kept for a day.
 * @example const context = createResumableStreamContext({ store: new ForkpointResumableStreamStore("agent.db") });
 */
export class ForkpointResumableStreamStore extends ContractStore {
  readonly #handle: StoreHandle;
  readonly #streams: Streams;
  /** The leases of the streams that this object produces. */
  readonly #mine = new Map<string, HeldLease>();

  /** @param target as for `openStore`, or an open store. */
  constructor(target: string | URL | Store, options?: StoreOptions) {
    const handle = StoreHandle.of(target, options, streamCalls);
    super(handle);
    this.#handle = handle;
    this.#streams = new Streams(
      handle,
      10_000,
      async () => {},
      () => undefined,
    );
  }

  /**
   * Makes the first caller of a new stream its producer.
   * @example const role = await store.acquire(streamId);
   */
  async acquire(streamId: string, _options?: { ttlMs?: number }): Promise<"producer" | "consumer"> {
    const stream = idOption(streamId, "streamId");
    const lease = await this.#streams.take(stream);
    if (lease === undefined) return "consumer";
    try {
      await this.#handle.run(({ native }) =>
        streamCalls.call(fenced(native, lease), "begin", { stream, savedAt: Date.now() }),
      );
    } catch (error) {
      await lease.release().catch(() => {});
      if (isOvertaken(error)) return "consumer";
      throw error;
    }
    this.#mine.set(stream, lease);
    return "producer";
  }

  /**
   * Appends a chunk to a stream of this producer.
   * @throws ForkpointError `CONFLICT` if this object is not the producer, or not any more.
   * @example await store.append(streamId, chunk);
   */
  append(streamId: string, chunk: Uint8Array): Promise<void> {
    return this.#handle.save(async ({ native, format }) => {
      const stream = idOption(streamId, "streamId");
      if (!(chunk instanceof Uint8Array)) throw typeError("chunk must be a Uint8Array");
      const lease = this.#mine.get(stream);
      if (lease === undefined) {
        throw new ForkpointError("CONFLICT", `this object does not produce stream ${quote(stream)}, or not any more`);
      }
      const { records, bytes } = packRecords([format.serialize(Buffer.from(chunk).toString("latin1"), "chunk")]);
      const fields = { stream, chunks: records, head: undefined, note: undefined, savedAt: Date.now() };
      await streamCalls.call(fenced(native, lease), "append", fields, [bytes]);
    });
  }

  /**
   * Ends a stream. Returns false if it has ended, or has another producer.
   * @throws ForkpointError `NOT_FOUND` for an unknown stream.
   * @example await store.finalize(streamId, "done");
   */
  finalize(streamId: string, status: "done" | "error", error = "the stream has failed"): Promise<boolean> {
    return this.#handle.save(async (engine) => {
      const [stream, end] = [idOption(streamId, "streamId"), endOf(status, "status")];
      const lease = this.#mine.get(stream);
      if (lease === undefined) {
        if ((await headOf(engine, stream)) === null) throw notFound(stream);
        return false;
      }
      const failure = end === "error" ? failureOf(new Error(text(error, "error"))) : undefined;
      const note = packNote(failure === undefined ? {} : { failure }, engine.format);
      const head = { state: end === "done" ? ("ended" as const) : ("failed" as const) };
      const fields = { stream, chunks: undefined, head, note: note.name, savedAt: Date.now() };
      await streamCalls.call(fenced(engine.native, lease), "append", fields, [note.bytes]);
      this.#mine.delete(stream);
      await lease.release().catch(() => {});
      return true;
    });
  }

  /**
   * Reads the chunks after a cursor, and waits for further ones until the stream has ended.
   * @throws ForkpointError `NOT_FOUND` for an unknown stream, `UNAVAILABLE` if it has failed or its producer has died.
   * @example for await (const { cursor, chunk } of store.read(streamId, "", signal)) write(cursor, chunk);
   */
  async *read(
    streamId: string,
    cursor: string,
    signal: AbortSignal,
  ): AsyncGenerator<{ cursor: string; chunk: Uint8Array }> {
    const stream = idOption(streamId, "streamId");
    let at = /^[1-9]\d{0,14}$/.test(text(cursor, "cursor")) ? Number(cursor) : 0;
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      const [found, isMade] = await this.#handle.run(async (engine) => {
        const isMade = await hasMaker(engine, stream);
        const found = await readStream(engine, stream, at, PAGE);
        return [found && { ...found, note: noteOf(found.head, engine) }, isMade] as const;
      });
      if (found === null && isFirst) throw notFound(stream);
      if (found === null) return;
      for (const chunk of found.texts) {
        at += 1;
        if (signal.aborted) return;
        yield { cursor: String(at), chunk: new Uint8Array(Buffer.from(chunk, "latin1")) };
      }
      if (found.texts.length > 0) continue;
      const { failure } = found.note;
      if (failure !== undefined) throw new ForkpointError("UNAVAILABLE", failure.message, { retryable: false });
      if (isOver(found.head)) return;
      if (!isMade) throw new ForkpointError("UNAVAILABLE", `the producer of stream ${quote(stream)} has died`);
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }

  /**
   * Returns the state of a stream.
   * @example if ((await store.status(streamId)) === "missing") return;
   */
  async status(streamId: string): Promise<"streaming" | "done" | "error" | "missing"> {
    const stream = idOption(streamId, "streamId");
    const found = await this.#streams.has(stream);
    if (found !== "DONE") return found === null ? "missing" : "streaming";
    const head = await this.#handle.run((engine) => headOf(engine, stream));
    if (head === null) return "missing";
    return isOver(head) && head.state !== "failed" ? "done" : "error";
  }

  /**
   * Removes a stream.
   * @example await store.delete(streamId);
   */
  async delete(streamId: string): Promise<void> {
    const stream = idOption(streamId, "streamId");
    const lease = this.#mine.get(stream);
    this.#mine.delete(stream);
    await this.#handle.run(({ native }) => {
      const owned = lease === undefined ? removing(native, runOf(stream), true) : fenced(native, lease);
      return streamCalls.call(owned, "remove", { stream });
    });
    await lease?.release().catch(() => {});
  }

  withLease(lease: Lease): ForkpointResumableStreamStore {
    return new ForkpointResumableStreamStore(this.#handle.withLease(lease).asStore);
  }
}

const notFound = (stream: string) => new ForkpointError("NOT_FOUND", `stream ${quote(stream)} not found`);
