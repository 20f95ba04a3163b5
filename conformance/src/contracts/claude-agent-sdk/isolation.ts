// Nothing is mixed up between transcripts, sessions, projects and callers.
import assert from "node:assert/strict";
import type { Expectation } from "../../suite/types.js";
import { another, has, key, message, messages, sub, subpathsOf } from "./entries.js";
import * as sources from "./sources.js";
import type { Store } from "./store.js";

export const isolation: ReadonlyArray<Expectation<Store>> = [
  {
    id: "claude-agent-sdk/subpaths-apart",
    group: "isolation",
    level: "MUST",
    source: sources.suite,
    title: "keeps the transcripts of a session's subagents apart from its own, and from each other",
    async check(trial) {
      const store = await trial.store();
      const all = [key, sub("a1"), sub("b2")];
      for (const [n, of] of all.entries()) await store.append(of, messages(n + 1, 10 * n));
      for (const [n, of] of all.entries()) await has(store, of, messages(n + 1, 10 * n));
    },
  },
  {
    id: "claude-agent-sdk/sessions-apart",
    group: "isolation",
    level: "MUST",
    source: sources.sessionKey,
    title: "keeps the sessions of a project apart, also their subagents of the same name",
    async check(trial) {
      const store = await trial.store();
      const all = [key, another, sub("a1", key), sub("a1", another)];
      for (const [n, of] of all.entries()) await store.append(of, messages(1, n));
      for (const [n, of] of all.entries()) await has(store, of, messages(1, n));
      if (store.listSubkeys === undefined) return;
      for (const of of [key, another]) assert.deepEqual(await subpathsOf(store, of), [sub("a1").subpath]);
    },
  },
  {
    id: "claude-agent-sdk/projects-apart",
    group: "isolation",
    level: "MUST",
    source: sources.suite,
    title: "keeps projects apart that have a session of the same id",
    async check(trial) {
      const store = await trial.store();
      const all = [key, { ...key, projectKey: "-home-eve" }];
      for (const [n, of] of all.entries()) await store.append(of, messages(1, n));
      for (const [n, of] of all.entries()) await has(store, of, messages(1, n));
    },
  },
  {
    id: "claude-agent-sdk/uuid-in-other-transcripts",
    group: "isolation",
    level: "SHOULD",
    source:
      "ours: a session may be imported into two projects, and a second transcript must not lose the entries of the first",
    title: "stores an entry whose uuid is in another transcript",
    async check(trial) {
      const store = await trial.store();
      const all = [key, another, sub(), { ...key, projectKey: "-home-eve" }];
      for (const of of all) await store.append(of, messages(2));
      for (const of of all)
        await has(store, of, messages(2), `${JSON.stringify(of)} lacks entries of another transcript`);
    },
  },
  {
    id: "claude-agent-sdk/append-copies",
    group: "isolation",
    level: "OURS",
    source: "ours: an append stores what the entries are when it is called, on each backend",
    title: "does not see what the caller does to the entries after the call",
    async check(trial) {
      const store = await trial.store();
      const entries = messages(2);
      const appended = store.append(key, entries);
      entries[0]!.type = "changed";
      entries.push(message(9));
      await appended;
      (entries[1]!["message"] as { content: string }).content = "changed";
      await has(store, key, messages(2));
    },
  },
  {
    id: "claude-agent-sdk/load-copies",
    group: "isolation",
    level: "OURS",
    source: "ours: a transcript changes by appends only",
    title: "does not see what the caller does to the loaded entries",
    async check(trial) {
      const store = await trial.store();
      await store.append(key, messages(2));
      const loaded = (await store.load(key))!;
      (loaded[0]!["message"] as { content: string }).content = "changed";
      loaded.push(message(9));
      await has(store, key, messages(2));
    },
  },
];
