// Mutants that change values.
import { ReferenceSession, ReferenceStore } from "./reference.mjs";

/** A store that changes each item before it is stored. */
const changing = (change) =>
  class extends ReferenceStore {
    add = async (id, items) => super.add(id, items.map(change));
  };

/** Changes each text of an item, of its keys too. */
const texts = (change) =>
  changing(function walk(value) {
    if (typeof value === "string") return change(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [change(key), walk(one)]));
  });

/** Changes each value of an item that is no object. */
const leaves = (change) => changing((item) => JSON.parse(JSON.stringify(item), (_, value) => change(value)));

const known = new Set([
  "type",
  "role",
  "content",
  "id",
  "status",
  "callId",
  "name",
  "arguments",
  "output",
  "providerData",
  "rawContent",
]);

export const values = {
  "openai-agents/every-type": changing((item) => (item.type === "unknown" ? { type: "unknown" } : item)),
  // Takes a dot in a key for a path.
  "openai-agents/provider-data": changing((item) => {
    const { "a.b": dotted, ...others } = item.providerData ?? {};
    return dotted === undefined ? item : { ...item, providerData: { ...others, a: { ...others.a, b: dotted } } };
  }),
  "openai-agents/unknown-keys": changing((item) =>
    Object.fromEntries(Object.entries(item).filter(([key]) => known.has(key))),
  ),
  "openai-agents/empty-values": leaves((value) => value ?? undefined),
  "openai-agents/arguments-text": changing((item) => {
    try {
      return { ...item, arguments: item.arguments && JSON.stringify(JSON.parse(item.arguments)) };
    } catch {
      return item;
    }
  }),
  "openai-agents/numbers": leaves((value) => (typeof value === "number" ? Math.fround(value) : value)),
  "openai-agents/unicode": texts((text) => text.normalize("NFC")),
  "openai-agents/control-characters": texts((text) => text.replaceAll("\r\n", "\n")),
  "openai-agents/nul-characters": texts((text) => text.replaceAll("\u0000", "")),
  "openai-agents/lone-surrogates": texts((text) => Buffer.from(text).toString()),
  "openai-agents/keys-with-meaning": changing((item) => {
    const copied = {};
    for (const [key, value] of Object.entries(item))
      copied[key] = key === "providerData" ? Object.assign({}, JSON.parse(JSON.stringify(value))) : value;
    return copied;
  }),
  "openai-agents/deep": class extends ReferenceSession {
    async addItems(items) {
      const depth = (value) =>
        typeof value === "object" && value ? 1 + Math.max(0, ...Object.values(value).map(depth)) : 0;
      if (depth(items) > 100) throw new RangeError("nested too deeply");
      await super.addItems(items);
    }
  },
  "openai-agents/image": texts((text) => text.slice(0, 1_000_000)),
  "openai-agents/beyond-json": changing((item) => JSON.parse(JSON.stringify(item))),
  "openai-agents/copies-in": class extends ReferenceSession {
    added = [];
    async addItems(items) {
      await super.addItems(items);
      this.added.push(...items);
    }
    getItems = async () => this.added;
  },
  "openai-agents/copies-in-early": class extends ReferenceSession {
    async addItems(items) {
      await new Promise(setImmediate);
      await super.addItems(items);
    }
  },
  "openai-agents/copies-out": class extends ReferenceSession {
    async getItems(limit) {
      this.read ??= await super.getItems();
      return limit === undefined ? this.read : this.read.slice(-limit);
    }
  },
};
