/** Resumable streams: the text of an answer is stored during its making, and any process can read it. */

import { currentScope } from "../../bridge/scope.js";
import { ForkpointError, isForkpointError, quote, show, typeError } from "../../bridge/errors.js";
import type { NativeStore } from "../../bridge/native.js";
import type { Engine } from "../../store/engine.js";
import type { StoreHandle } from "../../store/handle.js";
import { type HeldLease, fenced } from "../../store/lease.js";
import { callback, readRecord } from "../../store/options.js";
import { batches } from "../../store/page.js";
import { Expiry } from "../shared/expiry.js";
import { Maker, type Settle } from "./maker.js";
import { readerOf } from "./stream-reader.js";
import { hasMaker, headOf, isOver, runOf } from "./stream-store.js";
import { streamCalls } from "./wire.js";

export interface ResumableStreamOptions {
  /** Gets a promise that settles when the stream is stored. Pass a platform's function that keeps a process alive. */
  waitUntil?: (promise: Promise<unknown>) => unknown;
}

/** How long the text of a stream is kept, in ms. */
const KEPT = 24 * 3_600_000;

const streamOptions = {
  waitUntil: (value: unknown, name: string) => callback<(promise: Promise<unknown>) => unknown>(value, name),
};

export class Streams {
  readonly #handle: StoreHandle;
  readonly #ttlMs: number;
  readonly #settle: Settle;
  readonly #chatOf: (stream: string) => string | undefined;
  #expiry = new Expiry();

  constructor(handle: StoreHandle, makerTtlMs: number, settle: Settle, chatOf: (stream: string) => string | undefined) {
    this.#handle = handle;
    this.#ttlMs = makerTtlMs;
    [this.#settle, this.#chatOf] = [settle, chatOf];
  }

  /** Returns the same streams over another handle of the store. */
  through(handle: StoreHandle): Streams {
    const streams = new Streams(handle, this.#ttlMs, this.#settle, this.#chatOf);
    streams.#expiry = this.#expiry;
    return streams;
  }

  async create(stream: string, make: unknown, options: unknown): Promise<ReadableStream<string>> {
    const makeStream = callback<(given: Maker["given"]) => unknown>(make, "makeStream");
    const { waitUntil } = readRecord(options, "options", streamOptions);
    const lease = await this.take(stream);
    if (lease === undefined) {
      const message = `stream ${quote(stream)} already exists, and is made now: use a new id for each stream`;
      throw new ForkpointError("CONFLICT", message);
    }
    let native: NativeStore;
    try {
      native = await this.#handle.run(async (engine) => {
        await streamCalls.call(fenced(engine.native, lease), "begin", { stream, savedAt: Date.now() });
        return engine.native;
      });
    } catch (error) {
      await lease.release().catch(() => {});
      throw error;
    }
    const [handle, ttlMs, settle] = [this.#handle, this.#ttlMs, this.#settle];
    const chatOf = () => this.#chatOf(stream);
    const making = {
      handle,
      native,
      stream,
      lease,
      ttlMs,
      settle,
      chatOf,
      scope: currentScope(),
    };
    const maker = new Maker(making);
    let source: unknown;
    try {
      source = await makeStream(maker.given);
      if (!(source instanceof ReadableStream)) {
        throw typeError(`makeStream must return a ReadableStream of strings, but has returned ${show(source)}`);
      }
    } catch (error) {
      await maker.end({ error });
      throw error;
    }
    const made = maker.run(source as ReadableStream<string>);
    this.#sweep();
    waitUntil?.(made);
    return maker.reader;
  }

  /** Takes the right to make a stream, or to end it in place of a dead maker. Undefined: another process has it. */
  async take(stream: string): Promise<HeldLease | undefined> {
    try {
      return await this.#handle.leaseOf(runOf(stream), { ttlMs: this.#ttlMs });
    } catch (error) {
      if (!isForkpointError(error) || error.code !== "CONFLICT") throw error;
      return undefined;
    }
  }

  /** Undefined: there is no such stream. Null: it has ended, or was stopped. */
  async resume(stream: string, skip: number): Promise<ReadableStream<string> | null | undefined> {
    this.#sweep();
    const head = await this.#handle.run((engine) => headOf(engine, stream));
    if (head === null) return undefined;
    return isOver(head) && head.state !== "failed" ? null : readerOf(this.#handle, stream, skip);
  }

  async has(stream: string): Promise<null | true | "DONE"> {
    this.#sweep();
    return this.#handle.run(async (engine) => {
      const isMade = await hasMaker(engine, stream);
      const head = await headOf(engine, stream);
      if (head === null) return null;
      return isOver(head) || !isMade ? "DONE" : true;
    });
  }

  /** Removes the text of streams that ended long ago, in the background. */
  #sweep(): void {
    const sweep = (engine: Engine) => removeOld(engine, Date.now() - KEPT);
    this.#expiry.sweepIfDue(this.#handle, { what: "old streams", ttlMs: KEPT, sweep });
  }
}

/** Removes the streams that ended before a time. A stream without a living maker ended when it began. */
export async function removeOld(engine: Engine, before: number): Promise<void> {
  const read = (after: number | undefined, limit: number) =>
    streamCalls.call(engine.native, "streams", { before: after, limit });
  for await (const streams of batches(read)) {
    for (const { stream, savedAt, state } of streams) {
      if (savedAt >= before || (!isOver({ state }) && (await hasMaker(engine, stream)))) continue;
      await streamCalls.call(engine.native, "remove", { stream });
    }
  }
}
