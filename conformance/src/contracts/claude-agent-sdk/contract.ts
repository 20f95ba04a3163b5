// The methods, one by one.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { another, has, idsOf, key, message, messages, sub, subpathsOf, title, uuidOf } from "./entries.js";
import * as sources from "./sources.js";
import type { Store } from "./store.js";

export const methods = expectations<Store>("contract", {
  "claude-agent-sdk/load-returns-entries": {
    must: sources.load,
    title: "returns the entries as they were appended, with all of their fields",
    async checkStore(store) {
      const more = { parentUuid: null, cwd: "/work", isSidechain: false, later: { fields: [1, "two"] } };
      const entries = [message(1, more), { type: "a-type-of-tomorrow", timestamp: "2026-01-02T03:04:05.678Z", n: 1 }];
      await store.append(key, entries);
      await has(store, key, entries);
    },
  },
  "claude-agent-sdk/load-unknown": {
    must: sources.load,
    title: "returns null for a transcript that was never written",
    async checkStore(store) {
      assert.equal(await store.load(key), null, "a session that is unknown");
      assert.equal(await store.load(sub()), null, "a subpath of a session that is unknown");
      await store.append(key, messages(1));
      assert.equal(await store.load(sub()), null, "a subpath that the session does not have");
    },
  },
  "claude-agent-sdk/append-empty": {
    must: sources.suite,
    title: "stores nothing for an append of no entries",
    async checkStore(store) {
      await store.append(key, []);
      assert.equal(await store.load(key), null, "append([]) has made a session");
      if (store.listSessions !== undefined) assert.deepEqual(await idsOf(store), []);
      await store.append(key, messages(1));
      await store.append(key, []);
      await has(store, key, messages(1));
    },
  },
  "claude-agent-sdk/list-sessions": {
    must: sources.listSessions,
    title: "lists each session of the project once, and no other project's",
    async checkStore(store) {
      for (const of of [key, another, key]) await store.append(of, [title("t")]);
      await store.append({ projectKey: "-home-eve", sessionId: uuidOf(3) }, messages(1));
      assert.deepEqual(await idsOf(store), [key.sessionId, another.sessionId].toSorted());
      assert.deepEqual(await idsOf(store, "-never"), [], "a project that is unknown has sessions");
    },
  },
  "claude-agent-sdk/list-sessions-without-main": {
    must: sources.suite,
    title: "does not list a session that has only a subagent's transcript",
    async checkStore(store) {
      await store.append(sub(), messages(1));
      assert.deepEqual(await idsOf(store), []);
      await store.append(key, messages(1));
      assert.deepEqual(await idsOf(store), [key.sessionId]);
    },
  },
  "claude-agent-sdk/list-subkeys": {
    must: sources.listSubkeys,
    title: "lists each subpath of the session once, and no other session's",
    async checkStore(store) {
      for (const of of [sub("a1"), sub("b2"), sub("a1"), sub("c3", another)]) await store.append(of, [title("t")]);
      assert.deepEqual(await subpathsOf(store), [sub("a1").subpath, sub("b2").subpath]);
    },
  },
  "claude-agent-sdk/list-subkeys-main": {
    must: sources.suite,
    title: "lists no subpath for a session that has only a main transcript, and for one that is unknown",
    async checkStore(store) {
      await store.append(key, messages(1));
      assert.deepEqual(await subpathsOf(store), []);
      assert.deepEqual(await subpathsOf(store, another), [], "of a session that is unknown");
    },
  },
  "claude-agent-sdk/list-subkeys-verbatim": {
    must: "framework: to resume, the SDK loads each subpath that listSubkeys returns, and finds agents by its last part",
    title: "lists a subpath of any depth as it was appended, and loads it by what it has listed",
    async checkStore(store) {
      const subpaths = ["subagents/workflows/w-1/agent-a1", "subagents/agent-B2", "memory"];
      for (const [n, subpath] of subpaths.entries()) await store.append({ ...key, subpath }, [message(n)]);
      assert.deepEqual(await subpathsOf(store), subpaths.toSorted());
      for (const [n, subpath] of subpaths.entries()) await has(store, { ...key, subpath }, [message(n)]);
    },
  },
  "claude-agent-sdk/entries-without-uuid": {
    must: sources.append,
    title: "appends each entry that has no uuid, also if it equals another one",
    async checkStore(store) {
      const again = [title("Lisbon"), title("Lisbon")];
      await store.append(key, again);
      await store.append(key, again);
      await has(store, key, [...again, ...again]);
    },
  },
  "claude-agent-sdk/uuid-retry": {
    should: sources.append,
    title: "stores an entry with a uuid once if its append is sent again",
    async checkStore(store) {
      for (const of of [key, sub()]) {
        for (let n = 0; n < 3; n++) await store.append(of, messages(3));
        await has(store, of, messages(3), "an append that was sent again, as after a timeout, is stored twice");
      }
    },
  },
  "claude-agent-sdk/uuid-partial-retry": {
    should: sources.append,
    title: "stores the other entries of an append in which a uuid is stored already",
    async checkStore(store) {
      await store.append(key, messages(3));
      await store.append(key, [...messages(3, 1), title("t"), message(4)]);
      await has(store, key, [...messages(4), title("t"), message(4)]);
    },
  },
  "claude-agent-sdk/uuid-within-append": {
    ours: "the rule of the uuid holds within an append, as between two",
    title: "stores an entry once if one append has it twice",
    async checkStore(store) {
      await store.append(key, [message(1), message(2), message(1)]);
      await has(store, key, messages(2, 1));
    },
  },
});
