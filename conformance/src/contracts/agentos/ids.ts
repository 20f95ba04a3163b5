// Ids that break careless code, and ids that are nearly the same.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import type { Checkpoint, Store } from "./store.js";
import { checkpoint, graph, id, ids, keepsOrRejects, none, run, same, time } from "./checkpoints.js";
import { own } from "./sources.js";

/** Each is an id of its own, and means nothing else. */
const names = [
  "plain",
  "Plain",
  " plain",
  "plain ",
  "plain/1",
  "plain/../plain",
  "..",
  "../../outside",
  "/etc/passwd",
  "C:\\CON",
  "plain\\1",
  "plain:1",
  "plain-1",
  "plain_1",
  "plain%",
  "plain*",
  "pl?in",
  "[a-z]*",
  "'; DROP TABLE checkpoints; --",
  'a"b',
  "$ne",
  "a.b",
  "\n",
  "ä",
  "a\u0308",
  "日本",
  "👩‍👩‍👧",
  "__proto__",
  "constructor",
  "toString",
  "null",
  "undefined",
  "0",
  "00",
  "x".repeat(200),
  `${"x".repeat(199)}y`,
];

const quoted = (name: string) => JSON.stringify(name);

/** Saves a checkpoint for each name, and finds each of them by its name alone. */
async function literally(
  store: Store,
  of: (name: string, n: number) => Checkpoint,
  find: (name: string) => Promise<Checkpoint | null>,
) {
  for (const [n, name] of names.entries()) await store.save(of(name, n));
  for (const [n, name] of names.entries())
    same(await find(name), of(name, n), `what is saved with the id ${quoted(name)}`);
}

/** Returns the checkpoint of a graph. */
const ofGraph = (name: string, n: number) => checkpoint({ id: id(n), graphId: name, timestamp: time + n });

export const hostileIds = expectations<Store>("hostile", {
  "agentos/ids-of-checkpoints": {
    should: own("takes any text as an id"),
    title: "takes the id of a checkpoint literally: its case, spaces, slashes, patterns and characters",
    async checkStore(store) {
      await literally(
        store,
        (name, n) => checkpoint({ id: name, timestamp: time + n }),
        (name) => store.get(name),
      );
      assert.equal((await store.list(graph)).length, names.length);
      for (const name of ["plain", "plain%", "__proto__"]) await store.delete(name);
      const left = ids(await store.list(graph));
      assert.equal(left.length, names.length - 3, "delete() must remove only the checkpoint with that very id");
    },
  },
  "agentos/ids-of-runs": {
    should: own("takes any text as an id"),
    title: "takes the id of a run literally: its case, spaces, slashes, patterns and characters",
    async checkStore(store) {
      await literally(
        store,
        (name, n) => checkpoint({ id: id(n), runId: name, timestamp: time + n }),
        (name) => store.latest(name),
      );
      for (const [n, name] of names.entries())
        assert.deepEqual(ids(await store.list(graph, { runId: name })), [id(n)], `list() of the run ${quoted(name)}`);
    },
  },
  "agentos/ids-of-nodes": {
    should: "framework: AgentGraph.addNode() takes any text as the id of a node",
    title: "takes the id of a node literally: its case, spaces, slashes, patterns and characters",
    async checkStore(store) {
      await literally(
        store,
        (name, n) => checkpoint({ id: id(n), nodeId: name, timestamp: time + n }),
        (name) => store.load(run(1), name),
      );
    },
  },
  "agentos/ids-of-graphs": {
    should: "framework: GraphCompiler puts the name that the user has chosen into the id of the graph",
    title: "takes the id of a graph literally: its case, spaces, slashes, patterns and characters",
    async checkStore(store) {
      await literally(store, ofGraph, async (name) => {
        const listed = await store.list(name);
        assert.equal(listed.length, 1, `list(${quoted(name)}) must list one checkpoint, and lists ${listed.length}`);
        return await store.get(listed[0]!.id);
      });
    },
  },
  "agentos/ids-unknown": {
    should: own("finds nothing for any unknown text"),
    title: "finds, lists and deletes nothing for texts that are patterns, paths, SQL or names of JavaScript",
    async checkStore(store) {
      const saved = checkpoint();
      await store.save(saved);
      const wanted = [...names, "c%", "c0000000-%", "%", "_", "*", "' OR '1'='1", `${id(1)}/../${id(1)}`];
      for (const name of wanted) {
        none(await store.get(name), `get(${quoted(name)})`);
        none(await store.latest(name), `latest(${quoted(name)})`);
        none(await store.load(run(1), name), `load() of the node ${quoted(name)}`);
        assert.deepEqual(await store.list(name), [], `list(${quoted(name)})`);
        await store.delete(name);
      }
      same(await store.get(id(1)), saved, "the checkpoint after deletes of other ids");
    },
  },
  "agentos/ids-odd": {
    ours: "an id that a store cannot hold must not become another one",
    title: "keeps ids that are empty, long or have U+0000 or half a surrogate pair apart, or rejects the save",
    async checkStore(store) {
      const odd = ["", "a", "a\0", "a\0b", "\ud83d", "\ud83e", "\ufffd", "z".repeat(5_000), `${"z".repeat(4_999)}y`];
      for (const [n, name] of odd.entries()) {
        const what = `the id ${quoted(name.slice(0, 20))}`;
        await keepsOrRejects(store, checkpoint({ id: name, nodeId: `node-${n}` }), what);
        await keepsOrRejects(store, checkpoint({ id: id(n), runId: name, nodeId: `node-${n}`, graphId: "g" }), what);
      }
      for (const [n, name] of odd.entries()) {
        const found = await store.get(name).catch(() => null);
        if (found !== null)
          assert.equal(found.nodeId, `node-${n}`, `get(${quoted(name.slice(0, 20))}) is of another id`);
        const latest = await store.latest(name).catch(() => null);
        if (latest !== null)
          assert.equal(latest.nodeId, `node-${n}`, `latest(${quoted(name.slice(0, 20))}) is of another id`);
      }
    },
  },
  "agentos/empty-filters": {
    should: own("compares with undefined, so an empty text is an id that nothing has"),
    title: "finds nothing for an empty node or an empty run, instead of ignoring the filter",
    async checkStore(store) {
      await store.save(checkpoint());
      none(await store.load(run(1), ""), "load() of the empty node");
      assert.deepEqual(await store.list(graph, { runId: "" }), [], "list() of the empty run");
      same(await store.load(run(1), undefined), checkpoint(), "load() with undefined");
      const listed = await store.list(graph, { runId: undefined } as { runId?: never });
      assert.deepEqual(ids(listed), [id(1)], "list() with undefined as the run");
    },
  },
});
