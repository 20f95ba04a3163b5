export {
ForkpointMastraStore
};
export type {
ImportRunsOptions
MastraSource
MastraStoreOptions
};
declare class ForkpointMastraStore extends MastraCompositeStore {
    stores: {
        workflows: WorkflowsStorage;
    };
    constructor(target: string | URL | Store, options?: MastraStoreOptions);
    importRuns(source: MastraSource, options?: ImportRunsOptions): Promise<{
        copied: number;
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
type MastraSource = Pick<MastraCompositeStore, "stores"> | Pick<WorkflowsStorage, "listWorkflowRuns">;
interface MastraStoreOptions extends StoreOptions {
    id?: string;
    retention?: object;
}
