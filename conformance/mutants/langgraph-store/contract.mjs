// Items, batches, searches, lists of namespaces and deletions.
import { ReferenceStore } from "./reference.mjs";
import { changed, sleep } from "./wrong.mjs";

const isPut = (operation) => "value" in operation && operation.value !== null;

/** Newest first, as SQL would return it. */
const newestFirst = (items) => items.toSorted((one, other) => other.updatedAt - one.updatedAt).toReversed();

export const contract = {
  "langgraph-store/get-missing": class extends ReferenceStore {
    item = (...of) => super.item(...of) ?? undefined;
  },
  "langgraph-store/put-get": class extends ReferenceStore {
    item(...of) {
      const item = super.item(...of);
      return item && { ...item, createdAt: item.createdAt.toISOString() };
    }
  },
  "langgraph-store/put-replaces": class extends ReferenceStore {
    write(operation) {
      const before = this.item(operation.namespace, operation.key)?.value;
      super.write(isPut(operation) ? { ...operation, value: { ...before, ...operation.value } } : operation);
    }
  },
  "langgraph-store/update-times": class extends ReferenceStore {
    write(operation) {
      this.items.delete(this.id(operation.namespace, operation.key));
      super.write(operation);
    }
  },
  // Dates are those of the first put.
  "langgraph-store/update-times-soon": class extends ReferenceStore {
    item(...of) {
      const item = super.item(...of);
      return item && { ...item, updatedAt: item.createdAt };
    }
  },
  "langgraph-store/random-calls": class extends ReferenceStore {
    write(operation) {
      if (isPut(operation) || operation.namespace.length < 3) super.write(operation);
    }
  },
  "langgraph-store/batch-results": class extends ReferenceStore {
    batch = async (operations) => (await super.batch(operations)).filter((result) => result !== undefined);
  },
  "langgraph-store/batch-list": class extends ReferenceStore {
    async batch(operations) {
      const known = ["namespace", "namespacePrefix", "matchConditions"];
      return await super.batch(operations.filter((operation) => known.some((name) => name in operation)));
    }
  },
  "langgraph-store/batch-reads-before": class extends ReferenceStore {
    async batch(operations) {
      for (const operation of operations) this.check(operation);
      return operations.map((one) => ("value" in one ? this.write(one) : this.read(one)));
    }
  },
  // The deletions of a batch are one statement, after that of the puts.
  "langgraph-store/batch-last-wins": class extends ReferenceStore {
    batch = async (operations) => super.batch(operations.toSorted((one, other) => isPut(other) - isPut(one)));
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
  "langgraph-store/batch-refuses-namespaces": class extends ReferenceStore {
    check(operation) {
      if (!isPut(operation)) super.check(operation);
    }
    async put(namespace, ...of) {
      this.checkNamespace(namespace);
      await super.put(namespace, ...of);
    }
  },
  "langgraph-store/search-prefix": class extends ReferenceStore {
    isBelow = (namespace, prefix) => namespace.length === prefix.length && super.isBelow(namespace, prefix);
  },
  "langgraph-store/search-everything": class extends ReferenceStore {
    isBelow = (namespace, prefix) => prefix.length > 0 && super.isBelow(namespace, prefix);
  },
  "langgraph-store/search-items": class extends ReferenceStore {
    found(operation) {
      const items = super.found(operation);
      for (const item of items) item.createdAt = item.updatedAt;
      return items;
    }
  },
  "langgraph-store/search-default-limit": class extends ReferenceStore {
    found = ({ limit = 100, ...operation }) => super.found({ limit, ...operation });
  },
  "langgraph-store/search-limit-zero": class extends ReferenceStore {
    found = ({ limit, ...operation }) => super.found({ limit: limit || 10, ...operation });
  },
  "langgraph-store/search-pages": class extends ReferenceStore {
    found = ({ limit = 10, offset = 0, ...operation }) => super.found({ limit, offset: offset * limit, ...operation });
  },
  "langgraph-store/search-filter-then-page": class extends ReferenceStore {
    found({ filter = {}, ...operation }) {
      return super.found(operation).filter(({ value }) => this.matches(value, filter));
    }
  },
  "langgraph-store/order-first-put": class extends ReferenceStore {
    ordered = (items) => newestFirst(items);
  },
  "langgraph-store/order-over-namespaces": class extends ReferenceStore {
    ordered(items) {
      return this.namespaces().flatMap((of) => items.filter(({ namespace }) => `${namespace}` === `${of}`));
    }
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
  "langgraph-store/list-each-once": class extends ReferenceStore {
    listed(operation) {
      return super
        .listed(operation)
        .flatMap((of) => [...this.items.values()].filter((item) => `${item.namespace}` === `${of}`).map(() => of));
    }
  },
  "langgraph-store/list-prefix": class extends ReferenceStore {
    satisfies(namespace, { matchType, path }) {
      return matchType === "prefix"
        ? path.every((label) => namespace.includes(label))
        : super.satisfies(namespace, { matchType, path });
    }
  },
  "langgraph-store/list-suffix": class extends ReferenceStore {
    listed({ matchConditions = [], ...operation }) {
      return super.listed({ matchConditions: matchConditions.slice(0, 1), ...operation });
    }
  },
  "langgraph-store/list-wildcards": class extends ReferenceStore {
    satisfies = (namespace, condition) => !condition.path.includes("*") && super.satisfies(namespace, condition);
  },
  "langgraph-store/list-max-depth": class extends ReferenceStore {
    listed({ maxDepth = Infinity, ...operation }) {
      return super.listed(operation).filter(({ length }) => length <= maxDepth);
    }
  },
  "langgraph-store/list-pages": class extends ReferenceStore {
    listed = ({ limit, ...operation }) => super.listed({ limit: limit + 1, ...operation });
  },
  "langgraph-store/list-limit-zero": class extends ReferenceStore {
    listed = ({ limit, ...operation }) => super.listed({ limit: limit || 100, ...operation });
  },
  "langgraph-store/list-sorted": class extends ReferenceStore {
    sorted = (namespaces) => namespaces;
  },
  "langgraph-store/list-sorted-by-labels": class extends ReferenceStore {
    sorted = (namespaces) => namespaces.toSorted((one, other) => one.join(":").localeCompare(other.join(":")));
  },
  "langgraph-store/delete": class extends ReferenceStore {
    write(operation) {
      if (isPut(operation)) super.write(operation);
      else this.gone = [...(this.gone ?? []), this.id(operation.namespace, operation.key)];
    }
    item = (...of) => (this.gone?.includes(this.id(...of)) ? null : super.item(...of));
  },
  "langgraph-store/delete-missing": class extends ReferenceStore {
    async delete(...of) {
      if ((await this.get(...of)) === null) throw new Error("there is no such item");
      await super.delete(...of);
    }
  },
  "langgraph-store/put-null": class extends ReferenceStore {
    delete = async (namespace, key) => super.write({ namespace, key, value: null });
    write(operation) {
      if (isPut(operation)) super.write(operation);
    }
  },
  "langgraph-store/delete-begins-anew": class extends ReferenceStore {
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
  "langgraph-store/delete-unlists": class extends ReferenceStore {
    known = new Map();
    write(operation) {
      super.write(operation);
      this.known.set(JSON.stringify(operation.namespace), operation.namespace);
    }
    namespaces = () => [...this.known.values()];
  },
};
