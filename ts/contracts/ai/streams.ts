/** Resumable streams: the text of an answer is stored during its making, and any process can read it. */

import { ForkpointError, isForkpointError, quote, show, typeError } from "../../bridge/errors.js";
import { whole } from "../../bridge/bytes.js";
import { deserializeValue } from "../../bridge/serializer.js";
import { warn } from "../../bridge/warnings.js";
import type { Engine } from "../../store/engine.js";
import type { StoreHandle } from "../../store/handle.js";
import { hasEnded } from "../../bridge/holder.js";
import { type HeldLease, fenced, holdersOf } from "../../store/lease.js";
import { callback, readRecord } from "../../store/options.js";
import { batches } from "../../store/page.js";
import { Expiry } from "../shared/expiry.js";
import { packRecords } from "../shared/records.js";
import { streamCalls } from "./wire.js";

export interface ResumableStreamOptions {
  /** Gets a promise that settles when the stream is stored. Pass a platform's function that keeps a process alive. */
  waitUntil?: (promise: Promise<unknown>) => unknown;
}

/** Text is stored after this time in ms, or at this number of characters. */
const [GATHERED_MS, GATHERED] = [50, 8_192];
/** The pause between two reads of a stream without new text, in ms. */
const PAUSE = 50;
/** How often a reader without new text checks whether the maker is alive, in ms. */
const LOOK = 500;
/** The number of records in a read. */
const PAGE = 256;
/** How long the text of a stream is kept, in ms. */
const KEPT = 24 * 3_600_000;

const streamOptions = {
  waitUntil: (value: unknown, name: string) => callback<(promise: Promise<unknown>) => unknown>(value, name),
};

export class Streams {
  readonly #handle: StoreHandle;
  readonly #ttlMs: number;
  #expiry = new Expiry();

  constructor(handle: StoreHandle, makerTtlMs: number) {
    this.#handle = handle;
    this.#ttlMs = makerTtlMs;
  }

  /** Returns the same streams over another handle of the store. */
  through(handle: StoreHandle): Streams {
    const streams = new Streams(handle, this.#ttlMs);
    streams.#expiry = this.#expiry;
    return streams;
  }

  async create(stream: string, make: unknown, options: unknown): Promise<ReadableStream<string>> {
    const makeStream = callback<() => unknown>(make, "makeStream");
    const { waitUntil } = readRecord(options, "options", streamOptions);
    const lease = await this.#take(stream);
    let source: unknown;
    try {
      await this.#handle.run(({ native }) =>
        streamCalls.call(fenced(native, lease), "begin", { stream, savedAt: Date.now() }),
      );
      source = await makeStream();
      if (!(source instanceof ReadableStream)) {
        throw typeError(`makeStream must return a ReadableStream of strings, but has returned ${show(source)}`);
      }
    } catch (error) {
      await lease.release().catch(() => {});
      throw error;
    }
    const maker = new Maker(this.#handle, stream, lease, this.#ttlMs);
    const made = maker.run(source as ReadableStream<string>);
    this.#sweep();
    waitUntil?.(made);
    return maker.reader;
  }

  async #take(stream: string): Promise<HeldLease> {
    try {
      return await this.#handle.leaseOf({ space: streamCalls.name, run: stream, ns: "" }, { ttlMs: this.#ttlMs });
    } catch (error) {
      if (!isForkpointError(error) || error.code !== "CONFLICT") throw error;
      const message = `stream ${quote(stream)} already exists, and is made now: use a new id for each stream`;
      throw new ForkpointError("CONFLICT", message);
    }
  }

  /** Undefined: there is no such stream. Null: it has ended. */
  async resume(stream: string, skip: number): Promise<ReadableStream<string> | null | undefined> {
    this.#sweep();
    const found = await this.#handle.run((engine) => read(engine, stream, 0, 1));
    if (found === null) return undefined;
    return found.ended ? null : readerOf(this.#handle, stream, skip);
  }

  async has(stream: string): Promise<null | true | "DONE"> {
    this.#sweep();
    return this.#handle.run(async (engine) => {
      const isMade = await hasMaker(engine, stream);
      const found = await read(engine, stream, 0, 1);
      if (found === null) return null;
      return found.ended || !isMade ? "DONE" : true;
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
    for (const { stream, savedAt, ended } of streams) {
      if (savedAt >= before || (!ended && (await hasMaker(engine, stream)))) continue;
      await streamCalls.call(engine.native, "remove", { stream });
    }
  }
}

/** Returns true if a living process holds the lease of a stream. */
async function hasMaker({ native }: Engine, stream: string): Promise<boolean> {
  const [lease] = await holdersOf(native, streamCalls.name, [stream]);
  return lease != null && !hasEnded(lease.holder);
}

async function read(
  engine: Engine,
  stream: string,
  skip: number,
  limit: number,
): Promise<{ ended: boolean; texts: string[] } | null> {
  const fields = { stream, skip, limit };
  return streamCalls.find(engine.native, "read", fields, ({ ended, chunks }, part) => ({
    ended,
    texts: chunks.map((chunk) => {
      const { tag, bytes } = part(chunk);
      return String(deserializeValue(engine.format, tag, bytes, "a chunk of a stream"));
    }),
  }));
}

/** Reads a stream of any process. Ends when the stream ends, or when its maker has disappeared. */
function readerOf(handle: StoreHandle, stream: string, skip: number): ReadableStream<string> {
  let [at, left, looked, isMade, hasLeft] = [0, skip, 0, true, false];
  /** Reads new text. Undefined: the stream has ended. */
  const next = () =>
    handle.run(async (engine) => {
      if (performance.now() - looked >= LOOK) {
        isMade = await hasMaker(engine, stream);
        looked = performance.now();
      }
      const found = await read(engine, stream, at, PAGE);
      at += found?.texts.length ?? 0;
      const isOver = found === null || (found.texts.length === 0 && (found.ended || !isMade));
      return isOver ? undefined : found.texts.join("");
    });
  return new ReadableStream<string>({
    cancel: () => {
      hasLeft = true;
    },
    async pull(controller) {
      for (let text = await next(); ; text = await next()) {
        if (hasLeft) return;
        if (text === undefined) return controller.close();
        const fresh = text.slice(left);
        left = Math.max(0, left - text.length);
        if (fresh !== "") return controller.enqueue(fresh);
        if (hasLeft) return;
        if (text === "") await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    },
  });
}

/** Reads a source to its end, passes it to its first reader, and stores it. */
class Maker {
  readonly reader: ReadableStream<string>;
  readonly #handle: StoreHandle;
  readonly #stream: string;
  readonly #lease: HeldLease;
  readonly #ttlMs: number;
  #controller: ReadableStreamDefaultController<string> | undefined;
  /** The text that is not yet stored. */
  #text = "";
  #timer: NodeJS.Timeout | undefined;
  #stored: Promise<void> = Promise.resolve();
  /** True if the text can no longer be stored. The first reader still gets it. */
  #isLost = false;

  constructor(handle: StoreHandle, stream: string, lease: HeldLease, ttlMs: number) {
    this.#handle = handle;
    this.#ttlMs = ttlMs;
    this.#stream = stream;
    this.#lease = lease;
    this.reader = new ReadableStream<string>({
      start: (controller) => {
        this.#controller = controller;
      },
      // The reader has left. Continue to read the source.
      cancel: () => {
        this.#controller = undefined;
      },
    });
  }

  async run(source: ReadableStream<string>): Promise<void> {
    try {
      for await (const chunk of source) {
        if (typeof chunk !== "string") throw typeError(`a stream must consist of strings, but has ${show(chunk)}`);
        this.#controller?.enqueue(chunk);
        this.#gather(chunk);
      }
      await this.#end();
      this.#controller?.close();
    } catch (error) {
      await this.#end();
      this.#controller?.error(error);
    }
  }

  #gather(chunk: string): void {
    this.#text += chunk;
    if (this.#text.length >= GATHERED) this.#store(false);
    else this.#timer ??= setTimeout(() => this.#store(false), GATHERED_MS);
  }

  async #end(): Promise<void> {
    this.#store(true);
    await this.#stored;
    await this.#lease.release().catch(() => {});
  }

  #store(ended: boolean): void {
    clearTimeout(this.#timer);
    [this.#timer] = [undefined];
    const text = this.#text;
    this.#text = "";
    this.#stored = this.#stored.then(() => this.#append(text, ended)).catch((error: unknown) => this.#lose(error));
  }

  /** Retries while the store is busy or unavailable, for as long as a maker may be silent. */
  async #append(text: string, ended: boolean): Promise<void> {
    for (const until = performance.now() + this.#ttlMs; !this.#isLost;) {
      try {
        return await this.#appendOnce(text, ended);
      } catch (error) {
        const mayRepeat = isForkpointError(error) && error.retryable && !isUncertain(error);
        if (!mayRepeat || performance.now() > until) throw error;
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    }
  }

  async #appendOnce(text: string, ended: boolean): Promise<void> {
    await this.#handle.save(async ({ native, format }) => {
      const serialized = format.serialize(text, "a chunk of a stream");
      const packed = text === "" ? undefined : packRecords([{ ...serialized, bytes: whole(serialized.bytes) }]);
      const fields = { stream: this.#stream, chunks: packed?.records, ended, savedAt: Date.now() };
      await streamCalls.call(fenced(native, this.#lease), "append", fields, packed && [packed.bytes]);
    });
  }

  #lose(error: unknown): void {
    this.#isLost = true;
    // A closed store was closed on purpose.
    if (isForkpointError(error) && error.code === "CLOSED") return;
    const target = this.#handle.identity;
    const message = "the text of a stream could not be stored, so another reader does not get it whole";
    warn("FORKPOINT_STREAM_NOT_STORED", message, typeof target === "string" ? target : "memory:", error);
  }
}

/** Returns true if it is unknown whether the call was applied. */
const isUncertain = (error: object): boolean => (error as { outcome?: unknown }).outcome === "unknown";
