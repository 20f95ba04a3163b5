// Tests that what was deleted stays deleted, although somebody still works on it.
import { type Store, openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { ForkpointChats } from "forkpoint/ai";
import { SessionStore as ClaudeSessions } from "forkpoint/claude-agent-sdk";
import { SessionStore } from "forkpoint/helix";
import { openInspector } from "forkpoint/inspect";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkpoint, failure, kinds, open, place } from "./helpers.js";

/** Opens data that two store objects share, as two processes do. A file is opened twice. */
async function targets(kind: (typeof kinds)[number]): Promise<[string | Store, string | Store]> {
  const target = place(kind);
  if (kind !== "memory") return [target, target];
  const store = await openStore(target);
  onTestFinished(() => store.close());
  return [store, store];
}

const closing = <S extends { close: () => Promise<void> }>(store: S): S => {
  onTestFinished(() => store.close());
  return store;
};

const state = { messages: [], stepCount: 0, status: "active", customState: {} } as never;

describe.each(kinds)("on %s", (kind) => {
  it("AgentOS: a run that another process has deleted is refused until somebody looks for it", async () => {
    const [own, other] = await targets(kind);
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

  it("AgentOS: a leased run is cleared only by its holder, or by force", async () => {
    const store = closing(open(place(kind)));
    await using lease = await store.lease({ space: "agentos", run: "run" });
    const mine = store.withLease(lease);
    await mine.save(checkpoint({ id: "1", runId: "run" }));
    const error = await failure(store.clear("run"), "CONFLICT");
    expect(error.lease).toMatchObject({ holder: lease.holder });
    await store.clear("run", { force: true });
    expect(await failure(mine.save(checkpoint({ id: "2", runId: "run" })), "CONFLICT")).toMatchObject({ lease: null });
    expect(await store.listByRun("run")).toEqual([]);
    await using again = await store.lease({ space: "agentos", run: "run" });
    expect(again.token).toBeGreaterThan(lease.token);
    await store.withLease(again).clear("run");
  });

  it("Agentium: a leased run is cleared only by its holder, or by force", async () => {
    const store = closing(new WorkflowCheckpointStore<object>(place(kind)));
    const save = (id: string) => ({ id, runId: "run", stepIndex: 0, stepName: "s", state: {}, createdAt: 1 });
    await using lease = await store.lease({ space: "agentium", run: "run" });
    const mine = store.withLease(lease);
    await mine.save(save("1"));
    const error = await failure(store.clear("run"), "CONFLICT");
    expect(error.lease).toMatchObject({ holder: lease.holder });
    await mine.clear("run");
    await mine.save(save("2"));
    await store.clear("run", { force: true });
    await failure(mine.save(save("3")), "CONFLICT");
    expect(await store.list("run")).toEqual([]);
  });

  it("Helix: a session that was deleted gets no checkpoint and no state until it is created again", async () => {
    const [own, other] = await targets(kind);
    const [store, second] = [closing(new SessionStore(own)), closing(new SessionStore(other))];
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

  it("Helix: the lease of a session keeps it from being deleted", async () => {
    const store = closing(new SessionStore(place(kind)));
    await store.createSession("session", { agentType: "agent" });
    await using lease = await store.lease({ space: "helix", run: "session" });
    await failure(store.deleteSession("session"), "CONFLICT");
    await store.deleteSession("session", { force: true });
    await failure(store.withLease(lease).saveState("session", state), "CONFLICT");
    expect(await store.sessionExists("session")).toBe(false);
  });

  it("TinyAgents: late writes to a deleted thread are refused, and those before a checkpoint are not", async () => {
    const [own, other] = await targets(kind);
    const [checkpointer, second] = [closing(new Checkpointer<object>(own)), closing(new Checkpointer<object>(other))];
    const write = { node: "n", taskId: "t", idx: 0, channel: "c", payload: 1 };
    const config = { threadId: "thread", checkpointId: "1", namespace: [] };
    await checkpointer.putWrites(config, [write]);
    await checkpointer.put({ threadId: "thread", checkpointId: "1", state: {} });
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
    await using lease = await second.lease({ space: "tinyagents", run: "thread" });
    await failure(checkpointer.deleteThread("thread"), "CONFLICT");
    await checkpointer.deleteThread("thread", { force: true });
    await failure(second.withLease(lease).put({ threadId: "thread", state: {} }), "CONFLICT");
  });

  it("TinyAgents: of a leased thread, only its holder deletes some checkpoints", async () => {
    const [own, other] = await targets(kind);
    const [checkpointer, second] = [closing(new Checkpointer<object>(own)), closing(new Checkpointer<object>(other))];
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

  it("Claude: a leased session is deleted only by its holder, or by force", async () => {
    const [own, other] = await targets(kind);
    const [store, second] = [closing(new ClaudeSessions(own)), closing(new ClaudeSessions(other))];
    const key = { projectKey: "-work", sessionId: "session" };
    await using lease = await second.lease({ space: "claude-agent-sdk", run: "session", ns: "-work" });
    await second.withLease(lease).append(key, [{ type: "user", uuid: "a" }]);
    expect(await failure(store.delete(key), "CONFLICT")).toMatchObject({ lease: { holder: lease.holder } });
    // A rule leaves it.
    for (const dryRun of [true, false]) expect(await store.prune({ keepSessions: 0, dryRun })).toEqual({ sessions: 0 });
    expect(await store.load(key)).toHaveLength(1);
    await store.delete(key, { force: true });
    const late = second.withLease(lease).append(key, [{ type: "user", uuid: "b" }]);
    expect(await failure(late, "CONFLICT")).toMatchObject({ lease: null });
    expect(await store.load(key)).toBe(null);
  });

  it("AI SDK: a leased chat is deleted only by its holder, or by force", async () => {
    const [own, other] = await targets(kind);
    const [chats, second] = [closing(new ForkpointChats(own)), closing(new ForkpointChats(other))];
    await chats.createChat({ id: "chat" });
    await using lease = await second.lease({ space: "ai", run: "chat" });
    expect(await failure(chats.deleteChat("chat"), "CONFLICT")).toMatchObject({ lease: { holder: lease.holder } });
    expect(await chats.prune({ olderThan: Date.now() + 60_000 })).toEqual({ chats: 0 });
    expect((await chats.listChats()).chats).toHaveLength(1);
    await second.withLease(lease).deleteChat("chat");
    await chats.createChat({ id: "chat" });
    await chats.deleteChat("chat", { force: true });
    expect((await chats.listChats()).chats).toEqual([]);
  });

  it("Claude: a subagent that outlives its session brings no part of it back", async () => {
    const [own, other] = await targets(kind);
    const [store, second] = [closing(new ClaudeSessions(own)), closing(new ClaudeSessions(other))];
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
