// `listSessionSummaries`. The store keeps what the SDK's `foldSessionSummary` returns.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import type { Trial } from "../../suite/types.js";
import { another, key, message, messages, method, mtimeOf, project, sub, summaryOf, title } from "./entries.js";
import * as sources from "./sources.js";
import type { Entry, Key, Store, Summary } from "./store.js";

type Fold = (previous: Summary | undefined, key: Key, entries: Entry[], options?: { mtime?: number }) => Summary;

/** Returns the SDK's function, if the SDK is installed beside the store. */
function sdkFold(trial: Trial<Store>): Fold | undefined {
  try {
    return trial.library("@anthropic-ai/claude-agent-sdk").foldSessionSummary;
  } catch {
    return undefined;
  }
}

/** The appends of a session, of which each changes the summary. */
const appends: readonly Entry[][] = [
  [
    message(0, {
      timestamp: "2026-01-01T00:00:00.000Z",
      cwd: "/work",
      gitBranch: "main",
      isSidechain: false,
      message: { role: "user", content: "Plan a trip." },
    }),
    title("first"),
  ],
  [message(1, { timestamp: "2026-01-02T00:00:00.000Z", cwd: "/elsewhere", gitBranch: "trip" })],
  [{ type: "tag", tag: "travel" }, title("second")],
];

export const summaries = expectations<Store>("contract", {
  "claude-agent-sdk/summary-folds": {
    must: sources.fold,
    title: "folds each append into the summary of those before it",
    async checkStore(store) {
      for (const entries of appends) await store.append(key, entries);
      await store.append(another, appends.flat());
      const [{ data }, { data: atOnce }] = [await summaryOf(store), await summaryOf(store, another)];
      assert.equal(data["customTitle"], "second", "the last title counts");
      assert.equal(data["createdAt"], Date.parse("2026-01-01T00:00:00.000Z"), "the first timestamp counts");
      assert.deepEqual(data, atOnce, "three appends have another summary than one append of the same entries");
    },
  },
  "claude-agent-sdk/summary-verbatim": {
    must: sources.summary,
    title: "gives the data of a summary as the SDK's function has returned it",
    async checkStore(store, trial) {
      for (const entries of appends) await store.append(key, entries);
      const { data } = await summaryOf(store);
      const documented = { cwd: "/work", isSidechain: false, customTitle: "second", gitBranch: "trip", tag: "travel" };
      for (const [field, value] of Object.entries(documented)) assert.equal(data[field], value, `data.${field}`);
      const fold = sdkFold(trial);
      if (fold !== undefined) assert.deepEqual(data, fold(undefined, key, appends.flat()).data);
    },
  },
  "claude-agent-sdk/summary-fresh": {
    must: "framework: the SDK throws a summary away whose mtime is 1 ms older than that of listSessions, and loads the session",
    title: "gives a summary whose mtime is not before that of the session",
    async checkStore(store) {
      for (let n = 0; n < 5; n++) {
        await store.append(key, [message(n)]);
        const [{ mtime }, listed] = [await summaryOf(store), await mtimeOf(store)];
        assert.ok(Number.isSafeInteger(mtime), `the mtime of the summary is ${mtime}`);
        assert.ok(mtime >= listed, `the summary is ${listed - mtime} ms older than the session`);
      }
    },
  },
  "claude-agent-sdk/summary-per-session": {
    must: sources.listSummaries,
    title: "gives one summary for each session of the project, and none for another project's",
    async checkStore(store) {
      const list = method(store, "listSessionSummaries");
      for (const of of [key, another, key]) await store.append(of, [title(of.sessionId)]);
      await store.append({ ...key, projectKey: "-home-eve" }, [title("eve")]);
      const found = (await list(project)).map(({ sessionId, data }) => [sessionId, data["customTitle"]]).toSorted();
      assert.deepEqual(found, [key, another].map(({ sessionId }) => [sessionId, sessionId]).toSorted());
      assert.deepEqual(await list("-never"), []);
    },
  },
  "claude-agent-sdk/summary-of-subpath": {
    must: "documented: the fourteenth test of claude_agent_sdk.testing in anthropics/claude-agent-sdk-python",
    title: "keeps a subagent's entries out of the summary of its session",
    async checkStore(store) {
      await store.append(sub(), [title("of a subagent")]);
      assert.deepEqual(await method(store, "listSessionSummaries")(project), [], "there is no main transcript");
      await store.append(key, [title("of the session")]);
      const before = await summaryOf(store);
      await store.append(sub(), [title("of a subagent, again")]);
      assert.deepEqual((await summaryOf(store)).data, before.data);
    },
  },
  "claude-agent-sdk/summary-of-repeats": {
    ours: "an append that is sent again late must not bring an old title back",
    title: "does not fold an entry that is stored already",
    async checkStore(store) {
      const old = message(1, { customTitle: "old" });
      await store.append(key, [old]);
      await store.append(key, [message(2, { customTitle: "new" })]);
      await store.append(key, [old, ...messages(1, 3)]);
      assert.equal((await summaryOf(store)).data["customTitle"], "new");
    },
  },
});
