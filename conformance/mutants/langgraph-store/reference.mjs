// A small store in memory that meets every expectation. Made durable by `../durable.mjs`.

/** `now` returns the time in ms. */
export class ReferenceStore {
  #items = new Map();
  #now;

  constructor(now) {
    this.#now = now;
  }

  async get(namespace, key) {
    const item = this.#items.get(JSON.stringify([namespace, key]));
    return item === undefined ? null : structuredClone(item);
  }

  async put(namespace, key, value) {
    const id = JSON.stringify([namespace, key]);
    const updatedAt = new Date(this.#now());
    const createdAt = this.#items.get(id)?.createdAt ?? updatedAt;
    this.#items.set(id, structuredClone({ value, key, namespace, createdAt, updatedAt }));
  }
}

export const changes = ["put"];
