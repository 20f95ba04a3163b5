// A small store in memory that meets every expectation. Made durable by `../durable.mjs`.

const pendingKey = "__mastra_pending__";
const isPending = (value) => typeof value === "object" && value !== null && value[pendingKey] === true;
const isSuspended = (value) => typeof value === "object" && value !== null && value.status === "suspended";

/** Merges the items of a foreach. An item without a result changes nothing, and a pending one takes a suspension back. */
export function mergeItems(before, now) {
  const isPart = now.some(isPending);
  return Array.from({ length: Math.max(before.length, now.length) }, (_, n) => {
    const [old = null, item = null] = [before[n], now[n]];
    if (isPending(item)) return isSuspended(old) ? null : old;
    return item === null || isPart ? old : item;
  });
}

/** Returns the result of a step that had another result before. */
export function mergeResult(before, now) {
  if (!Array.isArray(before?.output) || !Array.isArray(now?.output)) return now;
  const output = mergeItems(before.output, now.output);
  return now.output.some(isPending) ? { ...before, output } : { ...before, ...now, output };
}

const ages = { ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 };

/** Returns an age in ms, which may be a text such as "30d". */
export function ageOf(age) {
  const [, count, unit] = /^(\d+)([a-z]*)$/.exec(`${age}`);
  return Number(count) * ages[unit || "ms"];
}

/** `now` returns the time in ms. */
export class ReferenceStore {
  runs = new Map();

  constructor(now) {
    this.now = now;
  }

  /** What names a run. */
  keyOf(workflowName, runId) {
    return JSON.stringify([workflowName, runId]);
  }

  copyIn(value) {
    return structuredClone(value);
  }

  copyOut(value) {
    return structuredClone(value);
  }

  find({ workflowName, runId }) {
    return this.runs.get(this.keyOf(workflowName, runId));
  }

  supportsConcurrentUpdates() {
    return true;
  }

  async init() {}

  async dangerouslyClearAll() {
    this.runs.clear();
  }

  async persistWorkflowSnapshot({ workflowName, runId, ...given }) {
    const now = new Date(this.now());
    const before = this.find({ workflowName, runId });
    this.runs.set(this.keyOf(workflowName, runId), {
      workflowName,
      runId,
      resourceId: given.resourceId ?? before?.resourceId,
      snapshot: this.copyIn(given.snapshot),
      createdAt: this.copyIn(before?.createdAt ?? given.createdAt ?? now),
      updatedAt: this.copyIn(given.updatedAt ?? now),
    });
  }

  async loadWorkflowSnapshot(key) {
    return this.copyOut(this.find(key)?.snapshot ?? null);
  }

  async getWorkflowRunById({ runId, workflowName }) {
    const found = this.newestFirst().find(
      (run) => run.runId === runId && (workflowName === undefined || run.workflowName === workflowName),
    );
    return this.copyOut(found ?? null);
  }

  async updateWorkflowResults({ stepId, result, requestContext, ...key }) {
    const run = this.find(key);
    if (run === undefined) return {};
    const { context } = run.snapshot;
    context[stepId] = mergeResult(context[stepId], this.copyIn(result));
    run.snapshot.requestContext = { ...run.snapshot.requestContext, ...this.copyIn(requestContext) };
    run.updatedAt = new Date(this.now());
    return this.copyOut(context);
  }

  async updateWorkflowState({ opts: { expectedStatus, ...fields }, ...key }) {
    const run = this.find(key);
    if (run === undefined) return undefined;
    if (expectedStatus !== undefined && ![expectedStatus].flat().includes(run.snapshot.status)) return undefined;
    run.snapshot = { ...run.snapshot, ...this.copyIn(fields) };
    run.updatedAt = new Date(this.now());
    return this.copyOut(run.snapshot);
  }

  /** Runs of the same time stay in the order in which they began. */
  newestFirst() {
    return [...this.runs.values()].toSorted((a, b) => b.createdAt - a.createdAt);
  }

  matches(run, { workflowName, status, resourceId, fromDate, toDate }) {
    return (
      (workflowName === undefined || run.workflowName === workflowName) &&
      (status === undefined || run.snapshot.status === status) &&
      (resourceId === undefined || run.resourceId === resourceId) &&
      (fromDate === undefined || run.createdAt >= fromDate) &&
      (toDate === undefined || run.createdAt <= toDate)
    );
  }

  async listWorkflowRuns({ page, perPage, ...filter } = {}) {
    const runs = this.newestFirst().filter((run) => this.matches(run, filter));
    return { runs: this.copyOut(this.pageOf(runs, page, perPage)), total: runs.length };
  }

  pageOf(runs, page, perPage) {
    if (page === undefined || perPage === undefined || perPage === false) return runs;
    for (const number of [page, perPage])
      if (!Number.isInteger(number) || number < 0) throw new RangeError(`not a number of runs or pages: ${number}`);
    return runs.slice(page * perPage, (page + 1) * perPage);
  }

  async deleteWorkflowRunById({ workflowName, runId }) {
    this.runs.delete(this.keyOf(workflowName, runId));
  }

  async prune({ workflowSnapshot: policy }, { maxRows = Infinity, maxBatches = Infinity } = {}) {
    if (policy === undefined) return [];
    const before = this.now() - ageOf(policy.maxAge);
    const old = [...this.runs].filter(([, run]) => run.updatedAt < before);
    const gone = old.slice(0, Math.min(maxRows, maxBatches * (policy.batchSize ?? 1_000)));
    for (const [key] of gone) this.runs.delete(key);
    return [{ domain: "workflows", table: "runs", deleted: gone.length, done: gone.length === old.length }];
  }
}

export const changes = [
  "dangerouslyClearAll",
  "persistWorkflowSnapshot",
  "updateWorkflowResults",
  "updateWorkflowState",
  "deleteWorkflowRunById",
  "prune",
];
