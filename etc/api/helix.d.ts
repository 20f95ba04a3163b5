export {
SessionStore
generateCheckpointId
parseCheckpointId
};
export type {
AgentState
AgentStatus
Checkpoint
CheckpointCreatedEvent
CheckpointMeta
CheckpointPage
CreateSessionOptions
CustomStateChanges
EndRun
MergeResult
Message
MessagesPage
NewCheckpoint
ParsedCheckpointId
Run
SessionInfo
SessionPruneResult
SessionStateStore
SessionStats
SessionStoreOptions
SessionsPage
StartRun
SubSessionRef
};
interface AgentState<TState = Record<string, any>, TOutput = unknown> {
    sessionId?: string;
    agentType?: string;
    status: AgentStatus;
    stepCount: number;
    customState: TState;
    messages?: Message[];
    output?: TOutput;
    [field: string]: unknown;
}
type AgentStatus = "active" | "running" | "paused" | "interrupted" | "completed" | "failed" | (string & {});
interface Checkpoint<TState = Record<string, any>, TOutput = unknown> extends Omit<CheckpointMeta, "status"> {
    state: AgentState<TState, TOutput> & {
        messages: Message[];
    };
    messageCount: number;
    streamSequence: number;
}
interface CheckpointCreatedEvent {
    type: "checkpoint_created";
    checkpointId: string;
    stepCount: number;
}
interface CheckpointMeta {
    id: string;
    sessionId: string;
    stepCount: number;
    timestamp: number;
    status: AgentStatus;
}
interface CheckpointPage {
    items: CheckpointMeta[];
    total: number;
    hasMore: boolean;
    cursor?: string;
}
interface CreateSessionOptions<TState = Record<string, any>> {
    agentType: string;
    initialState?: TState;
    [field: string]: unknown;
}
type CustomStateChanges = Record<string, unknown> | {
    values: Record<string, unknown>;
    arrayReplacements: Iterable<string>;
    warnings?: string[];
};
interface EndRun {
    status?: string;
    [field: string]: unknown;
}
interface MergeResult {
    warnings: string[];
}
interface Message {
    role: string;
    content?: unknown;
    thinking?: unknown;
    [field: string]: unknown;
}
interface MessagesPage {
    messages: Message[];
    total: number;
    hasMore: boolean;
}
interface NewCheckpoint<TState = Record<string, any>, TOutput = unknown> extends Omit<Checkpoint<TState, TOutput>, "state" | "messageCount" | "streamSequence"> {
    state: AgentState<TState, TOutput>;
    messageCount?: number;
    streamSequence?: number;
}
interface ParsedCheckpointId {
    version: 1;
    sessionId: string;
    stepCount: number;
    timestamp: number;
    random: string;
}
interface Run {
    runId: string;
    sessionId: string;
    turn: number;
    status: string;
    startedAt: number;
    endedAt?: number;
    [field: string]: unknown;
}
interface SessionInfo {
    sessionId: string;
    agentType: string;
    status: AgentStatus;
    stepCount: number;
    createdAt: number;
    updatedAt: number;
    lease: LeaseHolder | null;
}
interface SessionPruneResult extends Omit<PruneResult, "lineages"> {
    sessions: number;
}
interface SessionStateStore<TState = Record<string, any>> {
    createSession(sessionId: string, options: CreateSessionOptions<TState>): Promise<void>;
    sessionExists(sessionId: string): Promise<boolean>;
    exists(sessionId: string): Promise<boolean>;
    deleteSession(sessionId: string, options?: DeleteOptions): Promise<void>;
    loadState(sessionId: string): Promise<AgentState<TState> | null>;
    saveState(sessionId: string, state: AgentState<TState>): Promise<void>;
    updateStatus(sessionId: string, status: AgentStatus): Promise<void>;
    compareAndSetStatus(sessionId: string, expected: AgentStatus | readonly AgentStatus[], next: AgentStatus): Promise<boolean>;
    incrementStepCount(sessionId: string): Promise<number>;
    mergeCustomState(sessionId: string, changes: CustomStateChanges): Promise<MergeResult>;
    stageChanges(sessionId: string, changes: CustomStateChanges): Promise<void>;
    promoteStaging(sessionId: string): Promise<MergeResult>;
    discardStaging(sessionId: string): Promise<void>;
    appendMessages(sessionId: string, messages: readonly Message[]): Promise<void>;
    getMessages(sessionId: string, options?: {
        offset?: number;
        limit?: number;
        includeThinking?: boolean;
    }): Promise<MessagesPage>;
    getMessageCount(sessionId: string): Promise<number>;
    truncateMessages(sessionId: string, count: number): Promise<void>;
    saveCheckpoint(checkpoint: NewCheckpoint<TState>): Promise<void>;
    saveCheckpoint(sessionId: string, checkpoint: NewCheckpoint<TState>): Promise<void>;
    getCheckpoint(checkpointId: string): Promise<Checkpoint<TState> | null>;
    getCheckpoint(sessionId: string, checkpointId: string): Promise<Checkpoint<TState> | null>;
    getLatestCheckpoint(sessionId: string): Promise<Checkpoint<TState> | null>;
    listCheckpoints(sessionId: string, options?: {
        limit?: number;
        offset?: number;
        cursor?: string | null | undefined;
    }): Promise<CheckpointPage>;
    startRun(sessionId: string, run?: StartRun): Promise<Run>;
    endRun(sessionId: string, runId: string, end?: EndRun): Promise<Run>;
    listRuns(sessionId: string): Promise<Run[]>;
    addSubSession(sessionId: string, ref: SubSessionRef): Promise<void>;
    listSubSessions(sessionId: string): Promise<SubSessionRef[]>;
}
interface SessionStats extends Omit<StoreStats, "lineages" | "largest"> {
    sessions: number;
    largest: Array<{
        sessionId: string;
    } & Omit<LineageStats, "lineage">>;
}
declare class SessionStore<TState extends object = Record<string, any>> extends ContractStore implements SessionStateStore<TState> {
    #private;
    constructor(target: string | URL | Store, options?: SessionStoreOptions);
    createSession(sessionId: string, options: CreateSessionOptions<TState>): Promise<void>;
    sessionExists(sessionId: string): Promise<boolean>;
    exists(sessionId: string): Promise<boolean>;
    deleteSession(sessionId: string, options?: DeleteOptions): Promise<void>;
    loadState(sessionId: string): Promise<AgentState<TState> | null>;
    saveState(sessionId: string, state: AgentState<TState>): Promise<void>;
    updateStatus(sessionId: string, status: AgentStatus): Promise<void>;
    compareAndSetStatus(sessionId: string, expected: AgentStatus | readonly AgentStatus[], next: AgentStatus): Promise<boolean>;
    incrementStepCount(sessionId: string): Promise<number>;
    mergeCustomState(sessionId: string, changes: CustomStateChanges): Promise<MergeResult>;
    stageChanges(sessionId: string, changes: CustomStateChanges): Promise<void>;
    getStaging(sessionId: string): Promise<CustomStateChanges[]>;
    promoteStaging(sessionId: string): Promise<MergeResult>;
    discardStaging(sessionId: string): Promise<void>;
    appendMessages(sessionId: string, messages: readonly Message[]): Promise<void>;
    getMessages(sessionId: string, options?: {
        offset?: number;
        limit?: number;
        includeThinking?: boolean;
    }): Promise<MessagesPage>;
    getMessageCount(sessionId: string): Promise<number>;
    truncateMessages(sessionId: string, count: number): Promise<void>;
    saveCheckpoint(checkpoint: NewCheckpoint<TState>): Promise<void>;
    saveCheckpoint(sessionId: string, checkpoint: NewCheckpoint<TState>): Promise<void>;
    getCheckpoint(checkpointId: string): Promise<Checkpoint<TState> | null>;
    getCheckpoint(sessionId: string, checkpointId: string): Promise<Checkpoint<TState> | null>;
    getLatestCheckpoint(sessionId: string): Promise<Checkpoint<TState> | null>;
    listCheckpoints(sessionId: string, options?: {
        limit?: number;
        offset?: number;
        cursor?: string | null | undefined;
    }): Promise<CheckpointPage>;
    rewindTo(checkpointId: string): Promise<Checkpoint<TState>>;
    rewindTo(sessionId: string, checkpointId: string): Promise<Checkpoint<TState>>;
    branchSession(checkpointId: string, newSessionId: string): Promise<Checkpoint<TState>>;
    startRun(sessionId: string, run?: StartRun): Promise<Run>;
    endRun(sessionId: string, runId: string, end?: EndRun): Promise<Run>;
    listRuns(sessionId: string): Promise<Run[]>;
    addSubSession(sessionId: string, ref: SubSessionRef): Promise<void>;
    listSubSessions(sessionId: string): Promise<SubSessionRef[]>;
    sessions(options?: {
        status?: AgentStatus | readonly AgentStatus[];
        agentType?: string | readonly string[];
        cursor?: string | null | undefined;
        limit?: number;
    }): Promise<SessionsPage>;
    on(event: "checkpoint_created", listener: (event: CheckpointCreatedEvent, sessionId: string) => void): this;
    off(event: "checkpoint_created", listener: (event: CheckpointCreatedEvent, sessionId: string) => void): this;
    events(sessionId?: string, options?: {
        signal?: AbortSignal;
    }): AsyncIterableIterator<CheckpointCreatedEvent>;
    withLease(lease: Lease): SessionStore<TState>;
    prune(options?: PruneOptions<SessionPruneResult>): Promise<SessionPruneResult>;
    stats(options?: StatsOptions): Promise<SessionStats>;
    close(): Promise<void>;
}
interface SessionStoreOptions extends StoreOptions {
    ttlMs?: number | null;
    ttl?: number | null;
    now?: () => number;
}
interface SessionsPage {
    sessions: SessionInfo[];
    cursor: string | null;
}
interface StartRun {
    runId?: string;
    [field: string]: unknown;
}
type SubSessionRef = string | {
    subSessionId: string;
    [field: string]: unknown;
} | {
    sessionId: string;
    [field: string]: unknown;
} | {
    id: string;
    [field: string]: unknown;
};
declare function generateCheckpointId(sessionId: string, stepCount: number, timestamp?: number): string;
declare function parseCheckpointId(id: string): ParsedCheckpointId | null;
