/** `ForkpointSession`, a session of the OpenAI Agents SDK. */

import type { AgentInputItem, SessionHistoryRewriteArgs, SessionHistoryTransactionArgs } from "@openai/agents";
import { crypto } from "../../bridge/crypto.js";
import { ForkpointError, isOvertaken, quote, rangeError } from "../../bridge/errors.js";
import { ContractStore } from "../../store/contract-store.js";
import type { Engine } from "../../store/engine.js";
import { StoreHandle } from "../../store/handle.js";
import type { StoreContract } from "../../store/host.js";
import { nonEmpty } from "../../store/ids.js";
import type { Lease } from "../../store/lease.js";
import { type StoreOptions, atMost, flag, readRecord, splitOptions, whole } from "../../store/options.js";
import type { Store } from "../../store/store.js";
import { type SessionPruneOptions, SessionRetention } from "../shared/session-retention.js";
import { Turns } from "../shared/turns.js";
import { type Packed, applyMutations, cutOf, limitOf, listOf, pack, waitingCall } from "./items.js";
import { newVersion } from "../shared/version.js";
import { allSessions } from "./listing.js";
import { type Found, readSession, waitsForResult } from "./reading.js";
import { type AgentsModule, installedSdk, sdkOption, userError } from "./sdk.js";
import { canonical, checkTransaction, copyTransaction } from "./transaction.js";
import { type Change, type Listed, sessionCalls } from "./wire.js";

export interface ForkpointSessionOptions extends Omit<StoreOptions, "keepLastN" | "maxBytes"> {
  /** The id of the session. Default: a new one. */
  sessionId?: string;
  /** How long a session is kept after its last change, in ms. Older ones are removed in the background. Default: no limit. */
  ttlMs?: number | null;
  /** As `ttlMs`, for sessions whose last call has no result: at least `ttlMs`. Default: until it has one. */
  waitingTtlMs?: number | null;
  /**
   * The SDK. `applyHistoryTransaction` uses its error class and its schema of items. Pass it if your program is
   * bundled. Default: the installed `@openai/agents`.
   */
  agents?: AgentsModule;
}

/** A session in the result of `list`. */
export interface SessionInfo {
  sessionId: string;
  /** The time of the last change, in ms since the epoch. */
  updatedAt: number;
}

const later = (): typeof import("./later.js") => require("./later.js");
const contract: StoreContract = {
  name: sessionCalls.name,
  get undo() {
    return later().undo;
  },
};

const ownOptions = {
  sessionId: nonEmpty,
  ttlMs: atMost("milliseconds"),
  waitingTtlMs: atMost("milliseconds"),
  agents: sdkOption,
};
const count = whole(0, Number.MAX_SAFE_INTEGER, "items");
const listOptions = { limit: whole(0, Number.MAX_SAFE_INTEGER, "sessions") };

/** The changes of a session. Left-out fields stay as they are. */
type Changes = { [K in Exclude<keyof Change, "items">]?: Change[K] | undefined } & { items?: Packed | undefined };

/** The result of a call, and its changes, if any. */
type Decision<T> = [result: T, changes?: Changes | undefined];

/**
 * A session of the OpenAI Agents SDK, in a database.
 *
 * - Each change is one transaction. A resolved change is durable.
 * - Several processes can use one session. Each `addItems` is one block.
 * - Reads return fresh objects. Values are kept exactly, including `undefined` and bytes.
 *
 * All methods give the error codes `CLOSED`, `BUSY`, `FULL`, `UNAVAILABLE` and `CORRUPT` where they apply.
 *
 * @example
 * ```ts
 * const session = new ForkpointSession("agent.db", { sessionId: "user-7" });
 * const result = await run(agent, "What did I ask before?", { session });
 * ```
 */
export class ForkpointSession extends ContractStore {
  readonly #handle: StoreHandle;
  readonly #id: string;
  readonly #agents: AgentsModule | undefined;
  #retention: SessionRetention<Listed>;
  #turns = new Turns();

  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"postgres://<user>@<host>/<database>"`,
   *   `"jsonl:<folder>"`, `"memory:"`, or a store from `openStore`. Many sessions should share an open store.
   * @param options `sessionId`, `agents`, `ttlMs` and `waitingTtlMs` (not with an open store), and the options of
   *   `openStore`.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: ForkpointSessionOptions) {
    const { own, others } = splitOptions(options, ownOptions);
    const handle = StoreHandle.of(target, others as StoreOptions | undefined, contract);
    super(handle);
    this.#handle = handle;
    this.#id = own.sessionId ?? crypto().randomUUID();
    this.#agents = own.agents;
    this.#retention = SessionRetention.of<Listed>(handle, own, {
      list: allSessions,
      changedAt: ({ savedAt }) => savedAt,
      savedAs: ({ saved }) => saved,
      groupOf: () => "",
      runOf: ({ session }) => ({ space: sessionCalls.name, run: session, ns: "" }),
      waits: (engine, { session }) => waitsForResult(engine, session),
      remove: (native, { session, version }) => sessionCalls.call(native, "remove", { session, seen: version }),
    });
  }

  /**
   * Returns the id of the session, without a read of the database.
   * @example const sessionId = await session.getSessionId();
   */
  async getSessionId(): Promise<string> {
    return this.#id;
  }

  /**
   * Returns the items, the oldest first. With a limit, returns this number of newest items. 0 or less: none.
   * @throws RangeError for a limit that is not a whole number.
   * @example const lastTen = await session.getItems(10);
   */
  getItems(limit?: number): Promise<AgentInputItem[]> {
    return this.#handle.run(async (engine) => {
      const most = limitOf(limit);
      if (most === 0) return [];
      return (await this.#turns.shared(this.#id, () => this.#read(engine, most))).items;
    });
  }

  /**
   * Appends items, all or none.
   * @throws TypeError if `items` is no list of objects. ForkpointError `INVALID_ARGUMENT` if an item can't be stored.
   * @example await session.addItems([{ role: "user", content: "My name is Ada." }]);
   */
  async addItems(items: AgentInputItem[]): Promise<void> {
    await this.#handle.save(async (engine) => {
      const packed = pack(listOf(items, "items"), engine);
      if (packed === undefined) return;
      await this.#turns.shared(this.#id, () => this.#change(engine, { items: packed }));
    });
    this.#retention.sweep();
  }

  /**
   * Removes the newest item and returns it, or undefined if there is none. No two calls return the same item.
   * @example const last = await session.popItem();
   */
  popItem(): Promise<AgentInputItem | undefined> {
    return this.#edit(1, async ({ items: [last], total }) => [last, last && { keep: total - 1 }]);
  }

  /**
   * Removes the items and the remembered operations. The id of the session stays.
   * @example await session.clearSession();
   */
  async clearSession(): Promise<void> {
    await this.#handle.run((engine) =>
      this.#turns.alone(this.#id, () =>
        sessionCalls.call(engine.native, "remove", { session: this.#id, seen: undefined }),
      ),
    );
  }

  /**
   * Appends items, or replaces the last ones, and remembers the id of the operation, in one transaction. A repeated
   * operation changes nothing.
   * @throws UserError (the SDK's class) with the code `INVALID_ARGUMENT` for wrong arguments, and `CONFLICT` for a
   *   suffix that is not the end of the session, or for another operation's id. Nothing was changed then.
   * @example
   * ```ts
   * const transaction = { type: "append_items" as const, items: [{ role: "user" as const, content: "Hello." }] };
   * await session.applyHistoryTransaction({ operationId: "turn-7", transaction });
   * ```
   */
  async applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void> {
    // The SDK is loaded after the arguments are copied.
    const copied = copyTransaction(args);
    const sdk = this.#agents ?? (await installedSdk());
    const { operationId, transaction, hash } = checkTransaction(copied, sdk);
    const conflict = (why: string) => userError(sdk, "CONFLICT", `session ${quote(this.#id)}: ${why}`);
    await this.#handle.save(async (engine) => {
      const replaces = transaction.type === "replace_suffix";
      const suffix = replaces ? transaction.expectedSuffix.map((item) => canonical(item)) : [];
      const items = pack(replaces ? transaction.replacement : transaction.items, engine);
      await this.#editIn(engine, suffix.length, async ({ items: last, total }) => {
        const known = await sessionCalls.call(engine.native, "applied", { session: this.#id, operation: operationId });
        if (known === hash) return [undefined];
        if (known !== null)
          throw conflict(`the operation ${quote(operationId)} was another transaction: use another id`);
        if (last.length < suffix.length || last.some((item, at) => canonical(item) !== suffix[at])) {
          throw conflict("expectedSuffix is not the end of the session: read the items again");
        }
        return [undefined, { keep: total - suffix.length, items, operation: { id: operationId, hash } }];
      });
    });
    this.#retention.sweep();
  }

  /**
   * Replaces all items in one transaction, and forgets the operations. The SDK calls this after a compaction.
   * @example await session.replaceHistoryWithCompaction([{ role: "user", content: "In short: hello." }]);
   */
  async replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    await this.#handle.save(async (engine) => {
      const packed = pack(listOf(items, "items"), engine);
      await this.#turns.shared(this.#id, () => this.#change(engine, { forget: true, keep: 0, items: packed }));
    });
  }

  /**
   * Replaces function calls: the first one with the call's id becomes the replacement. Its repetitions are removed.
   * @throws TypeError for a mutation of another type.
   * @example await session.applyHistoryMutations({ mutations: [{ type: "replace_function_call", callId, replacement }] });
   */
  async applyHistoryMutations(args: SessionHistoryRewriteArgs): Promise<void> {
    await this.#handle.save(async (engine) => {
      const apply = applyMutations(args);
      await this.#editIn(engine, undefined, async ({ items }) => {
        const changed = apply(items);
        const keep = items.findIndex((item, at) => item !== changed[at]);
        return [undefined, keep < 0 ? undefined : { keep, items: pack(changed.slice(keep), engine) }];
      });
    });
  }

  /**
   * Rewinds: keeps the first items, and forgets the operations.
   *
   * If a call has no result, a run waits for its approval and would later add the result without the call. Resume or
   * abandon the run first. `force` removes such a call.
   * @throws RangeError if the session has fewer items. ForkpointError `CONFLICT` if it would remove a call without a result.
   * @example await session.rewind(4);
   */
  async rewind(toItemCount: number, options?: { force?: boolean }): Promise<void> {
    const keep = count(toItemCount, "toItemCount");
    const { force = false } = readRecord(options, "options", { force: flag });
    await this.#edit(force ? 0 : undefined, async ({ total, items }) => {
      this.#requireItems(keep, total, "toItemCount");
      const waiting = waitingCall(items);
      if (waiting !== undefined && waiting >= keep) throw this.#waits(items[waiting]!);
      return [undefined, keep === total ? undefined : { forget: true, keep }];
    });
  }

  /**
   * Begins a new session with the first items of this one, or all, and returns it. It shares the open store, so close
   * it before this one. The stored items are shared; on Postgres, they are copied.
   * @throws RangeError if the session has fewer items. ForkpointError `CONFLICT` if the new session has items.
   * @example const other = await session.fork("user-7-b", 4);
   */
  async fork(newSessionId: string, atItemCount?: number): Promise<ForkpointSession> {
    const to = nonEmpty(newSessionId, "newSessionId");
    const at = atItemCount === undefined ? undefined : count(atItemCount, "atItemCount");
    return this.#handle.run(async (engine) => {
      await this.#turns.settled(this.#id);
      const forked = new ForkpointSession(this.#handle.share().asStore, {
        sessionId: to,
        ...(this.#agents && { agents: this.#agents }),
      });
      forked.#retention = this.#retention.through(forked.#handle);
      for (;;) {
        const source = await this.#read(engine, 0);
        const length = at ?? source.total;
        this.#requireItems(length, source.total, "atItemCount");
        const target = await forked.#read(engine, 0);
        if (target.total > 0) {
          throw new ForkpointError("CONFLICT", `session ${quote(to)} has items already: fork into a new session`);
        }
        if (source.version === 0) return forked;
        const row = { session: this.#id, version: source.version, seen: source.version, savedAt: source.savedAt };
        const fields = { row, length, to, over: target.version, version: newVersion(), savedAt: Date.now() };
        try {
          await sessionCalls.call(engine.native, "fork", fields);
          return forked;
        } catch (error) {
          if (!isOvertaken(error)) throw error;
        }
      }
    });
  }

  /**
   * Removes the oldest items, and returns their number. Keeps at least `keepItems`: a call stays with its result, and a
   * reasoning item with the item after it.
   * @example const removed = await session.trim(100);
   */
  async trim(keepItems: number): Promise<number> {
    const keep = count(keepItems, "keepItems");
    return this.#handle.run((engine) =>
      this.#editIn(engine, undefined, async ({ items }) => {
        const cut = cutOf(items, keep);
        return [cut, cut === 0 ? undefined : { forget: true, keep: 0, items: pack(items.slice(cut), engine) }];
      }),
    );
  }

  /**
   * Removes whole sessions of this store. Default for `olderThan`: sessions older than `ttlMs`.
   * @throws TypeError or RangeError for a wrong option. ForkpointError `CLOSED` if the store is closed before it ends.
   * @example const { sessions } = await session.prune({ olderThan: Date.now() - 30 * 86_400_000, dryRun: true });
   */
  prune(options?: SessionPruneOptions): Promise<{ sessions: number }> {
    return this.#retention.prune(options);
  }

  /**
   * Lists the sessions of a store in save order, the last saved first.
   * @example const [latest] = await ForkpointSession.list("agent.db", { limit: 1 });
   */
  static async list(target: string | URL | Store, options?: { limit?: number }): Promise<SessionInfo[]> {
    const { limit } = readRecord(options, "options", listOptions);
    const handle = StoreHandle.of(target, undefined, contract);
    try {
      return await handle.run(async (engine) => {
        const found: Listed[] = [];
        for await (const row of allSessions(engine)) found.push(row);
        const latest = found.toSorted((a, b) => b.saved - a.saved).slice(0, limit);
        return latest.map(({ session, savedAt }) => ({ sessionId: session, updatedAt: savedAt }));
      });
    } finally {
      await handle.close();
    }
  }

  withLease(lease: Lease): ForkpointSession {
    const handle = this.#handle.withLease(lease);
    const view = new ForkpointSession(handle.asStore, {
      sessionId: this.#id,
      ...(this.#agents && { agents: this.#agents }),
    });
    [view.#turns, view.#retention] = [this.#turns, this.#retention.through(handle)];
    return view;
  }

  #requireItems(wanted: number, total: number, name: string): void {
    if (wanted <= total) return;
    throw rangeError(`${name} is ${wanted}, but session ${quote(this.#id)} has only ${total} items`);
  }

  #waits(item: AgentInputItem): ForkpointError {
    const { name, callId } = item as { name?: string; callId?: string };
    const call = name === undefined ? `call ${quote(callId!)}` : `call ${quote(callId!)} of ${quote(name)}`;
    return new ForkpointError(
      "CONFLICT",
      `session ${quote(this.#id)}: the ${call} has no result, so a run may wait for its approval and would add the result without the call: ` +
        "resume the run first, or give it up and rewind with { force: true }",
    );
  }

  #read(engine: Engine, limit: number | undefined): Promise<Found> {
    return readSession(engine, this.#id, limit);
  }

  /**
   * Reads the session with its last items, decides, and stores the decision. Repeats if another writer was faster.
   * `decide` returns the result, and any changes.
   */
  #edit<T>(limit: number | undefined, decide: (found: Found) => Promise<Decision<T>>): Promise<T> {
    return this.#handle.run((engine) => this.#editIn(engine, limit, decide));
  }

  #editIn<T>(engine: Engine, limit: number | undefined, decide: (found: Found) => Promise<Decision<T>>): Promise<T> {
    return this.#turns.alone(this.#id, async () => {
      for (;;) {
        const found = await this.#read(engine, limit);
        const [result, changes] = await decide(found);
        if (changes === undefined) return result;
        try {
          await this.#change(engine, changes, found.version);
          return result;
        } catch (error) {
          if (!isOvertaken(error)) throw error;
        }
      }
    });
  }

  async #change(engine: Engine, { forget = false, keep, items, operation }: Changes, seen?: number): Promise<void> {
    const row = { session: this.#id, version: newVersion(), seen, savedAt: Date.now() };
    const fields = { row, forget, keep, items: items?.records, operation };
    await sessionCalls.call(engine.native, "change", fields, items && [items.bytes]);
  }
}
