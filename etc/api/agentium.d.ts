export {
DrainController
RunDrainedError
RunStats as WorkflowCheckpointStats
} from "./shared.js";
export {
ContextOnce
EventBus
ForkpointStorage
ForkpointWorkflowStore
InMemoryStorage
MaybePromise
ProgramDescription
StorageBackedCheckpointStore
Workflow
WorkflowCheckpointStore
describe
registry
};
export type {
AgentStep
CheckpointSummary
ConditionStep
EventBusEvents
FailedStep
ForkOptions
FunctionStep
ParallelStep
ReplayOptions
RetryPolicy
RunContext
RunOptions
RunWithCheckpointsOptions
StartOptions
StepContext
StepDef
StepResult
StorageDriver
WorkflowCheckpoint
WorkflowCheckpointStoreOptions
WorkflowConfig
WorkflowEvent
WorkflowEvents
WorkflowRegistry
WorkflowResult
WorkflowRunInfo
WorkflowRunOutput
WorkflowRunsPage
WorkflowSaveOptions
};
interface AgentStep<TState> extends Tried {
    agent: {
        run(input: string, options?: any): Promise<{
            text: string;
        }>;
    };
    inputFrom?(state: TState): string;
}
interface CheckpointSummary {
    id: string;
    stepIndex: number;
    stepName: string;
    createdAt: number;
    stateSize: number;
}
interface ConditionStep<TState> extends Tried {
    condition(state: TState, context: StepContext): MaybePromise<boolean>;
    steps: ReadonlyArray<StepDef<TState>>;
}
declare class EventBus {
    #private;
    on<K extends keyof EventBusEvents>(event: K, handler: (data: EventBusEvents[K]) => void): this;
    on(event: string, handler: (data: any) => void): this;
    once<K extends keyof EventBusEvents>(event: K, handler: (data: EventBusEvents[K]) => void): this;
    once(event: string, handler: (data: any) => void): this;
    off<K extends keyof EventBusEvents>(event: K, handler: (data: EventBusEvents[K]) => void): this;
    off(event: string, handler: (data: any) => void): this;
    emit<K extends keyof EventBusEvents>(event: K, data: EventBusEvents[K]): boolean;
    emit(event: string, data: unknown): boolean;
    removeAllListeners(event?: string): this;
}
interface EventBusEvents {
    "run.start": {
        runId: string;
        agentName: string;
        input: string;
    };
    "workflow.step": {
        runId: string;
        stepName: string;
        status: "start" | "done" | "error";
    };
    "run.complete": {
        runId: string;
        output: {
            text: string;
            toolCalls: unknown[];
            usage: {
                promptTokens: number;
                completionTokens: number;
                totalTokens: number;
            };
        };
    };
    "run.error": {
        runId: string;
        error: Error;
    };
}
interface FailedStep {
    runId: string;
    stepIndex: number;
    stepName: string;
    path: readonly string[];
    attempts: number;
}
interface ForkOptions extends RunOptions {
    force?: boolean;
}
declare class ForkpointStorage implements StorageDriver, AsyncDisposable {
    #private;
    constructor(target: string | URL | Store, options?: StoreOptions);
    get<T>(namespace: string, key: string): Promise<T | null>;
    set<T>(namespace: string, key: string, value: T): Promise<void>;
    delete(namespace: string, key: string): Promise<void>;
    list<T>(namespace: string, prefix?: string): Promise<Array<{
        key: string;
        value: T;
    }>>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
declare class ForkpointWorkflowStore<TState> extends RunStore implements WorkflowCheckpointStore<TState> {
    #private;
    constructor(target: string | URL | Store, options?: WorkflowCheckpointStoreOptions);
    save(checkpoint: WorkflowCheckpoint<TState>, options?: WorkflowSaveOptions): Promise<void>;
    rewind(checkpoint: WorkflowCheckpoint<TState>, options?: WorkflowSaveOptions): Promise<void>;
    load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null>;
    latest(runId: string): Promise<WorkflowCheckpoint<TState> | null>;
    list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
    listForRun(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
    timeline(runId: string): Promise<CheckpointSummary[]>;
    runs(options?: {
        limit?: number;
        cursor?: string | null | undefined;
    }): Promise<WorkflowRunsPage>;
    clear(runId: string, options?: DeleteOptions): Promise<void>;
    delete(checkpointId: string): Promise<void>;
    withLease(lease: Lease): ForkpointWorkflowStore<TState>;
}
interface FunctionStep<TState> extends Tried {
    run(state: TState, context: StepContext): MaybePromise<Partial<TState> | void | null>;
}
declare class InMemoryStorage implements StorageDriver {
    #private;
    get<T>(namespace: string, key: string): Promise<T | null>;
    set<T>(namespace: string, key: string, value: T): Promise<void>;
    delete(namespace: string, key: string): Promise<void>;
    list<T>(namespace: string, prefix?: string): Promise<Array<{
        key: string;
        value: T;
    }>>;
    close(): Promise<void>;
}
interface ParallelStep<TState> {
    name: string;
    parallel: ReadonlyArray<StepDef<TState>>;
}
declare class Registry {
    readonly workflows: Map<string, Workflow<any>>;
    add(workflow: Workflow<any>): void;
    remove(workflow: {
        name: string;
    }): boolean;
    getWorkflow(name: string): Workflow<any> | undefined;
    list(): {
        workflows: string[];
    };
    clear(): void;
}
interface ReplayOptions extends RunOptions {
    newRun?: boolean;
    force?: boolean;
}
interface RetryPolicy {
    maxRetries: number;
    backoffMs?: number;
}
interface RunContext {
    readonly runId: string;
    readonly sessionId: string;
    readonly userId?: string;
    readonly tenantId?: string;
    readonly metadata: Record<string, unknown>;
    readonly eventBus: EventBus;
    sessionState: Record<string, unknown>;
    readonly signal?: AbortSignal;
    readonly dependencies: Record<string, string>;
    getState<T>(key: string): T | undefined;
    setState(key: string, value: unknown): void;
}
interface RunOptions {
    signal?: AbortSignal;
    drain?: {
        readonly drained: boolean;
        waitForDrain(): Promise<void>;
    };
    onStepError?: "fail" | "continue" | ((error: unknown, step: FailedStep) => MaybePromise<boolean>);
    sessionId?: string;
    userId?: string;
}
interface RunWithCheckpointsOptions<TState> extends StartOptions<TState> {
    runId?: string;
    resume?: boolean;
    force?: boolean;
}
interface StartOptions<TState> extends RunOptions {
    initialState?: TState;
}
interface StepContext extends RunContext {
    readonly workflow: string;
    readonly stepIndex: number;
    readonly stepName: string;
    readonly path: readonly string[];
    readonly attempt: number;
    readonly signal: AbortSignal;
    readonly draining: boolean;
    readonly once: ContextOnce;
}
type StepDef<TState> = FunctionStep<TState> | ConditionStep<TState> | ParallelStep<TState> | AgentStep<TState>;
interface StepResult {
    stepName: string;
    status: "done" | "skipped" | "error";
    error?: string;
    durationMs: number;
}
declare class StorageBackedCheckpointStore<TState> implements WorkflowCheckpointStore<TState>, AsyncDisposable {
    #private;
    readonly keepLastN: number;
    constructor(driver: StorageDriver, options?: {
        keepLastN?: number | null;
    });
    save(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
    rewind(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
    load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null>;
    list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
    listForRun(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
    latest(runId: string): Promise<WorkflowCheckpoint<TState> | null>;
    clear(runId: string): Promise<void>;
    delete(checkpointId: string): Promise<void>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
interface StorageDriver {
    initialize?(): Promise<void>;
    get<T>(namespace: string, key: string): Promise<T | null>;
    set<T>(namespace: string, key: string, value: T): Promise<void>;
    delete(namespace: string, key: string): Promise<void>;
    list<T>(namespace: string, prefix?: string): Promise<Array<{
        key: string;
        value: T;
    }>>;
    close(): Promise<void>;
}
interface Tried {
    name: string;
    retryPolicy?: RetryPolicy;
    timeoutMs?: number;
}
declare class Workflow<TState = Record<string, unknown>> {
    #private;
    readonly kind: "workflow";
    readonly name: string;
    readonly events: WorkflowEvents<TState>;
    readonly eventBus: EventBus;
    readonly version: string | undefined;
    constructor(config: WorkflowConfig<TState>);
    run(options?: StartOptions<TState>): Promise<WorkflowRunOutput<TState>>;
    runWithCheckpoints(options?: RunWithCheckpointsOptions<TState>): Promise<WorkflowRunOutput<TState>>;
    listCheckpoints(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
    replay(checkpointId: string, options?: ReplayOptions): Promise<WorkflowRunOutput<TState>>;
    fork(checkpointId: string, mutator?: ((state: TState) => TState) | null, options?: ForkOptions): Promise<WorkflowRunOutput<TState>>;
    stream(options?: RunWithCheckpointsOptions<TState> | ({
        replay: string;
    } & ReplayOptions) | ({
        fork: string;
        mutator?: ((state: TState) => TState) | null;
    } & ForkOptions)): AsyncGenerator<WorkflowEvent<TState>, WorkflowRunOutput<TState>, void>;
}
interface WorkflowCheckpoint<TState> {
    id: string;
    runId: string;
    stepIndex: number;
    stepName: string;
    state: TState;
    createdAt: number;
}
interface WorkflowCheckpointStore<TState> {
    save(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
    load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null>;
    list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
    latest(runId: string): Promise<WorkflowCheckpoint<TState> | null>;
    clear(runId: string): Promise<void>;
    delete?(checkpointId: string): Promise<void>;
    rewind?(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
}
declare const WorkflowCheckpointStore: typeof ForkpointWorkflowStore;
interface WorkflowCheckpointStoreOptions extends StoreOptions {
    expectedParent?: boolean;
}
interface WorkflowConfig<TState = Record<string, unknown>> {
    name: string;
    initialState: TState;
    steps: ReadonlyArray<StepDef<TState>>;
    checkpointStore?: WorkflowCheckpointStore<TState>;
    storage?: StorageDriver;
    retryPolicy?: RetryPolicy;
    eventBus?: {
        emit(event: any, data: any): unknown;
    };
    register?: boolean;
    lease?: boolean | {
        ttlMs?: number;
    };
    version?: string;
}
type WorkflowEvent<TState> = {
    runId: string;
    steps: number;
} & ({
    type: "run.start";
    workflow: string;
    kind: "run" | "resume" | "replay" | "fork";
    fresh: boolean;
    from?: string;
    stepIndex: number;
} | {
    type: "workflow.step";
    stepIndex: number;
    stepName: string;
    path: readonly string[];
    status: "start" | "retry" | "done" | "skipped" | "error";
    attempt?: number;
    delayMs?: number;
    error?: unknown;
    durationMs?: number;
} | {
    type: "checkpoint.saved";
    checkpointId: string;
    stepIndex: number;
    stepName: string;
} | {
    type: "run.complete";
    output: WorkflowRunOutput<TState>;
} | {
    type: "run.error";
    error: unknown;
});
interface WorkflowEvents<TState> {
    on<K extends WorkflowEvent<TState>["type"]>(type: K, listener: (event: Extract<WorkflowEvent<TState>, {
        type: K;
    }>) => void): this;
    once<K extends WorkflowEvent<TState>["type"]>(type: K, listener: (event: Extract<WorkflowEvent<TState>, {
        type: K;
    }>) => void): this;
    off<K extends WorkflowEvent<TState>["type"]>(type: K, listener: (event: Extract<WorkflowEvent<TState>, {
        type: K;
    }>) => void): this;
}
interface WorkflowRegistry extends Registry {
}
interface WorkflowResult<TState> {
    state: TState;
    stepResults: StepResult[];
}
interface WorkflowRunInfo {
    runId: string;
    checkpoints: number;
    latest: CheckpointSummary;
    status: RunStatus;
    stopped: RunStop | null;
    version: ProgramVersion | null;
    lease: LeaseHolder | null;
}
interface WorkflowRunOutput<TState> extends WorkflowResult<TState> {
    runId: string;
    fresh: boolean;
}
interface WorkflowRunsPage {
    runs: WorkflowRunInfo[];
    cursor: string | null;
}
interface WorkflowSaveOptions {
    parent?: string;
    expectedParent?: string | null;
    steps?: number;
    lease?: Lease;
}
declare function describe(workflow: Workflow<any>): ProgramDescription;
declare const registry: WorkflowRegistry;
