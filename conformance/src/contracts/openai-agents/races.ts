// Two processes use one session at the same time.
import assert from "node:assert/strict";
import type { Child, Expectation, Trial } from "../../suite/types.js";
import { areBlocks, numbered, offered, reads, sessionOf, textOf, texts, user } from "./items.js";
import { transaction } from "./sources.js";
import type { SessionStore } from "./store.js";

const both =
  "ours: the documents promise nothing, but two servers may answer one user, and an item that was acknowledged is expected";

/** Starts two processes at the same time, and returns their results. */
async function race(trial: Trial<SessionStore>, ...programs: Array<[program: string, input: object]>): Promise<any[]> {
  // It is made before: that several processes make a store at the same time is not what these races are about.
  await sessionOf(trial);
  const children: Child[] = programs.map(([program, input]) => trial.child(program, input));
  for (const child of children) await child.next();
  for (const child of children) child.tell("go");
  return await Promise.all(children.map((child) => child.result()));
}

export const races: ReadonlyArray<Expectation<SessionStore>> = [
  {
    id: "openai-agents/race-add",
    group: "race",
    level: "SHOULD",
    source: both,
    title: "keeps all items that two processes add, those of each process in order",
    async check(trial) {
      await race(trial, ["addBlocks", { name: "a", calls: 25 }], ["addBlocks", { name: "b", calls: 25 }]);
      const found = (await texts(await sessionOf(trial))) as string[];
      const expected = Array.from({ length: 25 }, (_, n) => [0, 1, 2, 3].map((at) => `${n}:${at}`)).flat();
      for (const name of ["a", "b"]) {
        const own = found.filter((text) => text.startsWith(name)).map((text) => text.slice(2));
        assert.deepEqual(own, expected, `the items of the process ${name}`);
      }
    },
  },
  {
    id: "openai-agents/race-add-together",
    group: "race",
    level: "OURS",
    source: "ours: a call, its result and its answer are added together, and a model should read them together",
    title: "keeps the items of each call together if two processes add",
    async check(trial) {
      await race(trial, ["addBlocks", { name: "a", calls: 25 }], ["addBlocks", { name: "b", calls: 25 }]);
      areBlocks(await texts(await sessionOf(trial)), 4);
    },
  },
  {
    id: "openai-agents/race-pop",
    group: "race",
    level: "SHOULD",
    source: both,
    title: "returns no item twice if two processes remove items",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 60));
      const popped = (await race(trial, ["popAll", {}], ["popAll", {}])).flat() as string[];
      assert.equal(new Set(popped).size, popped.length, `an item was returned twice: ${popped}`);
      assert.equal(popped.length, 60, "an item is gone, but no process got it");
      await reads(session, []);
    },
  },
  {
    id: "openai-agents/race-pop-add",
    group: "race",
    level: "SHOULD",
    source: both,
    title: "loses no item if one process adds while the other removes",
    async check(trial) {
      const session = await sessionOf(trial, "s", [user("first")]);
      const [, popped] = await race(trial, ["addBlocks", { name: "a", calls: 20 }], ["popMany", { count: 30 }]);
      const found = [...(popped as string[]), ...(await session.getItems()).map(textOf)].map(String).toSorted();
      const added = Array.from({ length: 20 }, (_, n) => [0, 1, 2, 3].map((at) => `a:${n}:${at}`)).flat();
      assert.deepEqual(found, [...added, "first"].toSorted(), "each item is either removed once or still there");
    },
  },
  {
    id: "openai-agents/race-transaction-once",
    group: "race",
    level: "MUST",
    source: transaction,
    title: "applies a transaction once if two processes try it",
    async check(trial) {
      offered(await sessionOf(trial), "applyHistoryTransaction");
      const operations = Array.from({ length: 20 }, (_, n) => `o${n}`);
      await race(trial, ["transactAll", { operations }], ["transactAll", { operations }]);
      const found = await texts(await sessionOf(trial));
      assert.deepEqual(found.toSorted(), operations.toSorted());
    },
  },
  {
    id: "openai-agents/race-suffix",
    group: "race",
    level: "MUST",
    source: transaction,
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
];
