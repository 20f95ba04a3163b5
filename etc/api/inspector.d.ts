export type {
Change
CheckpointDetail
CheckpointInfo
CheckpointRef
DrainReport
DrainedRun
EffectDetail
EffectInfo
EffectRef
ForkEdit
InspectedStats
Inspector
Page
PartInfo
RunInfo
RunQuery
RunRef
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
WatchedEffect
WriteInfo
};
interface Change {
    part: "state" | "rest" | "writes";
    op: "add" | "remove" | "replace";
    path: Array<string | number>;
    before?: unknown;
    after?: unknown;
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
interface RunInfo extends RunRef {
    ns: string | null;
    group: string | null;
    checkpoints: number;
    began: number | null;
    active: number;
    latest: CheckpointInfo;
    forkedFrom: CheckpointRef | null;
    status: Status;
    labels: Record<string, string>;
    statusWhy: string | null;
    bytes: Size | null;
    version: ProgramVersion | null;
    lease: {
        holder: string;
        until: number;
    } | null;
}
interface RunQuery {
    space?: Space | undefined;
    group?: string | undefined;
    match?: string | undefined;
    status?: Status | undefined;
    label?: Record<string, string> | undefined;
    version?: string | undefined;
    since?: number | undefined;
    sort?: "active" | "began" | "size" | undefined;
    ns?: string | undefined;
    allNs?: boolean | undefined;
    limit?: number | undefined;
    maxMs?: number | undefined;
    cursor?: string | null | undefined;
    withWhy?: boolean | undefined;
    withBytes?: boolean | undefined;
}
interface RunRef {
    space: Space;
    run: string;
    ns?: string | null | undefined;
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
type Space = (typeof SPACES)[number] | (string & {});
interface SpaceStats {
    runs: number;
    statuses: Record<Status, number>;
    checkpoints: number;
    effects: number;
    logicalBytes: number;
    storedBytes: number;
    isEstimate: boolean;
}
type Status = "waiting" | "failed" | "unfinished" | "finished" | "unknown";
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
        withBytes?: boolean;
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
    setLabels(ref: RunRef, changes: Record<string, string | null>): Promise<void>;
    remove(ref: RunRef, ids?: string[]): Promise<{
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
    vacuum(): Promise<void>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
interface WatchedEffect extends Pick<EffectInfo, "space" | "run" | "ns" | "key" | "branch"> {
    state: EffectState;
    savedAt: number;
}
interface WriteInfo {
    task: string;
    index: number;
    channel: string;
    value: unknown;
    owner: string | null;
    tag: string;
}
