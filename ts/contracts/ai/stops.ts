/** Stops answers, wherever they are made. */

import { crypto } from "../../bridge/crypto.js";
import { isOwnError } from "../../bridge/errors.js";
import { hasEnded } from "../../bridge/holder.js";
import type { RunKey } from "../../bridge/native.js";
import type { StoreHandle } from "../../store/handle.js";
import { fenced, leaseOfRun } from "../../store/lease.js";
import { readRecord } from "../../store/options.js";
import { OwnRequest, pollMs } from "../../store/requests.js";
import type { StopOptions } from "../../store/stop.js";
import type { StopResult } from "../../store/results.js";
import { Sleeper } from "../../store/wake.js";
import type { Answers } from "./answers.js";
import type { ChatMessage, ChatStopResult } from "./contract.js";
import { stopOptions } from "./options.js";
import { readRow } from "./state.js";
import { headOf, isOver, noteOf, packNote, removeOrphan, runOf } from "./stream-store.js";
import type { Streams } from "./streams.js";
import { chatCalls, streamCalls } from "./wire.js";

/** How long a stop waits, in ms. A maker on another machine counts as dead after 10 s. */
const WAIT_MS = 15_000;

/** An answer, and its chat if it is known. */
interface Answer {
  chat: string | undefined;
  stream: string;
}

/** What became of an answer. */
interface Ending {
  outcome: StopResult["outcome"];
  holder: string | null;
  answer: ChatStopResult<ChatMessage>["answer"];
}

type Wish = Pick<StopOptions, "by" | "reason">;

export class Stops {
  readonly #handle: StoreHandle;
  readonly #streams: Streams;
  readonly #answers: Answers;

  constructor(handle: StoreHandle, streams: Streams, answers: Answers) {
    [this.#handle, this.#streams, this.#answers] = [handle, streams, answers];
  }

  async stop(id: string, options: unknown): Promise<ChatStopResult<ChatMessage>> {
    const { by, reason, waitMs = WAIT_MS, signal } = readRecord(options, "options", stopOptions);
    signal?.throwIfAborted();
    // Without the SDK, nothing is stopped that could not be saved.
    await this.#answers.sdk();
    const [found, isLeased] = [await this.#find(id), await this.#isLeased(id)];
    const wish: Wish = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
    const wait = { waitMs, ...(signal && { signal }) };
    const [scope, ending] = await Promise.all([
      isLeased ? this.#handle.stop(id, { ...wish, ...wait }) : undefined,
      found && this.#end(found, wish, wait),
    ]);
    const { outcome, holder, answer } = joined(scope, ending);
    if (found === undefined || answer === null) {
      return { outcome, holder, answer: null, streamId: found?.stream ?? null, message: null, saved: false };
    }
    const known = await this.#known(found);
    const { message, saved } = await this.#save(known, answer === "open");
    if (answer !== "open") await this.#handle.run(({ native }) => removeOrphan(native, known.stream, known.chat));
    return { outcome, holder, answer, streamId: found.stream, message, saved };
  }

  /** Returns the answer so far of a chat or a stream. */
  async partial(id: string): Promise<ChatMessage | null> {
    await this.#answers.sdk();
    const answer = await this.#find(id);
    return answer === undefined ? null : (await this.#save(answer, true)).message;
  }

  /** Saves an answer in its chat. `isOpen`: only reads it. */
  async #save({ chat, stream }: Answer, isOpen: boolean): Promise<{ message: ChatMessage | null; saved: boolean }> {
    const read = async () => {
      const message = await this.#handle.run((engine) => this.#answers.partial(engine, chat, stream));
      return { message, saved: false };
    };
    if (isOpen) return read();
    try {
      return await this.#handle.save((engine) => this.#answers.settle(engine, chat, stream));
    } catch (error) {
      // Another process works on the chat alone.
      if (isOwnError(error) && error.code === "CONFLICT" && error.lease !== undefined) return read();
      throw error;
    }
  }

  /** Finds the last answer of a chat, or the answer of a stream. */
  #find(id: string): Promise<Answer | undefined> {
    return this.#handle.run(async (engine) => {
      const row = await readRow(engine, id);
      if (row !== null) {
        // Not a stream with the same id: a browser chooses the id of its chat.
        const last = row.stream ?? row.answer?.stream;
        return last === undefined ? undefined : { chat: id, stream: last };
      }
      const head = await headOf(engine, id);
      return head === null ? undefined : { chat: head.chat, stream: id };
    });
  }

  /** Looks again for the chat of an answer. Its maker may have known it later. */
  async #known({ chat, stream }: Answer): Promise<Answer> {
    if (chat !== undefined) return { chat, stream };
    const head = await this.#handle.run((engine) => headOf(engine, stream));
    return { chat: head?.chat, stream };
  }

  /** Returns true if a living process works on the chat alone. */
  async #isLeased(id: string): Promise<boolean> {
    const of: RunKey = { space: chatCalls.name, run: id, ns: "" };
    const lease = await this.#handle.run(({ native }) => leaseOfRun(native, of));
    return lease !== null && lease.valid && !hasEnded(lease.holder);
  }

  /** Asks the maker of an answer to stop, and waits until it has. */
  async #end(
    answer: Answer,
    { by, reason }: Wish,
    { waitMs, signal }: { waitMs: number; signal?: AbortSignal },
  ): Promise<Ending> {
    const { stream } = answer;
    const of = runOf(stream);
    const until = performance.now() + waitMs;
    let [request, asked, holder]: [OwnRequest?, string?, string?] = [];
    const end = async (outcome: Ending["outcome"], state: Ending["answer"]): Promise<Ending> => {
      if (state !== "open") await request?.withdraw();
      return { outcome, holder: holder ?? null, answer: state };
    };
    try {
      for (;;) {
        const found = await this.#handle.run(async (engine) => {
          const lease = await leaseOfRun(engine.native, of);
          const head = await headOf(engine, stream);
          return { native: engine.native, lease, head, note: head === null ? {} : noteOf(head, engine) };
        });
        const { native, lease, head, note } = found;
        if (head === null) return end("not running", null);
        if (isOver(head)) {
          const state = note.interrupted ? "interrupted" : (head.state as "ended");
          return end(
            asked !== undefined && head.state === "stopped" && !note.interrupted ? "stopped" : "not running",
            state,
          );
        }
        if (lease === null || !lease.valid || hasEnded(lease.holder)) {
          holder ??= lease?.holder;
          if (await this.#replace(answer, { by, reason, at: Date.now() })) return end("not running", "interrupted");
        } else if (asked !== lease.id) {
          const wish = { what: "stop" as const, lease: lease.id, by: by ?? null, reason: reason ?? null };
          request?.end();
          try {
            request = await this.#handle.run(() => OwnRequest.store(native, of, crypto().randomUUID(), wish));
            [asked, holder] = [lease.id, lease.holder];
          } catch (error) {
            // A maker in this process has released or lost its lease in between.
            if (!isOwnError(error) || error.code !== "CONFLICT") throw error;
          }
        }
        const left = until - performance.now();
        if (left <= 0) return end("no answer", "open");
        const sleeper = new Sleeper(native, of);
        await sleeper.sleep(Math.min(pollMs(native), left), signal).finally(() => sleeper.end());
      }
    } finally {
      // A request that is not withdrawn stays until it expires.
      request?.end();
    }
  }

  /** Ends the stream in place of its dead maker. False: its maker has ended it, or another process ends it now. */
  async #replace({ chat, stream }: Answer, stop: { by?: string | undefined; reason?: string | undefined; at: number }) {
    const lease = await this.#streams.take(stream);
    if (lease === undefined) return false;
    try {
      return await this.#handle.save(async (engine) => {
        const found = await headOf(engine, stream);
        if (found === null || isOver(found)) return false;
        // First the chat has the answer, then the stream has ended.
        await this.#answers.settle(engine, chat, stream);
        const head = { state: "stopped" as const, chat: found.chat ?? chat };
        const { name: note, bytes } = packNote({ stop, interrupted: true }, engine.format);
        const fields = { stream, chunks: undefined, head, note, savedAt: Date.now() };
        await streamCalls.call(fenced(engine.native, lease), "append", fields, [bytes]);
        return true;
      });
    } finally {
      await lease.release().catch(() => {});
    }
  }
}

/** Joins the ends of a function that worked on the chat alone, and of an answer. */
function joined(scope: StopResult | undefined, ending: Ending | undefined): Ending {
  const outcomes = new Set([scope?.outcome, ending?.outcome]);
  const outcome = (["no answer", "stopped"] as const).find((each) => outcomes.has(each)) ?? "not running";
  return { outcome, holder: ending?.holder ?? scope?.holder ?? null, answer: ending?.answer ?? null };
}
