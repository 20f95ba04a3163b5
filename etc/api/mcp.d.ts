export {
ForkpointEventStore
ForkpointTaskMessageQueue
ForkpointTaskStore
};
export type {
ForkpointEventStoreOptions
ForkpointTaskStoreOptions
Task
TaskRequest
TaskStatus
};
declare class ForkpointEventStore extends ContractStore {
    #private;
    constructor(target: string | URL | Store, options: ForkpointEventStoreOptions);
    storeEvent(streamId: string, message: object): Promise<string>;
    getStreamIdForEventId(eventId: string): Promise<string | undefined>;
    replayEventsAfter(lastEventId: string, { send }: {
        send: (eventId: string, message: any) => Promise<void>;
    }): Promise<string>;
    deleteSession(options?: DeleteOptions): Promise<void>;
    withLease(lease: Lease): ForkpointEventStore;
}
interface ForkpointEventStoreOptions extends Omit<StoreOptions, "keepLastN" | "ttlMs" | "waitingTtlMs"> {
    sessionId: string;
    ttlMs?: number | null;
    maxEvents?: number | null;
}
declare class ForkpointTaskMessageQueue extends ContractStore {
    #private;
    constructor(target: string | URL | Store, options?: StoreOptions);
    enqueue(taskId: string, message: object, _sessionId?: string, maxSize?: number): Promise<void>;
    dequeue(taskId: string, _sessionId?: string): Promise<any>;
    dequeueAll(taskId: string, _sessionId?: string): Promise<any[]>;
    withLease(lease: Lease): ForkpointTaskMessageQueue;
}
declare class ForkpointTaskStore extends ContractStore {
    #private;
    constructor(target: string | URL | Store, options?: ForkpointTaskStoreOptions);
    createTask(taskParams: {
        ttl?: number | null;
        pollInterval?: number;
        context?: Record<string, unknown>;
    }, requestId: string | number, request: object, sessionId?: string): Promise<Task>;
    getTask(taskId: string, sessionId?: string): Promise<Task | null>;
    getTaskRequest(taskId: string, sessionId?: string): Promise<TaskRequest>;
    storeTaskResult(taskId: string, status: "completed" | "failed", result: object, sessionId?: string): Promise<void>;
    getTaskResult(taskId: string, sessionId?: string): Promise<any>;
    updateTaskStatus(taskId: string, status: TaskStatus, statusMessage?: string, sessionId?: string): Promise<void>;
    listTasks(cursor?: string, sessionId?: string): Promise<{
        tasks: Task[];
        nextCursor?: string;
    }>;
    deleteSession(sessionId: string, options?: DeleteOptions): Promise<void>;
    withLease(lease: Lease): ForkpointTaskStore;
}
interface ForkpointTaskStoreOptions extends Omit<StoreOptions, "keepLastN" | "ttlMs" | "waitingTtlMs"> {
    maxTtlMs?: number;
    pageSize?: number;
}
interface Task {
    taskId: string;
    status: TaskStatus;
    ttl: number | null;
    createdAt: string;
    lastUpdatedAt: string;
    pollInterval?: number;
    statusMessage?: string;
}
interface TaskRequest {
    requestId: string | number;
    request: any;
    context?: Record<string, unknown> | undefined;
}
type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";
