// Keys that break careless code: a project's key comes from the caller.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { has, idsOf, key, message, messages, method, project, subpathsOf } from "./entries.js";
import * as sources from "./sources.js";
import type { Key, Store } from "./store.js";

/** Appends an entry to each transcript, and fails if they are mixed up. If `mayReject`, an append may be rejected. */
async function areApart(store: Store, keys: readonly Key[], { mayReject = false } = {}) {
  const stored: Array<[Key, number]> = [];
  for (const [n, of] of keys.entries()) {
    try {
      await store.append(of, [message(n)]);
      stored.push([of, n]);
    } catch (error) {
      if (!mayReject) throw error;
    }
  }
  for (const [of, n] of stored) {
    const found = await store.load(of);
    assert.deepEqual(
      found?.map(({ uuid }) => uuid),
      [message(n).uuid],
      `the transcript ${JSON.stringify(of)} has other entries than its own`,
    );
  }
}

/** Each of the names as a project, as a session and as a subpath. */
const everywhere = (names: readonly string[]) =>
  names.flatMap((name) => [
    { ...key, projectKey: name },
    { ...key, sessionId: name },
    { ...key, subpath: name },
  ]);

export const keys = expectations<Store>("hostile", {
  "claude-agent-sdk/keys-joined": {
    should:
      "ours: a project's key may be a path or a tenant's name, and one tenant must not read or delete another's session",
    title: "keeps keys apart that are equal when their parts are joined by / : - or another separator",
    async checkStore(store) {
      for (const between of ["/", ":", "-", "_", "|", ".", "#", "\\"]) {
        const [ab, bc] = [`a${between}b`, `b${between}c`];
        await areApart(store, [
          { projectKey: "a", sessionId: bc },
          { projectKey: ab, sessionId: "c" },
          { projectKey: "a", sessionId: "b", subpath: "c" },
          { projectKey: "a", sessionId: ab, subpath: "c" },
          { projectKey: "a", sessionId: "a", subpath: bc },
        ]);
      }
    },
  },
  "claude-agent-sdk/keys-paths": {
    should: "ours: keys are no paths, and a store that makes paths of them must escape them",
    title: "keeps keys apart that are equal as paths, or rejects them",
    async checkStore(store) {
      const names = ["a/b", "a//b", "a/./b", "a/x/../b", "/a/b", "a/b/", "a%2fb", "a%2Fb", "a\\b", ".", "..", "../a/b"];
      await areApart(store, everywhere(names), { mayReject: true });
    },
  },
  "claude-agent-sdk/keys-case": {
    must: `${sources.sessionKey}: the default projectKey is a path, and paths differ by case`,
    title: "keeps keys apart that differ by case",
    checkStore: (store) => areApart(store, everywhere(["-Home-Ada", "-home-ada", "-HOME-ADA"])),
  },
  "claude-agent-sdk/keys-wildcards": {
    must: `${sources.sessionKey}: the scope is the caller's`,
    title: "does not take characters of a key as wildcards",
    async checkStore(store) {
      await store.append({ projectKey: "acme", sessionId: "of-acme" }, messages(1));
      for (const wild of ["a_me", "a%", "%", "a*", "*", "a?me", "[a]cme", "a.*"]) {
        if (store.listSessions !== undefined)
          assert.deepEqual(await idsOf(store, wild), [], `listSessions(${JSON.stringify(wild)}) lists one of acme`);
        await has(store, { projectKey: wild, sessionId: "of-acme" }, null, `load takes ${wild} as a pattern`);
      }
    },
  },
  "claude-agent-sdk/keys-prefix": {
    group: "isolation",
    must: sources.suite,
    title: "keeps a project and a session apart from those whose names begin with its own",
    async checkStore(store) {
      const longer = [
        { ...key, sessionId: `${key.sessionId}0` },
        { ...key, projectKey: `${project}-2` },
      ];
      for (const of of longer) {
        await store.append(of, messages(1));
        await store.append({ ...of, subpath: "subagents/agent-z" }, messages(1));
      }
      await store.append(key, messages(2));
      await has(store, key, messages(2));
      if (store.listSubkeys !== undefined)
        assert.deepEqual(await subpathsOf(store), [], "listSubkeys lists a subpath of a session with a longer name");
      if (store.listSessions !== undefined)
        assert.deepEqual(await idsOf(store), [key.sessionId, longer[0]!.sessionId], "listSessions");
    },
  },
  "claude-agent-sdk/keys-long": {
    must: `${sources.sessionKey}: a long path becomes 200 characters and a hash`,
    title: "keeps projects apart that differ only after 200 characters",
    async checkStore(store) {
      const long = `-${"deep-".repeat(40)}`.slice(0, 200);
      const projects = [`${long}-1x9c2k`, `${long}-1x9c2j`, long];
      const all = projects.map((projectKey) => ({ ...key, projectKey }));
      await areApart(store, all);
      if (store.listSessions === undefined) return;
      for (const one of projects) assert.deepEqual(await idsOf(store, one), [key.sessionId]);
    },
  },
  "claude-agent-sdk/keys-unicode": {
    should: "framework: InMemorySessionStore compares keys by their characters",
    title: "keeps keys apart that look the same: composed and decomposed, with spaces at the end",
    checkStore: (store) =>
      areApart(store, everywhere(["caf\u00e9", "cafe\u0301", "cafe", "caf\u00e9 ", "ﬁ", "fi", "👍", "👍🏽"])),
  },
  "claude-agent-sdk/keys-prototype": {
    should: "framework: InMemorySessionStore takes them, and a tenant may have any name",
    title: "takes the names of an object's own methods as keys",
    async checkStore(store) {
      const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];
      for (const of of everywhere(names)) await has(store, of, null, `${JSON.stringify(of)} was never written`);
      await areApart(store, everywhere(names));
      if (store.listSubkeys !== undefined) assert.deepEqual(await subpathsOf(store), names.toSorted());
    },
  },
  "claude-agent-sdk/keys-nul": {
    ours: "a key that can't be stored must be rejected, and not be stored as another one",
    title: "keeps keys with NUL and half surrogate pairs apart, or rejects them",
    async checkStore(store) {
      await areApart(store, everywhere(["a", "a\0", "a\0b", "a\0c", "\ud800", "\udc00", "\ufffd"]), {
        mayReject: true,
      });
    },
  },
  "claude-agent-sdk/keys-empty-subpath": {
    ours: "the types call an empty subpath invalid, and it must not be taken for the main transcript",
    title: "rejects an append with an empty subpath, and leaves the main transcript",
    async checkStore(store) {
      await store.append(key, messages(1));
      await assert.rejects(store.append({ ...key, subpath: "" }, messages(1, 7)), "an empty subpath was not rejected");
      await has(store, key, messages(1), "an append with an empty subpath is in the main transcript");
      if (store.listSubkeys !== undefined)
        assert.deepEqual(await method(store, "listSubkeys")(key), [], "an empty subpath is listed");
    },
  },
});
