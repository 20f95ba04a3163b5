/** The messages of answers that did not come to their end. */

import { copyOf } from "../../bridge/serializer.js";
import type { Engine } from "../../store/engine.js";
import type { ChatMessage } from "./contract.js";
import { finished, furtherOf } from "./finished.js";
import { wasStopped } from "./maker.js";
import { Snapshot } from "./messages.js";
import { type AiModule, type Chunk, chunksOf, installedSdk, messageOf, startOf } from "./sdk.js";
import type { Chats, Known } from "./state.js";
import { storedText } from "./stream-store.js";

/** A saved answer. */
export interface Settled {
  /** Null: there is no usable part. */
  message: ChatMessage | null;
  /** True if the chat has the message. */
  saved: boolean;
}

/** An answer in its chat. */
interface Found {
  message: ChatMessage | null;
  /** True if the chat has an answer with this id. */
  isThere: boolean;
  /** The messages of the chat with the answer. Undefined: the chat has gone on, or the answer is not of this chat. */
  messages: ChatMessage[] | undefined;
}

export class Answers {
  readonly #chats: Chats;
  readonly #sdk: AiModule | undefined;

  constructor(chats: Chats, sdk: AiModule | undefined) {
    this.#chats = chats;
    this.#sdk = sdk;
  }

  /** The SDK. Throws `UNSUPPORTED` if it is not installed. */
  async sdk(): Promise<AiModule> {
    return this.#sdk ?? installedSdk();
  }

  /** Returns the answer so far. Changes nothing. */
  async partial(engine: Engine, chat: string | undefined, stream: string): Promise<ChatMessage | null> {
    const sdk = await this.sdk();
    const chunks = chunksOf(await storedText(engine, stream));
    const known = chat === undefined ? undefined : await this.#chats.read(engine, chat);
    const { message } = await answerIn(sdk, chunks, stream, known);
    return message && copyOf(message, "the message");
  }

  /**
   * Saves an answer that is not made any more at the end of its chat, once, and marks it as no longer active. Does not
   * change the messages if the chat has gone on, or if the app has saved a complete answer.
   */
  async settle(engine: Engine, chat: string | undefined, stream: string): Promise<Settled> {
    const sdk = await this.sdk();
    const chunks = chunksOf(await storedText(engine, stream));
    if (chat === undefined) return { message: (await answerIn(sdk, chunks, stream, undefined)).message, saved: false };
    let result: Settled = { message: null, saved: false };
    await this.#chats.change(engine, chat, async (known) => {
      const { message, isThere, messages } = await answerIn(sdk, chunks, stream, known);
      result = { message: message && copyOf(message, "the message"), saved: isThere && message !== null };
      const isActive = known.row?.stream === stream;
      // The app has saved the answer, and may have chosen to leave it out. After a stop, it saves open parts.
      if (!isActive && !(await wasStopped(engine, stream))) return undefined;
      if (messages === undefined) return isActive ? { endedStream: stream } : undefined;
      result = { message: result.message, saved: message !== null };
      const snapshot = new Snapshot(messages, known.version.messages, engine.format);
      return { snapshot, endedStream: stream, settles: true };
    });
    return result;
  }
}

/** Finds an answer in its chat, and adds what its stream has. */
async function answerIn(
  sdk: AiModule,
  chunks: readonly Chunk[],
  stream: string,
  known: Known | undefined,
): Promise<Found> {
  const row = known?.row;
  const messages = (known?.version.messages ?? []) as readonly ChatMessage[];
  const begun = row?.answer?.stream === stream ? row.answer : undefined;
  const [started, last] = [startOf(chunks), begun?.last];
  const id = started ?? last?.id ?? stream;
  // Without an id from the app, the SDK's messages have an empty one.
  const isIt = (message: ChatMessage) =>
    message.role === "assistant" && (message.id === id || (started === undefined && message.id === ""));
  const there = messages.findLast(isIt);
  const isLast = there !== undefined && there === messages.at(-1);
  const made = async (base: ChatMessage | undefined) => {
    const message = await messageOf(sdk, chunks, base);
    return message && finished(message.id === "" ? { ...message, id: id === "" ? stream : id } : message);
  };
  if (begun === undefined || (begun.from !== row!.version && !isLast)) {
    // Another turn has begun since, or the chat is not known.
    const message = there === undefined ? await made(undefined) : finished(there);
    return { message, isThere: there !== undefined, messages: undefined };
  }
  const own = isLast ? there : undefined;
  const base =
    own !== undefined && own.id === last?.id
      ? copyOf({ ...own, parts: own.parts.slice(0, last.parts) }, "the message")
      : undefined;
  // The stored message may be further than the stream: the app saves a step before its end is in the stream.
  const message = furtherOf(own ? finished(own) : null, await made(base));
  const before = own ? messages.slice(0, -1) : messages;
  return { message, isThere: own !== undefined, messages: message ? [...before, message] : [...before] };
}
