// Tests that what was deleted stays deleted, although somebody still works on it.
import type { Store } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { ForkpointChats } from "forkpoint/ai";
import { SessionStore as ClaudeSessions } from "forkpoint/claude-agent-sdk";
import { SessionStore } from "forkpoint/helix";
import { openInspector } from "forkpoint/inspect";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { checkpoint as step } from "./agentium/helpers.js";
import { checkpoint, closing, failure, kinds, open, pairOf } from "./helpers.js";

const state = { messages: [], stepCount: 0, status: "active", customState: {} } as never;

const key = { projectKey: "-work", sessionId: "run" };

/** How a contract saves its run "run", removes it, and lists what is left of it. */
interface Leased {
  ns?: string;
  make(target: string | Store): any;
  save(store: any, id: string): Promise<unknown>;
  remove(store: any, options?: { force: true }): Promise<unknown>;
  left(store: any): Promise<unknown[] | null>;
}

const leased: Record<string, Leased> = {
  agentos: {
    make: (target) => open(target as string),
    save: (store, id) => store.save(checkpoint({ id, runId: "run" })),
    remove: (store, options) => store.clear("run", options),
    left: (store) => store.listByRun("run"),
  },
  agentium: {
    make: (target) => closing(new WorkflowCheckpointStore(target)),
    save: (store, id) => store.save(step({ id, runId: "run" })),
    remove: (store, options) => store.clear("run", options),
    left: (store) => store.list("run"),
  },
  helix: {
    make: (target) => closing(new SessionStore(target)),
    save: (store) => store.createSession("run", { agentType: "agent" }),
    remove: (store, options) => store.deleteSession("run", options),
    left: async (store) => (await store.sessions()).sessions,
  },
  tinyagents: {
    make: (target) => closing(new Checkpointer(target)),
    save: (store) => store.put({ threadId: "run", state: {} }),
    remove: (store, options) => store.deleteThread("run", options),
    left: (store) => store.list("run"),
  },
  "claude-agent-sdk": {
    ns: "-work",
    make: (target) => closing(new ClaudeSessions(target)),
    save: (store, uuid) => store.append(key, [{ type: "user", uuid }]),
    remove: (store, options) => store.delete(key, options),
    left: (store) => store.load(key),
  },
  ai: {
    make: (target) => closing(new ForkpointChats(target)),
    save: (store) => store.createChat({ id: "run" }),
    remove: (store, options) => store.deleteChat("run", options),
    left: async (store) => (await store.listChats()).chats,
  },
};

describe.each(kinds)("on %s", (kind) => {
  it.each(Object.entries(leased))(
    "%s: a leased run is deleted only by its holder, or by force",
    async (space, { ns, make, save, remove, left }) => {
      const [store, second] = await pairOf(kind, make);
      await using lease = await second.lease({ space, run: "run", ...(ns !== undefined && { ns }) });
      const mine = second.withLease(lease);
      await save(mine, "1");
      expect(await failure(remove(store), "CONFLICT")).toMatchObject({ lease: { holder: lease.holder } });
      // Rules about age and number leave it.
      if ("-work" === ns) expect(await store.prune({ keepSessions: 0 })).toEqual({ sessions: 0 });
      if (space === "ai") expect(await store.prune({ olderThan: Date.now() + 60_000 })).toEqual({ chats: 0 });
      expect(await left(store)).toHaveLength(1);
      await remove(mine);
      await save(mine, "2");
      await remove(store, { force: true });
      expect(await failure(save(mine, "3"), "CONFLICT")).toMatchObject({ lease: null });
      expect((await left(store)) ?? []).toEqual([]);
    },
  );

  it.each(["agentos", "agentium", "tinyagents"])(
    "%s: the inspector removes a checkpoint of a leased run only by force",
    async (space) => {
      const { make, save, left } = leased[space]!;
      const [own, other] = await pairOf(kind, (target) => target);
      const [store, inspector] = [make(own), closing(await openInspector(other, { write: true }))];
      await using lease = await store.lease({ space, run: "run" });
      const mine = store.withLease(lease);
      await save(mine, "1");
      await save(mine, "2");
      const of = { space, run: "run" };
      const { id } = (await inspector.checkpoints(of)).items[0]!;
      expect(await failure(inspector.remove(of, [id]), "CONFLICT")).toMatchObject({ lease: { holder: lease.holder } });
      expect(await left(store)).toHaveLength(2);
      expect(await inspector.remove(of, [id], { force: true })).toEqual({ removed: 1 });
      expect(await left(store)).toHaveLength(1);
      expect(await failure(save(mine, "3"), "CONFLICT")).toMatchObject({ lease: null });
    },
  );

  it.each(["agentos", "agentium"])(
    "%s: a checkpoint of a leased run is deleted by its id only by the holder",
    async (space) => {
      const { make, save, left } = leased[space]!;
      const [store, second] = await pairOf(kind, make);
      const lease = await second.lease({ space, run: "run" });
      const mine = second.withLease(lease);
      for (const id of ["1", "2", "3"]) await save(mine, id);
      expect(await failure(store.delete("3"), "CONFLICT")).toMatchObject({ lease: { holder: lease.holder } });
      await store.delete("none");
      expect(await left(store)).toHaveLength(3);
      await mine.delete("3");
      // The holder of another run's lease is nobody here.
      await using other = await store.lease({ space, run: "other" });
      await failure(store.withLease(other).delete("2"), "CONFLICT");
      expect(await left(store)).toHaveLength(2);
      await lease.release();
      await store.exclusive("run", () => store.exclusive("third", () => store.delete("2")));
      await store.delete("1");
      expect(await left(store)).toEqual([]);
    },
  );

  it("AgentOS: a run that another process has deleted is refused until somebody looks for it", async () => {
    const [own, other] = await pairOf(kind, (target) => target);
    const [store, inspector] = [open(own as string), closing(await openInspector(other, { write: true }))];
    const save = (id: string) => store.save(checkpoint({ id, runId: "run" }));
    await save("1");
    await inspector.remove({ space: "agentos", run: "run" });
    for (const id of ["2", "1"]) {
      const error = await failure(save(id), "CONFLICT");
      expect(error.message).toContain('run "run" was deleted while it ran');
    }
    expect(await store.listByRun("run")).toEqual([]);
    expect(await store.latest("run")).toBe(null);
    await save("2");
    // What this object itself has cleared may begin again.
    await store.clear("run");
    await save("3");
    await store.delete("3");
    await save("4");
    expect((await store.latest("run"))!.id).toBe("4");
  });

  it("Helix: a session that was deleted gets no checkpoint and no state until it is created again", async () => {
    const [store, second] = await pairOf(kind, (target) => closing(new SessionStore(target)));
    const sessionId = "session";
    for (const deleting of [store, second]) {
      await store.createSession(sessionId, { agentType: "agent" });
      await store.saveCheckpoint({ id: "1", sessionId, stepCount: 0, timestamp: 1, state });
      await deleting.deleteSession(sessionId);
      await failure(store.saveCheckpoint({ id: "2", sessionId, stepCount: 1, timestamp: 2, state }), "CONFLICT");
      await failure(store.saveState(sessionId, state), "CONFLICT");
      expect((await store.listCheckpoints(sessionId)).items).toEqual([]);
    }
    // Somebody who has found nothing may begin.
    expect(await store.loadState(sessionId)).toBe(null);
    await store.saveState(sessionId, state);
    expect(await store.sessionExists(sessionId)).toBe(true);
  });

  it("TinyAgents: writes to a deleted or new thread are refused, and those before a checkpoint are not", async () => {
    const [checkpointer, second] = await pairOf(kind, (target) => closing(new Checkpointer<object>(target)));
    const write = { node: "n", taskId: "t", idx: 0, channel: "c", payload: 1 };
    const config = { threadId: "thread", checkpointId: "1", namespace: [] };
    expect((await failure(checkpointer.putWrites(config, [write]), "CONFLICT")).message).toContain(
      "never had a checkpoint",
    );
    await checkpointer.put({ threadId: "thread", checkpointId: "1", state: {} });
    for (const each of [checkpointer, second]) {
      const early = { ...config, checkpointId: `for ${each === second}` };
      await each.putWrites(early, [write]);
      await checkpointer.put({ threadId: "thread", checkpointId: early.checkpointId, state: {} });
      expect((await checkpointer.getTuple(early))!.pendingWrites).toHaveLength(1);
    }
    await checkpointer.putWrites({ ...config, checkpointId: "to come" }, [write]);
    for (const deleting of [second, checkpointer]) {
      await deleting.deleteThread("thread");
      const error = await failure(checkpointer.putWrites(config, [write]), "CONFLICT");
      expect(error.message).toContain('thread "thread" was deleted while it ran');
      expect((await checkpointer.check()).findings).toEqual([]);
      // A new checkpoint of this id has none of the old writes.
      await checkpointer.put({ threadId: "thread", checkpointId: "1", state: {} });
      expect((await checkpointer.getTuple(config))!.pendingWrites).toEqual([]);
    }
  });

  it("TinyAgents: of a leased thread, only its holder deletes some checkpoints", async () => {
    const [checkpointer, second] = await pairOf(kind, (target) => closing(new Checkpointer<object>(target)));
    await using lease = await second.lease({ space: "tinyagents", run: "thread" });
    const mine = second.withLease(lease);
    await mine.put({ threadId: "thread", checkpointId: "1", runId: "first", state: {} });
    await mine.put({ threadId: "thread", checkpointId: "2", runId: "second", state: {} });
    expect(await failure(checkpointer.deleteByRun("thread", "first"), "CONFLICT")).toMatchObject({
      lease: { holder: lease.holder },
    });
    await failure(checkpointer.deleteCheckpoints("thread", ["2"]), "CONFLICT");
    expect(await checkpointer.list("thread")).toHaveLength(2);
    expect(await mine.deleteByRun("thread", "first")).toBe(1);
    await lease.release();
    expect(await checkpointer.deleteCheckpoints("thread", ["2"])).toBe(1);
  });

  it("Claude: a subagent that outlives its session brings no part of it back", async () => {
    const [store, second] = await pairOf(kind, (target) => closing(new ClaudeSessions(target)));
    const key = { projectKey: "-work", sessionId: "session" };
    const beside = { ...key, subpath: "subagents/agent-1" };
    const entry = (uuid: string) => [{ type: "user", uuid }];
    // It may come first.
    await store.append(beside, entry("a"));
    for (const deleting of [store, second]) {
      await store.append(key, entry("b"));
      await store.append(beside, entry("c"));
      await deleting.delete(key);
      const error = await failure(store.append(beside, entry("d")), "CONFLICT");
      expect(error.message).toContain('session "session" was removed');
      expect(await store.listSubkeys(key)).toEqual([]);
      expect(await store.load(beside)).toBe(null);
    }
  });
});
