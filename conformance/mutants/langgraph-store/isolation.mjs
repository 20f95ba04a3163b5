// Tenants, items and callers that are mixed up.
import { ReferenceStore } from "./reference.mjs";
import { changed, sleep } from "./wrong.mjs";

export const isolation = {
  "langgraph-store/search-whole-labels": class extends ReferenceStore {
    isBelow = (namespace, prefix) => namespace.join(":").startsWith(prefix.join(":"));
  },
  "langgraph-store/search-no-patterns": class extends ReferenceStore {
    isBelow = (namespace, prefix) => prefix.every((label, at) => label === "%" || label === namespace[at]);
  },
  "langgraph-store/list-whole-labels": class extends ReferenceStore {
    satisfies(namespace, { matchType, path }) {
      const [all, part] = [namespace.join(":"), path.join(":")];
      return matchType === "prefix" ? all.startsWith(part) : all.endsWith(part);
    }
  },
  "langgraph-store/one-key-in-namespaces": class extends ReferenceStore {
    write(operation) {
      super.write(operation);
      if (operation.value !== null) return;
      // Deletes what is below, too.
      for (const [id, { namespace, key }] of this.items)
        if (key === operation.key && this.isBelow(namespace, operation.namespace)) this.items.delete(id);
    }
  },
  "langgraph-store/joined-labels": class extends ReferenceStore {
    id = (namespace, key) => JSON.stringify([namespace.join(","), key]);
  },
  "langgraph-store/joined-keys": class extends ReferenceStore {
    async batch(operations) {
      const writes = operations.filter((one) => "value" in one);
      const last = new Map(writes.map((one) => [`${one.namespace.join(":")}:${one.key}`, one]));
      return await super.batch(operations.filter((one) => !writes.includes(one) || [...last.values()].includes(one)));
    }
  },
  "langgraph-store/exact-keys": class extends ReferenceStore {
    id = (namespace, key) => super.id(namespace, key).normalize();
  },
  "langgraph-store/put-copies": {
    // Hands out the caller's own objects.
    wrap(store) {
      const given = new Map();
      return changed(store, {
        async put(namespace, key, value) {
          given.set(JSON.stringify([namespace, key]), value);
          await store.put(namespace, key, value);
        },
        async get(namespace, key) {
          const item = await store.get(namespace, key);
          return item && { ...item, value: given.get(JSON.stringify([namespace, key])) };
        },
      });
    },
  },
  "langgraph-store/put-takes-value-at-call": {
    wrap: (store) =>
      changed(store, {
        async put(...of) {
          await sleep(1);
          await store.put(...of);
        },
      }),
  },
  "langgraph-store/get-copies": {
    // A cache of what was read.
    wrap(store) {
      const read = new Map();
      return changed(store, {
        async get(...of) {
          const id = JSON.stringify(of);
          if (!read.has(id)) read.set(id, await store.get(...of));
          return read.get(id);
        },
      });
    },
  },
};
