// A small store in memory that meets every expectation. Made durable by `../durable.mjs`, so its methods take the id of a session.
import { isDeepStrictEqual } from "node:util";

/** The items of sessions by their ids, and the transactions that they remember. It needs no time. */
export class ReferenceStore {
  sessions = new Map();

  /** Returns a session. It is kept once it has something. */
  of(id) {
    if (!this.sessions.has(id)) this.sessions.set(id, { items: [], operations: new Map() });
    return this.sessions.get(id);
  }

  async get(id, limit = Infinity) {
    const { items } = this.of(id);
    return structuredClone(limit > 0 ? items.slice(-limit) : []);
  }

  async add(id, items) {
    this.of(id).items.push(...structuredClone(items));
  }

  async pop(id) {
    return this.of(id).items.pop();
  }

  async clear(id) {
    this.sessions.delete(id);
  }

  async replace(id, items) {
    this.of(id).items = structuredClone(items);
  }

  async mutate(id, { mutations }) {
    const session = this.of(id);
    for (const { callId, replacement } of structuredClone(mutations)) {
      const isCall = (item) => item.type === "function_call" && item.callId === callId;
      const first = session.items.findIndex(isCall);
      session.items = session.items.flatMap((item, at) => (at === first ? [replacement] : isCall(item) ? [] : [item]));
    }
  }

  async transact(id, { operationId, transaction }) {
    const { items, operations } = this.of(id);
    if (operationId.trim() === "") throw new Error("an operation needs an id");
    if (operations.has(operationId)) {
      if (isDeepStrictEqual(operations.get(operationId), transaction)) return;
      throw new Error(`the operation ${operationId} was another transaction`);
    }
    const { items: added, expectedSuffix = [], replacement = added } = structuredClone(transaction);
    const from = items.length - expectedSuffix.length;
    if (from < 0 || !isDeepStrictEqual(items.slice(from), expectedSuffix)) throw new Error("the suffix is not the end");
    items.splice(from, Infinity, ...replacement);
    operations.set(operationId, structuredClone(transaction));
  }
}

/** The methods that change something. */
export const changes = ["add", "pop", "clear", "replace", "mutate", "transact"];

/** A session of the SDK. `store` is a `ReferenceStore` that is durable. */
export class ReferenceSession {
  constructor(store, id = crypto.randomUUID()) {
    Object.assign(this, { store, id });
  }

  async getSessionId() {
    return this.id;
  }

  async getItems(limit) {
    return await this.store.get(this.id, limit);
  }

  async addItems(items) {
    const copied = structuredClone(items);
    if (copied.length > 0) await this.store.add(this.id, copied);
  }

  async popItem() {
    return await this.store.pop(this.id);
  }

  async clearSession() {
    await this.store.clear(this.id);
  }

  async replaceHistoryWithCompaction(items) {
    await this.store.replace(this.id, structuredClone(items));
  }

  async applyHistoryMutations(args) {
    await this.store.mutate(this.id, structuredClone(args));
  }

  async applyHistoryTransaction(args) {
    await this.store.transact(this.id, structuredClone(args));
  }
}
