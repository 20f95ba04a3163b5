/** `ForkpointTaskStore`: the tasks of MCP servers. */

import { ForkpointError } from "../../bridge/errors.js";
import { ContractStore } from "../../store/contract-store.js";
import type { Engine } from "../../store/engine.js";
import type { StoreHandle } from "../../store/handle.js";
import { nonEmpty, text } from "../../store/ids.js";
import type { Lease } from "../../store/lease.js";
import { type Parsed, type StoreOptions, object, oneOf, whole } from "../../store/options.js";
import type { DeleteOptions } from "../../store/removing.js";
import type { Store } from "../../store/store.js";
import { Expiry } from "../shared/expiry.js";
import {
  ID,
  type Place,
  type Row,
  Rows,
  clearRun,
  jsonCopy,
  newId,
  openRows,
  repeated,
  valueOf,
} from "../shared/rows.js";

export interface ForkpointTaskStoreOptions extends Omit<StoreOptions, "keepLastN" | "ttlMs" | "waitingTtlMs"> {
  /** The longest time to live of a task, in ms. Default: no limit. */
  maxTtlMs?: number;
  /** The number of tasks on a page of `listTasks`. Default: 50. */
  pageSize?: number;
}

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** A task of the SDK. Times are ISO 8601. */
export interface Task {
  taskId: string;
  status: TaskStatus;
  /** The time to live in ms, from the creation and again from the end. Null: no limit. */
  ttl: number | null;
  createdAt: string;
  lastUpdatedAt: string;
  pollInterval?: number;
  statusMessage?: string;
}

/** The arguments with which a task was created. */
export interface TaskRequest {
  requestId: string | number;
  request: any;
  context?: Record<string, unknown> | undefined;
}

/** A stored task. `ends` is the time of its expiry, in ms since the epoch. */
type Stored = TaskRequest & { task: Task; ends: number | null; result?: object };

const rows = new Rows("mcp-tasks");
const parsers = { maxTtlMs: whole(1, Number.MAX_SAFE_INTEGER, "milliseconds"), pageSize: whole(1, 1_000, "tasks") };
const time = whole(0, Number.MAX_SAFE_INTEGER, "milliseconds");
const statusOf = oneOf<TaskStatus>("working", "input_required", "completed", "failed", "cancelled");
const endOf = oneOf<"completed" | "failed">("completed", "failed");
const cursorOf = new RegExp(`^(\\d{1,16})\\.(${ID})$`);
const isOver = ({ status }: Task): boolean => status !== "working" && status !== "input_required";
const hasExpired = ({ ends }: Stored): boolean => ends !== null && ends <= Date.now();
/** A task without a session belongs to the empty one. */
const sessionOf = (given: string | undefined): string => (given === undefined ? "" : nonEmpty(given, "sessionId"));

/**
 * The tasks of MCP servers, in a database. The SDK's interface is experimental.
 * @example const taskStore = new ForkpointTaskStore("mcp.db", { maxTtlMs: 24 * 3_600_000 });
 */
export class ForkpointTaskStore extends ContractStore {
  readonly #handle: StoreHandle;
  readonly #own: Parsed<typeof parsers>;
  readonly #expiry = new Expiry();

  /**
   * @param target as for `openStore`, or an open store.
   * @param options `maxTtlMs`, `pageSize`, and the options of `openStore` unless the store is open.
   */
  constructor(target: string | URL | Store, options?: ForkpointTaskStoreOptions) {
    const { handle, own } = openRows(rows, parsers, target, options);
    super(handle);
    [this.#handle, this.#own] = [handle, own];
  }

  /**
   * Creates a task. Returns it with its actual time to live.
   * @example const { taskId } = await store.createTask({ ttl: 60_000, context: { job: 7 } }, requestId, request, sessionId);
   */
  async createTask(
    taskParams: { ttl?: number | null; pollInterval?: number; context?: Record<string, unknown> },
    requestId: string | number,
    request: object,
    sessionId?: string,
  ): Promise<Task> {
    const task = await this.#handle.save(async (engine, held) => {
      const { ttl, pollInterval = 1_000, context } = object(taskParams, "taskParams") as typeof taskParams;
      const { maxTtlMs = null } = this.#own;
      const asked = ttl === undefined || ttl === null ? maxTtlMs : Math.min(time(ttl, "ttl"), maxTtlMs ?? Infinity);
      const run = sessionOf(sessionId);
      const about = jsonCopy({ requestId, request, context }, "request", held);
      const at = new Date();
      const [createdAt, taskId] = [at.toISOString(), newId()];
      const times = { createdAt, lastUpdatedAt: createdAt, pollInterval: time(pollInterval, "pollInterval") };
      const task: Task = { taskId, status: "working", ttl: asked, ...times };
      // The numbers are the order of creation, even if the clock steps back.
      const clock = Math.floor((performance.timeOrigin + performance.now()) * 1_000);
      const number = Math.max(clock, ((await rows.newest(engine, run))?.place.number ?? 0) + 1);
      await put(engine, run, { number, id: taskId }, "any", { ...about, task, ends: endsOf(task, at) });
      return task;
    });
    this.#expiry.sweepIfDue(this.#handle, { what: "expired tasks", ttlMs: 600_000, sweep });
    return task;
  }

  async #find(engine: Engine, taskId: string, sessionId: string | undefined): Promise<[Row, Stored] | undefined> {
    const [session, row] = [sessionOf(sessionId), await rows.row(engine, text(taskId, "taskId"))];
    if (row === null || (row.run !== session && row.run !== "" && session !== "")) return undefined;
    const stored = valueOf<Stored>(engine, row);
    return hasExpired(stored) ? undefined : [row, stored];
  }

  /** Reads a task for a method that needs one. */
  async #get(engine: Engine, taskId: string, sessionId: string | undefined): Promise<[Row, Stored]> {
    const found = await this.#find(engine, taskId, sessionId);
    if (found !== undefined) return found;
    throw new ForkpointError("NOT_FOUND", `Task with ID ${taskId.slice(0, 100)} not found`);
  }

  #change(engine: Engine, taskId: string, sessionId: string | undefined, change: Partial<Task>, result?: object) {
    return repeated(async () => {
      const [{ run, place }, stored] = await this.#get(engine, taskId, sessionId);
      if (isOver(stored.task)) {
        const message = `task ${taskId} is already ${stored.task.status}, which cannot change to ${change.status}`;
        throw new ForkpointError("INVALID_ARGUMENT", message);
      }
      const at = new Date();
      const task = { ...stored.task, ...change, lastUpdatedAt: at.toISOString() };
      const ends = isOver(task) ? endsOf(task, at) : stored.ends;
      await put(engine, run, place, { same: place }, { ...stored, task, ends, ...(result && { result }) });
    });
  }

  /**
   * Returns a task. Null: there is none, it has expired, or it belongs to another session.
   * @example const task = await store.getTask(taskId, sessionId);
   */
  getTask(taskId: string, sessionId?: string): Promise<Task | null> {
    return this.#handle.run(async (engine) => (await this.#find(engine, taskId, sessionId))?.[1].task ?? null);
  }

  /**
   * Returns the arguments with which a task was created, for a process that continues it.
   * @throws ForkpointError `NOT_FOUND` for an unknown task.
   * @example const { request, context } = await store.getTaskRequest(taskId);
   */
  getTaskRequest(taskId: string, sessionId?: string): Promise<TaskRequest> {
    return this.#handle.run(async (engine) => {
      const [, { requestId, request, context }] = await this.#get(engine, taskId, sessionId);
      return { requestId, request, ...(context && { context }) };
    });
  }

  /**
   * Ends a task with its result. The first end of a task counts.
   * @throws ForkpointError `NOT_FOUND` for an unknown task, `INVALID_ARGUMENT` if it has ended.
   * @example await store.storeTaskResult(taskId, "completed", { content: [] }, sessionId);
   */
  storeTaskResult(taskId: string, status: "completed" | "failed", result: object, sessionId?: string): Promise<void> {
    return this.#handle.save(async (engine, held) => {
      const copy = jsonCopy(object(result, "result"), "result", held);
      await this.#change(engine, taskId, sessionId, { status: endOf(status, "status") }, copy);
    });
  }

  /**
   * Returns the result of a task.
   * @throws ForkpointError `NOT_FOUND` for an unknown task, or one without a result.
   * @example const result = await store.getTaskResult(taskId, sessionId);
   */
  getTaskResult(taskId: string, sessionId?: string): Promise<any> {
    return this.#handle.run(async (engine) => {
      const [, { result }] = await this.#get(engine, taskId, sessionId);
      if (result === undefined) throw new ForkpointError("NOT_FOUND", `Task ${taskId} has no result stored`);
      return result;
    });
  }

  /**
   * Changes the status of a task.
   * @throws ForkpointError `NOT_FOUND` for an unknown task, `INVALID_ARGUMENT` if it has ended.
   * @example await store.updateTaskStatus(taskId, "input_required", "Which account?", sessionId);
   */
  updateTaskStatus(taskId: string, status: TaskStatus, statusMessage?: string, sessionId?: string): Promise<void> {
    return this.#handle.save(async (engine) => {
      const message = statusMessage === undefined ? {} : { statusMessage: text(statusMessage, "statusMessage") };
      await this.#change(engine, taskId, sessionId, { status: statusOf(status, "status"), ...message });
    });
  }

  /**
   * Returns a page of the tasks that the session may see, in the order of their creation.
   * @throws ForkpointError `INVALID_ARGUMENT` for a cursor that no page has returned.
   * @example const { tasks, nextCursor } = await store.listTasks(undefined, sessionId);
   */
  listTasks(cursor?: string, sessionId?: string): Promise<{ tasks: Task[]; nextCursor?: string }> {
    return this.#handle.run(async (engine) => {
      const { pageSize = 50 } = this.#own;
      const [, number, id] = cursorOf.exec(cursor === undefined ? "" : text(cursor, "cursor")) ?? [];
      if (cursor !== undefined && id === undefined) {
        throw new ForkpointError("INVALID_ARGUMENT", `Invalid cursor: ${cursor.slice(0, 100)}`);
      }
      const from = id === undefined ? undefined : { number: Number(number), id };
      const runs = sessionId === undefined ? [undefined] : [sessionOf(sessionId), ""];
      const live = await Promise.all(runs.map((run) => liveTasks(engine, run, from, pageSize + 1)));
      const found = live.flat().toSorted(([a], [b]) => a.number - b.number || (a.id < b.id ? -1 : 1));
      const [last] = found.length > pageSize ? found[pageSize - 1]! : [];
      const tasks = found.slice(0, pageSize).map(([, task]) => task);
      return { tasks, ...(last && { nextCursor: `${last.number}.${last.id}` }) };
    });
  }

  /**
   * Removes all tasks of a session.
   * @throws ForkpointError `CONFLICT` if a process holds the lease of the session, unless `force` is true.
   * @example await store.deleteSession(sessionId);
   */
  async deleteSession(sessionId: string, options?: DeleteOptions): Promise<void> {
    await clearRun(this.#handle, rows, nonEmpty(sessionId, "sessionId"), options);
  }

  withLease(lease: Lease): ForkpointTaskStore {
    return new ForkpointTaskStore(this.#handle.withLease(lease).asStore, this.#own);
  }
}

type Address = Pick<Place, "number" | "id">;

const endsOf = ({ ttl }: Task, at: Date): number | null => (ttl === null ? null : at.getTime() + ttl);

const sweep = (engine: Engine) => rows.sweep(engine, (row) => hasExpired(valueOf<Stored>(engine, row)));

const put = (engine: Engine, run: string, { number, id }: Address, expect: "any" | { same: Place }, value: Stored) =>
  rows.put(engine, { run, ns: "", number, id, expect, label: value.task.status, lasting: true }, value);

/** Reads tasks that have not expired, in order. */
async function liveTasks(engine: Engine, run: string | undefined, from: Address | undefined, most: number) {
  const live: Array<[Place, Task]> = [];
  for (let [more, after] = [true, from]; more && live.length < most;) {
    const page = await rows.page(engine, { run, from: after, limit: most });
    const stored = page.rows.map((row): [Place, Stored] => [row.place, valueOf(engine, row)]);
    live.push(...stored.filter(([, of]) => !hasExpired(of)).map(([place, { task }]): [Place, Task] => [place, task]));
    [more, after] = [page.more, page.rows.at(-1)?.place];
  }
  return live;
}
