// Values and names that break careless code.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { finish, load, persist, snapshot, step, suspended } from "./helpers.js";
import type { Store } from "./store.js";

const json = "documented: https://mastra.ai/docs/workflows/snapshots#best-practices (what can be converted to JSON)";

/** Persists a result of a step, and returns it as it is read. */
async function roundTrip(store: Store, output: unknown): Promise<any> {
  await persist(store, { snapshot: snapshot({ context: { input: {}, a: step(output) } }) });
  return (await load(store)).context.a.output;
}

export const hostile = expectations<Store>("hostile", {
  "mastra/json-values": {
    must: json,
    title: "returns every value of JSON as it was: texts, numbers, and keys of all kinds",
    async checkStore(store) {
      const value = {
        texts: [
          "",
          " ",
          "\u0001\u001f",
          "\u2028\u2029",
          "\uFEFF",
          "\u{1F9D1}\u200D\u{1F680}",
          "e\u0301",
          "\u00e9",
          "'\"`\\%_$",
        ],
        likeOthers: ["null", "1", "true", "2024-01-01T00:00:00.000Z", "[]", "{}", "undefined"],
        numbers: [0, -1, 0.1, 1e-7, 5e-324, 1.7976931348623157e308, 9007199254740991, -9007199254740991],
        keys: { "": 1, " ": 2, "a.b": 3, $: 4, $ref: 5, "a'b": 6, 'a"b': 7, "\u00e9": 8, "0": 9, "[0]": 10 },
        names: { constructor: 1, toString: 2, hasOwnProperty: 3, length: 4, toJSON: 5, type: "Buffer" },
        empty: [[], {}, [[]], [{}], null, false],
      };
      assert.deepEqual(await roundTrip(store, value), value);
    },
  },
  "mastra/order-of-steps": {
    should: "framework: getSnapshotMemoryInfo takes the first suspended step of a context",
    title: "keeps the order of the steps of a snapshot",
    async checkStore(store) {
      const names = ["zebra", "input", "b", "aa", "a", "B"];
      const context = Object.fromEntries(names.map((name) => [name, step(name)]));
      await persist(store, { snapshot: snapshot({ context }) });
      await finish(store, "0th", step(1));
      await finish(store, "aaa", step(2));
      assert.deepEqual(Object.keys((await load(store)).context), [...names, "0th", "aaa"]);
    },
  },
  "mastra/nul-in-texts": {
    should: `${json}, and what tools read from files has NUL characters`,
    title: "keeps NUL characters in texts",
    async checkStore(store) {
      assert.deepEqual(await roundTrip(store, { "a\0b": "\0", text: "a\0\0b\\u0000" }), {
        "a\0b": "\0",
        text: "a\0\0b\\u0000",
      });
    },
  },
  "mastra/half-characters": {
    should: `${json}, and texts of models that are cut off end in the middle of a character`,
    title: "keeps half a character at the end of a text",
    async checkStore(store) {
      const text = "well done \u{1F389}".slice(0, -1);
      assert.deepEqual(await roundTrip(store, { text }), { text });
    },
  },
  "mastra/dates": {
    should: 'framework: InMemoryStore keeps them ("downstream consumers that do .getTime() then break")',
    title: "keeps the dates that steps have returned, so that they are dates after a resume",
    async checkStore(store) {
      const due = new Date(1_700_000_000_123);
      assert.deepEqual(await roundTrip(store, { due, all: [{ due }] }), { due, all: [{ due }] });
      await finish(store, "b", step({ due }));
      assert.deepEqual((await load(store)).context.b.output, { due });
    },
  },
  "mastra/values-beyond-json": {
    ours: "a step gets after a resume what it would have got without one (InMemoryStore does it, LibSQLStore doesn't)",
    title: "keeps undefined, NaN, infinities, maps, sets, big integers and bytes",
    async checkStore(store) {
      const value = {
        none: undefined,
        numbers: [Number.NaN, Number.POSITIVE_INFINITY],
        map: new Map<unknown, unknown>([["k", new Set([1, "a"])]]),
        big: 12_345_678_901_234_567_890n,
        bytes: new Uint8Array([0, 255]),
      };
      assert.deepEqual(await roundTrip(store, value), value);
    },
  },
  "mastra/proto-key": {
    ours: "it is a key of JSON like others (InMemoryStore and LibSQLStore lose it)",
    title: "keeps a key that is called __proto__, and changes no prototype",
    async checkStore(store) {
      const found = await roundTrip(store, JSON.parse('{"__proto__":{"isAdmin":true},"a":1}'));
      assert.equal(found.isAdmin, undefined, "the prototype of the value was changed");
      assert.equal(JSON.stringify(found), '{"__proto__":{"isAdmin":true},"a":1}');
    },
  },
  "mastra/big-snapshot": {
    should: "framework: snapshots of agents with files have many MB (https://github.com/mastra-ai/mastra/issues/17284)",
    title: "stores a snapshot of 5 MB, and changes it",
    async checkStore(store, trial) {
      const texts = Array.from({ length: 50 }, (_, n) => `${n}:${trial.random(1e9)}:`.padEnd(100_000, "\u00e4 text. "));
      assert.deepEqual(await roundTrip(store, { texts }), { texts });
      const context = await finish(store, "b", step("end"));
      assert.equal(context["a"].output.texts[49], texts[49]);
      assert.deepEqual((await load(store)).context.b, step("end"));
    },
  },
  "mastra/deep-snapshot": {
    ours: "what is too deep must not be replaced without an error (LibSQLStore replaces all below 100 levels by a text)",
    title: "stores a value that is nested 300 times",
    async checkStore(store) {
      let value: unknown = "inside";
      for (let n = 0; n < 150; n++) value = { [`k${n}`]: [value] };
      let found = await roundTrip(store, value);
      for (let n = 149; n >= 0; n--) found = found?.[`k${n}`]?.[0];
      assert.equal(found, "inside", "what is inside of 300 levels");
    },
  },
  "mastra/odd-steps": {
    should:
      "documented: the id of a step is any text, and the engine itself has steps such as `loop.step` and `__state`",
    title: "stores the results of steps whatever their ids are",
    async checkStore(store) {
      await persist(store, { snapshot: suspended() });
      const names = [
        "a.b",
        "$.status",
        "a[0]",
        "a'b",
        'a"b',
        "{status}",
        "",
        " ",
        "0",
        "status",
        "constructor",
        "\u{1F600}",
        "%",
      ];
      for (const name of names) await finish(store, name, step(name), { [name]: name });
      const { context, requestContext, status } = await load(store);
      for (const name of names) {
        assert.deepEqual(context[name], step(name), `the step ${JSON.stringify(name)}`);
        assert.equal(requestContext[name], name, `the key ${JSON.stringify(name)} of the request context`);
      }
      assert.equal(status, "suspended");
      assert.equal(Object.keys(context).length, Object.keys(suspended().context).length + names.length);
    },
  },
  "mastra/rejected-persist": {
    ours: "a call that rejects changes nothing, so that the run can be resumed from the snapshot before",
    title: "rejects a snapshot that can't be read, and keeps the one before",
    async checkStore(store) {
      await persist(store, { snapshot: suspended() });
      const context = {
        input: {},
        a: Object.defineProperty({}, "output", {
          enumerable: true,
          get: () => {
            throw new Error("gone");
          },
        }),
      };
      await assert.rejects(async () => persist(store, { snapshot: snapshot({ context }) }), "it must not be accepted");
      assert.deepEqual(await load(store), suspended());
    },
  },
});
