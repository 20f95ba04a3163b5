// The methods that a session may have.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { call, comparable, has, numbered, reads, result, sessionOf, user } from "./items.js";
import { clear, replace, rewrite, transaction } from "./sources.js";
import type { SessionStore } from "./store.js";
import { append, isRefused, mutate, offered, replaceHistory, replaceSuffix, transact } from "./offered.js";

const compaction = { type: "compaction", encrypted_content: "gAAAA==" };

export const optional = expectations<SessionStore>("contract", {
  "openai-agents/compaction": {
    must: replace,
    title: "ends with the compaction and its suffix after `replaceHistoryWithCompaction`",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 4));
      await replaceHistory(session, [compaction, user("after")]);
      const items = comparable(session, await session.getItems());
      // A store may append them: the runner ignores what lies before the last compaction.
      const from = items.findLastIndex(({ type }) => type === "compaction");
      assert.deepEqual(items.slice(Math.max(from, 0)), [compaction, user("after")]);
      await session.addItems([user("later")]);
      assert.deepEqual(comparable(session, await session.getItems(2)), [user("after"), user("later")]);
    },
  },
  "openai-agents/compaction-keeps-id": {
    must: replace,
    title: "keeps the id of a session whose history is replaced",
    async checkStore(store) {
      const session = await store.session();
      const id = await session.getSessionId();
      await session.addItems(numbered(0, 2));
      await replaceHistory(session, [compaction]);
      assert.equal(await session.getSessionId(), id);
    },
  },
  "openai-agents/mutations-replace": {
    must: "documented: SessionHistoryReplaceFunctionCallMutation of the SDK",
    title: "replaces a function call in its place",
    async check(trial) {
      const session = await sessionOf(trial, "s", [user("0"), call("a"), call("b"), result("a"), result("b")]);
      await mutate(session, ["a", call("a", '{"to":"bob"}')]);
      await has(session, [user("0"), call("a", '{"to":"bob"}'), call("b"), result("a"), result("b")]);
    },
  },
  "openai-agents/mutations-repeats": {
    should: rewrite,
    title: "removes repetitions of a function call that it replaces",
    async check(trial) {
      const session = await sessionOf(trial, "s", [call("a"), user("0"), call("a"), result("a"), call("b"), call("b")]);
      await mutate(session, ["a", call("a", '{"to":"bob"}')]);
      await has(session, [call("a", '{"to":"bob"}'), user("0"), result("a"), call("b"), call("b")]);
    },
  },
  "openai-agents/mutations-unknown": {
    must: rewrite,
    title: "changes nothing if there is no call to replace",
    async check(trial) {
      const items = [user("0"), call("a"), result("a")];
      const session = await sessionOf(trial, "s", items);
      await mutate(session, ["unknown", call("unknown")]);
      await mutate(session);
      await has(session, items);
    },
  },
  "openai-agents/transaction-append": {
    must: transaction,
    title: "appends the items of a transaction",
    async check(trial) {
      const session = await sessionOf(trial, "s", [user("0")]);
      await transact(session, "o", append(user("1"), user("2")));
      await reads(session, ["0", "1", "2"]);
    },
  },
  "openai-agents/transaction-replace": {
    must: transaction,
    title: "replaces the newest items by those of a transaction",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 4));
      await transact(session, "o", replaceSuffix(numbered(2, 4), [user("new")]));
      await reads(session, ["0", "1", "new"]);
      await transact(session, "p", replaceSuffix([], [user("end")]));
      await reads(session, ["0", "1", "new", "end"], "an empty suffix is the end of each history");
    },
  },
  "openai-agents/transaction-once": {
    must: transaction,
    title: "applies a transaction once, however often it is repeated",
    async check(trial) {
      const session = await sessionOf(trial, "s", [user("0")]);
      for (let time = 0; time < 2; time++) await transact(session, "o", append(user("1")));
      await session.addItems([user("2")]);
      await transact(session, "o", append(user("1")));
      await reads(session, ["0", "1", "2"]);
      for (let time = 0; time < 2; time++) await transact(session, "p", replaceSuffix([user("2")], [user("3")]));
      await reads(session, ["0", "1", "3"]);
    },
  },
  "openai-agents/transaction-equal": {
    should:
      "framework: MemorySession. A retry after a restart has its items from the JSON of a RunState, with its order of keys",
    title: "knows a transaction again whose keys are in another order",
    async check(trial) {
      const session = await sessionOf(trial);
      await transact(session, "o", append(user("0", { providerData: { a: 1, b: { c: 2, d: 3 } } })));
      const again = { providerData: { b: { d: 3, c: 2 }, a: 1 }, content: "0", role: "user", type: "message" };
      await transact(session, "o", { items: [again], type: "append_items" });
      await reads(session, ["0"]);
    },
  },
  "openai-agents/transaction-other": {
    must: transaction,
    title: "rejects another transaction with a used operation id, and changes nothing",
    async check(trial) {
      const session = await sessionOf(trial, "s", [user("0")]);
      await transact(session, "o", append(user("1")));
      const why = "another transaction had this operation id";
      await isRefused(session, "o", append(user("2")), why);
      await isRefused(session, "o", append(), why);
      await isRefused(session, "o", replaceSuffix([], [user("1")]), why);
      await reads(session, ["0", "1"]);
    },
  },
  "openai-agents/transaction-suffix": {
    must: transaction,
    title: "rejects a transaction whose suffix is not the end of the history, and changes nothing",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      const why = "the suffix is not the end of the history";
      await isRefused(session, "o", replaceSuffix([user("1")], [user("new")]), why);
      await isRefused(session, "p", replaceSuffix([user("2", { id: "x" })], [user("new")]), `${why}: another key`);
      await isRefused(session, "q", replaceSuffix([user("x"), ...numbered(0, 3)], []), `${why}: it is longer`);
      await reads(session, ["0", "1", "2"]);
    },
  },
  "openai-agents/transaction-failed": {
    should: "framework: MemorySession remembers an operation together with its change",
    title: "does not remember the id of an operation that failed",
    async check(trial) {
      const session = await sessionOf(trial, "s", [user("0")]);
      await isRefused(session, "o", replaceSuffix([user("x")], []), "the suffix is not the end of the history");
      await transact(session, "o", replaceSuffix([user("0")], [user("1")]));
      await reads(session, ["1"]);
    },
  },
  "openai-agents/transaction-unstorable": {
    must: transaction,
    title: "changes nothing if it rejects an item that can't be stored",
    async check(trial) {
      const session = await sessionOf(trial, "s", [user("0")]);
      const items = [user("1"), user("2", { providerData: { work: () => 0 } })];
      offered(session, "applyHistoryTransaction");
      // The contract leaves open whether it is rejected.
      const failed = await transact(session, "o", append(...items)).then(
        () => false,
        () => true,
      );
      if (!failed) return;
      await reads(session, ["0"], "the transaction was rejected, but some of its items are stored");
      await transact(session, "o", append(user("1")));
      await reads(session, ["0", "1"], "the id of the rejected operation can be used");
    },
  },
  "openai-agents/transaction-blank-id": {
    should: "framework: MemorySession rejects an empty or blank id, which the documentation excludes",
    title: "rejects an operation without an id",
    async check(trial) {
      const session = await sessionOf(trial, "s", [user("0")]);
      for (const id of ["", " "])
        await isRefused(session, id, append(user("1")), `the id ${JSON.stringify(id)} is none`);
      await reads(session, ["0"]);
    },
  },
  "openai-agents/transaction-of-session": {
    group: "isolation",
    must: transaction,
    title: "remembers operations of the session, and not of another one",
    async check(trial) {
      const [a, b] = [await sessionOf(trial, "a"), await sessionOf(trial, "b")];
      await transact(a, "o", append(user("a")));
      await transact(b, "o", append(user("b")));
      await transact(b, "p", append(user("c")));
      await reads(a, ["a"]);
      await reads(b, ["b", "c"]);
    },
  },
  "openai-agents/transaction-clear": {
    should: clear,
    title: "forgets operations when a session is cleared",
    async check(trial) {
      const session = await sessionOf(trial);
      await transact(session, "o", append(user("0")));
      await session.clearSession();
      await transact(session, "o", append(user("1")));
      await reads(session, ["1"]);
    },
  },
  "openai-agents/transaction-kept": {
    ours: "MemorySession does it. An operation that is retried after a correction must not come back",
    title: "remembers an operation whose item was removed by `popItem`",
    async check(trial) {
      const session = await sessionOf(trial);
      await transact(session, "o", append(user("0")));
      await session.popItem();
      await transact(session, "o", append(user("0")));
      await reads(session, []);
    },
  },
});
