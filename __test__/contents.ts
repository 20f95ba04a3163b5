/** Stores with the data of every framework. */
import { CheckpointStore, type Store, type StoreOptions, openStore } from "forkpoint";
import { ForkpointStorage, WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { type Inspector, type RunInfo, type RunQuery, openInspector } from "forkpoint/inspect";
import { Checkpointer } from "forkpoint/tinyagents";
import { expect, onTestFinished } from "vitest";
import { checkpoint as session, texts } from "./helix/helpers.js";
import { checkpoint } from "./helpers.js";

/** Opens a store that is closed when the running test ends. */
export async function opened(target: string, options?: StoreOptions): Promise<Store> {
  const store = await openStore(target, options);
  onTestFinished(() => store.close());
  return store;
}

/** Opens a store that is closed when the running test ends, and an inspector of it that may write. */
export async function inspected(target: string, options?: StoreOptions) {
  const store = await opened(target, options);
  return { store, inspector: await openInspector(store, { write: true }) };
}

/** All runs that an inspector lists, page by page. */
export async function allRuns(inspector: Inspector, query: RunQuery = {}): Promise<RunInfo[]> {
  const runs: RunInfo[] = [];
  let cursor: string | null = null;
  do {
    const page = await inspector.runs({ ...query, cursor });
    expect(page.items.length).toBeLessThanOrEqual(query.limit ?? 100);
    runs.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== null);
  return runs;
}

/** Fills a store with data of every framework. */
export async function fill(store: Store): Promise<void> {
  const graphs = new CheckpointStore(store);
  for (let n = 0; n < 30; n++) {
    const notes = Array.from({ length: n }, (_, at) => `note ${at} of a conversation that grows`);
    const state = { ...checkpoint().state, scratch: { notes, when: new Date(n), bytes: new Uint8Array([n, 0, 255]) } };
    await graphs.save(checkpoint({ id: `g${n}`, runId: `run-${n % 3}`, timestamp: n, state }));
  }
  await graphs.fork("g4", { scratch: { forked: true } });
  await graphs.delete("g0");
  const workflows = new WorkflowCheckpointStore<{ n: number }>(store);
  for (let n = 0; n < 5; n++) {
    await workflows.save({ id: `w${n}`, runId: "w", stepIndex: n, stepName: `s${n}`, state: { n }, createdAt: n });
  }
  const storage = new ForkpointStorage(store);
  for (let n = 0; n < 40; n++) await storage.set(`namespace ${n % 2}`, `key ${n % 20}`, { n });
  const sessions = new SessionStore(store);
  await sessions.createSession("s", { agentType: "writer", initialState: { topic: "rust" } });
  await sessions.appendMessages("s", texts(3));
  await sessions.saveCheckpoint(session(1));
  await sessions.appendMessages("s", texts(4));
  await sessions.saveCheckpoint(session(2));
  await sessions.branchSession("s/1", "branch");
  await sessions.appendMessages("branch", texts(2));
  await sessions.rewindTo("s", "s/1");
  await sessions.createSession("only messages", { agentType: "a" });
  await sessions.appendMessages("only messages", texts(1));
  const threads = new Checkpointer<{ n: number }>(store);
  for (let n = 0; n < 4; n++) {
    const checkpointId = await threads.put({ threadId: `t${n % 2}`, state: { n } });
    const write = { node: "n", taskId: `task ${n}`, idx: 0, channel: "update", payload: { n } };
    await threads.putWrites({ threadId: `t${n % 2}`, checkpointId }, [write]);
  }
}

/** Reads what a store answers to every framework. */
export async function contentOf(store: Store) {
  const graphs = new CheckpointStore(store);
  const { runs } = await graphs.runs();
  const listed = await Promise.all(runs.map(({ runId }) => graphs.listByRun(runId)));
  const workflows = new WorkflowCheckpointStore<object>(store);
  const storage = new ForkpointStorage(store);
  const sessions = new SessionStore(store);
  const names = (await sessions.sessions()).sessions;
  const threads = new Checkpointer<object>(store);
  const read = async ({ sessionId }: { sessionId: string }) => ({
    state: await sessions.loadState(sessionId),
    messages: await sessions.getMessages(sessionId, { limit: 100 }),
    checkpoints: await sessions.listCheckpoints(sessionId),
  });
  const { checkpoints, lineages, logicalBytes, records } = await store.stats();
  return {
    runs,
    listed,
    whole: await Promise.all(listed.flat().map(({ id }) => graphs.get(id))),
    workflows: [await workflows.runs(), await workflows.list("w")],
    storage: [await storage.list("namespace 0"), await storage.list("namespace 1", "key 1")],
    sessions: [names, await Promise.all(names.map(read))],
    loaded: [await sessions.getCheckpoint("s/1"), await sessions.getCheckpoint("s/2")],
    threads: [await threads.listThreads(), await threads.stateHistory("t0"), await threads.stateHistory("t1")],
    stats: { checkpoints, lineages, logicalBytes, records },
  };
}
