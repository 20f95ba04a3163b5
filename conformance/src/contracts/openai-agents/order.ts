// Orders and limits.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { numbered, reads, sessionOf, texts, user } from "./items.js";
import { add, read } from "./sources.js";
import type { SessionStore } from "./store.js";

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `${from + at}`);

export const order = expectations<SessionStore>("order", {
  "openai-agents/order-in-call": {
    must: add,
    title: "returns the items of one call in the order of its list",
    check: async (trial) => await reads(await sessionOf(trial, "s", numbered(0, 30)), range(0, 30)),
  },
  "openai-agents/order-of-calls": {
    must: add,
    title: "returns the items of earlier calls first",
    async check(trial) {
      const session = await sessionOf(trial);
      // More than 10 calls: numbers that are sorted as texts get into disorder.
      for (let at = 0; at < 36; at += 3) await session.addItems(numbered(at, at + 3));
      await reads(session, range(0, 36));
    },
  },
  "openai-agents/order-unawaited": {
    ours: "a program that does not await `addItems` still has its items in order, as with MemorySession",
    title: "keeps the order of calls that are not awaited",
    async check(trial) {
      const session = await sessionOf(trial);
      const calls = range(0, 20).map((text) => session.addItems([user(text), user(`${text}b`)]));
      await Promise.all(calls);
      await reads(
        session,
        range(0, 20).flatMap((text) => [text, `${text}b`]),
      );
    },
  },
  "openai-agents/long-session": {
    must: "framework: the runner reads a conversation with one `getItems()`, and sends all of it to the model",
    title: "returns all 1,250 items of a long session",
    async check(trial) {
      const session = await sessionOf(trial);
      for (let at = 0; at < 1_250; at += 50) await session.addItems(numbered(at, at + 50));
      const found = await texts(session);
      assert.equal(found.length, 1_250, "getItems() without a limit must return all items");
      assert.deepEqual(found, range(0, 1_250));
    },
  },
  "openai-agents/large-call": {
    must: add,
    title: "adds 2,500 items by one call",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 2_500));
      const found = await texts(session);
      assert.equal(found.length, 2_500);
      assert.deepEqual(found, range(0, 2_500));
    },
  },
  "openai-agents/limit": {
    must: read,
    title: "returns the newest items with a limit",
    async check(trial) {
      const session = await sessionOf(trial);
      for (const item of numbered(0, 5)) await session.addItems([item]);
      assert.deepEqual((await texts(session, 2)).toSorted(), ["3", "4"]);
      assert.deepEqual(await texts(session, 1), ["4"]);
    },
  },
  "openai-agents/limit-order": {
    must: read,
    title: "returns the newest items in chronological order",
    async check(trial) {
      const session = await sessionOf(trial);
      for (const item of numbered(0, 5)) await session.addItems([item]);
      assert.deepEqual(await texts(session, 3), ["2", "3", "4"]);
    },
  },
  "openai-agents/limit-in-call": {
    must: read,
    title: "counts items for a limit, and not calls",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      await session.addItems(numbered(3, 6));
      assert.deepEqual(await texts(session, 2), ["4", "5"]);
      assert.deepEqual(await texts(session, 4), ["2", "3", "4", "5"]);
    },
  },
  "openai-agents/limit-beyond": {
    must: read,
    title: "returns all items if the limit is larger than their number",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      assert.deepEqual(await texts(session, 3), range(0, 3), "a limit of exactly their number");
      assert.deepEqual(await texts(session, 4), range(0, 3));
      assert.deepEqual(await texts(session, 1_000_000), range(0, 3));
    },
  },
  "openai-agents/limit-zero": {
    must: read,
    title: "returns no items with a limit of 0",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      assert.deepEqual(await session.getItems(0), []);
    },
  },
  "openai-agents/limit-negative": {
    should: "framework: MemorySession and OpenAIConversationsSession return no items",
    title: "returns no items with a limit below 0",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      for (const limit of [-1, -3]) assert.deepEqual(await session.getItems(limit), [], `limit ${limit}`);
    },
  },
  "openai-agents/limit-infinity": {
    ours: "MemorySession returns all items, and a program may compute its limit",
    title: "returns all items with a limit of Infinity",
    async check(trial) {
      const session = await sessionOf(trial, "s", numbered(0, 3));
      assert.deepEqual(await texts(session, Infinity), range(0, 3));
    },
  },
});
