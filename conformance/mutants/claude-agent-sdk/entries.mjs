// Mutants of `append` and `load`: entries and their order.
import { ReferenceStore } from "./reference.mjs";

/** A store whose entries are written in another way. */
const writes = (change) =>
  class extends ReferenceStore {
    textOf = (entry) => super.textOf(change(entry));
  };

/** A store that loads what `change` makes of the entries. */
const loads = (change) =>
  class extends ReferenceStore {
    load = async (key) => change(await super.load(key));
  };

/** A store that adds the entries that `choose` returns. */
const adds = (choose) =>
  class extends ReferenceStore {
    fresh = (log, texts) => choose(log, texts, (...of) => super.fresh(...of));
  };

/** Changes each text in a JSON value, also keys. */
const inTexts = (change) => (entry) =>
  JSON.parse(JSON.stringify(entry), (_, value) => {
    if (typeof value === "string") return change(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [change(name), inner]));
  });

const sorted = (by) => loads((entries) => entries && entries.toSorted((a, b) => (by(a) < by(b) ? -1 : 1)));
const isEmpty = (value) => value === null || value === undefined;
const withoutNulls = (entry) => JSON.parse(JSON.stringify(entry), (_, value) => (isEmpty(value) ? undefined : value));

/** Assigns the keys one by one, so `__proto__` is none of them. */
function assigned(value) {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(assigned);
  const copy = {};
  for (const name of Object.keys(value)) copy[name] = assigned(value[name]);
  return copy;
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const entries = {
  "claude-agent-sdk/load-returns-entries": loads(
    (found) => found && found.map(({ type, uuid, timestamp, message }) => ({ type, uuid, timestamp, message })),
  ),
  "claude-agent-sdk/load-unknown": loads((found) => found ?? []),
  "claude-agent-sdk/append-empty": class extends ReferenceStore {
    async append(key, given) {
      if (!this.logs.has(this.idOf(key))) this.logs.set(this.idOf(key), this.begin(key));
      return super.append(key, given);
    }
  },
  "claude-agent-sdk/entries-without-uuid": adds((log, texts, fresh) => fresh(log, [...new Set(texts)])),
  "claude-agent-sdk/uuid-retry": adds((_, texts) => texts),
  "claude-agent-sdk/uuid-partial-retry": adds((log, texts, fresh) => {
    const found = fresh(log, texts);
    return found.length < texts.length ? [] : found;
  }),
  "claude-agent-sdk/uuid-within-append": adds(({ uuids }, texts) =>
    texts.filter((text) => !uuids.has(JSON.parse(text).uuid)),
  ),
  "claude-agent-sdk/order-of-appends": sorted(({ uuid }) => uuid),
  "claude-agent-sdk/order-not-by-timestamp": sorted(({ timestamp = "" }) => timestamp),
  "claude-agent-sdk/order-without-uuid": loads(
    (found) => found && [...found.filter(({ uuid }) => uuid === undefined), ...found.filter(({ uuid }) => uuid)],
  ),
  "claude-agent-sdk/order-unawaited": {
    wrap(store) {
      let calls = 0;
      return {
        async append(key, given) {
          await sleep((calls++ * 7) % 10);
          return store.append(key, given);
        },
      };
    },
  },
  "claude-agent-sdk/load-all": loads((found) => found && found.slice(0, 1_000)),
  "claude-agent-sdk/append-large": class extends ReferenceStore {
    async append(key, given) {
      if (given.length > 4_096) throw new RangeError("too many entries");
      return super.append(key, given);
    }
  },
  "claude-agent-sdk/entry-json": writes(withoutNulls),
  "claude-agent-sdk/entry-text": writes(inTexts((text) => text.replaceAll("\0", ""))),
  "claude-agent-sdk/entry-lone-surrogate": writes(inTexts((text) => text.toWellFormed())),
  "claude-agent-sdk/entry-prototype": writes(assigned),
  "claude-agent-sdk/entry-large": class extends ReferenceStore {
    textOf(entry) {
      const text = super.textOf(entry);
      if (text.length > 1_048_576) throw new RangeError("an entry is too large");
      return text;
    }
  },
  "claude-agent-sdk/entry-not-json": {
    wrap: (store) => ({
      async append(key, given) {
        for (const entry of structuredClone(given)) await store.append(key, [entry]);
      },
    }),
  },
  "claude-agent-sdk/append-copies": {
    wrap: (store) => ({
      async append(key, given) {
        await sleep(1);
        return store.append(key, given);
      },
    }),
  },
  "claude-agent-sdk/load-copies": {
    wrap(store) {
      const loaded = new Map();
      return {
        async load(key) {
          const id = JSON.stringify(key);
          if (!loaded.has(id)) loaded.set(id, await store.load(key));
          return loaded.get(id);
        },
      };
    },
  },
};
