// Items, batches, searches, lists of namespaces and deletions.
import { ReferenceStore } from "./reference.mjs";
import { changed, sleep } from "./wrong.mjs";

const isPut = (operation) => "value" in operation && operation.value !== null;

/** Newest first, as SQL would return it. */
const newestFirst = (items) => items.toSorted((one, other) => other.updatedAt - one.updatedAt).toReversed();

export const contract = {
  "langgraph-store/get-missing": {
    store: class extends ReferenceStore {
      item(...of) {
        return super.item(...of) ?? undefined;
      }
    },
  },
  "langgraph-store/put-get": {
    store: class extends ReferenceStore {
      item(...of) {
        const item = super.item(...of);
        return item && { ...item, createdAt: item.createdAt.toISOString() };
      }
    },
  },
  "langgraph-store/put-replaces": {
    store: class extends ReferenceStore {
      write(operation) {
        const before = this.item(operation.namespace, operation.key)?.value;
        super.write(isPut(operation) ? { ...operation, value: { ...before, ...operation.value } } : operation);
      }
    },
  },
  "langgraph-store/update-times": {
    store: class extends ReferenceStore {
      write(operation) {
        this.items.delete(this.id(operation.namespace, operation.key));
        super.write(operation);
      }
    },
  },
  "langgraph-store/update-times-soon": {
    // Dates are those of the first put.
    store: class extends ReferenceStore {
      item(...of) {
        const item = super.item(...of);
        return item && { ...item, updatedAt: item.createdAt };
      }
    },
  },
  "langgraph-store/random-calls": {
    store: class extends ReferenceStore {
      write(operation) {
        if (isPut(operation) || operation.namespace.length < 3) super.write(operation);
      }
    },
  },
  "langgraph-store/batch-results": {
    store: class extends ReferenceStore {
      async batch(operations) {
        return (await super.batch(operations)).filter((result) => result !== undefined);
      }
    },
  },
  "langgraph-store/batch-list": {
    store: class extends ReferenceStore {
      async batch(operations) {
        const known = ["namespace", "namespacePrefix", "matchConditions"];
        return await super.batch(operations.filter((operation) => known.some((name) => name in operation)));
      }
    },
  },
  "langgraph-store/batch-reads-before": {
    store: class extends ReferenceStore {
      async batch(operations) {
        for (const operation of operations) this.check(operation);
        return operations.map((one) => ("value" in one ? this.write(one) : this.read(one)));
      }
    },
  },
  "langgraph-store/batch-last-wins": {
    // The deletions of a batch are one statement, after that of the puts.
    store: class extends ReferenceStore {
      async batch(operations) {
        return await super.batch(operations.toSorted((one, other) => isPut(other) - isPut(one)));
      }
    },
  },
  "langgraph-store/batch-all-or-nothing": {
    store: class extends ReferenceStore {
      async batch(operations) {
        const results = [];
        for (const operation of operations) results.push(...(await super.batch([operation])));
        return results;
      }
    },
    // The file has no records of calls that reject.
    wrap: (store) =>
      changed(store, {
        async batch(operations) {
          const results = [];
          for (const operation of operations) results.push(...(await store.batch([operation])));
          return results;
        },
      }),
  },
  "langgraph-store/batch-refuses-namespaces": {
    store: class extends ReferenceStore {
      check(operation) {
        if (!isPut(operation)) super.check(operation);
      }
      async put(namespace, ...of) {
        this.checkNamespace(namespace);
        await super.put(namespace, ...of);
      }
    },
  },
  "langgraph-store/search-prefix": {
    store: class extends ReferenceStore {
      isBelow(namespace, prefix) {
        return namespace.length === prefix.length && super.isBelow(namespace, prefix);
      }
    },
  },
  "langgraph-store/search-everything": {
    store: class extends ReferenceStore {
      isBelow(namespace, prefix) {
        return prefix.length > 0 && super.isBelow(namespace, prefix);
      }
    },
  },
  "langgraph-store/search-items": {
    store: class extends ReferenceStore {
      found(operation) {
        const items = super.found(operation);
        for (const item of items) item.createdAt = item.updatedAt;
        return items;
      }
    },
  },
  "langgraph-store/search-default-limit": {
    store: class extends ReferenceStore {
      found({ limit = 100, ...operation }) {
        return super.found({ limit, ...operation });
      }
    },
  },
  "langgraph-store/search-limit-zero": {
    store: class extends ReferenceStore {
      found({ limit, ...operation }) {
        return super.found({ limit: limit || 10, ...operation });
      }
    },
  },
  "langgraph-store/search-pages": {
    store: class extends ReferenceStore {
      found({ limit = 10, offset = 0, ...operation }) {
        return super.found({ limit, offset: offset * limit, ...operation });
      }
    },
  },
  "langgraph-store/search-filter-then-page": {
    store: class extends ReferenceStore {
      found({ filter = {}, ...operation }) {
        return super.found(operation).filter(({ value }) => this.matches(value, filter));
      }
    },
  },
  "langgraph-store/order-first-put": {
    store: class extends ReferenceStore {
      ordered(items) {
        return newestFirst(items);
      }
    },
  },
  "langgraph-store/order-over-namespaces": {
    store: class extends ReferenceStore {
      ordered(items) {
        return this.namespaces().flatMap((of) => items.filter(({ namespace }) => `${namespace}` === `${of}`));
      }
    },
  },
  "langgraph-store/order-of-calls": {
    // A pool of connections, of which the later ones are quicker.
    wrap(store) {
      let calls = 0;
      return changed(store, {
        async put(...of) {
          await sleep(Math.max(0, 50 - 2 * calls++));
          await store.put(...of);
        },
      });
    },
  },
  "langgraph-store/list-each-once": {
    store: class extends ReferenceStore {
      listed(operation) {
        return super
          .listed(operation)
          .flatMap((of) => [...this.items.values()].filter((item) => `${item.namespace}` === `${of}`).map(() => of));
      }
    },
  },
  "langgraph-store/list-prefix": {
    store: class extends ReferenceStore {
      satisfies(namespace, { matchType, path }) {
        return matchType === "prefix"
          ? path.every((label) => namespace.includes(label))
          : super.satisfies(namespace, { matchType, path });
      }
    },
  },
  "langgraph-store/list-suffix": {
    store: class extends ReferenceStore {
      listed({ matchConditions = [], ...operation }) {
        return super.listed({ matchConditions: matchConditions.slice(0, 1), ...operation });
      }
    },
  },
  "langgraph-store/list-wildcards": {
    store: class extends ReferenceStore {
      satisfies(namespace, condition) {
        return !condition.path.includes("*") && super.satisfies(namespace, condition);
      }
    },
  },
  "langgraph-store/list-max-depth": {
    store: class extends ReferenceStore {
      listed({ maxDepth = Infinity, ...operation }) {
        return super.listed(operation).filter(({ length }) => length <= maxDepth);
      }
    },
  },
  "langgraph-store/list-pages": {
    store: class extends ReferenceStore {
      listed({ limit, ...operation }) {
        return super.listed({ limit: limit + 1, ...operation });
      }
    },
  },
  "langgraph-store/list-limit-zero": {
    store: class extends ReferenceStore {
      listed({ limit, ...operation }) {
        return super.listed({ limit: limit || 100, ...operation });
      }
    },
  },
  "langgraph-store/list-sorted": {
    store: class extends ReferenceStore {
      sorted(namespaces) {
        return namespaces;
      }
    },
  },
  "langgraph-store/list-sorted-by-labels": {
    store: class extends ReferenceStore {
      sorted(namespaces) {
        return namespaces.toSorted((one, other) => one.join(":").localeCompare(other.join(":")));
      }
    },
  },
  "langgraph-store/delete": {
    store: class extends ReferenceStore {
      write(operation) {
        if (isPut(operation)) super.write(operation);
        else this.gone = [...(this.gone ?? []), this.id(operation.namespace, operation.key)];
      }
      item(...of) {
        return this.gone?.includes(this.id(...of)) ? null : super.item(...of);
      }
    },
  },
  "langgraph-store/delete-missing": {
    store: class extends ReferenceStore {
      async delete(...of) {
        if ((await this.get(...of)) === null) throw new Error("there is no such item");
        await super.delete(...of);
      }
    },
  },
  "langgraph-store/put-null": {
    store: class extends ReferenceStore {
      async delete(namespace, key) {
        super.write({ namespace, key, value: null });
      }
      write(operation) {
        if (isPut(operation)) super.write(operation);
      }
    },
  },
  "langgraph-store/delete-begins-anew": {
    store: class extends ReferenceStore {
      created = new Map();
      write(operation) {
        super.write(operation);
        const id = this.id(operation.namespace, operation.key);
        const item = this.items.get(id);
        if (item === undefined) return;
        if (!this.created.has(id)) this.created.set(id, item.createdAt);
        item.createdAt = this.created.get(id);
      }
    },
  },
  "langgraph-store/delete-unlists": {
    store: class extends ReferenceStore {
      known = new Map();
      write(operation) {
        super.write(operation);
        this.known.set(JSON.stringify(operation.namespace), operation.namespace);
      }
      namespaces() {
        return [...this.known.values()];
      }
    },
  },
};
