// A small store in memory that meets every expectation. Made durable by `../durable.mjs`. Mutants override its parts.
import { isDeepStrictEqual } from "node:util";

class InvalidNamespaceError extends Error {
  name = "InvalidNamespaceError";
}

const isPlain = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
const isSearch = (operation) => "namespacePrefix" in operation;
const isWrite = (operation) => "value" in operation && !isSearch(operation);
const isWrongLabel = (label) => typeof label !== "string" || label === "" || /[.:\0]/.test(label);
const byCodeUnits = (one, other) => (one < other ? -1 : 1);

const operators = {
  $eq: (found, wanted) => isDeepStrictEqual(found, wanted),
  $ne: (found, wanted) => !isDeepStrictEqual(found, wanted),
  $gt: (found, wanted) => typeof found === typeof wanted && found > wanted,
  $gte: (found, wanted) => typeof found === typeof wanted && found >= wanted,
  $lt: (found, wanted) => typeof found === typeof wanted && found < wanted,
  $lte: (found, wanted) => typeof found === typeof wanted && found <= wanted,
  $in: (found, wanted) => wanted.some((one) => isDeepStrictEqual(found, one)),
  $nin: (found, wanted) => !wanted.some((one) => isDeepStrictEqual(found, one)),
};

export class ReferenceStore {
  /** In the order of the first put. */
  items = new Map();

  /** `now` returns the time in ms. */
  constructor(now) {
    this.now = now;
  }

  async batch(operations) {
    for (const operation of operations) this.check(operation);
    const results = operations.map((operation) => (isWrite(operation) ? undefined : this.read(operation)));
    for (const operation of operations) if (isWrite(operation)) this.write(operation);
    return results;
  }

  async get(namespace, key) {
    return (await this.batch([{ namespace, key }]))[0];
  }

  async put(namespace, key, value) {
    await this.batch([{ namespace, key, value }]);
  }

  async delete(namespace, key) {
    await this.batch([{ namespace, key, value: null }]);
  }

  async search(namespacePrefix, options) {
    return (await this.batch([{ namespacePrefix, ...options }]))[0];
  }

  async listNamespaces({ prefix, suffix, ...options } = {}) {
    const conditions = { prefix, suffix };
    const matchConditions = Object.keys(conditions)
      .filter((matchType) => conditions[matchType] !== undefined)
      .map((matchType) => ({ matchType, path: conditions[matchType] }));
    return (await this.batch([{ matchConditions, limit: 100, offset: 0, ...options }]))[0];
  }

  /** Throws if an operation is wrong. */
  check(operation) {
    if (isSearch(operation)) {
      if (!Array.isArray(operation.namespacePrefix)) throw new TypeError("the prefix must be an array");
      this.checkFilter(operation.filter ?? {});
    } else if (isWrite(operation) && operation.value !== null) {
      this.checkNamespace(operation.namespace);
    }
  }

  checkFilter(filter) {
    for (const [key, wanted] of Object.entries(filter)) {
      const names = isPlain(wanted) ? Object.keys(wanted).filter((name) => name.startsWith("$")) : [];
      const isMixed = names.length > 0 && names.length < Object.keys(wanted).length;
      if (key === "$or" || key === "$and" || isMixed || names.some((name) => !Object.hasOwn(operators, name)))
        throw new TypeError(`wrong filter: ${JSON.stringify(filter)}`);
      for (const name of ["$in", "$nin"])
        if (names.includes(name) && !Array.isArray(wanted[name])) throw new TypeError(`${name} needs a list`);
    }
  }

  checkNamespace(namespace) {
    if (namespace.length === 0 || namespace[0] === "langgraph" || namespace.some(isWrongLabel))
      throw new InvalidNamespaceError(`wrong namespace: ${JSON.stringify(namespace)}`);
  }

  read(operation) {
    if (isSearch(operation)) return this.found(operation);
    return "key" in operation ? this.item(operation.namespace, operation.key) : this.listed(operation);
  }

  id(namespace, key) {
    return JSON.stringify([namespace, key]);
  }

  item(namespace, key) {
    const item = this.items.get(this.id(namespace, key));
    return item === undefined ? null : structuredClone(item);
  }

  write({ namespace, key, value }) {
    const id = this.id(namespace, key);
    if (value === null) {
      this.items.delete(id);
      return;
    }
    const updatedAt = new Date(this.now());
    const createdAt = this.items.get(id)?.createdAt ?? updatedAt;
    this.items.set(id, structuredClone({ value, key, namespace, createdAt, updatedAt }));
  }

  found({ namespacePrefix, filter = {}, limit = 10, offset = 0 }) {
    const all = this.ordered([...this.items.values()]).filter(
      (item) => this.isBelow(item.namespace, namespacePrefix) && this.matches(item.value, filter),
    );
    return structuredClone(all.slice(offset, offset + limit));
  }

  ordered(items) {
    return items;
  }

  isBelow(namespace, prefix) {
    return prefix.every((label, at) => label === namespace[at]);
  }

  matches(value, filter) {
    return Object.keys(filter).every((key) => this.meets(this.at(value, key), filter[key]));
  }

  /** Returns what a value has at a key of a filter. */
  at(value, key) {
    return Object.hasOwn(value, key) ? value[key] : undefined;
  }

  meets(found, wanted) {
    const isCondition = isPlain(wanted) && Object.keys(wanted).some((name) => name.startsWith("$"));
    if (!isCondition) return this.operate("$eq", found, wanted);
    return Object.keys(wanted).every((name) => this.operate(name, found, wanted[name]));
  }

  operate(name, found, wanted) {
    return operators[name](found, wanted);
  }

  /** Returns all namespaces, each once. */
  namespaces() {
    const all = [...this.items.values()].map(({ namespace }) => namespace);
    return [...new Map(all.map((namespace) => [JSON.stringify(namespace), namespace])).values()];
  }

  listed({ matchConditions = [], maxDepth, limit = 100, offset = 0 }) {
    const matching = this.namespaces().filter((namespace) =>
      matchConditions.every((condition) => this.satisfies(namespace, condition)),
    );
    const cut = matching.map((namespace) => namespace.slice(0, maxDepth));
    const each = [...new Map(cut.map((namespace) => [JSON.stringify(namespace), namespace])).values()];
    return structuredClone(this.sorted(each).slice(offset, offset + limit));
  }

  satisfies(namespace, { matchType, path }) {
    if (path.length > namespace.length) return false;
    const part = matchType === "prefix" ? namespace.slice(0, path.length) : namespace.slice(-path.length);
    return path.every((label, at) => label === "*" || label === part[at]);
  }

  sorted(namespaces) {
    return namespaces.toSorted((one, other) => {
      const at = one.findIndex((label, n) => label !== other[n]);
      return at >= 0 && at < other.length ? byCodeUnits(one[at], other[at]) : one.length - other.length;
    });
  }
}

/** The methods that change something. */
export const changes = ["batch", "put", "delete"];
