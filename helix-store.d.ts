/** The class of `forkpoint/helix`. Import it from there. */

import type {
  AgentState,
  AgentStatus,
  Checkpoint,
  CheckpointCreatedEvent,
  CheckpointPage,
  CreateSessionOptions,
  CustomStateChanges,
  EndRun,
  MergeResult,
  Message,
  MessagesPage,
  NewCheckpoint,
  Run,
  SessionPruneResult,
  SessionStateStore,
  SessionStats,
  SessionStoreOptions,
  SessionsPage,
  StartRun,
  SubSessionRef,
} from "./helix.js";
import type {
  CheckOptions,
  Lease,
  LeaseOptions,
  PruneOptions,
  RunRef,
  StatsOptions,
  Store,
  VerifyReport,
} from "./index.js";

/**
 * Sessions of Helix agents that survive crashes.
 *
 * - Messages are stored once. Each checkpoint still has all of its messages, also after the session was rewound.
 * - Each call is one transaction. Calls of several processes never undo each other.
 * - A resolved write is durable. Reads return fresh objects.
 * - A write to a session that does not exist rejects with `NOT_FOUND`, except `createSession`, `saveState` and
 *   `saveCheckpoint`. A read of such a session finds nothing.
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
export declare class SessionStore<TState extends object = Record<string, any>>
  implements SessionStateStore<TState>, AsyncDisposable
{
  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"jsonl:<folder>"`, `"memory:"`, or a store from `openStore`.
   * @param options `ttlMs` (or `ttl`) and `now`, and the options of `openStore`. An open store takes only `now`: its
   *   own `ttlMs` is that of the sessions.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: SessionStoreOptions);

  /**
   * Creates a session. Its status is `"active"`, its `stepCount` is 0, and `initialState` is its `customState`.
   * @throws ForkpointError `CONFLICT` if the session exists. `INVALID_ARGUMENT` if a value cannot be stored.
   *
   * @example await store.createSession("session-1", { agentType: "researcher", initialState: { topic: "rust" } });
   */
  createSession(sessionId: string, options: CreateSessionOptions<TState>): Promise<void>;

  /**
   * Returns true if the session exists. A session that has expired does not.
   *
   * @example if (!(await store.sessionExists("session-1"))) console.log("expired or never created");
   */
  sessionExists(sessionId: string): Promise<boolean>;

  /**
   * The same as `sessionExists`.
   *
   * @example const isThere = await store.exists("session-1");
   */
  exists(sessionId: string): Promise<boolean>;

  /**
   * Removes a session with its messages and checkpoints, in one transaction. An unknown session causes no error.
   *
   * @example await store.deleteSession("session-1");
   */
  deleteSession(sessionId: string): Promise<void>;

  /**
   * Returns the state of a session, or null if there is no such session. `messages` is there if the state was saved
   * with messages; `getMessages` reads the session's log.
   *
   * @example const topic = (await store.loadState("session-1"))?.customState.topic;
   */
  loadState(sessionId: string): Promise<AgentState<TState> | null>;

  /**
   * Replaces the state of a session. The session's log of messages does not change. An unknown session is created.
   * @throws TypeError if the state is no object. ForkpointError `INVALID_ARGUMENT` if a value cannot be stored.
   *
   * @example await store.saveState("session-1", { status: "active", stepCount: 3, customState: { topic: "rust" } });
   */
  saveState(sessionId: string, state: AgentState<TState>): Promise<void>;

  /**
   * Sets the status of a session.
   *
   * @example await store.updateStatus("session-1", "completed");
   */
  updateStatus(sessionId: string, status: AgentStatus): Promise<void>;

  /**
   * Sets the status if it is one of the expected ones, and returns whether it was. Of several processes that try, one
   * succeeds.
   *
   * @example const isMine = await store.compareAndSetStatus("session-1", ["active", "interrupted"], "running");
   */
  compareAndSetStatus(
    sessionId: string,
    expected: AgentStatus | readonly AgentStatus[],
    next: AgentStatus,
  ): Promise<boolean>;

  /**
   * Adds 1 to `stepCount` and returns the new number.
   *
   * @example const step = await store.incrementStepCount("session-1");
   */
  incrementStepCount(sessionId: string): Promise<number>;

  /**
   * Merges changes into `customState`. A value replaces the stored value of its key; other keys stay. See
   * {@link CustomStateChanges} for arrays that are appended.
   *
   * @example await store.mergeCustomState("session-1", { topic: "sqlite" });
   */
  mergeCustomState(sessionId: string, changes: CustomStateChanges): Promise<MergeResult>;

  /**
   * Stores changes beside the state, until they are merged or dropped. `loadState` does not show them.
   *
   * @example await store.stageChanges("session-1", { topic: "sqlite" });
   */
  stageChanges(sessionId: string, changes: CustomStateChanges): Promise<void>;

  /**
   * Returns the changes that wait, in the order in which they were staged.
   *
   * @example const waiting = (await store.getStaging("session-1")).length;
   */
  getStaging(sessionId: string): Promise<CustomStateChanges[]>;

  /**
   * Merges all staged changes into `customState`, in the order in which they were staged.
   *
   * @example const { warnings } = await store.promoteStaging("session-1");
   */
  promoteStaging(sessionId: string): Promise<MergeResult>;

  /**
   * Drops all staged changes.
   *
   * @example await store.discardStaging("session-1");
   */
  discardStaging(sessionId: string): Promise<void>;

  /**
   * Appends messages to the log of a session: all or none. Messages of one call stay together and in order.
   *
   * @example await store.appendMessages("session-1", [{ role: "user", content: "Hello" }]);
   */
  appendMessages(sessionId: string, messages: readonly Message[]): Promise<void>;

  /**
   * Returns messages of the log, oldest first. `offset` is the number of messages to skip (default: 0), and `limit` the
   * maximum number of messages (default: all). With `includeThinking: false`, messages have no field `thinking`
   * (default: true).
   * @throws RangeError for a negative or fractional `offset` or `limit`.
   *
   * @example const { messages, total } = await store.getMessages("session-1", { offset: 100, limit: 20 });
   */
  getMessages(
    sessionId: string,
    options?: { offset?: number; limit?: number; includeThinking?: boolean },
  ): Promise<MessagesPage>;

  /**
   * Returns how many messages a session has.
   *
   * @example const count = await store.getMessageCount("session-1");
   */
  getMessageCount(sessionId: string): Promise<number>;

  /**
   * Keeps the first `count` messages of a session. A session with fewer messages stays as it is. Checkpoints keep all
   * of their messages.
   * @throws RangeError for a negative or fractional `count`.
   *
   * @example await store.truncateMessages("session-1", 10);
   */
  truncateMessages(sessionId: string, count: number): Promise<void>;

  /**
   * Stores a checkpoint. A checkpoint of the session with the same id is replaced. The session need not exist.
   * @throws ForkpointError `CONFLICT` if another session has a checkpoint of this id. TypeError or RangeError for wrong
   *   fields. In each case nothing was stored.
   *
   * @example
   * ```ts
   * const id = generateCheckpointId("session-1", 3);
   * await store.saveCheckpoint({ id, sessionId: "session-1", stepCount: 3, timestamp: Date.now(), state });
   * ```
   */
  saveCheckpoint(checkpoint: NewCheckpoint<TState>): Promise<void>;
  saveCheckpoint(sessionId: string, checkpoint: NewCheckpoint<TState>): Promise<void>;

  /**
   * Returns a checkpoint, or null if there is none. With a `sessionId`, a checkpoint of another session is not found.
   *
   * @example const messages = (await store.getCheckpoint(checkpointId))?.state.messages;
   */
  getCheckpoint(checkpointId: string): Promise<Checkpoint<TState> | null>;
  getCheckpoint(sessionId: string, checkpointId: string): Promise<Checkpoint<TState> | null>;

  /**
   * Returns the checkpoint of a session with the greatest `timestamp`, or null if there is none. Of checkpoints with
   * the same timestamp, it is the one that was saved last.
   *
   * @example const latest = await store.getLatestCheckpoint("session-1");
   */
  getLatestCheckpoint(sessionId: string): Promise<Checkpoint<TState> | null>;

  /**
   * Lists the checkpoints of a session, the greatest `timestamp` first. `limit` is the maximum number of items
   * (default: all), and `offset` the number of checkpoints to skip (default: 0). Pass the `cursor` of the last page in
   * place of an `offset` if checkpoints may be saved between the calls.
   * @throws RangeError for a negative or fractional `offset` or `limit`.
   *
   * @example const { items, total } = await store.listCheckpoints("session-1", { limit: 10 });
   */
  listCheckpoints(
    sessionId: string,
    options?: { limit?: number; offset?: number; cursor?: string | null | undefined },
  ): Promise<CheckpointPage>;

  /**
   * Takes a session back to a checkpoint, in one transaction: its state becomes that of the checkpoint, and its
   * log has the `messageCount` messages again that it had at the checkpoint. Staged changes are dropped. Later checkpoints stay. Returns the
   * checkpoint: continue your stream from its `streamSequence`.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint.
   *
   * @example const { streamSequence } = await store.rewindTo(checkpointId);
   */
  rewindTo(checkpointId: string): Promise<Checkpoint<TState>>;
  rewindTo(sessionId: string, checkpointId: string): Promise<Checkpoint<TState>>;

  /**
   * Begins a new session with the state and the messages of a checkpoint. The old session does not change. Returns the
   * new session's first checkpoint, a copy. `sessionId` in the state of the copy names the new session.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint. `CONFLICT` if the new session exists.
   *
   * @example await store.branchSession(checkpointId, "session-1, another try");
   */
  branchSession(checkpointId: string, newSessionId: string): Promise<Checkpoint<TState>>;

  /**
   * Adds a run to a session.
   * @throws ForkpointError `CONFLICT` if the session has a run of this id.
   *
   * @example const { runId, turn } = await store.startRun("session-1", { startSequence: 42 });
   */
  startRun(sessionId: string, run?: StartRun): Promise<Run>;

  /**
   * Ends a run.
   * @throws ForkpointError `NOT_FOUND` if the session has no such run. `CONFLICT` if the run has ended already.
   *
   * @example await store.endRun("session-1", runId, { status: "interrupted" });
   */
  endRun(sessionId: string, runId: string, end?: EndRun): Promise<Run>;

  /**
   * Returns the runs of a session, in the order in which they were started.
   *
   * @example const running = (await store.listRuns("session-1")).filter(({ status }) => status === "running");
   */
  listRuns(sessionId: string): Promise<Run[]>;

  /**
   * Adds a reference to the session of a sub-agent. A reference to the same session replaces the earlier one.
   *
   * @example await store.addSubSession("session-1", { subSessionId: "session-2", agentType: "critic" });
   */
  addSubSession(sessionId: string, ref: SubSessionRef): Promise<void>;

  /**
   * Returns the references to sub-sessions, in the order in which they were added.
   *
   * @example const refs = await store.listSubSessions("session-1");
   */
  listSubSessions(sessionId: string): Promise<SubSessionRef[]>;

  /**
   * Lists the sessions, also those of earlier processes. The session that was created last comes first. `status` and
   * `agentType` keep the sessions that have one of the given values. `limit` is at most 100,000 (default: 100).
   *
   * @example const { sessions, cursor } = await store.sessions({ status: "running", limit: 20 });
   */
  sessions(options?: {
    status?: AgentStatus | readonly AgentStatus[];
    agentType?: string | readonly string[];
    cursor?: string | null | undefined;
    limit?: number;
  }): Promise<SessionsPage>;

  /**
   * Calls a function for each checkpoint that this object stores, when the checkpoint is durable.
   *
   * @example store.on("checkpoint_created", ({ checkpointId }, sessionId) => console.log(sessionId, checkpointId));
   */
  on(event: "checkpoint_created", listener: (event: CheckpointCreatedEvent, sessionId: string) => void): this;

  /**
   * Removes a function that `on` has added.
   *
   * @example store.off("checkpoint_created", listener);
   */
  off(event: "checkpoint_created", listener: (event: CheckpointCreatedEvent, sessionId: string) => void): this;

  /**
   * Returns the events of a session, or of all sessions, as an iterator. It ends when the signal aborts or the store is
   * closed.
   *
   * @example for await (const chunk of store.events("session-1")) console.log(chunk.checkpointId, chunk.stepCount);
   */
  events(sessionId?: string, options?: { signal?: AbortSignal }): AsyncIterableIterator<CheckpointCreatedEvent>;

  /**
   * Takes the lease of a run, so that no other process works on it. It is renewed until it is
   * released, or this object is closed. The lease of a process that has ended on this machine is taken at once.
   * @throws TypeError or RangeError for a wrong run or option. ForkpointError `CONFLICT` if somebody else holds the lease:
   *   `error.lease` says who, and until when.
   * @example await using lease = await store.lease({ space: "helix", run: "session-1" });
   */
  lease(run: RunRef, options?: LeaseOptions): Promise<Lease>;

  /**
   * Returns the same store for the holder of a lease: each of its writes is refused with `CONFLICT`, and stores nothing,
   * if the lease was lost.
   * @throws TypeError if the lease is of another store.
   * @example const mine = store.withLease(lease);
   */
  withLease(lease: Lease): SessionStore<TState>;

  /**
   * Removes checkpoints as in every store, and the sessions whose last write was before `olderThan`. Default: removes
   * what has expired.
   *
   * @example const { sessions, removed } = await store.prune({ olderThan: Date.now() - 86_400_000, dryRun: true });
   */
  prune(options?: PruneOptions<SessionPruneResult>): Promise<SessionPruneResult>;

  /**
   * Returns how many sessions, checkpoints and messages (`records`) are stored and how much storage they use.
   *
   * @example const { sessions, checkpoints, records } = await store.stats();
   */
  stats(options?: StatsOptions): Promise<SessionStats>;

  /**
   * Verifies the whole database and changes nothing. The same as `Store.check()`.
   *
   * @example const { ok, findings } = await store.check();
   */
  check(options?: CheckOptions): Promise<VerifyReport>;

  /**
   * Gives the space of removed data back to the file system. The same as `Store.vacuum()`.
   *
   * @example await store.vacuum();
   */
  vacuum(): Promise<void>;

  /**
   * Waits for earlier calls to end, then closes this object. A second call is allowed. An open store that was given to
   * the constructor stays open.
   *
   * @example await store.close();
   */
  close(): Promise<void>;

  /**
   * Calls `close()` at the end of an `await using` block.
   *
   * @example await using store = new SessionStore("sessions.db");
   */
  [Symbol.asyncDispose](): Promise<void>;
}
