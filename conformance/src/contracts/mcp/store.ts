/** What the suite uses of a module's stores. */
export interface Stores {
  /** Returns the event store of a session. A store that is for all sessions returns one. */
  events(sessionId: string): EventStore | Promise<EventStore>;
  /** Left out: the module has no tasks. */
  tasks?: TaskStore;
}

/** A message of JSON-RPC, or an empty object: the place before a stream's first message. */
export type Message = Record<string, any>;

/** `EventStore` of `@modelcontextprotocol/sdk/server/streamableHttp.js`. */
export interface EventStore {
  storeEvent(streamId: string, message: Message): Promise<string>;
  getStreamIdForEventId?(eventId: string): Promise<string | undefined>;
  replayEventsAfter(
    lastEventId: string,
    to: { send: (eventId: string, message: Message) => Promise<void> },
  ): Promise<string>;
}

export interface Task {
  taskId: string;
  status: string;
  ttl: number | null;
  createdAt: string;
  lastUpdatedAt: string;
  pollInterval?: number;
  statusMessage?: string;
}

/** `TaskStore` of `@modelcontextprotocol/sdk/experimental/tasks`. */
export interface TaskStore {
  createTask(
    params: { ttl?: number | null; pollInterval?: number },
    requestId: string | number,
    request: object,
    sessionId?: string,
  ): Promise<Task>;
  getTask(taskId: string, sessionId?: string): Promise<Task | null>;
  storeTaskResult(taskId: string, status: string, result: object, sessionId?: string): Promise<void>;
  getTaskResult(taskId: string, sessionId?: string): Promise<any>;
  updateTaskStatus(taskId: string, status: string, statusMessage?: string, sessionId?: string): Promise<void>;
  listTasks(cursor?: string, sessionId?: string): Promise<{ tasks: Task[]; nextCursor?: string }>;
}
