// Mutants of the methods that every session has, of orders and of limits.
import { ReferenceSession, ReferenceStore } from "./reference.mjs";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const methods = {
  "openai-agents/session-id-given": class extends ReferenceSession {
    getSessionId = async () => `session-${this.id}`;
  },
  "openai-agents/session-id-stable": class extends ReferenceSession {
    getSessionId = async () => crypto.randomUUID();
  },
  "openai-agents/session-id-at-once": class extends ReferenceSession {
    async getSessionId() {
      if (this.isKnown) return this.id;
      await sleep(1);
      this.id = crypto.randomUUID();
      this.isKnown = true;
      return this.id;
    }
  },
  "openai-agents/session-id-own": class extends ReferenceSession {
    constructor(store, id = "default") {
      super(store, id);
    }
  },
  "openai-agents/session-id-reopens": class extends ReferenceSession {
    getSessionId = async () => (this.shown ??= this.id.length === 36 ? crypto.randomUUID() : this.id);
  },
  "openai-agents/session-id-after-clear": class extends ReferenceSession {
    async clearSession() {
      await super.clearSession();
      this.id = crypto.randomUUID();
    }
  },
  "openai-agents/empty": class extends ReferenceStore {
    async get(id, limit) {
      const items = await super.get(id, limit);
      return items.length === 0 ? undefined : items;
    }
  },
  "openai-agents/add": class extends ReferenceStore {
    add = async () => {};
  },
  "openai-agents/add-nothing": class extends ReferenceSession {
    async addItems(items) {
      if (items.length === 0) throw new Error("there are no items");
      await super.addItems(items);
    }
  },
  "openai-agents/add-equal": class extends ReferenceStore {
    async add(id, items) {
      const known = new Set(this.of(id).items.map((item) => JSON.stringify(item)));
      for (const item of items) {
        if (!known.has(JSON.stringify(item))) await super.add(id, [item]);
        known.add(JSON.stringify(item));
      }
    }
  },
  "openai-agents/add-fails-cleanly": class extends ReferenceSession {
    async addItems(items) {
      for (const item of items) await super.addItems([item]);
    }
  },
  "openai-agents/pop": class extends ReferenceStore {
    pop = async (id) => this.of(id).items.shift();
  },
  "openai-agents/pop-one-of-call": class extends ReferenceStore {
    sizes = [];
    async add(id, items) {
      this.sizes.push(items.length);
      await super.add(id, items);
    }
    async pop(id) {
      const { items } = this.of(id);
      return items.splice(items.length - (this.sizes.pop() ?? 0)).at(-1);
    }
  },
  "openai-agents/pop-empty": class extends ReferenceStore {
    pop = async (id) => (await super.pop(id)) ?? null;
  },
  // Counts positions by what was ever added, and removes by the number of items.
  "openai-agents/pop-then-add": class extends ReferenceStore {
    popped = 0;
    async pop(id) {
      this.popped += 1;
      return await super.pop(id);
    }
    async add(id, items) {
      await super.add(id, items);
      if (this.popped > 0) this.of(id).items.unshift(this.of(id).items.pop());
    }
  },
  "openai-agents/clear": class extends ReferenceStore {
    async clear(id) {
      this.of(id).items.splice(1);
    }
  },
  "openai-agents/clear-then-add": class extends ReferenceStore {
    cleared = new Map();
    async clear(id) {
      this.cleared.set(id, this.of(id).items);
      await super.clear(id);
    }
    async add(id, items) {
      await super.add(id, [...(this.cleared.get(id) ?? []), ...items]);
      this.cleared.delete(id);
    }
  },
  "openai-agents/clear-empty": class extends ReferenceStore {
    async clear(id) {
      if (this.of(id).items.length === 0) throw new Error("there is no such session");
      await super.clear(id);
    }
  },
  "openai-agents/order-in-call": class extends ReferenceStore {
    add = async (id, items) => super.add(id, items.toReversed());
  },
  // Sorts calls by their numbers as texts.
  "openai-agents/order-of-calls": class extends ReferenceStore {
    calls = 0;
    async add(id, items) {
      const { items: all } = this.of(id);
      const call = `${this.calls++}`;
      all.push(...items.map((item) => Object.assign(item, { call })));
      this.of(id).items = all.toSorted((a, b) => (a.call < b.call ? -1 : a.call > b.call ? 1 : 0));
    }
    get = async (id, limit) => (await super.get(id, limit)).map((item) => Object.assign(item, { call: undefined }));
  },
  "openai-agents/order-unawaited": class extends ReferenceSession {
    calls = 0;
    async addItems(items) {
      this.calls += 1;
      await sleep(this.calls % 2 === 0 ? 1 : 10);
      await super.addItems(items);
    }
  },
  "openai-agents/long-session": class extends ReferenceStore {
    get = async (id, limit = 1_000) => super.get(id, limit);
  },
  "openai-agents/large-call": class extends ReferenceStore {
    add = async (id, items) => super.add(id, items.slice(0, 1_000));
  },
  "openai-agents/limit": class extends ReferenceStore {
    get = async (id, limit) => (await super.get(id)).slice(0, Math.max(limit ?? Infinity, 0));
  },
  "openai-agents/limit-order": class extends ReferenceStore {
    async get(id, limit) {
      const items = await super.get(id, limit);
      return limit === undefined ? items : items.toReversed();
    }
  },
  "openai-agents/limit-in-call": class extends ReferenceStore {
    calls = [];
    async add(id, items) {
      this.calls.push(items.length);
      await super.add(id, items);
    }
    async get(id, limit) {
      if (limit === undefined || limit <= 0) return await super.get(id, limit);
      return await super.get(
        id,
        this.calls.slice(-limit).reduce((sum, size) => sum + size, 0),
      );
    }
  },
  "openai-agents/limit-beyond": class extends ReferenceStore {
    async get(id, limit = Infinity) {
      const { items } = this.of(id);
      const from = items.length - limit;
      return structuredClone(Number.isFinite(from) && limit > 0 ? items.slice(from) : await super.get(id, limit));
    }
  },
  "openai-agents/limit-zero": class extends ReferenceStore {
    get = async (id, limit) => super.get(id, limit || undefined);
  },
  "openai-agents/limit-negative": class extends ReferenceStore {
    get = async (id, limit) => super.get(id, limit < 0 ? undefined : limit);
  },
  "openai-agents/limit-infinity": class extends ReferenceStore {
    async get(id, limit) {
      if (limit === Infinity) throw new RangeError("limit must be a whole number");
      return await super.get(id, limit);
    }
  },

  "openai-agents/sessions-read-own": class extends ReferenceStore {
    get = async (_, limit) =>
      [...this.sessions.values()].flatMap(({ items }) => structuredClone(items)).slice(-(limit ?? Infinity));
  },
  "openai-agents/sessions-pop-own": class extends ReferenceStore {
    pop = async (id) =>
      (await super.pop(id)) ?? [...this.sessions.values()].findLast(({ items }) => items.length > 0)?.items.pop();
  },
  "openai-agents/sessions-clear-own": class extends ReferenceStore {
    clear = async () => this.sessions.clear();
  },
  // Each object has read its items once.
  "openai-agents/same-id": class extends ReferenceSession {
    async getItems(limit) {
      this.read ??= await super.getItems();
      return structuredClone(limit === undefined ? this.read : limit > 0 ? this.read.slice(-limit) : []);
    }
    async addItems(items) {
      await super.addItems(items);
      this.read = [...(this.read ?? []), ...structuredClone(items)];
    }
  },
  "openai-agents/ids-with-separators": class extends ReferenceStore {
    of = (id) => super.of(id.replace(/[^\w.-]/g, "_"));
  },
  "openai-agents/ids-of-prototypes": class extends ReferenceStore {
    byId = {};
    of = (id) => (this.byId[id] ??= { items: [], operations: new Map() });
    async clear(id) {
      delete this.byId[id];
    }
  },
  "openai-agents/ids-nearly-equal": class extends ReferenceStore {
    of = (id) => super.of(id.toLowerCase());
  },
  "openai-agents/ids-long": class extends ReferenceStore {
    of = (id) => super.of(id.slice(0, 255));
  },
  // Reads all, and writes all.
  "openai-agents/callers-add": class extends ReferenceSession {
    async addItems(items) {
      await this.store.replace(this.id, [...(await this.getItems()), ...items]);
    }
  },
  "openai-agents/callers-add-together": class extends ReferenceSession {
    async addItems(items) {
      for (const item of items) await super.addItems([item]);
    }
  },
  "openai-agents/callers-pop": class extends ReferenceSession {
    async popItem() {
      const items = await this.getItems();
      await this.store.replace(this.id, items.slice(0, -1));
      return items.at(-1);
    }
  },
};
