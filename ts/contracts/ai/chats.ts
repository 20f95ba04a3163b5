/** `ForkpointChats`, the chats of the AI SDK. */

import { ForkpointError, isOvertaken, quote, typeError } from "../../bridge/errors.js";
import type { Exact } from "../../bridge/wire.js";
import { ContractStore } from "../../store/contract-store.js";
import { StoreHandle } from "../../store/handle.js";
import type { StoreContract } from "../../store/host.js";
import { nonEmpty } from "../../store/ids.js";
import type { Lease } from "../../store/lease.js";
import { type StoreOptions, readRecord, splitOptions } from "../../store/options.js";
import { type DeleteOptions, forced, removing } from "../../store/removing.js";
import type { StopOptions } from "../../store/stop.js";
import type { Store } from "../../store/store.js";
import { isWaiting } from "../shared/waiting.js";
import { SessionRetention } from "../shared/session-retention.js";
import { releaseApproval, sentIn, takeApprovals } from "./approvals.js";
import type {
  Approval,
  Chat,
  ChatInfo,
  ChatMessage,
  ChatMetadata,
  ChatPruneOptions,
  ChatVersion,
  ChatStopResult,
  SavedChat,
} from "./contract.js";
import { allChats, chatCursor, infoOf, listChats, noVersion, versionCursor, versionsOf } from "./listing.js";
import { Snapshot } from "./messages.js";
import { filterOption, metadataOf } from "./metadata.js";
import {
  type ForkpointChatsOptions,
  characters,
  createFields,
  idOption,
  limit,
  ownOptions,
  saveFields,
  version,
} from "./options.js";
import type { AiModule } from "./sdk.js";
import { Chats, newId, revisionAfter, readChat, readRow, rowFields } from "./state.js";
import type { Settle } from "./maker.js";
import type { Stops } from "./stops.js";
import { removeChat } from "./stream-store.js";
import { type ResumableStreamOptions, Streams } from "./streams.js";
import { type Listed, chatCalls } from "./wire.js";

const later = (): typeof import("./later.js") => require("./later.js");

const contract: StoreContract = {
  name: chatCalls.name,
  get undo() {
    return later().undo;
  },
};

const MAKER_TTL = 10_000;

const leaseOf = (chat: string) => ({ space: chatCalls.name, run: chat, ns: "" });

/**
 * The chats of the AI SDK, in a database: the four functions on the SDK's pages about chats, and versions. Each save of
 * messages makes a version, so that no branch and no tool call is lost.
 *
 * - A save is one transaction, and stores only new data. A resolved save is durable.
 * - Several processes can save one chat. The last save wins, and all versions stay.
 * - Reads return fresh objects. Nothing is validated: see the SDK's `validateUIMessages`.
 * - Ids are not secret. Check that a chat belongs to the user, for example by `metadata.userId`.
 *
 * All methods give the error codes `CLOSED`, `BUSY`, `FULL`, `UNAVAILABLE` and `CORRUPT` where they apply, and a TypeError or a
 * RangeError for a wrong argument.
 *
 * @example
 * ```ts
 * const chats = new ForkpointChats("agent.db");
 * await chats.saveChat({ chatId, messages });
 * ```
 */
export class ForkpointChats<MESSAGE extends ChatMessage = ChatMessage> extends ContractStore {
  readonly #handle: StoreHandle;
  #retention: SessionRetention<Listed>;
  #streams: Streams;
  #chats: Chats;
  readonly #ai: AiModule | undefined;

  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"postgres://<user>@<host>/<database>"`,
   *   `"jsonl:<folder>"`, `"memory:"`, or a store from `openStore`.
   * @param options `keepVersions`, `ttlMs`, `waitingTtlMs`, `makerTtlMs` and `ai`, and the options of `openStore`. An
   *   open store takes neither `ttlMs` nor `waitingTtlMs`.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: ForkpointChatsOptions) {
    const { own, others } = splitOptions(options, ownOptions);
    const handle = StoreHandle.of(target, others as StoreOptions | undefined, contract);
    super(handle);
    this.#handle = handle;
    this.#chats = new Chats(own.keepVersions ?? undefined, handle.seen);
    this.#ai = own.ai;
    const settle: Settle = (...answer) => new (later().Answers)(this.#chats, this.#ai).settle(...answer);
    this.#streams = new Streams(handle, own.makerTtlMs ?? MAKER_TTL, settle, (stream) => this.#chats.chatOf(stream));
    this.#retention = SessionRetention.of<Listed>(handle, own, {
      list: allChats,
      changedAt: ({ revision }) => revision.updatedAt,
      // Chats have no rules about numbers, and are listed in this order.
      savedAs: () => 0,
      groupOf: () => "",
      runOf: ({ chat }) => leaseOf(chat),
      waits: ({ native }, { chat }) => isWaiting(native, leaseOf(chat)),
      remove: (native, { chat, revision }) => removeChat(native, chat, revision),
    });
  }

  /**
   * Makes an empty chat and returns its id. Not required: `saveChat` makes a chat with the browser's id.
   * @throws ForkpointError `CONFLICT` if there is a chat with this id.
   * @example const id = await chats.createChat({ metadata: { userId: "u-7" } });
   */
  createChat(options?: { id?: string; metadata?: ChatMetadata | null }): Promise<string> {
    return this.#handle.save(async (engine) => {
      const { id = newId(), metadata = null } = readRecord(options, "options", createFields);
      const row = {
        chat: id,
        version: 0,
        stream: null,
        answer: undefined,
        revision: revisionAfter(undefined),
        metadata: metadataOf(metadata, engine.format),
      };
      const { fields, buffers } = rowFields(row, undefined);
      return this.#chats.turns.alone(id, async () => {
        try {
          const call = { row: fields, version: undefined, keep: undefined };
          const learn = (begun: Exact | null) => this.#chats.looked(id, { incarnation: begun ?? undefined });
          await chatCalls.call(engine.native, "save", call, buffers, learn);
        } catch (error) {
          throw isOvertaken(error) ? alreadyExists(id) : error;
        }
        return id;
      });
    });
  }

  /**
   * Returns the messages of a chat, or of one of its versions. An unknown chat has none.
   * @throws ForkpointError `NOT_FOUND` for an unknown version.
   * @example const messages = [...(await chats.loadChat(id)), message];
   */
  loadChat(id: string, options?: { version?: number }): Promise<MESSAGE[]> {
    return this.#handle.run((engine) => {
      const chat = idOption(id, "id");
      const { version: number } = readRecord(options, "options", { version });
      return this.#chats.turns.shared(chat, async () => {
        const found = await readChat(engine, chat, number);
        this.#chats.looked(chat, found && found.row);
        if (number !== undefined && found?.number !== number) throw noVersion(chat, number);
        return (found?.messages ?? []) as MESSAGE[];
      });
    });
  }

  /**
   * Returns a chat with its messages, or null if there is none.
   * @example const messages = (await chats.readChat(id))?.messages ?? [];
   */
  readChat(id: string): Promise<Chat<MESSAGE> | null> {
    return this.#handle.run((engine) => {
      const chat = idOption(id, "id");
      return this.#chats.turns.shared(chat, async () => {
        const found = await readChat(engine, chat, undefined);
        this.#chats.looked(chat, found && found.row);
        return found && { ...infoOf(found.row), messages: found.messages as MESSAGE[] };
      });
    });
  }

  /**
   * Saves a chat. Left-out fields stay as they are. Changed messages make a new version, and earlier versions stay.
   * Without changes, nothing is written.
   * @throws ForkpointError `CONFLICT` if the chat's version is not `expectedVersion`, or if this object has saved the
   *   chat and it was deleted since. `INVALID_ARGUMENT` for a message that cannot be stored. Nothing was saved then.
   * @example const { version } = await chats.saveChat({ chatId, messages, activeStreamId: null });
   */
  async saveChat(chat: SavedChat<MESSAGE>): Promise<{ version: number }> {
    const saved = await this.#handle.save(async (engine) => {
      const read = readRecord(chat, "chat", saveFields);
      const { chatId, id, messages, activeStreamId, endedStreamId, metadata, expectedVersion } = read;
      const name = chatId ?? id;
      if (name === undefined) throw typeError("chatId is missing: pass the id of the chat as chatId or id");
      if (chatId !== undefined && id !== undefined && chatId !== id) {
        throw typeError(`chatId is ${quote(chatId)}, but id is ${quote(id)}: pass one of them`);
      }
      const change = {
        snapshot: messages === undefined ? undefined : new Snapshot(messages, this.#chats.known(name), engine.format),
        stream: activeStreamId,
        endedStream: endedStreamId,
        metadata: metadata === undefined ? undefined : metadataOf(metadata, engine.format),
        expected: expectedVersion,
      };
      return { version: await this.#chats.save(engine, name, change) };
    });
    this.#retention.sweep();
    return saved;
  }

  /**
   * Lists chats in save order, the last saved first. `metadata` selects chats with these values. Pass the cursor of a
   * page to get the next page. Default limit: 100.
   * @example const { chats: mine, cursor } = await chats.listChats({ metadata: { userId: "u-7" }, limit: 20 });
   */
  listChats(options?: {
    limit?: number;
    cursor?: string | null;
    metadata?: ChatMetadata;
  }): Promise<{ chats: ChatInfo[]; cursor: string | null }> {
    return this.#handle.run(async (engine) => {
      const read = readRecord(options, "options", { limit, cursor: chatCursor, metadata: filterOption });
      await this.#chats.turns.settled();
      return listChats(engine, read);
    });
  }

  /**
   * Removes a chat with all its versions, approvals and streams. An unknown chat causes no error.
   * @throws ForkpointError `CONFLICT` if a process holds the lease of the chat, unless `force` is true.
   * @example await chats.deleteChat(id);
   */
  async deleteChat(id: string, options?: DeleteOptions): Promise<void> {
    await this.#handle.run((engine) => {
      const [chat, force] = [idOption(id, "id"), forced(options)];
      return this.#chats.turns.alone(chat, async () => {
        this.#chats.forget(chat);
        const owned = removing(engine.native, leaseOf(chat), force);
        await removeChat(owned, chat, undefined);
      });
    });
  }

  /**
   * Lists the versions of a chat, the newest first. Default limit: 100.
   * @example const { versions: [newest, before] } = await chats.versions(id);
   */
  versions(
    id: string,
    options?: { limit?: number; cursor?: string | null },
  ): Promise<{ versions: ChatVersion[]; cursor: string | null }> {
    return this.#handle.run(async (engine) => {
      const chat = idOption(id, "id");
      const read = readRecord(options, "options", { limit, cursor: versionCursor });
      return this.#chats.turns.shared(chat, () => versionsOf(engine, chat, read));
    });
  }

  /**
   * Makes a new chat with the messages and the metadata of a chat, and returns its id. `version` is the version to
   * fork. Default: the newest. The stored messages are shared; on Postgres, they are copied.
   * @throws ForkpointError `NOT_FOUND` for an unknown chat or version, `CONFLICT` if there is a chat with the new id.
   * @example const other = await chats.fork(id, { version: 3 });
   */
  fork(id: string, options?: { version?: number; id?: string }): Promise<string> {
    return this.#handle.run(async (engine) => {
      const from = idOption(id, "id");
      const { version: wanted, id: to = newId() } = readRecord(options, "options", { version, id: idOption });
      await this.#chats.turns.settled(from);
      return this.#chats.turns.alone(to, async () => {
        const source = await readRow(engine, from);
        if (source === null) throw new ForkpointError("NOT_FOUND", `chat ${quote(from)} not found: list the chats`);
        // The row's version may have been removed.
        const number = wanted ?? (await versionsOf(engine, from, { limit: 1 })).versions[0]?.version ?? 0;
        const row = {
          ...source,
          chat: to,
          version: Math.min(number, 1),
          stream: null,
          answer: undefined,
          revision: revisionAfter(undefined),
        };
        const { fields, buffers } = rowFields(row, undefined);
        try {
          await chatCalls.call(engine.native, "fork", { from, version: number, row: fields }, buffers);
        } catch (error) {
          if (isOvertaken(error)) throw alreadyExists(to);
          throw (error as { code?: unknown }).code === "NOT_FOUND" ? noVersion(from, number) : error;
        }
        return to;
      });
    });
  }

  /**
   * Takes the answers to the open questions at the end of a chat, including denials, and returns them. Call it before
   * `saveChat` and before the model, so that a tool runs once for each answer, and only if the chat has asked.
   * @throws ForkpointError `INVALID_ARGUMENT` for an answer or a question that is not open, or with a different input.
   *   `CONFLICT` for an answer that was taken: `error.taken` has the taker and the time. Nothing was taken then.
   * @example const approvals = await chats.takeApprovals(id, messages);
   */
  takeApprovals(id: string, messages: readonly MESSAGE[]): Promise<Approval[]> {
    return this.#handle.run((engine) => {
      const [chat, sent] = [idOption(id, "id"), sentIn(messages)];
      return this.#chats.turns.alone(chat, () => takeApprovals(engine, chat, sent));
    });
  }

  /**
   * Releases an approval after a failure before its tool has run. It can then be taken again.
   * @example await chats.releaseApproval(id, approvalId);
   */
  async releaseApproval(id: string, approvalId: string): Promise<void> {
    await this.#handle.run((engine) => {
      const [chat, approval] = [idOption(id, "id"), nonEmpty(approvalId, "approvalId")];
      return this.#chats.turns.alone(chat, () => releaseApproval(engine, chat, approval));
    });
  }

  /**
   * Begins a stream that other processes can read, also after this process has ended. Returns its text for the first
   * reader. If this reader leaves, the stream continues. `makeStream` is called when the stream has begun. Its signal
   * aborts if the answer is stopped: give it to the model. A source that does not end then is cancelled.
   * @throws ForkpointError `CONFLICT` if there is a stream with this id.
   * @example const stream = await chats.createNewResumableStream(streamId, () => sseStream);
   */
  createNewResumableStream(
    streamId: string,
    makeStream: (given: { readonly signal: AbortSignal }) => ReadableStream<string> | Promise<ReadableStream<string>>,
    options?: ResumableStreamOptions,
  ): Promise<ReadableStream<string>> {
    return this.#handle.run(() => this.#streams.create(idOption(streamId, "streamId"), makeStream, options));
  }

  /**
   * Returns the text of a stream from a character on, followed by new text. Undefined: there is no such stream. Null:
   * the stream has ended, or was stopped. If its source has failed or its process has ended, the reader gets the text,
   * and then the ForkpointError `UNAVAILABLE`. Its `cause` has the name and the message of the source's error.
   * @example const stream = await chats.resumeExistingStream(streamId);
   */
  resumeExistingStream(streamId: string, skipCharacters = 0): Promise<ReadableStream<string> | null | undefined> {
    return this.#handle.run(() =>
      this.#streams.resume(idOption(streamId, "streamId"), characters(skipCharacters, "skipCharacters")),
    );
  }

  /**
   * Returns whether a stream is in progress (`true`), or has ended, failed or was stopped (`"DONE"`). Null: there is no
   * such stream.
   * @example if ((await chats.hasExistingStream(streamId)) === true) console.log("it goes on");
   */
  hasExistingStream(streamId: string): Promise<null | true | "DONE"> {
    return this.#handle.run(() => this.#streams.has(idOption(streamId, "streamId")));
  }

  /**
   * Stops the answer of a chat, and a function that works on the chat alone, from any process. Saves the answer so far
   * once at the end of the chat, and clears `activeStreamId`. Does the same after the answer's process was killed. A
   * chat that has gone on is not changed. `id` may also be a stream's. Default for `waitMs`: 15,000.
   * @throws TypeError or RangeError for a wrong id or option. ForkpointError `UNSUPPORTED` if the package `ai` is not
   *   found. Nothing was stopped then.
   * @example const { message } = await chats.stop(chatId, { by: "Ana", reason: "the stop button" });
   */
  override async stop(id: string, options?: StopOptions): Promise<ChatStopResult<MESSAGE>> {
    return (await this.#stops().stop(idOption(id, "id"), options)) as ChatStopResult<MESSAGE>;
  }

  /**
   * Returns the answer so far, as the next turn can use it: a call without a result has an error as its result. `id` is
   * a chat's id, or a stream's id. Null: there is no answer, or no usable part. Changes nothing.
   * @throws ForkpointError `UNSUPPORTED` if the package `ai` is not found.
   * @example const message = await chats.partialMessage(streamId);
   */
  async partialMessage(id: string): Promise<MESSAGE | null> {
    return (await this.#stops().partial(idOption(id, "id"))) as MESSAGE | null;
  }

  #stops(): Stops {
    const { Answers, Stops } = later();
    return new Stops(this.#handle, this.#streams, new Answers(this.#chats, this.#ai));
  }

  /**
   * Removes whole chats. Default for `olderThan`: chats older than `ttlMs`.
   * @throws TypeError or RangeError for a wrong option. ForkpointError `CLOSED` if the store is closed before it ends.
   * @example const { chats: removed } = await chats.prune({ olderThan: Date.now() - 30 * 86_400_000, dryRun: true });
   */
  async prune(options?: ChatPruneOptions): Promise<{ chats: number }> {
    const { sessions } = await this.#retention.prune(options);
    return { chats: sessions };
  }

  withLease(lease: Lease): ForkpointChats<MESSAGE> {
    const handle = this.#handle.withLease(lease);
    const view = new ForkpointChats<MESSAGE>(handle.asStore, this.#ai && { ai: this.#ai });
    [view.#chats, view.#retention] = [this.#chats, this.#retention.through(handle)];
    view.#streams = this.#streams.through(handle);
    return view;
  }
}

function alreadyExists(chat: string): ForkpointError {
  return new ForkpointError("CONFLICT", `chat ${quote(chat)} already exists: use another id`);
}
