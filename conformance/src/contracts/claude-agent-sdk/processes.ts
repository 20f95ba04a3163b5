// Other processes read what was saved, race and are killed.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { killed, race } from "../../suite/processes.js";
import type { Trial } from "../../suite/types.js";
import {
  another,
  has,
  idsOf,
  key,
  message,
  messages,
  method,
  mtimeOf,
  sub,
  subpathsOf,
  summaryOf,
  title,
  uuidOf,
} from "./entries.js";
import { batch } from "./programs.js";
import * as sources from "./sources.js";
import type { Entry, Key, Store } from "./store.js";

/** Fails if the appends of a writer are not whole, in order and, if they must be, each in one piece. */
function areBatches(found: Entry[], writer: string, size: number, { contiguous = true } = {}): number {
  const mine = found.map((entry, place) => ({ entry, place })).filter(({ entry }) => entry["writer"] === writer);
  const count = Math.ceil(mine.length / size);
  const expected = Array.from({ length: count }, (_, n) => batch(writer, n, size)).flat();
  assert.deepEqual(
    mine.map(({ entry }) => entry.uuid),
    expected.slice(0, mine.length).map(({ uuid }) => uuid),
    `the entries of writer ${writer} are not in the order of its appends`,
  );
  assert.equal(mine.length % size, 0, `an append of writer ${writer} is stored in part: ${mine.length} entries`);
  if (contiguous)
    for (let from = 0; from < mine.length; from += size)
      assert.equal(
        mine[from + size - 1]!.place - mine[from]!.place,
        size - 1,
        `other entries are within append ${from / size} of writer ${writer}`,
      );
  return count;
}

/** Two processes append to one session, as fast as they can. Returns its entries. */
async function raced(store: Store, trial: Trial<Store>, size: number, count: number): Promise<Entry[]> {
  const starts = ["a", "b"].map((writer) => ["appendMany", { key, writer, size, count }] as const);
  await race(trial, ...starts);
  return (await store.load(key)) ?? [];
}

/** Two processes append to each of 12 sessions at the same time. Returns the sessions. */
async function meet(trial: Trial<Store>, given: readonly Entry[][]): Promise<Key[]> {
  await trial.store();
  const children = given.map((entries) => trial.child("appendWhenTold", { entries }));
  await Promise.all(children.map((child) => child.next()));
  const sessions = Array.from({ length: 12 }, (_, n) => ({ ...key, sessionId: uuidOf(n) }));
  for (const of of sessions) {
    for (const child of children) child.tell(of);
    await Promise.all(children.map((child) => child.next()));
  }
  return sessions;
}

export const restarts = expectations<Store>("restart", {
  "claude-agent-sdk/restart-entries": {
    must: sources.guide,
    title: "loads what another process has appended before it ended",
    async check(trial) {
      const appends = [
        [key, messages(3)],
        [sub(), messages(2)],
        [key, [title("t")]],
      ];
      await trial.child("append", { appends }).result();
      const store = await trial.store();
      await has(store, key, [...messages(3), title("t")]);
      await has(store, sub(), messages(2));
      await store.append(key, messages(1, 3));
      await has(await trial.reopen(), key, [...messages(3), title("t"), message(3)]);
    },
  },
  "claude-agent-sdk/restart-lists": {
    must: sources.guide,
    title: "lists the same sessions, mtimes and subpaths after it was opened again",
    async check(trial) {
      const first = await trial.store();
      for (const of of [key, sub("a1"), sub("b2"), another]) await first.append(of, messages(1));
      const before = await method(first, "listSessions")(key.projectKey);
      await trial.sleep(5);
      const store = await trial.reopen();
      const after = await method(store, "listSessions")(key.projectKey);
      const byId = (all: typeof before) => Object.fromEntries(all.map(({ sessionId, mtime }) => [sessionId, mtime]));
      assert.deepEqual(byId(after), byId(before));
      assert.deepEqual(await subpathsOf(store), [sub("a1").subpath, sub("b2").subpath]);
    },
  },
  "claude-agent-sdk/restart-summary": {
    must: sources.fold,
    title: "keeps the summary of a session, and folds later appends into it, after it was opened again",
    async checkStore(store, trial) {
      const timestamp = "2026-01-01T00:00:00.000Z";
      await store.append(key, [message(1, { timestamp, cwd: "/work" }), title("first")]);
      const before = await summaryOf(store);
      const again = await trial.reopen();
      assert.deepEqual(await summaryOf(again), before);
      await again.append(key, [message(2, { timestamp: "2026-01-02T00:00:00.000Z", cwd: "/elsewhere" })]);
      const { data } = await summaryOf(again);
      assert.equal(data["customTitle"], "first", "the summary has lost the title from before");
      assert.equal(data["cwd"], "/work", "the summary begins anew");
    },
  },
  "claude-agent-sdk/restart-uuid": {
    should: sources.append,
    title: "knows the uuids of stored entries after it was opened again",
    async checkStore(store, trial) {
      await store.append(key, messages(3));
      const again = await trial.reopen();
      await again.append(key, messages(4));
      await has(again, key, messages(4), "a session that is imported again has entries twice");
    },
  },
});

export const races = expectations<Store>("race", {
  "claude-agent-sdk/race-sees": {
    must: sources.guide,
    title: "loads what another process has appended meanwhile",
    async checkStore(store, trial) {
      await store.append(key, messages(1));
      await has(store, another, null);
      const appends = [
        [key, messages(2, 1)],
        [another, messages(1)],
      ];
      await trial.child("append", { appends }).result();
      await has(store, key, messages(3));
      await has(store, another, messages(1));
      if (store.listSessions !== undefined)
        assert.deepEqual(await idsOf(store), [key.sessionId, another.sessionId].toSorted());
    },
  },
  "claude-agent-sdk/race-appends": {
    must: sources.append,
    title: "loses nothing if two processes append to one session, and keeps the order of each",
    async checkStore(store, trial) {
      const [size, count] = [3, 30];
      const found = await raced(store, trial, size, count);
      assert.equal(found.length, 2 * size * count, "entries are lost, or stored twice");
      for (const writer of ["a", "b"]) areBatches(found, writer, size, { contiguous: false });
    },
  },
  "claude-agent-sdk/race-contiguous": {
    ours: "a batch is a turn, and the lines of two turns must not be mixed",
    title: "keeps the entries of an append together if two processes append to one session",
    async checkStore(store, trial) {
      const [size, count] = [12, 15];
      const found = await raced(store, trial, size, count);
      for (const writer of ["a", "b"]) assert.equal(areBatches(found, writer, size), count);
    },
  },
  "claude-agent-sdk/race-uuid": {
    should: sources.append,
    title: "stores entries once if two processes append the same ones at the same time",
    async checkStore(store, trial) {
      const sessions = await meet(trial, [messages(3), messages(3)]);
      for (const of of sessions) await has(store, of, messages(3), "two imports of one session");
    },
  },
  "claude-agent-sdk/race-summary": {
    must: sources.listSummaries,
    title: "has both appends in the summary if two processes append to one session at the same time",
    async checkStore(store, trial) {
      const sessions = await meet(trial, [[message(1, { gitBranch: "trip" })], [title("Lisbon")]]);
      for (const of of sessions) {
        const { data } = await summaryOf(store, of);
        const seen = { gitBranch: data["gitBranch"], customTitle: data["customTitle"] };
        assert.deepEqual(seen, { gitBranch: "trip", customTitle: "Lisbon" }, "an append is not in the summary");
      }
    },
  },
});

export const kills = expectations<Store>("kill", {
  "claude-agent-sdk/kill-keeps": {
    should: "ours: a new container has no other copy than the appends that have resolved",
    title: "keeps the entries of each append that has resolved before the process is killed",
    async check(trial) {
      const { length: acknowledged } = await killed(trial, "appendForever", { key, writer: "a", size: 1 });
      const found = (await (await trial.store()).load(key)) ?? [];
      const stored = areBatches(found, "a", 1);
      assert.ok(stored >= acknowledged, `${acknowledged} appends have resolved, and ${stored} are stored`);
      assert.ok(stored <= acknowledged + 1, `${acknowledged} appends have resolved, but ${stored} are stored`);
    },
  },
  "claude-agent-sdk/kill-all-or-none": {
    ours: "nobody sends an append again whose process was killed, so half a turn would stay",
    title: "has all entries of an append or none if the process is killed",
    async check(trial) {
      for (let round = 0; round < 3; round++) {
        const of = { ...key, sessionId: uuidOf(round) };
        await killed(trial, "appendForever", { key: of, writer: "a", size: 60 });
        areBatches((await (await trial.store()).load(of)) ?? [], "a", 60);
      }
    },
  },
  "claude-agent-sdk/kill-summary": {
    should: "framework: the SDK believes a summary whose mtime is not before that of the session",
    title: "has no summary that tells of other entries than those that are stored if the process is killed",
    async check(trial) {
      for (let round = 0; round < 3; round++) {
        const of = { ...key, sessionId: uuidOf(round) };
        await killed(trial, "appendForever", { key: of, writer: "a", size: 2 });
        const store = await trial.store();
        // An append may be stored in part, so the last entry need not have a title.
        const last = (await store.load(of))?.findLast((one) => one["customTitle"] !== undefined);
        const { mtime, data } = await summaryOf(store, of);
        // The SDK throws an older one away.
        if (mtime >= (await mtimeOf(store, of)))
          assert.equal(data["customTitle"], last?.["customTitle"], "the summary is not that of the stored entries");
      }
    },
  },
  "claude-agent-sdk/kill-then-append": {
    should: "ours: a session goes on in a new process, without a repair",
    title: "takes further appends after a process was killed",
    async check(trial) {
      for (let round = 0; round < 2; round++)
        await killed(trial, "appendForever", { key, writer: `${round}`, size: 2 });
      const store = await trial.store();
      const before = (await store.load(key)) ?? [];
      await store.append(key, messages(2));
      await has(store, key, [...before, ...messages(2)]);
      assert.equal((await trial.child("load", { key }).result()).length, before.length + 2);
    },
  },
});
