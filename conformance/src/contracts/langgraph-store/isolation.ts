// Nothing is mixed up between tenants, items and callers.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { type Put, fill, found, sorted, valueOf } from "./helpers.js";
import { tenants, type } from "./sources.js";
import type { Store } from "./store.js";

export const isolation = expectations<Store>("isolation", {
  "langgraph-store/search-whole-labels": {
    must: tenants,
    title: "does not find the items of `[u, 12]` by the prefix `[u, 1]`",
    async checkStore(store) {
      await fill(
        store,
        [["u", "1"], "own"],
        [["u", "12"], "longer"],
        [["u", "1-b"], "dash"],
        [["u1"], "joined"],
        [["u", "1", "notes"], "below"],
      );
      assert.deepEqual(await found(store, ["u", "1"]), ["below", "own"]);
      assert.deepEqual(await found(store, ["u", "1"], { filter: {} }), ["below", "own"], "with a filter");
      const [results] = await store.batch([{ namespacePrefix: ["u", "1"], limit: 10 }]);
      assert.equal(results.length, 2, "in a batch");
      assert.deepEqual(await found(store, ["u"]), ["below", "dash", "longer", "own"]);
    },
  },
  "langgraph-store/search-no-patterns": {
    must: tenants,
    title: "does not take `%`, `_` or `*` in the prefix of a search for a pattern",
    async checkStore(store) {
      await fill(store, [["u", "1"], "one"], [["u", "2"], "two"]);
      for (const prefix of [["%"], ["_"], ["*"], ["u", "_"], ["u", "%"], ["u", "*"], ["?"], ["u", "[12]"]])
        assert.deepEqual(await found(store, prefix).catch(() => []), [], `the prefix ${JSON.stringify(prefix)}`);
    },
  },
  "langgraph-store/list-whole-labels": {
    must: type("MatchCondition"),
    title: "compares whole labels with the prefix and the suffix of a list of namespaces",
    async checkStore(store) {
      await fill(store, [["u", "1"], "k"], [["u", "12"], "k"], [["u1"], "k"], [["u", "1", "x"], "k"]);
      const listed = async (options: object) => sorted(await store.listNamespaces(options));
      assert.deepEqual(
        await listed({ prefix: ["u", "1"] }),
        sorted([
          ["u", "1"],
          ["u", "1", "x"],
        ]),
      );
      assert.deepEqual(await listed({ suffix: ["2"] }), []);
      assert.deepEqual(await listed({ suffix: ["1"] }), [["u", "1"]]);
    },
  },
  "langgraph-store/one-key-in-namespaces": {
    must: type("Item.key"),
    title: "keeps items of one key in several namespaces apart, also when one is deleted",
    async checkStore(store) {
      const namespaces = [["u"], ["u", "1"], ["u", "12"], ["u", "1", "x"], ["v", "1"]];
      await fill(store, ...namespaces.map((namespace, n): Put => [namespace, "k", { n }]));
      await store.put(["u", "1"], "k2", { n: 9 });
      for (const [n, namespace] of namespaces.entries()) assert.deepEqual(await valueOf(store, namespace, "k"), { n });
      await store.delete(["u", "1"], "k");
      const left = await Promise.all(namespaces.map((namespace) => valueOf(store, namespace, "k")));
      assert.deepEqual(left, [{ n: 0 }, undefined, { n: 2 }, { n: 3 }, { n: 4 }]);
      assert.deepEqual(await valueOf(store, ["u", "1"], "k2"), { n: 9 });
    },
  },
  "langgraph-store/joined-labels": {
    must: type("Item.namespace"),
    title: "keeps namespaces apart whose labels give the same text when they are joined, or refuses them",
    async checkStore(store) {
      const separators = [":", ",", "/", "|", "", " ", "-", "\0", "\u001f", "\n", '","', "\\", "::", "%3A"];
      const namespaces = [["a", "b"], ...separators.map((separator) => [`a${separator}b`])];
      const accepted: Array<[namespace: string[], n: number]> = [];
      for (const [n, namespace] of namespaces.entries()) {
        const isPut = await store.put(namespace, "k", { n }).then(
          () => true,
          () => false,
        );
        if (isPut) accepted.push([namespace, n]);
      }
      assert.deepEqual(accepted[0], [["a", "b"], 0], "ordinary labels must be accepted");
      for (const [namespace, n] of accepted) {
        const item = await store.get(namespace, "k");
        assert.deepEqual(item?.value, { n }, `the item of ${JSON.stringify(namespace)}`);
        assert.deepEqual(item.namespace, namespace, "the namespace of an item");
      }
    },
  },
  "langgraph-store/joined-keys": {
    must: type("PutOperation"),
    title: "keeps items of a batch apart whose namespaces and keys give the same text when they are joined",
    async checkStore(store) {
      for (const separator of [":", "/", ".", ",", "|", "", " "]) {
        const [root, key] = [`root${separator.codePointAt(0) ?? ""}`, `b${separator}c`];
        await store.batch([
          { namespace: [root], key, value: { n: 1 } },
          { namespace: [root, "b"], key: "c", value: { n: 2 } },
        ]);
        assert.deepEqual(await valueOf(store, [root], key), { n: 1 }, `the key ${key} of [${root}]`);
        assert.deepEqual(await valueOf(store, [root, "b"], "c"), { n: 2 }, `the key c of [${root}, b]`);
      }
    },
  },
  "langgraph-store/exact-keys": {
    must: type("Item.key"),
    title: "tells keys and labels apart that differ in case, blanks, accents or the form of their characters",
    async checkStore(store) {
      const names = ["key", "Key", "KEY", "key ", " key", "kéy", "ke\u0301y", "ｋｅｙ", "1", "01", "1e0"];
      await fill(
        store,
        ...names.flatMap((name, n): Put[] => [
          [["keys"], name, { n }],
          [["labels", name], "k", { n }],
        ]),
      );
      for (const [n, name] of names.entries()) {
        assert.deepEqual(await valueOf(store, ["keys"], name), { n }, `the key ${JSON.stringify(name)}`);
        assert.deepEqual(await valueOf(store, ["labels", name], "k"), { n }, `the label ${JSON.stringify(name)}`);
      }
      assert.equal(await store.get(["keys"], "kEY"), null);
    },
  },
  "langgraph-store/put-copies": {
    should: "ours: what a caller does with its object after a put is not a put, and no other process would see it",
    title: "keeps what was put when the caller changes its objects later",
    async checkStore(store) {
      const [namespace, value] = [["a", "b"], { n: 1, list: [1] }];
      await store.put(namespace, "k", value);
      value.n = 2;
      value.list.push(2);
      namespace[1] = "c";
      const item = await store.get(["a", "b"], "k");
      assert.deepEqual(item?.value, { n: 1, list: [1] }, "the value must be that of the put");
      assert.deepEqual(item.namespace, ["a", "b"], "the namespace must be that of the put");
    },
  },
  "langgraph-store/put-takes-value-at-call": {
    ours: "a put means the value that its caller has passed, however long it waits for a connection or a lock",
    title: "puts the value of the moment of the call, also when the caller changes it before the put is done",
    async checkStore(store) {
      const value = { list: [1] };
      const put = store.put(["a"], "k", value);
      value.list.push(2);
      await put;
      assert.deepEqual(await valueOf(store, ["a"], "k"), { list: [1] });
    },
  },
  "langgraph-store/get-copies": {
    should: "ours: two nodes that read one item must not see each other's changes",
    title: "hands out copies: a change to what a get or a search has returned is not stored",
    async checkStore(store) {
      await store.put(["a"], "k", { n: 1, list: [1] });
      const item = (await store.get(["a"], "k"))!;
      item.value["n"] = 2;
      item.value["list"].push(2);
      item.namespace.push("x");
      const [other] = await store.search(["a"]);
      assert.deepEqual(other?.value, { n: 1, list: [1] }, "after a change to the result of a get");
      assert.deepEqual(other.namespace, ["a"]);
      other.value["list"].push(3);
      other.namespace.push("y");
      const again = await store.get(["a"], "k");
      assert.deepEqual(again?.value, { n: 1, list: [1] }, "after a change to the result of a search");
      assert.deepEqual(again.namespace, ["a"]);
    },
  },
});
