// What a store that is opened later, or by another process, reads.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { call, everyType, has, numbered, reads, reopened, result, sessionOf, textOf, user } from "./items.js";
import { clear, persistent, pop, transaction } from "./sources.js";
import type { SessionStore } from "./store.js";
import { append, isRefused, transact } from "./offered.js";

export const restart = expectations<SessionStore>("restart", {
  "openai-agents/restart-items": {
    must: persistent,
    title: "returns the items of each session after it was opened again",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      await session.addItems(numbered(3, 5));
      await sessionOf(trial, "t", [user("t")]);
      await reads(await reopened(trial), ["0", "1", "2", "3", "4"]);
      await reads(await sessionOf(trial, "t"), ["t"]);
    },
  },
  "openai-agents/restart-exact": {
    must: persistent,
    title: "returns items exactly after it was opened again",
    async check(trial) {
      // A store may have a cache: only now it is seen what is stored.
      const items = [
        ...everyType(),
        call("c1", '{ "to" :\n  "bob" }'),
        result("c1", "日本語 👩‍👩‍👧‍👦 \u2028 a\r\nb"),
        user("", { providerData: { none: null, list: [], zero: 0, no: false, "": "", numbers: [0.1, 1e21, 5e-324] } }),
      ];
      await sessionOf(trial, "s", items);
      await has(await reopened(trial), items);
    },
  },
  "openai-agents/restart-append": {
    must: persistent,
    title: "appends to the items that it had before it was opened again",
    async check(trial) {
      await sessionOf(trial, "s", numbered(0, 12));
      const session = await reopened(trial);
      await session.addItems([user("12")]);
      await session.addItems([user("13")]);
      await reads(session, numbered(0, 14).map(textOf) as string[]);
    },
  },
  "openai-agents/restart-pop": {
    must: pop,
    title: "does not bring back removed items when it is opened again",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      await session.popItem();
      const again = await reopened(trial);
      await reads(again, ["0", "1"]);
      assert.equal(textOf(await again.popItem()), "1");
    },
  },
  "openai-agents/restart-clear": {
    must: clear,
    title: "does not bring back cleared items when it is opened again",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      await session.clearSession();
      const again = await reopened(trial);
      await reads(again, []);
      await again.addItems([user("new")]);
      await reads(again, ["new"]);
    },
  },
  "openai-agents/restart-id": {
    should: "ours: without it, a conversation whose id was made up ends with the process",
    title: "finds a session by the id that it made up before it was opened again",
    async checkStore(store, trial) {
      const session = await store.session();
      await session.addItems([user("0")]);
      const id = await session.getSessionId();
      const again = await reopened(trial, id);
      assert.equal(await again.getSessionId(), id);
      await reads(again, ["0"]);
    },
  },
  "openai-agents/restart-transaction": {
    must: transaction,
    title: "remembers operations after it was opened again",
    async check(trial) {
      await transact(await sessionOf(trial), "o", append(user("0")));
      const session = await reopened(trial);
      await transact(session, "o", append(user("0")));
      await reads(session, ["0"]);
      await isRefused(session, "o", append(user("1")), "another transaction had this operation id");
    },
  },
  "openai-agents/process-reads": {
    must: persistent,
    title: "returns the items in another process",
    async check(trial) {
      await sessionOf(trial, "s", numbered(0, 3));
      assert.deepEqual(await trial.child("readTexts").result(), ["0", "1", "2"]);
    },
  },
  "openai-agents/process-sees-changes": {
    should: "ours: a web server and the worker that resumes a run after an approval have the same session open",
    title: "sees what another process does to a session that both have open",
    async check(trial) {
      const child = trial.child("readOnDemand");
      assert.deepEqual(await child.next(), []);
      const session = await sessionOf(trial, "s", numbered(0, 2));
      child.tell("read");
      assert.deepEqual(await child.next(), ["0", "1"], "after addItems");
      await session.popItem();
      child.tell("read");
      assert.deepEqual(await child.next(), ["0"], "after popItem");
      await session.clearSession();
      child.tell("read");
      assert.deepEqual(await child.next(), [], "after clearSession");
    },
  },
});
