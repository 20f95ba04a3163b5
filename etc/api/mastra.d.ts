export {
ForkpointMastraStore
};
export type {
ImportRunsOptions
MastraMemorySource
MastraSource
MastraStoreOptions
};
declare class ForkpointMastraStore extends MastraCompositeStore {
    stores: {
        workflows: WorkflowsStorage;
        memory: MemoryStorage;
    };
    constructor(target: string | URL | Store, options?: MastraStoreOptions);
    importRuns(source: MastraSource, options?: ImportRunsOptions): Promise<{
        copied: number;
        skipped: number;
    }>;
    importMemory(source: MastraMemorySource): Promise<{
        threads: number;
        messages: number;
        resources: number;
        skipped: number;
    }>;
    stats(options?: StatsOptions): Promise<RunStats>;
    lease(run: RunRef, options?: LeaseOptions): Promise<Lease>;
    withLease(lease: Lease): ForkpointMastraStore;
    check(options?: CheckOptions): Promise<VerifyReport>;
    vacuum(): Promise<void>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
interface ImportRunsOptions {
    statuses?: readonly string[];
}
type MastraMemorySource = Pick<MastraCompositeStore, "stores"> | Pick<MemoryStorage, "listThreads" | "listMessages" | "getResourceById">;
type MastraSource = Pick<MastraCompositeStore, "stores"> | Pick<WorkflowsStorage, "listWorkflowRuns">;
interface MastraStoreOptions extends StoreOptions {
    id?: string;
    retention?: object;
}
