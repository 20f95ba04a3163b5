export {
DrainController
RunDrainedError
} from "./shared.js";
export {
Checkpointer
Command
ContextOnce
END
ERROR
Graph
INTERRUPT
MaybePromise
ProgramDescription
RESUME
START
Send
describe
};
export type {
CheckpointConfig
CheckpointMetadata
CheckpointSource
CheckpointTuple
CheckpointerOptions
CheckpointerStats
CommandFields
Durability
Edge
EdgeTarget
Goto
GraphCheckpointer
GraphConfig
GraphEvent
GraphInterrupt
GraphResult
GraphRunOptions
GraphThreadsPage
HistoryOptions
Interrupt
MemoryConsistency
MemoryHooks
MemorySnapshot
Namespace
NewThreadCheckpoint
NodeContext
NodeFunction
NodeOptions
NodePolicies
PendingWrite
StateSnapshot
SubgraphNode
TaskSnapshot
ThreadCheckpoint
ThreadListOptions
ThreadPruneOptions
};
interface CheckpointConfig {
    threadId: string;
    checkpointId?: string | null;
    namespace?: Namespace;
}
interface CheckpointMetadata {
    threadId: string;
    checkpointId: string;
    runId: string | null;
    parentCheckpointId: string | null;
    namespace: Namespace;
    nextNodes: string[];
    interrupted: boolean;
    createdAt: number;
    metadata: Record<string, unknown>;
}
type CheckpointSource = "input" | "loop" | "update" | "fork";
interface CheckpointTuple<S> {
    config: Required<CheckpointConfig> & {
        checkpointId: string;
    };
    checkpoint: ThreadCheckpoint<S>;
    parentConfig: (Required<CheckpointConfig> & {
        checkpointId: string;
    }) | null;
    pendingWrites: PendingWrite[];
}
declare class Checkpointer<S> extends ContractStore {
    #private;
    constructor(target: string | URL | Store, options?: CheckpointerOptions);
    put(checkpoint: NewThreadCheckpoint<S>, options?: {
        expectedParent?: boolean;
        lease?: Lease;
    }): Promise<string>;
    get(threadId: string, checkpointId?: string | null, namespace?: Namespace): Promise<ThreadCheckpoint<S> | null>;
    list(threadId: string, options?: ThreadListOptions): Promise<CheckpointMetadata[]>;
    getTuple(config: CheckpointConfig): Promise<CheckpointTuple<S> | null>;
    putWrites(config: CheckpointConfig, writes: readonly PendingWrite[], options?: {
        lease?: Lease;
    }): Promise<void>;
    getWrites(config: CheckpointConfig): Promise<PendingWrite[]>;
    stateHistory(threadId: string, namespace?: Namespace, limit?: number): Promise<Array<ThreadCheckpoint<S>>>;
    listThreads(): Promise<string[]>;
    threads(options?: {
        limit?: number;
        cursor?: string | null | undefined;
    }): Promise<GraphThreadsPage>;
    withLease(lease: Lease): Checkpointer<S>;
    deleteThread(threadId: string, options?: DeleteOptions): Promise<void>;
    deleteCheckpoints(threadId: string, checkpointIds: readonly string[]): Promise<number>;
    deleteByRun(threadId: string, runId: string | null): Promise<number>;
    copyThread(sourceThreadId: string, targetThreadId: string): Promise<void>;
    prune(threadId: string, keepLast: number, options?: ThreadPruneOptions): Promise<number>;
    stats(options?: StatsOptions): Promise<CheckpointerStats>;
}
interface CheckpointerOptions extends StoreOptions {
    expectedParent?: boolean;
}
interface CheckpointerStats extends Omit<StoreStats, "lineages" | "largest"> {
    namespaces: number;
    largest: Array<{
        threadId: string;
        namespace: Namespace;
    } & Omit<LineageStats, "lineage">>;
}
declare class Command<U = any> implements CommandFields<U> {
    readonly goto?: Goto;
    readonly update?: U;
    readonly resume?: unknown;
    readonly answers?: Record<string, unknown>;
    constructor(fields: CommandFields<U>);
}
interface CommandFields<U> {
    goto?: Goto;
    update?: U;
    resume?: unknown;
    answers?: Record<string, unknown>;
}
type Durability = "sync" | "async" | "exit";
declare const END: "__end__";
declare const ERROR: -2;
type Edge<S> = readonly [
    from: string | readonly string[],
    to: EdgeTarget<S>
];
type EdgeTarget<S> = string | readonly string[] | ((state: S) => MaybePromise<Goto | null | undefined>);
type Goto = string | Send | ReadonlyArray<string | Send>;
declare class Graph<S, U = Partial<S>, I = S> {
    #private;
    readonly name: string;
    readonly version: string | undefined;
    constructor(config: GraphConfig<S, U, I>);
    invoke(input: I | Command<U> | null, options?: GraphRunOptions): Promise<GraphResult<S>>;
    stream(input: I | Command<U> | null, options?: GraphRunOptions): AsyncGenerator<GraphEvent<S>, GraphResult<S>, void>;
    resume(threadId: string, command?: Command<U> | CommandFields<U>, options?: Omit<GraphRunOptions, "threadId" | "checkpointId">): Promise<GraphResult<S>>;
    resumeFrom(threadId: string, target: "latest" | (string & {}), command?: Command<U> | CommandFields<U>, options?: Omit<GraphRunOptions, "threadId" | "checkpointId">): Promise<GraphResult<S>>;
    getState(threadId: string, checkpointId?: string | null, namespace?: Namespace): Promise<StateSnapshot<S> | null>;
    getStateHistory(threadId: string, options?: HistoryOptions): Promise<Array<StateSnapshot<S>>>;
    updateState(threadId: string, update: U, asNode?: string | null, options?: {
        force?: boolean;
    }): Promise<CheckpointTuple<S>["config"]>;
    bulkUpdateState(threadId: string, updates: ReadonlyArray<{
        update: U;
        asNode?: string | null;
    }>, options?: {
        force?: boolean;
    }): Promise<CheckpointTuple<S>["config"]>;
    forkState(sourceThreadId: string, checkpointId: string | null | undefined, targetThreadId: string): Promise<CheckpointTuple<S>["config"]>;
}
interface GraphCheckpointer<S> {
    put(checkpoint: NewThreadCheckpoint<S>, options?: {
        expectedParent?: boolean;
        lease?: Lease;
    }): Promise<unknown>;
    get(threadId: string, checkpointId?: string | null, namespace?: Namespace): Promise<ThreadCheckpoint<S> | null>;
    getTuple(config: CheckpointConfig): Promise<CheckpointTuple<S> | null>;
    putWrites(config: CheckpointConfig, writes: readonly PendingWrite[], options?: {
        lease?: Lease;
    }): Promise<void>;
}
interface GraphConfig<S, U, I = S> extends GraphOutline<S> {
    nodes: Record<string, NodeFunction<S, U> | NodeOptions<S, U> | SubgraphNode<S, U>>;
    reducer: (state: S, update: U) => S;
    input?: (current: S | null, input: I) => S;
    checkpointer?: GraphCheckpointer<S>;
    durability?: Durability;
    lease?: boolean | {
        ttlMs?: number;
    };
    version?: string;
}
type GraphEvent<S> = {
    runId: string;
    threadId: string;
    namespace: Namespace;
} & ({
    type: "run.start";
    kind: "invoke" | "resume" | "update";
} | {
    type: "superstep.start";
    step: number;
    tasks: Array<{
        node: string;
        taskId: string;
    }>;
} | {
    type: "task";
    node: string;
    taskId: string;
    status: "start" | "retry" | "done" | "interrupted" | "error";
    update?: unknown;
    interrupts?: GraphInterrupt[];
    error?: unknown;
    attempt?: number;
    delayMs?: number;
} | {
    type: "state";
    step: number;
    source: CheckpointSource;
    state: S;
    nextNodes: string[];
} | {
    type: "checkpoint.saved";
    checkpointId: string;
    step: number;
    source: CheckpointSource;
} | {
    type: "run.complete" | "run.interrupted";
    result: GraphResult<S>;
} | {
    type: "run.error";
    error: unknown;
});
interface GraphInterrupt {
    node: string;
    taskId: string;
    namespace: Namespace;
    value?: unknown;
}
interface GraphOutline<S> {
    edges?: ReadonlyArray<Edge<S>>;
    entry?: string;
    checkpoint?: "every_node" | "explicit" | "none";
    memory?: Partial<MemoryHooks> & {
        consistency?: MemoryConsistency;
    };
    maxSupersteps?: number;
    name?: string;
}
interface GraphResult<S> {
    status: "done" | "interrupted";
    state: S;
    interrupts: GraphInterrupt[];
    checkpointId: string | null;
    step: number;
    threadId: string;
    runId: string;
    namespace: Namespace;
}
interface GraphRunOptions {
    threadId?: string;
    runId?: string;
    namespace?: Namespace;
    checkpointId?: string | null;
    durability?: Durability;
    signal?: AbortSignal;
    drain?: {
        readonly drained: boolean;
        waitForDrain(): Promise<void>;
    };
    force?: boolean;
}
interface GraphThreadsPage {
    threads: Array<{
        threadId: string;
        checkpointId: string;
        status: RunStatus;
        stopped: RunStop | null;
        next: string[];
        version: ProgramVersion | null;
        lease: LeaseHolder | null;
    }>;
    cursor: string | null;
}
interface HistoryOptions {
    before?: string;
    limit?: number;
    filter?: Record<string, unknown>;
    namespace?: Namespace;
}
declare const INTERRUPT: -3;
interface Interrupt {
    node: string;
    taskId?: string;
    value?: unknown;
    [field: string]: unknown;
}
type MemoryConsistency = "live" | "snapshot" | "journaled";
interface MemoryHooks {
    capture(): MaybePromise<MemorySnapshot>;
    restore(snapshot: MemorySnapshot): MaybePromise<void>;
}
interface MemorySnapshot {
    reads: unknown[];
    pendingWrites: unknown[];
}
type Namespace = string[];
type NewThreadCheckpoint<S> = Pick<ThreadCheckpoint<S>, "threadId" | "state"> & Partial<Omit<ThreadCheckpoint<S>, "threadId" | "state">> & {
    dependsOnParent?: boolean;
};
interface NodeContext {
    node: string;
    taskId: string;
    sendArg: any;
    resume: any;
    interrupt<T = any>(value?: unknown): T;
    signal: AbortSignal;
    threadId: string;
    runId: string;
    namespace: Namespace;
    attempt: number;
    step: number;
    once: ContextOnce;
}
type NodeFunction<S, U> = (state: S, context: NodeContext) => MaybePromise<U | Command<U> | void | null>;
interface NodeOptions<S, U> extends NodePolicies {
    run: NodeFunction<S, U>;
}
interface NodePolicies {
    effectClass?: "pure" | "read" | "write" | "external" | "human";
    checkpoint?: "before" | "after" | "both" | "none";
    retry?: {
        maxRetries: number;
        backoffMs?: number;
    };
    timeoutMs?: number;
    memory?: {
        consistency: MemoryConsistency;
    };
}
interface PendingWrite {
    node: string;
    taskId: string;
    idx: number;
    channel: string;
    payload: unknown;
}
declare const RESUME: -1;
declare const START: "__start__";
declare class Send {
    readonly node: string;
    readonly arg: unknown;
    constructor(node: string, arg: unknown);
}
interface StateSnapshot<S> {
    values: S;
    next: string[];
    config: CheckpointTuple<S>["config"];
    parentConfig: CheckpointTuple<S>["parentConfig"];
    metadata: Record<string, unknown>;
    createdAt: number | null;
    tasks: TaskSnapshot[];
    interrupts: GraphInterrupt[];
}
interface SubgraphHooks<S, U> extends NodePolicies {
    input?(state: S, context: NodeContext): unknown;
    output?(result: any, state: S): MaybePromise<U | Command<U> | void | null>;
}
interface SubgraphNode<S, U> extends SubgraphHooks<S, U> {
    subgraph: Graph<any, any, any>;
}
interface TaskSnapshot {
    id: string;
    node: string;
    sendArg?: unknown;
    status: "pending" | "done" | "interrupted" | "failed";
    result?: unknown;
    error?: {
        name: string;
        message: string;
    };
    interrupts: GraphInterrupt[];
}
interface ThreadCheckpoint<S> {
    threadId: string;
    checkpointId: string;
    runId: string | null;
    parentCheckpointId: string | null;
    namespace: Namespace;
    state: S;
    nextNodes: string[];
    completedTasks: string[];
    pendingWrites: PendingWrite[];
    interrupts: Interrupt[];
    pendingActivations: Array<{
        node: string;
        sendArg?: unknown;
        taskId?: string;
    }> | null;
    barrierArrivals: Array<{
        node: string;
        arrived: string[];
    }>;
    metadata: Record<string, unknown>;
}
interface ThreadListOptions {
    before?: string | null;
    limit?: number;
    filter?: Record<string, unknown>;
    namespace?: Namespace | null;
}
interface ThreadPruneOptions {
    protect?: "ancestors" | "dependencies";
    dryRun?: boolean;
    signal?: AbortSignal;
    onProgress?: (removed: number) => void;
}
declare function describe(graph: Graph<any, any, any>): ProgramDescription;
