// The id of a session, and the methods that every session has.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { has, numbered, reads, sessionOf, textOf, user } from "./items.js";
import type { SessionStore } from "./store.js";
import { add, clear, identity, pop, types } from "./sources.js";

export const methods = expectations<SessionStore>("contract", {
  "openai-agents/session-id-given": {
    must: identity,
    title: "returns from `getSessionId` the id with which a session was opened",
    async check(trial) {
      for (const id of ["user-7", "b"]) assert.equal(await (await sessionOf(trial, id)).getSessionId(), id);
    },
  },
  "openai-agents/session-id-stable": {
    must: "framework: sessionPersistence.ts compares the id throughout a run, and refuses a session whose id has changed",
    title: "makes up an id for a session without one, and returns it from then on",
    async checkStore(store) {
      const session = await store.session();
      const id = await session.getSessionId();
      assert.ok(typeof id === "string" && id !== "", `getSessionId must return an id, but returned ${id}`);
      assert.equal(await session.getSessionId(), id, "the second call");
      await session.addItems([user("0")]);
      assert.equal(await session.getSessionId(), id, "after addItems");
      await session.popItem();
      assert.equal(await session.getSessionId(), id, "after popItem");
    },
  },
  "openai-agents/session-id-at-once": {
    must: "framework: OpenAIConversationsSession runs its calls of getSessionId one after the other, so that it makes up one id",
    title: "makes up one id if it is asked for twice at the same time",
    async checkStore(store) {
      const session = await store.session();
      const [one, other] = await Promise.all([session.getSessionId(), session.getSessionId()]);
      assert.equal(one, other);
    },
  },
  "openai-agents/session-id-own": {
    must: identity,
    title: "makes up another id for each session",
    async checkStore(store) {
      const [one, other] = [await store.session(), await store.session()];
      assert.notEqual(await one.getSessionId(), await other.getSessionId());
      await one.addItems([user("0")]);
      await has(other, [], "another session without an id has the items of the first");
    },
  },
  "openai-agents/session-id-reopens": {
    should: "ours: without it, a conversation whose id was made up could never be continued",
    title: "finds a session again by the id that it has made up",
    async checkStore(store) {
      const session = await store.session();
      await session.addItems([user("0")]);
      await reads(await store.session(await session.getSessionId()), ["0"]);
    },
  },
  "openai-agents/session-id-after-clear": {
    should: "framework: MemorySession keeps its id, and a resumed run refuses a session whose id has changed",
    title: "keeps the id of a session that is cleared",
    async check(trial) {
      const session = await sessionOf(trial, "s", [user("0")]);
      await session.clearSession();
      assert.equal(await session.getSessionId(), "s");
    },
  },
  "openai-agents/empty": {
    must: types("getItems"),
    title: "returns an empty list for a session that has no items",
    async check(trial) {
      assert.deepEqual(await (await sessionOf(trial)).getItems(), []);
      assert.deepEqual(await (await sessionOf(trial)).getItems(5), [], "with a limit");
    },
  },
  "openai-agents/add": {
    must: add,
    title: "returns the items that were added",
    async check(trial) {
      const session = await sessionOf(trial);
      await session.addItems([user("Hello.")]);
      await has(session, [user("Hello.")]);
    },
  },
  "openai-agents/add-nothing": {
    must: add,
    title: "does nothing if an empty list is added",
    async check(trial) {
      const session = await sessionOf(trial);
      await session.addItems([]);
      assert.deepEqual(await session.getItems(), [], "to an empty session");
      await session.addItems(numbered(0, 2));
      await session.addItems([]);
      await reads(session, ["0", "1"], "to a session with items");
    },
  },
  "openai-agents/add-equal": {
    must: add,
    title: "keeps an item that equals an earlier one",
    async check(trial) {
      const yes = user("Yes.", { id: "msg_1" });
      const session = await sessionOf(trial, "s", [yes, yes]);
      await session.addItems([user("Sure?"), yes]);
      await has(session, [yes, yes, user("Sure?"), yes]);
    },
  },
  "openai-agents/add-fails-cleanly": {
    should:
      "framework: MemorySession copies all items before it adds one. A run that failed to add its items adds them again",
    title: "adds nothing in a call that rejects",
    async check(trial) {
      const session = await sessionOf(trial, "s", [user("before")]);
      const unreadable = Object.defineProperty(user("bad"), "content", {
        enumerable: true,
        get() {
          throw new Error("this item can't be read");
        },
      });
      const failed = await session.addItems([user("good"), unreadable, user("more")]).then(
        () => false,
        () => true,
      );
      if (failed) await reads(session, ["before"], "the call has rejected, but some of its items are stored");
    },
  },
  "openai-agents/pop": {
    must: pop,
    title: "removes the newest item and returns it",
    async check(trial) {
      const session = await sessionOf(trial);
      for (const item of numbered(0, 3)) await session.addItems([item]);
      assert.equal(textOf(await session.popItem()), "2");
      await reads(session, ["0", "1"]);
      assert.equal(textOf(await session.popItem()), "1", "the second call");
      await reads(session, ["0"], "after the second call");
    },
  },
  "openai-agents/pop-one-of-call": {
    must: pop,
    title: "removes one item, and not all that were added by the same call",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      assert.equal(textOf(await session.popItem()), "2");
      await reads(session, ["0", "1"]);
    },
  },
  "openai-agents/pop-empty": {
    must: pop,
    title: "returns undefined from `popItem` if there is no item",
    async check(trial) {
      const session = await sessionOf(trial);
      assert.equal(await session.popItem(), undefined, "of a session that never had items");
      await session.addItems([user("0")]);
      await session.popItem();
      assert.equal(await session.popItem(), undefined, "of a session whose items were removed");
      await session.addItems([user("1")]);
      await reads(session, ["1"], "after that");
    },
  },
  "openai-agents/pop-then-add": {
    must: add,
    title: "appends items after others were removed",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 4));
      await session.popItem();
      await session.popItem();
      await session.addItems([user("new")]);
      await session.addItems([user("newer")]);
      await reads(session, ["0", "1", "new", "newer"]);
    },
  },
  "openai-agents/clear": {
    must: clear,
    title: "removes all items when a session is cleared",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      await session.clearSession();
      assert.deepEqual(await session.getItems(), []);
      assert.equal(await session.popItem(), undefined, "popItem must find nothing either");
    },
  },
  "openai-agents/clear-then-add": {
    must: clear,
    title: "begins anew after a session was cleared",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      await session.clearSession();
      await session.addItems([user("a"), user("b")]);
      await session.addItems([user("c")]);
      await reads(session, ["a", "b", "c"]);
    },
  },
  "openai-agents/clear-empty": {
    must: clear,
    title: "clears a session that has no items",
    async check(trial) {
      const session = await sessionOf(trial);
      await session.clearSession();
      await session.clearSession();
      await session.addItems([user("0")]);
      await reads(session, ["0"]);
    },
  },
});
