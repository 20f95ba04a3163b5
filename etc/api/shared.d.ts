export {
ContractStore
DrainController
ForkpointError
RunDrainedError
RunStore
Store
formatPath
fromJsonForm
isForkpointError
openStore
parseJson
parsePath
postgresSchema
safeJson
safeText
toJsonForm
valueAt
};
export type {
BackupOptions
BackupProgress
BackupResult
CallContext
CallFailure
CallSubject
ChangeDecision
ChangedRun
CheckOptions
ContextOnce
DeleteOptions
DescribeOptions
Effect
EffectAttempt
EffectCall
EffectOptions
EffectState
ErrorCode
ExclusiveOptions
FailureChannelName
Finding
InvalidArgumentError
KnownSpace
Lease
LeaseHolder
LeaseOptions
LineageStats
MaybePromise
MigrateOptions
MigrateResult
PathStep
PostgresSchemaOptions
ProgramDescription
ProgramVersion
PruneOptions
PruneProgress
PruneResult
RecoverOptions
RecoverReport
RestoreOptions
RestoreResult
RunName
RunPruneResult
RunRef
RunStats
RunStatus
RunStop
Serializer
SessionPruneOptions
StatsOptions
StopOptions
StopResult
StoppedBy
StoreOptions
StoreStats
StoreWarning
StrandedRuns
Sweep
TakenBy
TracingChannelName
UnknownDecision
UnknownEffect
UnrecoveredRun
VerifyReport
WhenBusy
Work
};
interface BackupOptions {
    overwrite?: boolean;
    signal?: AbortSignal;
    onProgress?: (progress: BackupProgress) => void;
}
interface BackupProgress {
    phase: "copying" | "verifying";
    done: number;
    of: number;
}
interface BackupResult {
    path: string;
    bytes: number;
    checkpoints: number;
    verified: true;
}
interface CallContext extends CallSubject {
    bytes: number | null;
    result?: "found" | "missing" | number | undefined;
    storedBytes?: number | null | undefined;
    queueMs?: number | undefined;
    commitMs?: number | undefined;
    batch?: number | undefined;
    error?: unknown;
}
interface CallFailure extends CallSubject {
    error: ForkpointError;
}
interface CallSubject {
    operation: string;
    space: string | null;
    run: string | null;
    ns: string | null;
    id: string | null;
    target: string;
    backend: "sqlite" | "jsonl" | "postgres" | "memory";
}
type ChangeDecision = "leave" | "resume" | "fork" | "end";
interface ChangedRun {
    program: string | null;
    checkpointId: string;
    from: ProgramVersion | null;
    to: ProgramVersion;
    differences: string[];
    message: string;
}
interface CheckOptions {
    signal?: AbortSignal;
    onProgress?: (done: number, of: number, next: string | null) => void;
    rows?: number;
    after?: string;
}
type ContextOnce = <T>(key: string, effect: (attempt: EffectAttempt) => T | Promise<T>, options?: EffectOptions<T>) => Promise<T>;
declare abstract class ContractStore implements AsyncDisposable {
    lease(run: RunRef, options?: LeaseOptions): Promise<Lease>;
    exclusive<T>(run: RunName, work: Work<T>, options?: ExclusiveOptions): Promise<T>;
    stop(run: RunName, options?: StopOptions): Promise<StopResult>;
    abstract withLease(lease: Lease): ContractStore;
    check(options?: CheckOptions): Promise<VerifyReport>;
    vacuum(): Promise<void>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
interface DeleteOptions {
    force?: boolean;
}
interface DescribeOptions {
    program?: string;
    version?: string;
}
declare class DrainController {
    #private;
    get drained(): boolean;
    requestDrain(): void;
    waitForDrain(): Promise<void>;
}
interface Effect {
    key: string;
    state: "running" | "done" | "failed" | "error" | "unknown";
    idempotencyKey: string;
    attempts: number;
    holder: string;
    startedAt: number;
    endedAt: number | null;
    error: string | null;
    checkpointId: string | null;
}
interface EffectAttempt {
    readonly idempotencyKey: string;
    readonly attempt: number;
    readonly signal: AbortSignal;
}
type EffectCall = "beginEffect" | "endEffect";
interface EffectOptions<T = unknown> {
    onUnknown?: "retry" | "fail" | ((effect: UnknownEffect) => MaybePromise<UnknownDecision<T>>);
    effectClass?: "write" | "external";
    remember?: "results" | "errors";
    ttlMs?: number;
    signal?: AbortSignal;
}
type EffectState = "running" | "done" | "failed" | "error";
type ErrorCode = "NOT_FOUND" | "INVALID_ARGUMENT" | "CLOSED" | "CORRUPT" | "CONFLICT" | "STOPPED" | "BUSY" | "FULL" | "UNAVAILABLE" | "UNSUPPORTED";
interface ExclusiveOptions {
    whenBusy?: WhenBusy;
    maxWaitMs?: number;
    signal?: AbortSignal;
    ttlMs?: number;
    by?: string;
    reason?: string;
}
type FailureChannelName = "forkpoint:busy" | "forkpoint:corrupt";
interface Finding {
    code: "CORRUPT" | "ORPHAN" | "INDEX" | (string & {});
    severity: "error" | "warning" | "note";
    message: string;
    remedy: string;
    ref: {
        space: string | null;
        run: string | null;
        ns: string | null;
        id: string | null;
        effect?: string | null;
    } | null;
}
declare class ForkpointError extends Error {
    readonly name: "ForkpointError";
    readonly code: ErrorCode;
    readonly retryable: boolean;
    readonly outcome?: "unknown";
    readonly cause?: unknown;
    readonly lease?: LeaseHolder | null;
    readonly taken?: TakenBy;
    readonly stopped?: StoppedBy;
    constructor(code: ErrorCode, message: string, options?: {
        retryable?: boolean;
        outcome?: "unknown";
        cause?: unknown;
        lease?: LeaseHolder | null;
        taken?: TakenBy;
        stopped?: StoppedBy;
    });
}
type InvalidArgumentError = (TypeError | RangeError) & {
    readonly code: "INVALID_ARGUMENT";
    readonly retryable: false;
};
type KnownSpace = "agentos" | "agentium" | "storage" | "langgraph" | "langgraph-store" | "langgraph-cache" | "tinyagents" | "helix" | "ai" | "ai-streams" | "claude-agent-sdk" | "mastra" | "mastra-threads" | "mastra-resources" | "openai-agents" | "openai-agents-states" | "mcp" | "mcp-tasks" | "mcp-queues";
interface Lease extends AsyncDisposable, LeaseHolder {
    readonly token: number;
    readonly holder: string;
    readonly until: number;
    readonly signal: AbortSignal;
    release(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
interface LeaseHolder {
    holder: string;
    until: number;
}
interface LeaseOptions {
    ttlMs?: number;
    signal?: AbortSignal;
}
interface LineageStats {
    lineage: string;
    checkpoints: number;
    logicalBytes: number;
    storedBytes: number;
}
type MaybePromise<T> = T | Promise<T>;
interface MigrateOptions {
    dryRun?: boolean;
}
interface MigrateResult {
    from: number;
    to: number;
}
type PathStep = string | number | {
    from: number | null;
    to: number | null;
};
interface PostgresSchemaOptions {
    schema?: string;
    prefix?: string;
}
interface ProgramDescription extends ProgramShape {
    space: ProgramSpace;
}
interface ProgramEdge {
    from: string;
    to: string;
    conditional?: true | undefined;
    joins?: string[] | undefined;
}
interface ProgramNode {
    name: string;
    effect?: string | undefined;
    kind?: string | undefined;
}
interface ProgramShape {
    program?: string | undefined;
    version?: string | undefined;
    nodes: ProgramNode[];
    edges: ProgramEdge[];
    fields?: string[] | undefined;
}
type ProgramSpace = "agentos" | "agentium" | "langgraph" | "tinyagents";
interface ProgramVersion {
    version: string | null;
    shape: string;
}
interface PruneOptions<Progress = PruneProgress> {
    olderThan?: Date | number | null;
    waiting?: boolean;
    keepLastN?: number | null;
    maxBytes?: number | null;
    dryRun?: boolean;
    share?: number;
    signal?: AbortSignal;
    onProgress?: (progress: Progress) => void;
}
interface PruneProgress {
    removed: number;
    bytes: number;
    lineages: number;
}
type PruneResult = PruneProgress;
interface RecoverOptions<R, C = ChangedRun> {
    onChanged?: (run: C) => ChangeDecision | undefined | Promise<ChangeDecision | undefined>;
    dryRun?: boolean;
    idleMs?: number;
    maxAgeMs?: number | null;
    concurrency?: number;
    leaseTtlMs?: number;
    maxAttempts?: number | null;
    signal?: AbortSignal;
    onRecovered?: (run: R) => void;
}
interface RecoverReport<R> {
    runs: R[];
    checked: number;
}
interface RestoreOptions {
    signal?: AbortSignal;
    onProgress?: (progress: BackupProgress) => void;
}
interface RestoreResult {
    path: string;
    bytes: number;
    checkpoints: number;
}
declare class RunDrainedError extends Error {
    readonly name: "RunDrainedError";
    readonly runId: string;
    constructor(runId: string, message?: string);
}
type RunName = string | Omit<RunRef, "space">;
interface RunPruneResult extends Omit<PruneResult, "lineages"> {
    runs: number;
}
interface RunRef {
    space: string;
    run: string;
    ns?: string | readonly string[] | undefined;
}
interface RunStats extends Omit<StoreStats, "lineages" | "largest"> {
    runs: number;
    largest: Array<{
        runId: string;
    } & Omit<LineageStats, "lineage">>;
}
type RunStatus = "waiting" | "failed" | "unfinished" | "stopped" | "finished" | "unknown";
interface RunStop {
    by: string | null;
    reason: string | null;
    at: number;
}
declare abstract class RunStore extends ContractStore {
    prune(options?: PruneOptions<RunPruneResult>): Promise<RunPruneResult>;
    stats(options?: StatsOptions): Promise<RunStats>;
}
interface Serializer {
    readonly name: string;
    serialize(value: unknown): Uint8Array;
    deserialize(bytes: Uint8Array): unknown;
}
interface SessionPruneOptions {
    olderThan?: Date | number | null;
    waiting?: boolean;
    keepSessions?: number;
    dryRun?: boolean;
    signal?: AbortSignal;
}
interface StatsOptions {
    largest?: number;
}
interface StopOptions {
    by?: string;
    reason?: string;
    waitMs?: number;
    signal?: AbortSignal;
}
interface StopResult {
    outcome: "stopped" | "not running" | "no answer";
    holder: string | null;
}
interface StoppedBy {
    kind: "stop" | "interrupt" | "rollback";
    by: string | null;
    reason: string | null;
    at: number;
}
declare class Store implements AsyncDisposable {
    #private;
    private constructor();
    prune(options?: PruneOptions): Promise<PruneResult>;
    stats(options?: StatsOptions): Promise<StoreStats>;
    check(options?: CheckOptions): Promise<VerifyReport>;
    vacuum(): Promise<void>;
    migrate(options?: MigrateOptions): Promise<MigrateResult>;
    backup(path: string | URL, options?: BackupOptions): Promise<BackupResult>;
    restore(path: string | URL, options?: RestoreOptions): Promise<RestoreResult>;
    lease(run: RunRef, options?: LeaseOptions): Promise<Lease>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
interface StoreOptions {
    durability?: "full" | "normal" | "off";
    serializer?: "v8" | "json" | Serializer;
    busyTimeoutMs?: number;
    maxPayloadBytes?: number;
    maxQueueBytes?: number;
    cacheBytes?: number;
    secureDelete?: boolean;
    readOnly?: boolean;
    keepLastN?: number | null;
    ttlMs?: number | null;
    waitingTtlMs?: number | null;
    maxBytes?: number | null;
    pruneShare?: number;
    labels?: Record<string, string>;
    schema?: string;
    prefix?: string;
    migrate?: "create" | "auto" | "never";
    password?: () => string | Promise<string>;
}
interface StoreStats {
    checkpoints: number;
    lineages: number;
    logicalBytes: number;
    storedBytes: number;
    ratio: number;
    fileBytes?: number;
    records: number;
    recordBytes: number;
    effects: number;
    effectBytes: number;
    isEstimate: boolean;
    keptBytes: number;
    largest: LineageStats[];
}
interface StoreWarning {
    code: "FORKPOINT_SWEEP_FAILS" | "FORKPOINT_CLOCK_SET" | "FORKPOINT_NETWORK_FILE" | "FORKPOINT_COMMITS_LOST" | "FORKPOINT_LOG_MISSING" | "FORKPOINT_SERVER_NOT_DURABLE" | "FORKPOINT_SERVER_NOT_VERIFIED" | "FORKPOINT_STREAM_NOT_STORED" | "FORKPOINT_LEFT_OUT";
    message: string;
    target: string | null;
    cause?: unknown;
}
interface StrandedRuns {
    target: string;
    space: string;
    program: string;
    runs: number;
}
interface Sweep {
    target: string;
    removed: number;
    bytes: number;
    lineages: number;
    workMs: number;
    tookMs: number;
}
interface TakenBy {
    at: number;
    by: string;
}
type TracingChannelName = "forkpoint:open" | "forkpoint:save" | "forkpoint:read" | "forkpoint:prune";
type UnknownDecision<T> = "retry" | "fail" | {
    result: T;
};
interface UnknownEffect {
    key: string;
    run: string;
    idempotencyKey: string;
    attempts: number;
    startedAt: number;
    holder: string;
}
type UnrecoveredRun = ({
    outcome: "changed";
    decision: Exclude<ChangeDecision, "resume">;
    fork?: string;
} & ChangedRun) | {
    outcome: "would resume" | "would ask" | "would leave";
    status: "waiting" | "failed" | "unfinished";
} | {
    outcome: "stopped";
    stopped: StoppedBy;
} | {
    outcome: "elsewhere";
    holder: string;
} | {
    outcome: "gave up";
    crashes: number;
    message: string;
} | {
    outcome: "error";
    error: unknown;
} | {
    outcome: "skipped";
    why: "other program" | "unknown origin" | "branch" | "at work";
    program: string | null;
    message: string;
};
interface VerifyReport {
    ok: boolean;
    checked: {
        checkpoints: number;
        payloads: number;
        writes: number;
        records: number;
    };
    findings: Finding[];
    runs?: {
        checkpoints: number;
        payloads: number;
        writes: number;
    };
    others?: number;
    next: string | null;
}
type WhenBusy = "reject" | "enqueue" | "interrupt" | "rollback";
type Work<T> = (signal: AbortSignal) => T | Promise<T>;
declare function formatPath(path: ReadonlyArray<string | number>): string;
declare function fromJsonForm(form: unknown): unknown;
declare function isForkpointError(error: unknown): error is ForkpointError | InvalidArgumentError;
declare function openStore(target: string | URL, options?: StoreOptions): Promise<Store>;
declare function parseJson(text: string): unknown;
declare function parsePath(text: string): PathStep[];
declare function postgresSchema(options?: PostgresSchemaOptions): string;
declare function safeJson(value: unknown): string;
declare function safeText(text: string): string;
declare function toJsonForm(value: unknown): unknown;
declare function valueAt(value: unknown, path: readonly PathStep[]): unknown;
