// A process is killed while it changes a session.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { killed } from "../../suite/processes.js";
import { areBlocks, has, numbered, reads, sessionOf, textOf, texts, user } from "./items.js";
import { transaction } from "./sources.js";
import type { SessionStore } from "./store.js";
import { append, offered, transact } from "./offered.js";

export const kills = expectations<SessionStore>("kill", {
  "openai-agents/kill-keeps": {
    should: "ours: a `addItems` that has resolved is stored",
    title: "keeps the items of each call that has resolved before the process is killed",
    async check(trial) {
      const said = await killed(trial, "addForever", { size: 1 });
      const found = await texts(await sessionOf(trial));
      assert.ok(found.length >= said.length, `${said.length} items were acknowledged, but ${found.length} are there`);
      // The newest may have been added without a word of it.
      assert.deepEqual(
        found,
        found.map((_, n) => `${n}:0`),
      );
    },
  },
  "openai-agents/kill-all-or-none": {
    should: "ours: a call without its result, or a message without its answer, would stay in the conversation",
    title: "has all items of a call or none if the process is killed",
    async check(trial) {
      for (let round = 0; round < 3; round++) {
        await killed(trial, "addForever", { size: 40, name: `${round}` });
        areBlocks(await texts(await sessionOf(trial)), 40);
      }
    },
  },
  "openai-agents/kill-then-add": {
    should: "ours: a restarted process goes on with the conversation, without a repair",
    title: "takes further items after a process was killed",
    async check(trial) {
      for (let round = 0; round < 2; round++) await killed(trial, "addForever", { size: 1, name: `${round}` });
      const session = await sessionOf(trial);
      const before = (await texts(session)) as string[];
      await session.addItems([user("after")]);
      await reads(session, [...before, "after"]);
      assert.equal(textOf(await session.popItem()), "after");
    },
  },
  "openai-agents/kill-pop": {
    should: "ours: a `popItem` that has resolved is stored, so an undo is not undone",
    title: "does not bring back items that were removed before the process was killed",
    async check(trial) {
      await sessionOf(trial, "s", numbered(0, 400));
      const said = await killed(trial, "popForever", {});
      const left = await texts(await sessionOf(trial));
      const most = Math.max(0, 400 - said.length);
      assert.ok(left.length <= most, `${said.length} of 400 items were removed, but ${left.length} are left`);
      assert.deepEqual(
        left,
        left.map((_, n) => `${n}`),
        "the oldest must be left",
      );
    },
  },
  "openai-agents/kill-compaction": {
    should: "ours: without it, the runner clears and adds, and a crash between the two loses the conversation",
    title: "has the old history or the new one if the process is killed while it is replaced",
    async check(trial) {
      offered(await sessionOf(trial), "replaceHistoryWithCompaction");
      for (let round = 0; round < 3; round++) {
        await killed(trial, "replaceForever", { size: 30 });
        const items = await (await sessionOf(trial)).getItems();
        const from = items.findLastIndex(({ ["type"]: type }) => type === "compaction");
        assert.ok(from >= 0, "there is no history: neither the old one nor the new one");
        assert.equal(items.length - from, 31, "the history that follows the last compaction is not whole");
        areBlocks(items.slice(from + 1).map(textOf), 30);
      }
    },
  },
  "openai-agents/kill-transaction": {
    must: transaction,
    title: "stores an operation together with its id if the process is killed",
    async check(trial) {
      offered(await sessionOf(trial), "applyHistoryTransaction");
      for (let round = 0; round < 3; round++) {
        const said = await killed(trial, "transactForever", { name: `${round}` });
        const session = await sessionOf(trial, `${round}`);
        // Those that were under way, too.
        const count = Math.max(said.length, Math.ceil((await session.getItems()).length / 2)) + 1;
        const all = Array.from({ length: count }, (_, n) => `${n}`);
        for (const n of all) await transact(session, n, append(user(n), user(`${n}b`)));
        const expected = all.flatMap((n) => [user(n), user(`${n}b`)]);
        await has(session, expected, "after all operations were retried, each has been applied once");
      }
    },
  },
});
