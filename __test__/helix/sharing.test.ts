// Tests calls at the same time, the order of calls that were not awaited, closing, reopening, and several stores on the
// same data.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { SessionStore } from "forkpoint/helix";
import { describe, expect, it } from "vitest";
import { failure, fixture, folder, ids, kinds, place } from "../helpers.js";
import { at, checkpoint, contents, expectSound, logOf, make, pair, stateOf, texts, withSession } from "./helpers.js";

describe.each(kinds)("calls that were not awaited, over %s", (kind) => {
  it("changes of a session run in the order of the calls", async () => {
    const store = make(kind);
    const calls = [
      store.createSession("s", { agentType: "a", initialState: { list: [] } }),
      store.appendMessages("s", texts(4)),
      store.truncateMessages("s", 2),
      store.appendMessages("s", texts(2, 0, "next")),
      store.saveCheckpoint(checkpoint(1)),
      store.appendMessages("s", texts(1, 0, "last")),
      store.mergeCustomState("s", { values: { list: [1] }, arrayReplacements: [] }),
      store.stageChanges("s", { values: { list: [2] }, arrayReplacements: [] }),
      store.promoteStaging("s"),
      store.saveCheckpoint(checkpoint(2)),
      store.updateStatus("s", "completed"),
    ];
    const [state, page, count, latest, list, exists] = await Promise.all([
      store.loadState("s"),
      store.getMessages("s"),
      store.getMessageCount("s"),
      store.getLatestCheckpoint("s"),
      store.listCheckpoints("s"),
      store.sessionExists("s"),
    ]);
    await Promise.all(calls);
    expect(state).toMatchObject({ status: "completed", customState: { list: [1, 2] } });
    expect(contents(page.messages)).toEqual(["m0", "m1", "next0", "next1", "last0"]);
    expect([count, latest!.id, ids(list.items), exists]).toEqual([5, "s/2", ["s/2", "s/1"], true]);
    expect(contents((await store.getCheckpoint("s/1"))!.state.messages)).toEqual(["m0", "m1", "next0", "next1"]);
    expect((await store.getCheckpoint("s/2"))!.messageCount).toBe(5);
  });

  it("deleteSession keeps its place among the changes", async () => {
    const store = make(kind);
    const calls = [
      store.saveState("s", stateOf({ stepCount: 1 })),
      store.appendMessages("s", texts(3)),
      store.deleteSession("s"),
      store.createSession("s", { agentType: "second" }),
      store.appendMessages("s", texts(1, 0, "second")),
    ];
    expect(await logOf(store)).toEqual(["second0"]);
    await Promise.all(calls);
    expect(await store.loadState("s")).toMatchObject({ agentType: "second", stepCount: 0 });
  });

  it("a call that fails does not hold up the later ones", async () => {
    const store = await withSession(kind);
    const results = await Promise.allSettled([
      store.createSession("s", { agentType: "a" }),
      store.incrementStepCount("s"),
      store.truncateMessages("s", -1),
      store.saveCheckpoint(checkpoint(1, { stepCount: -1 })),
      store.appendMessages("s", [7 as never]),
      store.incrementStepCount("s"),
    ]);
    expect(results.map(({ status }) => status === "fulfilled")).toEqual([false, true, false, false, false, true]);
    expect((await store.loadState("s"))!.stepCount).toBe(2);
  });
});

describe.each(kinds)("close over %s", (kind) => {
  it("lets running calls finish, and later ones reject with CLOSED", async () => {
    const store = await withSession(kind);
    const running = [
      store.appendMessages("s", texts(1_000)),
      store.truncateMessages("s", 10),
      store.saveCheckpoint(checkpoint(1)),
      store.incrementStepCount("s"),
    ];
    const [read, closed] = [store.getMessageCount("s"), store.close()];
    await Promise.all([...running, closed, store.close()]);
    expect(await read).toBe(10);
    await failure(store.getMessageCount("s"), "CLOSED");
  });

  it("await using closes at the end of the block", async () => {
    let kept: SessionStore;
    {
      await using store = new SessionStore(place(kind));
      kept = store;
      await store.createSession("s", { agentType: "a" });
    }
    await failure(kept.sessionExists("s"), "CLOSED");
  });
});

describe.each(kinds)("two stores on the same data, over %s", (kind) => {
  it("a checkpoint names the messages that are there when it is stored, whatever the other store does", async () => {
    const [a, b] = await pair(kind);
    await a.createSession("s", { agentType: "a" });
    await a.appendMessages("s", texts(3));
    const all = texts(3);
    for (let round = 0; round < 10; round++) {
      const id = `round ${round}`;
      await Promise.all([
        a.saveCheckpoint(checkpoint(round, { id, state: stateOf({ messages: all }) })),
        b.truncateMessages("s", 1),
        b.appendMessages("s", texts(2, 0, `of ${round} `)),
      ]);
      expect((await a.getCheckpoint(id))!.state.messages).toEqual(all);
      await b.truncateMessages("s", 0);
      await b.appendMessages("s", all);
    }
  });
});

describe("a session that another process deletes and creates again during a call", () => {
  /**
   * Opens a store on a file. Its clock is read in the middle of each write. The first time after `arm`, the clock lets
   * another process delete the session "s" and create it again with other messages.
   */
  async function interrupted() {
    const path = join(folder(), "sessions.db");
    let armed = false;
    const now = () => {
      if (armed) execFileSync(process.execPath, [fixture("recreate-session.mjs"), path]);
      armed = false;
      return Date.now();
    };
    const store = at(path, { now });
    await store.createSession("s", { agentType: "first" });
    await store.appendMessages("s", texts(2));
    return { store, arm: () => (armed = true) };
  }

  const late: Array<[what: string, (store: SessionStore) => Promise<unknown>]> = [
    ["checkpoint", (store) => store.saveCheckpoint(checkpoint(1, { state: stateOf({ messages: texts(2) }) }))],
    ["change", (store) => store.incrementStepCount("s")],
    ["message", (store) => store.appendMessages("s", texts(1))],
  ];

  it.each(late)(
    "a late %s of the old session is refused, and one that looks for the session is not",
    async (_, save) => {
      const { store, arm } = await interrupted();
      arm();
      expect((await failure(save(store), "CONFLICT")).message).toContain('session "s" was deleted');
      expect(await logOf(store)).toEqual(["other0", "other1"]);
      expect((await store.sessions()).sessions).toMatchObject([{ agentType: "second", stepCount: 7 }]);
      expect((await store.listCheckpoints("s")).items).toEqual([]);
      expect(await store.loadState("s")).toMatchObject({ agentType: "second", stepCount: 7 });
      await save(store);
    },
  );
});

it("everything is there after the file was reopened", async () => {
  const path = join(folder(), "sessions.db");
  const first = at(path);
  const state = stateOf({ customState: { at: new Date(0), map: new Map([["a", 1n]]) }, messages: texts(2), extra: 1 });
  await first.saveState("s", state);
  await first.appendMessages("s", texts(3));
  await first.saveCheckpoint(checkpoint(1, { state, streamSequence: 5, label: "x" }));
  await first.truncateMessages("s", 1);
  await first.startRun("s", { runId: "r" });
  await first.addSubSession("s", "child");
  await first.branchSession("s/1", "branch");
  const read = async (store: SessionStore) => [
    await store.loadState("s"),
    await store.getMessages("s"),
    await store.getCheckpoint("s/1"),
    await store.listCheckpoints("s"),
    await store.listRuns("s"),
    await store.listSubSessions("s"),
    await store.sessions(),
    await store.loadState("branch"),
    await store.getLatestCheckpoint("branch"),
  ];
  const before = await read(first);
  await first.close();
  const second = at(path);
  expect(await read(second)).toEqual(before);
  expect((await second.loadState("s"))!.customState).toEqual(state.customState);
  await second.vacuum();
  expect(await read(second)).toEqual(before);
  await expectSound(second);
});
