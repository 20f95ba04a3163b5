// Entries that break careless code.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { has, key, message, messages } from "./entries.js";
import * as sources from "./sources.js";
import type { Entry, Store } from "./store.js";

export const values = expectations<Store>("hostile", {
  "claude-agent-sdk/entry-json": {
    must: sources.load,
    title: "returns every kind of JSON value as it was",
    async checkStore(store) {
      const values = [null, true, 0, -1.5, 5e-324, 1.7976931348623157e308, Number.MAX_SAFE_INTEGER, 0.1 + 0.2, ""];
      const deep = Array.from({ length: 100 }).reduce((inner) => ({ in: [inner] }), null);
      const keys = { "": 1, "a.b": 2, $set: 3, "with space": 4, id: 5, data: null, 7: "number", mtime: "text" };
      const entry = { ...message(1), values, empty: [{}, [], [[]]], deep, keys, toString: "own", length: 0 };
      await store.append(key, [entry]);
      await has(store, key, [entry]);
    },
  },
  "claude-agent-sdk/entry-text": {
    must: sources.load,
    title: "returns texts with NUL, line breaks, quotes, emoji and accents as they were",
    async checkStore(store) {
      const texts = [
        "a\0b",
        "\n\r\n\u2028\u2029",
        `"'\`\\`,
        "\u001b[31m",
        "👩‍👩‍👧 שלום",
        "e\u0301 \u00e9",
        "\ufeff\uffff",
        " a ",
      ];
      const entries = texts.map((content, n) => message(n, { content, [`key ${content}`]: n }));
      await store.append(key, entries);
      await has(store, key, entries);
    },
  },
  "claude-agent-sdk/entry-lone-surrogate": {
    should: "framework: InMemorySessionStore returns it, and a text that was cut within an emoji has one",
    title: "returns texts with half of a surrogate pair as they were",
    async checkStore(store) {
      const entry = message(1, { content: "👍".slice(0, 1), "\udc4d": true });
      await store.append(key, [entry]);
      await has(store, key, [entry]);
    },
  },
  "claude-agent-sdk/entry-prototype": {
    should: "framework: InMemorySessionStore returns it, and a tool's input may have any key",
    title: "returns keys such as __proto__ and constructor as they were",
    async checkStore(store) {
      const text = '{"type":"user","input":{"__proto__":{"polluted":1},"constructor":{"prototype":2}}}';
      await store.append(key, [JSON.parse(text) as Entry]);
      const [entry] = (await store.load(key)) ?? [];
      const { input } = (entry ?? {}) as { input?: object };
      assert.ok(input && Object.hasOwn(input, "__proto__"), "__proto__ is no longer a key of the entry");
      assert.deepEqual(JSON.parse(JSON.stringify(entry)), JSON.parse(text));
      assert.equal(({} as { polluted?: number }).polluted, undefined, "the prototype of all objects was changed");
    },
  },
  "claude-agent-sdk/entry-large": {
    should: "framework: the SDK appends an entry of any size, and a tool's result may be an image",
    title: "takes an entry of 5 MB",
    async checkStore(store, trial) {
      const entry = message(1, { content: `${trial.random(10)}é`.repeat(1_750_000) });
      await store.append(key, [message(0), entry, message(2)]);
      const found = await store.load(key);
      assert.equal(found?.length, 3);
      assert.ok(found[1]!["content"] === entry["content"], "the large entry is not the one that was appended");
    },
  },
  "claude-agent-sdk/entry-not-json": {
    ours: "a rejected append is sent again whole, so nothing of it may be stored",
    title: "rejects an append in which an entry is not JSON, and stores nothing of it",
    async checkStore(store) {
      const circle: Entry = { type: "circle" };
      circle["self"] = circle;
      const notJson: unknown[] = [circle, { type: "user", big: 1n }, null, "text"];
      for (const [n, wrong] of notJson.entries()) {
        const appended = store.append(key, [...messages(2), wrong as Entry]);
        await assert.rejects(appended, `not rejected: case ${n} of a circle, a BigInt, null and a string`);
        await has(store, key, null, "a rejected append has stored entries");
      }
    },
  },
});
