// Sessions do not get each other's items, and neither do callers of one session.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import type { Trial } from "../../suite/types.js";
import { areBlocks, block, numbered, reads, sessionOf, textOf, texts, user } from "./items.js";
import { clear, identity, pop, read } from "./sources.js";
import type { SessionStore } from "./store.js";

/** Adds an item to a session of each id, and expects it back alone. */
async function apart(trial: Trial<SessionStore>, ids: string[]): Promise<void> {
  for (const id of ids) await sessionOf(trial, id, [user(`of ${id}`)]);
  for (const id of ids)
    await reads(await sessionOf(trial, id), [`of ${id}`], `the items of the session ${JSON.stringify(id)}`);
  const [first, ...others] = ids;
  await (await sessionOf(trial, first)).clearSession();
  for (const id of others)
    await reads(
      await sessionOf(trial, id),
      [`of ${id}`],
      `the items of ${JSON.stringify(id)} after ${JSON.stringify(first)} was cleared`,
    );
}

/** Ids that are prefixes, patterns or paths of each other, or look like something else. */
const separators =
  `a a:b a/b a/../b ../a . .. b a% a_ a* ab a.json a:0 a,b a' a" a\\ a\\b a?b=1 a#b %61 -a 0 null undefined`.split(" ");

const shared = "ours: a resolved `addItems` has added its items. MemorySession loses none";

export const isolation = expectations<SessionStore>("isolation", {
  "openai-agents/sessions-read-own": {
    must: read,
    title: "returns the items of the session alone",
    async check(trial) {
      const [a, b] = [await sessionOf(trial, "a"), await sessionOf(trial, "b")];
      for (let at = 0; at < 3; at++) {
        await a.addItems([user(`a${at}`)]);
        await b.addItems([user(`b${at}`)]);
      }
      await reads(a, ["a0", "a1", "a2"]);
      await reads(b, ["b0", "b1", "b2"]);
      assert.deepEqual(await texts(a, 2), ["a1", "a2"], "with a limit");
      await reads(await sessionOf(trial, "c"), [], "of a session without items");
    },
  },
  "openai-agents/sessions-pop-own": {
    must: pop,
    title: "removes the newest item of the session, and not of another one",
    async check(trial) {
      const a = await sessionOf(trial, "a", [user("a0")]);
      const b = await sessionOf(trial, "b", [user("b0"), user("b1")]);
      assert.equal(textOf(await a.popItem()), "a0");
      assert.equal(await a.popItem(), undefined, "of a session that is empty now");
      await reads(b, ["b0", "b1"]);
    },
  },
  "openai-agents/sessions-clear-own": {
    must: clear,
    title: "clears the session, and no other one",
    async check(trial) {
      const [a, b] = [await sessionOf(trial, "a", numbered(0, 2)), await sessionOf(trial, "b", numbered(2, 4))];
      await a.clearSession();
      await reads(a, []);
      await reads(b, ["2", "3"]);
    },
  },
  "openai-agents/same-id": {
    must: identity,
    title: "shows the same items in each session object of an id",
    async check(trial) {
      const [one, other] = [await sessionOf(trial), await sessionOf(trial)];
      await one.addItems([user("0")]);
      await other.addItems([user("1")]);
      await reads(one, ["0", "1"]);
      assert.equal(textOf(await one.popItem()), "1");
      await reads(other, ["0"]);
    },
  },
  "openai-agents/ids-with-separators": {
    must: identity,
    title: "keeps sessions apart whose ids are prefixes, patterns or paths of each other",
    check: (trial) => apart(trial, [...separators, "a b", "a\n"]),
  },
  "openai-agents/ids-of-prototypes": {
    must: identity,
    title: "takes the names of an object's own properties as ids",
    check: (trial) => apart(trial, ["__proto__", "constructor", "toString", "hasOwnProperty", "prototype", "length"]),
  },
  "openai-agents/ids-nearly-equal": {
    must: identity,
    title: "keeps sessions apart whose ids differ in case, accents or spaces",
    check: (trial) =>
      apart(trial, ["user", "User", "USER", "user ", " user", "us\u00e9r", "use\u0301r", "usér🙂", "1", "01", "1.0"]),
  },
  "openai-agents/ids-long": {
    should: "ours: an id may be made of a tenant, a user and a channel. MemorySession takes any length",
    title: "keeps sessions apart whose ids of 300 characters differ in the last one",
    check: (trial) => apart(trial, ["x".repeat(299), `${"x".repeat(299)}a`, `${"x".repeat(299)}b`]),
  },
  "openai-agents/callers-add": {
    should: shared,
    title: "loses no item if calls of `addItems` overlap",
    async check(trial) {
      const sessions = [await sessionOf(trial), await sessionOf(trial)];
      await Promise.all(Array.from({ length: 30 }, (_, n) => sessions[n % 2]!.addItems([user(`${n}`)])));
      const found = await texts(sessions[0]!);
      assert.deepEqual(
        found.toSorted((a, b) => Number(a) - Number(b)),
        Array.from({ length: 30 }, (_, n) => `${n}`),
      );
    },
  },
  "openai-agents/callers-add-together": {
    should:
      "framework: MemorySession adds the items of a call together. A result without its call before it is an error of the API",
    title: "keeps the items of one call together if calls of `addItems` overlap",
    async check(trial) {
      const sessions = [await sessionOf(trial), await sessionOf(trial)];
      await Promise.all(Array.from({ length: 20 }, (_, n) => sessions[n % 2]!.addItems(block(`${n}`, 5))));
      areBlocks(await texts(sessions[0]!), 5);
    },
  },
  "openai-agents/callers-pop": {
    should: "framework: MemorySession returns each item once",
    title: "returns each item once if calls of `popItem` overlap",
    async check(trial) {
      const sessions = [await sessionOf(trial, "s", numbered(0, 20)), await sessionOf(trial)];
      const popped = await Promise.all(Array.from({ length: 22 }, (_, n) => sessions[n % 2]!.popItem()));
      const found = popped.filter((item) => item !== undefined).map(textOf);
      assert.equal(new Set(found).size, found.length, `an item was returned twice: ${found}`);
      assert.equal(found.length, 20, "each item must be returned by one of the calls");
      await reads(sessions[0]!, []);
    },
  },
});
