// Small stores in memory that meet every expectation. Made durable by `../durable.mjs`: events and tasks are in one.
const isOver = ({ status }) => !["working", "input_required"].includes(status);

export class ReferenceStore {
  events = [];
  tasks = new Map();

  constructor(now) {
    this.now = now;
  }

  async put(session, stream, id, message) {
    this.events.push({ session, stream, id, message });
    return id;
  }

  async after(session, id) {
    const at = this.events.findIndex((one) => one.id === id && one.session === session);
    if (at < 0) return undefined;
    const { stream } = this.events[at];
    const later = this.events.slice(at + 1).filter((one) => one.session === session && one.stream === stream);
    return { stream, later: structuredClone(later) };
  }

  /** Returns a task that has not expired, and that the session may see. */
  seen(taskId, session) {
    const found = this.tasks.get(taskId);
    if (found === undefined || found.ends <= this.now()) return undefined;
    const { session: own } = found;
    return own === undefined || session === undefined || own === session ? found : undefined;
  }

  needed(taskId, session) {
    const found = this.seen(taskId, session);
    if (found === undefined) throw new Error(`Task with ID ${taskId} not found`);
    return found;
  }

  endsOf(ttl) {
    return ttl === null ? Infinity : this.now() + ttl;
  }

  async create(taskId, { ttl = null, pollInterval = 1000 }, session) {
    const at = new Date(this.now()).toISOString();
    const task = { taskId, status: "working", ttl, createdAt: at, lastUpdatedAt: at, pollInterval };
    this.tasks.set(taskId, { task, session, ends: this.endsOf(ttl) });
    return structuredClone(task);
  }

  async get(taskId, session) {
    return structuredClone(this.seen(taskId, session)?.task ?? null);
  }

  async change(taskId, change, result, session) {
    const found = this.needed(taskId, session);
    if (isOver(found.task)) throw new Error(`task ${taskId} has ended`);
    Object.assign(found.task, change, { lastUpdatedAt: new Date(this.now()).toISOString() });
    if (result !== undefined) found.result = result;
    if (isOver(found.task)) found.ends = this.endsOf(found.task.ttl);
  }

  async result(taskId, session) {
    const { result } = this.needed(taskId, session);
    if (result === undefined) throw new Error(`task ${taskId} has no result`);
    return structuredClone(result);
  }

  async list(cursor, session, size) {
    const all = [...this.tasks.keys()].filter((id) => this.seen(id, session) !== undefined);
    const from = cursor === undefined ? 0 : all.indexOf(cursor) + 1;
    if (cursor !== undefined && from === 0) throw new Error(`Invalid cursor: ${cursor}`);
    const page = all.slice(from, from + size);
    const tasks = page.map((id) => structuredClone(this.tasks.get(id).task));
    return from + size < all.length ? { tasks, nextCursor: page.at(-1) } : { tasks };
  }
}

/** The methods that change something. */
export const changes = ["put", "create", "change"];

/** Copies a message. Throws if it is not JSON. */
export function copyOf(message) {
  const text = JSON.stringify(message, (_, value) => {
    const isJson = value === null || ["string", "boolean"].includes(typeof value) || Number.isFinite(value);
    if (isJson || Array.isArray(value) || value?.constructor === Object || typeof value?.constructor === "string")
      return value;
    throw new TypeError("the message is not JSON");
  });
  return JSON.parse(text);
}

/** An event store of the SDK. `store` is a `ReferenceStore` that is durable. */
export class ReferenceEvents {
  constructor(store, session) {
    Object.assign(this, { store, session });
  }

  async storeEvent(stream, message) {
    return await this.store.put(this.session, stream, crypto.randomUUID(), copyOf(message));
  }

  async getStreamIdForEventId(id) {
    return (await this.store.after(this.session, id))?.stream;
  }

  async replayEventsAfter(id, { send }) {
    const found = await this.store.after(this.session, id);
    if (found === undefined) return "";
    for (const { id, message } of found.later) if ("jsonrpc" in message) await send(id, message);
    return found.stream;
  }
}

/** A task store of the SDK. */
export class ReferenceTasks {
  size = 10;

  constructor(store) {
    this.store = store;
  }

  createTask(params, _requestId, _request, session) {
    return this.store.create(crypto.randomUUID(), params, session);
  }

  getTask(taskId, session) {
    return this.store.get(taskId, session);
  }

  async storeTaskResult(taskId, status, result, session) {
    await this.store.change(taskId, { status }, result, session);
  }

  getTaskResult(taskId, session) {
    return this.store.result(taskId, session);
  }

  async updateTaskStatus(taskId, status, statusMessage, session) {
    await this.store.change(taskId, { status, ...(statusMessage && { statusMessage }) }, undefined, session);
  }

  listTasks(cursor, session) {
    return this.store.list(cursor, session, this.size);
  }
}
