// Ids of Helix, TinyAgents and Agentium on every backend: each is a text like any other, or is refused before anything is written.
// hostile.test.ts says the same of AgentOS' ids.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore, generateCheckpointId } from "forkpoint/helix";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { checkedAfter, folder, kinds, place, rejection, wrongType } from "./helpers.js";
import { hostileIds, notIds, unusableIds } from "./hostile-values.js";

type Target = string;

/** A contract, on one of its stores. */
interface Subject {
  /** Stores this id wherever the contract takes a text. */
  fill(id: string): Promise<unknown>;
  /** Returns every text that `fill` has stored. Each must be the id. */
  seen(id: string): Promise<unknown[]>;
  /** Ways to remove all of it. */
  removes: Array<(id: string) => Promise<unknown>>;
  /** The runs, in the order in which they began. */
  listed(): Promise<string[]>;
  /** Each call that writes this id. A wrong one is refused. */
  writes(id: string): Array<Promise<unknown>>;
  /** Each call that looks for this id or removes it, and what it returns if there is none. */
  reads(id: string): Array<[Promise<unknown>, nothing: unknown]>;
}

function helix(target: Target): Subject {
  const store = checkedAfter(new SessionStore(target, { durability: "off" }));
  const state = (id: string) => ({ sessionId: id, agentType: id, status: id, stepCount: 1, customState: { of: id } });
  const checkpoint = (id: string, sessionId = id) => ({
    id,
    sessionId,
    stepCount: 1,
    timestamp: -1.5,
    state: state(sessionId),
  });
  const message = (content: string) => ({ role: "user", content });
  return {
    async fill(id) {
      await store.createSession(id, { agentType: id, initialState: { of: id } });
      await store.appendMessages(id, [message(id), message("cut off")]);
      await store.updateStatus(id, id);
      await store.startRun(id, { runId: id });
      await store.addSubSession(id, id);
      await store.truncateMessages(id, 1);
      await store.saveCheckpoint(checkpoint(id));
      await store.truncateMessages(id, 0);
      await store.rewindTo(id);
      await store.stageChanges(id, { [id]: id });
      const generated = generateCheckpointId(id, 2, 1);
      if (Buffer.byteLength(generated) > 4_096) return;
      await store.saveCheckpoint({ ...checkpoint(generated, "all"), messageCount: 0 });
      expect((await store.listCheckpoints("all", { limit: 1 })).items[0]!.id).toBe(generated);
    },
    async seen(id) {
      const found = await store.loadState(id);
      if (found === null) return [];
      const { messages } = await store.getMessages(id);
      const [[staged], [run], [child]] = [
        await store.getStaging(id),
        await store.listRuns(id),
        await store.listSubSessions(id),
      ];
      const checkpoints = [
        await store.getCheckpoint(id, id),
        await store.getCheckpoint(id),
        await store.getLatestCheckpoint(id),
      ];
      const { items } = await store.listCheckpoints(id);
      const { sessions } = await store.sessions({ agentType: id, status: [id] });
      return [
        [found.agentType, found.status, found.customState["of"], child, run!.runId, run!.sessionId],
        messages.map(({ content }) => content),
        Object.entries(staged!).flat(),
        checkpoints.flatMap((one) => [one!.id, one!.sessionId]),
        checkpoints.flatMap((one) => one!.state.messages.map(({ content }) => content)),
        items.flatMap((one) => [one.id, one.status]),
        sessions.map(({ sessionId }) => sessionId),
      ].flat();
    },
    removes: [(id) => store.deleteSession(id)],
    listed: async () =>
      (await store.sessions({ limit: 1_000 })).sessions.map(({ sessionId }) => sessionId).toReversed(),
    writes: (id) => [
      store.createSession(id, { agentType: "a" }),
      store.saveState(id, state("a")),
      store.appendMessages(id, []),
      store.saveCheckpoint(checkpoint("c", id)),
      store.saveCheckpoint(checkpoint(id, "s")),
      store.branchSession("\uFFFD", id),
    ],
    reads: (id) => [
      [store.sessionExists(id), false],
      [store.loadState(id), null],
      [store.getMessages(id), { messages: [], total: 0, hasMore: false }],
      [store.getMessageCount(id), 0],
      [store.getStaging(id), []],
      [store.getCheckpoint(id), null],
      [store.getCheckpoint("s", id), null],
      [store.getLatestCheckpoint(id), null],
      [store.listCheckpoints(id), { items: [], total: 0, hasMore: false }],
      [store.listRuns(id), []],
      [store.listSubSessions(id), []],
      [store.deleteSession(id), undefined],
    ],
  };
}

function tinyagents(target: Target): Subject {
  const store = checkedAfter(new Checkpointer<string>(target, { durability: "off" }));
  const write = (id: string) => ({ node: id, taskId: id, idx: 0, channel: id, payload: id });
  const put = (threadId: string, checkpointId: string, namespace: string[], state = checkpointId) =>
    store.put({ threadId, checkpointId, namespace, state });
  return {
    async fill(id) {
      const at = { threadId: id, checkpointId: id, namespace: [id] };
      const metadata = { [id]: id };
      await store.put({ ...at, parentCheckpointId: id, runId: id, nextNodes: [id], state: id, metadata });
      await store.putWrites(at, [write(id)]);
      // In one thread with the others, too.
      for (const namespace of [[], ["a", id]]) await put("all", id, namespace);
    },
    async seen(id) {
      const tuple = await store.getTuple({ threadId: id, checkpointId: id, namespace: [id] });
      if (tuple === null) return [];
      const { config, checkpoint, parentConfig, pendingWrites } = tuple;
      const listed = await store.list(id, { namespace: [id], filter: { [id]: id } });
      const history = await store.stateHistory(id, [id]);
      return [
        [config.threadId, config.checkpointId, ...config.namespace!, parentConfig!.checkpointId],
        [checkpoint.runId, ...checkpoint.nextNodes, checkpoint.state],
        pendingWrites.flatMap(({ node, taskId, channel, payload }) => [node, taskId, channel, payload]),
        listed.flatMap(({ checkpointId, runId }) => [checkpointId, runId]),
        history.map(({ state }) => state),
        [await store.get("all", id, []), await store.get("all", null, ["a", id])].map((one) => one?.state),
      ].flat();
    },
    removes: [
      (id: string) => store.deleteThread(id),
      (id: string) => store.deleteCheckpoints(id, [id]),
      (id: string) => store.deleteByRun(id, id),
      async (id: string) => {
        await store.copyThread(id, `copy of ${id}`);
        await store.deleteThread(id);
        expect(await store.get(`copy of ${id}`)).toMatchObject({ checkpointId: id, state: id });
        await store.deleteThread(`copy of ${id}`);
      },
    ].map((remove) => async (id: string) => {
      await remove(id);
      expect(await store.deleteCheckpoints("all", [id])).toBe(2);
    }),
    listed: async () => (await store.listThreads()).filter((threadId) => threadId !== "all"),
    writes: (id) => [
      put(id, "c", []),
      put("t", id, []),
      store.putWrites({ threadId: id, checkpointId: "c" }, [write("w")]),
      store.putWrites({ threadId: "t", checkpointId: id }, [write("w")]),
      // A run may have any valid text, and so may an empty part of a namespace.
      ...(id === "" ? [] : [put("t", "c", [id])]),
      ...(String(id).isWellFormed() ? [] : [store.put({ threadId: "t", state: "", runId: id })]),
      store.copyThread("\uFFFD", id),
    ],
    reads: (id) => [
      [store.get(id), null],
      [store.get("t", id), null],
      [store.getTuple({ threadId: id }), null],
      [store.getWrites({ threadId: id }), []],
      [store.list(id), []],
      [store.stateHistory(id), []],
      [store.list("t", { before: id }), []],
      [store.deleteThread(id), undefined],
      [store.deleteCheckpoints(id, ["c"]), 0],
      [store.deleteCheckpoints("t", [id]), 0],
      [store.deleteByRun(id, "r"), 0],
      [store.deleteByRun("t", id), 0],
      [store.prune(id, 1), 0],
      [store.copyThread(id, "copy"), undefined],
    ],
  };
}

function agentium(target: Target): Subject {
  const store = checkedAfter(new WorkflowCheckpointStore<{ of: string }>(target, { durability: "off", keepLastN: 2 }));
  const checkpoint = (id: string, runId: string, stepIndex = 0) => ({
    id,
    runId,
    stepIndex,
    stepName: runId,
    createdAt: 1,
    state: { of: runId },
  });
  return {
    async fill(id) {
      for (const [n, name] of [`${id}:step-1`, `${id}:step-2`, id].entries()) await store.save(checkpoint(name, id, n));
    },
    async seen(id) {
      const found = await store.load(id);
      if (found === null) return [];
      const [all, timeline, latest] = [await store.list(id), await store.timeline(id), await store.latest(id)];
      expect([all.length, timeline.length, latest!.id]).toEqual([2, 2, id]);
      return [...all, found].flatMap(({ runId, stepName, state }) => [runId, stepName, state.of]);
    },
    removes: [
      (id) => store.clear(id),
      async (id) => {
        for (const one of await store.list(id)) await store.delete(one.id);
      },
    ],
    listed: async () => (await store.runs({ limit: 1_000 })).runs.map(({ runId }) => runId).toReversed(),
    writes: (id) => [store.save(checkpoint(id, "run")), store.save(checkpoint("id", id))],
    reads: (id) => [
      [store.load(id), null],
      [store.latest(id), null],
      [store.list(id), []],
      [store.timeline(id), []],
      [store.clear(id), undefined],
      [store.delete(id), undefined],
    ],
  };
}

const unusable = [...unusableIds, "x".repeat(10_000_000)];

describe.each(Object.entries({ helix, tinyagents, agentium }))("%s", (name, subject) => {
  const ids = name === "helix" ? [...hostileIds, "x".repeat(4_096), "é".repeat(2_048)] : hostileIds;

  describe.each(kinds)("on %s", (kind) => {
    it("keeps each id as it is, and removes nothing of another", async () => {
      const { fill, seen, removes, listed } = subject(place(kind));
      for (const id of ids) await fill(id);
      expect(await listed()).toEqual(ids);
      for (const [n, id] of ids.entries()) {
        const found = await seen(id);
        expect(found.length, id).toBeGreaterThan(5);
        expect(new Set(found), id).toEqual(new Set([id]));
        await removes[n % removes.length]!(id);
        expect(await seen(id), id).toEqual([]);
        expect(await listed()).toEqual(ids.slice(n + 1));
      }
    });

    it("refuses an id that cannot be stored in each write, and finds nothing by it", async () => {
      const { fill, seen, writes, reads, listed } = subject(place(kind));
      // A careless conversion would turn half of a surrogate pair into this id.
      await fill("\uFFFD");
      for (const id of unusable) {
        for (const { code, message } of await Promise.all(writes(id).map(rejection)))
          expect([code, message.length < 500], message).toEqual(["INVALID_ARGUMENT", true]);
        await Promise.all(reads(id).map(async ([read, nothing]) => expect(await read).toEqual(nothing)));
      }
      expect(await listed()).toEqual(["\uFFFD"]);
      expect(new Set(await seen("\uFFFD"))).toEqual(new Set(["\uFFFD"]));
    });

    it("refuses what is no string with a TypeError in each call", async () => {
      const { writes, reads, listed } = subject(place(kind));
      for (const value of notIds.filter((one) => one !== undefined && one !== null)) {
        const calls = [...writes(value as never), ...reads(value as never).map(([call]) => call)];
        await Promise.all(calls.map(wrongType));
      }
      expect(await listed()).toEqual([]);
    });
  });

  it("makes no files but the database", async () => {
    const home = folder();
    const { fill } = subject(join(home, "store.db"));
    for (const id of ids) await fill(id);
    expect(readdirSync(home).filter((file) => !/^store\.db(-wal|-shm|-reserve)?$/.test(file))).toEqual([]);
  });
});
