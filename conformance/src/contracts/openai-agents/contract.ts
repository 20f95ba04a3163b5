// The id of a session, and the methods that every session has.
import assert from "node:assert/strict";
import type { Expectation } from "../../suite/types.js";
import { has, numbered, reads, sessionOf, textOf, user } from "./items.js";
import type { SessionStore } from "./store.js";
import { add, clear, identity, pop, types } from "./sources.js";

export const methods: ReadonlyArray<Expectation<SessionStore>> = [
  {
    id: "openai-agents/session-id-given",
    group: "contract",
    level: "MUST",
    source: identity,
    title: "returns from `getSessionId` the id with which a session was opened",
    async check(trial) {
      for (const id of ["user-7", "b"]) assert.equal(await (await sessionOf(trial, id)).getSessionId(), id);
    },
  },
  {
    id: "openai-agents/session-id-stable",
    group: "contract",
    level: "MUST",
    source:
      "framework: sessionPersistence.ts compares the id throughout a run, and refuses a session whose id has changed",
    title: "makes up an id for a session without one, and returns it from then on",
    async check(trial) {
      const session = await (await trial.store()).session();
      const id = await session.getSessionId();
      assert.ok(typeof id === "string" && id !== "", `getSessionId must return an id, but returned ${id}`);
      assert.equal(await session.getSessionId(), id, "the second call");
      await session.addItems([user("0")]);
      assert.equal(await session.getSessionId(), id, "after addItems");
      await session.popItem();
      assert.equal(await session.getSessionId(), id, "after popItem");
    },
  },
  {
    id: "openai-agents/session-id-at-once",
    group: "contract",
    level: "MUST",
    source:
      "framework: OpenAIConversationsSession runs its calls of getSessionId one after the other, so that it makes up one id",
    title: "makes up one id if it is asked for twice at the same time",
    async check(trial) {
      const session = await (await trial.store()).session();
      const [one, other] = await Promise.all([session.getSessionId(), session.getSessionId()]);
      assert.equal(one, other);
    },
  },
  {
    id: "openai-agents/session-id-own",
    group: "contract",
    level: "MUST",
    source: identity,
    title: "makes up another id for each session",
    async check(trial) {
      const store = await trial.store();
      const [one, other] = [await store.session(), await store.session()];
      assert.notEqual(await one.getSessionId(), await other.getSessionId());
      await one.addItems([user("0")]);
      await has(other, [], "another session without an id has the items of the first");
    },
  },
  {
    id: "openai-agents/session-id-reopens",
    group: "contract",
    level: "SHOULD",
    source: "ours: without it, a conversation whose id was made up could never be continued",
    title: "finds a session again by the id that it has made up",
    async check(trial) {
      const store = await trial.store();
      const session = await store.session();
      await session.addItems([user("0")]);
      await reads(await store.session(await session.getSessionId()), ["0"]);
    },
  },
  {
    id: "openai-agents/session-id-after-clear",
    group: "contract",
    level: "SHOULD",
    source: "framework: MemorySession keeps its id, and a resumed run refuses a session whose id has changed",
    title: "keeps the id of a session that is cleared",
    async check(trial) {
      const session = await sessionOf(trial, "s", [user("0")]);
      await session.clearSession();
      assert.equal(await session.getSessionId(), "s");
    },
  },
  {
    id: "openai-agents/empty",
    group: "contract",
    level: "MUST",
    source: types("getItems"),
    title: "returns an empty list for a session that has no items",
    async check(trial) {
      assert.deepEqual(await (await sessionOf(trial)).getItems(), []);
      assert.deepEqual(await (await sessionOf(trial)).getItems(5), [], "with a limit");
    },
  },
  {
    id: "openai-agents/add",
    group: "contract",
    level: "MUST",
    source: add,
    title: "returns the items that were added",
    async check(trial) {
      const session = await sessionOf(trial);
      await session.addItems([user("Hello.")]);
      await has(session, [user("Hello.")]);
    },
  },
  {
    id: "openai-agents/add-nothing",
    group: "contract",
    level: "MUST",
    source: add,
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
  {
    id: "openai-agents/add-equal",
    group: "contract",
    level: "MUST",
    source: add,
    title: "keeps an item that equals an earlier one",
    async check(trial) {
      const yes = user("Yes.", { id: "msg_1" });
      const session = await sessionOf(trial, "s", [yes, yes]);
      await session.addItems([user("Sure?"), yes]);
      await has(session, [yes, yes, user("Sure?"), yes]);
    },
  },
  {
    id: "openai-agents/add-fails-cleanly",
    group: "contract",
    level: "SHOULD",
    source:
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
  {
    id: "openai-agents/pop",
    group: "contract",
    level: "MUST",
    source: pop,
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
  {
    id: "openai-agents/pop-one-of-call",
    group: "contract",
    level: "MUST",
    source: pop,
    title: "removes one item, and not all that were added by the same call",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      assert.equal(textOf(await session.popItem()), "2");
      await reads(session, ["0", "1"]);
    },
  },
  {
    id: "openai-agents/pop-empty",
    group: "contract",
    level: "MUST",
    source: pop,
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
  {
    id: "openai-agents/pop-then-add",
    group: "contract",
    level: "MUST",
    source: add,
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
  {
    id: "openai-agents/clear",
    group: "contract",
    level: "MUST",
    source: clear,
    title: "removes all items when a session is cleared",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      await session.clearSession();
      assert.deepEqual(await session.getItems(), []);
      assert.equal(await session.popItem(), undefined, "popItem must find nothing either");
    },
  },
  {
    id: "openai-agents/clear-then-add",
    group: "contract",
    level: "MUST",
    source: clear,
    title: "begins anew after a session was cleared",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      await session.clearSession();
      await session.addItems([user("a"), user("b")]);
      await session.addItems([user("c")]);
      await reads(session, ["a", "b", "c"]);
    },
  },
  {
    id: "openai-agents/clear-empty",
    group: "contract",
    level: "MUST",
    source: clear,
    title: "clears a session that has no items",
    async check(trial) {
      const session = await sessionOf(trial);
      await session.clearSession();
      await session.clearSession();
      await session.addItems([user("0")]);
      await reads(session, ["0"]);
    },
  },
];
