// Tests ids that are made to break a store: each one is a text like any other, or is refused before anything is written.
import { readdirSync } from "node:fs";
import { generateCheckpointId } from "forkpoint/helix";
import type { SessionStore } from "forkpoint/helix";
import { describe, expect, it } from "vitest";
import { failure, folder, kinds, rejection, wrongType } from "../helpers.js";
import { at, checkpoint, hostileIds, logOf, make, notIds, stateOf, texts, unusableIds } from "./helpers.js";

/** Creates a session with this id, and with a checkpoint of this id. */
async function fill(store: SessionStore, id: string): Promise<void> {
  await store.createSession(id, { agentType: id, initialState: { of: id } });
  await store.appendMessages(id, texts(2, 0, id));
  await store.updateStatus(id, id);
  await store.stageChanges(id, { [id]: id });
  await store.startRun(id, { runId: id });
  await store.addSubSession(id, id);
  await store.saveCheckpoint(checkpoint(1, { id, sessionId: id, state: stateOf({ status: id }) }));
}

/** Expects everything that `fill` stored. */
async function expectFilled(store: SessionStore, id: string): Promise<void> {
  expect(await store.sessionExists(id), id).toBe(true);
  expect(await store.loadState(id), id).toMatchObject({ agentType: id, status: id, customState: { of: id } });
  expect(await logOf(store, id), id).toEqual([`${id}0`, `${id}1`]);
  expect(await store.getStaging(id), id).toEqual([{ [id]: id }]);
  expect(await store.listRuns(id), id).toMatchObject([{ runId: id, sessionId: id, turn: 1 }]);
  expect(await store.listSubSessions(id), id).toEqual([id]);
  const found = (await store.getCheckpoint(id, id))!;
  expect(found, id).toMatchObject({ id, sessionId: id, state: { messages: texts(2, 0, id) } });
  expect([await store.getCheckpoint(id), await store.getLatestCheckpoint(id)], id).toEqual([found, found]);
  const { items, total } = await store.listCheckpoints(id);
  expect([items.length, total, items[0]!.status], id).toEqual([1, 1, id]);
}

/** Each method that reads, called with this session id. */
function reads(store: SessionStore, id: string): Array<[call: () => Promise<unknown>, nothing: unknown]> {
  const none = { total: 0, hasMore: false };
  return [
    [() => store.sessionExists(id), false],
    [() => store.exists(id), false],
    [() => store.loadState(id), null],
    [() => store.getMessages(id), { messages: [], ...none }],
    [() => store.getMessageCount(id), 0],
    [() => store.getStaging(id), []],
    [() => store.getCheckpoint(id), null],
    [() => store.getCheckpoint(id, "c"), null],
    [() => store.getCheckpoint("s", id), null],
    [() => store.getLatestCheckpoint(id), null],
    [() => store.listCheckpoints(id), { items: [], ...none }],
    [() => store.listRuns(id), []],
    [() => store.listSubSessions(id), []],
    [() => store.deleteSession(id), undefined],
  ];
}

/** Each method that writes, called with this session id. */
function writes(store: SessionStore, id: string): Array<[name: string, call: () => Promise<unknown>]> {
  return [
    ["createSession", () => store.createSession(id, { agentType: "a" })],
    ["saveState", () => store.saveState(id, stateOf())],
    ["updateStatus", () => store.updateStatus(id, "running")],
    ["compareAndSetStatus", () => store.compareAndSetStatus(id, "active", "running")],
    ["incrementStepCount", () => store.incrementStepCount(id)],
    ["mergeCustomState", () => store.mergeCustomState(id, { a: 1 })],
    ["stageChanges", () => store.stageChanges(id, { a: 1 })],
    ["promoteStaging", () => store.promoteStaging(id)],
    ["discardStaging", () => store.discardStaging(id)],
    ["appendMessages", () => store.appendMessages(id, texts(1))],
    ["truncateMessages", () => store.truncateMessages(id, 0)],
    ["saveCheckpoint", () => store.saveCheckpoint({ ...checkpoint(1), id: "c", sessionId: id })],
    ["startRun", () => store.startRun(id)],
    ["endRun", () => store.endRun(id, "r")],
    ["addSubSession", () => store.addSubSession(id, "child")],
    ["branchSession", () => store.branchSession("s/1", id)],
  ];
}

describe.each(kinds)("hostile ids over %s", (kind) => {
  it("each is a session of its own, and so is each checkpoint", async () => {
    const store = make(kind);
    for (const id of hostileIds) await fill(store, id);
    for (const id of hostileIds) await expectFilled(store, id);
    const { sessions } = await store.sessions();
    expect(sessions.map(({ sessionId }) => sessionId)).toEqual(hostileIds.toReversed());
    for (const id of hostileIds.slice(0, 5)) {
      const { sessions: found } = await store.sessions({ agentType: id, status: [id] });
      expect(found.map(({ sessionId }) => sessionId)).toEqual([id]);
    }
  });

  it("removing, rewinding or truncating one of them touches no other", async () => {
    const store = make(kind);
    for (const id of hostileIds) await fill(store, id);
    for (const [at, id] of hostileIds.entries()) {
      if (at % 3 === 0) await store.deleteSession(id);
      if (at % 3 === 1) await store.truncateMessages(id, 0);
    }
    for (const [at, id] of hostileIds.entries()) {
      if (at % 3 === 1) expect((await store.rewindTo(id)).sessionId).toBe(id);
      if (at % 3 === 1) await store.stageChanges(id, { [id]: id });
    }
    for (const [at, id] of hostileIds.entries()) {
      if (at % 3 === 0) expect(await store.loadState(id), id).toBeNull();
      else if (at % 3 === 1) expect(await logOf(store, id), id).toEqual([`${id}0`, `${id}1`]);
      else await expectFilled(store, id);
    }
  });

  it("pages of checkpoints with such ids go on at the right place", async () => {
    const store = make(kind);
    for (const id of hostileIds) await store.saveCheckpoint(checkpoint(1, { id, sessionId: "s", timestamp: -1.5 }));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await store.listCheckpoints("s", { limit: 1, cursor });
      seen.push(page.items[0]!.id);
      cursor = page.cursor ?? null;
    } while (cursor !== null);
    expect(seen).toEqual(hostileIds.toReversed());
  });

  it("a generated checkpoint id can be saved for each of them that leaves room for it", async () => {
    const store = make(kind);
    for (const sessionId of [...hostileIds, "x".repeat(4_000)]) {
      const id = generateCheckpointId(sessionId, 1, 1);
      const save = store.saveCheckpoint(checkpoint(1, { id, sessionId }));
      if (Buffer.byteLength(id) > 4_096) {
        await failure(save, "INVALID_ARGUMENT");
        continue;
      }
      await save;
      expect((await store.getLatestCheckpoint(sessionId))!.id).toBe(id);
    }
  });

  it.each(unusableIds.map((id) => [id.length > 20 ? `${id.slice(0, 3)}… (${Buffer.byteLength(id)} bytes)` : id, id]))(
    "the id %j is refused by each write, and no read finds anything",
    async (_, id) => {
      const store = make(kind);
      // A careless conversion would turn half of a surrogate pair into this id.
      await fill(store, "\uFFFD");
      await store.saveCheckpoint(checkpoint(1));
      const before = await store.stats();
      for (const [name, write] of writes(store, id)) {
        const error = await rejection(write());
        // A session of such an id cannot exist.
        expect(["INVALID_ARGUMENT", "NOT_FOUND"], `${name}: ${error.message}`).toContain(error.code);
      }
      for (const name of ["createSession", "saveState", "appendMessages", "saveCheckpoint", "branchSession"]) {
        const [, write] = writes(store, id).find(([other]) => other === name)!;
        await failure(write(), "INVALID_ARGUMENT");
      }
      await failure(store.saveCheckpoint({ ...checkpoint(2), id }), "INVALID_ARGUMENT");
      for (const [read, nothing] of reads(store, id)) expect(await read()).toEqual(nothing);
      expect(await store.stats()).toEqual(before);
      await expectFilled(store, "\uFFFD");
    },
  );

  it("what is no string is a TypeError of each method, and nothing is written", async () => {
    const store = make(kind);
    await store.saveCheckpoint(checkpoint(1));
    for (const value of notIds) {
      const id = value as never;
      for (const [, write] of writes(store, id)) await wrongType(write());
      for (const [read] of reads(store, id)) {
        await wrongType(read());
      }
      await wrongType(store.saveCheckpoint({ ...checkpoint(2), id }));
      await wrongType(store.rewindTo(id));
      await wrongType(store.rewindTo(id, "s/1"));
      await wrongType(store.saveCheckpoint(id, checkpoint(2)));
    }
    expect(await store.stats()).toMatchObject({ sessions: 0, checkpoints: 1 });
  });
});

it("hostile ids make no files", async () => {
  const home = folder();
  const store = at(`${home}/sessions.db`);
  for (const id of hostileIds) await fill(store, id);
  await store.close();
  expect(readdirSync(home)).toEqual(["sessions.db"]);
});
