// `delete`.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { another, has, idsOf, key, messages, method, sub, subpathsOf, summaryOf, title } from "./entries.js";
import * as sources from "./sources.js";
import type { Store } from "./store.js";

export const retention = expectations<Store>("retention", {
  "claude-agent-sdk/delete-main": {
    must: sources.suite,
    title: "returns null for a session that was deleted, and no longer lists it",
    async checkStore(store) {
      await store.append(key, messages(2));
      await method(store, "delete")(key);
      assert.equal(await store.load(key), null);
      if (store.listSessions !== undefined) assert.deepEqual(await idsOf(store), [], "listSessions lists it");
    },
  },
  "claude-agent-sdk/delete-unknown": {
    must: sources.suite,
    title: "does nothing when asked to delete a session or a subpath that is unknown",
    async checkStore(store) {
      const remove = method(store, "delete");
      await remove(key);
      await remove(sub());
      await store.append(key, messages(2));
      await remove(sub());
      await remove(another);
      await has(store, key, messages(2));
    },
  },
  "claude-agent-sdk/delete-cascades": {
    must: sources.guide,
    title: "deletes the transcripts of a session's subagents with the session",
    async checkStore(store) {
      for (const of of [key, sub("a1"), { ...key, subpath: "subagents/x/agent-b2" }])
        await store.append(of, messages(2));
      await method(store, "delete")(key);
      assert.equal(await store.load(sub("a1")), null);
      assert.equal(await store.load({ ...key, subpath: "subagents/x/agent-b2" }), null);
      if (store.listSubkeys !== undefined) assert.deepEqual(await subpathsOf(store), [], "listSubkeys lists them");
    },
  },
  "claude-agent-sdk/delete-without-main": {
    should: "framework: InMemorySessionStore deletes them, and a main transcript may have failed to be stored",
    title: "deletes the transcripts of subagents of a session that has no main transcript",
    async checkStore(store) {
      await store.append(sub(), messages(2));
      await method(store, "delete")(key);
      assert.equal(await store.load(sub()), null);
    },
  },
  "claude-agent-sdk/delete-subpath": {
    must: sources.suite,
    title: "deletes only the transcript of a subagent if it is named",
    async checkStore(store) {
      for (const of of [key, sub("a1"), sub("b2")]) await store.append(of, messages(2));
      await method(store, "delete")(sub("a1"));
      assert.equal(await store.load(sub("a1")), null);
      await has(store, key, messages(2), "the main transcript");
      await has(store, sub("b2"), messages(2), "another subagent's transcript");
      if (store.listSubkeys !== undefined) assert.deepEqual(await subpathsOf(store), [sub("b2").subpath]);
    },
  },
  "claude-agent-sdk/delete-subpath-prefix": {
    must: sources.suite,
    title: "keeps subpaths that begin with the deleted one",
    async checkStore(store) {
      const longer = [sub("a11"), { ...key, subpath: `${sub("a1").subpath}/agent-c3` }];
      for (const of of [key, sub("a1"), ...longer]) await store.append(of, messages(2));
      await method(store, "delete")(sub("a1"));
      for (const of of longer) await has(store, of, messages(2), `${of.subpath} was deleted too`);
    },
  },
  "claude-agent-sdk/delete-spares": {
    must: sources.suite,
    title: "keeps other sessions, and the session of that id in another project",
    async checkStore(store) {
      const others = [
        another,
        { ...key, projectKey: "-home-eve" },
        { ...key, sessionId: `${key.sessionId}0` },
        { ...key, projectKey: `${key.projectKey}-2` },
      ].flatMap((of) => [of, sub("a1", of)]);
      for (const of of [key, ...others]) await store.append(of, messages(2));
      await method(store, "delete")(key);
      for (const of of others) await has(store, of, messages(2), `${JSON.stringify(of)} was deleted too`);
    },
  },
  "claude-agent-sdk/delete-summary": {
    must: "framework: without listSessions, the SDK lists every summary as a session",
    title: "no longer gives the summary of a deleted session",
    async checkStore(store) {
      for (const of of [key, another]) await store.append(of, messages(1));
      await method(store, "delete")(key);
      const left = await method(store, "listSessionSummaries")(key.projectKey);
      const ids = left.map(({ sessionId }) => sessionId);
      assert.deepEqual(ids, [another.sessionId]);
    },
  },
  "claude-agent-sdk/delete-then-append": {
    must: sources.load,
    title: "begins a deleted session anew: it takes the same uuids again, and nothing of before comes back",
    async checkStore(store) {
      await store.append(key, [...messages(3), title("before")]);
      await method(store, "delete")(key);
      await store.append(key, messages(2));
      await has(store, key, messages(2));
      if (store.listSessionSummaries === undefined) return;
      const { data } = await summaryOf(store);
      assert.equal(data["customTitle"], undefined, "the summary has the title of the deleted session");
    },
  },
});
