export {
graphMermaid
graphOf
graphText
stepName
timeOf
waterfallOf
};
export type {
Answer
AnsweredQuestion
Change
CheckpointDetail
CheckpointInfo
CheckpointRef
Conversation
ConversationMessage
ConversationQuery
CopyOptions
CopyProgress
CopyResult
CourseProgram
DrainReport
DrainedRun
EffectDetail
EffectInfo
EffectRef
ForkEdit
GraphEdge
GraphNode
InspectedStats
Inspector
MessagePart
ModelPrice
ModelPrices
ModelUsage
Page
PartInfo
Question
ReadCourse
RunCourse
RunGraph
RunInfo
RunQuery
RunRef
RunUsage
SavedPerHour
SearchHit
SearchOptions
SearchProgress
Size
Snippet
Space
SpaceStats
Status
StoreEvent
StoreInfo
StoredAnswer
Stranded
StrandedCount
TokenUsage
ToolResult
Usage
UsageOptions
VersionCount
WatchedEffect
WaterfallRow
WriteInfo
};
interface Answer {
    id?: string | undefined;
    value?: unknown;
    approve?: boolean | undefined;
    reject?: boolean | string | undefined;
    by?: string | undefined;
}
interface AnsweredQuestion extends Question {
    stranded: Stranded | null;
}
interface Change {
    part: "state" | "rest" | "writes";
    op: "add" | "remove" | "replace";
    path: Array<string | number>;
    before?: unknown;
    after?: unknown;
    own?: true;
}
interface CheckpointDetail {
    checkpoint: CheckpointInfo;
    state: unknown;
    rest: unknown;
    writes: WriteInfo[];
    next: string[] | null;
    parts: PartInfo[];
}
interface CheckpointInfo extends CheckpointRef {
    ns: string | null;
    seq: number;
    step: number;
    label: string | null;
    nodes: string[] | null;
    group: string | null;
    parent: (CheckpointRef & {
        kind: "recorded" | "order";
    }) | null;
    at: number | null;
    savedAt: number;
    bytes: Size;
    chain: number;
    meta: Record<string, unknown>;
}
interface CheckpointRef extends RunRef {
    id: string;
}
interface Conversation {
    checkpoint: CheckpointInfo;
    lists: Array<{
        path: string;
        entries: number;
    }>;
    list: string | null;
    total: number;
    from: number;
    messages: ConversationMessage[];
}
interface ConversationMessage {
    path: string;
    id: string | null;
    role: string;
    name: string | null;
    parts: MessagePart[];
    model: string | null;
    usage: TokenUsage | null;
    durationMs: number | null;
    at: number | null;
    marks?: Array<"meta" | "sidechain">;
    added: boolean;
}
interface ConversationQuery {
    list?: string | undefined;
    from?: number | undefined;
    limit?: number | undefined;
}
interface CopyOptions {
    runs?: RunRef[];
    space?: Space;
    since?: number;
    onConflict?: "fail" | "skip" | "replace";
    onDamage?: "fail" | "skip";
    signal?: AbortSignal;
    onProgress?: (progress: CopyProgress) => void;
}
interface CopyProgress extends CopyResult {
    phase: "copying" | "verifying";
    ofCheckpoints: number;
    ofRecords: number;
}
interface CopyResult {
    lineages: number;
    checkpoints: number;
    effects: number;
    writes: number;
    records: number;
    bytes: number;
    skipped: number;
    damaged?: Array<RunRef & {
        message: string;
    }>;
}
interface CourseProgram {
    nodes: string[];
    edges: Array<{
        from: string;
        to: string;
        conditional: boolean;
    }>;
}
interface DrainReport {
    program: string | null;
    to: ProgramVersion;
    ok: boolean;
    fits: number;
    runs: DrainedRun[];
    other: number;
    unknown: number;
}
interface DrainedRun extends RunRef {
    checkpointId: string;
    active: number;
    status: Exclude<Status, "finished">;
    from: ProgramVersion | null;
    differences: string[];
}
interface EffectDetail {
    effect: EffectInfo;
    result: unknown;
    part: PartInfo | null;
}
interface EffectInfo extends RunRef, Effect {
    ns: string | null;
    branch: number;
}
interface EffectRef extends RunRef {
    key: string;
    branch?: number | undefined;
}
interface ForkEdit {
    set?: Array<[
        path: string,
        value: unknown
    ]> | undefined;
    patch?: unknown;
    state?: unknown;
    as?: string | undefined;
}
interface GraphEdge {
    from: string;
    to: string;
    count: number;
    conditional: boolean;
}
interface GraphNode {
    name: string;
    kind: "start" | "node" | "end";
    runs: number;
    state: "waiting" | "failed" | "next" | "done" | "idle";
}
interface InspectedStats extends Omit<StoreStats, "largest" | "keptBytes"> {
    spaces: Record<string, SpaceStats>;
    largest: Array<LineageStats & {
        space: Space;
        run: string;
        ns: string | null;
    }>;
    walBytes: number | null;
    freeBytes: number | null;
}
interface Inspector extends StoreInspector {
}
type MessagePart = {
    type: "text" | "reasoning" | "error";
    text: string;
} | {
    type: "call";
    id: string | null;
    name: string;
    args: unknown;
    result: ToolResult | null;
    state: string | null;
} | {
    type: "result";
    id: string | null;
    name: string | null;
    result: ToolResult;
} | {
    type: "media";
    mediaType: string;
    bytes: number | null;
    name: string | null;
    url: string | null;
} | {
    type: "value";
    name: string | null;
    value: unknown;
};
interface ModelPrice {
    input: number;
    output: number;
    cached?: number | undefined;
}
type ModelPrices = Record<string, ModelPrice>;
interface ModelUsage extends TokenUsage {
    model: string | null;
    messages: number;
    durationMs: number | null;
    cost: number | null;
}
interface Page<T> {
    items: T[];
    cursor: string | null;
}
interface PartInfo {
    name: string;
    tag: string;
    bytes: number;
    readable: boolean;
}
interface Question {
    id: string;
    node: string | null;
    tool: string | null;
    args: unknown;
    text: string;
    choices: string[];
    value: unknown;
    approve: unknown;
    reject: unknown;
    canAnswer: boolean;
    code: string;
    answered: StoredAnswer | null;
}
type ReadCourse = {
    [Name in keyof RunCourse]-?: Exclude<RunCourse[Name], undefined>;
};
interface RunCourse {
    steps: readonly CheckpointInfo[];
    effects?: readonly EffectInfo[] | undefined;
    subgraphs?: readonly CheckpointInfo[] | undefined;
    pauses?: readonly string[] | undefined;
    program?: CourseProgram | null | undefined;
    status?: Status | undefined;
    next?: readonly string[] | null | undefined;
}
interface RunGraph {
    nodes: GraphNode[];
    edges: GraphEdge[];
    source: "program" | "run";
}
interface RunInfo extends RunRef {
    ns: string | null;
    group: string | null;
    checkpoints: number;
    began: number | null;
    active: number;
    latest: CheckpointInfo;
    forkedFrom: CheckpointRef | null;
    status: Status;
    stopped: RunStop | null;
    labels: Record<string, string>;
    statusWhy: string | null;
    question: string | null;
    bytes: Size | null;
    version: ProgramVersion | null;
    lease: {
        holder: string;
        until: number;
    } | null;
    stranded: Stranded | null;
}
interface RunQuery {
    space?: Space | undefined;
    group?: string | undefined;
    match?: string | undefined;
    status?: Status | undefined;
    label?: Record<string, string> | undefined;
    version?: string | undefined;
    stranded?: boolean | undefined;
    since?: number | undefined;
    sort?: "active" | "began" | "size" | undefined;
    ns?: string | undefined;
    allNs?: boolean | undefined;
    limit?: number | undefined;
    maxMs?: number | undefined;
    cursor?: string | null | undefined;
    withWhy?: boolean | undefined;
    withQuestion?: boolean | undefined;
    withBytes?: boolean | undefined;
    withStranded?: boolean | undefined;
}
interface RunRef {
    space: Space;
    run: string;
    ns?: string | null | undefined;
}
interface RunUsage {
    total: Usage | null;
    steps: Array<{
        id: string;
        step: number;
        usage: Usage;
    }>;
    complete: boolean;
    unpriced: string[];
}
interface SavedPerHour {
    at: number;
    saved: number;
}
interface SearchHit extends CheckpointRef {
    ns: string | null;
    step: number;
    label: string | null;
    savedAt: number;
    part: Change["part"];
    path: Array<string | number>;
    inKey: boolean;
    snippet: Snippet;
}
interface SearchOptions {
    regex?: boolean | undefined;
    ignoreCase?: boolean | undefined;
    space?: Space | undefined;
    run?: string | undefined;
    ns?: string | undefined;
    status?: Status | undefined;
    label?: Record<string, string> | undefined;
    allSteps?: boolean | undefined;
    limit?: number | undefined;
    signal?: AbortSignal | undefined;
    onProgress?: ((progress: SearchProgress) => void) | undefined;
}
interface SearchProgress {
    runs: number;
    checkpoints: number;
    hits: number;
    unreadable: Record<string, number>;
    damaged: number;
}
interface Size {
    logical: number;
    stored: number;
}
interface Snippet {
    before: string;
    match: string;
    after: string;
}
type Space = KnownSpace | (string & {});
interface SpaceStats {
    runs: number;
    statuses: Record<Status, number>;
    checkpoints: number;
    effects: number;
    logicalBytes: number;
    storedBytes: number;
    isEstimate: boolean;
}
type Status = "waiting" | "failed" | "unfinished" | "stopped" | "finished" | "unknown";
type StoreEvent = {
    type: "saved";
    seq: number;
    checkpoint: CheckpointInfo;
} | {
    type: "effect";
    seq: number;
    effect: WatchedEffect;
} | {
    type: "changed";
};
interface StoreInfo {
    version: string;
    target: string;
    backend: string;
    write: boolean;
    spaces: Array<{
        space: Space;
    } & SpaceStats>;
}
declare class StoreInspector implements AsyncDisposable {
    #private;
    info(): Promise<StoreInfo>;
    runs(query?: RunQuery): Promise<Page<RunInfo>>;
    run(ref: RunRef, options?: {
        withWhy?: boolean;
        withQuestion?: boolean;
        withBytes?: boolean;
        withStranded?: boolean;
    }): Promise<RunInfo | null>;
    checkpoints(ref: RunRef, query?: {
        limit?: number;
        cursor?: string | null;
        order?: "asc" | "desc";
    }): Promise<Page<CheckpointInfo>>;
    forks(ref: RunRef): Promise<RunInfo[]>;
    effects(ref: RunRef): Promise<EffectInfo[]>;
    effect(ref: EffectRef): Promise<EffectDetail | null>;
    checkpoint(ref: RunRef & {
        id?: string | undefined;
        step?: number | undefined;
    }): Promise<CheckpointDetail | null>;
    questions(ref: RunRef & {
        id?: string | undefined;
        step?: number | undefined;
    }): Promise<Question[]>;
    conversation(ref: RunRef & {
        id?: string | undefined;
        step?: number | undefined;
    }, query?: ConversationQuery): Promise<Conversation | null>;
    usage(ref: RunRef, options?: UsageOptions): Promise<RunUsage | null>;
    course(ref: RunRef, options?: {
        limit?: number;
    }): Promise<ReadCourse | null>;
    diff(from: CheckpointRef | null, to: CheckpointRef, options?: {
        parts?: Array<Change["part"]>;
        limit?: number;
    }): Promise<{
        changes: Change[];
        truncated: boolean;
    }>;
    watch(options?: {
        space?: Space | undefined;
        run?: string | undefined;
        since?: number | undefined;
        last?: number | undefined;
        signal?: AbortSignal | undefined;
    }): AsyncIterable<StoreEvent>;
    search(text: string, options?: SearchOptions): AsyncIterable<SearchHit>;
    stats(options?: {
        largest?: number;
    }): Promise<InspectedStats>;
    versions(options?: {
        space?: Space | undefined;
    }): Promise<VersionCount[]>;
    stranded(options?: {
        space?: Space | undefined;
        signal?: AbortSignal | undefined;
    }): Promise<StrandedCount[]>;
    activity(options?: {
        hours?: number;
    }): Promise<SavedPerHour[]>;
    verify(options?: {
        runs?: RunRef[] | undefined;
        quick?: boolean | undefined;
        signal?: AbortSignal | undefined;
        onProgress?: ((done: number, of: number, next: string | null) => void) | undefined;
        rows?: number | undefined;
        after?: string | undefined;
    }): Promise<VerifyReport>;
    drainCheck(description: ProgramDescription, options?: {
        signal?: AbortSignal | undefined;
    }): Promise<DrainReport>;
    backup(path: string | URL, options?: BackupOptions): Promise<BackupResult>;
    fork(ref: CheckpointRef, edit?: ForkEdit, options?: {
        dryRun?: boolean;
    }): Promise<CheckpointRef>;
    answer(ref: RunRef, answer: Answer): Promise<AnsweredQuestion>;
    setLabels(ref: RunRef, changes: Record<string, string | null>): Promise<void>;
    stop(ref: RunRef, options?: StopOptions): Promise<StopResult>;
    importFrom(from: string | URL | Store, options?: Pick<CopyOptions, "onConflict" | "signal" | "onProgress">): Promise<CopyResult>;
    remove(ref: RunRef, ids?: string[], options?: DeleteOptions): Promise<{
        removed: number;
    }>;
    forgetEffect(ref: EffectRef): Promise<{
        forgotten: number;
    }>;
    settleEffect(ref: EffectRef, result: unknown): Promise<EffectInfo>;
    prune(options: PruneOptions & {
        space?: Space | undefined;
    }): Promise<PruneResult>;
    restore(path: string | URL, options?: RestoreOptions): Promise<RestoreResult>;
    migrate(options?: MigrateOptions): Promise<MigrateResult>;
    vacuum(): Promise<void>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
interface StoredAnswer {
    value: unknown;
    by: string | null;
    at: number;
    program?: true;
}
interface Stranded {
    program: string;
    to: ProgramVersion;
    differences: string[];
}
interface StrandedCount {
    space: Space;
    program: string;
    runs: number;
}
interface TokenUsage {
    input: number | null;
    output: number | null;
    cached: number | null;
    reasoning: number | null;
    total: number | null;
}
interface ToolResult {
    path: string;
    parts: MessagePart[];
    isError: boolean;
    added: boolean;
}
interface Usage extends TokenUsage {
    messages: number;
    durationMs: number | null;
    cost: number | null;
    models: ModelUsage[];
}
interface UsageOptions {
    last?: number | undefined;
    maxBytes?: number | undefined;
    signal?: AbortSignal | undefined;
}
interface VersionCount {
    space: Space;
    program: string | null;
    version: ProgramVersion | null;
    runs: number;
    statuses: Record<Exclude<Status, "finished">, number>;
    isEstimate: boolean;
}
interface WatchedEffect extends Pick<EffectInfo, "space" | "run" | "ns" | "key" | "branch"> {
    state: EffectState;
    savedAt: number;
}
interface WaterfallRow {
    kind: "step" | "task" | "subgraph" | "wait" | "effect";
    name: string | null;
    depth: number;
    from: number;
    to: number | null;
    waited: boolean;
    step: number | null;
    id: string | null;
    ns: string | null;
    state: EffectInfo["state"] | null;
}
interface WriteInfo {
    task: string;
    index: number;
    channel: string;
    value: unknown;
    owner: string | null;
    tag: string;
}
declare function graphMermaid({ nodes, edges }: RunGraph): string[];
declare function graphOf(course: RunCourse): RunGraph;
declare function graphText({ nodes, edges }: RunGraph): string[];
declare function stepName({ nodes, label, space, meta, }: Pick<CheckpointInfo, "nodes" | "label" | "space" | "meta">): string | null;
declare function timeOf(rows: readonly WaterfallRow[]): {
    work: number;
    waited: number;
};
declare function waterfallOf(course: RunCourse): WaterfallRow[];
