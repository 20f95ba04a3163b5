// Nothing is mixed up between transcripts, sessions, projects and callers.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { another, has, key, message, messages, sub, subpathsOf } from "./entries.js";
import * as sources from "./sources.js";
import type { Store } from "./store.js";

export const isolation = expectations<Store>("isolation", {
  "claude-agent-sdk/subpaths-apart": {
    must: sources.suite,
    title: "keeps the transcripts of a session's subagents apart from its own, and from each other",
    async checkStore(store) {
      const all = [key, sub("a1"), sub("b2")];
      for (const [n, of] of all.entries()) await store.append(of, messages(n + 1, 10 * n));
      for (const [n, of] of all.entries()) await has(store, of, messages(n + 1, 10 * n));
    },
  },
  "claude-agent-sdk/sessions-apart": {
    must: sources.sessionKey,
    title: "keeps the sessions of a project apart, also their subagents of the same name",
    async checkStore(store) {
      const all = [key, another, sub("a1", key), sub("a1", another)];
      for (const [n, of] of all.entries()) await store.append(of, messages(1, n));
      for (const [n, of] of all.entries()) await has(store, of, messages(1, n));
      if (store.listSubkeys === undefined) return;
      for (const of of [key, another]) assert.deepEqual(await subpathsOf(store, of), [sub("a1").subpath]);
    },
  },
  "claude-agent-sdk/projects-apart": {
    must: sources.suite,
    title: "keeps projects apart that have a session of the same id",
    async checkStore(store) {
      const all = [key, { ...key, projectKey: "-home-eve" }];
      for (const [n, of] of all.entries()) await store.append(of, messages(1, n));
      for (const [n, of] of all.entries()) await has(store, of, messages(1, n));
    },
  },
  "claude-agent-sdk/uuid-in-other-transcripts": {
    should:
      "ours: a session may be imported into two projects, and a second transcript must not lose the entries of the first",
    title: "stores an entry whose uuid is in another transcript",
    async checkStore(store) {
      const all = [key, another, sub(), { ...key, projectKey: "-home-eve" }];
      for (const of of all) await store.append(of, messages(2));
      for (const of of all)
        await has(store, of, messages(2), `${JSON.stringify(of)} lacks entries of another transcript`);
    },
  },
  "claude-agent-sdk/append-copies": {
    ours: "an append stores what the entries are when it is called, on each backend",
    title: "does not see what the caller does to the entries after the call",
    async checkStore(store) {
      const entries = messages(2);
      const appended = store.append(key, entries);
      entries[0]!.type = "changed";
      entries.push(message(9));
      await appended;
      (entries[1]!["message"] as { content: string }).content = "changed";
      await has(store, key, messages(2));
    },
  },
  "claude-agent-sdk/load-copies": {
    ours: "a transcript changes by appends only",
    title: "does not see what the caller does to the loaded entries",
    async checkStore(store) {
      await store.append(key, messages(2));
      const loaded = (await store.load(key))!;
      (loaded[0]!["message"] as { content: string }).content = "changed";
      loaded.push(message(9));
      await has(store, key, messages(2));
    },
  },
});
