/** Helix' contract: sessions, messages, runs and checkpoints, and the framework's store interface. */

import type { DeleteOptions } from "../../store/removing.js";

/** The status of an agent: one of the framework's, or any other text. */
export type AgentStatus =
  | "active"
  | "running"
  | "paused"
  | "interrupted"
  | "completed"
  | "failed"
  // Keeps an editor's suggestions for the statuses above.
  | (string & {});

/** A message of a conversation. Every field is stored. */
export interface Message {
  role: string;
  content?: unknown;
  /** The model's thoughts. `getMessages` leaves them out on request. */
  thinking?: unknown;
  [field: string]: unknown;
}

/** The state of an agent. Every field is stored, including fields that are not declared here. */
export interface AgentState<TState = Record<string, any>, TOutput = unknown> {
  sessionId?: string;
  agentType?: string;
  status: AgentStatus;
  stepCount: number;
  customState: TState;
  /** All messages of the conversation. Those that equal the session's are not stored twice. */
  messages?: Message[];
  output?: TOutput;
  [field: string]: unknown;
}

/** A checkpoint in a listing. */
export interface CheckpointMeta {
  id: string;
  sessionId: string;
  stepCount: number;
  /** The creator's time of the checkpoint, in ms since the epoch. */
  timestamp: number;
  /** `state.status` of the checkpoint. */
  status: AgentStatus;
}

/** A snapshot of a session after a step. */
export interface Checkpoint<TState = Record<string, any>, TOutput = unknown> extends Omit<CheckpointMeta, "status"> {
  state: AgentState<TState, TOutput> & { messages: Message[] };
  /** The number of messages of the session at the checkpoint. */
  messageCount: number;
  /** The position in the agent's stream, from which a resumed agent continues it. */
  streamSequence: number;
}

/** A checkpoint to save. Fields that are not declared here are stored too. */
export interface NewCheckpoint<TState = Record<string, any>, TOutput = unknown> extends Omit<
  Checkpoint<TState, TOutput>,
  "state" | "messageCount" | "streamSequence"
> {
  /** Without `messages`, the checkpoint gets the messages of its session. */
  state: AgentState<TState, TOutput>;
  /** Default: the session's number of messages at the save. Without a session: the state's number of messages. */
  messageCount?: number;
  /** Default: 0. */
  streamSequence?: number;
}

/** A page of checkpoints. The last saved one comes first. */
export interface CheckpointPage {
  items: CheckpointMeta[];
  /** The number of the session's checkpoints. */
  total: number;
  /** True if there are checkpoints after this page. */
  hasMore: boolean;
  /** Pass this cursor to the next call instead of an `offset`. Missing on the last page. */
  cursor?: string;
}

/** A page of messages, oldest first. */
export interface MessagesPage {
  messages: Message[];
  /** The number of the session's messages. */
  total: number;
  /** True if there are messages after this page. */
  hasMore: boolean;
}

/** The initial values of a session. All other fields become fields of the session's state. */
export interface CreateSessionOptions<TState = Record<string, any>> {
  /** The kind of agent. `sessions()` can filter by it. */
  agentType: string;
  /** The `customState` of the new session. Default: `{}`. */
  initialState?: TState;
  [field: string]: unknown;
}

/**
 * Changes of a `customState`: the new values by key. The framework's own form is also allowed: `values` has the new
 * values, and an array is appended to the stored one unless `arrayReplacements` contains its key.
 */
export type CustomStateChanges =
  | Record<string, unknown>
  | { values: Record<string, unknown>; arrayReplacements: Iterable<string>; warnings?: string[] };

/** The result of a merge. */
export interface MergeResult {
  /** Names the arrays that replaced a stored value instead of being appended, because the value is not an array. */
  warnings: string[];
}

/** One execution of the agent within a session. */
export interface Run {
  runId: string;
  sessionId: string;
  /** The number of the run in its session, from 1. */
  turn: number;
  /** `"running"` until the run ends. */
  status: string;
  /** ms since the epoch. */
  startedAt: number;
  /** ms since the epoch. Missing until the run ends. */
  endedAt?: number;
  [field: string]: unknown;
}

/** A run to start. Every field is stored. */
export interface StartRun {
  /** Default: a random UUID. */
  runId?: string;
  [field: string]: unknown;
}

/** The values of a run's end. Every field is stored. */
export interface EndRun {
  /** Default: `"completed"`. */
  status?: string;
  [field: string]: unknown;
}

/** A reference to the session of a sub-agent: its id, or an object with one of these three fields. */
export type SubSessionRef =
  | string
  | { subSessionId: string; [field: string]: unknown }
  | { sessionId: string; [field: string]: unknown }
  | { id: string; [field: string]: unknown };

/** The methods of the framework's state store that {@link SessionStore} implements. */
export interface SessionStateStore<TState = Record<string, any>> {
  /**
   * Creates a session. Its status is `"active"`, its `stepCount` is 0, and `initialState` is its `customState`.
   * @throws ForkpointError `CONFLICT` if the session exists. `INVALID_ARGUMENT` if a value cannot be stored.
   * @example await store.createSession("session-1", { agentType: "researcher", initialState: { topic: "rust" } });
   */
  createSession(sessionId: string, options: CreateSessionOptions<TState>): Promise<void>;
  /**
   * Returns true if the session exists and has not expired.
   * @example if (!(await store.sessionExists("session-1"))) console.log("expired or never created");
   */
  sessionExists(sessionId: string): Promise<boolean>;
  /**
   * The same as `sessionExists`.
   * @example const isThere = await store.exists("session-1");
   */
  exists(sessionId: string): Promise<boolean>;
  /**
   * Removes a session with its messages and checkpoints, in one transaction. An unknown session causes no error.
   * @throws ForkpointError `CONFLICT` if a process holds the lease of the session, unless `force` is true.
   * @example await store.deleteSession("session-1");
   */
  deleteSession(sessionId: string, options?: DeleteOptions): Promise<void>;
  /**
   * Returns the state of a session, or null if there is no such session. It has `messages` if it was saved with
   * messages. `getMessages` reads the session's log.
   * @example const topic = (await store.loadState("session-1"))?.customState.topic;
   */
  loadState(sessionId: string): Promise<AgentState<TState> | null>;
  /**
   * Replaces the state of a session. The session's log of messages does not change. An unknown session is created.
   * @throws TypeError if the state is not an object. ForkpointError `INVALID_ARGUMENT` if a value cannot be stored.
   * @example await store.saveState("session-1", { status: "active", stepCount: 3, customState: { topic: "rust" } });
   */
  saveState(sessionId: string, state: AgentState<TState>): Promise<void>;
  /**
   * Sets the status of a session.
   * @example await store.updateStatus("session-1", "completed");
   */
  updateStatus(sessionId: string, status: AgentStatus): Promise<void>;
  /**
   * Sets the status if the current one is expected, and returns whether it was. Of several concurrent processes, one
   * succeeds.
   * @example const isMine = await store.compareAndSetStatus("session-1", ["active", "interrupted"], "running");
   */
  compareAndSetStatus(
    sessionId: string,
    expected: AgentStatus | readonly AgentStatus[],
    next: AgentStatus,
  ): Promise<boolean>;
  /**
   * Adds 1 to `stepCount` and returns the new number.
   * @example const step = await store.incrementStepCount("session-1");
   */
  incrementStepCount(sessionId: string): Promise<number>;
  /**
   * Merges changes into `customState`. A value replaces the stored value of its key. Other keys stay. For appended
   * arrays, see {@link CustomStateChanges}.
   * @example await store.mergeCustomState("session-1", { topic: "sqlite" });
   */
  mergeCustomState(sessionId: string, changes: CustomStateChanges): Promise<MergeResult>;
  /**
   * Stores changes beside the state until they are merged or dropped. `loadState` does not include them.
   * @example await store.stageChanges("session-1", { topic: "sqlite" });
   */
  stageChanges(sessionId: string, changes: CustomStateChanges): Promise<void>;
  /**
   * Merges all staged changes into `customState`, in staging order.
   * @example const { warnings } = await store.promoteStaging("session-1");
   */
  promoteStaging(sessionId: string): Promise<MergeResult>;
  /**
   * Drops all staged changes.
   * @example await store.discardStaging("session-1");
   */
  discardStaging(sessionId: string): Promise<void>;
  /**
   * Appends messages to the log of a session: all or none. Messages of a call stay together and in order.
   * @example await store.appendMessages("session-1", [{ role: "user", content: "Hello" }]);
   */
  appendMessages(sessionId: string, messages: readonly Message[]): Promise<void>;
  /**
   * Returns messages of the log, oldest first. `offset` is the number of messages to skip (default: 0), `limit` the
   * maximum number of messages (default: all). With `includeThinking: false`, the field `thinking` is left out
   * (default: true).
   * @throws RangeError for a negative or fractional `offset` or `limit`.
   * @example const { messages, total } = await store.getMessages("session-1", { offset: 100, limit: 20 });
   */
  getMessages(
    sessionId: string,
    options?: { offset?: number; limit?: number; includeThinking?: boolean },
  ): Promise<MessagesPage>;
  /**
   * Returns the number of messages of a session.
   * @example const count = await store.getMessageCount("session-1");
   */
  getMessageCount(sessionId: string): Promise<number>;
  /**
   * Keeps the first `count` messages of a session. A session with fewer messages stays as it is. Checkpoints keep all
   * of their messages.
   * @throws RangeError for a negative or fractional `count`.
   * @example await store.truncateMessages("session-1", 10);
   */
  truncateMessages(sessionId: string, count: number): Promise<void>;
  saveCheckpoint(checkpoint: NewCheckpoint<TState>): Promise<void>;
  saveCheckpoint(sessionId: string, checkpoint: NewCheckpoint<TState>): Promise<void>;
  getCheckpoint(checkpointId: string): Promise<Checkpoint<TState> | null>;
  getCheckpoint(sessionId: string, checkpointId: string): Promise<Checkpoint<TState> | null>;
  /**
   * Returns the last saved checkpoint of a session, or null if there is none. Its `timestamp` need not be the greatest,
   * because a clock may step back.
   * @example const latest = await store.getLatestCheckpoint("session-1");
   */
  getLatestCheckpoint(sessionId: string): Promise<Checkpoint<TState> | null>;
  /**
   * Lists the checkpoints of a session, the last saved one first. `limit` is the maximum number of items (default:
   * all), `offset` the number of checkpoints to skip (default: 0). If checkpoints may be saved between the calls, pass
   * the `cursor` of the last page instead of an `offset`.
   * @throws RangeError for a negative or fractional `offset` or `limit`.
   * @example const { items, total } = await store.listCheckpoints("session-1", { limit: 10 });
   */
  listCheckpoints(
    sessionId: string,
    options?: { limit?: number; offset?: number; cursor?: string | null | undefined },
  ): Promise<CheckpointPage>;
  /**
   * Adds a run to a session.
   * @throws ForkpointError `CONFLICT` if the session has a run with this id.
   * @example const { runId, turn } = await store.startRun("session-1", { startSequence: 42 });
   */
  startRun(sessionId: string, run?: StartRun): Promise<Run>;
  /**
   * Ends a run.
   * @throws ForkpointError `NOT_FOUND` if the session has no such run. `CONFLICT` if the run has already ended.
   * @example await store.endRun("session-1", runId, { status: "interrupted" });
   */
  endRun(sessionId: string, runId: string, end?: EndRun): Promise<Run>;
  /**
   * Returns the runs of a session, in starting order.
   * @example const running = (await store.listRuns("session-1")).filter(({ status }) => status === "running");
   */
  listRuns(sessionId: string): Promise<Run[]>;
  /**
   * Adds a reference to the session of a sub-agent. A reference to the same session replaces the earlier one.
   * @example await store.addSubSession("session-1", { subSessionId: "session-2", agentType: "critic" });
   */
  addSubSession(sessionId: string, ref: SubSessionRef): Promise<void>;
  /**
   * Returns the references to sub-sessions, in the order of adding.
   * @example const refs = await store.listSubSessions("session-1");
   */
  listSubSessions(sessionId: string): Promise<SubSessionRef[]>;
}
