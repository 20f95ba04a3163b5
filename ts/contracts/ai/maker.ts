/** Makes a stream: reads a source to its end, passes it to its first reader, and stores it. */

import { isForkpointError, show, typeError } from "../../bridge/errors.js";
import { whole } from "../../bridge/bytes.js";
import type { NativeStore } from "../../bridge/native.js";
import { RunMap } from "../../bridge/run-map.js";
import type { Scope } from "../../bridge/scope.js";
import { warn } from "../../bridge/warnings.js";
import type { Engine } from "../../store/engine.js";
import type { StoreHandle } from "../../store/handle.js";
import { HeldLease, fenced } from "../../store/lease.js";
import { packRecords } from "../shared/records.js";
import {
  type FoundHead,
  type Note,
  PAUSE,
  failureOf,
  headOf,
  isOver,
  packNote,
  removeOrphan,
  runOf,
} from "./stream-store.js";
import { streamCalls } from "./wire.js";

/** Text is stored after this time in ms, or at this number of characters. */
const [GATHERED_MS, GATHERED] = [50, 8_192];
/** How long a source may end by itself after its signal has aborted, in ms. */
const GRACE_MS = 2_000;

/** The makers of this process. */
const makers = new RunMap<Maker>();

/** Returns true if a stream was stopped, or is stopped now. */
export async function wasStopped(engine: Engine, stream: string): Promise<boolean> {
  if (makers.get(engine.native, runOf(stream))?.isStopped === true) return true;
  return (await headOf(engine, stream))?.state === "stopped";
}

/** Saves a stopped answer in its chat, if the chat is known. */
export type Settle = (engine: Engine, chat: string | undefined, stream: string) => Promise<unknown>;

/** What a maker needs to know of its stream. */
export interface Making {
  handle: StoreHandle;
  native: NativeStore;
  stream: string;
  lease: HeldLease;
  /** The scope of the function that makes the answer and works on its chat alone. It ends after the answer. */
  scope: Scope | undefined;
  /** Returns the chat of the stream, if it is known. */
  chatOf: () => string | undefined;
  /** How long the store may be busy, in ms. */
  ttlMs: number;
  settle: Settle;
}

interface End extends Pick<FoundHead, "state"> {
  note?: Note;
}

export class Maker {
  readonly reader: ReadableStream<string>;
  /** What the function that makes the source gets. */
  readonly given: { readonly signal: AbortSignal };
  readonly #making: Making;
  /** The chat that is stored with the stream. */
  #chat: string | undefined;
  #controller: ReadableStreamDefaultController<string> | undefined;
  #source: ReadableStreamDefaultReader<string> | undefined;
  readonly #signal = new AbortController();
  /** True if the source may end by itself when the signal aborts. */
  #isTaken = false;
  /** The request to stop. */
  #stop: Note["stop"];
  /** The text that is not yet stored. */
  #text = "";
  #timer: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  #stored: Promise<void> = Promise.resolve();
  /** True if a stop has no effect any more. */
  #isOver = false;
  /** True if the text can no longer be stored. The first reader still gets it. */
  #isLost = false;

  constructor(making: Making) {
    this.#making = making;
    const take = () => {
      this.#isTaken = true;
      return this.#signal.signal;
    };
    this.given = {
      get signal() {
        return take();
      },
    };
    this.reader = new ReadableStream<string>({
      start: (controller) => {
        this.#controller = controller;
      },
      // The reader has left. Continue to read the source.
      cancel: () => {
        this.#controller = undefined;
      },
    });
    const { native, stream, lease, scope } = making;
    const outer = scope?.fence;
    scope?.activity.begin();
    makers.set(native, runOf(stream), this);
    for (const each of HeldLease.is(outer) ? [lease, outer] : [lease]) {
      const abort = () => void this.#aborted(each);
      if (each.signal.aborted) abort();
      else each.signal.addEventListener("abort", abort, { once: true });
    }
  }

  /** True if somebody has stopped the answer. */
  get isStopped(): boolean {
    return this.#stop !== undefined;
  }

  async run(source: ReadableStream<string>): Promise<void> {
    let failed: { error: unknown } | undefined;
    try {
      this.#source = source.getReader();
      if (this.#stop) this.#cancelLater();
      // A reader of the stream finds its chat, also before there is any text.
      this.#store();
      for (let next = await this.#source.read(); !next.done; next = await this.#source.read()) {
        const chunk: unknown = next.value;
        if (typeof chunk !== "string") throw typeError(`a stream must consist of strings, but has ${show(chunk)}`);
        this.#controller?.enqueue(chunk);
        this.#gather(chunk);
      }
    } catch (error) {
      failed = { error };
      this.#source?.cancel(error).catch(() => {});
    }
    const isStopped = await this.end(failed);
    if (failed && !isStopped) this.#controller?.error(failed.error);
    else this.#controller?.close();
  }

  /** Stores the rest of the text and the end. Returns true if the answer was stopped. */
  async end(failed?: { error: unknown }): Promise<boolean> {
    clearTimeout(this.#grace);
    this.#store();
    await this.#stored;
    const stop = this.#stop;
    this.#isOver = true;
    if (stop) {
      // First the chat has the answer, then the stream has ended. If this fails, the caller of stop() saves it.
      const { handle, settle, stream } = this.#making;
      await handle.save((engine) => settle(engine, this.#making.chatOf(), stream)).catch(() => {});
      this.#store({ state: "stopped", note: { stop } });
    } else if (failed) this.#store({ state: "failed", note: { failure: failureOf(failed.error) } });
    else this.#store({ state: "ended" });
    await this.#stored;
    // The caller of stop() reads the text first.
    if (!stop) await this.#removeOrphan();
    await this.#leave();
    return stop !== undefined;
  }

  /** Removes the stream if its chat was deleted while it was made. */
  async #removeOrphan(): Promise<void> {
    const { handle, lease, stream } = this.#making;
    const work = handle.save(({ native }) => removeOrphan(fenced(native, lease), stream, this.#chat));
    await work.catch((error: unknown) => this.#lose(error));
  }

  async #leave(): Promise<void> {
    const { native, lease, scope, stream } = this.#making;
    await lease.release().catch(() => {});
    makers.delete(native, runOf(stream), this);
    scope?.activity.end();
  }

  /** Called when somebody stops the answer, or when a lease is lost. */
  async #aborted(aborted: HeldLease): Promise<void> {
    const { handle, lease, stream } = this.#making;
    if (aborted.stop !== undefined && !aborted.lost) {
      const { by, reason, savedAt: at } = aborted.stop;
      return this.#halt({ by: by ?? undefined, reason: reason ?? undefined, at });
    }
    // Without its lease, the chat does not take the answer any more.
    if (aborted !== lease) return this.#halt({ at: Date.now() });
    const head = await handle.run((engine) => headOf(engine, stream)).catch(() => null);
    if (head === null || !isOver(head)) return;
    // This process slept for long, and another one has ended the stream.
    this.#isLost = true;
    this.#halt({ at: Date.now() });
  }

  #halt(stop: NonNullable<Note["stop"]>): void {
    if (this.#stop || this.#isOver) return;
    this.#stop = stop;
    // The SDK sends the message to the browser, so the caller's reason is not in it.
    this.#signal.abort(new DOMException("the answer was stopped", "AbortError"));
    this.#cancelLater();
  }

  /** A source that has the signal may end by itself: the app then saves before the stream ends. */
  #cancelLater(): void {
    const cancel = () => void this.#source?.cancel(this.#signal.signal.reason).catch(() => {});
    if (this.#isTaken) this.#grace ??= setTimeout(cancel, GRACE_MS);
    else cancel();
  }

  #gather(chunk: string): void {
    this.#text += chunk;
    if (this.#text.length >= GATHERED) this.#store();
    else this.#timer ??= setTimeout(() => this.#store(), GATHERED_MS);
  }

  #store(end?: End): void {
    clearTimeout(this.#timer);
    [this.#timer] = [undefined];
    const text = this.#text;
    this.#text = "";
    if (text === "" && end === undefined && this.#chat === this.#making.chatOf()) return;
    this.#stored = this.#stored.then(() => this.#append(text, end)).catch((error: unknown) => this.#lose(error));
  }

  /** Retries while the store is busy or unavailable, for as long as a maker may be silent. */
  async #append(text: string, end: End | undefined): Promise<void> {
    for (const until = performance.now() + this.#making.ttlMs; !this.#isLost;) {
      try {
        return await this.#appendOnce(text, end);
      } catch (error) {
        const mayRepeat = isForkpointError(error) && error.retryable && !isUncertain(error);
        if (!mayRepeat || performance.now() > until) throw error;
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    }
  }

  async #appendOnce(text: string, end: End | undefined): Promise<void> {
    const { handle, lease, stream, chatOf } = this.#making;
    await handle.save(async ({ native, format }) => {
      const serialized = format.serialize(text, "a chunk of a stream");
      const packed = text === "" ? undefined : packRecords([{ ...serialized, bytes: whole(serialized.bytes) }]);
      const note = end?.note && packNote(end.note, format);
      const chat = chatOf();
      const state = end?.state ?? "open";
      const head = end !== undefined || chat !== this.#chat ? { state, chat } : undefined;
      const fields = { stream, chunks: packed?.records, head, note: note?.name, savedAt: Date.now() };
      const buffers = [packed?.bytes, note?.bytes].filter((bytes) => bytes !== undefined);
      await streamCalls.call(fenced(native, lease), "append", fields, buffers);
      this.#chat = chat;
    });
  }

  #lose(error: unknown): void {
    this.#isLost = true;
    // A closed store was closed on purpose.
    if (isForkpointError(error) && error.code === "CLOSED") return;
    const target = this.#making.handle.identity;
    const message = "the text of a stream could not be stored, so another reader does not get it whole";
    warn("FORKPOINT_STREAM_NOT_STORED", message, typeof target === "string" ? target : "memory:", error);
  }
}

/** Returns true if it is unknown whether the call was applied. */
const isUncertain = (error: object): boolean => (error as { outcome?: unknown }).outcome === "unknown";
