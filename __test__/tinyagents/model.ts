// A model of the operations on threads, written for clarity: lists in memory, searched from end to end.
import { type Namespace, type PendingWrite } from "forkpoint/tinyagents";

export interface Row {
  threadId: string;
  namespace: Namespace;
  checkpointId: string;
  parentCheckpointId: string | null;
  runId: string | null;
  state: unknown;
  pendingWrites: PendingWrite[];
  dependsOnParent: boolean;
}

interface Place {
  threadId: string;
  namespace: Namespace;
  checkpointId: string;
}

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

export class Model {
  /** All checkpoints, in the order in which they were put. */
  rows: Row[] = [];
  /** The writes, in their order, by the text of their place. */
  writes = new Map<string, PendingWrite[]>();
  /** The namespaces that have checkpoints, in the order in which they began. */
  namespaces: string[] = [];

  #of(threadId: string, namespace?: Namespace): Row[] {
    return this.rows.filter(
      (row) => row.threadId === threadId && (namespace === undefined || same(row.namespace, namespace)),
    );
  }

  put(row: Row): void {
    this.rows.push(row);
    const name = JSON.stringify([row.threadId, row.namespace]);
    if (!this.namespaces.includes(name)) this.namespaces.push(name);
  }

  get(threadId: string, checkpointId: string | null, namespace?: Namespace): Row | null {
    const rows = this.#of(threadId, namespace);
    return rows.findLast((row) => checkpointId === null || row.checkpointId === checkpointId) ?? null;
  }

  list(threadId: string): Row[] {
    return this.#of(threadId);
  }

  putWrites({ threadId, namespace, checkpointId }: Place, writes: PendingWrite[]): void {
    const key = JSON.stringify([threadId, namespace, checkpointId]);
    const held = this.writes.get(key) ?? [];
    // The append-once writes of a call come before its other writes.
    for (const write of [...writes.filter(({ idx }) => idx >= 0), ...writes.filter(({ idx }) => idx < 0)]) {
      const at = held.findIndex(({ taskId, idx }) => taskId === write.taskId && idx === write.idx);
      if (at === -1) held.push(write);
      else if (write.idx < 0) held[at] = write;
    }
    this.writes.set(key, held);
  }

  /** The writes of a stored checkpoint, grouped by task. */
  getWrites(row: Row): PendingWrite[] {
    const held = this.writes.get(JSON.stringify([row.threadId, row.namespace, row.checkpointId])) ?? [];
    const tasks = [...new Set(held.map(({ taskId }) => taskId))];
    return tasks.flatMap((task) => held.filter(({ taskId }) => taskId === task));
  }

  stateHistory(threadId: string, namespace?: Namespace): Row[] {
    const history: Row[] = [];
    let row = this.get(threadId, null, namespace);
    while (row !== null && !history.some(({ checkpointId }) => checkpointId === row!.checkpointId)) {
      history.push(row);
      // A parent is a checkpoint of the same namespace.
      row = row.parentCheckpointId === null ? null : this.get(threadId, row.parentCheckpointId, row.namespace);
    }
    return history;
  }

  listThreads(): string[] {
    return [...new Set(this.namespaces.map((name) => (JSON.parse(name) as [string])[0]))];
  }

  /** Removes checkpoints, and the writes of ids of which no checkpoint stays. Returns how many were removed. */
  #remove(gone: (row: Row) => boolean): number {
    const removed = this.rows.filter(gone);
    this.rows = this.rows.filter((row) => !gone(row));
    for (const { threadId, namespace, checkpointId } of removed) {
      if (this.get(threadId, checkpointId, namespace) !== null) continue;
      this.writes.delete(JSON.stringify([threadId, namespace, checkpointId]));
    }
    this.namespaces = this.namespaces.filter((name) =>
      this.rows.some((row) => name === JSON.stringify([row.threadId, row.namespace])),
    );
    return removed.length;
  }

  deleteThread(threadId: string): void {
    this.#remove((row) => row.threadId === threadId);
    for (const key of this.writes.keys()) {
      if ((JSON.parse(key) as [string])[0] === threadId) this.writes.delete(key);
    }
  }

  deleteCheckpoints(threadId: string, ids: string[]): number {
    return this.#remove((row) => row.threadId === threadId && ids.includes(row.checkpointId));
  }

  deleteByRun(threadId: string, runId: string | null): number {
    return this.#remove((row) => row.threadId === threadId && row.runId === runId && runId !== null);
  }

  /** Returns false if the target has checkpoints. */
  copyThread(source: string, target: string): boolean {
    if (this.#of(target).length > 0) return false;
    for (const row of this.#of(source)) {
      const place = { ...row, threadId: target };
      const first = this.get(target, row.checkpointId, row.namespace) === null;
      this.put(place);
      if (first) this.putWrites(place, this.getWrites(row));
    }
    return true;
  }

  prune(threadId: string, keepLast: number, protect: "ancestors" | "dependencies"): number {
    const kept = new Set<Row>();
    for (const name of this.namespaces) {
      const [of, namespace] = JSON.parse(name) as [string, Namespace];
      if (of !== threadId) continue;
      const rows = this.#of(threadId, namespace);
      for (const row of rows.slice(-Math.max(keepLast, 1))) kept.add(row);
      // Add what is missing until nothing is.
      for (let before = -1; before !== kept.size;) {
        before = kept.size;
        for (const row of rows.filter((one) => kept.has(one))) {
          // The first checkpoint of an id has its writes.
          kept.add(rows.find(({ checkpointId }) => checkpointId === row.checkpointId)!);
          if (protect === "dependencies" && !row.dependsOnParent) continue;
          for (const other of rows) if (other.checkpointId === row.parentCheckpointId) kept.add(other);
        }
      }
    }
    return this.#remove((row) => row.threadId === threadId && !kept.has(row));
  }
}
