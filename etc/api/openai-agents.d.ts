export {
ForkpointRunStates
ForkpointSession
SessionPruneOptions
TakenBy
};
export type {
AgentsModule
ForkpointRunStatesOptions
ForkpointSessionOptions
SavedRunState
SessionInfo
};
interface AgentsModule {
    UserError: new (message: string) => Error;
    protocol: {
        ModelItem: {
            safeParse(item: unknown): {
                success: boolean;
            };
        };
    };
}
declare class ForkpointRunStates extends RunStore {
    #private;
    constructor(target: string | URL | Store, options?: ForkpointRunStatesOptions);
    save(runId: string, text: string, options?: {
        sessionId?: string;
    }): Promise<void>;
    release(runId: string, text: string): Promise<void>;
    load(runId: string): Promise<SavedRunState | null>;
    list(options?: {
        sessionId?: string;
        limit?: number;
    }): Promise<SavedRunState[]>;
    take(runId: string, options?: {
        sessionId?: string;
        force?: boolean;
    }): Promise<SavedRunState>;
    delete(runId: string, options?: DeleteOptions): Promise<void>;
    withLease(lease: Lease): ForkpointRunStates;
}
interface ForkpointRunStatesOptions extends StoreOptions {
    takenMs?: number;
}
declare class ForkpointSession extends ContractStore {
    #private;
    constructor(target: string | URL | Store, options?: ForkpointSessionOptions);
    getSessionId(): Promise<string>;
    getItems(limit?: number): Promise<AgentInputItem[]>;
    addItems(items: AgentInputItem[]): Promise<void>;
    popItem(): Promise<AgentInputItem | undefined>;
    clearSession(): Promise<void>;
    applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void>;
    replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void>;
    applyHistoryMutations(args: SessionHistoryRewriteArgs): Promise<void>;
    rewind(toItemCount: number, options?: {
        force?: boolean;
    }): Promise<void>;
    fork(newSessionId: string, atItemCount?: number): Promise<ForkpointSession>;
    trim(keepItems: number): Promise<number>;
    prune(options?: SessionPruneOptions): Promise<{
        sessions: number;
    }>;
    static list(target: string | URL | Store, options?: {
        limit?: number;
    }): Promise<SessionInfo[]>;
    withLease(lease: Lease): ForkpointSession;
}
interface ForkpointSessionOptions extends Omit<StoreOptions, "keepLastN" | "maxBytes"> {
    sessionId?: string;
    ttlMs?: number | null;
    waitingTtlMs?: number | null;
    agents?: AgentsModule;
}
interface SavedRunState {
    runId: string;
    text: string;
    sessionId?: string;
    taken?: TakenBy;
}
interface SessionInfo {
    sessionId: string;
    updatedAt: number;
}
