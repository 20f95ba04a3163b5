// The plans of the statements in a database of a billion checkpoints: no call walks through a table, but for what a LIMIT ends. The server plans for the sizes
// of the files and for the numbers that it has counted. So the files of a small database are lengthened, which takes no room on
// the disk, and the numbers multiplied.
import { chownSync, closeSync, openSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { openStore, postgresSchema } from "forkpoint";
import { CheckpointStore } from "forkpoint/agentos";
import { ForkpointChats } from "forkpoint/ai";
import { SessionStore } from "forkpoint/helix";
import { openInspector } from "forkpoint/inspect";
import { ForkpointSaver } from "forkpoint/langgraph";
import { Checkpointer } from "forkpoint/tinyagents";
import { expect, it, onTestFinished, vi } from "vitest";
import { makeDatabase, onServer } from "./faults.js";
import type { Server } from "./server.mjs";

/** The runs of each framework, and how many times as many there seem to be. */
const RUNS = 300;
const TIMES = 1_000_000;
const SEGMENT = 2 ** 30;

/** A walk costs more, in the units of the planner. A table that is really small may be walked through. */
const MOST = 10_000;
/** Two tables have few rows in any database. Servers before 18 add ten thousand million to the cost of what a setting forbids. */
const SMALL = new Set(["batch", "setting"]);

interface Plan {
  "Node Type": string;
  "Parent Relationship"?: string;
  "Relation Name"?: string;
  "Index Cond"?: string;
  "One-Time Filter"?: string;
  "Total Cost": number;
  Plans?: Plan[];
}

/** Nodes that read all rows of their children before they answer with the first row. */
const READS_ALL = /^(?:Sort|Aggregate|Hash|SetOp|Bitmap Heap Scan)$/;

/**
 * The tables that a plan walks through: without an index, or along all entries of one. `endsEarly`: a `LIMIT` above ends the walk,
 * because the rows come in its order. What a listing does only if its first way finds too little has a condition of its own, and is
 * not looked at.
 */
function walks(plan: Plan, endsEarly = false): string[] {
  if (plan["One-Time Filter"] !== undefined) return [];
  const type = plan["Node Type"];
  const isScan = /^(?:Seq|Index|Index Only|Bitmap Index) Scan$/.test(type);
  const isLarge = !SMALL.has(plan["Relation Name"] ?? "") && plan["Total Cost"] > MOST;
  const isWalk = isScan && isLarge && !endsEarly && plan["Index Cond"] === undefined;
  const ends = type === "Limit" || (endsEarly && !READS_ALL.test(type));
  const below = (plan.Plans ?? []).flatMap((child) => {
    // A join reads the inner side for each row of the outer one. The plan of a WITH or of a subquery has its own LIMIT.
    const isOwn = ["Inner", "InitPlan", "SubPlan"].includes(child["Parent Relationship"] ?? "");
    return walks(child, ends && (!isOwn || type === "Merge Join"));
  });
  return isWalk ? [`${type} of ${plan["Relation Name"]}`, ...below] : below;
}

/** Makes the database seem larger. */
async function lengthen(server: Server, database: string): Promise<void> {
  await server.query("ANALYZE", undefined, { database });
  await server.query("CHECKPOINT", undefined, { database });
  const files = await server.query(
    `SELECT oid, pg_relation_filepath(oid) AS path, pg_relation_size(oid) / 8192 AS pages, reltuples AS rows FROM pg_class
     WHERE relnamespace = 'forkpoint'::regnamespace AND relkind IN ('r', 'i') AND reltuples > 0
       AND relname !~ '^(?:batch|setting)'`,
    undefined,
    { database },
  );
  const { uid, gid } = statSync(server.data);
  for (const { oid, path, pages, rows } of files) {
    const size = Number(pages) * TIMES * 8_192;
    for (let at = 0; at < size; at += SEGMENT) {
      const file = join(server.data, at === 0 ? path : `${path}.${at / SEGMENT}`);
      closeSync(openSync(file, "a"));
      truncateSync(file, Math.min(SEGMENT, size - at));
      chownSync(file, uid, gid);
    }
    const grown = `UPDATE pg_class SET relpages = ${Number(pages) * TIMES}, reltuples = ${Number(rows) * TIMES} WHERE oid = ${oid}`;
    await server.query(grown, undefined, { database });
  }
}

/** Calls `work` with 64 of the numbers from 0 on at the same time. */
async function together(count: number, work: (number: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += 64) {
    await Promise.all(Array.from({ length: Math.min(64, count - from) }, (_, at) => work(from + at)));
  }
}

const drain = async (list: AsyncIterable<unknown>) => {
  for await (const _ of list);
};

const thread = (thread_id: string) => ({ configurable: { thread_id, checkpoint_ns: "" } });

/** The calls, by their names. Each is made with several runs, because a statement is prepared at its second use. */
async function open(url: string) {
  const store = await openStore(url);
  const saver = new ForkpointSaver(store);
  const sessions = new SessionStore(store);
  const checkpointer = new Checkpointer(store);
  const agents = new CheckpointStore(store);
  const chats = new ForkpointChats(store);
  const inspector = await openInspector(store, { write: true });
  const put = async (id: string, steps: number, ns = "") => {
    let config: object = { configurable: { thread_id: id, checkpoint_ns: ns } };
    for (let step = 0; step < steps; step++) {
      const checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(step),
        channel_values: { step },
        channel_versions: { step },
      };
      config = await saver.put(config, checkpoint, { source: "loop", step, parents: {} }, { step });
    }
    return config;
  };
  const message = { role: "user" as const, content: "hello" };
  const checkpointOf = (sessionId: string, step: number) => ({
    id: `cpv1-${sessionId}-s${step}-t${1_700_000_000_000 + step}-abcdef`,
    sessionId,
    stepCount: step,
    timestamp: 1_700_000_000_000 + step,
    state: { status: "active", stepCount: step, customState: {}, messages: [message] },
    messageCount: 1,
    streamSequence: step,
  });
  const superstep = (threadId: string, step: number) => ({
    threadId,
    checkpointId: `${threadId}-${step}`,
    parentCheckpointId: step === 0 ? null : `${threadId}-${step - 1}`,
    namespace: [],
    state: { step },
    nextNodes: ["a"],
    completedTasks: [],
    pendingWrites: [],
    interrupts: [],
    step,
    createdAt: 1_700_000_000_000 + step,
    metadata: {},
  });
  const agent = (runId: string, step: number) => ({
    id: `${runId}-${step}`,
    runId,
    graphId: "graph",
    nodeId: "a",
    timestamp: 1_700_000_000_000 + step,
    nodeResults: {},
    state: { step },
    visitedNodes: ["a"],
    pendingEdges: ["b"],
  });
  const fill = async () => {
    await together(RUNS, async (n) => {
      const config = await put(`thread-${n}`, 3);
      if (n % 3 === 0) await saver.putWrites(config, [["__interrupt__", { value: "?" }]], "task");
      await put(`thread-${n}`, 1, "subgraph");
      await sessions.createSession(`session-${n}`, { agentType: "agent", initialState: { n } });
      await sessions.appendMessages(`session-${n}`, [message]);
      await sessions.saveCheckpoint(checkpointOf(`session-${n}`, 1) as never);
      for (const step of [0, 1]) await checkpointer.put(superstep(`graph-${n}`, step) as never);
      for (const step of [0, 1]) await agents.save(agent(`run-${n}`, step) as never);
      const hello = { id: "m", role: "user" as const, parts: [{ type: "text" as const, text: "hello" }] };
      await chats.saveChat({ id: `chat-${n}`, messages: [hello], metadata: { userId: `user-${n % 7}` } });
    });
    // The first lists build indexes, too.
    await chats.listChats({ limit: 1 });
    await chats.listChats({ limit: 1, metadata: { userId: "user-1" } });
    // The first list of all threads builds an index. A small table gets no index of groups.
    await drain(saver.list({ configurable: {} }, { limit: 1 }));
  };
  const run = (n: number) => ({ space: "langgraph" as const, run: `thread-${n}` });
  const calls: Record<string, (n: number) => Promise<unknown>> = {
    "LangGraph: getTuple": (n) => saver.getTuple(thread(`thread-${n}`)),
    "LangGraph: list": (n) => drain(saver.list(thread(`thread-${n}`))),
    "LangGraph: list, all namespaces": (n) => drain(saver.list({ configurable: { thread_id: `thread-${n}` } })),
    "LangGraph: list with a filter": (n) =>
      drain(saver.list(thread(`thread-${n}`), { filter: { source: "input" }, limit: 2 })),
    "LangGraph: list, newest": () => drain(saver.list({ configurable: {} }, { limit: 5 })),
    "LangGraph: put, a new thread": (n) => put(`new-${n}`, 1),
    "LangGraph: put, a step": async (n) => {
      const { config, checkpoint } = (await saver.getTuple(thread(`thread-${n}`)))!;
      const next = { ...checkpoint, id: uuid6(n) };
      await saver.put(config, next, { source: "loop", step: 3, parents: {} }, {});
    },
    "LangGraph: putWrites": async (n) => {
      const { config } = (await saver.getTuple(thread(`thread-${n}`)))!;
      await saver.putWrites(config, [["__interrupt__", { value: "?" }]], "other");
    },
    "LangGraph: deleteThread": (n) => saver.deleteThread(`thread-${100 + n}`),
    "LangGraph: listThreads": () => saver.listThreads({ limit: 5 }),
    "LangGraph: listThreads, waiting": () => saver.listThreads({ limit: 5, status: "waiting" }),
    "Helix: createSession": (n) => sessions.createSession(`new-${n}`, { agentType: "agent", initialState: {} }),
    "Helix: appendMessages": (n) => sessions.appendMessages(`session-${n}`, [message]),
    "Helix: saveCheckpoint": (n) => sessions.saveCheckpoint(checkpointOf(`session-${n}`, 2) as never),
    "Helix: getLatestCheckpoint": (n) => sessions.getLatestCheckpoint(`session-${n}`),
    "Helix: listCheckpoints": (n) => sessions.listCheckpoints(`session-${n}`),
    "Helix: getMessages": (n) => sessions.getMessages(`session-${n}`),
    "Helix: sessions": () => sessions.sessions({ limit: 5 }),
    "Helix: deleteSession": (n) => sessions.deleteSession(`session-${100 + n}`),
    "TinyAgents: put": (n) => checkpointer.put(superstep(`graph-${n}`, 2) as never),
    "TinyAgents: get": (n) => checkpointer.get(`graph-${n}`),
    "TinyAgents: list": (n) => checkpointer.list(`graph-${n}`),
    "TinyAgents: deleteThread": (n) => checkpointer.deleteThread(`graph-${100 + n}`),
    "AgentOS: save": (n) => agents.save(agent(`run-${n}`, 2) as never),
    "AgentOS: get": (n) => agents.get(`run-${n}-0`),
    "AgentOS: latest": (n) => agents.latest(`run-${n}`),
    "AgentOS: list": (n) => agents.list("graph", { runId: `run-${n}`, limit: 5 }),
    "AgentOS: runs of some graphs": () => agents.runs({ graphIdPrefix: "other-", limit: 5 }),
    "AI SDK: listChats": async () =>
      chats.listChats({ limit: 5, cursor: (await chats.listChats({ limit: 5 })).cursor }),
    "AI SDK: listChats of a user": (n) => chats.listChats({ limit: 5, metadata: { userId: `user-${n}` } }),
    "AI SDK: size of a chat": (n) => inspector.run({ space: "ai", run: `chat-${n}` }, { withBytes: true }),
    "prune by age": () => store.prune({ olderThan: Date.now() + 3_600_000, dryRun: true }),
    "a lease": async (n) => (await store.lease(run(n))).release(),
    "inspector: runs": () => inspector.runs({ limit: 5 }),
    "inspector: runs that wait": () => inspector.runs({ status: "waiting", limit: 5 }),
    "inspector: runs with a label": () => inspector.runs({ label: { plan: "pro" }, limit: 5 }),
    "inspector: run": (n) => inspector.run(run(n), { withWhy: true, withQuestion: true, withBytes: true }),
    "inspector: checkpoints": (n) => inspector.checkpoints(run(n)),
    "inspector: checkpoint": (n) => inspector.checkpoint(run(n)),
    "inspector: course": (n) => inspector.course(run(n)),
    "inspector: conversation": (n) => inspector.conversation(run(n)),
    "inspector: usage": (n) => inspector.usage(run(n)),
    "inspector: remove": (n) => inspector.remove(run(110 + n)),
    "inspector: forks": (n) => inspector.forks(run(n)),
    "inspector: effects": (n) => inspector.effects(run(n)),
    "inspector: questions": (n) => inspector.questions(run(n)),
    "inspector: setLabels": (n) => inspector.setLabels(run(n), { plan: "pro" }),
    "inspector: fork": async (n) =>
      inspector.fork({ ...run(n), id: (await inspector.checkpoints(run(n))).items[0]!.id }),
  };
  const close = async () => {
    await inspector.close();
    await store.close();
  };
  return { fill, calls, close };
}

onServer(
  "newest",
  (server) => {
    it("no call walks through a table of a billion rows", async () => {
      const database = await makeDatabase(server());
      const url = server().url({ database });
      const filling = await open(url);
      await filling.fill();
      await filling.close();
      const [index] = /CREATE INDEX \S*lineage_group.*/.exec(postgresSchema())!;
      await server().query(index, undefined, { database });
      await lengthen(server(), database);
      const query = (sql: string) => server().query(sql, undefined, { database });
      // A walk is noticed, unless it ends early.
      const walksOf = async (rest: string) => {
        const [found] = await query(
          `EXPLAIN (FORMAT JSON) SELECT FROM forkpoint.lineage WHERE age_offset % 2 = 1 ${rest}`,
        );
        return walks(found["QUERY PLAN"][0].Plan);
      };
      expect(await walksOf("")).toEqual(["Seq Scan of lineage"]);
      expect(await walksOf("ORDER BY age_offset + lin LIMIT 1")).toEqual(["Seq Scan of lineage"]);
      expect(await walksOf("ORDER BY lin LIMIT 1")).toEqual([]);

      const { calls, close } = await open(url);
      onTestFinished(close);
      const walked: Record<string, string[]> = {};
      let planned = 0;
      for (const [at, [name, call]] of Object.entries(calls).entries()) {
        const begin = server().log.length;
        for (let n = 0; n < 3; n++) await call(n);
        const end = `end of ${at}`;
        await query(`SELECT '${end}'`);
        await vi.waitFor(() => expect(server().log.slice(begin)).toContain(end), 10_000);
        for (const [, json] of server()
          .log.slice(begin)
          .matchAll(/ plan:\n(\t\{\n[^]*?\n\t\})\n/g)) {
          const found = walks(JSON.parse(json!).Plan);
          if (found.length > 0) walked[name] = [...(walked[name] ?? []), ...found];
          planned += 1;
        }
      }
      expect(walked).toEqual({});
      // Three for each call, or more.
      expect(planned).toBeGreaterThan(Object.keys(calls).length * 3);
    });
  },
  {
    autovacuum: "off",
    statement_timeout: 30_000,
    session_preload_libraries: "auto_explain",
    "auto_explain.log_min_duration": 0,
    "auto_explain.log_format": "json",
  },
);
