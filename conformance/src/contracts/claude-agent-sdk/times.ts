// `mtime`: the SDK sorts sessions by it, and tells old summaries by it.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { another, key, message, messages, method, mtimeOf, project, sub, title } from "./entries.js";
import * as sources from "./sources.js";
import type { Store } from "./store.js";

const day = 86_400_000;

export const times = expectations<Store>("contract", {
  "claude-agent-sdk/mtime-whole-ms": {
    must: sources.listSessions,
    title: "gives an mtime in whole milliseconds since 1970",
    async checkStore(store) {
      for (let n = 0; n < 5; n++) await store.append({ ...key, sessionId: `${n}` }, messages(1));
      for (const { mtime } of await method(store, "listSessions")(project)) {
        assert.ok(Number.isSafeInteger(mtime), `${mtime} is no whole number`);
        assert.ok(mtime > 1e12, `${mtime} is no time in milliseconds`);
      }
    },
  },
  "claude-agent-sdk/mtime-of-storage": {
    must: sources.summary,
    title: "takes the mtime from the time of the append, not from the timestamps of entries",
    async checkStore(store) {
      const timestamps = ["2001-01-01T00:00:00.000Z", "2099-01-01T00:00:00.000Z"];
      for (const [n, timestamp] of timestamps.entries()) {
        const of = { ...key, sessionId: `${n}` };
        await store.append(of, [message(1, { timestamp })]);
        const mtime = await mtimeOf(store, of);
        // A day is for the clocks of servers.
        assert.ok(Math.abs(mtime - Date.now()) < day, `the mtime is ${new Date(mtime).toISOString()}`);
      }
    },
  },
  "claude-agent-sdk/mtime-later": {
    group: "order",
    must: "framework: `continue: true` resumes the session with the largest mtime",
    title: "gives the session that was appended to last the largest mtime",
    async checkStore(store, trial) {
      for (const of of [key, another, key]) {
        await store.append(of, [title("t")]);
        await trial.sleep(10);
      }
      const [first, second] = [await mtimeOf(store, key), await mtimeOf(store, another)];
      assert.ok(first > second, `${first} is not after ${second}`);
    },
  },
  "claude-agent-sdk/mtime-grows": {
    group: "order",
    ours: "appends of one millisecond are apart for those that wait for a change",
    title: "gives a larger mtime after each append, also within a millisecond",
    async checkStore(store) {
      let before = 0;
      for (let n = 0; n < 20; n++) {
        await store.append(key, [message(n)]);
        const mtime = await mtimeOf(store);
        assert.ok(mtime > before, `append ${n} has left the mtime at ${mtime}`);
        before = mtime;
      }
    },
  },
  "claude-agent-sdk/mtime-of-subpath": {
    should:
      "framework: the SDK's InMemorySessionStore keeps an mtime for each transcript, and lists that of the main one",
    title: "leaves the mtime of a session if something is appended to a subagent's transcript",
    async checkStore(store, trial) {
      await store.append(key, messages(1));
      const before = await mtimeOf(store);
      await trial.sleep(5);
      await store.append(sub(), messages(1));
      assert.equal(await mtimeOf(store), before);
    },
  },
  "claude-agent-sdk/mtime-of-nothing": {
    ours: "an append that stores nothing is no change, so it must not make a session the newest one",
    title: "leaves the mtime if an append has no entries, or none that is new",
    async checkStore(store, trial) {
      await store.append(key, messages(2));
      const before = await mtimeOf(store);
      await trial.sleep(5);
      await store.append(key, []);
      assert.equal(await mtimeOf(store), before, "append([]) has changed the mtime");
      await store.append(key, messages(2));
      assert.equal(await mtimeOf(store), before, "an append that was sent again has changed the mtime");
    },
  },
});
