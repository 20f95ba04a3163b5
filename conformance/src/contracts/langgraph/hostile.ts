// Values and names that break careless code.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import type { Saver } from "./store.js";
import {
  all,
  at,
  checkpoint,
  errorOf,
  id,
  metadata,
  pending,
  same,
  save,
  valuesAt,
  writes,
  writesAt,
} from "./cases.js";

const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);

const kinds: Record<string, unknown> = {
  null: null,
  false: false,
  zero: 0,
  "a number": -1.5e300,
  "no text": "",
  "a text": 'line\n\ttab \u2028 é 漢字 😀 \u202E "quoted" \\ \'',
  "a text with NUL": "a\u0000b",
  "nested lists": [1, [2, [3, []]], null],
  "an object": { a: { b: { c: {} } }, "": 1, "a.b": 2, constructor: "no", ключ: "значение" },
  "bytes in an object": { deep: [new Uint8Array([0, 255])] },
  "a Map": new Map<unknown, unknown>([
    ["a", new Set([1, 2])],
    [3, new Map([["é", 1]])],
  ]),
  "a Set": new Set(["a", 1, null]),
  "a RegExp": /^a+$/giu,
  "undefined in an object": { a: undefined, b: [1] },
};

/** Puts a checkpoint and writes with names. Returns false if the store refuses the names. */
async function named(store: Saver, name: string, step: number): Promise<boolean> {
  const put = checkpoint(step, { value: name });
  const error = await errorOf(() => store.put(at(name, name), put, metadata({ name }), { value: step }));
  if (error !== undefined) return false;
  const wrote = await errorOf(() => store.putWrites(at(name, name, id(step)), [["value", name]], "task"));
  return wrote === undefined;
}

/** Checks that the store has what `named` has put. */
async function isNamed(store: Saver, name: string, step: number) {
  const config = at(name, name, id(step));
  const what = JSON.stringify(name).slice(0, 40);
  same((await store.getTuple(at(name, name)))?.config, config, `the config of the thread ${what}`);
  same(await valuesAt(store, config), { value: name }, `the values of the thread ${what}`);
  same(await writesAt(store, config), [["task", "value", name]], `the pending writes of the thread ${what}`);
  same(
    (await all(store.list(at(name)))).map((tuple) => tuple.checkpoint.id),
    [id(step)],
    `the list of ${what}`,
  );
}

/** Puts all names, and checks that each that was accepted is kept apart from the others. */
async function keepsApart(store: Saver, names: readonly string[], mayRefuse: boolean) {
  const accepted: number[] = [];
  for (const [n, name] of names.entries()) {
    const isAccepted = await named(store, name, n + 1);
    assert.ok(isAccepted || mayRefuse, `the name ${JSON.stringify(name).slice(0, 40)} was refused`);
    if (isAccepted) accepted.push(n);
  }
  for (const n of accepted) await isNamed(store, names[n]!, n + 1);
  for (const n of accepted) {
    await store.deleteThread(names[n]!);
    same(await store.getTuple(at(names[n]!, names[n]!)), undefined, "getTuple of a deleted thread");
  }
  same(await all(store.list({})), [], "what is left when all threads are deleted");
}

/** Puts channels and writes with names, and checks that they are read back. */
async function keepsChannels(store: Saver, names: readonly string[]) {
  const values = Object.fromEntries(names.map((name, n) => [name, n]));
  const config = await save(store, 1, { values });
  for (const name of names) await store.putWrites(config, [[name, name]], `task ${name}`);
  same(await valuesAt(store, config), values, "the values");
  const found = (await writesAt(store, config))!.toSorted((a, b) => names.indexOf(a[1]) - names.indexOf(b[1]));
  same(
    found,
    names.map((name) => [`task ${name}`, name, name]),
    "the pending writes",
  );
}

export const hostile = expectations<Saver>("hostile", {
  "langgraph/values": {
    must: "framework: values are read as the saver's `serde` keeps them, which knows Map, Set, RegExp and bytes in objects",
    title: "returns every kind of value as its serializer keeps it, in channels and in writes",
    async checkStore(store) {
      const config = await save(store, 1, { values: kinds });
      await store.putWrites(config, Object.entries(kinds), "task");
      const values = (await valuesAt(store, config))!;
      const written = new Map((await writesAt(store, config))!.map(([, channel, value]) => [channel, value]));
      for (const [name, value] of Object.entries(kinds)) {
        const kept = await store.serde.loadsTyped(...(await store.serde.dumpsTyped(value)));
        same(values[name], kept, `the channel with ${name}`);
        same(written.get(name), kept, `the write of ${name}`);
      }
    },
  },
  "langgraph/bytes": {
    must: 'framework: a state may hold a Uint8Array; `dumpsTyped` returns its bytes with the type "bytes"',
    title: "returns a channel of bytes as the same bytes",
    async checkStore(store) {
      const config = await save(store, 1, { values: { bytes, none: new Uint8Array(0) } });
      same(await valuesAt(store, config), { bytes, none: new Uint8Array(0) }, "the values");
    },
  },
  "langgraph/bytes-in-writes": {
    must: 'framework: a task may write a Uint8Array; `dumpsTyped` returns its bytes with the type "bytes"',
    title: "returns a pending write of bytes as the same bytes",
    async checkStore(store) {
      const config = await save(store, 1);
      await store.putWrites(config, writes(["bytes", bytes], ["none", new Uint8Array(0)]), "task");
      const expected = pending(["task", "bytes", bytes], ["task", "none", new Uint8Array(0)]);
      same(await writesAt(store, config), expected, "the pending writes");
    },
  },
  "langgraph/metadata-nul": {
    should:
      "framework: MemorySaver and SqliteSaver keep it; tools return texts with NUL, and metadata is often taken from them",
    title: "keeps metadata with NUL characters",
    async checkStore(store) {
      const put = metadata({ note: "a\u0000b", deep: { "key\u0000": 1 } });
      const config = await store.put(at(), checkpoint(1), put, {});
      same((await store.getTuple(config))?.metadata, put, "the metadata");
    },
  },
  "langgraph/unserializable": {
    should:
      "ours: JsonPlusSerializer replaces a value with a BigInt in it by a text, and the state is lost without an error",
    title: "rejects a BigInt or returns it, and does not store a text in its place",
    async checkStore(store) {
      const value = { cents: 10n };
      const error = await errorOf(() => save(store, 1, { values: { balance: value, fine: 1 } }));
      const tuple = await store.getTuple(at());
      if (error !== undefined) same(tuple, undefined, "getTuple after a rejected put");
      else same(tuple?.checkpoint.channel_values, { balance: value, fine: 1 }, "the values");
      const config = await save(store, 2);
      const refused = await errorOf(() => store.putWrites(config, writes(["fine", 1], ["balance", value]), "task"));
      const expected = pending(["task", "fine", 1], ["task", "balance", value]);
      same(await writesAt(store, config), refused === undefined ? expected : [], "the pending writes");
    },
  },
  "langgraph/large-values": {
    should: "framework: a state may hold documents and images; MemorySaver, SqliteSaver and PostgresSaver keep them",
    title: "keeps values of 2 MB in channels and in writes",
    async checkStore(store) {
      const big = { text: "0123456789abcdef".repeat(131_072) };
      const config = await save(store, 1, { values: { big } });
      await store.putWrites(config, [["big", big]], "task");
      assert.ok((await valuesAt(store, config))?.["big"], "the channel is missing");
      same((await valuesAt(store, config))?.["big"], big, "the channel");
      same((await writesAt(store, config))?.[0]?.[2], big, "the write");
    },
  },
  "langgraph/names": {
    must: "documented: types of @langchain/langgraph-checkpoint: threads and namespaces are any strings; subgraphs join theirs with : and |",
    title: "keeps threads and namespaces apart whose names have quotes, separators, spaces or similar letters",
    async checkStore(store) {
      const names = ["a", "A", "a ", " a", "a:b", "a|b", "a/../b", "a%b_c*?", "'; DROP TABLE checkpoints; --"];
      const more = ['"quoted"', "{a}", "line\nline", "\u00e9", "e\u0301", "漢字😀", "null", "undefined", "0", "00"];
      await keepsApart(store, [...names, ...more], false);
    },
  },
  "langgraph/long-names": {
    should: "framework: MemorySaver, SqliteSaver and PostgresSaver keep them; each subgraph makes a namespace longer",
    title: "keeps threads and namespaces apart whose names have 500 characters and differ in the last",
    checkStore: (store) => keepsApart(store, [`${"x".repeat(499)}y`, "x".repeat(500)], false),
  },
  "langgraph/channel-names": {
    must: "framework: LangGraph itself uses channels such as `branch:to:node`, and users name theirs as they like",
    title: "keeps channels and tasks whose names have dots, colons, quotes or letters of any script",
    checkStore: (store) => keepsChannels(store, ["a.b", "branch:to:b", "'; DROP TABLE x --", '"', "$a", "a b", "é😀"]),
  },
  "langgraph/prototype-channels": {
    should:
      "framework: MemorySaver keeps them; `WRITES_IDX_MAP` is an object, and has inherited keys that are no indexes",
    title: "keeps channels and tasks that are named as members of Object",
    checkStore: (store) => keepsChannels(store, ["constructor", "toString", "hasOwnProperty", "valueOf"]),
  },
  "langgraph/prototype-names": {
    should: "framework: MemorySaver refuses them, with the reason that they must not change Object's prototype",
    title: "keeps or refuses threads and namespaces named as members of Object, and changes no prototype",
    async checkStore(store) {
      const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];
      try {
        await keepsApart(store, names, true);
        for (const name of names) await errorOf(() => save(store, 1, { on: at(name, "leaked") }));
        const changed = [{}, Object, Object.prototype.toString].filter((object) => "leaked" in object);
        same(changed, [], "the list of objects that have the key of a namespace");
      } finally {
        for (const name of names) delete ({} as Record<string, any>)[name]?.leaked;
      }
    },
  },
  "langgraph/nul-names": {
    should:
      "framework: thread ids often come from users; MemorySaver and SqliteSaver keep NUL, PostgresSaver refuses it",
    title: "keeps or refuses names with NUL, and does not cut them off",
    checkStore: (store) => keepsApart(store, ["a", "a\u0000", "a\u0000b", "\u0000"], true),
  },
  "langgraph/surrogate-names": {
    group: "isolation",
    ours: "UTF-8 turns every half of a surrogate pair into the same character, so one user could read another's thread",
    title: "keeps or refuses names with half of a surrogate pair, and does not mix them up",
    checkStore: (store) => keepsApart(store, ["\ud83d", "\ude00", "\ufffd"], true),
  },
});
