export {
SessionPruneOptions
SessionStore
};
export type {
FoldSessionSummary
SessionKey
SessionStoreEntry
SessionStoreOptions
SessionSummaryEntry
};
type FoldSessionSummary = (previous: SessionSummaryEntry | undefined, key: SessionKey, entries: SessionStoreEntry[], options?: {
    mtime?: number;
}) => SessionSummaryEntry;
interface SessionKey {
    projectKey: string;
    sessionId: string;
    subpath?: string;
}
declare class SessionStore extends ContractStore {
    #private;
    listSessionSummaries?: (projectKey: string) => Promise<SessionSummaryEntry[]>;
    constructor(target: string | URL | Store, options?: SessionStoreOptions);
    static open(target: string | URL | Store, options?: SessionStoreOptions): Promise<SessionStore>;
    append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void>;
    load(key: SessionKey, range?: {
        after?: number;
        limit?: number;
    }): Promise<SessionStoreEntry[] | null>;
    listSessions(projectKey: string): Promise<Array<{
        sessionId: string;
        mtime: number;
    }>>;
    listProjects(): Promise<string[]>;
    delete(key: SessionKey, options?: DeleteOptions): Promise<void>;
    listSubkeys(key: {
        projectKey: string;
        sessionId: string;
    }): Promise<string[]>;
    truncate(key: SessionKey, uuid: string): Promise<void>;
    prune(options?: SessionPruneOptions): Promise<{
        sessions: number;
    }>;
    stats(options?: StatsOptions): Promise<RunStats>;
    withLease(lease: Lease): SessionStore;
}
interface SessionStoreEntry {
    type: string;
    uuid?: string;
    timestamp?: string;
    [field: string]: unknown;
}
interface SessionStoreOptions extends Omit<StoreOptions, "keepLastN" | "maxBytes" | "waitingTtlMs"> {
    foldSessionSummary?: FoldSessionSummary;
    ttlMs?: number | null;
}
interface SessionSummaryEntry {
    sessionId: string;
    mtime: number;
    data: Record<string, unknown>;
}
