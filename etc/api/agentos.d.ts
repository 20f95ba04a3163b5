export {
RunStats as CheckpointStats
} from "./shared.js";
export {
CheckpointStore
ContextOnce
DescribeOptions
ProgramDescription
describe
once
recover
resumePlan
withEffects
};
export type {
AgentosRecoverOptions
ChangedGraphRun
Checkpoint
CheckpointMetadata
CheckpointStoreOptions
DiagnosticsView
EffectClass
EffectGraph
FailedRun
ICheckpointStore
RecoverableGraph
RecoveredRun
ResumePlan
RunInfo
RunOutcome
RunsPage
StatePartitions
WaitingNode
};
interface AgentosRecoverOptions extends RecoverOptions<RecoveredRun, ChangedGraphRun> {
    onWaiting?: (node: WaitingNode) => unknown;
    onFailed?: (run: FailedRun) => "retry" | "leave" | undefined | Promise<"retry" | "leave" | undefined>;
    runs?: readonly string[];
    askForked?: boolean;
    passRejections?: boolean;
}
interface ChangedGraphRun extends ChangedRun {
    runId: string;
}
interface Checkpoint {
    id: string;
    graphId: string;
    runId: string;
    nodeId: string;
    timestamp: number;
    state: StatePartitions;
    memorySnapshot?: {
        reads: Array<{
            traceId: string;
            content: string;
            strength: number;
        }>;
        pendingWrites: Array<{
            type: string;
            content: string;
            scope: string;
        }>;
    };
    nodeResults: Record<string, {
        effectClass: EffectClass;
        output: unknown;
        durationMs: number;
    }>;
    visitedNodes: string[];
    skippedNodes?: string[];
    pendingEdges: string[];
}
interface CheckpointMetadata {
    id: string;
    runId: string;
    graphId: string;
    nodeId: string;
    timestamp: number;
    stateSize: number;
    hasMemorySnapshot: boolean;
}
declare class CheckpointStore extends RunStore implements ICheckpointStore {
    #private;
    constructor(target: string | URL | Store, options?: CheckpointStoreOptions);
    save(checkpoint: Checkpoint): Promise<void>;
    get(checkpointId: string): Promise<Checkpoint | null>;
    load(runId: string, nodeId?: string): Promise<Checkpoint | null>;
    latest(runId: string): Promise<Checkpoint | null>;
    list(graphId: string, options?: {
        limit?: number;
        runId?: string;
    }): Promise<CheckpointMetadata[]>;
    listByRun(runId: string, options?: {
        limit?: number;
    }): Promise<CheckpointMetadata[]>;
    delete(checkpointId: string): Promise<void>;
    clear(runId: string, options?: DeleteOptions): Promise<void>;
    fork(checkpointId: string, patchState?: Partial<StatePartitions>): Promise<string>;
    runs(options?: {
        graphIdPrefix?: string;
        limit?: number;
        cursor?: string | null | undefined;
    }): Promise<RunsPage>;
    withLease(lease: Lease): CheckpointStore;
}
interface CheckpointStoreOptions extends StoreOptions {
    program?: string | {
        name: string;
        force?: boolean;
    };
    version?: string;
}
interface DiagnosticsView {
    totalTokensUsed: number;
    totalDurationMs: number;
    nodeTimings: Record<string, {
        startMs: number;
        endMs: number;
        tokensUsed: number;
    }>;
    discoveryResults: Record<string, {
        query: string;
        toolsFound: string[];
        latencyMs: number;
    }>;
    guardrailResults: Record<string, {
        guardrailId: string;
        passed: boolean;
        action: string;
        latencyMs: number;
    }>;
    checkpointsSaved: number;
    memoryReads: number;
    memoryWrites: number;
}
type EffectClass = "pure" | "read" | "write" | "external" | "human";
interface EffectGraph extends RecoverableGraph {
    invoke(input: unknown): Promise<unknown>;
    stream(input: unknown): AsyncIterable<{
        type: string;
    }>;
}
interface FailedRun {
    runId: string;
    checkpointId: string;
    nodes: string[];
    state: StatePartitions;
}
interface ICheckpointStore {
    save(checkpoint: Checkpoint): Promise<void>;
    get(checkpointId: string): Promise<Checkpoint | null>;
    load(runId: string, nodeId?: string): Promise<Checkpoint | null>;
    latest(runId: string): Promise<Checkpoint | null>;
    list(graphId: string, options?: {
        limit?: number;
        runId?: string;
    }): Promise<CheckpointMetadata[]>;
    delete(checkpointId: string): Promise<void>;
    fork(checkpointId: string, patchState?: Partial<StatePartitions>): Promise<string>;
}
interface RecoverableGraph {
    resume(runId: string): Promise<unknown>;
    toIR(): {
        id: string;
        checkpointPolicy: string;
        nodes: Array<{
            id: string;
            type: string;
            effectClass: string;
            checkpoint: string;
            executorConfig?: unknown;
            metadata?: Record<string, unknown> | undefined;
        }>;
        edges: Array<{
            id: string;
            source: string;
            target: string;
            type?: string;
        }>;
    };
}
type RecoveredRun = {
    runId: string;
} & (RunOutcome | UnrecoveredRun);
interface ResumePlan {
    completed: string[];
    skipped: string[];
    replay: string[];
    reexecute: string[];
}
interface RunInfo {
    runId: string;
    graphId: string;
    checkpoints: number;
    latest: CheckpointMetadata;
    status: RunStatus;
    stopped: RunStop | null;
    forkedFrom: string | null;
    version: ProgramVersion | null;
    lease: LeaseHolder | null;
}
type RunOutcome = {
    outcome: "finished";
    checkpointId: string;
    output: unknown;
} | {
    outcome: "waiting";
    checkpointId: string;
    nodes: string[];
    forks: string[];
} | {
    outcome: "failed";
    checkpointId: string;
    nodes: string[];
};
interface RunsPage {
    runs: RunInfo[];
    cursor: string | null;
}
interface StatePartitions {
    input: unknown;
    scratch: unknown;
    artifacts: unknown;
    diagnostics: DiagnosticsView;
}
interface WaitingNode {
    runId: string;
    checkpointId: string;
    nodeId: string;
    prompt: string | undefined;
    state: StatePartitions;
    forks: string[];
}
declare function describe(graph: RecoverableGraph, options?: DescribeOptions): ProgramDescription;
declare const once: ContextOnce;
declare function recover(graph: RecoverableGraph, store: CheckpointStore, options?: AgentosRecoverOptions): Promise<RecoverReport<RecoveredRun>>;
declare function resumePlan(checkpoint: Pick<Checkpoint, "nodeResults" | "visitedNodes" | "skippedNodes">): ResumePlan;
declare function withEffects<G extends EffectGraph>(graph: G, store: CheckpointStore): G;
