/** Helix' contract: sessions, messages, runs and checkpoints, and the store that the framework expects. */

/** The status of an agent: one of the framework's, or any other text. */
export type AgentStatus =
  | "active"
  | "running"
  | "paused"
  | "interrupted"
  | "completed"
  | "failed"
  // Keeps the suggestions of an editor.
  | (string & {});

/** A message of a conversation. Every field is stored. */
export interface Message {
  role: string;
  content?: unknown;
  /** The model's thoughts. `getMessages` leaves them out on request. */
  thinking?: unknown;
  [field: string]: unknown;
}

/** The state of an agent. Every field is stored, also one that is not declared here. */
export interface AgentState<TState = Record<string, any>, TOutput = unknown> {
  sessionId?: string;
  agentType?: string;
  status: AgentStatus;
  stepCount: number;
  customState: TState;
  /** All messages of the conversation. Messages that equal those of the session are not stored twice. */
  messages?: Message[];
  output?: TOutput;
  [field: string]: unknown;
}

/** A checkpoint in a listing. */
export interface CheckpointMeta {
  id: string;
  sessionId: string;
  stepCount: number;
  /** The time of the checkpoint, in ms since the epoch, as its creator gave it. */
  timestamp: number;
  /** `state.status` of the checkpoint. */
  status: AgentStatus;
}

/** A snapshot of a session after a step. */
export interface Checkpoint<TState = Record<string, any>, TOutput = unknown> extends Omit<CheckpointMeta, "status"> {
  state: AgentState<TState, TOutput> & { messages: Message[] };
  /** How many messages the session had. */
  messageCount: number;
  /** The position in the agent's stream. A resumed agent continues its stream from here. */
  streamSequence: number;
}

/** A checkpoint to save. Fields that are not declared here are stored too. */
export interface NewCheckpoint<TState = Record<string, any>, TOutput = unknown> extends Omit<
  Checkpoint<TState, TOutput>,
  "state" | "messageCount" | "streamSequence"
> {
  /** Without `messages`, the checkpoint gets the messages of its session. */
  state: AgentState<TState, TOutput>;
  /**
   * Default: the number of messages that the session has when the checkpoint is stored. Without a session, the number
   * of messages in the state.
   */
  messageCount?: number;
  /** Default: 0. */
  streamSequence?: number;
}

/** A page of checkpoints. The checkpoint with the greatest timestamp comes first. */
export interface CheckpointPage {
  items: CheckpointMeta[];
  /** How many checkpoints the session has. */
  total: number;
  /** True if there are checkpoints after this page. */
  hasMore: boolean;
  /** If there are checkpoints after this page: pass it to the next call, in place of an `offset`. */
  cursor?: string;
}

/** A page of messages, in the order in which they were appended. */
export interface MessagesPage {
  messages: Message[];
  /** How many messages the session has. */
  total: number;
  /** True if there are messages after this page. */
  hasMore: boolean;
}

/** How a session begins. Every other field becomes a field of the session's state. */
export interface CreateSessionOptions<TState = Record<string, any>> {
  /** The kind of agent. `sessions()` can filter by it. */
  agentType: string;
  /** The `customState` of the new session. Default: `{}`. */
  initialState?: TState;
  [field: string]: unknown;
}

/**
 * Changes of a `customState`: the new values by their keys. The framework's own form is taken too: `values` has the new
 * values, and an array is appended to the stored array unless `arrayReplacements` has its key.
 */
export type CustomStateChanges =
  | Record<string, unknown>
  | { values: Record<string, unknown>; arrayReplacements: Iterable<string>; warnings?: string[] };

/** The result of a merge. */
export interface MergeResult {
  /** Says which arrays could not be appended, because the stored value is not an array. Those replaced the value. */
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
  /** ms since the epoch. Missing while the run goes on. */
  endedAt?: number;
  [field: string]: unknown;
}

/** A run to start. Every field is stored. */
export interface StartRun {
  /** Default: a random UUID. */
  runId?: string;
  [field: string]: unknown;
}

/** How a run ends. Every field is stored. */
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
  createSession(sessionId: string, options: CreateSessionOptions<TState>): Promise<void>;
  sessionExists(sessionId: string): Promise<boolean>;
  exists(sessionId: string): Promise<boolean>;
  deleteSession(sessionId: string): Promise<void>;
  loadState(sessionId: string): Promise<AgentState<TState> | null>;
  saveState(sessionId: string, state: AgentState<TState>): Promise<void>;
  updateStatus(sessionId: string, status: AgentStatus): Promise<void>;
  compareAndSetStatus(
    sessionId: string,
    expected: AgentStatus | readonly AgentStatus[],
    next: AgentStatus,
  ): Promise<boolean>;
  incrementStepCount(sessionId: string): Promise<number>;
  mergeCustomState(sessionId: string, changes: CustomStateChanges): Promise<MergeResult>;
  stageChanges(sessionId: string, changes: CustomStateChanges): Promise<void>;
  promoteStaging(sessionId: string): Promise<MergeResult>;
  discardStaging(sessionId: string): Promise<void>;
  appendMessages(sessionId: string, messages: readonly Message[]): Promise<void>;
  getMessages(
    sessionId: string,
    options?: { offset?: number; limit?: number; includeThinking?: boolean },
  ): Promise<MessagesPage>;
  getMessageCount(sessionId: string): Promise<number>;
  truncateMessages(sessionId: string, count: number): Promise<void>;
  saveCheckpoint(checkpoint: NewCheckpoint<TState>): Promise<void>;
  saveCheckpoint(sessionId: string, checkpoint: NewCheckpoint<TState>): Promise<void>;
  getCheckpoint(checkpointId: string): Promise<Checkpoint<TState> | null>;
  getCheckpoint(sessionId: string, checkpointId: string): Promise<Checkpoint<TState> | null>;
  getLatestCheckpoint(sessionId: string): Promise<Checkpoint<TState> | null>;
  listCheckpoints(
    sessionId: string,
    options?: { limit?: number; offset?: number; cursor?: string | null | undefined },
  ): Promise<CheckpointPage>;
  startRun(sessionId: string, run?: StartRun): Promise<Run>;
  endRun(sessionId: string, runId: string, end?: EndRun): Promise<Run>;
  listRuns(sessionId: string): Promise<Run[]>;
  addSubSession(sessionId: string, ref: SubSessionRef): Promise<void>;
  listSubSessions(sessionId: string): Promise<SubSessionRef[]>;
}
