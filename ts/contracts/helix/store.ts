/** `SessionStore`, the class that Helix uses. */

import type { Engine } from "../../store/engine.js";
import { typeError } from "../../bridge/errors.js";
import { ContractStore } from "../../store/contract-store.js";
import { StoreHandle } from "../../store/handle.js";
import { idOrNull, requireId } from "../../store/ids.js";
import { type DeleteOptions, forced, removing } from "../../store/removing.js";
import type { PruneOptions, StatsOptions } from "../../store/retention.js";
import * as checkpoints from "./checkpoints.js";
import { Comparison } from "./comparison.js";
import * as customState from "./custom-state.js";
import { prune, sweep, type SessionPruneResult } from "./expiry.js";
import { Events, type CheckpointCreatedEvent } from "./events.js";
import { Clock, readSessionOptions, type SessionStoreOptions } from "./options.js";
import * as log from "./messages.js";
import * as runs from "./runs.js";
import * as sessions from "./sessions.js";
import { Expiry } from "../shared/expiry.js";
import { Turns } from "../shared/turns.js";
import { splitSession } from "./values.js";
import { helix } from "./wire.js";
import type {
  AgentState,
  AgentStatus,
  Checkpoint,
  CheckpointPage,
  CreateSessionOptions,
  CustomStateChanges,
  EndRun,
  MergeResult,
  Message,
  MessagesPage,
  NewCheckpoint,
  Run,
  SessionStateStore,
  StartRun,
  SubSessionRef,
} from "./contract.js";
import type { Store } from "../../store/store.js";
import type { Lease } from "../../store/lease.js";

/**
 * Sessions of Helix agents that survive crashes.
 *
 * - Messages are stored once. Each checkpoint still has all of its messages, even after a rewind of the session.
 * - Each call is one transaction. Calls of several processes never undo each other.
 * - A resolved write is durable. Reads return fresh objects.
 * - A write to a missing session rejects with `NOT_FOUND`, except `createSession`, `saveState` and `saveCheckpoint`. A
 *   read of a missing session finds nothing.
 *
 * All methods give the error codes `CLOSED`, `BUSY`, `FULL`, `UNAVAILABLE` and `CORRUPT` where they apply.
 *
 * @example
 * ```ts
 * const store = new SessionStore<{ topic: string }>("sessions.db", { ttlMs: 7 * 86_400_000 });
 * await store.createSession("session-1", { agentType: "researcher", initialState: { topic: "rust" } });
 * await store.appendMessages("session-1", [{ role: "user", content: "Hello" }]);
 * ```
 */
export class SessionStore<TState extends object = Record<string, any>>
  extends ContractStore
  implements SessionStateStore<TState>
{
  readonly #handle: StoreHandle;
  #clock: Clock;
  #turns = new Turns();
  readonly #comparison = new Comparison();
  readonly #expiry = new Expiry();
  #events = new Events();

  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"postgres://<user>@<host>/<database>"`,
   *   `"jsonl:<folder>"`, `"memory:"`, or a store from `openStore`.
   * @param options `ttlMs` (or `ttl`) and `now`, and the options of `openStore`. An open store takes only `now`: its
   *   `ttlMs` applies to the sessions.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: SessionStoreOptions) {
    const { now, ttlMs, others } = readSessionOptions(options);
    const handle = StoreHandle.of(target, others, helix);
    super(handle);
    this.#handle = handle;
    if (!handle.owned && ttlMs !== undefined) {
      throw typeError('option "ttlMs" belongs to openStore() when the target is an open store');
    }
    this.#clock = new Clock(now, () => (handle.owned ? (ttlMs ?? null) : handle.retention.ttlMs));
  }

  createSession(sessionId: string, options: CreateSessionOptions<TState>): Promise<void> {
    return this.#change(sessionId, (context, id) => sessions.create(context, id, options));
  }

  sessionExists(sessionId: string): Promise<boolean> {
    return this.#ask(sessionId, false, async (context, id) => {
      const exists = (await log.readLog(context, id, 0, 0)) !== null;
      return this.#looked(id, exists);
    });
  }

  exists(sessionId: string): Promise<boolean> {
    return this.sessionExists(sessionId);
  }

  async deleteSession(sessionId: string, options?: DeleteOptions): Promise<void> {
    const force = forced(options);
    await this.#ask(sessionId, undefined, async ({ engine: { native } }, id) => {
      const of = { space: helix.name, run: id, ns: "" };
      await helix.call(removing(native, of, force), "delete", { sessionId: id });
    });
  }

  loadState(sessionId: string): Promise<AgentState<TState> | null> {
    return this.#ask(sessionId, null, async (context, id) => {
      const state = await log.loadState(context, id);
      this.#looked(id, state !== null);
      return state;
    }) as Promise<AgentState<TState> | null>;
  }

  saveState(sessionId: string, state: AgentState<TState>): Promise<void> {
    return this.#change(sessionId, (context, id) => sessions.saveState(context, id, state));
  }

  updateStatus(sessionId: string, status: AgentStatus): Promise<void> {
    return this.#change(sessionId, async (context, id) => {
      await sessions.setStatus(context, id, requireId(status, "status"));
    });
  }

  compareAndSetStatus(
    sessionId: string,
    expected: AgentStatus | readonly AgentStatus[],
    next: AgentStatus,
  ): Promise<boolean> {
    return this.#change(sessionId, (context, id) => {
      const statuses = runs.readStatuses(expected);
      return sessions.setStatus(context, id, requireId(next, "next"), statuses);
    });
  }

  incrementStepCount(sessionId: string): Promise<number> {
    return this.#change(sessionId, sessions.incrementStepCount);
  }

  mergeCustomState(sessionId: string, changes: CustomStateChanges): Promise<MergeResult> {
    return this.#change(sessionId, (context, id) => customState.mergeCustomState(context, id, changes));
  }

  stageChanges(sessionId: string, changes: CustomStateChanges): Promise<void> {
    return this.#change(sessionId, (context, id) => customState.stage(context, id, changes));
  }

  /**
   * Returns the staged changes, in staging order.
   * @example const waiting = (await store.getStaging("session-1")).length;
   */
  getStaging(sessionId: string): Promise<CustomStateChanges[]> {
    return this.#ask(sessionId, [], async (context, id) =>
      customState.staged(context, await sessions.find(context, id)),
    );
  }

  promoteStaging(sessionId: string): Promise<MergeResult> {
    return this.#change(sessionId, customState.promote);
  }

  discardStaging(sessionId: string): Promise<void> {
    return this.#change(sessionId, customState.discard);
  }

  appendMessages(sessionId: string, messages: readonly Message[]): Promise<void> {
    return this.#change(sessionId, (context, id) => log.append(context, id, messages));
  }

  async getMessages(
    sessionId: string,
    options?: { offset?: number; limit?: number; includeThinking?: boolean },
  ): Promise<MessagesPage> {
    const none = { messages: [], total: 0, hasMore: false };
    const range = log.rangeOf(options);
    return this.#ask(sessionId, none, async (context, id) => (await log.page(context, id, range)) ?? none);
  }

  getMessageCount(sessionId: string): Promise<number> {
    return this.#ask(sessionId, 0, async (context, id) => (await log.readLog(context, id, 0, 0))?.total ?? 0);
  }

  truncateMessages(sessionId: string, count: number): Promise<void> {
    return this.#change(sessionId, (context, id) => log.truncate(context, id, count));
  }

  /**
   * Stores a checkpoint. A checkpoint of the session with the same id is replaced. The session need not exist.
   * @throws ForkpointError `CONFLICT` if another session has a checkpoint with this id, or if this object has written
   *   the session and it was deleted since. TypeError or RangeError for wrong fields. In each case nothing was stored.
   * @example
   * ```ts
   * const id = generateCheckpointId("session-1", 3);
   * await store.saveCheckpoint({ id, sessionId: "session-1", stepCount: 3, timestamp: Date.now(), state });
   * ```
   */
  saveCheckpoint(checkpoint: NewCheckpoint<TState>): Promise<void>;
  saveCheckpoint(sessionId: string, checkpoint: NewCheckpoint<TState>): Promise<void>;
  saveCheckpoint(...given: [checkpoint: object] | [sessionId: string, checkpoint: object]): Promise<void> {
    return this.#save(async (context) => {
      const [checkpoint, sessionId] = splitSession(given);
      const encoded = checkpoints.encodeCheckpoint(checkpoint, sessionId, context.engine.format);
      await checkpoints.save(context, encoded);
      this.#announce(encoded);
    });
  }

  /**
   * Returns a checkpoint, or null if there is none. With a `sessionId`, only searches this session.
   * @example const messages = (await store.getCheckpoint(checkpointId))?.state.messages;
   */
  getCheckpoint(checkpointId: string): Promise<Checkpoint<TState> | null>;
  getCheckpoint(sessionId: string, checkpointId: string): Promise<Checkpoint<TState> | null>;
  getCheckpoint(
    ...given: [checkpointId: string] | [sessionId: string, checkpointId: string]
  ): Promise<Checkpoint<TState> | null> {
    return this.#run(async (context) => {
      const [checkpointId, sessionId] = splitSession(given);
      await this.#turns.settled(sessionId);
      const found = await checkpoints.find(context, checkpointId, sessionId);
      return found && checkpoints.restore(context, found);
    });
  }

  getLatestCheckpoint(sessionId: string): Promise<Checkpoint<TState> | null> {
    return this.#ask(sessionId, null, async (context, id) => {
      const found = await checkpoints.findLatest(context, id);
      return found && checkpoints.restore(context, found);
    });
  }

  listCheckpoints(
    sessionId: string,
    options?: { limit?: number; offset?: number; cursor?: string | null | undefined },
  ): Promise<CheckpointPage> {
    return this.#run((context) => checkpoints.list(context, sessionId, options));
  }

  /**
   * Rewinds a session to a checkpoint, in one transaction: restores the checkpoint's state, and cuts the log to the
   * `messageCount` messages of the checkpoint. Drops staged changes. Later checkpoints stay. Returns the checkpoint:
   * continue your stream from its `streamSequence`.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint.
   * @example const { streamSequence } = await store.rewindTo(checkpointId);
   */
  rewindTo(checkpointId: string): Promise<Checkpoint<TState>>;
  rewindTo(sessionId: string, checkpointId: string): Promise<Checkpoint<TState>>;
  rewindTo(...given: [checkpointId: string] | [sessionId: string, checkpointId: string]): Promise<Checkpoint<TState>> {
    return this.#run(async (context) => {
      const [checkpointId, sessionId] = splitSession(given);
      await this.#turns.settled(sessionId);
      return checkpoints.rewind(context, checkpointId, sessionId);
    });
  }

  /**
   * Begins a new session with the state and the messages of a checkpoint. The old session does not change. Returns the
   * new session's first checkpoint, a copy whose state has the new session's id as `sessionId`.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint. `CONFLICT` if the new session exists.
   * @example await store.branchSession(checkpointId, "session-1, another try");
   */
  branchSession(checkpointId: string, newSessionId: string): Promise<Checkpoint<TState>> {
    return this.#run(async (context) => {
      const newId = requireId(newSessionId, "newSessionId");
      await this.#turns.settled();
      const copy = await checkpoints.branch(context, checkpointId, newId);
      this.#announce(copy);
      return copy;
    });
  }

  startRun(sessionId: string, run?: StartRun): Promise<Run> {
    return this.#change(sessionId, (context, id) => runs.startRun(context, id, run));
  }

  endRun(sessionId: string, runId: string, end?: EndRun): Promise<Run> {
    return this.#change(sessionId, (context, id) => runs.endRun(context, id, requireId(runId, "runId"), end));
  }

  listRuns(sessionId: string): Promise<Run[]> {
    return this.#list(sessionId, "runs");
  }

  addSubSession(sessionId: string, ref: SubSessionRef): Promise<void> {
    return this.#change(sessionId, (context, id) => runs.addSubSession(context, id, ref));
  }

  listSubSessions(sessionId: string): Promise<SubSessionRef[]> {
    return this.#list(sessionId, "subSessions");
  }

  /**
   * Lists the sessions, including those of earlier processes, the last created one first. `status` and `agentType`
   * select sessions with one of the given values. `limit` is at most 100,000 (default: 100).
   * @example const { sessions, cursor } = await store.sessions({ status: "running", limit: 20 });
   */
  sessions(options?: {
    status?: AgentStatus | readonly AgentStatus[];
    agentType?: string | readonly string[];
    cursor?: string | null | undefined;
    limit?: number;
  }): Promise<sessions.SessionsPage> {
    return this.#run(async (context) => {
      const read = sessions.readListing(options);
      await this.#turns.settled();
      return sessions.listSessions(context, read);
    });
  }

  /**
   * Calls a function for each checkpoint that this object stores, after it is durable.
   * @example store.on("checkpoint_created", ({ checkpointId }, sessionId) => console.log(sessionId, checkpointId));
   */
  on(event: "checkpoint_created", listener: (event: CheckpointCreatedEvent, sessionId: string) => void): this {
    this.#events.on(event, listener);
    return this;
  }

  /**
   * Removes a listener that `on` has added.
   * @example store.off("checkpoint_created", listener);
   */
  off(event: "checkpoint_created", listener: (event: CheckpointCreatedEvent, sessionId: string) => void): this {
    this.#events.off(event, listener);
    return this;
  }

  /**
   * Returns the events of a session, or of all sessions, as an iterator. It ends when the signal aborts or the store is
   * closed.
   * @example for await (const chunk of store.events("session-1")) console.log(chunk.checkpointId, chunk.stepCount);
   */
  events(sessionId?: string, options?: { signal?: AbortSignal }): AsyncIterableIterator<CheckpointCreatedEvent> {
    return this.#events.stream(sessionId, options, this.#handle.closing);
  }

  withLease(lease: Lease): SessionStore<TState> {
    const view = new SessionStore<TState>(this.#handle.withLease(lease).asStore);
    [view.#clock, view.#turns, view.#events] = [this.#clock, this.#turns, this.#events];
    return view;
  }

  /**
   * Removes checkpoints as in every store, and the sessions whose last write was before `olderThan`. Default: removes
   * expired data.
   * @example const { sessions, removed } = await store.prune({ olderThan: Date.now() - 86_400_000, dryRun: true });
   */
  prune(options?: PruneOptions<SessionPruneResult>): Promise<SessionPruneResult> {
    return this.#run((context) => prune(context, options, () => this.#handle.closing));
  }

  /**
   * Returns the numbers of sessions, checkpoints and messages (`records`), and their storage in bytes.
   * @example const { sessions, checkpoints, records } = await store.stats();
   */
  stats(options?: StatsOptions): Promise<sessions.SessionStats> {
    return this.#run((context) => sessions.sessionStats(context, options));
  }

  override async close(): Promise<void> {
    await super.close();
    // An object from `withLease` shares the events of its original.
    if (!this.#handle.isLeased) this.#events.close();
  }

  #run<T>(work: (context: sessions.Context) => Promise<T>): Promise<T> {
    return this.#handle.run((engine) => work(this.#context(engine)));
  }

  #save<T>(work: (context: sessions.Context) => Promise<T>): Promise<T> {
    return this.#handle.save((engine) => work(this.#context(engine)));
  }

  #context(engine: Engine): sessions.Context {
    const { seen } = this.#handle;
    return { engine, seen, clock: this.#clock, turns: this.#turns, comparison: this.#comparison };
  }

  /** Runs a read after the session's pending changes. Returns `none` for an invalid session id. */
  #ask<T>(sessionId: unknown, none: T, work: (context: sessions.Context, id: string) => Promise<T>): Promise<T> {
    return this.#run(async (context) => {
      const id = idOrNull(sessionId, "sessionId");
      return id === null ? none : this.#turns.shared(id, () => work(context, id));
    });
  }

  #list<T>(sessionId: unknown, name: sessions.ListName): Promise<T[]> {
    return this.#ask(sessionId, [], async (context, id) => {
      const session = await sessions.find(context, id);
      return session?.list<T>(name, context.engine) ?? [];
    });
  }

  #looked(id: string, exists: boolean): boolean {
    this.#handle.seen.looked(id, exists ? {} : null);
    return exists;
  }

  async #change<T>(sessionId: unknown, work: (context: sessions.Context, id: string) => Promise<T>): Promise<T> {
    const result = await this.#save((context) => work(context, requireId(sessionId, "sessionId")));
    this.#sweepIfDue();
    return result;
  }

  #announce(checkpoint: { id: string; stepCount: number; sessionId: string }): void {
    this.#events.emit(checkpoint, this);
    this.#sweepIfDue();
  }

  #sweepIfDue(): void {
    const [clock, handle] = [this.#clock, this.#handle];
    this.#expiry.sweepIfDue(handle, {
      what: "expired sessions",
      ttlMs: clock.ttlMs,
      now: clock.isMachines ? Date.now : () => clock.now(),
      sweep: (engine) => sweep(this.#context(engine), () => handle.closing),
    });
  }
}
