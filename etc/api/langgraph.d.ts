export {
DescribeOptions
ForkpointCache
ForkpointSaver
ForkpointStore
ProgramDescription
describe
recover
};
export type {
ChangedThread
ExportOptions
ExportProgress
ExportResult
FailedThread
ForkpointCacheOptions
ForkpointStoreOptions
ImportOptions
ImportProgress
ImportResult
LanggraphRecoverOptions
ListThreadsOptions
NodeError
PruneStrategy
RecoverableAgent
RecoverableThreads
RecoveredThread
SaverOptions
SaverPruneOptions
SaverPruneResult
SaverStats
SkippedThread
ThreadOutcome
ThreadStatus
ThreadsPage
UnexportedThread
WaitingThread
};
interface Builder {
    nodes: Record<string, {
        ends?: unknown;
        defer?: unknown;
        errorHandlerNode?: unknown;
    } | undefined>;
    edges: Iterable<[
        string,
        string
    ]>;
    waitingEdges: Iterable<[
        string[],
        string
    ]>;
    branches: Record<string, Record<string, {
        ends?: Record<string, string> | string[] | undefined;
    }>>;
    channels: object;
}
interface ChangedThread extends ChangedRun {
    threadId: string;
}
type Config = Parameters<BaseCheckpointSaver["getTuple"]>[0];
interface ExportOptions {
    threads?: readonly string[];
    signal?: AbortSignal;
    onProgress?: (progress: ExportProgress) => void;
}
interface ExportProgress {
    threads: number;
    ofThreads: number;
    checkpoints: number;
    writes: number;
    skipped: number;
}
interface ExportResult extends ExportProgress {
    skippedThreads: UnexportedThread[];
}
interface FailedThread {
    threadId: string;
    checkpointId: string;
    next: string[];
    error: NodeError;
}
declare class ForkpointCache<V = unknown> extends BaseCache<V> {
    constructor(target: string | URL | Store, options?: ForkpointCacheOptions);
    get(keys: CacheFullKey[]): Promise<{
        key: CacheFullKey;
        value: V;
    }[]>;
    set(pairs: {
        key: CacheFullKey;
        value: V;
        ttl?: number;
    }[]): Promise<void>;
    clear(namespaces: CacheNamespace[]): Promise<void>;
    check(options?: CheckOptions): Promise<VerifyReport>;
    vacuum(): Promise<void>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
interface ForkpointCacheOptions extends Omit<StoreOptions, "serializer" | "durability"> {
    serde?: SerializerProtocol;
    namespace?: string;
    ttl?: number;
    durability?: "full" | "normal" | "off";
}
interface ForkpointSaver extends StoreMethods {
}
declare class ForkpointSaver extends BaseCheckpointSaver {
    constructor(target: string | URL | Store, options?: SaverOptions);
    get program(): string | undefined;
    get version(): string | undefined;
    getTuple(config: Config): Promise<CheckpointTuple | undefined>;
    list(config: Config, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple>;
    put(config: Config, checkpoint: Checkpoint, metadata: CheckpointMetadata, newVersions: ChannelVersions): Promise<Config>;
    putWrites(config: Config, writes: PendingWrite[], taskId: string, taskPath?: string): Promise<void>;
    deleteThread(threadId: string, options?: DeleteOptions): Promise<void>;
    getDeltaChannelHistory(options: {
        config: Config;
        channels: string[];
    }): Promise<Record<string, DeltaChannelHistory>>;
    prune(threadIds: string[], strategy?: PruneStrategy, options?: SaverPruneOptions): Promise<SaverPruneResult>;
    deleteForRuns(runIds: string[], options?: SaverPruneOptions): Promise<SaverPruneResult>;
    copyThread(sourceThreadId: string, targetThreadId: string): Promise<void>;
    listThreads(options?: ListThreadsOptions): Promise<ThreadsPage>;
    status(threadId: string): Promise<ThreadStatus | null>;
    importSqliteSaver(from: string | URL, options?: ImportOptions): Promise<ImportResult>;
    importPostgresSaver(from: BaseCheckpointSaver, options?: ImportOptions): Promise<ImportResult>;
    importFrom(from: BaseCheckpointSaver, options?: ImportOptions): Promise<ImportResult>;
    exportTo(to: BaseCheckpointSaver, options?: ExportOptions): Promise<ExportResult>;
    stats(options?: StatsOptions): Promise<SaverStats>;
    withLease(lease: Lease): ForkpointSaver;
}
declare class ForkpointStore extends BaseStore {
    constructor(target: string | URL | Store, options?: ForkpointStoreOptions);
    batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>>;
    stats(options?: StatsOptions): Promise<RunStats>;
    check(options?: CheckOptions): Promise<VerifyReport>;
    vacuum(): Promise<void>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
interface ForkpointStoreOptions extends StoreOptions {
    ttl?: {
        defaultTtl?: number;
        refreshOnRead?: boolean;
    };
}
interface ImportOptions {
    threads?: readonly string[];
    onConflict?: "skip" | "fail";
    signal?: AbortSignal;
    onProgress?: (progress: ImportProgress) => void;
}
interface ImportProgress {
    threads: number;
    ofThreads: number;
    checkpoints: number;
    writes: number;
    skipped: number;
}
interface ImportResult extends ImportProgress {
    skippedThreads: SkippedThread[];
}
interface LanggraphRecoverOptions extends RecoverOptions<RecoveredThread, ChangedThread> {
    onWaiting?: (thread: WaitingThread) => unknown;
    onFailed?: (thread: FailedThread) => "retry" | "leave" | undefined | Promise<"retry" | "leave" | undefined>;
    threads?: readonly string[];
    config?: {
        configurable?: Record<string, unknown>;
        interruptBefore?: readonly string[] | "*" | undefined;
        interruptAfter?: readonly string[] | "*" | undefined;
        signal?: AbortSignal | undefined;
        [key: string]: unknown;
    };
}
interface ListThreadsOptions {
    limit?: number | undefined;
    cursor?: string | null | undefined;
    order?: "desc" | "asc" | undefined;
    filter?: Record<string, unknown> | null | undefined;
    status?: RunStatus | RunStatus[] | undefined;
    withNext?: boolean | undefined;
}
interface NodeError {
    name: string;
    message: string;
}
type PruneStrategy = "keep_latest" | "delete" | {
    keepLastN?: number | null;
    olderThan?: Date | number | null;
    waiting?: boolean;
};
interface RecoverableAgent {
    invoke(input: any, config?: any): Promise<unknown>;
    graph: RecoverableThreads;
}
interface RecoverableThreads extends ShapedGraph {
    invoke(input: any, config?: any): Promise<unknown>;
    updateState?(config: any, values: any): Promise<unknown>;
    name?: string | undefined;
    config?: {
        configurable?: Record<string, unknown> | undefined;
    } | undefined;
    checkpointer?: unknown;
    interruptBefore?: readonly string[] | "*" | undefined;
    interruptAfter?: readonly string[] | "*" | undefined;
}
type RecoveredThread = {
    threadId: string;
} & (ThreadOutcome | UnrecoveredRun);
interface SaverOptions extends Omit<StoreOptions, "serializer"> {
    serde?: SerializerProtocol;
    expectedParent?: boolean;
    lease?: boolean | {
        ttlMs?: number;
    };
    metadataIndexes?: readonly string[];
    program?: string | {
        name: string;
        force?: boolean;
    };
    version?: string;
}
interface SaverPruneOptions extends DeleteOptions {
    dryRun?: boolean;
    signal?: AbortSignal;
    onProgress?: (progress: SaverPruneResult) => void;
}
interface SaverPruneResult {
    removed: number;
    namespaces: number;
}
interface SaverStats extends Omit<StoreStats, "lineages" | "largest"> {
    namespaces: number;
    largest: Array<{
        threadId: string;
        checkpointNs: string;
    } & Omit<LineageStats, "lineage">>;
}
interface ShapedGraph {
    nodes: object;
    builder?: Partial<Builder> | undefined;
}
interface SkippedThread {
    threadId: string;
    why: "changed in both" | "at work";
    message: string;
}
type StoreMethods = Pick<ContractStore, "lease" | "exclusive" | "stop" | "check" | "vacuum" | "close" | typeof Symbol.asyncDispose>;
type ThreadOutcome = {
    outcome: "finished";
    output: unknown;
} | {
    outcome: "waiting";
    checkpointId: string;
    next: string[];
    interrupts: ThreadStatus["interrupts"];
} | {
    outcome: "failed";
    checkpointId: string;
    next: string[];
    error: NodeError;
};
interface ThreadStatus {
    checkpointId: string;
    updatedAt: number;
    status: RunStatus;
    next: string[];
    interrupts: Array<{
        id?: string;
        value?: any;
    }>;
    error?: NodeError;
    stopped: RunStop | null;
}
interface ThreadsPage {
    threads: Array<{
        threadId: string;
        checkpoints: number;
        updatedAt: number;
        latest: {
            checkpointId: string;
            checkpointNs: string;
        };
        status: RunStatus;
        stopped: RunStop | null;
        next: string[] | null;
        version: ProgramVersion | null;
        lease: LeaseHolder | null;
    }>;
    cursor: string | null;
}
interface UnexportedThread {
    threadId: string;
    why: "differs" | "changed in both" | "refused" | "damaged";
    message: string;
}
interface WaitingThread {
    threadId: string;
    checkpointId: string;
    next: string[];
    interrupts: ThreadStatus["interrupts"];
}
declare function describe(graph: RecoverableThreads | RecoverableAgent, options?: DescribeOptions): ProgramDescription;
declare function recover(graph: RecoverableThreads | RecoverableAgent, saver: ForkpointSaver, options?: LanggraphRecoverOptions): Promise<RecoverReport<RecoveredThread>>;
