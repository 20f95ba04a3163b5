// Tests a run that was deleted and begun again: the new run gets nothing of the old one, which goes on in another process.
import { type CheckpointStore, type Store } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore as ClaudeSessions } from "forkpoint/claude-agent-sdk";
import { effects } from "forkpoint/effects";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer, Graph, START } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { checkpoint as step, flow } from "./agentium/helpers.js";
import { Gate, checkpoint, closing, failure, kinds, open, pairOf } from "./helpers.js";
import { path } from "./tinyagents/helpers.js";

const state = { messages: [], stepCount: 0, status: "active", customState: {} } as never;

interface Remembering {
  store: CheckpointStore | SessionStore | WorkflowCheckpointStore<object>;
  save(id: string): Promise<void>;
  remove(): Promise<unknown>;
  look(): Promise<unknown>;
}

describe.each(kinds)("on %s", (kind) => {
  it("AgentOS: a late save is refused, and the object that looks for the run continues the new one", async () => {
    const [old, other] = await pairOf(kind, (target) => open(target as string));
    await old.save(checkpoint({ id: "1", runId: "run" }));
    await other.clear("run");
    await other.save(checkpoint({ id: "new 1", runId: "run" }));
    for (const id of ["2", "1"]) {
      const error = await failure(old.save(checkpoint({ id, runId: "run" })), "CONFLICT");
      expect(error.message).toContain('run "run" was deleted while it ran, and may have begun again');
    }
    expect((await other.listByRun("run")).map(({ id }) => id)).toEqual(["new 1"]);
    expect((await old.latest("run"))!.id).toBe("new 1");
    await old.save(checkpoint({ id: "new 2", runId: "run" }));
    await other.save(checkpoint({ id: "new 3", runId: "run" }));
    expect(await old.listByRun("run")).toHaveLength(3);
  });

  it("AgentOS: a save goes on after retention has removed all but the newest checkpoint", async () => {
    const [old, other] = await pairOf(kind, (target) => open(target as string));
    for (const id of ["1", "2"]) await old.save(checkpoint({ id, runId: "run" }));
    await other.prune({ keepLastN: 1 });
    await old.save(checkpoint({ id: "3", runId: "run" }));
    expect((await other.listByRun("run")).map(({ id }) => id)).toContain("3");
  });

  it("Helix: a late checkpoint, state or message is refused", async () => {
    const [old, other] = await pairOf(kind, (target) => closing(new SessionStore(target)));
    const sessionId = "session";
    const save = (store: SessionStore, id: string) =>
      store.saveCheckpoint({ id, sessionId, stepCount: 0, timestamp: 1, state });
    await old.createSession(sessionId, { agentType: "old" });
    // A session without a checkpoint is a run.
    expect(await effects(old)({ space: "helix", run: sessionId }, "greet", () => "hello")).toBe("hello");
    await save(old, "1");
    await other.deleteSession(sessionId);
    await other.createSession(sessionId, { agentType: "new" });
    await save(other, "new 1");
    for (const late of [
      () => save(old, "2"),
      () => old.saveState(sessionId, state),
      () => old.appendMessages(sessionId, [{ role: "user", content: "late" }]),
      () => old.updateStatus(sessionId, "failed"),
    ]) {
      const error = await failure(late(), "CONFLICT");
      expect(error.message).toContain('session "session" was deleted');
    }
    expect((await other.loadState(sessionId))!.agentType).toBe("new");
    expect((await other.listCheckpoints(sessionId)).items.map(({ id }) => id)).toEqual(["new 1"]);
    expect(await other.getMessages(sessionId)).toMatchObject({ total: 0 });
    // Somebody who looks for the session works on the new one.
    expect(await old.sessionExists(sessionId)).toBe(true);
    await save(old, "new 2");
    expect((await other.listCheckpoints(sessionId)).items).toHaveLength(2);
  });

  it("Agentium: a late step is refused, although the ids of steps come again", async () => {
    const [old, other] = await pairOf(kind, (target) => closing(new WorkflowCheckpointStore<object>(target)));
    const by = (stepIndex: number, who: string) =>
      step({ id: `run:step-${stepIndex}`, runId: "run", stepIndex, state: { by: who } });
    await old.save(by(1, "old"));
    await other.clear("run");
    await other.save(by(1, "new"));
    for (const options of [{ expectedParent: "run:step-1" }, {}]) {
      const error = await failure(old.save(by(2, "old"), options), "CONFLICT");
      expect(error.message).toContain('run "run" was deleted while it ran, and may have begun again');
    }
    expect((await other.list("run")).map(({ state }) => state)).toEqual([{ by: "new" }]);
    // Somebody who looks for the run continues the new one, and a rewind to its beginning begins it again.
    expect(await old.latest("run")).toMatchObject({ state: { by: "new" } });
    await old.save(by(2, "both"), { expectedParent: "run:step-1" });
    await other.clear("run");
    await old.rewind(by(-1, "again"));
    await old.save(by(0, "again"));
    expect(await other.list("run")).toHaveLength(2);
  });

  /** The store of a contract whose store object remembers its runs, and how it saves a run or removes it. */
  const remembering: Record<string, (target: string | Store) => Remembering> = {
    agentos: (target: string | Store) => {
      const store = open(target as string);
      const save = (id: string) => store.save(checkpoint({ id, runId: "run" }));
      return { store, save, remove: () => store.clear("run"), look: () => store.latest("run") };
    },
    helix: (target: string | Store) => {
      const store = closing(new SessionStore(target));
      const save = async (id: string) => {
        if (!(await store.sessionExists("run"))) await store.createSession("run", { agentType: "writer" });
        await store.saveCheckpoint({ id, sessionId: "run", stepCount: 0, timestamp: 1, state });
      };
      return { store, save, remove: () => store.deleteSession("run"), look: () => store.sessionExists("run") };
    },
    agentium: (target: string | Store) => {
      const store = closing(new WorkflowCheckpointStore<object>(target));
      const save = (id: string) => store.save(step({ id, runId: "run" }));
      return { store, save, remove: () => store.clear("run"), look: () => store.latest("run") };
    },
  };

  it.each(Object.entries(remembering))(
    "%s: a late effect of a run that is named alone does not run",
    async (space, make) => {
      const [old, other] = await pairOf(kind, make);
      const run = { space, run: "run" };
      const paid: string[] = [];
      const pay = (one: typeof old, who: string) => effects(one.store)(run, "charge", () => `${paid.push(who)}`);
      await old.save("1");
      await other.look();
      await other.remove();
      for (const again of [false, true]) {
        if (again) await other.save("new");
        const error = await failure(pay(old, "old"), "CONFLICT");
        expect(error.message).toContain('its effect "charge" did not run');
      }
      expect(await pay(other, "new")).toBe("1");
      expect(await old.look()).toBeTruthy();
      expect(await pay(old, "old")).toBe("1");
      expect(paid).toEqual(["new"]);
    },
  );

  it("TinyAgents: late writes and children of deleted checkpoints are refused", async () => {
    const [old, other] = await pairOf(kind, (target) => closing(new Checkpointer<object>(target)));
    const threadId = "thread";
    const write = { node: "n", taskId: "t", idx: 0, channel: "c", payload: 1 };
    await old.put({ threadId, checkpointId: "1", state: {} });
    await other.deleteThread(threadId);
    await other.put({ threadId, checkpointId: "1", state: { new: true } });
    const late = [
      () => old.putWrites({ threadId, checkpointId: "1", namespace: [] }, [write]),
      () => old.put({ threadId, checkpointId: "2", parentCheckpointId: "1", state: {} }, { expectedParent: false }),
    ];
    for (const work of late) {
      const error = await failure(work(), "CONFLICT");
      expect(error.message).toContain('thread "thread" was deleted while it ran');
    }
    expect((await other.getTuple({ threadId }))!.pendingWrites).toEqual([]);
    expect(await other.list(threadId)).toHaveLength(1);
    expect((await old.getTuple({ threadId }))!.checkpoint.state).toEqual({ new: true });
    for (const work of late) await work();
    expect(await other.list(threadId)).toHaveLength(2);
  });

  interface Started {
    make(target: string | Store): any;
    /** Starts a run that waits before it pays. */
    start(store: any, pay: () => string, wait: () => Promise<void>): Promise<unknown>;
    /** Deletes the run, and begins it again. */
    again(store: any): Promise<unknown>;
  }

  const started: Record<string, Started> = {
    tinyagents: {
      make: (target) => closing(new Checkpointer<object>(target)),
      start: (checkpointer, pay, wait) =>
        new Graph<object, any>({
          reducer: (state) => state,
          nodes: { first: () => ({}), pay: async (_, { once }) => (await wait(), await once("charge", pay), {}) },
          edges: path(START, "first", "pay"),
          checkpointer,
        }).invoke({}, { threadId: "run" }),
      again: async (store) => (await store.deleteThread("run"), store.put({ threadId: "run", state: {} })),
    },
    agentium: {
      make: (target) => closing(new WorkflowCheckpointStore<object>(target)),
      start: (checkpointStore, pay, wait) =>
        flow<object>(checkpointStore, {}, [
          { name: "first", run: (state) => state },
          { name: "pay", run: async (state, { once }) => (await wait(), await once("charge", pay), state) },
        ]).runWithCheckpoints({ runId: "run" }),
      again: async (store) => (await store.clear("run"), store.save(step({ runId: "run", stepIndex: -1 }))),
    },
  };

  it.each(Object.entries(started))(
    "%s: a late effect of a program does not run, and the new run has its own",
    async (space, { make, start, again }) => {
      const [old, other] = await pairOf(kind, make);
      const paid: string[] = [];
      const gate = new Gate();
      const late = start(old, () => `${paid.push("old")}`, gate.wait).catch((error: unknown) => error);
      await gate.reached;
      await again(other);
      gate.open();
      const error = (await late) as Error;
      expect(error).toMatchObject({ code: "CONFLICT" });
      expect(error.message).toContain('its effect "charge" did not run');
      await effects(other)({ space, run: "run" }, "charge", () => `${paid.push("new")}`);
      expect(paid).toEqual(["new"]);
    },
  );

  it("Claude: a late subagent of a session that was deleted and begun again is refused", async () => {
    const [old, other] = await pairOf(kind, (target) => closing(new ClaudeSessions(target)));
    const key = { projectKey: "-work", sessionId: "session" };
    const beside = { ...key, subpath: "subagents/agent-1" };
    const entry = (uuid: string) => [{ type: "user", uuid }];
    await old.append(key, entry("a"));
    await old.append(beside, entry("b"));
    await other.delete(key);
    await other.append(key, entry("c"));
    const error = await failure(old.append(beside, entry("d")), "CONFLICT");
    expect(error.message).toContain('session "session" was deleted while it ran');
    expect(await other.load(beside)).toBe(null);
    await other.append(beside, entry("e"));
    expect(await other.load(beside)).toHaveLength(1);
  });
});
