// The order of entries, and how many there may be.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { has, idsOf, key, message, messages, sub, subpathsOf, title, uuidOf } from "./entries.js";
import * as sources from "./sources.js";
import type { Store } from "./store.js";

/** What the SDK keeps about a subagent. */
const metadata = (agentType: string) => ({ type: "agent_metadata", agentType });

export const order = expectations<Store>("order", {
  "claude-agent-sdk/order-of-appends": {
    must: sources.append,
    title: "returns the entries in the order of the appends, and of each append's entries",
    async checkStore(store, trial) {
      const all = Array.from({ length: 12 }, () => message(trial.random(2 ** 31)));
      for (const [from, to] of [
        [0, 1],
        [1, 6],
        [6, 7],
        [7, 12],
      ])
        await store.append(key, all.slice(from, to));
      await has(store, key, all);
    },
  },
  "claude-agent-sdk/order-not-by-timestamp": {
    must: sources.append,
    title: "does not order entries by their timestamps",
    async checkStore(store) {
      const all = ["2026-03-01", "2026-01-01", "2026-02-01"].map((date, n) =>
        message(n, { timestamp: `${date}T00:00:00.000Z` }),
      );
      await store.append(key, all.slice(0, 2));
      await store.append(key, all.slice(2));
      await has(store, key, all);
    },
  },
  "claude-agent-sdk/order-without-uuid": {
    must: "framework: of a subagent's entries of type agent_metadata, which have no uuid, the last one counts",
    title: "keeps entries without a uuid between those that have one",
    async checkStore(store) {
      const all = [metadata("old"), message(1), metadata("new"), message(2), title("t")];
      await store.append(sub(), all.slice(0, 2));
      await store.append(sub(), all.slice(2));
      await has(store, sub(), all);
    },
  },
  "claude-agent-sdk/order-unawaited": {
    must: sources.append,
    title: "keeps the order of the calls if appends are not awaited",
    async checkStore(store) {
      await Promise.all(messages(30).map((entry) => store.append(key, [entry])));
      await has(store, key, messages(30));
    },
  },
  "claude-agent-sdk/load-all": {
    must: sources.load,
    title: "loads a session of 1,200 entries whole",
    async checkStore(store) {
      const all = messages(1_200);
      for (let from = 0; from < all.length; from += 100) await store.append(key, all.slice(from, from + 100));
      await has(store, key, all);
    },
  },
  "claude-agent-sdk/append-large": {
    must: "framework: forkSession appends all entries of a session in one call",
    title: "takes 5,000 entries in one append",
    async checkStore(store) {
      await store.append(key, messages(5_000));
      await has(store, key, messages(5_000));
    },
  },
  "claude-agent-sdk/list-all": {
    must: sources.listSessions,
    title: "lists all of 120 sessions",
    async checkStore(store) {
      const ids = Array.from({ length: 120 }, (_, n) => uuidOf(n));
      await Promise.all(ids.map((sessionId) => store.append({ ...key, sessionId }, messages(1))));
      assert.equal((await idsOf(store)).length, ids.length, "listSessions returns one page");
      assert.deepEqual(await idsOf(store), ids);
    },
  },
  "claude-agent-sdk/list-all-subkeys": {
    must: sources.listSubkeys,
    title: "lists all of 120 subagents",
    async checkStore(store) {
      const names = Array.from({ length: 120 }, (_, n) => `${n}`);
      await Promise.all(names.map((name) => store.append(sub(name), messages(1))));
      assert.equal((await subpathsOf(store)).length, names.length, "listSubkeys returns one page");
      assert.deepEqual(await subpathsOf(store), names.map((name) => sub(name).subpath!).toSorted());
    },
  },
});
