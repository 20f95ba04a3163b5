// Other processes: what they read, races and kills.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { killed, race } from "../../suite/processes.js";
import { fill, found, keysOf, sorted, upTo, valueOf } from "./helpers.js";
import { page } from "./sources.js";
import type { Store } from "./store.js";

export const restarts = expectations<Store>("restart", {
  "langgraph-store/restart-keeps-items": {
    must: page,
    title: "keeps items with their values and dates, and deletions, when it is closed and opened again",
    async check(trial) {
      const before = await trial.store();
      await fill(
        before,
        [["a", "b"], "k", { n: 1, list: [{ x: null }], text: "ä😀" }],
        [["a"], "gone"],
        [["c"], "k", { n: 1 }],
      );
      await before.delete(["a"], "gone");
      await before.batch([{ namespace: ["c"], key: "k", value: { n: 2 } }]);
      const items = [await before.get(["a", "b"], "k"), await before.get(["c"], "k")];
      const after = await trial.reopen();
      assert.deepEqual([await after.get(["a", "b"], "k"), await after.get(["c"], "k")], items);
      assert.equal(await after.get(["a"], "gone"), null);
      assert.deepEqual(await found(after, ["a"]), ["k"]);
    },
  },
  "langgraph-store/restart-keeps-order": {
    ours: "the order of a search is that of the first put, also after a restart",
    title: "keeps the order of searches when it is closed and opened again",
    async check(trial) {
      const before = await trial.store();
      const puts = ["m", "z", "a", "10", "9"].map((key, n) => ({ namespace: ["o", `${n % 2}`], key, value: { n } }));
      await before.batch(puts.slice(0, 3));
      await before.batch(puts.slice(3));
      await before.put(["o", "0"], "a", { again: true });
      const after = await trial.reopen();
      assert.deepEqual(keysOf(await after.search(["o"])), ["m", "z", "a", "10", "9"]);
      await after.put(["o", "1"], "b", {});
      assert.deepEqual(keysOf(await after.search(["o"])), ["m", "z", "a", "10", "9", "b"]);
    },
  },
  "langgraph-store/other-process": {
    should: "ours: users read in one process what an agent has learnt in another, and do not restart for it",
    title: "sees at once what another process has put, and is seen by it",
    async checkStore(store, trial) {
      await store.put(["here"], "k", { from: "here" });
      assert.equal(await store.get(["there"], "k"), null);
      const writer = trial.child("put", [{ namespace: ["there"], key: "k", value: { from: "there" } }]);
      await writer.next();
      writer.tell("go");
      await writer.result();
      assert.deepEqual(await valueOf(store, ["there"], "k"), { from: "there" }, "what another process has put");
      const read = await trial.child("read", { namespace: ["here"], key: "k" }).result();
      assert.deepEqual(read.value, { from: "here" }, "what another process reads");
      assert.deepEqual(sorted(read.namespaces), [["here"], ["there"]]);
    },
  },
});

export const races = expectations<Store>("race", {
  "langgraph-store/race-in-namespace": {
    should: "ours: a put that has resolved is stored, while other processes put into its namespace too",
    title: "keeps every item that two processes put into one namespace at the same time",
    async check(trial) {
      await trial.store();
      const inputs = ["one", "two"].map((who) =>
        upTo(40).map((n) => ({ namespace: ["race"], key: `${who}-${n}`, value: { who, n } })),
      );
      await race(trial, ...inputs.map((input) => ["put", input] as const));
      const store = await trial.reopen();
      const there = new Set(await found(store, ["race"]));
      const lost = inputs.flat().flatMap(({ key }) => (there.has(key) ? [] : [key]));
      assert.deepEqual(lost, [], "items that are lost");
    },
  },
  "langgraph-store/race-for-item": {
    should: "ours: an item has one value, and it is one that was put last by its process",
    title: "keeps one item with one of the last values when two processes put it at the same time",
    async check(trial) {
      await trial.store();
      const inputs = ["one", "two"].map((who) =>
        upTo(30).map((n) => ({ namespace: ["race"], key: "k", value: { who, n, [who]: n } })),
      );
      await race(trial, ...inputs.map((input) => ["put", input] as const));
      const store = await trial.reopen();
      const items = await store.search(["race"]);
      assert.equal(items.length, 1, "the number of items");
      const { who } = items[0]!.value;
      assert.deepEqual(items[0]!.value, { who, n: 29, [who]: 29 });
      assert.deepEqual(await valueOf(store, ["race"], "k"), items[0]!.value, "a get must find the same");
    },
  },
  "langgraph-store/race-with-batch": {
    ours: "what a node puts in one tick belongs together, and the contract is silent about who may see a part",
    title: "never shows a part of a batch to another process",
    async check(trial) {
      const [times, size] = [60, 8];
      const store = await trial.store();
      await store.batch(upTo(size).map((at) => ({ namespace: ["together"], key: `${at}`, value: { n: 0 } })));
      const ended = trial
        .child("putTogether", { times, size })
        .result()
        .then(() => true);
      for (let last = 0; (await Promise.race([ended, trial.sleep(0)])) !== true;) {
        const numbers = (await store.search(["together"], { limit: size })).map(({ value }) => value["n"] as number);
        assert.equal(numbers.length, size);
        assert.equal(new Set(numbers).size, 1, `a search shows a part of a batch: ${numbers}`);
        assert(numbers[0]! >= last, "a search shows an older state than the one before");
        last = numbers[0]!;
      }
    },
  },
});

export const kills = expectations<Store>("kill", {
  "langgraph-store/kill-keeps-acknowledged": {
    should: "ours: a put that has resolved is stored",
    title: "keeps every item whose `put` has resolved before the process is killed",
    async check(trial) {
      const said = await killed(trial, "putMany");
      const store = await trial.store();
      for (const n of said)
        assert.deepEqual(await valueOf(store, ["kill"], `${n}`), { n }, `item ${n} of ${said.length} is lost`);
    },
  },
  "langgraph-store/kill-keeps-batches-whole": {
    ours: "what a node puts in one tick belongs together, and the contract is silent about a crash",
    title: "stores all puts of a batch or none when the process is killed",
    async check(trial) {
      const size = 20;
      for (const round of upTo(2)) {
        const said = await killed(trial, "putBatches", { round, size });
        const store = await trial.store();
        for (let n = Math.max(0, said.length - 1); n <= said.length; n++) {
          const { length } = await store.search(["kill", `${round}`, `${n}`], { limit: 100 });
          const wanted = n < said.length ? [size] : [0, size];
          assert(wanted.includes(length), `${length} of ${size} puts of batch ${n} are stored`);
        }
      }
    },
  },
  "langgraph-store/kill-blocks-nobody": {
    should: "ours: after a crash an agent restarts by itself, and no person removes its locks",
    title: "can be opened, read and written by others after a process was killed",
    async check(trial) {
      await killed(trial, "putMany");
      const store = await trial.store();
      assert.deepEqual(await valueOf(store, ["kill"], "0"), { n: 0 });
      await store.put(["kill"], "later", { n: -1 });
      const read = await trial.child("read", { namespace: ["kill"], key: "later" }).result();
      assert.deepEqual(read, { value: { n: -1 }, namespaces: [["kill"]] });
    },
  },
});
