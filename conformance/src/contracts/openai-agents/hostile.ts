// Values that break careless code.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { answer, call, everyType, has, keeps, result, sessionOf, user } from "./items.js";
import { read } from "./sources.js";
import type { SessionStore } from "./store.js";

/** `count` values that are no letters: base64 that does not compress. */
const noise = (bytes: number, random: (below: number) => number): string =>
  Buffer.from(Uint8Array.from({ length: bytes }, () => random(256))).toString("base64");

export const hostile = expectations<SessionStore>("hostile", {
  "openai-agents/every-type": {
    must: read,
    title: "returns items of each type as they were added",
    check: (trial) => keeps(trial, everyType()),
  },
  "openai-agents/provider-data": {
    must: "documented: AgentInputItem (`providerData: Record<string, any>`)",
    title: "keeps nested `providerData`",
    check: (trial) =>
      keeps(trial, [
        user("0", {
          providerData: { a: { b: [{ c: [[]] }, { d: {} }] }, "key with spaces": 1, "": "empty", "a.b": 2 },
        }),
        answer("1", { providerData: { annotations: [[1, "two"], { three: { 3: [] } }] } }),
      ]),
  },
  "openai-agents/unknown-keys": {
    should:
      "framework: MemorySession keeps them. A newer SDK adds keys, and loses them in a store that lists those of today",
    title: "keeps keys and types that it does not know",
    check: (trial) =>
      keeps(trial, [
        user("0", { ofTomorrow: { list: [1] } }),
        { ...call("c1"), caller: { type: "program" }, namespace: "mail" },
        { type: "call_of_tomorrow", payload: { a: 1 } },
      ]),
  },
  "openai-agents/empty-values": {
    must: read,
    title: "keeps values that are empty or false",
    check: (trial) =>
      keeps(trial, [
        user("", { providerData: { text: "", list: [], object: {}, none: null, no: false, zero: 0 } }),
        { type: "reasoning", content: [] },
        { ...result("c1", ""), providerData: { list: [null, "", 0, false, [], {}] } },
      ]),
  },
  "openai-agents/arguments-text": {
    must: "documented: FunctionCallItem (`arguments: string`)",
    title: "keeps texts that are JSON, or nearly, as they are",
    check: (trial) =>
      keeps(trial, [
        call("c1", '{ "to" :\n  "bob", "n": 1.0, "n": 2 }'),
        call("c2", '{"to": "bo'),
        call("c3", ""),
        result("c1", "[1,  2]"),
        user("null"),
        user('"quoted"'),
        user("'); DROP TABLE items; --"),
      ]),
  },
  "openai-agents/numbers": {
    must: read,
    title: "keeps numbers exactly",
    check: (trial) =>
      keeps(trial, [
        user("0", {
          providerData: {
            numbers: [0.1, -1.5, 1e21, 5e-324, 1.7976931348623157e308, 2 ** 53 - 1, -(2 ** 53) + 1, 1_764_244_472_123],
            logprob: -1.234567890123456e-5,
          },
        }),
      ]),
  },
  "openai-agents/unicode": {
    must: read,
    title: "keeps texts of all languages as they are",
    check: (trial) =>
      keeps(
        trial,
        [
          "日本語",
          "العربية",
          "👩‍👩‍👧‍👦 🇵🇹",
          "e\u0301 \u00e9",
          "\u2028\u2029",
          "\ufeffx",
          "\ud83d\ude00",
          "\uffff",
          "İıß",
        ].map((text) => user(text, { providerData: { [text]: text } })),
      ),
  },
  "openai-agents/control-characters": {
    must: "framework: the output of a tool becomes an item as it is. That of a program may have any of these characters",
    title: "keeps control characters",
    check: (trial) =>
      keeps(
        trial,
        ["\u0001\u001b[31m\u007f", "a\r\nb\rc\n", "\t tab ", " \u00a0 "].map((text) => result("c1", text)),
      ),
  },
  "openai-agents/nul-characters": {
    should:
      "framework: MemorySession keeps them. The output of a tool becomes an item as it is, and that of a program may have them",
    title: "keeps NUL characters",
    check: (trial) => keeps(trial, [result("c1", "a\u0000b"), result("c1", "\u0000"), user("\\u0000")]),
  },
  "openai-agents/lone-surrogates": {
    should: "framework: MemorySession keeps them. A text that is cut to a length in JavaScript may end with one",
    title: "keeps halves of surrogate pairs",
    check: (trial) => keeps(trial, [user("cut \ud83d"), user("\ude00 cut"), result("c1", "\udfff\ud800")]),
  },
  "openai-agents/keys-with-meaning": {
    should: "framework: MemorySession keeps them. The arguments and results of tools may be objects with any key",
    title: "keeps keys that have a meaning for JavaScript or for serializers",
    check: (trial) =>
      keeps(trial, [
        user("0", {
          providerData: JSON.parse(
            '{"__proto__":{"a":1},"constructor":"c","toJSON":"t","then":"n","hasOwnProperty":1,"$ref":"#/a","$type":"Buffer","type":"Buffer","data":[1],"lc":1}',
          ),
        }),
      ]),
  },
  "openai-agents/deep": {
    should: "framework: MemorySession keeps them. A JSON schema or a document may be a value",
    title: "keeps values that are nested 200 levels deep",
    async check(trial) {
      let value: unknown = "the end";
      for (let level = 0; level < 100; level++) value = { in: [value] };
      await keeps(trial, [user("0", { providerData: { value } })], "the item must come back as it was added");
    },
  },
  "openai-agents/image": {
    should:
      "framework: the runner turns bytes into data URLs (sessionItems.ts) before it adds them, and a photo has megabytes",
    title: "keeps an image of 2 MB as a data URL",
    async check(trial) {
      const image = `data:image/png;base64,${noise(2_000_000, trial.random)}`;
      const session = await sessionOf(trial);
      await session.addItems([user("What is this?"), { ...user(""), content: [{ type: "input_image", image }] }]);
      const [, found] = await session.getItems();
      // Not deepEqual: its message would have all of it.
      assert.ok(found?.["content"]?.[0]?.image === image, "the image must come back as it was added");
    },
  },
  "openai-agents/beyond-json": {
    ours: "MemorySession keeps them. JSON does not, and then `replace_suffix` may not find the suffix that a program knows",
    title: "keeps keys that are undefined, bytes, NaN and -0",
    async check(trial) {
      const odd = {
        none: undefined,
        bytes: new Uint8Array([0, 255]),
        nan: Number.NaN,
        zero: -0,
        list: [undefined, null],
      };
      const item = user("0", { providerData: { ...odd, nested: [[odd]] } });
      const session = await sessionOf(trial, "s", [item]);
      assert.deepEqual(await session.getItems(), [item]);
    },
  },
  "openai-agents/copies-in": {
    should: "framework: MemorySession copies items. The runner goes on to use those that it has added",
    title: "keeps an item as it was added if the program changes its object later",
    async check(trial) {
      const session = await sessionOf(trial);
      const item = user("0", { providerData: { list: [1] } });
      await session.addItems([item]);
      item["providerData"].list.push(2);
      item["content"] = "changed";
      await has(session, [user("0", { providerData: { list: [1] } })]);
    },
  },
  "openai-agents/copies-in-early": {
    ours: "MemorySession copies items before its promise is returned, so a program may change them without waiting",
    title: "adds items as they are when `addItems` is called",
    async check(trial) {
      const session = await sessionOf(trial);
      const item = user("0", { providerData: { list: [1] } });
      const items = [item];
      const added = session.addItems(items);
      item["providerData"].list.push(2);
      items.push(user("late"));
      await added;
      await has(session, [user("0", { providerData: { list: [1] } })]);
    },
  },
  "openai-agents/copies-out": {
    should:
      "framework: the runner hands what `getItems` returns to the program's `sessionInputCallback`, which may change it",
    title: "keeps its items if the program changes those that it has read",
    async check(trial) {
      const session = await sessionOf(trial, "s", [user("0", { providerData: { list: [1] } }), user("1")]);
      for (const items of [await session.getItems(), await session.getItems(2)]) {
        items[0]!["providerData"].list.push(2);
        items[0]!["content"] = "changed";
        items.pop();
      }
      await has(session, [user("0", { providerData: { list: [1] } }), user("1")]);
    },
  },
});
