// Restarts, races, kills and sizes.
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { ReferenceStore } from "./reference.mjs";
import { changed, sleep } from "./wrong.mjs";

const doubled = (operation) => ({ ...operation, copy: structuredClone(operation.value) });

/** Stores each value twice. */
const twice = {
  wrap(store) {
    const batch = (operations) => store.batch(operations.map(doubled));
    return changed(store, {
      batch,
      async put(namespace, key, value) {
        await batch([{ namespace, key, value }]);
      },
    });
  },
  isWorse: ([mutant], [reference]) => mutant.value > 1.5 * reference.value,
};

export const processes = {
  "langgraph-store/restart-keeps-items": { faults: { forgets: (method) => method === "delete" } },
  "langgraph-store/restart-keeps-order": {
    wrap: (store, { isNew }) =>
      changed(store, {
        async search(...of) {
          const items = await store.search(...of);
          return isNew ? items : items.toSorted((one, other) => (one.key < other.key ? -1 : 1));
        },
      }),
  },
  "langgraph-store/other-process": { faults: { isDeaf: true } },
  "langgraph-store/race-in-namespace": {
    // A namespace is one document that is read and written as a whole.
    store: class extends ReferenceStore {
      replace(items) {
        this.items = new Map(items);
      }
      all = () => [...this.items];
    },
    changes: ["replace"],
    wrap: (store) =>
      changed(store, {
        async put(namespace, key, value) {
          const items = await store.all();
          await sleep(5);
          const item = { namespace, key, value, createdAt: new Date(), updatedAt: new Date() };
          await store.replace([...items, [JSON.stringify([namespace, key]), item]]);
        },
      }),
  },
  // Each process has a row of its own.
  "langgraph-store/race-for-item": class extends ReferenceStore {
    write({ namespace, key, value }) {
      const now = new Date(this.now());
      const item = { namespace, key, value, createdAt: now, updatedAt: now };
      this.items.set(JSON.stringify([namespace, key, value.who]), item);
    }
  },
  "langgraph-store/race-with-batch": {
    wrap: (store) =>
      changed(store, {
        async batch(operations) {
          const results = [];
          for (const operation of operations) {
            results.push(...(await store.batch([operation])));
            await sleep(5);
          }
          return results;
        },
      }),
  },
  "langgraph-store/kill-keeps-acknowledged": { faults: { lateMs: 200 } },
  "langgraph-store/kill-keeps-batches-whole": {
    faults: { tornMs: 30, half: (_, [all]) => [all.slice(0, all.length / 2)] },
  },
  "langgraph-store/kill-blocks-nobody": {
    // A file says that a process writes. Only that process removes it.
    wrap(store, { target }) {
      const file = `${target}.writer`;
      let isWriter = false;
      return changed(store, {
        async put(...of) {
          if (!isWriter && existsSync(file)) throw new Error("another process writes");
          isWriter = true;
          writeFileSync(file, "");
          await store.put(...of);
        },
        end() {
          if (isWriter) rmSync(file, { force: true });
        },
      });
    },
  },
  "langgraph-store/growth-of-items": twice,
  "langgraph-store/growth-of-updates": twice,
};
