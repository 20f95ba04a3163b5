/**
 * Declares the parts of optional peer packages that this package uses, so that building it does not need them
 * installed. The tests in integration/ compile and run against the real packages.
 */

declare module "@mastra/core/storage" {
  export interface WorkflowRunState {
    runId: string;
    status: string;
    context: Record<string, any>;
    [field: string]: any;
  }
  export interface WorkflowRun {
    workflowName: string;
    runId: string;
    snapshot: WorkflowRunState | string;
    createdAt: Date;
    updatedAt: Date;
    resourceId?: string;
  }
  export interface UpdateWorkflowStateOptions {
    status: string;
    expectedStatus?: string | string[];
    [field: string]: any;
  }
  export interface RetentionPolicy {
    maxAge: number | string;
    batchSize?: number;
  }
  export interface PruneOptions {
    maxBatches?: number;
    maxRows?: number;
    pauseMs?: number;
    signal?: AbortSignal;
  }
  export interface PruneResult {
    domain: string;
    table: string;
    deleted: number;
    done: boolean;
  }
  export abstract class StorageDomain {
    init(): Promise<void>;
    prune(policies: Record<string, RetentionPolicy>, options?: PruneOptions): Promise<PruneResult[]>;
  }
  export abstract class WorkflowsStorage extends StorageDomain {
    static readonly retentionTables: Record<string, { table: string; column: string; indexed: boolean }>;
    loadWorkflowSnapshot(run: { workflowName: string; runId: string }): Promise<WorkflowRunState | null>;
    persistWorkflowSnapshot(run: {
      workflowName: string;
      runId: string;
      resourceId?: string;
      snapshot: WorkflowRunState;
      createdAt?: Date;
      updatedAt?: Date;
    }): Promise<void>;
    listWorkflowRuns(args?: object): Promise<{ runs: WorkflowRun[]; total: number }>;
  }
  export interface StorageThread {
    id: string;
    resourceId: string;
    title?: string;
    metadata?: Record<string, unknown>;
    createdAt: Date;
    updatedAt: Date;
  }
  export interface StorageMessage {
    id: string;
    threadId?: string;
    resourceId?: string;
    role: string;
    type?: string;
    content: any;
    createdAt: Date;
  }
  export interface StorageResourceType {
    id: string;
    workingMemory?: string;
    metadata?: Record<string, unknown>;
    createdAt: Date;
    updatedAt: Date;
  }
  export interface StorageOrderBy {
    field?: "createdAt" | "updatedAt";
    direction?: "ASC" | "DESC";
  }
  export abstract class MemoryStorage extends StorageDomain {
    static readonly retentionTables: Record<string, { table: string; column: string; indexed: boolean }>;
    getThreadById(of: { threadId: string; resourceId?: string }): Promise<StorageThread | null>;
    saveThread(of: { thread: StorageThread }): Promise<StorageThread>;
    listThreads(args: object): Promise<{ threads: StorageThread[] }>;
    saveMessages(of: { messages: StorageMessage[] }): Promise<{ messages: StorageMessage[] }>;
    listMessages(args: object): Promise<{ messages: StorageMessage[]; hasMore: boolean }>;
    getResourceById(of: { resourceId: string }): Promise<StorageResourceType | null>;
    saveResource(of: { resource: StorageResourceType }): Promise<StorageResourceType>;
    protected parseOrderBy(
      orderBy?: StorageOrderBy,
      direction?: "ASC" | "DESC",
    ): { field: "createdAt" | "updatedAt"; direction: "ASC" | "DESC" };
    protected validateMetadataKeys(metadata: Record<string, unknown> | undefined): void;
  }
  export class MastraCompositeStore {
    stores?: { workflows?: WorkflowsStorage; memory?: MemoryStorage };
    constructor(config: { id: string; name?: string; retention?: object });
    close(): Promise<void>;
  }
  export function matchesExpectedWorkflowStatus(status: string, expected?: string | string[]): boolean;
  export function mergeWorkflowStepResult(of: {
    snapshot: object;
    stepId: string;
    result: unknown;
    requestContext: unknown;
  }): Record<string, any>;
  export function validateStorageMetadataFilter(metadata: unknown): Record<string, unknown> | undefined;
  export function storageMessageMatchesMetadataFilter(content: unknown, filter?: Record<string, unknown>): boolean;
  export function jsonValueEquals(a: unknown, b: unknown): boolean;
  export function retentionCutoffMs(policy: RetentionPolicy): number;
  export function runRetentionBatches(of: {
    deleteBatch: (limit: number) => Promise<number>;
    batchSize: number;
    options?: PruneOptions;
  }): Promise<{ deleted: number; done: boolean }>;
}

declare module "@openai/agents" {
  export type AgentInputItem = Record<string, any>;
  export interface SessionHistoryRewriteArgs {
    mutations: Array<{ type: "replace_function_call"; callId: string; replacement: AgentInputItem }>;
  }
  export interface SessionHistoryTransactionArgs {
    operationId: string;
    transaction:
      | { type: "append_items"; items: AgentInputItem[] }
      | { type: "replace_suffix"; expectedSuffix: AgentInputItem[]; replacement: AgentInputItem[] };
  }
}

declare module "@langchain/langgraph-checkpoint" {
  export interface SerializerProtocol {
    dumpsTyped(data: any): Promise<[string, Uint8Array]>;
    loadsTyped(type: string, data: Uint8Array | string): Promise<any>;
  }
  export type ChannelVersions = Record<string, number | string>;
  export interface Checkpoint {
    v: number;
    id: string;
    ts: string;
    channel_values: Record<string, unknown>;
    channel_versions: ChannelVersions;
    versions_seen: Record<string, ChannelVersions>;
  }
  export interface Config {
    configurable?: Record<string, any>;
  }
  export type Metadata = Record<string, any>;
  export type CheckpointMetadata = Metadata;
  export type PendingWrite = [channel: string, value: unknown];
  export interface CheckpointTuple {
    config: Config;
    checkpoint: Checkpoint;
    metadata?: Metadata;
    parentConfig?: Config;
    pendingWrites?: Array<[task: string, channel: string, value: unknown]>;
  }
  export interface CheckpointListOptions {
    limit?: number;
    before?: Config;
    filter?: Record<string, unknown>;
  }
  export interface DeltaChannelHistory {
    writes: Array<[task: string, channel: string, value: unknown]>;
    seed?: unknown;
  }
  export abstract class BaseCheckpointSaver {
    serde: SerializerProtocol;
    constructor(serde?: SerializerProtocol);
    abstract getTuple(config: Config): Promise<CheckpointTuple | undefined>;
    getNextVersion(current: number | undefined): number;
  }
  export type Operation = Record<string, any>;
  export type OperationResults<Tuple extends readonly Operation[]> = { [K in keyof Tuple]: any };
  export abstract class BaseStore {
    abstract batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>>;
    put(namespace: string[], key: string, value: Record<string, any>, index?: false | string[]): Promise<void>;
  }
  export type CacheNamespace = string[];
  export type CacheFullKey = [namespace: CacheNamespace, key: string];
  export abstract class BaseCache<V = unknown> {
    serde: SerializerProtocol;
    constructor(serde?: SerializerProtocol);
    abstract get(keys: CacheFullKey[]): Promise<Array<{ key: CacheFullKey; value: V }>>;
    abstract set(pairs: Array<{ key: CacheFullKey; value: V; ttl?: number }>): Promise<void>;
    abstract clear(namespaces: CacheNamespace[]): Promise<void>;
  }
  export const WRITES_IDX_MAP: Record<string, number>;
  export const TASKS: string;
  export class DeltaSnapshot {
    readonly value: unknown;
  }
  export function maxChannelVersion(...versions: Array<number | string>): number | string;
  export function getCheckpointId(config: Config): string;
}
