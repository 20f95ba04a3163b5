/**
 * What the suite uses of Mastra's `WorkflowsStorage`. A store's module opens a storage and returns its domain `workflows`:
 * what `await storage.getStore("workflows")` returns.
 */
export interface Store {
  init(): Promise<void>;
  dangerouslyClearAll(): Promise<void>;
  prune(policies: Record<string, Policy>, options?: Record<string, unknown>): Promise<Pruned[]>;
  supportsConcurrentUpdates(): boolean;
  persistWorkflowSnapshot(run: Persist): Promise<void>;
  loadWorkflowSnapshot(run: Key): Promise<any>;
  updateWorkflowResults(run: Key & Results): Promise<Record<string, any>>;
  updateWorkflowState(run: Key & { opts: Record<string, unknown> }): Promise<any>;
  listWorkflowRuns(filter?: Filter): Promise<{ runs: Run[]; total: number }>;
  getWorkflowRunById(run: { runId: string; workflowName?: string }): Promise<Run | null>;
  deleteWorkflowRunById(run: Key): Promise<void>;
}

/** What names a run. */
export interface Key {
  workflowName: string;
  runId: string;
}

export interface Persist extends Key {
  resourceId?: string;
  snapshot: any;
  createdAt?: Date;
  updatedAt?: Date;
}

/** The result of a step. */
export interface Results {
  stepId: string;
  result: any;
  requestContext: Record<string, unknown>;
}

export interface Filter {
  workflowName?: string;
  status?: string;
  resourceId?: string;
  threadId?: string;
  fromDate?: Date;
  toDate?: Date;
  page?: number;
  perPage?: number | false;
}

/** A run as stores return it. */
export interface Run extends Key {
  /** Stores may return its JSON. */
  snapshot: any;
  createdAt: Date;
  updatedAt: Date;
  /** Some stores return null if there is none. */
  resourceId?: string | null;
}

export interface Policy {
  maxAge: number | string;
  batchSize?: number;
}

export interface Pruned {
  deleted: number;
  done: boolean;
}
