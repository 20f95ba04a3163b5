// Two processes use one session at the same time.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { race } from "../../suite/processes.js";
import { areBlocks, numbered, reads, sessionOf, textOf, texts, user } from "./items.js";
import { transaction } from "./sources.js";
import type { SessionStore } from "./store.js";
import { offered } from "./offered.js";

const both =
  "ours: the documents promise nothing, but two servers may answer one user, and an item that was acknowledged is expected";

export const races = expectations<SessionStore>("race", {
  "openai-agents/race-add": {
    should: both,
    title: "keeps all items that two processes add, those of each process in order",
    async check(trial) {
      const session = await sessionOf(trial);
      await race(trial, ["addBlocks", { name: "a", calls: 25 }], ["addBlocks", { name: "b", calls: 25 }]);
      const found = (await texts(session)) as string[];
      const expected = Array.from({ length: 25 }, (_, n) => [0, 1, 2, 3].map((at) => `${n}:${at}`)).flat();
      for (const name of ["a", "b"]) {
        const own = found.filter((text) => text.startsWith(name)).map((text) => text.slice(2));
        assert.deepEqual(own, expected, `the items of the process ${name}`);
      }
    },
  },
  "openai-agents/race-add-together": {
    ours: "a call, its result and its answer are added together, and a model should read them together",
    title: "keeps the items of each call together if two processes add",
    async check(trial) {
      const session = await sessionOf(trial);
      await race(trial, ["addBlocks", { name: "a", calls: 25 }], ["addBlocks", { name: "b", calls: 25 }]);
      areBlocks(await texts(session), 4);
    },
  },
  "openai-agents/race-pop": {
    should: both,
    title: "returns no item twice if two processes remove items",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 60));
      const popped = (await race(trial, ["popAll", {}], ["popAll", {}])).flat() as string[];
      assert.equal(new Set(popped).size, popped.length, `an item was returned twice: ${popped}`);
      assert.equal(popped.length, 60, "an item is gone, but no process got it");
      await reads(session, []);
    },
  },
  "openai-agents/race-pop-add": {
    should: both,
    title: "loses no item if one process adds while the other removes",
    async check(trial) {
      const session = await sessionOf(trial, "s", [user("first")]);
      const [, popped] = await race(trial, ["addBlocks", { name: "a", calls: 20 }], ["popMany", { count: 30 }]);
      const found = [...(popped as string[]), ...(await session.getItems()).map(textOf)].map(String).toSorted();
      const added = Array.from({ length: 20 }, (_, n) => [0, 1, 2, 3].map((at) => `a:${n}:${at}`)).flat();
      assert.deepEqual(found, [...added, "first"].toSorted(), "each item is either removed once or still there");
    },
  },
  "openai-agents/race-transaction-once": {
    must: transaction,
    title: "applies a transaction once if two processes try it",
    async check(trial) {
      const session = await sessionOf(trial);
      offered(session, "applyHistoryTransaction");
      const operations = Array.from({ length: 20 }, (_, n) => `o${n}`);
      await race(trial, ["transactAll", { operations }], ["transactAll", { operations }]);
      assert.deepEqual((await texts(session)).toSorted(), operations.toSorted());
    },
  },
  "openai-agents/race-suffix": {
    must: transaction,
    title: "lets one of two processes replace a suffix, and rejects the other",
    async check(trial) {
      const session = await sessionOf(trial, "s", [user("0")]);
      offered(session, "applyHistoryTransaction");
      const wins = await race(trial, ["countUp", { name: "a", tries: 30 }], ["countUp", { name: "b", tries: 30 }]);
      const [a, b] = wins as [number, number];
      assert.ok(a + b > 0, "no replacement was accepted");
      await reads(session, [`${a + b}`], `${a} and ${b} replacements of the one item were acknowledged`);
    },
  },
});
